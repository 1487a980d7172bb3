(** How two proposals for a limit become one. *)

From Coq Require Import NArith.
From Sluicegate Require Import Base.U64.

(** The smaller proposal, or none if either is zero: a window of nothing can never move (L9). *)
Definition negotiate (ours theirs : N) : option N :=
  let agreed := U64.umin ours theirs in
  if U64.eqb agreed 0 then None else Some agreed.

(** The window that a relay may let a sender start with: the smallest of the windows on the way, so
    that no link's receiver is overrun (L11). [so_far] is what the links before agreed on. *)
Definition narrowed (so_far : option N) (next : N) : option N :=
  match so_far with
  | Some agreed => negotiate agreed next
  | None => None
  end.
