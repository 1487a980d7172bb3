(** What holds of every hop of every chain, and that each step keeps it. *)

From Coq Require Import NArith List Bool Lia ZifyBool ZifyN.
From Sluicegate Require Base.U64 Decide.Gate Decide.Window.
From Sluicegate Require Import Law.Chain.
Import ListNotations.

Open Scope N_scope.
Set Default Timeout 30.

Fixpoint sum (l : list N) : N :=
  match l with
  | [] => 0
  | x :: rest => x + sum rest
  end.

Lemma sum_app l m : sum (l ++ m) = sum l + sum m.
Proof. induction l; simpl; lia. Qed.

Lemma count_nil {A} : count (@nil A) = 0.
Proof. reflexivity. Qed.

Lemma count_cons {A} (x : A) l : count (x :: l) = 1 + count l.
Proof. unfold count; simpl length; lia. Qed.

Lemma count_app {A} (l m : list A) : count (l ++ m) = count l + count m.
Proof. unfold count; rewrite app_length; lia. Qed.

Lemma count_zero {A} (l : list A) : count l = 0 -> l = [].
Proof. destruct l; [easy|rewrite count_cons; lia]. Qed.

Global Opaque count.

Lemma sum_sent_grant n l : sum (sent_grant n l) = sum l + n.
Proof.
  unfold sent_grant; destruct (U64.eqb n 0) eqn:E; [apply U64.eqb_spec in E; lia|].
  rewrite sum_app; simpl; lia.
Qed.

(** *** The decisions, where nothing saturates *)

Lemma consumed_spec w :
  Window.pending w < Window.batch w ->
  Window.remaining w + Window.pending w + 1 <= U64.max ->
  exists w' n, Window.consumed w = (w', n) /\
    Window.remaining w' = Window.remaining w + n /\
    Window.pending w' + n = Window.pending w + 1 /\
    Window.pending w' < Window.batch w' /\ Window.batch w' = Window.batch w.
Proof.
  intros Hp Hm; unfold Window.consumed, Window.flush; cbn.
  rewrite !U64.sat_add_exact by (unfold U64.fits; lia).
  destruct (U64.ltb _ _) eqn:E; unfold U64.ltb in E;
    eexists _, _; (split; [reflexivity|]); cbn;
    rewrite ?U64.sat_add_exact by (unfold U64.fits; lia); lia.
Qed.

Lemma flush_spec w :
  Window.remaining w + Window.pending w <= U64.max ->
  Window.flush w =
    (Window.Window (Window.remaining w + Window.pending w) 0 (Window.batch w), Window.pending w).
Proof.
  intros Hm; unfold Window.flush.
  rewrite U64.sat_add_exact by (unfold U64.fits; lia); reflexivity.
Qed.

Lemma arrive_spec w :
  1 <= Window.remaining w ->
  Window.arrive w =
    (Window.Window (Window.remaining w - 1) (Window.pending w) (Window.batch w), Window.Accepted).
Proof.
  intros H; unfold Window.arrive, U64.eqb, U64.sat_sub.
  destruct (_ =? _) eqn:E; [lia|reflexivity].
Qed.

Lemma acquire_taken g n : forall g', Gate.acquire g n false = (g', Gate.Taken) ->
  Gate.closed g = false /\ Gate.closed g' = false /\ Gate.available g' + n = Gate.available g.
Proof.
  intros g'; unfold Gate.acquire, U64.eqb, U64.ltb, U64.sat_sub.
  destruct (Gate.closed g) eqn:C; [easy|].
  destruct (n =? 0) eqn:Z; [intros E; injection E as <-; repeat split; auto; lia|].
  destruct (_ <? _) eqn:L; [easy|].
  intros E; injection E as <-; cbn; lia.
Qed.

(** What an acquire of one chunk is told depends on nothing else. *)
Lemma acquire_one g :
  (Gate.closed g = true /\ snd (Gate.acquire g 1 false) = Gate.Closed) \/
  (Gate.closed g = false /\ Gate.available g = 0 /\ snd (Gate.acquire g 1 false) = Gate.Wait) \/
  (Gate.closed g = false /\ 1 <= Gate.available g /\
   exists g', Gate.acquire g 1 false = (g', Gate.Taken)).
Proof.
  unfold Gate.acquire, U64.ltb, U64.eqb; destruct (Gate.closed g); [left; easy|right]; cbn [N.eqb].
  destruct (_ <? _) eqn:L; [left; repeat split; lia|right].
  repeat split; [lia|eexists; reflexivity].
Qed.

(* Takes a step of a hop apart. *)
Ltac apart :=
  repeat match goal with
  | |- context [match ?x with _ => _ end] => destruct x eqn:?; try easy
  end.

