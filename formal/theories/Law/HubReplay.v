(** Laws of what a hub keeps for newcomers, and of how its end is told. *)

From Coq Require Import NArith Bool List Lia ZifyBool ZifyN.
From Sluicegate Require Import Base.U64 Base.Lists Base.Tactics.
From Sluicegate Require Decide.Overflow.
From Sluicegate Require Import Decide.Hub.
Import ListNotations.

Open Scope N_scope.
Set Default Timeout 30.

Arguments U64.sat_add : simpl never.
Arguments U64.sat_sub : simpl never.

(** An element was shared: it is kept, and the oldest goes if that is one too many. *)
Definition keep (replays : N) (l : list N) (x : N) : list N :=
  if replays_too_many replays (size (l ++ [x])) then tl (l ++ [x]) else l ++ [x].

Fixpoint keep_all (replays : N) (l xs : list N) : list N :=
  match xs with
  | [] => l
  | x :: rest => keep_all replays (keep replays l x) rest
  end.

(** The last [n] of a list. *)
Definition latest (n : N) (l : list N) : list N := skipn (length l - N.to_nat n) l.

Lemma keep_latest replays all x :
  keep replays (latest replays all) x = latest replays (all ++ [x]).
Proof.
  unfold keep, latest, replays_too_many, U64.ltb, size; rewrite !app_length, skipn_length; cbn [length].
  assert (Hs : forall n, (n <= length all)%nat -> skipn n (all ++ [x]) = skipn n all ++ [x]).
  { intros n Hn; rewrite skipn_app; replace (n - length all)%nat with O by lia; reflexivity. }
  destruct (_ <? _) eqn:Hn.
  - rewrite <- (Hs (length all - N.to_nat replays)%nat) by lia.
    replace (length all + 1 - N.to_nat replays)%nat with (S (length all - N.to_nat replays)) by lia.
    generalize (all ++ [x]), (length all - N.to_nat replays)%nat; clear; intros l n.
    revert l; induction n as [|n IH]; intros [|y l]; cbn; trivial; apply (IH l).
  - rewrite <- Hs by lia; f_equal; lia.
Qed.

(** What is kept are the last elements that were shared, as many as were wished for and no more, in their
    order. *)
Theorem the_latest_are_kept replays xs : keep_all replays [] xs = latest replays xs.
Proof.
  assert (H : forall ys all, keep_all replays (latest replays all) ys = latest replays (all ++ ys)).
  { induction ys as [|y ys IH]; intros all; cbn [keep_all]; [rewrite app_nil_r; trivial|].
    rewrite keep_latest, IH, <- app_assoc; reflexivity. }
  specialize (H xs []); exact H.
Qed.

Theorem no_more_are_kept_than_wished replays xs : size (keep_all replays [] xs) <= replays.
Proof. rewrite the_latest_are_kept; unfold latest, size; rewrite skipn_length; lia. Qed.

(** A newcomer's buffer takes element after element, of no bytes, as a shell shares them. *)
Fixpoint given (s : subscriber) (n : nat) : option subscriber :=
  match n with
  | O => Some s
  | S n => match share_with s 0 with (s', Keep) => given s' n | _ => None end
  end.

(** A newcomer, whatever its policy, keeps all that is replayed to it: nothing is lost, and nobody is held
    up or expelled by it. *)
Theorem newcomer_keeps_its_replay p elements all s kept :
  fits elements -> subscribed p elements all = Some s ->
  exists s', given s (N.to_nat (replayed s kept)) = Some s'
    /\ Overflow.held (buffer s') = replayed s kept
    /\ Overflow.lost (buffer s') = 0 /\ is_live s' = true /\ owed s' = 0.
Proof.
  intros Hf Hs; unfold subscribed, Overflow.opened in Hs.
  destruct (U64.eqb elements 0 || U64.eqb all 0); [discriminate|]; injection Hs as <-.
  unfold replayed; cbn [buffer Overflow.capacity].
  assert (H : forall n b, Overflow.ended b = None -> Overflow.lost b = 0 ->
    Overflow.held b + N.of_nat n <= Overflow.capacity b -> fits (Overflow.capacity b) ->
    Overflow.bytes b = 0 ->
    exists s', given (Subscriber 0 b) n = Some s'
      /\ Overflow.held (buffer s') = Overflow.held b + N.of_nat n
      /\ Overflow.lost (buffer s') = 0 /\ is_live s' = true /\ owed s' = 0).
  { induction n as [|n IH]; intros b He Hl Hb Hc Hz; cbn [given].
    - eexists; split; [reflexivity|]; cbn; unfold is_live; cbn; rewrite He; repeat split; trivial; lia.
    - assert (Hr : Overflow.has_room b 0 = true) by (unfold Overflow.has_room; rewrite Hz; u64).
      unfold share_with; cbn [owed]; change (U64.eqb 0 0) with true.
      rewrite andb_false_r; cbn [andb buffer]; unfold Overflow.offer; rewrite He, Hr.
      assert (Hin : match Overflow.plan b with Overflow.Backpressure => false | _ => false end = false)
        by (destruct (Overflow.plan b); reflexivity).
      rewrite Hin; cbn [andb negb].
      destruct (IH (Overflow.Buffer (Overflow.plan b) (Overflow.capacity b) (Overflow.byte_capacity b)
        (U64.sat_add (Overflow.held b) 1) (U64.sat_add (Overflow.bytes b) 0) (Overflow.lost b) None))
        as (s' & E & A & B & C & D); cbn; trivial.
      + rewrite sat_add_exact by (unfold fits in *; lia); lia.
      + rewrite Hz; reflexivity.
      + exists s'; split; [exact E|]; cbn in A; rewrite sat_add_exact in A by (unfold fits in *; lia).
        repeat split; trivial; lia. }
  destruct (H (N.to_nat (U64.umin kept elements))
    (Overflow.Buffer (plan_of p) elements all 0 0 0 None)) as (s' & E & A & B & C & D); cbn; trivial;
    [u64|]; exists s'; repeat split; trivial; rewrite A; cbn; lia.
Qed.

(** And it is given as many as there are, as far as its buffer goes. *)
Theorem replays_all_that_fits s kept :
  replayed s kept <= kept /\ replayed s kept <= Overflow.capacity (buffer s)
  /\ (kept <= Overflow.capacity (buffer s) -> replayed s kept = kept)
  /\ (Overflow.capacity (buffer s) <= kept -> replayed s kept = Overflow.capacity (buffer s)).
Proof. unfold replayed; repeat split; u64. Qed.

(** The end of the upstream overtakes nothing: it is told exactly when nothing is left to share. *)
Theorem end_is_told_behind_the_last h anybody held_up :
  is_shared h = true <-> snd (share_next h anybody held_up) = Nothing.
Proof.
  unfold is_shared, share_next; destruct (U64.eqb (queued h) 0); [split; trivial|].
  destruct (anybody && negb held_up); split; discriminate.
Qed.
