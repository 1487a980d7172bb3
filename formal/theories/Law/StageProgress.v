(** A stage with demand below and a live source above never stands still. *)

From Coq Require Import NArith Bool List Lia ZifyBool ZifyN.
From Sluicegate Require Import Base.U64 Base.Lists Base.Tactics.
From Sluicegate Require Import Decide.Demand Law.Stages.
Import ListNotations.

Open Scope N_scope.
Set Default Timeout 30.

(** What a running stage becomes when an input it has asked for arrives, when one leaves without an
    output, and when an output leaves. *)
Lemma arrive_running s :
  sound s -> phase s = Running -> 1 <= asked s ->
  exists s', arrive s = (s', Accepted) /\ sound s' /\ phase s' = Running
    /\ kind s' = kind s /\ capacity s' = capacity s /\ mark s' = mark s
    /\ owed s' = owed s /\ asked s' = asked s - 1 /\ held s' = held s + 1.
Proof.
  intros [S1 S2 S3 S4 S5 S6 S7 S8] Hp Ha; unfold arrive; rewrite Hp.
  destruct (U64.eqb (asked s) 0) eqn:Hz; [u64|].
  assert (H1 : sat_sub (asked s) 1 = asked s - 1) by reflexivity.
  assert (H2 : sat_add (held s) 1 = held s + 1) by (apply sat_add_exact; unfold fits in *; lia).
  eexists; split; [reflexivity|]; cbn; rewrite H1, H2; repeat split; cbn; trivial; try discriminate;
    try lia; try tauto.
  intros _; specialize (S8 Hp); rewrite missing_eq in S8 by (lia || tauto).
  rewrite missing_eq; cbn; [|lia|tauto].
  replace (target _) with (target s) by (unfold target; reflexivity); lia.
Qed.

Lemma discard_running s :
  sound s -> phase s = Running -> 1 <= held s ->
  sound (fst (discard s)) /\ phase (fst (discard s)) = Running
  /\ kind (fst (discard s)) = kind s /\ capacity (fst (discard s)) = capacity s
  /\ owed (fst (discard s)) = owed s /\ held (fst (discard s)) = held s - 1.
