(** Small tactics for proofs about decisions: split the conditionals, then count. *)

From Coq Require Import NArith Bool Lia ZifyBool ZifyN.
From Sluicegate Require Import Base.U64.

Open Scope N_scope.

(** Unfolds the vocabulary of [U64]; [half] and [max] stay folded. *)
Ltac u64_unfold :=
  unfold U64.sat_add, U64.sat_sub, U64.umin, U64.umax, U64.ltb, U64.leb, U64.eqb, U64.fits in *.

(** Linear arithmetic over the vocabulary. *)
Ltac u64 := u64_unfold; lia.

(** Splits every [if] of goal and context. *)
Ltac split_ifs :=
  repeat match goal with
  | |- context [if ?b then _ else _] => destruct b eqn:?
  | H : context [if ?b then _ else _] |- _ => destruct b eqn:?
  end.

(** Takes equations between constructors apart. *)
Ltac invert_all :=
  try discriminate;
  repeat match goal with
  | H : Some _ = Some _ |- _ => injection H; clear H; intros; subst
  | H : (_, _) = (_, _) |- _ => injection H; clear H; intros; subst
  | H : Some _ = None |- _ => discriminate H
  | H : None = Some _ |- _ => discriminate H
  | H : true = false |- _ => discriminate H
  | H : false = true |- _ => discriminate H
  end.