Section Hop.
Context {chunk : Type}.
Implicit Types h : hop chunk.

Lemma shut_closed h : shut h <-> Gate.closed (gate h) = true.
Proof. unfold shut; destruct (acquire_one (gate h)) as [[? E]|[[? [? E]]|[? [? [g E]]]]]; rewrite E; cbn;
  split; congruence. Qed.

(** What is true of a hop at every moment. *)
Record hop_invariant (h : hop chunk) : Prop := {
  planned_soundly : sound (planned h);
  batch_in_bounds :
    1 <= Window.batch (window h) <= U64.umax 1 (U64.half (receive_window (planned h)));
  pending_below_batch : Window.pending (window h) < Window.batch (window h);
  credit_covers :
    Gate.available (gate h) + count (wire h) + sum (grants h)
      + (receive_window (planned h) - send_window (planned h)) <= Window.remaining (window h);
  credit_adds_up :
    Gate.closed (gate h) = false -> given_up h = false ->
    Gate.available (gate h) + count (wire h) + sum (grants h)
      + (receive_window (planned h) - send_window (planned h)) = Window.remaining (window h);
  room_adds_up :
    given_up h = false ->
    Window.remaining (window h) + Window.pending (window h) + owing h = receive_window (planned h);
  room_bounded : Window.remaining (window h) + Window.pending (window h) <= receive_window (planned h);
  nothing_kept : given_up h = true -> queue h = [] /\ hand h = None;
  nothing_lost : given_up h = false -> gone h = [];
  no_empty_grant : Forall (fun n => 0 < n) (grants h);
  no_overrun : overrun h = false;
}.

Lemma opened_invariant p : sound p -> hop_invariant (opened p).
Proof.
  intros S; pose proof S as (S1 & S2 & S3); constructor; auto; try easy;
    unfold owing, in_hand, opened, Window.with_batch, Window.default_batch, U64.umin, U64.umax; cbn -[N.min N.max];
    rewrite ?count_nil; pose proof (@count_nil chunk); try (destruct (early p)); try lia; constructor.
Qed.

Lemma no_empty_sent n l :
  Forall (fun n => 0 < n) l -> Forall (fun n => 0 < n) (sent_grant n l).
Proof.
  intros F; unfold sent_grant; destruct (U64.eqb n 0) eqn:E; [easy|].
  unfold U64.eqb in E; apply Forall_app; split; [easy|constructor; [lia|constructor]].
Qed.

Ltac counts := unfold owing, in_hand in *; cbn -[N.add N.sub N.min N.max] in *;
  rewrite ?(@count_app chunk), ?(@count_cons chunk), ?(@count_nil chunk), ?sum_sent_grant in *;
    try pose proof (@count_nil chunk).

Lemma sends_invariant x h h' : hop_invariant h -> sends x h = Some h' -> hop_invariant h'.
Proof.
  intros [] E; unfold sends in E.
  destruct (Gate.acquire (gate h) 1 false) as [g []] eqn:A; try easy.
  injection E as <-; apply acquire_taken in A as (A1 & A2 & A3).
  constructor; counts; auto; try lia; intros; try specialize (credit_adds_up0 A1); lia.
Qed.

Lemma arrives_invariant h h' : hop_invariant h -> arrives h = Some h' -> hop_invariant h'.
Proof.
  intros [] E; unfold arrives in E; destruct (wire h) as [|x rest] eqn:W; [easy|]; rewrite ?W in *.
  destruct (given_up h) eqn:G.
  - injection E as <-; constructor; counts; auto; try congruence; try lia.
  - specialize (room_adds_up0 eq_refl).
    rewrite arrive_spec in E by (counts; lia).
    injection E as <-; constructor; counts; auto; try congruence; try lia.
Qed.

Lemma credits_invariant h h' : hop_invariant h -> credits h = Some h' -> hop_invariant h'.
Proof.
  intros [] E; unfold credits in E; destruct (grants h) as [|n rest] eqn:W; [easy|]; rewrite ?W in *.
  pose proof planned_soundly0 as (S1 & S2 & S3).
  injection E as <-; inversion no_empty_grant0; subst.
  unfold Gate.grant in *; destruct (Gate.closed (gate h)) eqn:C.
  - constructor; counts; auto; try lia; congruence.
  - rewrite U64.sat_add_exact in * by (unfold U64.fits; counts; lia).
    constructor; counts; auto; try lia.
    all: intros _ G; specialize (credit_adds_up0 eq_refl G); lia.
Qed.

