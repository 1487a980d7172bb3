(** Whether the frames that a sender wrote for one flow keep the rules of streams. *)

From Coq Require Import NArith Bool.
From Sluicegate Require Import Base.U64.

Unset Elimination Schemes.

(** A stream of a flow, as far as it has come. *)
Inductive named_stream :=
| Unused (** Its name was not used in this flow. *)
| Open (next : N) (** It is open; [next] is the index of its next chunk. *)
| Closed (** It was ended; its name is spent. *).

(** What is checked of a flow besides its streams. *)
Record emission := Emission {
  over : bool; (** A terminal was written. *)
  open_streams : N; (** How many streams are open. *)
}.

(** A frame of the flow, with what is checked of it. *)
Inductive written :=
| StreamStart (** It opens the stream that it names. *)
| Chunk (index : N) (** Data of the stream that it names, with the index that it carries. *)
| StreamEnd (count : option N) (** It ends the stream that it names; the count of chunks is left out
    by unbounded streams. *)
| End (** The flow is finished. *)
| Err (** The flow has failed. *)
| Other (** REQ or LOG. *).

(** What the check says. The first fault wins. *)
Inductive verdict :=
| Good (** It keeps the rules. *)
| AfterEnd (** Something follows the terminal (L4). *)
| Restarted (** A stream's name is used a second time. *)
| NotOpen (** A chunk or an end of a stream that is not open. *)
| OutOfPlace (expected : N) (** A chunk with another index than the next. *)
| CountWrong (sent : N) (** A stream's end that tells another count than was sent. *)
| EndWithOpenStream (** The flow is finished while a stream is open. ERR may leave streams open. *).

(** A flow that nothing was written of. *)
Definition started : emission := Emission false 0.

(** Checks one frame; [stream] is the stream that it names, if its kind names one. Answers the flow
    and the stream after it, both unchanged by a fault. *)
Definition check (e : emission) (stream : named_stream) (frame : written)
  : (emission * named_stream) * verdict :=
  if over e then ((e, stream), AfterEnd)
  else match frame with
  | StreamStart =>
      match stream with
      | Unused => ((Emission false (U64.sat_add (open_streams e) 1), Open 0), Good)
      | _ => ((e, stream), Restarted)
      end
  | Chunk index =>
      match stream with
      | Open next =>
          if U64.eqb index next then ((e, Open (U64.sat_add next 1)), Good)
          else ((e, stream), OutOfPlace next)
      | _ => ((e, stream), NotOpen)
      end
  | StreamEnd count =>
      match stream with
      | Open next =>
          let closing := (Emission false (U64.sat_sub (open_streams e) 1), Closed) in
          match count with
          | None => (closing, Good)
          | Some told => if U64.eqb told next then (closing, Good) else ((e, stream), CountWrong next)
          end
      | _ => ((e, stream), NotOpen)
      end
  | End =>
      if U64.eqb (open_streams e) 0 then ((Emission true 0, stream), Good)
      else ((e, stream), EndWithOpenStream)
  | Err => ((Emission true (open_streams e), stream), Good)
  | Other => ((e, stream), Good)
  end.
