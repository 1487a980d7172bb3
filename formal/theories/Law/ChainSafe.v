(** Chains of any length: credit is conserved on every hop, nobody overruns anybody, memory is the
    sum of the windows, and the sink sees what the source sent, in order. *)

From Coq Require Import NArith List Bool Lia ZifyBool ZifyN.
From Sluicegate Require Base.U64 Decide.Gate Decide.Window.
From Sluicegate Require Import Law.Chain Law.ChainHop.
Import ListNotations.

Open Scope N_scope.
Set Default Timeout 30.

Section Safe.
Context {chunk : Type}.
Implicit Types (h : hop chunk) (c : list (hop chunk)) (s : system chunk).

(** ** Credit *)

(** On every hop of every chain: what the sender may send, what is on the wire and the grants on
    their way add up to what the receiver expects, less what it never told the sender of; and what
    it expects, owes and holds add up to its window (C1, C4, P6; L9, L10). *)
Theorem conservation_on_every_hop plans s h :
  Forall sound plans -> reachable plans s -> In h (hops s) ->
  (Gate.closed (gate h) = false -> given_up h = false ->
   Gate.available (gate h) + count (wire h) + sum (grants h)
     + (receive_window (planned h) - send_window (planned h)) = Window.remaining (window h)) /\
  (given_up h = false ->
   Window.remaining (window h) + Window.pending (window h) + owing h = receive_window (planned h)).
Proof.
  intros F R I; pose proof (proj1 (Forall_forall _ _) (reachable_invariant plans s F R) h I) as [].
  split; assumption.
Qed.

(** No chunk ever arrives unpaid for, on any hop (C2; L12). *)
Theorem never_overruns plans s h :
  Forall sound plans -> reachable plans s -> In h (hops s) -> overrun h = false.
Proof.
  intros F R I; apply (proj1 (Forall_forall _ _) (reachable_invariant plans s F R) h I).
Qed.

(** No counter of a chain ever comes to saturate: no gate and no window is above the receiver's
    window (G7, P6). *)
Theorem no_overflow plans s h :
  Forall sound plans -> reachable plans s -> In h (hops s) ->
  Gate.available (gate h) + sum (grants h) <= receive_window (planned h) /\
  Window.remaining (window h) + Window.pending (window h) <= receive_window (planned h) /\
  receive_window (planned h) <= U64.max.
Proof.
  intros F R I; pose proof (proj1 (Forall_forall _ _) (reachable_invariant plans s F R) h I) as [].
  destruct planned_soundly as (? & ? & ?); lia.
Qed.

(** ** Memory *)

(** All chunks that a chain holds, wherever. *)
Fixpoint held_by c : N :=
  match c with
  | [] => 0
  | h :: t => count (held h) + held_by t
  end.

(** One chunk in hand for each receiver that gives back when it takes. *)
Definition in_early_hands (p : plan) : N := if early p then 1 else 0.

Lemma held_bounded h :
  hop_invariant h -> count (held h) <= send_window (planned h) + in_early_hands (planned h).
Proof.
  intros []; destruct planned_soundly as (S1 & S2 & S3).
  unfold held, in_early_hands; rewrite !count_app.
  destruct (given_up h) eqn:G.
  - destruct (nothing_kept eq_refl) as [Q H]; unfold in_hand; rewrite Q, H.
    pose proof (@count_nil chunk); destruct (early _); lia.
  - specialize (room_adds_up eq_refl); unfold owing in room_adds_up.
    assert (count (in_hand h) <= 1).
    { unfold in_hand; destruct (hand h); rewrite ?(@count_cons chunk); pose proof (@count_nil chunk); lia. }
    destruct (early (planned h)); lia.
Qed.

Lemma alone_planned k h h' : alone k h h' -> planned h' = planned h.
Proof.
  intros A; destruct A as [h h' E|h h' E|h h' E|h h' _ _ E|h h' _ E|h h' E|h h' E|h h' E]; revert E;
    unfold arrives, credits, takes, flushes, closes, gives_up, Gate.close;
    apart; intros E; injection E as <-; reflexivity.
Qed.

Lemma passes_planned x h h' : passes h = Some (x, h') -> planned h' = planned h.
Proof.
  unfold passes; apart; intros E; injection E as <- <-; reflexivity.
Qed.

Lemma sends_planned x h h' : sends x h = Some h' -> planned h' = planned h.
Proof.
  unfold sends; apart; intros E; injection E as <-; reflexivity.
Qed.

Lemma moves_planned k c i o c' : moves k c i o c' -> map planned c' = map planned c.
Proof.
  intros M; induction M; cbn; rewrite ?IHM; f_equal;
    eauto using alone_planned, passes_planned, sends_planned, alone_flush, alone_gives_up.
  f_equal; eauto using alone_planned, alone_closes.
Qed.

