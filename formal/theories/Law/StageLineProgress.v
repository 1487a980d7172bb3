(** A line of stages comes to something: however its moves are ordered, only so many can be made
    before an element comes out at its end, or is dropped on purpose. *)

From Coq Require Import NArith Bool List Lia ZifyBool ZifyN.
From Sluicegate Require Import Base.U64 Base.Lists Base.Tactics.
From Sluicegate Require Import Decide.Demand Law.Stages Law.StageProgress Law.StageLine.
Import ListNotations.

Open Scope N_scope.
Set Default Timeout 30.

(** How much a unit under way below a line's end is worth: enough to pay for all that one emission
    may set free above it. *)
Fixpoint worth (l : list hop) : N :=
  match l with
  | [] => 1
  | h :: rest => 4 * capacity (stage_of h) * worth rest + 1
  end.

(** What a line can still do by itself. Room that nothing was asked for is worth most, then a request
    on its way, then one that is owed, then an element on its way. *)
Fixpoint potential (src : N) (l : list hop) : N :=
  match l with
  | [] => 0
  | h :: rest =>
    worth rest * (4 * (capacity (stage_of h) - held (stage_of h) - asked (stage_of h))
                  + 3 * rising h + 2 * owes src rest + falling h)
    + potential src rest
  end.

Lemma worth_positive l : 1 <= worth l.
Proof. destruct l; cbn; lia. Qed.

Lemma ask_line_potential src l k src' l' :
  linked src l -> 0 < k -> fits (owes src l + k) -> ask_line src l k = (src', l') ->
  worth l' = worth l /\ potential src' l' <= potential src l.
Proof.
  intros Hl Hk Hf H; destruct l as [|h l]; cbn [ask_line linked owes] in *;
    [injection H as <- <-; cbn; lia|].
  destruct Hl as (H1 & H2 & H3 & H4).
  destruct (request (stage_of h) k) as [s a] eqn:Hr; injection H as <- <-.
  apply request_running in Hr; trivial; destruct Hr as (R1 & R2 & R3 & R4 & R5 & R6).
  pose proof (s_bound _ R1); cbn [worth potential stage_of rising falling]; rewrite R3, R5, R6 in *; split; [trivial|].
  apply N.add_le_mono_r, N.mul_le_mono_l; lia.
Qed.

(** Every move uses up some of it; but an emission at the end is paid for from below, and a drop is
    paid for by its element. *)
Lemma moves_potential patient src l o d src' l' :
  moves patient src l o d src' l' -> linked src l ->
  worth l' = worth l /\ potential src' l' + 1 <= potential src l + o * worth l + d * (4 * worth l + 1).
