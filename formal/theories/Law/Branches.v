(** Laws of a fan-out inside a process: what its branches ask for together, and that a copy for everybody
    is asked for by everybody. *)

From Coq Require Import NArith Bool List Lia ZifyBool ZifyN.
From Sluicegate Require Import Base.U64 Base.Tactics.
From Sluicegate Require Import Decide.Branches.
From Sluicegate Require Decide.Hub.
Import ListNotations.

Open Scope N_scope.
Set Default Timeout 30.

(** What is asked for above, over branches that are owed so much each. *)
Definition together (how : division) (l : list N) : N :=
  in_all (fold_left (and_branch how) l None).

Lemma fold_some how l : forall n,
  exists k, fold_left (and_branch how) l (Some n) = Some k
    /\ (how = ToAll -> k <= n /\ Forall (fun x => k <= x) l /\ (k = n \/ In k l))
    /\ (how = ToAny -> fits (n + fold_right N.add 0 l) -> k = n + fold_right N.add 0 l)
    /\ (how = ToChosen -> n <= k /\ Forall (fun x => x <= k) l /\ (k = n \/ In k l)).
Proof.
  induction l as [|x l IH]; intros n; cbn [fold_left fold_right].
  - exists n; repeat split; auto; lia.
  - destruct how; cbn [and_branch].
    + destruct (IH (U64.umin n x)) as (k & -> & H & _); exists k; split; [trivial|].
      split; [|split; discriminate]; intros _; destruct (H eq_refl) as (A & B & C).
      repeat split; [u64|constructor; trivial; u64|].
      destruct C as [C|C]; [|right; right; trivial].
      unfold U64.umin in C; destruct (N.min_dec n x) as [E|E]; rewrite E in C; auto.
      right; left; congruence.
    + destruct (IH (U64.sat_add n x)) as (k & -> & _ & H & _); exists k; split; [trivial|].
      split; [discriminate|split; [|discriminate]]; intros _ Hf.
      rewrite sat_add_exact in H by (unfold fits in *; lia).
      rewrite (H eq_refl) by (unfold fits in *; lia); lia.
    + destruct (IH (U64.umax n x)) as (k & -> & _ & _ & H); exists k; split; [trivial|].
      split; [discriminate|split; [discriminate|]]; intros _; destruct (H eq_refl) as (A & B & C).
      repeat split; [u64|constructor; trivial; u64|].
      destruct C as [C|C]; [|right; right; trivial].
      unfold U64.umax in C; destruct (N.max_dec n x) as [E|E]; rewrite E in C; auto.
      right; left; congruence.
Qed.

(** Without a branch nothing is asked for. *)
Theorem nobody_asks_for_nothing how : together how [] = 0.
Proof. reflexivity. Qed.

(** For a broadcast: no more than any branch has asked for, and as much as the slowest has. *)
Theorem to_all_is_the_least x l :
  Forall (fun n => together ToAll (x :: l) <= n) (x :: l)
  /\ In (together ToAll (x :: l)) (x :: l).
Proof.
  unfold together; cbn [fold_left and_branch].
  destruct (fold_some ToAll l x) as (k & -> & H & _); destruct (H eq_refl) as (A & B & C); cbn [in_all].
  split; [constructor; trivial|destruct C as [->|C]; cbn; auto].
Qed.

(** For a balance: as much as all have asked for together. *)
Theorem to_any_is_the_sum l :
  fits (fold_right N.add 0 l) -> together ToAny l = fold_right N.add 0 l.
Proof.
  destruct l as [|x l]; [reflexivity|]; unfold together; cbn [fold_left and_branch fold_right]; intros Hf.
  destruct (fold_some ToAny l x) as (k & -> & _ & H & _); cbn [in_all]; auto.
Qed.

(** For a partition: as much as the one that has asked for most, so that nobody's demand is forgotten
    and nothing is read that nobody has asked for. *)
Theorem to_chosen_is_the_most x l :
  Forall (fun n => n <= together ToChosen (x :: l)) (x :: l)
  /\ In (together ToChosen (x :: l)) (x :: l).
Proof.
  unfold together; cbn [fold_left and_branch].
  destruct (fold_some ToChosen l x) as (k & -> & _ & _ & H); destruct (H eq_refl) as (A & B & C);
    cbn [in_all].
  split; [constructor; trivial|destruct C as [->|C]; cbn; auto].
Qed.

(** ** Who leaves *)

Fixpoint without (l : list N) (i : nat) : list N :=
  match l, i with
  | [], _ => []
  | x :: l, O => l
  | x :: l, S i => x :: without l i
  end.

