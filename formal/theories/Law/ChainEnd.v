(** Chains of any length: how they end. A cancel at any hop releases everybody, the end overtakes
    nothing, and a source is only ever held back by a chain that is full. *)

From Coq Require Import NArith List Bool Lia ZifyBool ZifyN.
From Sluicegate Require Base.U64 Decide.Gate Decide.Window.
From Sluicegate Require Import Law.Chain Law.ChainHop Law.ChainSafe Law.ChainLive Law.ChainWork.
Import ListNotations.

Open Scope N_scope.
Set Default Timeout 30.

Section Ends.
Context {chunk : Type}.
Implicit Types (h : hop chunk) (c : list (hop chunk)) (s : system chunk).

(** ** A cancel releases *)

(** Whoever waits for credit on a hop whose gate was closed is told so, and never waits again (C8;
    L13). *)
Theorem closed_releases h n waiting :
  shut h -> snd (Gate.acquire (gate h) n waiting) = Gate.Closed.
Proof. intros S; apply shut_closed in S; unfold Gate.acquire; rewrite S; reflexivity. Qed.

(** What is due inside a chain whose sink does nothing. *)
Definition due_inside c : Prop := exists c', moves Due c None None c'.

(** Its gate is closed, or its receiver gave up. *)
Definition cut h : Prop := shut h \/ given_up h = true.

Lemma released_upstream (before : list (hop chunk)) h after :
  Forall hop_invariant before ->
  cut h -> due_inside (before ++ h :: after) \/ (Forall shut before /\ shut h).
