(** Laws of a subscriber that may hold up its hub for a while: not a moment too early, not a look too
    late, and what it took is its own. *)

From Coq Require Import NArith Bool List Lia ZifyBool ZifyN.
From Sluicegate Require Import Base.U64 Base.Tactics.
From Sluicegate Require Import Decide.Patience.
From Sluicegate Require Decide.Overflow Decide.Hub Law.HubSubscriber Law.Hub.
Import ListNotations.

Open Scope N_scope.
Set Default Timeout 30.

(** A subscriber is looked at again and again, each time with whether it holds up the others, and when.
    [first] is when it was first seen to hold them up since it last did not. *)
Record watched := Watched { kept : patience; first : option N; last : judgement }.

Definition see (w : watched) (holds_up : bool) (now : N) : watched :=
  let '(after, answer) := look (kept w) holds_up now in
  Watched after
    (if holds_up then Some (match first w with Some before => before | None => now end) else None)
    answer.

Inductive reached (most : option N) : watched -> Prop :=
| reached_fresh : reached most (Watched (patient most) None LetBe)
| reached_seen w b now : reached most w -> reached most (see w b now).

Lemma keeps_the_first most w :
  reached most w ->
  limit (kept w) = most /\ (most <> None -> since (kept w) = first w).
Proof.
  induction 1 as [|w b now _ [Hl Hs]]; [split; reflexivity|].
  unfold see, look; destruct most as [m|]; rewrite Hl.
  - rewrite (Hs ltac:(discriminate)); destruct b; [|split; reflexivity].
    destruct (U64.leb _ _); split; reflexivity.
  - cbn; split; [trivial|intros N; now destruct N].
Qed.

(** Its subscription ends if and only if it has held up the others for its whole limit without a break,
    counted from the first look that saw it do so. *)
Theorem too_slow_iff_its_time_is_up most w now :
  reached (Some most) w ->
  let began := match first w with Some before => before | None => now end in
  fits (began + most) ->
  last (see w true now) = TooSlow <-> began + most <= now.
Proof.
  intros Hr began Hf; destruct (keeps_the_first _ _ Hr) as [Hl Hs].
  unfold see, look; rewrite Hl, (Hs ltac:(discriminate)); fold began.
  rewrite sat_add_exact by trivial; unfold U64.leb.
  destruct (began + most <=? now) eqn:Hn; cbn; split; trivial; try lia; discriminate.
Qed.

(** Who holds up nobody is let be, and has all of its time again. *)
Theorem who_gives_way_is_let_be most w now :
  reached most w ->
  last (see w false now) = LetBe /\ first (see w false now) = None
  /\ (most <> None -> since (kept (see w false now)) = None).
Proof.
  intros Hr; destruct (keeps_the_first _ _ Hr) as [Hl _].
  unfold see, look; rewrite Hl; destruct most; repeat split; intros N; now destruct N.
Qed.

(** Without a limit it is never too slow. *)
Theorem without_a_limit_for_ever w b now :
  reached None w -> last (see w b now) = LetBe.
Proof. intros Hr; destruct (keeps_the_first _ _ Hr) as [Hl _]; unfold see, look; rewrite Hl; reflexivity. Qed.

(** The next look is always ahead, so that nobody looks in vain without end; and at that look its time
    is up, if it has held up the others until then. *)
Theorem next_look_is_ahead_and_the_last most w now next :
  reached (Some most) w -> last (see w true now) = LookAgain next -> next < U64.max ->
  now < next /\ last (see (see w true now) true next) = TooSlow.
Proof.
  intros Hr H Hm; assert (Hr' := reached_seen _ w true now Hr).
  destruct (keeps_the_first _ _ Hr) as [Hl Hs].
  unfold see, look in H; rewrite Hl in H; rewrite (Hs ltac:(discriminate)) in H.
  set (began := match first w with Some before => before | None => now end) in *.
  destruct (U64.leb (U64.sat_add began most) now) eqn:Hn; [discriminate|].
  cbn in H; injection H as H; split; [u64|].
  assert (Hfirst : first (see w true now) = Some began).
  { unfold see; destruct (look (kept w) true now); reflexivity. }
  pose proof (too_slow_iff_its_time_is_up most (see w true now) next Hr') as Hi; cbn zeta in Hi.
  rewrite Hfirst in Hi; apply Hi; u64.
Qed.

(** One whose time is up frees the hub at once, and keeps what its buffer holds and what it has asked
    for: it holds nobody up any more. *)
Theorem too_slow_frees_the_hub h s size :
  Hub.is_held_up_by h (fst (Hub.finish s Overflow.Overflowed)) size = false
  /\ Hub.holds_up (fst (Hub.finish s Overflow.Overflowed)) size = false
  /\ Overflow.held (Hub.buffer (fst (Hub.finish s Overflow.Overflowed))) = Overflow.held (Hub.buffer s).
Proof.
  destruct (HubSubscriber.ends_once s Overflow.Overflowed) as (Hd & _ & _ & Hh & _).
  assert (Hu : Hub.holds_up (fst (Hub.finish s Overflow.Overflowed)) size = false).
  { destruct (Hub.holds_up _ size) eqn:He; [|trivial].
    apply Law.Hub.only_waiting_holds_up in He; destruct He as (_ & He & _); congruence. }
  repeat split; trivial; unfold Hub.is_held_up_by; rewrite Hu, andb_false_r; reflexivity.
Qed.

(** And a subscriber uses up its time only while there is an element that everybody waits for. *)
Theorem held_up_iff_blocked h s size :
  Hub.is_held_up_by h s size = true <->
  Hub.holds_up s size = true /\ snd (Hub.share_next h true true) = Hub.Blocked.
Proof.
  unfold Hub.is_held_up_by, Hub.share_next; destruct (U64.eqb (Hub.queued h) 0), (Hub.holds_up s size);
    cbn; intuition discriminate.
Qed.
