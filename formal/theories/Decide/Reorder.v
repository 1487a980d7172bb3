(** The order of one flow at a relay boundary: what becomes of the frame with this number. *)

From Coq Require Import NArith Bool.
From Sluicegate Require Import Base.U64.

Unset Elimination Schemes.

(** What becomes of a numbered frame. A refusal leaves the state as it was. *)
Inductive accepted :=
| Deliver (** It is the next; it passes, and each held successor after it. *)
| Hold (** It comes early and is kept. *)
| Stale (** Refused: its number was delivered before. *)
| Duplicate (** Refused: its number is held already. *)
| Overflow (** Refused: as many are held as may be. *).

(** Decides about number [seq]. [expected] is the number that is next, none once the last number
    there is was delivered; [held_already] tells whether [seq] is held, [held] how many are, [limit]
    how many may be. With a limit of 0 nothing is held, and frames in order still pass. *)
Definition accept (expected : option N) (seq : N) (held_already : bool) (held limit : N) : accepted :=
  match expected with
  | None => Stale
  | Some next =>
      if U64.ltb seq next then Stale
      else if U64.eqb seq next then Deliver
      else if held_already then Duplicate
      else if U64.leb limit held then Overflow
      else Hold
  end.

(** The number that is next once [seq] was delivered; none after the last one there is. *)
Definition after (seq : N) : option N :=
  if U64.eqb seq U64.max then None else Some (U64.sat_add seq 1).
