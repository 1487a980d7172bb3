(** Fan-out: one producer to many consumers, by a gate each.

    The producer sends a chunk to all branches that are still open, or to none: it takes one credit
    of each, and gives back what it took as soon as one has to be waited for. So it goes as fast as
    the slowest. *)

From Coq Require Import NArith List Bool Lia ZifyBool ZifyN.
From Sluicegate Require Base.U64 Decide.Gate Decide.Window.
From Sluicegate Require Import Law.Chain Law.ChainHop Law.ChainSafe Law.ChainLive Law.ChainWork Law.Fan.
Import ListNotations.

Open Scope N_scope.
Set Default Timeout 30.

(** ** One credit of each gate *)

(** Takes one credit of every gate that is open, or leaves all as they were. A gate that is closed
    is left out. *)
Fixpoint acquire_all (gates : list Gate.gate) : list Gate.gate * Gate.acquire_answer :=
  match gates with
  | [] => ([], Gate.Closed)
  | g :: rest =>
      match Gate.acquire g 1 false with
      | (g', Gate.Taken) =>
          match acquire_all rest with
          | (rest', Gate.Wait) => (Gate.give_back g' 1 :: rest', Gate.Wait)
          | (rest', _) => (g' :: rest', Gate.Taken)
          end
      | (g', Gate.Closed) => let '(rest', a) := acquire_all rest in (g' :: rest', a)
      | (g', Gate.Wait) => (g' :: rest, Gate.Wait)
      end
  end.

Lemma acquire_taken_fits g g' :
  U64.fits (Gate.available g) -> Gate.acquire g 1 false = (g', Gate.Taken) -> Gate.give_back g' 1 = g.
Proof.
  intros F E; apply acquire_taken in E as (C & C' & A); unfold Gate.give_back.
  rewrite U64.sat_add_exact by (unfold U64.fits in *; lia).
  rewrite A, C', <- C; destruct g; reflexivity.
Qed.

Lemma acquire_unchanged g n w g' a : Gate.acquire g n w = (g', a) -> a <> Gate.Taken -> g' = g.
Proof.
  unfold Gate.acquire; intros E K.
  repeat match type of E with context [if ?b then _ else _] => destruct b end; congruence.
Qed.

(** All or nothing: a producer that has to wait has taken nothing from anybody (G2). *)
Theorem waiting_takes_nothing gates gates' :
  Forall (fun g => U64.fits (Gate.available g)) gates ->
  acquire_all gates = (gates', Gate.Wait) -> gates' = gates.
Proof.
  revert gates'; induction gates as [|g rest IH]; intros gates' F E; [discriminate|].
  inversion F as [|? ? Fg F']; subst; cbn in E.
  destruct (Gate.acquire g 1 false) as [g' []] eqn:A.
  - destruct (acquire_all rest) as [rest' []]; try discriminate; injection E as <-.
    rewrite (IH rest' F' eq_refl), (acquire_taken_fits g g' Fg A); reflexivity.
  - injection E as <-; rewrite (acquire_unchanged _ _ _ _ _ A); easy.
  - destruct (acquire_all rest) as [rest' a]; injection E as <- ->.
    rewrite (IH rest' F' eq_refl), (acquire_unchanged _ _ _ _ _ A); easy.
Qed.

(** It waits for the slowest, and for nothing else: iff an open gate has no credit. *)
Theorem waits_for_the_slowest gates :
  snd (acquire_all gates) = Gate.Wait <->
  Exists (fun g => Gate.closed g = false /\ Gate.available g = 0) gates.
Proof.
  induction gates as [|g rest IH]; cbn; [split; [discriminate|intros E; inversion E]|].
  rewrite Exists_cons, <- IH; destruct (acquire_one g) as [[C E]|[(C & A & E)|(C & A & g' & E)]].
  - destruct (Gate.acquire g 1 false) as [g' a]; cbn in E; subst a.
    destruct (acquire_all rest) as [rest' a]; cbn; intuition congruence.
  - destruct (Gate.acquire g 1 false) as [g' a]; cbn in E; subst a; cbn; intuition.
  - rewrite E; destruct (acquire_all rest) as [rest' []]; cbn; intuition (congruence || lia).
Qed.

(** ** The machine *)

Section Out.
Context {chunk : Type}.
Implicit Types (h : hop chunk) (c : list (hop chunk)) (s : system chunk) (f : list (system chunk)).

(** The gate by which the producer feeds a branch. *)
Definition feeds s : Gate.gate :=
  match hops s with
  | [] => Gate.Gate 0 true
  | h :: _ => gate h
  end.

(** A branch gets a chunk, if it is open. *)
Definition gets (x : chunk) s : system chunk :=
  match hops s with
  | [] => s
  | h :: t =>
      match sends x h with
      | Some h' => System (offered s ++ [x]) (h' :: t) (delivered s)
      | None => s
      end
  end.

(** The producer sends a chunk to all; none if it has to wait or nobody is left. *)
Definition produces (x : chunk) f : option (list (system chunk)) :=
  match acquire_all (map feeds f) with
  | (_, Gate.Taken) => Some (map (gets x) f)
  | _ => None
  end.

(** Everything but the producer's step: the inside of the branches, and ends. *)
Definition no_offer s s' : Prop := offered s' = offered s.

Inductive out_reachable (plans : list (list plan)) : list chunk -> list (system chunk) -> Prop :=
| out_start : out_reachable plans [] (map start plans)
| out_produces x o f f' :
    out_reachable plans o f -> produces x f = Some f' -> out_reachable plans (o ++ [x]) f'
| out_branch i k o f f' :
    out_reachable plans o f -> fan_step i k f f' -> Forall2 no_offer f f' -> out_reachable plans o f'.

Lemma gets_step x s : gets x s = s \/ step Due s (gets x s).
Proof.
  destruct s as [o [|h t] d]; unfold gets; cbn; [auto|].
  destruct (sends x h) eqn:E; [right|auto]; apply step_offer, moves_in; exact E.
Qed.

(** Each branch is a chain of its own, fed by the one producer. *)
Lemma out_branches plans o f : out_reachable plans o f -> Forall2 reachable plans f.
Proof.
  intros R; induction R as [|x o f f' R IH E|i k o f f' R IH St _].
  - apply fan_branches, fan_start.
  - unfold produces in E; destruct (acquire_all _) as [? []]; try discriminate; injection E as <-.
    clear R; induction IH as [|p s plans f X B IH]; constructor; auto.
    destruct (gets_step x s) as [->|St]; [exact X|eapply reach_step; eassumption].
  - eapply fan_step_branches; eassumption.
Qed.

Lemma gets_feeds x s g a : Gate.acquire (feeds s) 1 false = (g, a) -> feeds (gets x s) = g.
Proof.
  destruct s as [o [|h t] d]; unfold gets, feeds, sends; cbn; intros A.
  - injection A as <- _; reflexivity.
  - rewrite A; destruct a; cbn; [reflexivity|symmetry; apply (acquire_unchanged _ _ _ _ _ A); easy..].
Qed.

Lemma taken_is_sent x f gates a :
  acquire_all (map feeds f) = (gates, a) -> a <> Gate.Wait -> map feeds (map (gets x) f) = gates.
Proof.
  revert gates a; induction f as [|s f IH]; intros gates a E K; [injection E as <- _; reflexivity|].
  cbn [map acquire_all] in *; destruct (Gate.acquire (feeds s) 1 false) as [g' b] eqn:A.
  rewrite (gets_feeds x s g' b A); destruct b.
  - destruct (acquire_all (map feeds f)) as [rest b]; destruct b; injection E as <- <-; try easy;
      f_equal; eapply IH; eauto; easy.
  - injection E as <- <-; easy.
  - destruct (acquire_all (map feeds f)) as [rest b]; injection E as <- <-.
    f_equal; eapply IH; eauto.
Qed.

(** What the producer took is what the branches got: the gates after its step are those of the
    acquires (C1). *)
Theorem what_is_taken_is_sent x f gates :
  acquire_all (map feeds f) = (gates, Gate.Taken) -> map feeds (map (gets x) f) = gates.
Proof. intros E; eapply taken_is_sent; [exact E|easy]. Qed.

(** Credit is conserved on every hop of every branch, and none is overrun (C1, C2; L12). *)
Theorem fan_out_conserves plans o f s h :
  Forall (Forall sound) plans -> out_reachable plans o f -> In s f -> In h (hops s) ->
  overrun h = false /\
  (Gate.closed (gate h) = false -> given_up h = false ->
   Gate.available (gate h) + count (wire h) + sum (grants h)
     + (receive_window (planned h) - send_window (planned h)) = Window.remaining (window h)) /\
  (given_up h = false ->
   Window.remaining (window h) + Window.pending (window h) + owing h = receive_window (planned h)).
Proof.
  intros F R I J; destruct (branch_plans _ _ _ _ (out_branches _ _ _ R) I) as (p & P & X).
  pose proof (proj1 (Forall_forall _ _) F p P) as Fp; split.
  - exact (never_overruns p s h Fp X J).
  - exact (conservation_on_every_hop p s h Fp X J).
Qed.

(** ** What the consumers see *)

Definition fed_closed s : Prop := Gate.closed (feeds s) = true.

Lemma moves_head_closed k c i o c' e d e' d' :
  moves k c i o c' -> fed_closed (System e c d) -> fed_closed (System e' c' d').
Proof.
  unfold fed_closed, feeds; cbn; intros M.
  destruct M as [k h h' t A|x h h' t E|x h h' t t' E M|x h h' E|x h h' b t H B E
                |h b b' t B H E|h h' b t B E|k h t t' o M]; auto; intros C.
  - destruct A as [h h' E|h h' E|h h' E|h h' _ _ E|h h' T E|h h' E|h h' E|h h' E]; revert E;
      unfold arrives, credits, takes, flushes, closes, gives_up, Gate.close; apart;
      intros E; injection E as <-; cbn; rewrite ?grant_closed; congruence.
  - unfold sends, Gate.acquire in E; rewrite C in E; easy.
  - revert E; unfold passes; apart; intros E; injection E as <- <-; exact C.
  - revert E; unfold passes; apart; intros E; injection E as <- <-; exact C.
  - revert E; unfold flushes; apart; intros E; injection E as <-; exact C.
  - revert E; unfold gives_up; apart; intros E; injection E as <-; exact C.
Qed.

Lemma step_fed_closed k s s' : step k s s' -> fed_closed s -> fed_closed s'.
Proof.
  intros St; destruct St as [x o c c' d M|k o c c' d M|x o c c' d M|o h h' t d E]; intros C;
    try solve [eapply moves_head_closed; eassumption].
  unfold fed_closed, feeds in *; cbn in *; unfold closes, Gate.close in E; rewrite C in E; easy.
Qed.

(** A branch was offered a prefix of all that was produced, and all of it while it is open. *)
Definition fed (o : list chunk) s : Prop :=
  exists rest, o = offered s ++ rest /\ (fed_closed s \/ rest = []).

Lemma fan_step_fed o i k f f' :
  fan_step i k f f' -> Forall2 no_offer f f' -> Forall (fed o) f -> Forall (fed o) f'.
Proof.
  intros St; induction St as [k s s' f St|i k s f f' St IH]; intros Q F;
    inversion Q as [|? ? ? ? Q1 Q2]; inversion F as [|? ? F1 F2]; subst; constructor; auto.
  destruct F1 as (rest & -> & H); exists rest; rewrite Q1; split; [reflexivity|].
  destruct H as [H|H]; [left; eapply step_fed_closed; eassumption|auto].
Qed.

Lemma gets_fed x o s :
  (Gate.closed (feeds s) = false -> Gate.available (feeds s) <> 0) ->
  fed o s -> fed (o ++ [x]) (gets x s).
Proof.
  intros A (rest & -> & H).
  destruct (acquire_one (feeds s)) as [[C E]|[(C & Z & _)|(C & _ & g & E)]];
    [|specialize (A C); congruence|].
  - exists (rest ++ [x]); rewrite app_assoc; unfold gets, fed_closed, sends in *.
    destruct s as [o [|h t] d]; cbn in *; [auto|].
    destruct (Gate.acquire (gate h) 1 false) as [g []]; cbn in *; try discriminate; auto.
  - destruct H as [H| ->]; [unfold fed_closed in H; congruence|]; exists []; rewrite !app_nil_r.
    unfold gets, sends in *; destruct s as [o [|h t] d]; cbn in *; [discriminate|].
    rewrite E; auto.
Qed.

Lemma out_fed plans o f : out_reachable plans o f -> Forall (fed o) f.
Proof.
  intros R; induction R as [|x o f f' R IH E|i k o f f' R IH St Q].
  - apply Forall_forall; intros s I; apply in_map_iff in I as (p & <- & _); exists []; auto.
  - unfold produces in E; destruct (acquire_all (map feeds f)) as [gs []] eqn:A; try discriminate.
    injection E as <-; apply Forall_forall; intros s I; apply in_map_iff in I as (s' & <- & I).
    apply gets_fed; [|exact (proj1 (Forall_forall _ _) IH s' I)].
    intros C Z; pose proof (proj2 (waits_for_the_slowest (map feeds f))) as W; rewrite A in W; cbn in W.
    assert (Gate.Taken = Gate.Wait) by
      (apply W, Exists_exists; exists (feeds s'); split; [apply in_map; exact I|auto]).
    discriminate.
  - eapply fan_step_fed; eassumption.
Qed.

(** Every consumer sees a prefix of what was produced, in order, whatever the others do. *)
Theorem every_consumer_sees_a_prefix plans o f s :
  Forall (Forall sound) plans -> out_reachable plans o f -> In s f ->
  exists rest, o = delivered s ++ rest.
Proof.
  intros F R I; pose proof (proj1 (Forall_forall _ _) (out_fed _ _ _ R) s I) as (rest & -> & _).
  destruct (branch_plans _ _ _ _ (out_branches _ _ _ R) I) as (p & P & X).
  destruct (the_sink_sees_a_prefix p s (proj1 (Forall_forall _ _) F p P) X) as [r ->].
  exists (r ++ rest); rewrite app_assoc; reflexivity.
Qed.

Lemma live_contents c : Forall hop_invariant c -> Forall live c -> count (contents c) = held_by c.
Proof.
  intros F L; induction L as [|h t [_ G] L IH]; cbn; [apply count_nil|].
  inversion F as [|? ? I F']; subst; rewrite count_app, (IH F').
  unfold inside, held; rewrite (nothing_lost h I G); cbn; lia.
Qed.

(** Nobody gets ahead of the slowest by more than the slowest's windows: what was produced is at
    most those and what it was delivered (C7). *)
Theorem nobody_runs_away plans o f s :
  Forall (Forall sound) plans -> out_reachable plans o f -> In s f -> hops s <> [] ->
  Forall live (hops s) ->
  exists p, In p plans /\
    count o <= count (delivered s) + sum (map send_window p) + sum (map in_early_hands p).
Proof.
  intros F R I N L; pose proof (proj1 (Forall_forall _ _) (out_fed _ _ _ R) s I) as (rest & -> & H).
  destruct (branch_plans _ _ _ _ (out_branches _ _ _ R) I) as (p & P & X).
  pose proof (proj1 (Forall_forall _ _) F p P) as Fp; exists p; split; [exact P|].
  assert (rest = []) as ->.
  { destruct H as [H|H]; [|exact H]; unfold fed_closed, feeds in H.
    destruct (hops s) as [|h t]; [easy|]; inversion L as [|? ? [C _] _]; congruence. }
  rewrite app_nil_r, <- (nothing_lost_nothing_overtakes p s Fp X), count_app.
  rewrite (live_contents _ (reachable_invariant p s Fp X) L).
  pose proof (memory_is_the_sum_of_the_windows p s Fp X); lia.
Qed.

(** Memory of a fan-out: the sum of all windows of all branches (C7). *)
Theorem fan_out_memory plans o f :
  Forall (Forall sound) plans -> out_reachable plans o f ->
  sum (map (fun s => held_by (hops s)) f)
    <= sum (map (fun p => sum (map send_window p) + sum (map in_early_hands p)) plans).
Proof.
  intros F R; pose proof (out_branches _ _ _ R) as B; clear R.
  induction B as [|p s plans f X B IH]; cbn -[N.add]; [lia|].
  inversion F as [|? ? Fp F']; subst; specialize (IH F').
  pose proof (memory_is_the_sum_of_the_windows p s Fp X); lia.
Qed.

(** ** The producer goes on *)

(** Each branch steps by itself, by steps that are due. *)
Definition settles : list (system chunk) -> list (system chunk) -> Prop :=
  Forall2 (fun s s' => offered s' = offered s /\
    exists n d, delivered s' = delivered s ++ d /\ run only_due n (hops s) d (hops s')).

(** While all consumers are there, the producer's wait ends: each branch delivers by due steps of its
    own, and then a chunk can be sent to all (C9; L10). *)
Theorem the_producer_goes_on plans o f x :
  Forall (Forall sound) plans -> plans <> [] -> Forall (fun p => p <> []) plans ->
  out_reachable plans o f -> Forall (fun s => Forall live (hops s)) f ->
  exists f' f'', settles f f' /\ produces x f' = Some f''.
Proof.
  intros F N1 N2 R L; pose proof (out_branches _ _ _ R) as B; clear R.
  assert (exists f', settles f f' /\ Forall (fun s => Gate.closed (feeds s) = false /\
    1 <= Gate.available (feeds s)) f')
    as (f' & S & W).
  { clear N1; induction B as [|p s plans f X B IH]; [exists []; split; constructor|].
    inversion F as [|? ? Fp F']; inversion N2 as [|? ? Np N2']; inversion L as [|? ? Ls L']; subst.
    destruct (IH F' N2' L') as (f' & S & W).
    destruct (every_chunk_arrives p s Fp X Ls) as (n & c' & Rn & Wh).
    exists (System (offered s) c' (delivered s ++ contents (hops s)) :: f'); split.
    - constructor; [cbn; split; [reflexivity|]|exact S].
      exists n, (contents (hops s)); split; [reflexivity|exact Rn].
    - constructor; [|exact W]; pose proof (reachable_invariant p s Fp X) as I.
      pose proof (run_invariant _ _ _ _ _ I Rn) as I'.
      assert (c' <> []) as Nc.
      { intros ->; apply Np; rewrite <- (reachable_planned p s X).
        assert (count (hops s) = 0) as Z.
        { clear - Rn; remember [] as e; induction Rn as [c|m k c y c' d' c'' K M Rn IH]; subst;
            [apply count_nil|rewrite <- (moves_count _ _ _ _ _ M); auto]. }
        rewrite (count_zero _ Z); reflexivity. }
      destruct c' as [|h t]; [easy|]; inversion Wh as [|? ? (_ & C & _ & _ & A) _]; subst.
      inversion I' as [|? ? Ih _]; subst; destruct (planned_soundly h Ih) as (S1 & _).
      unfold feeds; cbn; split; [exact C|lia]. }
  exists f'; unfold produces.
  assert (f' <> []) as Nf
    by (intros ->; inversion S; subst; inversion B; subst; easy).
  assert (snd (acquire_all (map feeds f')) = Gate.Taken) as T.
  { clear - W Nf; destruct W as [|s f' [C A] W]; [easy|]; clear Nf; cbn.
    destruct (acquire_one (feeds s)) as [[? _]|[(_ & ? & _)|(_ & _ & g & ->)]]; [congruence|lia|].
    destruct (acquire_all (map feeds f')) as [rest []] eqn:E; try reflexivity.
    pose proof (proj1 (waits_for_the_slowest (map feeds f'))) as Y; rewrite E in Y.
    apply Exists_exists in Y as (g' & I & C' & Z); [|reflexivity].
    apply in_map_iff in I as (s' & <- & I).
    destruct (proj1 (Forall_forall _ _) W s' I); lia. }
  destruct (acquire_all (map feeds f')) as [gs a]; cbn in T; subst a; eexists; split; [exact S|reflexivity].
Qed.

End Out.