(** What is on its way to a fan-out and what waits in it. *)
Definition coming (h : Hub.hub) : N := Hub.asked h + Hub.queued h.

(** No request goes above what the branches that are there have asked for together: what one that left had
    asked for is never asked for again, and what was asked for before is not forgotten. *)
Theorem who_left_asks_no_more how h l i :
  fits (Hub.room h) -> coming h <= Hub.room h ->
  let after := fst (Hub.replenish h (together how (without l i))) in
  coming h <= coming after
  /\ coming after <= N.max (coming h) (together how (without l i)).
Proof.
  unfold coming; generalize (together how (without l i)); intros d Hf Hr.
  unfold Hub.replenish; cbn [fst Hub.asked Hub.queued].
  assert (Hs : sat_add (Hub.asked h) (Hub.queued h) = Hub.asked h + Hub.queued h)
    by (apply sat_add_exact; unfold fits in *; lia).
  rewrite Hs, sat_add_exact by u64; split; u64.
Qed.

(** Nothing is asked for until less is on its way and waiting than those that are left have asked for. *)
Theorem what_comes_is_shared_first how h l i :
  fits (coming h) -> together how (without l i) <= coming h ->
  Hub.replenish h (together how (without l i)) = (h, 0).
Proof.
  unfold coming; generalize (together how (without l i)); intros d Hf Hd; unfold Hub.replenish.
  rewrite (sat_add_exact (Hub.asked h) (Hub.queued h)) by trivial.
  replace (sat_sub (umin d (Hub.room h)) (Hub.asked h + Hub.queued h)) with 0 by u64.
  rewrite sat_add_exact by (unfold fits in *; lia).
  rewrite N.add_0_r; destruct h; reflexivity.
Qed.

(** ** A broadcast, step by step *)

(** The hub between its upstream and its branches, and what each branch is owed. *)
Record fan := FanOut { core : Hub.hub; branches : list N }.

Inductive event :=
| Ask (** More is asked for above. *)
| Arrive (** An element arrives. *)
| Share (** The oldest is handed to every branch. *)
| Want (i : nat) (n : N) (** A branch asks for more. *)
| Leave (i : nat) (** A branch wants no more. *).

(** Is there a branch that was not asked for the element? *)
Definition held_up (f : fan) : bool := existsb (fun n => U64.eqb n 0) (branches f).

Fixpoint wants (l : list N) (i : nat) (n : N) : list N :=
  match l, i with
  | [], _ => []
  | x :: l, O => U64.sat_add x n :: l
  | x :: l, S i => x :: wants l i n
  end.

Definition step (f : fan) (e : event) : fan :=
  match e with
  | Ask => FanOut (fst (Hub.replenish (core f) (together ToAll (branches f)))) (branches f)
  | Arrive => FanOut (fst (Hub.arrive (core f))) (branches f)
  | Share =>
    match Hub.share_next (core f) (negb (U64.eqb (N.of_nat (length (branches f))) 0)) (held_up f) with
    | (h, Hub.Share) => FanOut h (map (fun n => U64.sat_sub n 1) (branches f))
    | _ => f
    end
  | Want i n => FanOut (core f) (wants (branches f) i n)
  | Leave i => FanOut (core f) (without (branches f) i)
  end.

Inductive reached : fan -> Prop :=
| reached_fresh room h l :
    fits room -> Hub.opened room = Some h -> Forall fits l -> reached (FanOut h l)
| reached_step f e : reached f -> reached (step f e).

Record sound (f : fan) : Prop := Sound {
  s_fits : fits (Hub.room (core f)) /\ Forall fits (branches f);
  s_room : Hub.asked (core f) + Hub.queued (core f) <= Hub.room (core f);
  s_owed : Forall (fun n => Hub.asked (core f) + Hub.queued (core f) <= n) (branches f);
}.