Proof.
  induction 1 as [src H|src h l k s a _ H|src h l s a Hh H|src h l s Hf H|src h l k src' l' Hk H
                 |src h l o d src' l' H IH]; intros Hl.
  - cbn; lia.
  - destruct Hl as (H1 & H2 & H3 & H4); apply emit_inversion in H; trivial.
    destruct H as (E1 & E2 & E3 & E4 & E5 & E6 & E7).
    pose proof (s_bound _ E2); pose proof (s_bound _ H1).
    cbn [worth potential stage_of rising falling]; rewrite E4, E7 in *; split; [trivial|].
    assert (Hin : 4 * (capacity (stage_of h) - held s - (asked (stage_of h) + a)) + 3 * (rising h + a)
                  + 2 * owes src l + falling h
                  <= (4 * (capacity (stage_of h) - held (stage_of h) - asked (stage_of h))
                      + 3 * rising h + 2 * owes src l + falling h) + 4 * capacity (stage_of h))
      by lia.
    apply (N.mul_le_mono_l _ _ (worth l)) in Hin; nia.
  - destruct Hl as (H1 & H2 & H3 & H4); apply discard_inversion in H; trivial.
    destruct H as (E2 & E3 & E4 & E5 & E6 & E7).
    pose proof (s_bound _ E2); pose proof (s_bound _ H1); pose proof (s_room _ H1).
    cbn [worth potential stage_of rising falling]; rewrite E4, E7 in *; split; [trivial|].
    assert (Hin : 4 * (capacity (stage_of h) - held s - (asked (stage_of h) + a)) + 3 * (rising h + a)
                  + 2 * owes src l + falling h
                  <= (4 * (capacity (stage_of h) - held (stage_of h) - asked (stage_of h))
                      + 3 * rising h + 2 * owes src l + falling h) + 4)
      by lia.
    apply (N.mul_le_mono_l _ _ (worth l)) in Hin.
    assert (worth l <= capacity (stage_of h) * worth l) by nia.
    nia.
  - destruct Hl as (H1 & H2 & H3 & H4); apply arrive_inversion in H; trivial.
    destruct H as (E2 & E3 & E4 & E5 & E6 & E7).
    pose proof (worth_positive l); cbn [worth potential stage_of rising falling]; rewrite E4, E6 in *; split; [trivial|].
    assert (Hin : 4 * (capacity (stage_of h) - (held (stage_of h) + 1) - asked s) + 3 * rising h
                  + 2 * owes src l + (falling h - 1) + 1
                  <= 4 * (capacity (stage_of h) - held (stage_of h) - asked (stage_of h))
                      + 3 * rising h + 2 * owes src l + falling h)
      by lia.
    apply (N.mul_le_mono_l _ _ (worth l)) in Hin; nia.
  - pose proof (awaited_fits _ _ _ Hl); destruct Hl as (H1 & H2 & H3 & H4).
    assert (Hfit : fits (owes src l + k)) by (unfold fits in *; lia).
    destruct (ask_line_linked _ _ _ _ _ H4 (proj1 Hk) Hfit H) as [_ Ho].
    destruct (ask_line_potential _ _ _ _ _ H4 (proj1 Hk) Hfit H) as [Hw Hp].
    pose proof (worth_positive l); cbn [worth potential stage_of rising falling]; rewrite Hw, Ho; split; [trivial|].
    assert (Hin : 4 * (capacity (stage_of h) - held (stage_of h) - asked (stage_of h))
                  + 3 * (rising h - k) + 2 * (owes src l + k) + falling h + 1
                  <= 4 * (capacity (stage_of h) - held (stage_of h) - asked (stage_of h))
                      + 3 * rising h + 2 * owes src l + falling h)
      by lia.
    apply (N.mul_le_mono_l _ _ (worth l)) in Hin; nia.
  - destruct Hl as (H1 & H2 & H3 & H4); destruct (IH H4) as [Hw Hp].
    destruct (moves_linked _ _ _ _ _ _ _ H H4) as [_ Ho].
    pose proof (s_room _ H1); cbn [worth potential stage_of rising falling]; rewrite Hw; split; [trivial|].
    assert (Hin : 4 * (capacity (stage_of h) - held (stage_of h) - asked (stage_of h))
                  + 3 * rising h + 2 * owes src' l' + (falling h + o) + o
                  = 4 * (capacity (stage_of h) - held (stage_of h) - asked (stage_of h))
                      + 3 * rising h + 2 * owes src l + falling h)
      by lia.
    apply (f_equal (N.mul (worth l))) in Hin.
    assert (worth l <= capacity (stage_of h) * worth l) by nia.
    assert (d * (4 * worth l + 1) <= d * (4 * (4 * capacity (stage_of h) * worth l + 1) + 1)) by nia.
    nia.
Qed.

(** Some moves one after the other: how many, how many elements came out at the end, how many inputs
    were dropped on purpose. *)
Inductive run : N -> N -> N -> N -> list hop -> N -> list hop -> Prop :=
| run_none src l : run 0 0 0 src l src l
| run_more n outs drops src l src1 l1 o d src2 l2 :
    moves false src l o d src1 l1 -> run n outs drops src1 l1 src2 l2 ->
    run (n + 1) (outs + o) (drops + d) src l src2 l2.

(** Progress: a run of a line is no longer than its potential, and so much for each element that came
    out and each that was dropped. With [line_never_locks_up]: whatever order the moves are made in,
    a line that owes its sink something and drops only so many emits after finitely many moves. *)
Theorem line_comes_to_something n outs drops src l src' l' :
  running src l -> run n outs drops src l src' l' ->
  n <= potential src l + outs * worth l + drops * (4 * worth l + 1).
Proof.
  intros Hr H; apply running_linked in Hr; revert Hr.
  induction H as [src l|n outs drops src l src1 l1 o d src2 l2 Hm Hrun IH]; intros Hl; [lia|].
  destruct (moves_potential _ _ _ _ _ _ _ Hm Hl) as [Hw Hp].
  destruct (moves_linked _ _ _ _ _ _ _ Hm Hl) as [Hl1 _].
  specialize (IH Hl1); rewrite Hw in IH; nia.
Qed.
