(** What a writer does to the frames of one flow: it lets nothing past the terminal, and numbers
    what it lets past. *)

From Coq Require Import NArith Bool.
From Sluicegate Require Import Base.U64 Decide.Facts.

Unset Elimination Schemes.

(** What a writer says to one frame. *)
Inductive admitted :=
| Send (** Write it. *)
| SendLast (** Write it; it is the terminal, and ends the flow. *)
| Suppress (** Do not write it: its flow has ended (L4). It counts as a straggler (L8). *).

(** Asks to write a frame of this kind on a flow that is [over] or not. A frame outside of flows
    always passes and never ends one. *)
Definition admit (over : bool) (kind : Facts.frame_type) : admitted :=
  if negb (Facts.is_flow kind) then Send
  else if over then Suppress
  else if Facts.is_terminal kind then SendLast
  else Send.

(** Whether the flow is over once that was answered. *)
Definition over_after (over : bool) (answer : admitted) : bool :=
  match answer with
  | SendLast => true
  | _ => over
  end.

(** A frame's number, and the number of the next one of its flow. *)
Record stamped := Stamped {
  seq : N; (** The number to write. *)
  next : N; (** The number that the flow's next frame gets. *)
}.

(** Numbers a frame at the moment of writing, when [expected] is its flow's next number: 0, 1, 2 …
    without gaps within a flow, from 0 again behind its terminal, and 0 outside of flows. *)
Definition stamp (expected : N) (kind : Facts.frame_type) : stamped :=
  if negb (Facts.is_flow kind) then Stamped 0 expected
  else if Facts.is_terminal kind then Stamped expected 0
  else Stamped expected (U64.sat_add expected 1).