Lemma takes_invariant h h' : hop_invariant h -> takes h = Some h' -> hop_invariant h'.
Proof.
  intros [] E; unfold takes in E; destruct (given_up h) eqn:G; [easy|].
  destruct (hand h) eqn:N; [easy|]; destruct (queue h) as [|x rest] eqn:Q; [easy|].
  specialize (room_adds_up0 eq_refl); pose proof planned_soundly0 as (S1 & S2 & S3).
  destruct (early (planned h)) eqn:B; unfold owing in room_adds_up0; rewrite ?B, ?Q in *; counts.
  - destruct (consumed_spec (window h)) as (w & n & -> & W1 & W2 & W3 & W4) in E; [lia..|].
    injection E as <-; constructor; counts; rewrite ?W4, ?B; auto using no_empty_sent; try congruence; try lia.
    all: intros C _; specialize (credit_adds_up0 C eq_refl); lia.
  - injection E as <-; rewrite N in *; constructor; counts; rewrite ?B; auto; try congruence; try lia.
Qed.

Lemma passes_invariant x h h' : hop_invariant h -> passes h = Some (x, h') -> hop_invariant h'.
Proof.
  intros [] E; unfold passes in E; destruct (given_up h) eqn:G; [easy|].
  destruct (hand h) eqn:N; [|easy].
  specialize (room_adds_up0 eq_refl); pose proof planned_soundly0 as (S1 & S2 & S3).
  destruct (early (planned h)) eqn:B; unfold owing, in_hand in room_adds_up0; rewrite ?B, ?N in *; counts.
  - injection E as <- <-; constructor; counts; rewrite ?B; auto; try congruence; try lia.
  - destruct (consumed_spec (window h)) as (w & n & -> & W1 & W2 & W3 & W4) in E; [lia..|].
    injection E as <- <-; constructor; counts; rewrite ?W4, ?B; auto using no_empty_sent; try congruence; try lia.
    all: intros C _; specialize (credit_adds_up0 C eq_refl); lia.
Qed.

Lemma flushes_invariant h h' : hop_invariant h -> flushes h = Some h' -> hop_invariant h'.
Proof.
  intros [] E; unfold flushes in E; destruct (given_up h) eqn:G; [easy|].
  pose proof planned_soundly0 as (S1 & S2 & S3).
  rewrite flush_spec in E by lia; destruct (U64.eqb _ _); [easy|]; injection E as <-.
  specialize (room_adds_up0 eq_refl).
  constructor; counts; auto using no_empty_sent; try congruence; try lia.
  all: intros C _; specialize (credit_adds_up0 C eq_refl); lia.
Qed.

Lemma closes_invariant h h' : hop_invariant h -> closes h = Some h' -> hop_invariant h'.
Proof.
  intros [] E; unfold closes, Gate.close in E; destruct (Gate.closed (gate h)); [easy|].
  injection E as <-; constructor; counts; auto; congruence.
Qed.

Lemma gives_up_invariant h h' : hop_invariant h -> gives_up h = Some h' -> hop_invariant h'.
Proof.
  intros [] E; unfold gives_up in E; destruct (given_up h); [easy|].
  injection E as <-; constructor; counts; auto; congruence.
Qed.

Lemma alone_invariant k h h' : hop_invariant h -> alone k h h' -> hop_invariant h'.
Proof.
  intros I A; destruct A;
    first [ eapply arrives_invariant; eassumption | eapply credits_invariant; eassumption
          | eapply takes_invariant; eassumption | eapply flushes_invariant; eassumption
          | eapply closes_invariant; eassumption | eapply gives_up_invariant; eassumption ].
Qed.

Lemma moves_invariant k c i o c' :
  Forall hop_invariant c -> moves k c i o c' -> Forall hop_invariant c'.
Proof.
  intros F M; induction M; inversion F as [|? ? I F']; subst; constructor; auto;
    first [ eapply alone_invariant; eassumption | eapply sends_invariant; eassumption
          | eapply passes_invariant; eassumption | eapply flushes_invariant; eassumption
          | eapply gives_up_invariant; eassumption | idtac ].
  inversion F'; subst; constructor; [eapply closes_invariant; eassumption|assumption].
Qed.

(** Every reachable hop, of every chain of sound plans. *)
Theorem reachable_invariant plans s :
  Forall sound plans -> reachable plans s -> Forall hop_invariant (hops s).
Proof.
  intros F R; induction R as [|k s s' R IH St].
  - cbn; rewrite Forall_map; eapply Forall_impl; [|exact F]; apply opened_invariant.
  - destruct St; cbn in *; eauto using moves_invariant.
    inversion IH; subst; constructor; eauto using closes_invariant.
Qed.

End Hop.
