(** Laws of the gate (G1 to G7). *)

From Coq Require Import NArith Bool List Lia ZifyBool ZifyN.
From Sluicegate Require Import Base.U64 Base.Tactics Decide.Gate.
Import ListNotations.

Set Default Timeout 30.
Open Scope N_scope.

(** G1: a fresh gate has its window and is open. *)
Theorem opened_has_its_window (w : N) : available (opened w) = w /\ closed (opened w) = false.
Proof. split; reflexivity. Qed.

(** G2, L9: credit is taken exactly when the answer says so, from an open gate that had it. *)
Theorem taken_is_exact (g g' : gate) (n : N) (waiting : bool) :
  acquire g n waiting = (g', Taken) ->
  closed g = false /\ n <= available g /\ closed g' = false /\ available g' + n = available g.
Proof. destruct g as [a c]; unfold acquire; cbn; intros H; split_ifs; invert_all; cbn; u64. Qed.

(** G2: a refused acquire changes nothing. *)
Theorem refusal_changes_nothing (g g' : gate) (n : N) (waiting : bool) (answer : acquire_answer) :
  acquire g n waiting = (g', answer) -> answer <> Taken -> g' = g.
Proof. unfold acquire; intros H ?; split_ifs; invert_all; congruence. Qed.

(** G3: who asks waits if and only if the gate is open and either somebody stands before him or
    there is not enough; who asks for nothing never waits. *)
Theorem waits_iff_short (g : gate) (n : N) (waiting : bool) :
  snd (acquire g n waiting) = Wait <->
  closed g = false /\ 0 < n /\ (waiting = true \/ available g < n).
Proof.
  destruct g as [a c]; unfold acquire; cbn; split_ifs; cbn; split; intros H;
    try discriminate; try reflexivity; u64.
Qed.

(** G5: who asks is told that the gate is closed if and only if it is. *)
Theorem closed_iff_closed (g : gate) (n : N) (waiting : bool) :
  snd (acquire g n waiting) = Closed <-> closed g = true.
Proof.
  unfold acquire; split_ifs; cbn; split; intros H; try discriminate; try reflexivity; congruence.
Qed.

(** G4: once grants cover what is missing, the acquire does not wait. *)
Theorem enough_is_enough (g : gate) (n m : N) :
  U64.fits m -> m <= available g + n -> snd (acquire (grant g n) m false) <> Wait.
Proof.
  destruct g as [a [|]]; intros Hm Hn; rewrite waits_iff_short; unfold grant; cbn;
    intros (C & Z & [W|W]); try discriminate; cbn in *; u64.
Qed.

(** G6: a grant adds exactly what it says, up to 2^64 - 1, to an open gate. *)
Theorem grant_adds (g : gate) (n : N) :
  closed g = false -> grant g n = Gate (N.min (available g + n) U64.max) false.
Proof. destruct g as [a c]; cbn; intros ->; reflexivity. Qed.

(** G6: two grants are one of their sum. *)
Theorem grant_is_additive (g : gate) (m n : N) :
  grant (grant g m) n = grant g (m + n).
Proof. destruct g as [a [|]]; unfold grant; cbn; [reflexivity|]; f_equal; u64. Qed.

(** G6: a grant of nothing changes nothing. *)
Theorem grant_of_nothing (g : gate) : U64.fits (available g) -> grant g 0 = g.
Proof. destruct g as [a [|]]; unfold grant; cbn; [reflexivity|]; intros; f_equal; u64. Qed.

(** G5, L13: a closed gate takes no grants. *)
Theorem closed_takes_no_grant (g : gate) (n : N) : closed g = true -> grant g n = g.
Proof. unfold grant; intros ->; reflexivity. Qed.

(** Putting back is exact where nothing saturates, and never opens or closes. *)
Theorem give_back_adds (g : gate) (n : N) :
  give_back g n = Gate (N.min (available g + n) U64.max) (closed g).
Proof. reflexivity. Qed.

(** What is taken and put back leaves the gate as it was. *)
Theorem give_back_undoes (g g' : gate) (n : N) (waiting : bool) :
  U64.fits (available g) -> acquire g n waiting = (g', Taken) -> give_back g' n = g.
Proof.
  intros F H; apply taken_is_exact in H; destruct g as [a c], g' as [a' c']; cbn in *.
  unfold give_back; cbn; destruct H as (-> & ? & -> & ?); f_equal; u64.
Qed.

(** L13: closing keeps what was available and tells whether it was the first. *)
Theorem close_keeps (g : gate) :
  close g = (Gate (available g) true, negb (closed g)).
Proof. reflexivity. Qed.

(** What may happen to a gate. *)
Inductive op :=
| Acquire (n : N) (waiting : bool)
| Grant (n : N)
| GiveBack (n : N)
| Close.

Definition step (g : gate) (o : op) : gate :=
  match o with
  | Acquire n waiting => fst (acquire g n waiting)
  | Grant n => grant g n
  | GiveBack n => give_back g n
  | Close => fst (close g)
  end.

Definition run (g : gate) (ops : list op) : gate := fold_left step ops g.

(** How many closes of a run were told that they closed it. *)
Fixpoint first_closes (g : gate) (ops : list op) : nat :=
  match ops with
  | [] => 0%nat
  | o :: rest =>
      ((match o with Close => if snd (close g) then 1 else 0 | _ => 0 end)
       + first_closes (step g o) rest)%nat
  end.

(** G5, L13: a closed gate stays closed whatever happens. *)
Theorem closed_for_ever (ops : list op) (g : gate) :
  closed g = true -> closed (run g ops) = true.
Proof.
  revert g; induction ops as [|o ops IH]; cbn; intros g H; [exact H|].
  apply IH; destruct g as [a c]; cbn in *; subst; destruct o; reflexivity.
Qed.

(** G5, L13: at most one close of a gate's life is the first; so there is one first reason. *)
Theorem closes_once (ops : list op) (g : gate) :
  (first_closes g ops <= if closed g then 0 else 1)%nat.
Proof.
  revert g; induction ops as [|o ops IH]; cbn; intros g; [destruct (closed g); lia|].
  specialize (IH (step g o)); destruct g as [a c]; destruct o; cbn in *.
  - unfold acquire in *; cbn in *; destruct c; cbn in *; split_ifs; cbn in *; lia.
  - unfold grant in *; cbn in *; destruct c; cbn in *; lia.
  - destruct c; lia.
  - destruct c; cbn in *; lia.
Qed.

(** G5: after a close, every acquire of every later state is told so. *)
Theorem closed_answers_closed (g : gate) (ops : list op) (n : N) (waiting : bool) :
  snd (acquire (run (fst (close g)) ops) n waiting) = Closed.
Proof. apply closed_iff_closed, closed_for_ever; reflexivity. Qed.

(** G7: the count never wraps: it stays within 0 .. 2^64 - 1. *)
Theorem never_wraps (ops : list op) (g : gate) :
  U64.fits (available g) -> U64.fits (available (run g ops)).
Proof.
  revert g; induction ops as [|o ops IH]; cbn; intros g H; [exact H|].
  apply IH; destruct g as [a c]; destruct o; cbn in *;
    unfold acquire, grant; cbn; split_ifs; cbn; u64.
Qed.

(** G2, G7: nothing but an answered acquire lowers what is available. *)
Theorem only_taking_lowers (g : gate) (o : op) :
  U64.fits (available g) -> available (step g o) < available g ->
  exists n waiting, o = Acquire n waiting /\ snd (acquire g n waiting) = Taken.
Proof.
  destruct g as [a c]; destruct o as [n waiting|n|n|]; cbn; intros F H.
  - exists n, waiting; split; [reflexivity|].
    unfold acquire in *; cbn in *; split_ifs; cbn in *; try lia; reflexivity.
  - unfold grant in H; cbn in H; split_ifs; cbn in H; u64.
  - u64.
  - lia.
Qed.
