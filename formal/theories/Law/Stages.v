(** Laws of a stage, whatever its shape: a buffer round the decisions of [Decide.Demand], above it an
    upstream that sends at most what it was asked for, below it a downstream that asks at will. *)

From Coq Require Import NArith Bool List Lia ZifyBool ZifyN.
From Sluicegate Require Import Base.U64 Base.Lists Base.Tactics.
From Sluicegate Require Import Decide.Demand.
Import ListNotations.

Open Scope N_scope.
Set Default Timeout 30.

Arguments U64.sat_add : simpl never.
Arguments U64.sat_sub : simpl never.

(** A stage that is over takes nothing more; before that, what it did not ask for is refused and
    changes nothing, and all else is taken, and is then held and awaited no more. *)
Theorem unasked_is_refused (s : stage) :
  (phase s = Over -> arrive s = (s, Late))
  /\ (phase s <> Over -> asked s = 0 -> arrive s = (s, Unasked))
  /\ (phase s <> Over -> asked s <> 0 -> fits (held s + asked s) ->
      exists s', arrive s = (s', Accepted)
        /\ asked s' + 1 = asked s /\ held s' = held s + 1
        /\ kind s' = kind s /\ phase s' = phase s /\ capacity s' = capacity s
        /\ mark s' = mark s /\ owed s' = owed s).
Proof.
  unfold arrive; split; [intros ->; reflexivity|]; split.
  - intros Hp ->; destruct (phase s); trivial; now destruct Hp.
  - intros Hp Ha Hf; destruct (U64.eqb (asked s) 0) eqn:Hz; [u64|].
    destruct (phase s) eqn:Hs; [| | |now destruct Hp]; eexists; (split; [reflexivity|]);
      cbn; repeat split; trivial; u64.
Qed.

(** [buf] has the oldest first; [arrived] and [gone] the newest first. The counters below the lists
    are unbounded: what the downstream asked for in all, what was emitted, how many emissions took
    no input with them, what was asked for above in all, and what the upstream may still send. *)
Record machine := Machine {
  decided : stage;
  buf : list N;
  arrived : list N;
  gone : list N;
  wanted : N;
  emitted : N;
  bare : N;
  sought : N;
  may_send : N;
}.

Inductive event :=
| Start
| Request (n : N)
| Arrive (x : N)
| Emit (inputs : N)
| Discard
| Finish
| Close.

Definition ask (m : machine) (s : stage) (n : N) : machine :=
  Machine s (buf m) (arrived m) (gone m) (wanted m) (emitted m) (bare m) (sought m + n)
    (may_send m + n).

(** An upstream that was asked for nothing sends nothing: [None]. So does one that has ended. *)
Definition step (m : machine) (e : event) : option machine :=
  match e with
  | Start => let '(s, n) := start (decided m) in Some (ask m s n)
  | Request n =>
    let '(s, k) := request (decided m) n in
    Some (ask (Machine (decided m) (buf m) (arrived m) (gone m)
                 (match phase (decided m) with Over => wanted m | _ => wanted m + n end)
                 (emitted m) (bare m) (sought m) (may_send m)) s k)
  | Arrive x =>
    if may_send m =? 0 then None
    else
      let '(s, answer) := arrive (decided m) in
      match answer with
      | Accepted =>
        Some (Machine s (buf m ++ [x]) (x :: arrived m) (gone m) (wanted m) (emitted m) (bare m)
                (sought m) (may_send m - 1))
      | Unasked => None
      | Late =>
        Some (Machine s (buf m) (arrived m) (gone m) (wanted m) (emitted m) (bare m) (sought m)
                (may_send m - 1))
      end
  | Emit inputs =>
    let '(s, answer) := emit (decided m) inputs in
    match answer with
    | Emitted n =>
      let k := N.to_nat inputs in
      Some (ask (Machine (decided m) (skipn k (buf m)) (arrived m)
                   (rev (firstn k (buf m)) ++ gone m) (wanted m) (emitted m + 1)
                   (bare m + if inputs =? 0 then 1 else 0) (sought m) (may_send m)) s n)
    | NoDemand | NotHeld => Some m
    end
  | Discard =>
    let '(s, n) := discard (decided m) in
    match buf m with
    | [] => Some (ask m s n)
    | x :: rest =>
      Some (ask (Machine (decided m) rest (arrived m) (x :: gone m) (wanted m) (emitted m) (bare m)
                   (sought m) (may_send m)) s n)
    end
  | Finish =>
    match phase (decided m) with
    | Over => Some m
    | _ =>
      Some (Machine (finish (decided m)) (buf m) (arrived m) (gone m) (wanted m) (emitted m) (bare m)
              (sought m) 0)
    end
  | Close =>
    let '(s, n) := close (decided m) in
    Some (Machine s [] (arrived m) (rev (buf m) ++ gone m) (wanted m) (emitted m) (bare m)
            (sought m) (may_send m))
  end.

