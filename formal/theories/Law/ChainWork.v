(** Chains of any length: every run ends, and delivers.

    No fairness is asked for: the weight of a chain falls with every step but the source's, so every
    order of steps leads to the same rest, where all that was sent has been delivered. *)

From Coq Require Import NArith List Bool Lia ZifyBool ZifyN.
From Sluicegate Require Base.U64 Decide.Gate Decide.Window.
From Sluicegate Require Import Law.Chain Law.ChainHop Law.ChainSafe Law.ChainLive.
Import ListNotations.

Open Scope N_scope.
Set Default Timeout 30.

Section Work.
Context {chunk : Type}.
Implicit Types (h : hop chunk) (c : list (hop chunk)) (s : system chunk).

Definition if_true (b : bool) : N := if b then 1 else 0.

(** What is still to be done in a hop with [n] hops behind it. *)
Definition work n h : N :=
  (7 * n + 7) * count (wire h) + (7 * n + 6) * count (queue h) + (7 * n + 3) * count (in_hand h)
  + 2 * Window.pending (window h) + count (grants h)
  + if_true (negb (Gate.closed (gate h))) + if_true (negb (given_up h)).

Fixpoint weight c : N :=
  match c with
  | [] => 0
  | h :: t => work (count t) h + weight t
  end.

Lemma count_sent_grant n l : count (sent_grant n l) = count l + if n =? 0 then 0 else 1.
Proof.
  unfold sent_grant, U64.eqb; destruct (n =? 0); [lia|].
  rewrite count_app, count_cons; pose proof (@count_nil N); lia.
Qed.

Lemma hop_consumed h :
  hop_invariant h -> given_up h = false -> 1 <= owing h ->
  exists w n, Window.consumed (window h) = (w, n) /\
    2 * Window.pending w + count (sent_grant n (grants h))
      <= 2 * Window.pending (window h) + count (grants h) + 2.
Proof.
  intros I G O; destruct (planned_soundly h I) as (S1 & S2 & S3).
  pose proof (room_adds_up h I G) as B; pose proof (pending_below_batch h I) as P.
  destruct (consumed_spec (window h) P) as (w & n & E & _ & W & _); [lia|].
  exists w, n; split; [exact E|]; rewrite count_sent_grant; destruct (n =? 0) eqn:Z; lia.
Qed.

(* The work of a hop after a step that left [window] and [grants] alone or not. *)
Ltac works :=
  unfold work, in_hand in *; cbn -[N.add N.mul] in *;
  rewrite ?(@count_app chunk), ?(@count_cons chunk), ?(@count_cons N), ?(@count_nil chunk), ?(@count_nil N) in *;
  pose proof (@count_nil chunk); pose proof (@count_nil N).

Ltac worked := unfold if_true, negb; cbn -[N.add N.mul]; lia.

Lemma arrives_work n h h' : arrives h = Some h' -> work n h' < work n h.
Proof.
  unfold arrives; destruct (wire h) eqn:W; [easy|]; intros E.
  assert (Window.pending (fst (Window.arrive (window h))) = Window.pending (window h))
    by (unfold Window.arrive; destruct (U64.eqb _ _); reflexivity).
  destruct (given_up h) eqn:G; [|destruct (Window.arrive (window h)) as [w []]];
    injection E as <-; works; rewrite ?W, ?G, ?(@count_cons chunk) in *; worked.
Qed.

Lemma credits_work n h h' : credits h = Some h' -> work n h' < work n h.
Proof.
  unfold credits; destruct (grants h) eqn:W; [easy|]; intros E; injection E as <-.
  assert (Gate.closed (Gate.grant (gate h) n0) = Gate.closed (gate h)) as C
    by (unfold Gate.grant; destruct (Gate.closed (gate h)) eqn:C; [exact C|reflexivity]).
  works; rewrite ?W, ?C, ?(@count_cons N); worked.
Qed.

