(** Stages that pair N inputs into one output: each input is a stage of its own round the decisions of
    [Decide.Demand], all are asked for the same, and one output takes one from each. *)

From Coq Require Import NArith Bool List Lia ZifyBool ZifyN.
From Sluicegate Require Import Base.U64 Base.Lists Base.Tactics.
From Sluicegate Require Import Decide.Demand Law.Stages Law.StageProgress Law.StageLine.
Import ListNotations.

Open Scope N_scope.
Set Default Timeout 30.

(** Something happens to one input, to nobody else. *)
Inductive at_one (R : stage -> stage -> Prop) : list stage -> list stage -> Prop :=
| at_first s s' l : R s s' -> at_one R (s :: l) (s' :: l)
| at_later s l l' : at_one R l l' -> at_one R (s :: l) (s :: l').

Definition started (s s' : stage) : Prop :=
  fresh s /\ kind s = Each /\ s' = fst (start s).
Definition asked_for (k : N) (s s' : stage) : Prop := s' = fst (request s k).
Definition took (s s' : stage) : Prop := arrive s = (s', Accepted).
Definition gave (s s' : stage) : Prop := exists n, emit s 1 = (s', Emitted n).

(** A pairing stage with so many inputs: what was asked for below in all, and what it has emitted. *)
Inductive paired : list stage -> N -> N -> Prop :=
| paired_fresh l l' : Forall2 started l l' -> paired l' 0 0
| paired_request l wanted emitted k l' :
    paired l wanted emitted -> 0 < k -> fits (wanted + k) -> Forall2 (asked_for k) l l' ->
    paired l' (wanted + k) emitted
| paired_arrival l wanted emitted l' :
    paired l wanted emitted -> at_one took l l' -> paired l' wanted emitted
| paired_output l wanted emitted l' :
    paired l wanted emitted -> l <> [] -> Forall2 gave l l' -> paired l' wanted (emitted + 1).

(** Every input owes the same: what was asked for below and not emitted. *)
Definition good (owing : N) (s : stage) : Prop :=
  sound s /\ phase s = Running /\ kind s = Each /\ owed s = owing.

Lemma start_good s s' : started s s' -> good 0 s'.
Proof.
  intros (Hf & Hk & ->); apply fresh_sound in Hf; destruct Hf as (Hs & H1 & H2 & H3 & H4).
  unfold start; rewrite H4; destruct (replenish _) as [t n] eqn:Hr; cbn [fst].
  destruct Hs as [S1 S2 S3 S4 S5 S6 S7 S8].
  apply replenish_sound in Hr; cbn; trivial; try discriminate; cbn in Hr.
  unfold good; intuition congruence.
Qed.

Lemma request_good o k s s' : good o s -> 0 < k -> fits (o + k) -> asked_for k s s' -> good (o + k) s'.
Proof.
  intros (Hs & Hp & Hk & <-) H0 Hf ->; destruct (request s k) as [t n] eqn:Hr; cbn [fst].
  assert (Hkind : kind t = kind s).
  { destruct Hs as [S1 S2 S3 S4 S5 S6 S7 S8]; unfold request in Hr; rewrite Hp in Hr.
    destruct (U64.eqb k 0) eqn:Hz; [u64|]; apply replenish_sound in Hr; cbn; trivial;
      try discriminate; [cbn in Hr; tauto|apply sat_add_fits]. }
  apply request_running in Hr; trivial; destruct Hr as (R1 & R2 & R3 & R4 & R5 & R6).
  unfold good; repeat split; try apply R1; trivial; congruence.
Qed.

Lemma took_good o s s' : good o s -> took s s' -> good o s'.
Proof.
  intros (Hs & Hp & Hk & Ho) H; unfold took in H.
  assert (Hkind : kind s' = kind s).
  { unfold arrive in H; rewrite Hp in H; destruct (U64.eqb (asked s) 0); [discriminate|].
    injection H as <-; reflexivity. }
  apply arrive_inversion in H; trivial; destruct H as (R1 & R2 & R3 & R4 & R5 & R6).
  unfold good; repeat split; try apply R1; trivial; congruence.
Qed.

Lemma gave_good o s s' : good o s -> gave s s' -> 1 <= o /\ good (o - 1) s'.
Proof.
  intros (Hs & Hp & Hk & <-) [n H].
  assert (Hw : 1 <= held s) by (pose proof (emit_inversion _ _ _ _ Hs Hp H); lia).
  assert (Ho : 1 <= owed s) by (pose proof (emit_inversion _ _ _ _ Hs Hp H); lia).
  destruct (emit_running s 1 Hs Hp Ho Hw) as (t & m & He & H1 & H2 & H3 & H4 & H5 & H6 & _).
  rewrite H in He; injection He as <- <-; split; [trivial|].
  unfold good; repeat split; try apply H1; trivial; congruence.
Qed.

Lemma paired_good l wanted emitted :
  paired l wanted emitted ->
  emitted <= wanted /\ fits wanted /\ Forall (good (wanted - emitted)) l.
Proof.
  assert (Hmap : forall (R : stage -> stage -> Prop) o o' l l', (forall s s', good o s -> R s s' -> good o' s') ->
            Forall (good o) l -> Forall2 R l l' -> Forall (good o') l').
  { intros R o o' l0 l1 HR Hl H; induction H as [|s s' a b Hss Hab IH]; [constructor|].
    inversion Hl; subst; constructor; eauto. }
  induction 1 as [l l' H|l wanted emitted k l' Hp IH Hk Hf H|l wanted emitted l' Hp IH H
                 |l wanted emitted l' Hp IH Hl H].
  - split; [lia|split; [unfold fits; lia|]].
    induction H; constructor; trivial; apply (start_good x); trivial.
  - destruct IH as (A1 & A2 & A3); split; [lia|split; [trivial|]].
    replace (wanted + k - emitted) with (wanted - emitted + k) by lia.
    apply (Hmap (asked_for k) (wanted - emitted) _ l); trivial.
    intros s s' Hg; apply request_good; trivial; unfold fits in *; lia.
  - destruct IH as (A1 & A2 & A3); split; [lia|split; [trivial|]].
    clear - H A3; induction H; inversion A3; subst; constructor; auto; eapply took_good; eauto.
  - destruct IH as (A1 & A2 & A3).
    assert (H1 : 1 <= wanted - emitted).
    { destruct H as [|s s' a b Hg Hr]; [now destruct Hl|]; inversion A3; subst.
      eapply gave_good in Hg; [|eassumption]; tauto. }
    split; [lia|split; [trivial|]].
    replace (wanted - (emitted + 1)) with (wanted - emitted - 1) by lia.
    apply (Hmap gave (wanted - emitted) _ l); trivial.
    intros s s' Hg Hgv; apply (gave_good _ s); trivial.
Qed.

(** Never more pairs are emitted than were asked for, and each input owes just the rest. *)
Theorem pairs_never_exceed_requests l wanted emitted :
  paired l wanted emitted ->
  emitted <= wanted /\ Forall (fun s => owed s = wanted - emitted) l.
Proof.
  intros H; apply paired_good in H; destruct H as (H1 & _ & H2); split; [trivial|].
  revert H2; apply Forall_impl; intros s (_ & _ & _ & Ho); trivial.
Qed.

(** Each input holds and awaits no more than its own room, however much the others lag behind. *)
Theorem no_input_overruns l wanted emitted :
  paired l wanted emitted -> Forall (fun s => held s + asked s <= capacity s) l.
Proof.
  intros H; apply paired_good in H; destruct H as (_ & _ & H).
  revert H; apply Forall_impl; intros s (Hs & _); apply (s_bound _ Hs).
Qed.

(** No stall: while pairs are owed, either every input has one in hand and a pair can be emitted, or
    some input has nothing in hand and has asked for more. *)
Theorem pairing_never_stalls l wanted emitted :
  paired l wanted emitted -> emitted < wanted ->
  (exists l', Forall2 gave l l') \/ Exists (fun s => held s = 0 /\ 1 <= asked s) l.
Proof.
  intros H Hlt; apply paired_good in H; destruct H as (H1 & _ & H).
  induction H as [|s l (Hs & Hp & Hk & Ho) Hl IH]; [left; exists []; constructor|].
  destruct IH as [[l' IH]|IH]; [|right; apply Exists_cons_tl; trivial].
  assert (Howe : 1 <= owed s) by lia.
  pose proof (works_or_awaits s Hs Hp Howe) as Hw; rewrite Hk in Hw.
  destruct (N.eq_dec (held s) 0) as [Hz|Hz].
  - right; apply Exists_cons_hd; split; [trivial|lia].
  - left; destruct (emit_running s 1 Hs Hp Howe) as (t & n & He & _); [lia|].
    exists (t :: l'); constructor; [exists n|]; trivial.
Qed.
