(** The four invariants of a stage, for every shape and every state that can be reached, and what
    goes wrong without them. *)

From Coq Require Import NArith Bool List Lia ZifyBool ZifyN.
From Sluicegate Require Import Base.U64 Base.Lists Base.Tactics.
From Sluicegate Require Import Decide.Demand Law.Stages.
Import ListNotations.

Open Scope N_scope.
Set Default Timeout 30.

(** First: never more is emitted than was asked for below, however much that was; and as long as the
    sum fits, not one request is forgotten. *)
Theorem never_emits_unasked m :
  reached m ->
  emitted m <= wanted m
  /\ (fits (wanted m) -> phase (decided m) <> Over ->
      owed (decided m) = wanted m - emitted m).
Proof.
  intros Hr; destruct (reached_holds m Hr) as [_ _ Hb Hx _ _ _ _ _ _].
  split; [lia|]; intros Hf Hp; specialize (Hx Hf Hp); lia.
Qed.

(** An emission needs demand and takes exactly one of it. *)
Theorem emission_takes_one m k s n :
  reached m -> emit (decided m) k = (s, Emitted n) ->
  1 <= owed (decided m) /\ owed s = owed (decided m) - 1
  /\ k <= held (decided m) /\ held s = held (decided m) - k.
Proof.
  intros Hr H; destruct (reached_holds m Hr) as [[S1 S2 S3 S4 S5 S6 S7 S8] _ _ _ _ _ _ _ _ _].
  unfold emit in H; destruct (is_over (decided m)) as [Ho|Hl]; [rewrite Ho in H; discriminate|].
  rewrite (live_match _ _ _ _ Hl) in H.
  destruct (U64.eqb (owed (decided m)) 0) eqn:Hz; [discriminate|].
  destruct (U64.ltb (held (decided m)) k) eqn:Hk; [discriminate|].
  destruct (replenish _) as [s' a] eqn:Hrep; injection H as -> ->.
  apply replenish_sound in Hrep; cbn; trivial; try (u64_unfold; lia);
    try (now intros Hp; destruct Hl);
    try (intros Hp; destruct (S6 Hp); u64).
  cbn in Hrep; destruct Hrep as (_ & _ & R3 & R4 & _); rewrite R3, R4; u64.
Qed.

(** Second: what is held and what is on its way never exceed the stage's room, so all of it may
    arrive at once; and an upstream that sends at most what it was asked is never refused. *)
Theorem never_asks_more_than_it_holds m :
  reached m ->
  held (decided m) + asked (decided m) <= capacity (decided m)
  /\ size (buf m) <= capacity (decided m)
  /\ (phase (decided m) <> Over -> size (buf m) + may_send m <= capacity (decided m)).
Proof.
  intros Hr; destruct (reached_holds m Hr) as [[S1 S2 S3 S4 S5 S6 S7 S8] Hh _ _ Ha _ _ _ _ _].
  split; [trivial|split; [lia|]]; intros Hp; rewrite <- (Ha Hp); lia.
Qed.

Theorem lawful_upstream_is_never_refused m x :
  reached m -> 0 < may_send m -> exists m', step m (Arrive x) = Some m'.
Proof.
  intros Hr Hm; destruct (reached_holds m Hr) as [_ _ _ _ Ha _ _ _ _ _].
  cbn; destruct (may_send m =? 0) eqn:Hz; [lia|]; unfold arrive.
  destruct (is_over (decided m)) as [Ho|Hl]; [rewrite Ho; eauto|].
  rewrite (live_match _ _ _ _ Hl); rewrite (Ha Hl); unfold U64.eqb; rewrite Hz; eauto.
Qed.

(** Third: a value that was consumed without being emitted never reduces the upstream count
    silently. What was asked for above has arrived or is still awaited, what arrived is held or has
    left; and a running stage holds or awaits all that its demand calls for, short of its mark. *)
Theorem nothing_reduces_upstream_silently m :
  reached m -> phase (decided m) = Running ->
  sought m = asked (decided m) + size (buf m) + size (gone m)
  /\ target (decided m) < held (decided m) + asked (decided m) + mark (decided m)
  /\ (kind (decided m) <> Ahead ->
      target (decided m) <= held (decided m) + asked (decided m)).
Proof.
  intros Hr Hp; destruct (reached_holds m Hr) as [[S1 S2 S3 S4 S5 S6 S7 S8] Hh _ _ Ha Ht Hl _ _ _].
  specialize (S8 Hp); rewrite missing_eq in S8 by tauto.
  split; [rewrite Ht by auto; rewrite Ha by (rewrite Hp; discriminate); lia|].
  split; [lia|]; intros Hk; rewrite (S3 Hk) in S8; lia.
Qed.

(** Fourth: what is asked for replaces what has left. In all, never more than the room and what has
    left; and a stage with a buffer has asked for all but what has left since it asked last. *)
Theorem replenished_from_what_left m :
  reached m ->
  sought m <= capacity (decided m) + size (gone m)
  /\ (phase (decided m) = Running -> kind (decided m) = Ahead ->
      missing (decided m) = capacity (decided m) + size (gone m) - sought m
      /\ missing (decided m) < mark (decided m)).
Proof.
  intros Hr; destruct (reached_holds m Hr) as [[S1 S2 S3 S4 S5 S6 S7 S8] Hh _ _ Ha Ht Hl _ Hm _].
  split; [trivial|]; intros Hp Hk; split; [|auto].
  rewrite missing_eq by tauto; unfold target; rewrite Hk.
  rewrite Ht by auto; rewrite Ha in * by (rewrite Hp; discriminate); lia.
Qed.

(** An arrival makes no request: what was asked for above changes by nothing. *)
Theorem arrival_asks_nothing m x m' :
  reached m -> step m (Arrive x) = Some m' -> sought m' = sought m.
Proof.
  intros _ H; cbn in H; destruct (may_send m =? 0); [discriminate|].
  destruct (arrive (decided m)) as [s []]; try discriminate; injection H as <-; reflexivity.
Qed.

(** A stage that asks an input per output: what it holds and awaits is just what it owes, up to its
    room. With room for ten, a request for ten is a request for ten; a dropped value is replaced. *)
Theorem each_asks_what_it_owes m :
  reached m -> phase (decided m) = Running -> kind (decided m) = Each ->
  N.min (owed (decided m)) (capacity (decided m))
  <= held (decided m) + asked (decided m)
  <= owed (decided m) + bare m.
Proof.
  intros Hr Hp Hk.
  destruct (nothing_reduces_upstream_silently m Hr Hp) as (_ & _ & H).
  destruct (reached_holds m Hr) as [_ _ _ _ _ _ _ _ _ He].
  specialize (H ltac:(rewrite Hk; discriminate)); unfold target in H; rewrite Hk in H.
  specialize (He ltac:(rewrite Hp; discriminate) Hk); u64.
Qed.

(** Whenever anything is asked for above, the stage then holds and awaits just what it wants. *)
Definition asks (s : stage) (s' : stage) (n : N) : Prop :=
  (exists k, request s k = (s', n)) \/ discard s = (s', n) \/ start s = (s', n)
  \/ (exists i, emit s i = (s', Emitted n)).

Lemma asking_meets_target m s n :
  reached m -> asks (decided m) s n -> 0 < n ->
  held s + asked s = target s /\ n <= target s /\ kind s = kind (decided m)
  /\ phase s = Running.
Proof.
  intros Hr H Hn; destruct (reached_holds m Hr) as [[S1 S2 S3 S4 S5 S6 S7 S8] _ _ _ _ _ _ _ _ _].
  assert (Hrep : forall s0, kind s0 = kind (decided m) -> capacity s0 = capacity (decided m) ->
      mark s0 = mark (decided m) -> held s0 + asked s0 <= capacity s0 -> fits (owed s0) ->
      (phase s0 = Idle -> held s0 = 0 /\ asked s0 = 0) -> phase s0 <> Over ->
      replenish s0 = (s, n) ->
      held s + asked s = target s /\ n <= target s /\ kind s = kind (decided m)
      /\ phase s = Running).
  { intros s0 K C M B O I P Hrp.
    assert (Hone : kind s0 <> Ahead -> mark s0 = 1) by (rewrite K, M; trivial).
    assert (Hov : phase s0 = Over -> held s0 = 0 /\ asked s0 = 0 /\ owed s0 = 0)
      by (intros Hov; now destruct P).
    assert (Hroom : 1 <= capacity s0 /\ fits (capacity s0)) by (rewrite C; trivial).
    assert (Hmark : 1 <= mark s0 <= capacity s0) by (rewrite C, M; trivial).
    destruct (replenish_sound s0 s n Hroom Hmark Hone B O I Hov Hrp)
      as (R1 & R2 & R3 & R4 & R5 & R6 & R7 & R8 & R9).
    destruct (R9 Hn) as (_ & Ht & Hp); rewrite R5, R6.
    split; [trivial|split; [lia|auto]]. }
  destruct H as [[k H]|[H|[H|[i H]]]].
  - unfold request in H; destruct (is_over (decided m)) as [Ho|Hl];
      [rewrite Ho in H; injection H as _ <-; lia|].
    rewrite (live_match _ _ _ _ Hl) in H; destruct (U64.eqb k 0); [injection H as _ <-; lia|].
    apply Hrep in H; cbn; trivial; apply sat_add_fits.
  - unfold discard in H; destruct (U64.eqb (held (decided m)) 0) eqn:Hz; [injection H as _ <-; lia|].
    apply Hrep in H; cbn; trivial; try u64; intros Hp; destruct (S7 Hp); u64.
  - unfold start in H; destruct (phase (decided m)) eqn:Hp; try (injection H as _ <-; lia).
    destruct (S6 eq_refl); apply Hrep in H; cbn; trivial; discriminate.
  - unfold emit in H; destruct (is_over (decided m)) as [Ho|Hl]; [rewrite Ho in H; discriminate|].
    rewrite (live_match _ _ _ _ Hl) in H.
    destruct (U64.eqb (owed (decided m)) 0), (U64.ltb (held (decided m)) i) eqn:Hi; try discriminate.
    destruct (replenish _) as [s' a] eqn:Hrp; injection H as -> ->.
    apply Hrep in Hrp; cbn; trivial; try u64; intros Hp; destruct (S6 Hp); u64.
Qed.

(** A stage that takes lots: while it holds or awaits anything it asks for no second lot, so an
    expanding stage never pulls the next input before the last one's outputs have left. *)
Theorem one_lot_at_a_time m s n :
  reached m -> kind (decided m) = Whole -> 0 < n -> asks (decided m) s n ->
  held s + asked s = capacity s /\ (capacity s = 1 -> held s = 0 /\ asked s = 1).
Proof.
  intros Hr Hk Hn H; assert (Ha := H).
  apply (asking_meets_target m) in H; trivial; destruct H as (H1 & H2 & H3 & H4).
  assert (Ht : target s = capacity s \/ target s = 0)
    by (unfold target; rewrite H3, Hk; destruct (U64.eqb (owed s) 0); auto).
  assert (Hasked : n <= asked s).
  { unfold asks, request, discard, start, emit in Ha.
    pose proof (target_le s); destruct (reached_holds m Hr) as [[S1 S2 S3 S4 S5 S6 S7 S8] _ _ _ _ _ _ _ _ _].
    assert (Hr0 : forall s0, fits (capacity s0) -> held s0 + asked s0 <= capacity s0 ->
              replenish s0 = (s, n) -> n <= asked s).
    { intros s0 F B Hrp; unfold replenish in Hrp; pose proof (target_le s0).
      destruct (phase s0); try (injection Hrp as <- <-; lia).
      destruct (U64.ltb (missing s0) (mark s0)); injection Hrp as <- <-; cbn; [lia|].
      rewrite missing_eq by trivial; unfold fits in F; u64. }
    destruct Ha as [[k Ha]|[Ha|[Ha|[i Ha]]]].
    - destruct (phase (decided m)), (U64.eqb k 0); try (injection Ha as _ <-; lia);
        apply Hr0 in Ha; cbn; tauto.
    - destruct (U64.eqb (held (decided m)) 0); [injection Ha as _ <-; lia|].
      apply Hr0 in Ha; cbn; [trivial|tauto|u64].
    - destruct (phase (decided m)); try (injection Ha as _ <-; lia); apply Hr0 in Ha; cbn; tauto.
    - destruct (phase (decided m)), (U64.eqb (owed (decided m)) 0),
        (U64.ltb (held (decided m)) i); try discriminate;
        destruct (replenish _) as [s' a] eqn:Hrp; injection Ha as -> ->;
        apply Hr0 in Hrp; cbn; try tauto; u64. }
  lia.
Qed.

(** Without a buffer, nothing is asked for above while nothing is owed below. *)
Theorem asks_only_what_is_wanted m s n :
  reached m -> kind (decided m) <> Ahead -> 0 < n -> asks (decided m) s n -> 1 <= owed s.
Proof.
  intros Hr Hk Hn H; apply (asking_meets_target m) in H; trivial; destruct H as (H1 & H2 & H3 & _).
  unfold target in H2; rewrite H3 in H2; destruct (kind (decided m)); [u64| |now destruct Hk].
  destruct (U64.eqb (owed s) 0) eqn:Hz; u64.
Qed.

(** Whoever closes a stage is told of every input that it still holds. *)
Theorem close_releases_all m : reached m -> snd (close (decided m)) = size (buf m).
Proof. intros Hr; destruct (reached_holds m Hr) as [_ Hh _ _ _ _ _ _ _ _]; exact Hh. Qed.

(** Inputs leave in the order they arrived in, and none is forgotten. *)
Theorem order_kept m : reached m -> rev (arrived m) = rev (gone m) ++ buf m.
Proof. intros Hr; destruct (reached_holds m Hr); trivial. Qed.

(** The upstream's end is told below when it has ended and nothing is held, never before. *)
Theorem end_never_overtakes m :
  reached m -> end_due (decided m) = true -> phase (decided m) = Draining /\ buf m = [].
Proof.
  intros Hr H; destruct (reached_holds m Hr) as [_ Hh _ _ _ _ _ _ _ _].
  unfold end_due in H; destruct (phase (decided m)); try discriminate; split; trivial.
  unfold U64.eqb in H; destruct (buf m); [trivial|rewrite size_cons in *; lia].
Qed.

(** And when it has ended, it will be told: an empty stage is due at once. *)
Theorem end_is_told m :
  reached m -> phase (decided m) = Draining -> buf m = [] -> end_due (decided m) = true.
Proof.
  intros Hr Hp Hb; destruct (reached_holds m Hr) as [_ Hh _ _ _ _ _ _ _ _].
  unfold end_due; rewrite Hp, Hh, Hb; reflexivity.
Qed.

(** After the end nothing moves: no emission, no request above, whatever is asked or arrives. *)
Theorem over_is_over m e m' :
  reached m -> phase (decided m) = Over -> step m e = Some m' ->
  phase (decided m') = Over /\ emitted m' = emitted m /\ sought m' = sought m /\ buf m' = []
  /\ wanted m' = wanted m.
Proof.
  intros Hr Hp H; destruct (reached_holds m Hr) as [[_ _ _ _ _ _ S7 _] Hh _ _ _ _ _ _ _ _].
  destruct (S7 Hp) as (V1 & V2 & V3).
  assert (Hb : buf m = []) by (destruct (buf m); [trivial|rewrite size_cons in *; lia]).
  destruct e; cbn in H; unfold start, request, arrive, emit, discard, finish in H;
    rewrite ?Hp, ?V1 in H; cbn in H; rewrite ?Hb in H;
    try (destruct (may_send m =? 0); [discriminate|]);
    injection H as <-; cbn; rewrite ?N.add_0_r; auto.
Qed.

(** What a request does to a running stage. *)
Lemma request_effect s n :
  sound s -> phase s = Running -> n <> 0 -> fits (owed s + n) ->
  sound (fst (request s n)) /\ phase (fst (request s n)) = Running
  /\ kind (fst (request s n)) = kind s /\ capacity (fst (request s n)) = capacity s
  /\ held (fst (request s n)) = held s /\ owed (fst (request s n)) = owed s + n
  /\ asked (fst (request s n)) =
     match kind s with
     | Each => N.max (asked s) (N.min (owed s + n) (capacity s) - held s)
     | Whole => N.max (asked s) (capacity s - held s)
     | Ahead => asked s
     end.
Proof.
  intros [S1 S2 S3 S4 S5 S6 S7 S8] Hp Hn Hf.
  assert (Ho : sat_add (owed s) n = owed s + n) by (apply sat_add_exact; trivial).
  unfold request; rewrite Hp; destruct (U64.eqb n 0) eqn:Hz; [u64|rewrite Ho].
  specialize (S8 Hp); rewrite missing_eq in S8 by tauto.
  set (s0 := Stage (kind s) Running (capacity s) (mark s) (owed s + n) (asked s) (held s)).
  destruct (replenish s0) as [s' k] eqn:Hr; cbn [fst].
  assert (Hrs := Hr); apply replenish_sound in Hrs; cbn; trivial; try discriminate.
  cbn in Hrs; destruct Hrs as (R1 & R2 & R3 & R4 & R5 & R6 & R7 & R8 & R9).
  repeat (split; [trivial|]); rewrite R2.
  unfold replenish in Hr; cbn [phase s0] in Hr; pose proof (target_le s0).
  assert (Hm : missing s0 = target s0 - (held s + asked s)) by (exact (missing_eq s0 S4 (proj2 S1))).
  rewrite Hm in Hr; unfold target in *; cbn in Hr, H; rewrite Hp in *; cbn in *.
  destruct (kind s) eqn:Hk; [specialize (S3 ltac:(discriminate)); rewrite S3 in Hr
    |specialize (S3 ltac:(discriminate)); rewrite S3 in Hr|].
  - destruct (U64.ltb _ 1) eqn:Hl in Hr; injection Hr as _ <-; u64.
  - destruct (U64.eqb (owed s + n) 0) eqn:He; [u64|].
    destruct (U64.ltb _ 1) eqn:Hl in Hr; injection Hr as _ <-; u64.
  - destruct (U64.ltb _ (mark s)) eqn:Hl in Hr; injection Hr as _ <-; u64.
Qed.

(** Requests add up: after two, the stage owes and awaits what it would after one for their sum. And
    a request for 0 is ignored. *)
Theorem requests_add_up m a b :
  reached m -> phase (decided m) = Running -> fits (owed (decided m) + a + b) ->
  owed (fst (request (fst (request (decided m) a)) b)) = owed (fst (request (decided m) (a + b)))
  /\ asked (fst (request (fst (request (decided m) a)) b))
     = asked (fst (request (decided m) (a + b)))
  /\ request (decided m) 0 = (decided m, 0).
Proof.
  intros Hr Hp Hf; destruct (reached_holds m Hr) as [Hs _ _ _ _ _ _ _ _ _].
  assert (Hz : forall s, phase s = Running -> request s 0 = (s, 0))
    by (intros s Hs1; unfold request; rewrite Hs1; reflexivity).
  destruct (N.eq_dec a 0) as [->|Ha]; [rewrite (Hz _ Hp); cbn [fst]; rewrite N.add_0_l; auto|].
  destruct (request_effect (decided m) a Hs Hp Ha) as (A1 & A2 & A3 & A4 & A5 & A6 & A7);
    [unfold fits in *; lia|].
  destruct (N.eq_dec b 0) as [->|Hb]; [rewrite (Hz _ A2), N.add_0_r; auto|].
  destruct (request_effect _ b A1 A2 Hb) as (B1 & B2 & B3 & B4 & B5 & B6 & B7);
    [unfold fits in *; lia|].
  destruct (request_effect (decided m) (a + b) Hs Hp) as (C1 & C2 & C3 & C4 & C5 & C6 & C7);
    [lia|unfold fits in *; lia|].
  split; [lia|split; [|auto]].
  rewrite B7, C7, A3, A4, A5, A6, A7; destruct (kind (decided m)); lia.
Qed.

(** * What breaks without them *)

(** A filter that asks for nothing in place of what it drops. *)
Definition discard_silently (s : stage) : stage :=
  Stage (kind s) (phase s) (capacity s) (mark s) (owed s) (asked s) (held s - 1).

(** It stalls: asked for one, handed a value that does not pass, it owes one below, holds nothing,
    awaits nothing and has nothing more to do. Ours asks for another. *)
Theorem a_filter_that_asks_no_replacement_stalls :
  match each 16 with
  | None => False
  | Some fresh =>
    let s := fst (arrive (fst (request (fst (start fresh)) 1))) in
    let stuck := discard_silently s in
    owed s = 1 /\ held s = 1
    /\ owed stuck = 1 /\ held stuck = 0 /\ asked stuck = 0
    /\ snd (emit stuck 1) = NotHeld /\ snd (arrive stuck) = Unasked
    /\ snd (discard s) = 1 /\ asked (fst (discard s)) = 1
  end.
Proof. vm_compute; repeat split. Qed.

(** A stage that keeps one counter for both sides: what is asked for below goes up as it is. *)
Definition conflated_request (s : stage) (n : N) : stage * N :=
  (Stage (kind s) (phase s) (capacity s) (mark s) (owed s + n) (asked s + n) (held s), n).

(** It is handed more than it can hold: with room for 64, a hundred single requests beside the first
    full buffer may arrive at once. *)
Theorem one_counter_for_both_overruns :
  match ahead 64 48 with
  | None => False
  | Some fresh =>
    let s := fst (conflated_request (fst (start fresh)) 100) in
    capacity s = 64 /\ held s + asked s = 164
  end.
Proof. vm_compute; repeat split. Qed.

(** A buffer that is filled up for what arrived, not for what left. *)
Definition arrive_and_ask (s : stage) : stage * N :=
  (Stage (kind s) (phase s) (capacity s) (mark s) (owed s) (asked s - 1 + 1) (held s + 1), 1).

(** It awaits a full buffer while it holds one: twice its room. *)
Theorem replenishing_from_arrivals_overruns :
  match ahead 64 48 with
  | None => False
  | Some fresh =>
    let s := N.iter 64 (fun s => fst (arrive_and_ask s)) (fst (start fresh)) in
    capacity s = 64 /\ held s + asked s = 128
  end.
Proof. vm_compute; repeat split. Qed.

(** A mark beyond the buffer is never reached. So no stage can be made with one. *)
Theorem a_mark_is_always_reachable room wish s :
  fits room -> ahead room wish = Some s -> 1 <= mark s <= capacity s.
Proof. intros Hf Hs; apply (fresh_ahead room wish), fresh_sound in Hs; trivial; apply Hs. Qed.

Theorem the_default_mark_is_three_quarters room :
  1 <= room -> 1 <= default_mark room <= room /\ 3 * room <= 4 * default_mark room <= 3 * room + 3.
Proof.
  intros Hr; pose proof (U64.half_spec room); pose proof (U64.half_spec (U64.half room)).
  unfold default_mark; u64.
Qed.

Theorem forty_eight_of_sixty_four : default_mark 64 = 48.
Proof. reflexivity. Qed.