Proof.
  intros F C; induction F as [|a before I F IH]; cbn.
  - destruct C as [S|G]; [right; auto|].
    destruct (Gate.closed (gate h)) eqn:E; [right; split; [constructor|apply shut_closed; exact E]|].
    left; destruct (closes_some h E) as [h' E']; eexists; apply moves_alone, alone_told; eassumption.
  - destruct IH as [[c' M]|[S T]]; [left; eexists; eapply moves_further; exact M|].
    assert (exists d rest, before ++ h :: after = d :: rest /\ shut d) as (d & rest & -> & D).
    { destruct S as [|d before D S]; [exists h, after; auto|exists d, (before ++ h :: after); auto]. }
    destruct (given_up a) eqn:G.
    + destruct (Gate.closed (gate a)) eqn:E; [right; split; [constructor|]; auto; apply shut_closed; exact E|].
      left; destruct (closes_some a E) as [a' E']; eexists; apply moves_alone, alone_told; eassumption.
    + left; assert (exists a', gives_up a = Some a') as [a' E]
        by (unfold gives_up; rewrite G; eexists; reflexivity).
      eexists; eapply moves_stop; eassumption.
Qed.

(** A cancel at any hop releases everybody upstream of it, up to the source, whatever the sink and
    everybody downstream do: as long as one of those gates is open, telling it is due (C8; L13). *)
Theorem a_cancel_releases_all_upstream plans s before h after :
  Forall sound plans -> reachable plans s -> hops s = before ++ h :: after ->
  cut h -> ~ due_inside (hops s) ->
  Forall (fun a => forall n waiting, snd (Gate.acquire (gate a) n waiting) = Gate.Closed) (before ++ [h]).
Proof.
  intros F R E C D; pose proof (reachable_invariant plans s F R) as I; rewrite E in *.
  apply Forall_app in I as [I _].
  destruct (released_upstream before h after I C) as [?|[S T]]; [contradiction|].
  apply Forall_app; split; [|constructor; [|constructor]].
  - eapply Forall_impl; [|exact S]; intros a Sa n waiting; apply closed_releases; exact Sa.
  - intros n waiting; apply closed_releases; exact T.
Qed.

Lemma shut_stays g n : Gate.closed g = true -> Gate.grant g n = g.
Proof. intros C; unfold Gate.grant; rewrite C; reflexivity. Qed.

Lemma alone_cut k h h' : cut h -> alone k h h' -> cut h'.
Proof.
  intros C A.
  assert (Gate.closed (gate h) = true \/ given_up h = true) as C'
    by (destruct C as [S|G]; [left; apply shut_closed|right]; assumption); clear C.
  assert (Gate.closed (gate h') = true \/ given_up h' = true) as D.
  { destruct A as [h h' E|h h' E|h h' E|h h' _ _ E|h h' T E|h h' E|h h' E|h h' E]; revert E;
      unfold arrives, credits, takes, flushes, closes, gives_up, Gate.close; apart;
      intros E; injection E as <-; cbn; rewrite ?grant_closed; intuition congruence. }
  destruct D as [D|D]; [left; apply shut_closed|right]; assumption.
Qed.

Lemma passes_cut x h h' : cut h -> passes h = Some (x, h') -> cut h'.
Proof.
  intros [S|G]; unfold passes; [|rewrite G; easy].
  apply shut_closed in S; apart; intros E; injection E as <- <-; left; apply shut_closed; exact S.
Qed.

Lemma moves_cut k c i o c' : Exists cut c -> moves k c i o c' -> Exists cut c'.
Proof.
  intros F M; induction M as [k h h' t A|x h h' t E|x h h' t t' E M IH|x h h' E|x h h' d t H B E
                              |h d d' t B H E|h h' d t B E|k h t t' o M IH]; inversion F; subst;
    try solve [right; auto]; try solve [left; eauto using alone_cut, passes_cut, alone_flush, alone_gives_up].
  - match goal with H : cut _ |- _ => destruct H as [S|G] end.
    + apply shut_closed in S; unfold sends, Gate.acquire in E; rewrite S in E; easy.
    + left; right; revert E; unfold sends; apart; intros E; injection E as <-; exact G.
  - right; match goal with H : Exists cut (_ :: _) |- _ => inversion H; subst end;
      [left; eauto using alone_cut, alone_closes|right; assumption].
Qed.

Lemma run_cut P n c d c' : Exists cut c -> run P n c d c' -> Exists cut c'.
Proof. intros F R; induction R; eauto using moves_cut. Qed.

Lemma cut_not_whole c : Exists cut c -> Forall whole c -> False.
Proof.
  intros E W; induction E as [h t [S|G]|h t E IH]; inversion W as [|? ? (_ & C & G' & _) W']; subst;
    [apply shut_closed in S; congruence|congruence|auto].
Qed.

(** Once any hop is closed or given up, every run comes to where every gate is closed and nothing is
    held anywhere, if the sink takes what still comes: nobody waits and nothing is kept (C8; L13). *)
Theorem an_end_anywhere_ends_everything plans s n d c' :
  Forall sound plans -> reachable plans s -> Exists cut (hops s) ->
  run all n (hops s) d c' -> ~ due c' -> Forall over c'.
Proof.
  intros F R C Rn D; pose proof (reachable_invariant plans s F R) as I.
  pose proof (run_invariant _ _ _ _ _ I Rn) as I'; pose proof (run_cut _ _ _ _ _ C Rn) as C'.
  destruct (due_whole_or_over c' I') as [?|[W|O]]; [contradiction| |exact O].
  destruct (cut_not_whole c' C' W).
Qed.

(** ** The end overtakes nothing *)

Definition done h : Prop := Gate.closed (gate h) = true /\ inside h = [].

Definition tidy h : Prop := given_up h = true -> done h.

Fixpoint orderly c : Prop :=
  match c with
  | [] => True
  | h :: t =>
      tidy h /\ (match t with [] => True | d :: _ => Gate.closed (gate d) = true -> done h end)
      /\ orderly t
  end.

Lemma alone_done k h h' : hop_invariant h -> done h -> alone k h h' -> done h'.
Proof.
  intros I [C E] A; split; [|rewrite (alone_inside k h h' I A); exact E].
  destruct A as [h h' A|h h' A|h h' A|h h' _ _ A|h h' T A|h h' A|h h' A|h h' A]; revert A;
    unfold arrives, credits, takes, flushes, closes, gives_up, Gate.close; apart;
    intros A; injection A as <-; cbn; rewrite ?grant_closed; congruence.
Qed.

(** A step that is no cut leaves a hop's end as it was, but for the teller's. *)
Lemma alone_ends k h h' :
  k <> Cut -> hop_invariant h -> tidy h -> alone k h h' ->
  Gate.closed (gate h') = Gate.closed (gate h) /\ tidy h'.
Proof.
  intros K I T A; split.
  - destruct A as [h h' A|h h' A|h h' A|h h' _ _ A|h h' U A|h h' A|h h' A|h h' A]; try congruence; revert A.
    1-4, 6: unfold arrives, credits, takes, flushes; apart; intros A; injection A as <-; cbn;
      rewrite ?grant_closed; reflexivity.
    destruct (T U) as [C _]; unfold closes, Gate.close; rewrite C; easy.
  - intros G; assert (given_up h = true) as G'.
    { destruct A as [h h' A|h h' A|h h' A|h h' _ _ A|h h' U A|h h' A|h h' A|h h' A]; try congruence; revert A;
        unfold arrives, credits, takes, flushes; apart; intros A; injection A as <-; exact G. }
    eapply alone_done; [exact I|apply T; exact G'|exact A].
Qed.

Definition head_closed c : bool :=
  match c with [] => false | h :: _ => Gate.closed (gate h) end.

Lemma closes_ends h h' :
  closes h = Some h' ->
  Gate.closed (gate h) = false /\ Gate.closed (gate h') = true /\ given_up h' = given_up h.
Proof.
  unfold closes, Gate.close; destruct (Gate.closed (gate h)); [easy|].
  intros E; injection E as <-; auto.
Qed.

Lemma passes_ends x h h' :
  tidy h -> passes h = Some (x, h') -> Gate.closed (gate h') = Gate.closed (gate h) /\ tidy h'.
Proof.
  intros T; unfold passes; destruct (given_up h) eqn:G; [easy|]; destruct (hand h); [|easy].
  destruct (if early (planned h) then _ else _); intros E; injection E as <- <-.
  split; [reflexivity|]; cbn; easy.
Qed.

Lemma sends_ends x h h' :
  tidy h -> sends x h = Some h' ->
  Gate.closed (gate h) = false /\ Gate.closed (gate h') = false /\ tidy h'.
Proof.
  intros T; unfold sends; destruct (Gate.acquire (gate h) 1 false) as [g []] eqn:A; try easy.
  apply acquire_taken in A as (A & B & _); intros E; injection E as <-.
  split; [exact A|split; [exact B|]]; intros G; cbn in G; destruct (T G); congruence.
Qed.

Lemma orderly_cons h t :
  orderly (h :: t) <-> tidy h /\ (head_closed t = true -> done h) /\ orderly t.
Proof. destruct t; cbn; intuition congruence. Qed.

(* Three duties: the first hop, the second after it, the rest. *)
Ltac ordered := apply orderly_cons; split; [|split].

Lemma moves_orderly k c i o c' :
  k <> Cut -> Forall hop_invariant c -> orderly c -> moves k c i o c' ->
  orderly c' /\ head_closed c' = head_closed c.
Proof.
  intros K F O M; induction M as [k h h' t A|x h h' t E|x h h' t t' E M IH|x h h' E|x h h' d t H B E
                              |h d d' t B H E|h h' d t B E|k h t t' o M IH];
    inversion F as [|? ? I F']; subst; apply orderly_cons in O as (T & D & O).
  - destruct (alone_ends k h h' K I T A) as [C T']; split; [|exact C].
    ordered; auto; intros; apply (alone_done k h h' I); auto.
  - destruct (sends_ends x h h' T E) as (C & C' & T'); split; [|cbn; congruence].
    ordered; auto; intros X; destruct (D X); congruence.
  - destruct (passes_ends x h h' T E) as [C T']; destruct (IH K F' O) as [O' HC]; split; [|exact C].
    ordered; auto; rewrite HC; intros X; destruct (D X) as [_ Y];
      rewrite (passes_inside x h h' E) in Y; easy.
  - destruct (passes_ends x h h' T E) as [C T']; split; [|exact C].
    ordered; auto; cbn; easy.
  - destruct (alone_ends Free h h' ltac:(easy) I T (alone_flush _ _ E)) as [C T']; split; [|exact C].
    ordered; auto; intros X; apply (alone_done Free h h' I); auto using alone_flush.
  - split; [|reflexivity]; apply shut_closed in B.
    assert (done h) as Dh.
    { destruct (given_up h) eqn:G; [exact (T G)|]; split; [exact B|].
      unfold inside; rewrite (nothing_lost h I G); exact H. }
    apply orderly_cons in O as (T2 & D2 & O2); inversion F' as [|? ? I2 F2]; subst.
    destruct (closes_ends d d' E) as (C1 & C2 & C3).
    assert (tidy d') as T'
      by (intros G; rewrite C3 in G; destruct (T2 G); congruence).
    ordered; try (intros _; exact Dh).
    ordered; auto; intros X; destruct (D2 X); congruence.
  - apply shut_closed in B; pose proof (alone_gives_up _ _ E) as A.
    assert (done h') as Dh by (apply (alone_done Cut h h' I); [apply D; exact B|exact A]).
    split; [ordered; auto; intros _; exact Dh|].
    cbn; destruct (D B) as [C _]; destruct Dh as [C' _]; congruence.
  - destruct (IH K F' O) as [O' HC]; split; [|reflexivity].
    ordered; auto; rewrite HC; exact D.
Qed.

Lemma undisturbed_orderly plans s : Forall sound plans -> undisturbed plans s -> orderly (hops s).
Proof.
  intros F U; induction U as [|k s s' K U IH St].
  - cbn; clear F; induction plans as [|p plans IH]; [exact I|].
    ordered; auto; cbn; try easy; destruct plans; cbn; easy.
  - pose proof (reachable_invariant plans s F (undisturbed_reachable plans s U)) as I.
    destruct St as [x o c c' d M|k o c c' d M|x o c c' d M|o h h' t d E]; cbn in *;
      try (eapply moves_orderly; eassumption).
    inversion I as [|? ? Ih It]; subst; apply orderly_cons in IH as (T & D & O).
    destruct (closes_ends h h' E) as (C & _ & G).
    ordered; auto.
    + intros X; rewrite G in X; destruct (T X); congruence.
    + intros X; destruct (D X); congruence.
Qed.

(** If nobody in the middle cuts a chain off, the sink sees the end after everything that the source
    sent, and not before (L4, L6). *)
Theorem the_end_overtakes_nothing plans s before last :
  Forall sound plans -> undisturbed plans s -> hops s = before ++ [last] -> over last ->
  delivered s = offered s.
Proof.
  intros F U E O; pose proof (undisturbed_orderly plans s F U) as T.
  pose proof (undisturbed_reachable plans s U) as R.
  pose proof (reachable_invariant plans s F R) as I.
  rewrite <- (nothing_lost_nothing_overtakes plans s F R).
  assert (contents (hops s) = [] /\ head_closed (hops s) = true) as [-> _];
    [|rewrite app_nil_r; reflexivity].
  rewrite E in *; clear E; induction before as [|h before IH]; cbn [app] in *;
    apply orderly_cons in T as (Th & D & T); inversion I as [|? ? Ih It]; subst.
  - destruct O as [[H _] S]; apply shut_closed in S; cbn; split; [|exact S].
    destruct (given_up last) eqn:G; [apply Th; exact G|].
    unfold inside; rewrite (nothing_lost last Ih G); exact H.
  - destruct (IH T It) as [C H]; destruct (D H) as [X Y]; cbn; rewrite C, Y; auto.
Qed.

End Ends.