(** A fresh stage of any shape. *)
Inductive fresh : stage -> Prop :=
| fresh_each room s : fits room -> each room = Some s -> fresh s
| fresh_whole lot s : fits lot -> whole lot = Some s -> fresh s
| fresh_ahead room wish s : fits room -> ahead room wish = Some s -> fresh s.

Inductive reached : machine -> Prop :=
| reached_fresh s : fresh s -> reached (Machine s [] [] [] 0 0 0 0 0)
| reached_step m e m' : reached m -> step m e = Some m' -> reached m'.

(** What the decision's numbers say of each other. *)
Record sound (s : stage) : Prop := Sound {
  s_room : 1 <= capacity s /\ fits (capacity s);
  s_mark : 1 <= mark s <= capacity s;
  s_one : kind s <> Ahead -> mark s = 1;
  s_bound : held s + asked s <= capacity s;
  s_owed : fits (owed s);
  s_idle : phase s = Idle -> held s = 0 /\ asked s = 0;
  s_over : phase s = Over -> held s = 0 /\ asked s = 0 /\ owed s = 0;
  s_met : phase s = Running -> missing s < mark s;
}.

Lemma target_le s : target s <= capacity s.
Proof. unfold target; destruct (kind s); split_ifs; u64. Qed.

Lemma missing_eq s :
  held s + asked s <= capacity s -> fits (capacity s) ->
  missing s = target s - (held s + asked s).
Proof.
  intros Hb Hf; unfold missing; rewrite sat_add_exact by (unfold fits in *; lia); reflexivity.
Qed.

(** Whatever was changed before: asking for what is missing fits the room and meets the target. *)
Lemma replenish_sound s s' n :
  1 <= capacity s /\ fits (capacity s) -> 1 <= mark s <= capacity s ->
  (kind s <> Ahead -> mark s = 1) -> held s + asked s <= capacity s -> fits (owed s) ->
  (phase s = Idle -> held s = 0 /\ asked s = 0) ->
  (phase s = Over -> held s = 0 /\ asked s = 0 /\ owed s = 0) ->
  replenish s = (s', n) ->
  sound s'
  /\ asked s' = asked s + n /\ held s' = held s /\ owed s' = owed s /\ phase s' = phase s
  /\ kind s' = kind s /\ capacity s' = capacity s /\ mark s' = mark s
  /\ (0 < n -> mark s <= n /\ held s' + asked s' = target s' /\ phase s = Running).
Proof.
  intros Hr Hm H1 Hb Ho Hi Hov H; unfold replenish in H; pose proof (target_le s) as Ht.
  destruct (phase s) eqn:Hp; try (injection H as <- <-;
    (split; [constructor; rewrite ?Hp; trivial; try discriminate|]; repeat split; trivial; lia)).
  destruct (U64.ltb (missing s) (mark s)) eqn:Hl.
  - apply ltb_spec in Hl; injection H as <- <-.
    split; [constructor; rewrite ?Hp; trivial; try discriminate|repeat split; trivial; lia].
  - apply Bool.not_true_iff_false in Hl; rewrite ltb_spec in Hl; injection H as <- <-.
    assert (Hmiss := missing_eq s Hb (proj2 Hr)).
    assert (Hask : sat_add (asked s) (missing s) = asked s + missing s)
      by (apply sat_add_exact; unfold fits in *; lia).
    split.
    + constructor; cbn; trivial; rewrite ?Hask; try discriminate; try lia.
      intros _; rewrite missing_eq; cbn; [|lia|tauto].
      replace (target _) with (target s) by (unfold target; reflexivity); lia.
    + cbn; rewrite Hask; repeat split; trivial; try lia.
      replace (target _) with (target s) by (unfold target; reflexivity); lia.
Qed.

(** What holds at every moment. *)
Record holds (m : machine) : Prop := Holds {
  h_sound : sound (decided m);
  h_held : held (decided m) = size (buf m);
  h_below : emitted m + owed (decided m) <= wanted m;
  h_exact : fits (wanted m) -> phase (decided m) <> Over ->
            emitted m + owed (decided m) = wanted m;
  h_above : phase (decided m) <> Over -> asked (decided m) = may_send m;
  h_total : phase (decided m) = Idle \/ phase (decided m) = Running ->
            sought m = may_send m + size (arrived m);
  h_left : size (arrived m) = size (gone m) + size (buf m);
  h_order : rev (arrived m) = rev (gone m) ++ buf m;
  h_room : sought m <= capacity (decided m) + size (gone m);
  h_each : phase (decided m) <> Over -> kind (decided m) = Each ->
           held (decided m) + asked (decided m) <= owed (decided m) + bare m;
}.

Lemma fresh_sound s : fresh s -> sound s /\ held s = 0 /\ asked s = 0 /\ owed s = 0 /\ phase s = Idle.
Proof.
  assert (H : forall k c mk, fits c -> c <> 0 -> 1 <= mk <= c -> (k <> Ahead -> mk = 1) ->
            sound (Stage k Idle c mk 0 0 0)).
  { intros k c mk Hf Hc Hm Hk; constructor; cbn; auto; try discriminate; unfold fits in *; lia. }
  intros Hs; destruct Hs as [c s Hf Hs|c s Hf Hs|c w s Hf Hs]; unfold each, whole, ahead in Hs;
    (destruct (U64.eqb c 0) eqn:Hz; [discriminate|]);
    apply Bool.not_true_iff_false in Hz; rewrite eqb_spec in Hz; injection Hs as <-;
    (split; [apply H; trivial; try (intros Hk; now destruct Hk); u64|cbn; auto]).
Qed.

(** The same, for a stage that is not over and has yet to ask for what is missing. *)
Record nearly (m : machine) : Prop := Nearly {
  n_room : 1 <= capacity (decided m) /\ fits (capacity (decided m));
  n_mark : 1 <= mark (decided m) <= capacity (decided m);
  n_one : kind (decided m) <> Ahead -> mark (decided m) = 1;
  n_bound : held (decided m) + asked (decided m) <= capacity (decided m);
  n_owed : fits (owed (decided m));
  n_live : phase (decided m) <> Over;
  n_idle : phase (decided m) = Idle -> held (decided m) = 0 /\ asked (decided m) = 0;
  n_held : held (decided m) = size (buf m);
  n_below : emitted m + owed (decided m) <= wanted m;
  n_exact : fits (wanted m) -> emitted m + owed (decided m) = wanted m;
  n_above : asked (decided m) = may_send m;
  n_total : phase (decided m) = Idle \/ phase (decided m) = Running ->
            sought m = may_send m + size (arrived m);
  n_left : size (arrived m) = size (gone m) + size (buf m);
  n_order : rev (arrived m) = rev (gone m) ++ buf m;
  n_most : sought m <= capacity (decided m) + size (gone m);
  n_each : kind (decided m) = Each ->
           held (decided m) + asked (decided m) <= owed (decided m) + bare m;
}.

Lemma ask_holds m s n : nearly m -> replenish (decided m) = (s, n) -> holds (ask m s n).
Proof.
  intros [N1 N2 N3 N4 N5 N6 N7 N8 N9 N10 N11 N12 N13 N14 N15 N16] H.
  apply replenish_sound in H; trivial; [|now intros Hp; destruct N6].
  destruct H as (R1 & R2 & R3 & R4 & R5 & R6 & R7 & R8 & R9).
  assert (Hok : n = 0 \/ phase (decided m) = Running /\ held s + asked s = target s)
    by (destruct (N.eq_dec n 0); [auto|right; split; apply R9; lia]).
  destruct m as [d bf ar gn wt em br so ms]; unfold ask; cbn in *.
  constructor; cbn; rewrite ?R3, ?R4, ?R5, ?R7; trivial; try lia; auto.
  - destruct Hok as [->|[Hp _]]; [lia|].
    pose proof (s_bound _ R1); rewrite N12 by auto; lia.
  - intros _ Hk; rewrite R6 in Hk; specialize (N16 Hk).
    destruct Hok as [->|[_ Ht]]; [lia|].
    rewrite R3 in Ht; rewrite Ht; unfold target; rewrite R6, Hk, R4; u64.
Qed.

Lemma holds_nearly m : holds m -> phase (decided m) <> Over -> nearly m.
Proof.
  intros [[S1 S2 S3 S4 S5 S6 S7 S8] Hh Hb Hx Ha Ht Hl Ho Hr He] Hp; constructor; auto.
Qed.

(** A phase that is not over, met as a match. *)
Lemma live_match A (p : stage_phase) (a b : A) :
  p <> Over -> (match p with Over => a | _ => b end) = b.
Proof. destruct p; trivial; intros H; now destruct H. Qed.

Definition is_over (s : stage) : {phase s = Over} + {phase s <> Over}.
Proof. destruct (phase s); auto; right; discriminate. Defined.

Lemma step_holds m e m' : holds m -> step m e = Some m' -> holds m'.
Proof.
  intros Hm H; assert (Hn := holds_nearly m Hm).
  destruct (is_over (decided m)) as [Hov|Hlive].
  { (* over: nothing changes but what a late element and a second close do *)
    clear Hn; destruct Hm as [Hs Hh Hb Hx Ha Ht Hl Ho Hr He].
    assert (Hs' := Hs); destruct Hs' as [S1 S2 S3 S4 S5 S6 S7 S8]; destruct (S7 Hov) as (V1 & V2 & V3).
    destruct m as [s bf ar gn wt em br so ms]; cbn in *.
    assert (Hbf : bf = []) by (destruct bf; [trivial|rewrite size_cons in *; lia]); subst bf.
    destruct e as [|n|x|k| | |]; cbn in H;
      unfold start, request, arrive, emit, discard, finish in H; rewrite ?Hov in H;
      rewrite ?V1 in H; cbn in H; unfold ask in H; cbn in H; rewrite ?N.add_0_r in H.
    1, 2, 4, 5, 6: injection H as <-; constructor; cbn; trivial.
    - destruct (ms =? 0); [discriminate|]; injection H as <-; constructor; cbn; trivial;
        try (intros; now destruct (H Hov)); rewrite Hov; intros [?|?]; discriminate.
    - injection H as <-; constructor; cbn; rewrite ?size_nil; trivial; try lia;
        try (intros; now match goal with H : Over <> Over |- _ => destruct H end);
        try (intros [?|?]; discriminate).
      constructor; cbn; trivial; try discriminate; try lia; unfold fits in *; auto; lia. }
  specialize (Hn Hlive).
  assert (Hn' := Hn); destruct Hn' as [N1 N2 N3 N4 N5 N6 N7 N8 N9 N10 N11 N12 N13 N14 N15 N16].
  destruct e as [|n|x|k| | |]; cbn [step] in H.
  - (* start *)
    unfold start in H; destruct (phase (decided m)) eqn:Hp;
      try (injection H as <-; destruct m; unfold ask; cbn in *; rewrite !N.add_0_r; trivial; fail).
    destruct (N7 eq_refl) as [Z1 Z2].
    destruct (replenish _) as [s' n] eqn:Hrep; injection H as <-.
    change (ask m s' n) with (ask (Machine (Stage (kind (decided m)) Running (capacity (decided m))
      (mark (decided m)) (owed (decided m)) (asked (decided m)) (held (decided m))) (buf m)
      (arrived m) (gone m) (wanted m) (emitted m) (bare m) (sought m) (may_send m)) s' n).
    apply ask_holds; [|trivial]; constructor; cbn; trivial; try discriminate; auto.
  - (* request *)
    unfold request in H; rewrite (live_match _ _ _ _ Hlive) in H.
    destruct (U64.eqb n 0) eqn:Hz.
    + apply eqb_spec in Hz; subst n; rewrite (live_match _ _ _ _ Hlive) in H; injection H as <-.
      destruct m; unfold ask; cbn in *; rewrite !N.add_0_r; trivial.
    + destruct (replenish _) as [s' k] eqn:Hrep; rewrite (live_match _ _ _ _ Hlive) in H.
      injection H as <-.
      change (ask _ s' k) with (ask (Machine (Stage (kind (decided m)) (phase (decided m))
        (capacity (decided m)) (mark (decided m)) (sat_add (owed (decided m)) n)
        (asked (decided m)) (held (decided m))) (buf m)
        (arrived m) (gone m) (wanted m + n) (emitted m) (bare m) (sought m) (may_send m)) s' k).
      apply ask_holds; [|trivial]; constructor; cbn; trivial; try lia; auto.
      * apply sat_add_fits.
      * u64.
      * intros Hf; rewrite sat_add_exact; [rewrite <- N10; [lia|]|]; unfold fits in *; try lia.
      * intros Hk; specialize (N16 Hk); u64.
  - (* arrive *)
    destruct (may_send m =? 0) eqn:Hms; [discriminate|]; unfold arrive in H.
    rewrite (live_match _ _ _ _ Hlive), N11 in H; unfold U64.eqb in H; rewrite Hms in H.
    injection H as <-; destruct Hm as [[S1 S2 S3 S4 S5 S6 S7 S8] _ _ _ _ _ _ _ _ _].
    assert (H1 : sat_sub (may_send m) 1 = may_send m - 1) by reflexivity.
    assert (H2 : sat_add (held (decided m)) 1 = held (decided m) + 1)
      by (apply sat_add_exact; unfold fits in *; lia).
    constructor; cbn; rewrite ?size_app, ?size_cons, ?size_nil, ?H1, ?H2; trivial; try lia; auto.
    + constructor; cbn; rewrite ?H1, ?H2; trivial; try lia.
      intros Hp; specialize (S8 Hp).
      rewrite missing_eq in S8 by (lia || tauto).
      rewrite missing_eq; cbn; rewrite ?H1, ?H2; try lia; try tauto.
      unfold target in *; cbn; lia.
    + rewrite N14, app_assoc; reflexivity.
  - (* emit *)
    unfold emit in H; rewrite (live_match _ _ _ _ Hlive) in H.
    destruct (U64.eqb (owed (decided m)) 0) eqn:Hz; [injection H as <-; trivial|].
    apply Bool.not_true_iff_false in Hz; rewrite eqb_spec in Hz.
    destruct (U64.ltb (held (decided m)) k) eqn:Hk; [injection H as <-; trivial|].
    apply Bool.not_true_iff_false in Hk; rewrite ltb_spec in Hk.
    destruct (replenish _) as [s' n] eqn:Hrep; injection H as <-.
    set (l := skipn (N.to_nat k) (buf m)) in *; set (f := firstn (N.to_nat k) (buf m)) in *.
    assert (Hcut : buf m = f ++ l) by (symmetry; apply firstn_skipn).
    assert (Hf : size f = k).
    { unfold f, size; rewrite firstn_length; rewrite N8 in Hk; unfold size in Hk; lia. }
    assert (Hsz : size (buf m) = k + size l) by (rewrite Hcut, size_app; lia).
    change (ask _ s' n) with (ask (Machine (Stage (kind (decided m)) (phase (decided m))
      (capacity (decided m)) (mark (decided m)) (sat_sub (owed (decided m)) 1)
      (asked (decided m)) (sat_sub (held (decided m)) k)) l (arrived m) (rev f ++ gone m)
      (wanted m) (emitted m + 1) (bare m + if k =? 0 then 1 else 0) (sought m) (may_send m)) s' n).
    apply ask_holds; [|trivial]; unfold sat_sub in *.
    constructor; cbn; rewrite ?size_app, ?size_rev; trivial; try lia; auto.
    + unfold fits in *; lia.
    + rewrite rev_app_distr, rev_involutive, <- app_assoc, <- Hcut; trivial.
    + intros Hkd; specialize (N16 Hkd); destruct (N.eqb_spec k 0); lia.
  - (* discard *)
    unfold discard in H; destruct (U64.eqb (held (decided m)) 0) eqn:Hz.
    + apply eqb_spec in Hz.
      destruct (buf m) eqn:Hbf; [|rewrite N8, size_cons in Hz; lia]; injection H as <-.
      destruct m; unfold ask; cbn in *; rewrite !N.add_0_r; subst; trivial.
    + apply Bool.not_true_iff_false in Hz; rewrite eqb_spec in Hz.
      destruct (replenish _) as [s' n] eqn:Hrep.
      destruct (buf m) as [|x rest] eqn:Hbf; [rewrite N8, size_nil in Hz; lia|].
      injection H as <-; rewrite size_cons in *.
      change (ask _ s' n) with (ask (Machine (Stage (kind (decided m)) (phase (decided m))
        (capacity (decided m)) (mark (decided m)) (owed (decided m))
        (asked (decided m)) (sat_sub (held (decided m)) 1)) rest (arrived m) (x :: gone m)
        (wanted m) (emitted m) (bare m) (sought m) (may_send m)) s' n).
      apply ask_holds; [|trivial]; unfold sat_sub in *.
      constructor; cbn; rewrite ?size_cons; trivial; try lia; auto.
      rewrite <- app_assoc; exact N14.
  - (* finish *)
    rewrite (live_match _ _ _ _ Hlive) in H; injection H as <-.
    unfold finish; rewrite (live_match _ _ _ _ Hlive).
    constructor; cbn; trivial; try lia; auto.
    + constructor; cbn; trivial; try discriminate; lia.
    + intros [?|?]; discriminate.
  - (* close *)
    injection H as <-.
    constructor; cbn; rewrite ?size_app, ?size_rev, ?size_nil; trivial; try lia;
      try (intros; now match goal with H : Over <> Over |- _ => destruct H end);
      try (intros [?|?]; discriminate).
    + constructor; cbn; trivial; try discriminate; try lia; auto; unfold fits; lia.
    + rewrite rev_app_distr, rev_involutive, app_nil_r; trivial.
Qed.

Lemma reached_holds m : reached m -> holds m.
Proof.
  induction 1 as [s Hf|m e m' _ IH Hs]; [|apply (step_holds m e); trivial].
  apply fresh_sound in Hf; destruct Hf as (Hs & Hh & Ha & Ho & Hp); destruct (s_room _ Hs).
  constructor; cbn; rewrite ?size_nil; trivial; try lia.
Qed.
