(** Chains of any length: they never stand still while anything is left to do. *)

From Coq Require Import NArith List Bool Lia ZifyBool ZifyN.
From Sluicegate Require Base.U64 Decide.Gate Decide.Window.
From Sluicegate Require Import Law.Chain Law.ChainHop Law.ChainSafe.
Import ListNotations.

Open Scope N_scope.
Set Default Timeout 30.

Section Live.
Context {chunk : Type}.
Implicit Types (h : hop chunk) (c : list (hop chunk)) (s : system chunk).

(** A hop in which nothing is on its way and nothing is held. *)
Definition empty h : Prop := held h = [] /\ grants h = [].

(** A hop that is open, has delivered everything and has its whole window again. *)
Definition whole h : Prop :=
  empty h /\ Gate.closed (gate h) = false /\ given_up h = false /\
  Window.pending (window h) = 0 /\ Gate.available (gate h) = send_window (planned h).

(** A hop that is over. *)
Definition over h : Prop := empty h /\ shut h.

(** ** What a hop can do when it is not at rest *)

Lemma arrives_some h : wire h <> [] -> exists h', arrives h = Some h'.
Proof.
  intros W; unfold arrives; destruct (wire h); [easy|].
  destruct (given_up h); [eexists; reflexivity|].
  destruct (Window.arrive (window h)) as [w []]; eexists; reflexivity.
Qed.

Lemma credits_some h : grants h <> [] -> exists h', credits h = Some h'.
Proof. intros W; unfold credits; destruct (grants h); [easy|eexists; reflexivity]. Qed.

Lemma takes_some h :
  given_up h = false -> hand h = None -> queue h <> [] -> exists h', takes h = Some h'.
Proof.
  intros G N Q; unfold takes; rewrite G, N; destruct (queue h); [easy|].
  destruct (if early (planned h) then _ else _); eexists; reflexivity.
Qed.

Lemma passes_some h x :
  given_up h = false -> hand h = Some x -> exists h', passes h = Some (x, h').
Proof.
  intros G N; unfold passes; rewrite G, N.
  destruct (if early (planned h) then _ else _); eexists; reflexivity.
Qed.

Lemma flushes_some h :
  given_up h = false -> Window.pending (window h) <> 0 -> exists h', flushes h = Some h'.
Proof.
  intros G P; unfold flushes, Window.flush, U64.eqb; rewrite G.
  destruct (_ =? 0) eqn:E; [lia|eexists; reflexivity].
Qed.

Lemma closes_some h : Gate.closed (gate h) = false -> exists h', closes h = Some h'.
Proof. intros C; unfold closes, Gate.close; rewrite C; eexists; reflexivity. Qed.

Lemma sends_some x h :
  Gate.closed (gate h) = false -> 1 <= Gate.available (gate h) -> exists h', sends x h = Some h'.
Proof.
  intros C A; unfold sends; destruct (acquire_one (gate h)) as [[? ?]|[[? [? ?]]|[? [? [g ->]]]]];
    [congruence|lia|eexists; reflexivity].
Qed.

(** A hop that nothing is left to do for alone: nothing on the wire, in line or to be told. *)
Record idle h : Prop := {
  idle_wire : wire h = [];
  idle_grants : grants h = [];
  idle_queue : hand h = None -> queue h = [];
  idle_pending : given_up h = false -> hand h = None -> Window.pending (window h) = 0;
  idle_told : given_up h = true -> Gate.closed (gate h) = true;
}.