Lemma reached_sound f : reached f -> sound f.
Proof.
  induction 1 as [room h l Hr Ho Hl|f e _ [[Hf Hb] Hr Ho]].
  - unfold Hub.opened in Ho; destruct (U64.eqb room 0); [discriminate|]; injection Ho as <-.
    constructor; cbn; [auto|lia|]; apply Forall_forall; intros; lia.
  - destruct f as [h l]; cbn in *; destruct e as [| | |i n|i]; cbn [step].
    + unfold Hub.replenish; cbn [fst core branches].
      assert (Hs : sat_add (Hub.asked h) (Hub.queued h) = Hub.asked h + Hub.queued h)
        by (apply sat_add_exact; unfold fits in *; lia).
      rewrite Hs.
      assert (Ha : sat_add (Hub.asked h)
          (sat_sub (umin (together ToAll l) (Hub.room h)) (Hub.asked h + Hub.queued h))
        = Hub.asked h
          + sat_sub (umin (together ToAll l) (Hub.room h)) (Hub.asked h + Hub.queued h))
        by (apply sat_add_exact; u64).
      constructor; cbn [core branches Hub.room Hub.asked Hub.queued]; rewrite ?Ha; auto; [u64|].
      destruct l as [|x l]; [constructor|].
      destruct (to_all_is_the_least x l) as [H _]; revert H Ho; generalize (together ToAll (x :: l)).
      intros d H Ho; rewrite Forall_forall in *; intros k Hk; specialize (H k Hk); specialize (Ho k Hk).
      u64.
    + cbn [core branches]; unfold Hub.arrive; destruct (U64.eqb (Hub.asked h) 0) eqn:Hz; cbn [fst core branches];
        [constructor; cbn [core branches]; auto|].
      assert (Hsame : sat_sub (Hub.asked h) 1 + sat_add (Hub.queued h) 1
                      = Hub.asked h + Hub.queued h)
        by (rewrite sat_add_exact by (unfold fits in *; u64); u64).
      constructor; cbn [fst core branches Hub.room Hub.asked Hub.queued]; rewrite ?Hsame; auto.
    + cbn [core branches]; unfold Hub.share_next.
      destruct (U64.eqb (Hub.queued h) 0) eqn:Hz; [constructor; cbn [core branches]; auto|].
      destruct (_ && _) eqn:Hgo; [|constructor; cbn [core branches]; auto].
      constructor; cbn [core branches Hub.room Hub.asked Hub.queued]; [split; trivial|u64|].
      * apply Forall_map; rewrite Forall_forall in *; intros k Hk; specialize (Hb k Hk).
        apply sat_sub_fits; trivial.
      * apply Forall_map; rewrite Forall_forall in *; intros k Hk; specialize (Ho k Hk).
        specialize (Hb k Hk); u64.
    + constructor; cbn [core branches]; auto; [split; trivial|].
      * clear Ho; revert i; induction Hb as [|x l Hx Hb IH]; intros i; [destruct i; constructor|].
        destruct i; cbn [wants]; constructor; trivial; apply sat_add_fits.
      * revert i; induction Ho as [|x l Hx Ho IH]; intros i; [destruct i; constructor|].
        inversion Hb; subst; destruct i; cbn [wants]; constructor; trivial; [u64|auto].
    + constructor; cbn [core branches]; auto; [split; trivial|].
      * clear Ho; revert i; induction Hb as [|x l Hx Hb IH]; intros i; [destruct i; constructor|].
        destruct i; cbn [without]; trivial; constructor; auto.
      * revert i; induction Ho as [|x l Hx Ho IH]; intros i; [destruct i; constructor|].
        inversion Hb; subst; destruct i; cbn [without]; trivial; constructor; auto.
Qed.

(** Whatever branches ask and whoever leaves: each branch that is left is owed all that is on its way to
    the fan-out and all that waits in it. *)
Theorem no_branch_gets_unasked f :
  reached f ->
  Forall (fun n => Hub.asked (core f) + Hub.queued (core f) <= n) (branches f).
Proof. intros Hr; apply reached_sound; trivial. Qed.

(** So a broadcast never stands still with an element in its hands: as long as there is a branch, what has
    arrived can be handed to all of them at once. *)
Theorem broadcast_moves f :
  reached f -> branches f <> [] -> Hub.queued (core f) <> 0 ->
  held_up f = false /\ Hub.queued (core (step f Share)) = Hub.queued (core f) - 1.
Proof.
  intros Hr Hl Hq; destruct (reached_sound f Hr) as [_ _ Ho].
  assert (Hh : held_up f = false).
  { unfold held_up; destruct (existsb _ _) eqn:He; [|trivial].
    apply existsb_exists in He as (n & Hn & Hz); rewrite Forall_forall in Ho; specialize (Ho n Hn); u64. }
  split; [trivial|]; cbn [step]; rewrite Hh; unfold Hub.share_next.
  destruct (U64.eqb (Hub.queued (core f)) 0) eqn:Hz; [u64|].
  destruct (branches f) as [|x l]; [now destruct Hl|].
  replace (U64.eqb (N.of_nat (length (x :: l))) 0) with false by (cbn [length]; u64).
  reflexivity.
Qed.