Proof.
  intros [S1 S2 S3 S4 S5 S6 S7 S8] Hp Hh; unfold discard; destruct (U64.eqb (held s) 0) eqn:Hz; [u64|].
  destruct (replenish _) as [s' n] eqn:Hr; cbn [fst].
  apply replenish_sound in Hr; cbn; trivial; try (rewrite Hp; discriminate);
    [|unfold sat_sub; lia].
  cbn in Hr; unfold sat_sub in Hr; rewrite Hp in Hr; tauto.
Qed.

Lemma emit_running s k :
  sound s -> phase s = Running -> 1 <= owed s -> k <= held s ->
  exists s' n, emit s k = (s', Emitted n) /\ sound s' /\ phase s' = Running /\ kind s' = kind s
    /\ capacity s' = capacity s /\ mark s' = mark s /\ owed s' = owed s - 1
    /\ held s' = held s - k /\ asked s' = asked s + n
    /\ (0 < n -> mark s <= n /\ held s' + asked s' = target s').
Proof.
  intros [S1 S2 S3 S4 S5 S6 S7 S8] Hp Ho Hk; unfold emit; rewrite Hp.
  destruct (U64.eqb (owed s) 0) eqn:Hz; [u64|].
  destruct (U64.ltb (held s) k) eqn:Hl; [u64|].
  destruct (replenish _) as [s' n] eqn:Hr; exists s', n; split; [reflexivity|].
  apply replenish_sound in Hr; cbn; trivial; try discriminate; [|unfold sat_sub; lia|u64].
  cbn in Hr; unfold sat_sub in Hr; intuition.
Qed.

(** A running stage that owes something has something to work on or awaits something from above. *)
Lemma works_or_awaits s :
  sound s -> phase s = Running -> 1 <= owed s ->
  match kind s with
  | Whole => held s = capacity s \/ 1 <= asked s
  | _ => 1 <= held s \/ 1 <= asked s
  end.
Proof.
  intros [S1 S2 S3 S4 S5 S6 S7 S8] Hp Ho; specialize (S8 Hp).
  rewrite missing_eq in S8 by tauto; unfold target in S8.
  destruct (kind s); try specialize (S3 ltac:(discriminate)); try u64.
  destruct (U64.eqb (owed s) 0) eqn:Hz; u64.
Qed.

(** No stall: in every state that can be reached, a running stage that owes something below has
    something to work on (a whole lot where it works on lots), or its upstream owes it something. *)
Theorem never_stalls m :
  reached m -> phase (decided m) = Running -> 1 <= owed (decided m) ->
  match kind (decided m) with
  | Whole => size (buf m) = capacity (decided m) \/ 1 <= may_send m
  | _ => buf m <> [] \/ 1 <= may_send m
  end.
Proof.
  intros Hr Hp Ho; destruct (reached_holds m Hr) as [Hs Hh _ _ Ha _ _ _ _ _].
  pose proof (works_or_awaits _ Hs Hp Ho) as H.
  rewrite Ha, Hh in H by (rewrite Hp; discriminate).
  assert (Hb : 1 <= size (buf m) -> buf m <> [])
    by (destruct (buf m); [rewrite size_nil; lia|discriminate]).
  destruct (kind (decided m)); destruct H; auto.
Qed.

(** Where each output takes one input, an output follows at once, or after one arrival. *)
Theorem emission_follows m :
  reached m -> phase (decided m) = Running -> 1 <= owed (decided m) -> kind (decided m) <> Whole ->
  (exists s n, emit (decided m) 1 = (s, Emitted n))
  \/ (exists s0 s n, arrive (decided m) = (s0, Accepted) /\ emit s0 1 = (s, Emitted n)).
Proof.
  intros Hr Hp Ho Hk; destruct (reached_holds m Hr) as [Hs _ _ _ _ _ _ _ _ _].
  assert (H : 1 <= held (decided m) \/ 1 <= asked (decided m)).
  { pose proof (works_or_awaits _ Hs Hp Ho) as H; destruct (kind (decided m)); auto.
    now destruct Hk. }
  destruct H as [H|H].
  - left; destruct (emit_running _ 1 Hs Hp Ho H) as (s & n & He & _); eauto.
  - right; destruct (arrive_running _ Hs Hp H) as (s0 & Ha & Hs0 & Hp0 & _ & _ & _ & Ho0 & _ & Hh0).
    destruct (emit_running s0 1 Hs0 Hp0) as (s & n & He & _); [lia|lia|].
    exists s0, s, n; auto.
Qed.

(** So many arrivals one after the other, if all are accepted. *)
Fixpoint arrivals (n : nat) (s : stage) : option stage :=
  match n with
  | O => Some s
  | S n =>
    match arrive s with
    | (s', Accepted) => arrivals n s'
    | _ => None
    end
  end.

(** Where a whole lot makes an output, it follows once the rest of the lot has arrived, and the rest
    of the lot has been asked for. *)
Theorem lot_is_emitted m :
  reached m -> phase (decided m) = Running -> 1 <= owed (decided m) -> kind (decided m) = Whole ->
  exists s0 s n,
    arrivals (N.to_nat (capacity (decided m) - held (decided m))) (decided m) = Some s0
    /\ emit s0 (capacity (decided m)) = (s, Emitted n).
Proof.
  intros Hr Hp Ho Hk; destruct (reached_holds m Hr) as [Hs _ _ _ _ _ _ _ _ _].
  remember (decided m) as s eqn:Hd; clear m Hr Hd.
  remember (N.to_nat (capacity s - held s)) as k eqn:Hn.
  revert s Hs Hp Ho Hk Hn; induction k as [|k IH]; intros s Hs Hp Ho Hk Hn; cbn.
  - pose proof (s_bound _ Hs); exists s.
    destruct (emit_running s (capacity s) Hs Hp Ho) as (s' & n & He & _); [lia|eauto].
  - assert (Ha : 1 <= asked s)
      by (pose proof (works_or_awaits s Hs Hp Ho) as H; rewrite Hk in H; lia).
    destruct (arrive_running s Hs Hp Ha) as (s' & He & Hs' & Hp' & Hk' & Hc' & _ & Ho' & _ & Hh').
    rewrite He, <- Hc'; apply IH; trivial; [lia|congruence|rewrite Hc', Hh'; lia].
Qed.

(** An expanding stage emits as often as it was asked, from the one input in its hand. *)
Theorem expansion_goes_on m :
  reached m -> phase (decided m) = Running -> 1 <= owed (decided m) ->
  kind (decided m) = Whole -> capacity (decided m) = 1 -> buf m <> [] ->
  exists s, emit (decided m) 0 = (s, Emitted 0) /\ held s = 1 /\ asked s = 0.
Proof.
  intros Hr Hp Ho Hk Hc Hb; destruct (reached_holds m Hr) as [Hs Hh _ _ _ _ _ _ _ _].
  assert (Hone : held (decided m) = 1).
  { pose proof (s_bound _ Hs); destruct (buf m); [now destruct Hb|rewrite size_cons in Hh; lia]. }
  destruct (emit_running _ 0 Hs Hp Ho) as (s & n & He & H1 & H2 & H3 & H4 & H5 & H6 & H7 & H8 & H9);
    [lia|].
  pose proof (s_bound _ H1); assert (n = 0) by lia; subst n; exists s; split; [trivial|lia].
Qed.

(** What becomes of a filter that is handed one value after the other until one passes. *)
Inductive outcome :=
| Passed (x : N)
| Stalled
| NoMoreInputs.

Fixpoint filter_until (passes : N -> bool) (s : stage) (l : list N) : outcome :=
  match l with
  | [] => NoMoreInputs
  | x :: rest =>
    match arrive s with
    | (s, Accepted) =>
      if passes x then
        match emit s 1 with
        | (_, Emitted _) => Passed x
        | _ => Stalled
        end
      else filter_until passes (fst (discard s)) rest
    | _ => Stalled
    end
  end.

(** HZ-S01: a filter never starves. However many values it drops first, each has been replaced by a
    request for another, so the first that passes is emitted. *)
Theorem filter_never_starves m passes dropped x :
  reached m -> phase (decided m) = Running -> kind (decided m) = Each ->
  1 <= owed (decided m) -> buf m = [] ->
  Forall (fun y => passes y = false) dropped -> passes x = true ->
  filter_until passes (decided m) (dropped ++ [x]) = Passed x.
Proof.
  intros Hr Hp Hk Ho Hb Hd Hx; destruct (reached_holds m Hr) as [Hs Hh _ _ _ _ _ _ _ _].
  rewrite Hb, size_nil in Hh; remember (decided m) as s eqn:E; clear m Hr Hb E.
  revert s Hs Hp Hk Ho Hh; induction dropped as [|y l IH]; intros s Hs Hp Hk Ho Hh; cbn.
  all: assert (Ha : 1 <= asked s)
    by (pose proof (works_or_awaits s Hs Hp Ho) as H; rewrite Hk in H; lia).
  all: destruct (arrive_running s Hs Hp Ha) as (s' & He & Hs' & Hp' & Hk' & Hc' & _ & Ho' & _ & Hh').
  all: rewrite He.
  - rewrite Hx; destruct (emit_running s' 1 Hs' Hp') as (s2 & n & He2 & _); [lia|lia|].
    rewrite He2; trivial.
  - inversion Hd as [|? ? Hy Hl]; subst; rewrite Hy.
    destruct (discard_running s' Hs' Hp') as (D1 & D2 & D3 & D4 & D5 & D6); [lia|].
    apply IH; trivial; [congruence|lia|lia].
Qed.

(** A buffer asks at its mark and only there: an emission asks for nothing, or for exactly the mark,
    and then the buffer holds or awaits just its size. With 64 and 48, at the moment it asks it
    still holds or awaits 16. *)
Theorem asks_exactly_at_the_mark m s n :
  reached m -> phase (decided m) = Running -> kind (decided m) = Ahead ->
  emit (decided m) 1 = (s, Emitted n) ->
  (n = 0 /\ missing s = missing (decided m) + 1 /\ missing s < mark s)
  \/ (n = mark (decided m) /\ held s + asked s = capacity s
      /\ held (decided m) + asked (decided m) - 1 = capacity s - mark s).
Proof.
  intros Hr Hp Hk He; destruct (reached_holds m Hr) as [Hs _ _ _ _ _ _ _ _ _].
  assert (Hw : 1 <= owed (decided m) /\ 1 <= held (decided m)).
  { unfold emit in He; rewrite Hp in He; destruct (U64.eqb (owed (decided m)) 0) eqn:Hz;
      [discriminate|]; destruct (U64.ltb (held (decided m)) 1) eqn:Hl; [discriminate|]; u64. }
  destruct (emit_running _ 1 Hs Hp) as (s' & n' & He' & H1 & H2 & H3 & H4 & H5 & H6 & H7 & H8 & H9);
    [tauto|tauto|].
  rewrite He in He'; injection He' as <- <-.
  pose proof (s_met _ Hs Hp) as M1; pose proof (s_met _ H1 H2) as M2.
  pose proof (s_bound _ Hs); pose proof (s_bound _ H1); pose proof (s_room _ Hs); pose proof (s_mark _ Hs).
  assert (E1 : missing (decided m) = target (decided m) - (held (decided m) + asked (decided m)))
    by (apply missing_eq; tauto).
  assert (E2 : missing s = target s - (held s + asked s))
    by (apply missing_eq; [trivial|rewrite H4; tauto]).
  rewrite E1 in *; rewrite E2 in *; clear E1 E2.
  unfold target in *; rewrite H3, Hk in *.
  destruct (N.eq_dec n 0) as [->|Hn]; [left; lia|right; destruct H9; lia].
Qed.

(** HZ-S07: what a stage that emits so many in its life passes on, never adds up to more; it passes
    on all of a request while it can. *)
Theorem limited_never_asks_for_more left n :
  fst (limited left n) + snd (limited left n) = left
  /\ fst (limited left n) <= n
  /\ (fst (limited left n) = n \/ snd (limited left n) = 0).
Proof. unfold limited; cbn; u64. Qed.
