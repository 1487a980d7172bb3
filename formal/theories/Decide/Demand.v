(** The two counters of a stage: what it may still emit, what it still waits for from above, and how
    the one becomes the other. *)

From Coq Require Import NArith Bool.
From Sluicegate Require Import Base.U64.

Unset Elimination Schemes.

(** How a stage turns demand from below into requests above. *)
Inductive shape :=
| Each (** As many inputs as outputs were asked for, within the stage's room: map, filter, each
    input of a zip or a merge, a parallel map. *)
| Whole (** One full lot of inputs at a time, and the next only once that has left: batch; with room
    for a single input, expand. *)
| Ahead (** A buffer that is kept full whatever was asked for, and filled up again at a mark: page. *).

(** Where a stage is in its life. *)
Inductive stage_phase :=
| Idle (** Not connected upwards yet. Requests from below add up. *)
| Running (** Both sides are connected. *)
| Draining (** The upstream has ended; what is held is still emitted. *)
| Over (** Cancelled, or its end was told. Every further signal is late and changes nothing. *).

(** A stage's state, or that of one input of a stage that combines several. All counts are elements.
    [held + asked] never exceeds [capacity]. *)
Record stage := Stage {
  kind : shape; (** How demand is translated. *)
  phase : stage_phase; (** Where the stage is in its life. *)
  capacity : N; (** Inputs the stage can hold, at least 1. *)
  mark : N; (** How many inputs must be missing before more are asked for, at least 1. *)
  owed : N; (** Outputs that were asked for below and not emitted yet. *)
  asked : N; (** Inputs that were asked for above and have not arrived yet. *)
  held : N; (** Inputs that have arrived and not left yet. *)
}.

(** What an input that arrives is told. *)
Inductive stage_arrival :=
| Accepted (** It was asked for, and there is room for it. *)
| Unasked (** It was not asked for: the upstream broke the demand gate. Nothing changes. *)
| Late (** The stage is over: drop the element and count it as late. *).

(** What a stage that wants to emit is told. *)
Inductive emission :=
| Emitted (ask : N) (** Hand the output down, then ask for so many inputs above; 0: for none. *)
| NoDemand (** Nothing may be emitted until more is asked for below. *)
| NotHeld (** The inputs that are to leave are not there. *).

(** The mark of a buffer of [size] unless told otherwise: three quarters of it, so 48 of 64. *)
Definition default_mark (size : N) : N := U64.sat_sub size (U64.half (U64.half size)).

(** A stage that asks for an input per output and holds at most [room] inputs. None without room. *)
Definition each (room : N) : option stage :=
  if U64.eqb room 0 then None else Some (Stage Each Idle room 1 0 0 0).

(** A stage that works on [size] inputs at a time: 1 for a stage that turns one into many. None for
    size 0. *)
Definition whole (size : N) : option stage :=
  if U64.eqb size 0 then None else Some (Stage Whole Idle size 1 0 0 0).

(** A stage with a buffer of [size] inputs that is filled up again once [wish] of them have left,
    held between 1 and the size, so that no mark can stall it. None for size 0. *)
Definition ahead (size wish : N) : option stage :=
  if U64.eqb size 0 then None
  else Some (Stage Ahead Idle size (U64.umin (U64.umax 1 wish) size) 0 0 0).

(** How many inputs the stage wants to have, held or on their way. *)
Definition target (s : stage) : N :=
  match kind s with
  | Each => U64.umin (owed s) (capacity s)
  | Whole => if U64.eqb (owed s) 0 then 0 else capacity s
  | Ahead => capacity s
  end.

(** How many of these are missing. Never more than there is room for. *)
Definition missing (s : stage) : N :=
  U64.sat_sub (target s) (U64.sat_add (held s) (asked s)).

(** Asks for what is missing, if the mark is reached. Only ever due because inputs have left or more
    was asked for below: an arrival moves an input from [asked] to [held] and changes nothing here. *)
Definition replenish (s : stage) : stage * N :=
  match phase s with
  | Running =>
    if U64.ltb (missing s) (mark s) then (s, 0)
    else
      (Stage (kind s) Running (capacity s) (mark s) (owed s) (U64.sat_add (asked s) (missing s))
         (held s), missing s)
  | _ => (s, 0)
  end.