Lemma idle_or_due h : hop_invariant h -> idle h \/ exists h', alone Due h h'.
Proof.
  intros I.
  destruct (wire h) eqn:W;
    [|right; destruct (arrives_some h) as [h' E]; [congruence|eexists; eapply alone_arrives; exact E]].
  destruct (grants h) eqn:R;
    [|right; destruct (credits_some h) as [h' E]; [congruence|eexists; eapply alone_credits; exact E]].
  destruct (given_up h) eqn:G.
  - destruct (nothing_kept h I G) as [Q N].
    destruct (Gate.closed (gate h)) eqn:C.
    + left; constructor; auto; congruence.
    + right; destruct (closes_some h C) as [h' E]; eexists; eapply alone_told; eassumption.
  - destruct (hand h) eqn:N; [left; constructor; congruence|].
    destruct (queue h) eqn:Q;
      [|right; destruct (takes_some h) as [h' E]; try congruence; eexists; eapply alone_takes; exact E].
    destruct (N.eq_dec (Window.pending (window h)) 0) as [P|P].
    + left; constructor; auto; congruence.
    + right; destruct (flushes_some h G P) as [h' E]; eexists; eapply alone_flush_on_empty; eassumption.
Qed.

Lemma idle_whole h :
  hop_invariant h -> idle h -> hand h = None -> given_up h = false ->
  Gate.closed (gate h) = false -> whole h.
Proof.
  intros I Idle H G C; destruct (planned_soundly h I) as (S1 & S2 & S3).
  pose proof (credit_adds_up h I C G) as A; pose proof (room_adds_up h I G) as B.
  pose proof (idle_queue h Idle H) as Q; pose proof (idle_pending h Idle G H) as P.
  unfold owing, in_hand in B; rewrite H, Q, P in B.
  rewrite (idle_wire h Idle), (idle_grants h Idle) in A; cbn in A.
  rewrite !(@count_nil chunk) in *.
  unfold whole, empty, held, in_hand; rewrite H, Q, (idle_wire h Idle), (idle_grants h Idle).
  repeat split; auto; destruct (early (planned h)); lia.
Qed.

Lemma idle_over h : idle h -> hand h = None -> Gate.closed (gate h) = true -> over h.
Proof.
  intros Idle H C; split; [|apply shut_closed; exact C].
  unfold empty, held, in_hand.
  rewrite H, (idle_wire h Idle), (idle_queue h Idle H), (idle_grants h Idle); easy.
Qed.

(** ** No deadlock *)

(** What comes next inside a chain whose sink is willing: chunks leave at its end or nothing does. *)
Definition due c : Prop := exists o c', moves Due c None o c'.

(** Something is due, or all hops are whole, or all hops are over. *)
Lemma due_whole_or_over c :
  Forall hop_invariant c -> due c \/ Forall whole c \/ Forall over c.
Proof.
  intros F; induction F as [|h t I F IH]; [auto|].
  destruct (idle_or_due h I) as [Idle|[h' A]];
    [|left; eexists _, _; eapply moves_alone; exact A].
  destruct IH as [(o & t' & M)|IH]; [left; eexists _, _; eapply moves_further; exact M|].
  destruct (given_up h) eqn:G.
  - (* the receiver gave up and the sender knows *)
    pose proof (idle_told h Idle G) as C; destruct (nothing_kept h I G) as [Q N].
    pose proof (idle_over h Idle N C) as O.
    destruct t as [|d t]; [right; right; constructor; auto|].
    destruct IH as [W|W]; [|right; right; constructor; auto].
    inversion W as [|? ? (_ & D & _) _]; subst; left.
    destruct (closes_some d D) as [d' E]; eexists _, _; eapply moves_end;
      [apply O|apply O|exact E].
  - destruct (hand h) as [x|] eqn:N.
    + (* it has a chunk in hand *)
      left; destruct (passes_some h x G N) as [h' P].
      destruct t as [|d t]; [eexists _, _; eapply moves_out; exact P|].
      destruct IH as [W|W]; inversion W as [|? ? D _]; subst.
      * inversion F as [|? ? J _]; subst; destruct D as (_ & D & _ & _ & A).
        destruct (planned_soundly d J) as (S1 & _).
        destruct (sends_some x d D ltac:(lia)) as [d' E].
        eexists _, _; eapply moves_on; [exact P|apply moves_in; exact E].
      * destruct D as [_ D]; assert (exists h', gives_up h = Some h') as [h'' E]
          by (unfold gives_up; rewrite G; eexists; reflexivity).
        eexists _, _; eapply moves_stop; eassumption.
    + destruct (Gate.closed (gate h)) eqn:C.
      * (* its sender has finished *)
        pose proof (idle_over h Idle N C) as O.
        destruct t as [|d t]; [right; right; constructor; auto|].
        destruct IH as [W|W]; [|right; right; constructor; auto].
        inversion W as [|? ? (_ & D & _) _]; subst; left.
        destruct (closes_some d D) as [d' E]; eexists _, _; eapply moves_end;
          [apply O|apply O|exact E].
      * (* it is whole *)
        pose proof (idle_whole h I Idle N G C) as O.
        destruct t as [|d t]; [right; left; constructor; auto|].
        destruct IH as [W|W]; [right; left; constructor; auto|].
        inversion W as [|? ? [_ D] _]; subst; left.
        assert (exists h', gives_up h = Some h') as [h'' E]
          by (unfold gives_up; rewrite G; eexists; reflexivity).
        eexists _, _; eapply moves_stop; eassumption.
Qed.

Lemma contents_whole c : Forall hop_invariant c -> Forall whole c -> contents c = [].
Proof.
  intros F W; induction W as [|h t ((E & _) & _ & G & _) W IH]; [reflexivity|].
  inversion F as [|? ? I F']; subst; cbn; rewrite IH by assumption.
  unfold inside; rewrite (nothing_lost h I G); exact E.
Qed.

(** A chain never deadlocks. Whatever happened before: something is due (a frame to arrive, a chunk
    to pass on, a grant that is owed and waited for, an end to tell), or everything that the source
    sent has been delivered and every sender has its whole window, or every hop is over (C3, C7, C9;
    L10, L13). *)
Theorem no_deadlock plans s :
  Forall sound plans -> reachable plans s ->
  due (hops s) \/
  (Forall whole (hops s) /\ delivered s = offered s) \/
  Forall over (hops s).
Proof.
  intros F R; pose proof (reachable_invariant plans s F R) as I.
  destruct (due_whole_or_over _ I) as [D|[W|O]]; [auto| |auto].
  right; left; split; [exact W|].
  rewrite <- (nothing_lost_nothing_overtakes plans s F R), contents_whole, app_nil_r; auto.
Qed.

End Live.
