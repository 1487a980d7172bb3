(** What a line of stages holds, however long it is: no more than its stages have room for. And lines
    are made of lines: what holds on every link of two lines holds on every link of one on the other. *)

From Coq Require Import NArith Bool List Lia ZifyBool ZifyN.
From Sluicegate Require Import Base.U64 Base.Lists Base.Tactics.
From Sluicegate Require Import Decide.Demand Law.Stages Law.StageProgress Law.StageLine.
Import ListNotations.

Open Scope N_scope.
Set Default Timeout 30.

(** Elements that a line holds, on their way between two stages included. *)
Fixpoint content (l : list hop) : N :=
  match l with [] => 0 | h :: rest => held (stage_of h) + falling h + content rest end.

(** What its stages have room for. *)
Fixpoint room (l : list hop) : N :=
  match l with [] => 0 | h :: rest => capacity (stage_of h) + room rest end.

(** What was asked for inside a line and has not been sent: requests on their way up, and what each
    stage, and the source, owes the one below. *)
Fixpoint unanswered (src : N) (l : list hop) : N :=
  match l with [] => 0 | h :: rest => rising h + owes src rest + unanswered src rest end.

(** Memory: all that is in a line, together with all that may still come for what was asked, fits into
    the rooms of its stages; whatever the source has and however slow the sink is. *)
Theorem line_holds_at_most_its_rooms src l :
  running src l -> content l + unanswered src l <= room l.
Proof.
  intros Hr; apply running_linked in Hr; revert Hr.
  induction l as [|h l IH]; cbn [linked content unanswered room]; [lia|].
  intros (H1 & H2 & H3 & H4); specialize (IH H4); pose proof (s_bound _ H1); lia.
Qed.

Lemma ask_line_room src l k src' l' :
  linked src l -> 0 < k -> fits (owes src l + k) -> ask_line src l k = (src', l') -> room l' = room l.
Proof.
  intros Hl Hk Hf H; destruct l as [|h l]; cbn [ask_line linked owes] in *;
    [injection H as <- <-; reflexivity|].
  destruct Hl as (H1 & H2 & H3 & H4).
  destruct (request (stage_of h) k) as [s a] eqn:Hr; injection H as <- <-.
  apply request_running in Hr; trivial; cbn [room stage_of]; destruct Hr as (_ & _ & R & _); lia.
Qed.

(** No move gives a line more room than it was built with. *)
Theorem room_is_constant patient src l o d src' l' :
  running src l -> moves patient src l o d src' l' -> room l' = room l.
Proof.
  intros Hr H; apply running_linked in Hr; revert Hr.
  induction H as [src H|src h l k s a _ H|src h l s a Hh H|src h l s Hf H|src h l k src' l' Hk H
                 |src h l o d src' l' H IH]; intros Hl.
  - reflexivity.
  - destruct Hl as (H1 & H2 & _); apply emit_inversion in H; trivial; cbn [room stage_of].
    destruct H as (_ & _ & _ & H & _); lia.
  - destruct Hl as (H1 & H2 & _); apply discard_inversion in H; trivial; cbn [room stage_of].
    destruct H as (_ & _ & H & _); lia.
  - destruct Hl as (H1 & H2 & _); apply arrive_inversion in H; trivial; cbn [room stage_of].
    destruct H as (_ & _ & H & _); lia.
  - pose proof (awaited_fits _ _ _ Hl); destruct Hl as (H1 & H2 & H3 & H4).
    apply ask_line_room in H; trivial; [cbn [room stage_of]; lia|lia|unfold fits in *; lia].
  - destruct Hl as (H1 & H2 & H3 & H4); cbn [room stage_of]; specialize (IH H4); lia.
Qed.

Lemma owes_through src l1 l2 : owes src (l1 ++ l2) = owes (owes src l2) l1.
Proof. destruct l1; reflexivity. Qed.

(** Conservation composes: a line on top of another keeps it on every link exactly if each of the two
    does, where the lower one takes what the upper one owes for its source. *)
Theorem a_line_is_made_of_lines src l1 l2 :
  linked src (l1 ++ l2) <-> linked (owes src l2) l1 /\ linked src l2.
Proof.
  induction l1 as [|h l1 IH]; cbn [app linked]; [tauto|].
  rewrite owes_through, IH; tauto.
Qed.

(** So does what it holds. *)
Theorem what_lines_hold_adds_up src l1 l2 :
  content (l1 ++ l2) = content l1 + content l2 /\ room (l1 ++ l2) = room l1 + room l2
  /\ unanswered src (l1 ++ l2) = unanswered (owes src l2) l1 + unanswered src l2.
Proof.
  induction l1 as [|h l1 (I1 & I2 & I3)]; cbn [app content room unanswered]; [auto|].
  rewrite owes_through, I1, I2, I3; lia.
Qed.

(** A move of the upper line is a move of the whole, whatever stands below it: a stage below sees no more
    of it than the elements that come out. *)
Theorem the_upper_line_moves_alone patient src l1 l2 o d src' l2' :
  moves patient src l2 o d src' l2' ->
  exists o' l1', moves patient src (l1 ++ l2) o' d src' (l1' ++ l2').
Proof.
  intros H; induction l1 as [|h l1 (o' & l1' & IH)]; [exists o, []; exact H|].
  exists 0, (Hop (stage_of h) (rising h) (falling h + o') :: l1'); apply above; exact IH.
Qed.