Lemma takes_work n h h' : hop_invariant h -> takes h = Some h' -> work n h' < work n h.
Proof.
  intros I; unfold takes; destruct (given_up h) eqn:G; [easy|].
  destruct (hand h) eqn:H; [easy|]; destruct (queue h) eqn:Q; [easy|].
  destruct (early (planned h)) eqn:B; intros E.
  - destruct (hop_consumed h I G) as (w & m & C & L).
    { unfold owing; rewrite Q, B, (@count_cons chunk); lia. }
    rewrite C in E; injection E as <-; works; rewrite ?H, ?Q, ?(@count_cons chunk), ?G; worked.
  - injection E as <-; works; rewrite ?H, ?Q, ?(@count_cons chunk), ?G; worked.
Qed.

Lemma passes_work n x h h' :
  hop_invariant h -> passes h = Some (x, h') -> work n h' + 7 * n < work n h.
Proof.
  intros I; unfold passes; destruct (given_up h) eqn:G; [easy|].
  destruct (hand h) eqn:H; [|easy].
  destruct (early (planned h)) eqn:B; intros E.
  - injection E as <- <-; works; rewrite ?H, ?(@count_cons chunk), ?G; worked.
  - destruct (hop_consumed h I G) as (w & m & C & L).
    { unfold owing, in_hand; rewrite H, B, (@count_cons chunk); lia. }
    rewrite C in E; injection E as <- <-; works; rewrite ?H, ?(@count_cons chunk), ?G; worked.
Qed.

Lemma flushes_work n h h' : flushes h = Some h' -> work n h' < work n h.
Proof.
  unfold flushes, Window.flush; destruct (given_up h) eqn:G; [easy|].
  destruct (U64.eqb _ 0) eqn:Z; [easy|]; unfold U64.eqb in Z; intros E; injection E as <-.
  works; rewrite count_sent_grant, ?G; destruct (_ =? 0) eqn:Z'; worked.
Qed.

Lemma closes_work n h h' : closes h = Some h' -> work n h' < work n h.
Proof.
  unfold closes, Gate.close; destruct (Gate.closed (gate h)) eqn:C; [easy|]; intros E; injection E as <-.
  works; rewrite C; worked.
Qed.

Lemma gives_up_work n h h' : gives_up h = Some h' -> work n h' < work n h.
Proof.
  unfold gives_up; destruct (given_up h) eqn:G; [easy|]; intros E; injection E as <-.
  works; rewrite G; worked.
Qed.

Lemma alone_work n k h h' : hop_invariant h -> alone k h h' -> work n h' < work n h.
Proof.
  intros I A; destruct A;
    eauto using arrives_work, credits_work, takes_work, flushes_work, closes_work, gives_up_work.
Qed.

Lemma sends_work n x h h' : sends x h = Some h' -> work n h' = work n h + 7 * n + 7.
Proof.
  unfold sends; destruct (Gate.acquire (gate h) 1 false) as [g []] eqn:A; try easy.
  apply acquire_taken in A as (C & C' & _); intros E; injection E as <-.
  works; rewrite C, C'; worked.
Qed.

Lemma moves_count k c i o c' : moves k c i o c' -> count c' = count c.
Proof. intros M; induction M; rewrite ?count_cons in *; lia. Qed.

Lemma moves_weight k c i o c' :
  Forall hop_invariant c -> moves k c i o c' ->
  match i with
  | None => weight c' < weight c
  | Some _ => weight c' <= weight c + 7 * count c
  end.
Proof.
  intros F M; induction M as [k h h' t A|x h h' t E|x h h' t t' E M IH|x h h' E|x h h' d t H B E
                              |h d d' t B H E|h h' d t B E|k h t t' o M IH];
    inversion F as [|? ? I F']; subst; cbn -[N.add N.mul] in *.
  - pose proof (alone_work (count t) _ _ _ I A); lia.
  - rewrite (sends_work (count t) _ _ _ E), count_cons; lia.
  - rewrite (moves_count _ _ _ _ _ M); specialize (IH F').
    pose proof (passes_work (count t) _ _ _ I E); lia.
  - pose proof (passes_work 0 _ _ _ I E); rewrite (@count_nil (hop chunk)); lia.
  - pose proof (flushes_work (count (d :: t)) _ _ E); lia.
  - pose proof (closes_work (count t) _ _ E); rewrite !count_cons; lia.
  - pose proof (gives_up_work (count (d :: t)) _ _ E); lia.
  - rewrite (moves_count _ _ _ _ _ M); specialize (IH F'); lia.
Qed.

(** A run of a chain whose source does nothing: how many steps, of which kinds, and what left the
    chain at its end. *)
Inductive run (kinds : kind -> Prop) : nat -> list (hop chunk) -> list chunk -> list (hop chunk) -> Prop :=
| run_none c : run kinds 0 c [] c
| run_one n k c o c' d c'' :
    kinds k -> moves k c None o c' -> run kinds n c' d c'' -> run kinds (S n) c (one o ++ d) c''.

Definition all (k : kind) : Prop := True.
Definition only_due (k : kind) : Prop := k = Due.
Definition uncut (k : kind) : Prop := k <> Cut.

Lemma run_weaken (P Q : kind -> Prop) n c d c' :
  (forall k, P k -> Q k) -> run P n c d c' -> run Q n c d c'.
Proof. intros W R; induction R; econstructor; eauto. Qed.

Lemma run_invariant P n c d c' : Forall hop_invariant c -> run P n c d c' -> Forall hop_invariant c'.
Proof. intros F R; induction R; eauto using moves_invariant. Qed.

Lemma run_contents P n c d c' :
  Forall hop_invariant c -> run P n c d c' -> contents c = d ++ contents c'.
Proof.
  intros F R; induction R as [|n k c o c' d c'' K M R IH]; [reflexivity|].
  rewrite <- app_assoc, <- (IH (moves_invariant _ _ _ _ _ F M)).
  rewrite (moves_contents _ _ _ _ _ F M); cbn; rewrite app_nil_r; reflexivity.
Qed.

(** Every run is shorter than the weight of the chain, in whatever order things happen and whoever
    cuts in: nothing in a chain runs for ever without its source (C9). *)
Theorem every_run_ends plans s n d c' :
  Forall sound plans -> reachable plans s -> run all n (hops s) d c' ->
  N.of_nat n + weight c' <= weight (hops s).
Proof.
  intros F0 R0 R; pose proof (reachable_invariant plans s F0 R0) as F; clear F0 R0.
  induction R as [|n k c o c' d c'' K M R IH]; [lia|].
  specialize (IH (moves_invariant _ _ _ _ _ F M)).
  pose proof (moves_weight _ _ _ _ _ F M) as W; cbn in W; lia.
Qed.

(** Each chunk costs at most seven steps a hop, grants and flushes included: what a chunk adds to
    the weight of the chain when it enters (C9). *)
Theorem a_chunk_costs_seven_steps_a_hop plans s k x o c' :
  Forall sound plans -> reachable plans s -> moves k (hops s) (Some x) o c' ->
  weight c' <= weight (hops s) + 7 * count (hops s).
Proof.
  intros F R M; exact (moves_weight _ _ _ _ _ (reachable_invariant plans s F R) M).
Qed.

Lemma run_to_rest c :
  Forall hop_invariant c ->
  exists n d c', run only_due n c d c' /\ (Forall whole c' \/ Forall over c').
Proof.
  remember (weight c) as w eqn:W; revert c W.
  induction w as [w IH] using (well_founded_induction N.lt_wf_0); intros c -> F.
  destruct (due_whole_or_over c F) as [(o & c' & M)|R];
    [|exists O, [], c; split; [constructor|exact R]].
  destruct (IH (weight c') (moves_weight _ _ _ _ _ F M) c' eq_refl (moves_invariant _ _ _ _ _ F M))
    as (n & d & c'' & R & E).
  exists (S n), (one o ++ d), c''; split; [econstructor; [reflexivity|eassumption..]|exact E].
Qed.

(** ** While nobody closes and nobody gives up *)

Definition live h : Prop := Gate.closed (gate h) = false /\ given_up h = false.

Lemma grant_closed g n : Gate.closed (Gate.grant g n) = Gate.closed g.
Proof. unfold Gate.grant; destruct (Gate.closed g) eqn:C; [exact C|reflexivity]. Qed.

Lemma alone_live k h h' : k <> Cut -> live h -> alone k h h' -> live h'.
Proof.
  intros K [C G] A; destruct A as [h h' E|h h' E|h h' E|h h' _ _ E|h h' T E|h h' E|h h' E|h h' E];
    try congruence; revert E; unfold arrives, credits, takes, flushes; rewrite ?G; apart;
    intros E; injection E as <-; split; cbn; rewrite ?grant_closed; auto.
Qed.

Lemma sends_live x h h' : live h -> sends x h = Some h' -> live h'.
Proof.
  intros [C G]; unfold sends; destruct (Gate.acquire (gate h) 1 false) as [g []] eqn:A; try easy.
  apply acquire_taken in A as (_ & A & _); intros E; injection E as <-; split; assumption.
Qed.

Lemma passes_live x h h' : live h -> passes h = Some (x, h') -> live h'.
Proof.
  intros [C G]; unfold passes; rewrite G; apart; intros E; injection E as <- <-; split; auto.
Qed.

Lemma moves_live k c i o c' : k <> Cut -> Forall live c -> moves k c i o c' -> Forall live c'.
Proof.
  intros K F M; induction M as [k h h' t A|x h h' t E|x h h' t t' E M IH|x h h' E|x h h' d t H B E
                              |h d d' t B H E|h h' d t B E|k h t t' o M IH];
    inversion F as [|? ? L F']; subst.
  - constructor; eauto using alone_live.
  - constructor; eauto using sends_live.
  - constructor; eauto using passes_live.
  - constructor; eauto using passes_live.
  - constructor; [eapply (alone_live Free); [easy|exact L|apply alone_flush; exact E]|exact F'].
  - apply shut_closed in B; destruct L; congruence.
  - inversion F' as [|? ? [L' _] _]; subst; apply shut_closed in B; congruence.
  - constructor; auto.
Qed.

Lemma run_live n c d c' : Forall live c -> run uncut n c d c' -> Forall live c'.
Proof. intros F R; induction R; eauto using moves_live. Qed.

(** As long as nobody closes and nobody gives up, all that is in a chain comes out at its end, by
    steps that are due, and every sender then has its whole window again: the source may send
    (C7, C9). *)
Theorem every_chunk_arrives plans s :
  Forall sound plans -> reachable plans s -> Forall live (hops s) ->
  exists n c', run only_due n (hops s) (contents (hops s)) c' /\ Forall whole c'.
Proof.
  intros F R L; pose proof (reachable_invariant plans s F R) as I.
  destruct (run_to_rest _ I) as (n & d & c' & Rn & E).
  assert (Forall live c') as L'
    by (eapply run_live; [exact L|eapply run_weaken; [|exact Rn]; intros k ->; easy]).
  assert (Forall whole c') as W.
  { destruct E as [W|O]; [exact W|]; destruct c' as [|h t]; [constructor|].
    inversion O as [|? ? [_ S] _]; inversion L' as [|? ? [C _] _]; subst.
    apply shut_closed in S; congruence. }
  exists n, c'; split; [|exact W].
  rewrite (run_contents _ _ _ _ _ I Rn), (contents_whole c'), app_nil_r; auto.
  eapply run_invariant; eassumption.
Qed.

(** And whatever the order: a run that cannot go on has delivered everything (C9). *)
Theorem whatever_the_order plans s n d c' :
  Forall sound plans -> reachable plans s -> Forall live (hops s) ->
  run uncut n (hops s) d c' -> ~ due c' -> d = contents (hops s) /\ Forall whole c'.
Proof.
  intros F R L Rn D; pose proof (reachable_invariant plans s F R) as I.
  pose proof (run_invariant _ _ _ _ _ I Rn) as I'; pose proof (run_live _ _ _ _ L Rn) as L'.
  destruct (due_whole_or_over c' I') as [?|E]; [contradiction|].
  assert (Forall whole c') as W.
  { destruct E as [W|O]; [exact W|]; destruct c' as [|h t]; [constructor|].
    inversion O as [|? ? [_ S] _]; inversion L' as [|? ? [C _] _]; subst.
    apply shut_closed in S; congruence. }
  split; [|exact W].
  rewrite (run_contents _ _ _ _ _ I Rn), (contents_whole c'), app_nil_r; auto.
Qed.

End Work.
