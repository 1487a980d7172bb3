(** The closed vocabulary of the decisions.

    A decision is written over binary naturals with these operations and nothing else. Each is
    total, stays within 0 .. 2^64-1 by the lemmas below, and is one operation of Rust's [u64]:

      sat_add   u64::saturating_add        half   x / 2
      sat_sub   u64::saturating_sub        ltb    x < y
      umin      u64::min                   leb    x <= y
      umax      u64::max                   eqb    x == y

    [max] is [u64::MAX]. It is kept folded: unfolded, [lia] would look at 64 binary digits. *)

From Coq Require Import NArith Bool Lia ZifyBool ZifyN.

Open Scope N_scope.
Set Default Proof Using "Type".
Set Default Timeout 30.

Definition t := N.

Definition max : N := 18446744073709551615.

Definition sat_add (x y : N) : N := N.min (x + y) max.
Definition sat_sub (x y : N) : N := x - y.
Definition umin (x y : N) : N := N.min x y.
Definition umax (x y : N) : N := N.max x y.
Definition half (x : N) : N := x / 2.
Definition ltb (x y : N) : bool := x <? y.
Definition leb (x y : N) : bool := x <=? y.
Definition eqb (x y : N) : bool := x =? y.

(** A number that fits. *)
Definition fits (x : N) : Prop := x <= max.

Lemma max_large : 4294967296 <= max.
Proof. unfold max; lia. Qed.

Global Opaque max.

Lemma sat_add_fits x y : fits (sat_add x y).
Proof. unfold fits, sat_add; lia. Qed.

Lemma sat_sub_fits x y : fits x -> fits (sat_sub x y).
Proof. unfold fits, sat_sub; lia. Qed.

Lemma umin_fits x y : fits x -> fits (umin x y).
Proof. unfold fits, umin; lia. Qed.

Lemma umax_fits x y : fits x -> fits y -> fits (umax x y).
Proof. unfold fits, umax; lia. Qed.

Lemma half_fits x : fits x -> fits (half x).
Proof.
  unfold fits, half; intros Hx.
  pose proof (N.div_le_upper_bound x 2 x) as H; lia.
Qed.

(** Where nothing saturates, addition is addition. *)
Lemma sat_add_exact x y : fits (x + y) -> sat_add x y = x + y.
Proof. unfold fits, sat_add; lia. Qed.

Lemma sat_add_0_r x : fits x -> sat_add x 0 = x.
Proof. unfold fits, sat_add; lia. Qed.

Lemma half_le x : half x <= x.
Proof.
  unfold half; pose proof (N.div_le_upper_bound x 2 x) as H; lia.
Qed.

Lemma half_spec x : 2 * half x <= x < 2 * half x + 2.
Proof.
  unfold half; pose proof (N.div_mod' x 2); pose proof (N.mod_lt x 2); lia.
Qed.

Lemma ltb_spec x y : ltb x y = true <-> x < y.
Proof. unfold ltb; lia. Qed.

Lemma leb_spec x y : leb x y = true <-> x <= y.
Proof. unfold leb; lia. Qed.

Lemma eqb_spec x y : eqb x y = true <-> x = y.
Proof. unfold eqb; lia. Qed.
