(** Laws of negotiation (N1 to N3). *)

From Coq Require Import NArith Bool List Lia ZifyBool ZifyN.
From Sluicegate Require Import Base.U64 Base.Tactics Decide.Negotiate.
Import ListNotations.

Set Default Timeout 30.
Open Scope N_scope.

(** N1: it does not matter who proposes what. *)
Theorem commutative (x y : N) : negotiate x y = negotiate y x.
Proof. unfold negotiate, U64.umin; rewrite N.min_comm; reflexivity. Qed.

(** N2: there is no answer if and only if a proposal is 0. *)
Theorem refused_iff_zero (x y : N) : negotiate x y = None <-> x = 0 \/ y = 0.
Proof. unfold negotiate; split_ifs; split; intros; try discriminate; try reflexivity; u64. Qed.

(** N3, L9: an answer is at least 1, at most both proposals, and one of them. *)
Theorem agreed_is_the_smaller (x y a : N) :
  negotiate x y = Some a -> 1 <= a /\ a <= x /\ a <= y /\ (a = x \/ a = y).
Proof. unfold negotiate; intros H; split_ifs; invert_all; u64. Qed.

(** Over two links it does not matter which is negotiated first. *)
Theorem associative (x y z : N) :
  narrowed (negotiate x y) z =
  match negotiate y z with Some a => negotiate x a | None => None end.
Proof.
  unfold narrowed, negotiate; split_ifs; try reflexivity; try (f_equal; u64); exfalso; u64.
Qed.

(** The window over a whole route, link by link. *)
Definition over (first : N) (rest : list N) : option N :=
  fold_left narrowed rest (negotiate first first).

Fixpoint smallest (first : N) (rest : list N) : N :=
  match rest with [] => first | w :: rest => smallest (N.min first w) rest end.

(** L11: over any number of links it is the smallest window of them all, or none if one is 0; so no
    receiver on the way is ever overrun, and the order of the links plays no part. *)
Theorem smallest_of_all (rest : list N) (first : N) :
  over first rest = if smallest first rest =? 0 then None else Some (smallest first rest).
Proof.
  unfold over; replace (negotiate first first) with (if first =? 0 then None else Some first)
    by (unfold negotiate, U64.umin, U64.eqb; rewrite N.min_id; reflexivity).
  revert first; induction rest as [|w rest IH]; intros first; cbn; [reflexivity|].
  rewrite <- IH; f_equal; unfold narrowed, negotiate; split_ifs; try reflexivity; try (f_equal; u64); exfalso; u64.
Qed.

Lemma smallest_le_first (rest : list N) (first : N) : smallest first rest <= first.
Proof.
  revert first; induction rest as [|v rest IH]; cbn; intros first; [lia|].
  specialize (IH (N.min first v)); lia.
Qed.

Lemma smallest_le (rest : list N) (first w : N) :
  In w (first :: rest) -> smallest first rest <= w.
Proof.
  intros [->|I]; [apply smallest_le_first|].
  revert first; induction rest as [|v rest IH]; cbn in *; intros first; [tauto|].
  destruct I as [->|I]; [pose proof (smallest_le_first rest (N.min first w)); lia|auto].
Qed.

(** L11: a sender that starts with it fits every receiver on the route. *)
Theorem fits_every_link (first : N) (rest : list N) (a w : N) :
  over first rest = Some a -> In w (first :: rest) -> 1 <= a <= w.
Proof.
  rewrite smallest_of_all; intros E I; split_ifs; invert_all.
  pose proof (smallest_le _ _ _ I); lia.
Qed.
