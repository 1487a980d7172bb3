(** Laws of the writer (W1 to W5): the decision with the state of one flow and its wire round it. *)

From Coq Require Import Arith NArith Bool List Lia ZifyBool ZifyN ZifyNat.
From Sluicegate Require Import Base.U64 Base.Tactics Decide.Facts Decide.Writer.
Import ListNotations.

Set Default Timeout 30.
Open Scope N_scope.

(** W1: on a flow that is not over every frame is sent, and the terminal is the last. *)
Theorem sent_while_not_over (kind : frame_type) :
  admit false kind = if is_terminal kind then SendLast else Send.
Proof. destruct kind; reflexivity. Qed.

(** W2, L4: on a flow that is over every frame of it is suppressed, second terminals included. *)
Theorem suppressed_when_over (kind : frame_type) :
  is_flow kind = true -> admit true kind = Suppress.
Proof. unfold admit; intros ->; reflexivity. Qed.

(** W3: a frame outside of flows is always sent, and ends nothing. *)
Theorem others_always_sent (over : bool) (kind : frame_type) :
  is_flow kind = false -> admit over kind = Send.
Proof. unfold admit; intros ->; reflexivity. Qed.

(** One flow at its writer: its state, the frames on the wire with their numbers, and how many were
    suppressed. *)
Record flow := Flow {
  is_over : bool;
  expected : N;
  wire : list (frame_type * N);
  stragglers : nat;
}.

Definition fresh : flow := Flow false 0 [] 0.

Definition write (f : flow) (kind : frame_type) : flow :=
  let 'Flow o e w s := f in
  match admit o kind with
  | Suppress => Flow (over_after o Suppress) e w (s + 1)
  | answer =>
      let number := stamp e kind in
      Flow (over_after o answer) (next number) (w ++ [(kind, seq number)]) s
  end.

Definition written (kinds : list frame_type) : flow := fold_left write kinds fresh.

(** The frames of the flow on the wire. *)
Definition of_flow (w : list (frame_type * N)) : list (frame_type * N) :=
  filter (fun p => is_flow (fst p)) w.

Arguments of_flow : simpl never.

Definition upto (n : nat) : list N := map N.of_nat (List.seq 0 n).

Record sound (f : flow) : Prop := {
  shape : exists body last,
    map fst (of_flow (wire f)) = body ++ last
    /\ Forall (fun k => is_terminal k = false) body
    /\ (if is_over f then exists t, last = [t] /\ is_terminal t = true else last = []);
  numbers : N.of_nat (length (of_flow (wire f))) <= U64.max ->
    map snd (of_flow (wire f)) = upto (length (of_flow (wire f)));
  expects : is_over f = false -> N.of_nat (length (of_flow (wire f))) <= U64.max ->
    expected f = N.of_nat (length (of_flow (wire f)));
  others : Forall (fun p => is_flow (fst p) = false -> snd p = 0) (wire f);
}.

Lemma of_flow_snoc (w : list (frame_type * N)) (k : frame_type) (n : N) :
  of_flow (w ++ [(k, n)]) = if is_flow k then of_flow w ++ [(k, n)] else of_flow w.
Proof. unfold of_flow; rewrite filter_app; cbn; destruct (is_flow k); auto using app_nil_r. Qed.

Lemma upto_snoc (n : nat) : upto (n + 1) = upto n ++ [N.of_nat n].
Proof. unfold upto; rewrite seq_app, map_app; reflexivity. Qed.

Lemma write_sound (f : flow) (k : frame_type) : sound f -> sound (write f k).
Proof.
  intros [(body & last & M & B & L) N E O]; destruct f as [o e w s]; cbn in *; unfold admit.
  destruct (is_flow k) eqn:F; cbn.
  2: { unfold stamp; rewrite F; cbn; constructor; cbn; rewrite ?of_flow_snoc, ?F; auto.
       - exists body, last; auto.
       - apply Forall_app; split; auto. }
  destruct o; cbn.
  { constructor; cbn; auto; exists body, last; auto. }
  subst last; rewrite app_nil_r in M.
  destruct (is_terminal k) eqn:T; unfold stamp; rewrite F, T; cbn;
    (constructor; cbn; rewrite ?of_flow_snoc, ?F, ?map_app, ?app_length; cbn).
  - exists body, [k]; rewrite M; repeat split; eauto.
  - intros L; rewrite N, E by (auto; lia); rewrite upto_snoc; reflexivity.
  - discriminate.
  - apply Forall_app; split; auto; repeat constructor; cbn; congruence.
  - exists (body ++ [k]), []; rewrite M, app_nil_r; repeat split; auto; apply Forall_app; auto.
  - intros L; rewrite N, E by (auto; lia); rewrite upto_snoc; reflexivity.
  - intros _ L; rewrite E by (auto; lia); u64.
  - apply Forall_app; split; auto; repeat constructor; cbn; congruence.
Qed.