Lemma reachable_planned plans s : reachable plans s -> map planned (hops s) = plans.
Proof.
  intros R; induction R as [|k s s' R IH St].
  - cbn; rewrite map_map; cbn; apply map_id.
  - rewrite <- IH; destruct St as [x o c c' d M|k o c c' d M|x o c c' d M|o h h' t d E]; cbn;
      try solve [eapply moves_planned; eassumption].
    f_equal; eapply alone_planned; eapply alone_closes; eassumption.
Qed.

(** A chain of any length holds at most the sum of its windows, and one chunk in hand for each
    receiver that gives back when it takes and not when it has passed on (C7). *)
Theorem memory_is_the_sum_of_the_windows plans s :
  Forall sound plans -> reachable plans s ->
  held_by (hops s) <= sum (map send_window plans) + sum (map in_early_hands plans).
Proof.
  intros F R; pose proof (reachable_invariant plans s F R) as I.
  rewrite <- (reachable_planned plans s R); clear F R.
  induction I as [|h t I _ IH]; cbn -[N.add]; [lia|].
  pose proof (held_bounded h I); lia.
Qed.

(** ** Order *)

(** All chunks that entered a chain and did not leave it at its end, oldest first. *)
Fixpoint contents c : list chunk :=
  match c with
  | [] => []
  | h :: t => contents t ++ inside h
  end.

(* Compares the chunks of a hop before and after. *)
Ltac same_chunks :=
  unfold inside, in_hand; cbn;
  repeat match goal with
  | H : hand _ = _ |- _ => rewrite H
  | H : queue _ = _ |- _ => rewrite H
  | H : wire _ = _ |- _ => rewrite H
  | H : gone _ = _ |- _ => rewrite H
  end; cbn; rewrite <- ?app_assoc; reflexivity.

Lemma alone_inside k h h' : hop_invariant h -> alone k h h' -> inside h' = inside h.
Proof.
  intros [] A; destruct A as [h h' E|h h' E|h h' E|h h' _ _ E|h h' _ E|h h' E|h h' E|h h' E]; revert E.
  - unfold arrives; apart; intros E; injection E as <-; try specialize (nothing_lost eq_refl);
      same_chunks.
  - unfold credits; apart; intros E; injection E as <-; same_chunks.
  - unfold takes; apart; intros E; injection E as <-; same_chunks.
  - unfold flushes; apart; intros E; injection E as <-; same_chunks.
  - unfold closes; apart; intros E; injection E as <-; same_chunks.
  - unfold flushes; apart; intros E; injection E as <-; same_chunks.
  - unfold gives_up; apart; intros E; injection E as <-; same_chunks.
  - unfold closes; apart; intros E; injection E as <-; same_chunks.
Qed.

Lemma sends_inside x h h' : sends x h = Some h' -> inside h' = inside h ++ [x].
Proof. unfold sends; apart; intros E; injection E as <-; same_chunks. Qed.

Lemma passes_inside x h h' : passes h = Some (x, h') -> inside h = x :: inside h'.
Proof. unfold passes; apart; intros E; injection E as <- <-; same_chunks. Qed.

Definition one (x : option chunk) : list chunk := match x with Some x => [x] | None => [] end.

Lemma moves_contents k c i o c' :
  Forall hop_invariant c -> moves k c i o c' -> one o ++ contents c' = contents c ++ one i.
Proof.
  intros F M; induction M; inversion F as [|? ? I F']; subst; cbn in *.
  - rewrite app_nil_r, (alone_inside _ _ _ I H); reflexivity.
  - rewrite <- app_assoc, (sends_inside _ _ _ H); reflexivity.
  - rewrite app_nil_r, (IHM F'), (passes_inside _ _ _ H), <- app_assoc; reflexivity.
  - rewrite app_nil_r; symmetry; eapply passes_inside; eassumption.
  - rewrite app_nil_r, (alone_inside _ _ _ I (alone_flush _ _ H1)); reflexivity.
  - inversion F' as [|? ? I' ?]; subst.
    rewrite app_nil_r, (alone_inside _ _ _ I' (alone_closes _ _ H1)); reflexivity.
  - rewrite app_nil_r, (alone_inside _ _ _ I (alone_gives_up _ _ H0)); reflexivity.
  - rewrite app_assoc, (IHM F'), !app_nil_r; reflexivity.
Qed.

(** Nothing is lost on the way, nothing is doubled and nothing overtakes: what the sink passed on,
    followed by what is in the chain, is what the source sent (C7; L6). *)
Theorem nothing_lost_nothing_overtakes plans s :
  Forall sound plans -> reachable plans s -> delivered s ++ contents (hops s) = offered s.
Proof.
  intros F R; induction R as [|k s s' R IH St].
  - cbn; induction plans; [reflexivity|]; inversion F; subst; cbn; rewrite app_nil_r; auto.
  - pose proof (reachable_invariant plans s F R) as I.
    destruct St as [x o c c' d M|k o c c' d M|x o c c' d M|o h h' t d E]; cbn in *.
    + rewrite <- IH, <- app_assoc; f_equal; apply (moves_contents _ _ _ _ _ I M).
    + rewrite <- IH; f_equal; pose proof (moves_contents _ _ _ _ _ I M) as C; cbn in C.
      rewrite C, app_nil_r; reflexivity.
    + rewrite <- IH, <- app_assoc; f_equal; pose proof (moves_contents _ _ _ _ _ I M) as C; cbn in *.
      rewrite C, app_nil_r; reflexivity.
    + inversion I as [|? ? I' ?]; subst.
      rewrite (alone_inside _ _ _ I' (alone_closes _ _ E)); reflexivity.
Qed.

(** The sink sees a prefix of what the source sent, whoever cancelled whatever (C7). *)
Corollary the_sink_sees_a_prefix plans s :
  Forall sound plans -> reachable plans s -> exists rest, offered s = delivered s ++ rest.
Proof. intros F R; eexists; symmetry; eapply nothing_lost_nothing_overtakes; eassumption. Qed.

End Safe.
