(** No sender waits for ever (C8, C9). *)

From Coq Require Import NArith Bool List Lia ZifyBool ZifyN ZifyNat.
From Sluicegate Require Import Base.U64 Base.Tactics Base.Eventually.
From Sluicegate Require Decide.Gate Decide.Window Law.Gate Law.Window.
From Sluicegate Require Import Law.Pair.
Import ListNotations.

Set Default Timeout 30.
Open Scope N_scope.

(** * After the end *)

(** C8, L13: once the gate is closed, it stays so, and whoever asks is told. *)
Theorem released_for_ever (p p' : pair) (o : op) (n : N) (waiting : bool) :
  G.closed (gate p) = true -> step p o = Some p' ->
  G.closed (gate p') = true /\ snd (G.acquire (gate p') n waiting) = G.Closed.
Proof.
  intros C E; assert (G.closed (gate p') = true) as C'.
  { destruct p as [[a c] w h x q cs l v]; cbn in *; subst c.
    destruct o as [m|m| |part| | | |]; cbn in E;
      repeat match goal with
      | H : context [W.arrive ?x] |- _ => destruct (W.arrive x) as [? [|]]
      | H : context [W.consumed ?x] |- _ => destruct (W.consumed x)
      | H : context [if ?b then _ else _] |- _ => destruct b
      | H : context [match ?l with [] => _ | _ => _ end] |- _ => destruct l
      end; invert_all; reflexivity. }
  split; [exact C'|]; apply Law.Gate.closed_iff_closed, C'.
Qed.

(** C8, L13: and a close can always happen. *)
Theorem release_is_always_possible (p : pair) :
  exists p', step p Close = Some p' /\ G.closed (gate p') = true.
Proof. destruct p; cbn; eauto. Qed.

(** * While it is open *)

(** What somebody is obliged to do: senders send what they took, the wire delivers, the consumer takes
    what is queued, and flushes when its queue is empty (if it keeps that rule). *)
Definition obliged (flushes : bool) (p p' : pair) : Prop :=
  exists o, step p o = Some p' /\
  match o with
  | Send | Deliver _ | Consume | Credit => True
  | Flush => flushes = true /\ queue p = 0
  | _ => False
  end.

(** What may happen besides, and in any order: earlier flushes, credit put back, the end. *)
Definition possible (flushes : bool) (p p' : pair) : Prop :=
  obliged flushes p p'
  \/ exists o, step p o = Some p' /\
     match o with Flush | Close => True | PutBack n => 1 <= n | _ => False end.

(** The waiter's goal: its credit is there, or it is told that the gate is closed. *)
Definition served (n : N) (p : pair) : Prop :=
  snd (G.acquire (gate p) n false) <> G.Wait.

(** What is under way, each weighted by the moves it still needs. *)
Definition under_way (p : pair) : nat :=
  (5 * N.to_nat (taken p) + 4 * N.to_nat (wire p) + 3 * N.to_nat (queue p)
   + 2 * N.to_nat (W.pending (window p)) + length (credits p))%nat.

Lemma length_send_grant (l : list N) (n : N) :
  (length (send_grant l n) <= length l + 1)%nat.
Proof. unfold send_grant; split_ifs; [lia|]; rewrite app_length; cbn; lia. Qed.

(** Every move uses some of it up, or ends the request. *)
Lemma moves_use_up (S R : N) (flushes : bool) (p p' : pair) :
  1 <= S <= R -> U64.fits R -> sound S R p -> possible flushes p p' ->
  G.closed (gate p') = true \/ (sound S R p' /\ (under_way p' < under_way p)%nat).
Proof.
  intros SR F I M.
  assert (exists o, step p o = Some p' /\
            match o with Take _ => False | PutBack n => 1 <= n | _ => True end) as (o & E & O).
  { destruct M as [(o & E & O)|(o & E & O)]; exists o; split; auto; destruct o; tauto. }
  clear M; destruct (G.closed (gate p')) eqn:C; [auto|right].
  split; [eauto using step_sound|].
  destruct I as [C1 C2 C3 C4 C5 C6 C7 C8]; pose proof (Law.Window.default_batch_bounds R) as [_ B].
  destruct p as [[a c] [r pe b] h x q cs l v]; unfold under_way; cbn in *.
  destruct o as [n|n| |part| | | |]; cbn in E; [tauto|..].
  - split_ifs; invert_all; cbn; lia.
  - split_ifs; invert_all; cbn; lia.
  - destruct (x =? 0) eqn:X; [discriminate|].
    destruct (W.arrive (W.Window r pe b)) as [w' [|]] eqn:A.
    + apply Law.Window.arrival_costs_one in A; destruct w' as [r' pe' b']; cbn in A; destruct A as (? & -> & ->).
      destruct part; cbn in E; invert_all; cbn; [|lia]; rewrite app_length; cbn; lia.
    + assert (r = 0) by (apply (Law.Window.violation_iff_exhausted (W.Window r pe b)); rewrite A; reflexivity).
      lia.
  - destruct (q =? 0) eqn:Q; [discriminate|]; destruct (N.ltb_spec (pe + 1) b).
    + rewrite Law.Window.consumed_below_batch in E by (cbn; u64); cbn in E; invert_all; cbn; lia.
    + rewrite Law.Window.consumed_completes_batch in E by (cbn; u64); cbn in E; invert_all; cbn.
      pose proof (length_send_grant cs (pe + 1)).
      replace b with (pe + 1) by lia; lia.
  - destruct (pe =? 0) eqn:Q; [discriminate|]; invert_all; cbn.
    pose proof (length_send_grant cs pe); lia.
  - destruct cs as [|n cs]; [discriminate|]; invert_all; cbn; lia.
  - invert_all; discriminate.
Qed.

Lemma credits_length (l : list N) : Forall (N.le 1) l -> (length l <= N.to_nat (sum l))%nat.
Proof. induction 1; cbn; lia. Qed.

Lemma under_way_bound (S R : N) (p : pair) :
  1 <= S <= R -> sound S R p -> (under_way p <= 5 * N.to_nat S)%nat.
Proof.
  intros SR [C1 C2 C3 C4 C5 C6 C7 C8]; apply credits_length in C6; unfold under_way; lia.
Qed.

(** A step of these kinds is possible whenever there is something to do it with. *)
Lemma something_to_do (S R : N) (flushes : bool) (p : pair) :
  1 <= S <= R -> U64.fits R -> sound S R p ->
  1 <= taken p \/ 1 <= wire p \/ credits p <> [] \/ 1 <= queue p
  \/ (flushes = true /\ queue p = 0 /\ 1 <= W.pending (window p)) ->
  exists p', obliged flushes p p'.
Proof.
  intros SR F I H; destruct p as [g w h x q cs l v]; cbn in H.
  destruct H as [H|[H|[H|[H|(H1 & H2 & H3)]]]].
  - eexists; exists Send; cbn; split; [|exact Logic.I]; split_ifs; [lia|reflexivity].
  - unfold obliged; cbn; enough (exists p', step (Pair g w h x q cs l v) (Deliver false) = Some p') as [p' E]
      by (exists p', (Deliver false); auto).
    cbn; split_ifs; [lia|]; destruct (W.arrive w) as [? [|]]; eauto.
  - destruct cs as [|n cs]; [congruence|]; eexists; exists Credit; cbn; split; [reflexivity|exact Logic.I].
  - enough (exists p', step (Pair g w h x q cs l v) Consume = Some p') as [p' E]
      by (exists p', Consume; auto).
    cbn; split_ifs; [lia|]; destruct (W.consumed w); eauto.
  - subst; eexists; exists Flush; cbn; split; [|auto]; split_ifs; [lia|reflexivity].
Qed.

(** C9, L10: progress: if the consumer flushes before it waits, an acquire of up to the whole window
    is answered after at most 5 S + 1 moves of the others, in whatever order they come; and until then
    there is always a move that somebody is obliged to make. The windows may differ. *)
Theorem every_acquire_is_answered (S R n : N) (p : pair) :
  1 <= S <= R -> U64.fits R -> reachable S R p -> 1 <= n <= S ->
  within pair (possible true) (obliged true) (served n) (1 + 5 * N.to_nat S) p.
Proof.
  intros SR F H N; apply reachable_sound in H; auto.
  apply shrinking_reaches with (inv := sound S R) (count := under_way); auto.
  - intros s s' I M; destruct (moves_use_up S R true s s' SR F I M) as [C|?]; [left|auto].
    unfold served; rewrite Law.Gate.waits_iff_short; intros (? & _); congruence.
  - intros s I; unfold served.
    destruct (snd (G.acquire (gate s) n false)) eqn:A; try (left; discriminate); right.
    apply Law.Gate.waits_iff_short in A as (O & _ & [A|A]); [discriminate|].
    apply (something_to_do S R); auto.
    destruct I as [C1 C2 C3 C4 C5 C6 C7 C8]; specialize (C7 O).
    destruct (credits s) eqn:CR; cbn in *; [|right; right; left; discriminate].
    destruct (N.eq_dec (queue s) 0), (N.eq_dec (taken s) 0), (N.eq_dec (wire s) 0); lia.
  - exact (under_way_bound S R p SR H).
Qed.

(** C9, C3: with one window for both ends, an acquire of 1 is answered even if the consumer never
    flushes. *)
Theorem one_is_answered_without_flush (W : N) (p : pair) :
  1 <= W -> U64.fits W -> reachable W W p ->
  within pair (possible false) (obliged false) (served 1) (1 + 5 * N.to_nat W) p.
Proof.
  intros P F H; assert (1 <= W <= W) as SR by lia; apply reachable_sound in H; auto.
  apply shrinking_reaches with (inv := sound W W) (count := under_way); auto.
  - intros s s' I M; destruct (moves_use_up W W false s s' SR F I M) as [C|?]; [left|auto].
    unfold served; rewrite Law.Gate.waits_iff_short; intros (? & _); congruence.
  - intros s I; unfold served.
    destruct (snd (G.acquire (gate s) 1 false)) eqn:A; try (left; discriminate); right.
    apply Law.Gate.waits_iff_short in A as (O & _ & [A|A]); [discriminate|].
    apply (something_to_do W W); auto; pose proof (Law.Window.default_batch_bounds W) as [_ B].
    destruct I as [C1 C2 C3 C4 C5 C6 C7 C8]; specialize (C7 O).
    destruct (credits s) eqn:CR; cbn in *; [|right; right; left; discriminate].
    destruct (N.eq_dec (queue s) 0), (N.eq_dec (taken s) 0), (N.eq_dec (wire s) 0); lia.
  - exact (under_way_bound W W p SR H).
Qed.
