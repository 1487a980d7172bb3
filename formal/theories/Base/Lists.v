(** Lists as the laws use them: their size as a number, and what is left of a list when some of it
    is taken away in order. *)

From Coq Require Import NArith List Lia.
Import ListNotations.

Open Scope N_scope.
Set Default Timeout 30.

Definition size {A} (l : list A) : N := N.of_nat (length l).

Lemma size_cons A (x : A) l : size (x :: l) = size l + 1.
Proof. unfold size; cbn [length]; lia. Qed.

Lemma size_app A (l k : list A) : size (l ++ k) = size l + size k.
Proof. unfold size; rewrite app_length; lia. Qed.

Lemma size_nil A : size (@nil A) = 0.
Proof. reflexivity. Qed.

Lemma size_rev A (l : list A) : size (rev l) = size l.
Proof. unfold size; rewrite rev_length; lia. Qed.

Arguments size : simpl never.

(** [l] is what is left of [k] when some of it is taken away, in the same order. *)
Inductive kept_of {A} : list A -> list A -> Prop :=
| kept_nil : kept_of [] []
| kept_skip x l k : kept_of l k -> kept_of l (x :: k)
| kept_cons x l k : kept_of l k -> kept_of (x :: l) (x :: k).

Lemma kept_snoc A (x : A) l k : kept_of l k -> kept_of (l ++ [x]) (k ++ [x]).
Proof.
  induction 1; cbn; [apply kept_cons, kept_nil|apply kept_skip|apply kept_cons]; trivial.
Qed.

Lemma kept_skip_last A (x : A) l k : kept_of l k -> kept_of l (k ++ [x]).
Proof.
  induction 1; cbn; [apply kept_skip, kept_nil|apply kept_skip|apply kept_cons]; trivial.
Qed.

Lemma kept_same A (l : list A) : kept_of l l.
Proof. induction l; [apply kept_nil|apply kept_cons; trivial]. Qed.

Lemma kept_none A (l : list A) : kept_of [] l.
Proof. induction l; [apply kept_nil|apply kept_skip; trivial]. Qed.

Lemma kept_app A (h l k : list A) : kept_of l k -> kept_of (h ++ l) (h ++ k).
Proof. intros H; induction h; cbn; [trivial|apply kept_cons; trivial]. Qed.

Lemma kept_trans A (l k j : list A) : kept_of l k -> kept_of k j -> kept_of l j.
Proof.
  intros Hl Hk; revert l Hl; induction Hk as [|x k j Hk IH|x k j Hk IH]; intros l Hl; trivial.
  - apply kept_skip; auto.
  - inversion Hl; subst; [apply kept_skip|apply kept_cons]; auto.
Qed.