Lemma written_sound (kinds : list frame_type) : sound (written kinds).
Proof.
  unfold written; assert (sound fresh) as S by (constructor; cbn; auto; exists [], []; auto).
  revert S; generalize fresh; induction kinds as [|k kinds IH]; cbn; auto using write_sound.
Qed.

(** W4, L4: whatever is written in whatever order, at most one terminal of the flow reaches the wire,
    and nothing of the flow after it. *)
Theorem one_terminal_and_nothing_after (kinds : list frame_type) (before after : list frame_type) (t : frame_type) :
  map fst (of_flow (wire (written kinds))) = before ++ t :: after -> is_terminal t = true ->
  after = [] /\ Forall (fun k => is_terminal k = false) before.
Proof.
  intros M T; destruct (written_sound kinds) as [(body & last & E & B & L) _ _ _]; rewrite E in M.
  destruct (is_over _).
  - destruct L as (u & -> & U).
    destruct (exists_last (l := t :: after) ltac:(discriminate)) as (z & y & Z).
    rewrite Z, app_assoc in M; apply app_inj_tail in M as [M <-].
    destruct z as [|z0 z]; injection Z as Z1 Z2.
    + rewrite app_nil_r in M; subst; auto.
    + exfalso; rewrite M, Forall_app in B; destruct B as [_ B]; apply Forall_inv in B; congruence.
  - subst last; rewrite app_nil_r in M; exfalso; rewrite M, Forall_app in B.
    destruct B as [_ B]; apply Forall_inv in B; congruence.
Qed.

(** W4: and one does, as soon as one was written. *)
Theorem a_terminal_reaches_the_wire (kinds : list frame_type) :
  existsb is_terminal kinds = existsb is_terminal (map fst (of_flow (wire (written kinds)))).
Proof.
  assert (forall f, sound f -> is_over f = existsb is_terminal (map fst (of_flow (wire f)))) as D.
  { intros f [(body & last & E & B & L) _ _ _]; rewrite E, existsb_app.
    assert (existsb is_terminal body = false) as ->
      by (clear - B; induction B as [|k l H B IH]; cbn; [reflexivity|]; rewrite H; exact IH).
    destruct (is_over f); [destruct L as (t & -> & T); cbn; rewrite T; reflexivity|subst; reflexivity]. }
  rewrite <- D by apply written_sound; clear D; unfold written.
  assert (forall f, is_over (fold_left write kinds f) = is_over f || existsb is_terminal kinds) as G.
  { induction kinds as [|k kinds IH]; cbn; intros f; [rewrite orb_false_r; reflexivity|].
    rewrite IH, orb_assoc; f_equal; destruct f as [o e w s]; destruct o, k; reflexivity. }
  rewrite G; reflexivity.
Qed.

(** W5: the flow's frames on the wire are numbered 0, 1, 2 … without gap; others carry 0. *)
Theorem numbered_without_gap (kinds : list frame_type) :
  N.of_nat (length (of_flow (wire (written kinds)))) <= U64.max ->
  map snd (of_flow (wire (written kinds))) = upto (length (of_flow (wire (written kinds))))
  /\ Forall (fun p => is_flow (fst p) = false -> snd p = 0) (wire (written kinds)).
Proof. intros L; destruct (written_sound kinds); auto. Qed.

(** A flow's first number behind its terminal is 0 again, for a writer that has forgotten its end. *)
Theorem numbers_start_anew (expected : N) (kind : frame_type) :
  is_terminal kind = true -> next (stamp expected kind) = 0.
Proof. destruct kind; cbn; congruence. Qed.

(** W3: frames outside of flows are all sent, in the order they were written. *)
Theorem none_of_the_others_is_lost (kinds : list frame_type) :
  filter (fun k => negb (is_flow k)) (map fst (wire (written kinds)))
  = filter (fun k => negb (is_flow k)) kinds.
Proof.
  unfold written; enough (forall f, filter (fun k => negb (is_flow k)) (map fst (wire (fold_left write kinds f)))
    = filter (fun k => negb (is_flow k)) (map fst (wire f)) ++ filter (fun k => negb (is_flow k)) kinds) as G
    by apply G.
  induction kinds as [|k kinds IH]; cbn; intros f; [symmetry; apply app_nil_r|].
  rewrite IH; destruct f as [o e w s]; destruct o, k; cbn; rewrite ?map_app, ?filter_app; cbn;
    rewrite <- ?app_assoc, ?app_nil_r; reflexivity.
Qed.

(** L8: no frame vanishes: each is on the wire or counted as a straggler. *)
Theorem sent_or_counted (kinds : list frame_type) :
  (length (wire (written kinds)) + stragglers (written kinds))%nat = length kinds.
Proof.
  unfold written; enough (forall f, (length (wire (fold_left write kinds f)) + stragglers (fold_left write kinds f)
    = length (wire f) + stragglers f + length kinds)%nat) as G by (rewrite G; reflexivity).
  induction kinds as [|k kinds IH]; cbn [fold_left length]; intros f; [lia|].
  rewrite IH; destruct f as [o e w s]; destruct o, k; cbn; rewrite ?app_length; cbn; lia.
Qed.
