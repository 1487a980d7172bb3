(** Chains of any length: backpressure is exact. A source is held back only by a chain that is full
    from one end to the other; no credit lies idle with somebody who waits. *)

From Coq Require Import NArith List Bool Lia ZifyBool ZifyN.
From Sluicegate Require Base.U64 Decide.Gate Decide.Window.
From Sluicegate Require Import Law.Chain Law.ChainHop Law.ChainSafe Law.ChainLive Law.ChainWork Law.ChainEnd.
Import ListNotations.

Open Scope N_scope.
Set Default Timeout 30.

Section Full.
Context {chunk : Type}.
Implicit Types (h : hop chunk) (c : list (hop chunk)) (s : system chunk).

(** Every hop holds its sender's whole window; only the sink may also owe a part of it. *)
Fixpoint full c : Prop :=
  match c with
  | [] => True
  | [h] => owing h + Window.pending (window h) = send_window (planned h)
  | h :: t => owing h = send_window (planned h) /\ full t
  end.

Definition head_blocked c : Prop := match c with [] => True | h :: _ => blocked h end.

Lemma blocked_empty h : blocked h -> Gate.available (gate h) = 0.
Proof.
  unfold blocked; destruct (acquire_one (gate h)) as [[_ E]|[[_ [A _]]|[_ [_ [g E]]]]];
    rewrite ?E; cbn; congruence.
Qed.

Lemma stuck_full c :
  Forall hop_invariant c -> Forall live c -> ~ due_inside c -> head_blocked c -> full c.
Proof.
  intros F; induction F as [|h t I F IH]; [easy|]; intros L D B; cbn in B.
  inversion L as [|? ? [C G] L']; subst.
  assert (idle h) as Idle.
  { destruct (idle_or_due h I) as [Idle|[h' A]]; [exact Idle|].
    destruct D; eexists; apply moves_alone; exact A. }
  pose proof (blocked_empty h B) as A.
  pose proof (credit_adds_up h I C G) as X; pose proof (room_adds_up h I G) as Y.
  destruct (planned_soundly h I) as (S1 & S2 & S3).
  rewrite A, (idle_wire h Idle), (idle_grants h Idle), (@count_nil chunk) in X; cbn in X.
  destruct t as [|d t]; [cbn; lia|].
  assert (~ due_inside (d :: t)) as D' by (intros [c' M]; apply D; eexists; apply moves_further; exact M).
  destruct (hand h) as [x|] eqn:H.
  - destruct (passes_some h x G H) as [h' P].
    inversion L' as [|? ? [C' G'] _]; subst.
    assert (blocked d) as Bd.
    { unfold blocked; destruct (acquire_one (gate d)) as [[? _]|[[_ [_ E]]|[_ [_ [g E]]]]];
        [congruence|exact E|].
      destruct D; assert (exists d', sends x d = Some d') as [d' Sd]
        by (unfold sends; rewrite E; eexists; reflexivity).
      eexists; eapply moves_on; [exact P|apply moves_in; exact Sd]. }
    assert (Window.pending (window h) = 0) as Z.
    { destruct (N.eq_dec (Window.pending (window h)) 0) as [Z|Z]; [exact Z|].
      destruct D; destruct (flushes_some h G Z) as [h'' E]; eexists; eapply moves_flush; eassumption. }
    split; [lia|apply IH; auto].
  - pose proof (idle_queue h Idle H) as Q; pose proof (idle_pending h Idle G H) as Z.
    unfold owing, in_hand in Y; rewrite H, Q, (@count_nil chunk) in Y.
    destruct (early (planned h)); lia.
Qed.

(** Whatever the sink does: where nothing is due and the source waits for credit, every hop of the
    chain is full to its sender's window. Flushing before both kinds of wait is what makes it so
    (C3, C7; L10). *)
Theorem a_source_waits_only_for_a_full_chain plans s :
  Forall sound plans -> reachable plans s -> Forall live (hops s) ->
  ~ due_inside (hops s) -> head_blocked (hops s) -> full (hops s).
Proof. intros F R L D B; exact (stuck_full _ (reachable_invariant plans s F R) L D B). Qed.

End Full.