(** The stage is connected upwards. Answers how many to ask for. Once started, changes nothing. *)
Definition start (s : stage) : stage * N :=
  match phase s with
  | Idle =>
    replenish (Stage (kind s) Running (capacity s) (mark s) (owed s) (asked s) (held s))
  | _ => (s, 0)
  end.

(** [n] more outputs were asked for below, up to 2^64 - 1 in all; 0 is ignored, and so is whatever
    comes after the end. Answers how many inputs to ask for above. *)
Definition request (s : stage) (n : N) : stage * N :=
  match phase s with
  | Over => (s, 0)
  | _ =>
    if U64.eqb n 0 then (s, 0)
    else
      replenish
        (Stage (kind s) (phase s) (capacity s) (mark s) (U64.sat_add (owed s) n) (asked s)
           (held s))
  end.

(** Is there anything to ask for? Asking for nothing changes nothing, so no call is made for it. *)
Definition is_request (n : N) : bool := negb (U64.eqb n 0).

(** A turn at the head of a line, and what could be taken behind it, as one request; up to 2^64 - 1. *)
Definition together (turn more : N) : N := U64.sat_add turn more.

(** An input arrives. It makes no request due. *)
Definition arrive (s : stage) : stage * stage_arrival :=
  match phase s with
  | Over => (s, Late)
  | _ =>
    if U64.eqb (asked s) 0 then (s, Unasked)
    else
      (Stage (kind s) (phase s) (capacity s) (mark s) (owed s) (U64.sat_sub (asked s) 1)
         (U64.sat_add (held s) 1), Accepted)
  end.

(** One output leaves, and [inputs] of those held leave with it: 1 where each input makes one output,
    the lot's size in a batch, 0 while an input goes on making outputs. *)
Definition emit (s : stage) (inputs : N) : stage * emission :=
  match phase s with
  | Over => (s, NoDemand)
  | _ =>
    if U64.eqb (owed s) 0 then (s, NoDemand)
    else if U64.ltb (held s) inputs then (s, NotHeld)
    else
      let '(after, ask) :=
        replenish
          (Stage (kind s) (phase s) (capacity s) (mark s) (U64.sat_sub (owed s) 1) (asked s)
             (U64.sat_sub (held s) inputs)) in
      (after, Emitted ask)
  end.

(** One input leaves without an output: filtered away, folded in, or made all its outputs. Answers
    how many to ask for in its place: it has spent demand above and met none below. *)
Definition discard (s : stage) : stage * N :=
  if U64.eqb (held s) 0 then (s, 0)
  else
    replenish
      (Stage (kind s) (phase s) (capacity s) (mark s) (owed s) (asked s) (U64.sat_sub (held s) 1)).

(** Is an input on its way? *)
Definition awaits (s : stage) : bool := negb (U64.eqb (asked s) 0).

(** Is an input there that has not left? *)
Definition has_input (s : stage) : bool := negb (U64.eqb (held s) 0).

(** How many inputs a stage reads at one go that makes them itself: what was asked for below, up to
    [most]. *)
Definition page (s : stage) (most : N) : N := U64.umin (owed s) most.

(** Was that the end of what there is to read? [came] of the [n] that were to be read have come. *)
Definition is_last_page (n came : N) : bool := U64.ltb came n.

(** The upstream has ended, well or badly: nothing more arrives and nothing more is asked for. *)
Definition finish (s : stage) : stage :=
  match phase s with
  | Over => s
  | _ => Stage (kind s) Draining (capacity s) (mark s) (owed s) 0 (held s)
  end.

(** True once the upstream's end may be told below: it never overtakes an element. *)
Definition end_due (s : stage) : bool :=
  match phase s with
  | Draining => U64.eqb (held s) 0
  | _ => false
  end.

(** The stage was cancelled, or has told its end. Answers how many held inputs to release. *)
Definition close (s : stage) : stage * N :=
  (Stage (kind s) Over (capacity s) (mark s) 0 0 0, held s).

(** How much of a request for [n] a stage passes on that emits [left] more elements in its life, and
    how many are left then: take(5) never asks for a sixth. *)
Definition limited (left n : N) : N * N :=
  (U64.umin left n, U64.sat_sub left (U64.umin left n)).
