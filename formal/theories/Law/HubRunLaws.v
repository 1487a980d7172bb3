(** Laws of a whole hub that runs until it is quiet, with the machine of [Law.HubRun]. *)

From Coq Require Import Arith NArith Bool List Lia ZifyBool ZifyN.
From Sluicegate Require Import Base.U64 Base.Lists Law.Pipeline Law.HubRun.
From Sluicegate Require Decide.Overflow Decide.Hub Decide.Demand Decide.Patience.
From Sluicegate Require Law.HubSubscriber Law.Hub.
Import ListNotations.
Open Scope N_scope.
Set Default Timeout 30.

Local Opaque enough.

(** ** It makes the steps of the hub, and no others *)

Definition stepped (r : run) : Prop := Law.Hub.reached (steps r) (core r).

Lemma did_stepped r e : Law.Hub.valid e -> stepped r -> stepped (did r e).
Proof.
  unfold stepped, did; intros Hv Hr; destruct (Law.Hub.step (core r) e) as [m|] eqn:Hs; [cbn|trivial].
  apply (Law.Hub.reached_step _ (core r) e); trivial.
Qed.

Lemma at_stepped r i e : stepped r -> stepped (did r (Law.Hub.At i e)).
Proof. apply did_stepped; exact I. Qed.

Lemma share_all_stepped fuel : forall r, stepped r -> stepped (share_all fuel r).
Proof.
  induction fuel as [|fuel IH]; intros r Hr; cbn [share_all];
    destruct (Law.Hub.queue (core r)) as [|x q]; trivial.
  destruct (_ && _); trivial; apply IH.
  apply (did_stepped r Law.Hub.ShareOne I Hr).
Qed.

Lemma look_at_stepped r i : stepped r -> stepped (fst (look_at r i)).
Proof.
  intros Hr; unfold look_at; destruct (party_at r i) as [p|]; [|trivial].
  destruct (nth_error (seats r) i) as [s|]; [|trivial].
  destruct (Patience.look _ _ _) as [after []]; cbn [fst]; trivial.
  apply at_stepped; exact Hr.
Qed.

Lemma look_at_all_stepped l : forall r, stepped r -> stepped (fst (look_at_all l r)).
Proof.
  induction l as [|i l IH]; intros r Hr; cbn [look_at_all]; [trivial|].
  pose proof (look_at_stepped r i Hr) as H; destruct (look_at r i) as [r1 one]; cbn in H.
  specialize (IH r1 H); destruct (look_at_all l r1); exact IH.
Qed.

Lemma share_and_look_stepped fuel : forall r, stepped r -> stepped (share_and_look fuel r).
Proof.
  induction fuel as [|fuel IH]; intros r Hr; cbn [share_and_look];
    pose proof (share_all_stepped enough r Hr) as H0; revert H0;
    generalize (share_all enough r); intros r0 H0;
    pose proof (look_at_all_stepped (places r0) r0 H0) as H;
    destruct (look_at_all (places r0) r0) as [r1 []]; cbn [fst] in H;
    [exact H|exact H|apply IH; exact H|exact H].
Qed.

Lemma finish_all_stepped r how : stepped r -> stepped (finish_all r how).
Proof.
  unfold finish_all; generalize (places r); intros l; revert r; induction l as [|i l IH]; intros r Hr;
    cbn [fold_left]; [trivial|apply IH, at_stepped; trivial].
Qed.

Lemma hub_turn_stepped r : stepped r -> stepped (hub_turn r).
Proof.
  intros Hr; unfold hub_turn; destruct (shut r); [exact Hr|].
  pose proof (share_and_look_stepped enough r Hr) as H; revert H.
  generalize (share_and_look enough r); intros r1 H.
  destruct (ended r1); [|apply did_stepped; [exact I|exact H]].
  destruct (Hub.is_shared _); [|exact H]; apply (finish_all_stepped _ _ H).
Qed.

Lemma receive_all_stepped fuel i : forall r, stepped r -> stepped (receive_all fuel r i).
Proof.
  induction fuel as [|fuel IH]; intros r Hr; cbn [receive_all]; [trivial|].
  destruct (party_at r i); [|trivial]; destruct (snd _); trivial; apply IH, at_stepped; trivial.
Qed.

Lemma asks_stepped r i n : stepped r -> stepped (asks r i n).
Proof.
  intros Hr; unfold asks; destruct (Demand.is_request n); [|trivial].
  apply receive_all_stepped, at_stepped; trivial.
Qed.

Lemma take_all_stepped fuel i : forall r, stepped r -> stepped (fst (take_all fuel r i)).
Proof.
  induction fuel as [|fuel IH]; intros r Hr; cbn [take_all]; [trivial|].
  destruct (party_at r i) as [p|]; [|trivial]; destruct (nth_error (seats r) i) as [s|]; [|trivial].
  destruct (over s); [trivial|]; destruct (Nat.ltb _ _).
  - destruct (pass (meter s)) as [m n]; cbn [fst]; apply IH, asks_stepped; exact Hr.
  - destruct (snd _); trivial; cbn [fst]; apply at_stepped; exact Hr.
Qed.

Lemma all_take_stepped l : forall r, stepped r -> stepped (fst (all_take l r)).
Proof.
  induction l as [|i l IH]; intros r Hr; cbn [all_take]; [trivial|].
  pose proof (take_all_stepped enough i r Hr) as H; destruct (take_all enough r i) as [r1 one];
    cbn [fst] in H.
  specialize (IH r1 H); destruct (all_take l r1); exact IH.
Qed.

Lemma settled_stepped r : stepped r -> stepped (settled r).
Proof.
  unfold settled; generalize enough; intros fuel; revert r.
  induction fuel as [|fuel IH]; intros r Hr; cbn [settle];
    pose proof (hub_turn_stepped r Hr) as H0; revert H0;
    generalize (hub_turn r); intros r0 H0;
    pose proof (all_take_stepped (places r0) r0 H0) as H;
    destruct (all_take (places r0) r0) as [r1 []]; cbn [fst] in H;
    [exact H|exact H|apply IH; exact H|exact H].
Qed.

(** All that publisher, subscribers and clock may bring. *)
Inductive act :=
| Subscribes (how : Hub.policy) (most : option N) (capacity : N)
| Requests (i : nat) (n : N)
| Cancels (i : nat)
| Sends
| Ends (how : source_end)
| Advances (by_ : N)
| Looks.

Definition acted (r : run) (a : act) : run :=
  match a with
  | Subscribes how most capacity => subscribe r how most capacity
  | Requests i n => request r i n
  | Cancels i => cancel r i
  | Sends => fst (send r)
  | Ends how => fst (finish r how)
  | Advances by_ => advance r by_
  | Looks => taken r
  end.

Inductive played : run -> Prop :=
| played_opened room replay r : fits room -> opened room replay = Some r -> played (settled r)
| played_acted r a :
    played r -> match a with Subscribes _ _ capacity => fits capacity | _ => True end ->
    played (acted r a).

Lemma replay_to_stepped i l : forall r, stepped r -> stepped (replay_to i l r).
Proof.
  induction l as [|x l IH]; intros r Hr; cbn [replay_to]; [trivial|].
  apply IH, did_stepped; [vm_compute; discriminate|trivial].
Qed.

Lemma acted_stepped r a :
  match a with Subscribes _ _ capacity => fits capacity | _ => True end ->
  stepped r -> stepped (acted r a).
Proof.
  intros Hv Hr; destruct a as [how most capacity|i n|i| |how|by_|]; cbn [acted].
  - unfold subscribe; set (r1 := did r _).
    assert (H1 : stepped r1) by (apply did_stepped; [split; [exact Hv|vm_compute; discriminate]|trivial]).
    destruct (party_at r1 _) as [p|]; [|exact H1]; apply settled_stepped.
    set (r2 := with_seats r1 _); assert (H2 : stepped r2) by exact H1; clearbody r2.
    destruct (ended _) as [how'|]; [|apply replay_to_stepped; exact H2].
    destruct (shut _); [apply at_stepped|]; apply replay_to_stepped; exact H2.
  - unfold request; destruct (nth_error (seats r) i) as [s|]; [|trivial]; destruct (over s); [trivial|].
    destruct (Demand.request (meter s) n) as [m k]; apply settled_stepped, asks_stepped; exact Hr.
  - unfold cancel; destruct (nth_error (seats r) i) as [s|]; [|trivial]; destruct (over s); [trivial|].
    apply settled_stepped, at_stepped; exact Hr.
  - unfold send; destruct (ended r); [trivial|]; destruct (_ =? 0); [trivial|]; cbn [fst].
    apply settled_stepped; apply (did_stepped r (Law.Hub.Arrive (sent r, 0))); [vm_compute; discriminate|trivial].
  - unfold finish; destruct (ended r); [trivial|]; cbn [fst].
    apply settled_stepped; apply (did_stepped r Law.Hub.End I Hr).
  - unfold advance; apply settled_stepped; exact Hr.
  - exact Hr.
Qed.

(** Whatever publisher, subscribers and clock bring, the hub makes the steps of [Law.Hub] and no others: all
    that is proved of these holds of the runs that scripts are written from. *)
Theorem a_run_is_made_of_the_hub_s_steps r : played r -> Law.Hub.reached (steps r) (core r).
Proof.
  induction 1 as [room replay r Hf Ho|r a _ IH Hv]; [|apply acted_stepped; trivial].
  apply settled_stepped; unfold opened in Ho; destruct (Hub.opened room) as [h|] eqn:Hh; [|discriminate].
  injection Ho as <-; apply (Law.Hub.reached_fresh room); trivial.
Qed.

(** Each element that was offered to a subscriber it has seen, lost with a count, let go when it left, or has
    in its buffer; and whoever is waited for, or was expelled, loses none. *)
Theorem offered_is_seen_lost_or_kept r p :
  played r -> fits (steps r) -> In p (Law.Hub.parties (core r)) ->
  size (HubSubscriber.shared p) =
    size (HubSubscriber.got p) + Overflow.lost (Hub.buffer (decided p)) + size (HubSubscriber.box p)
    + size (HubSubscriber.released p)
  /\ (Overflow.plan (Hub.buffer (decided p)) = Overflow.Backpressure
      \/ Overflow.plan (Hub.buffer (decided p)) = Overflow.Fail ->
      Overflow.lost (Hub.buffer (decided p)) = 0).
Proof.
  intros Hr Hf Hp; apply a_run_is_made_of_the_hub_s_steps in Hr; split.
  - destruct (Law.Hub.each_subscriber_conserves _ _ p Hr Hf Hp) as (_ & H & _); lia.
  - intros Hw; destruct (Law.Hub.no_silent_loss _ _ p Hr Hf Hp) as (_ & H); apply H; exact Hw.
Qed.

(** ** At rest *)

Lemma take_all_still fuel r i r' :
  take_all fuel r i = (r', false) -> r' = r \/ quiet r' = false.
Proof.
  destruct fuel as [|fuel]; cbn [take_all]; [intros H; injection H as <-; auto|].
  destruct (party_at r i) as [p|]; [|intros H; injection H as <-; auto].
  destruct (nth_error (seats r) i) as [s|]; [|intros H; injection H as <-; auto].
  destruct (over s); [intros H; injection H as <-; auto|]; destruct (Nat.ltb _ _).
  - destruct (pass (meter s)); discriminate.
  - destruct (snd _); intros H; try discriminate; injection H as <-; auto.
Qed.

Lemma all_take_still l : forall r r',
  all_take l r = (r', false) -> quiet r' = true -> r' = r.
Proof.
  assert (H : forall l r r', all_take l r = (r', false) -> r' = r \/ quiet r' = false).
  { clear l; induction l as [|i l IH]; intros r r'; cbn [all_take]; [intros H; injection H as <-; auto|].
    destruct (take_all enough r i) as [r1 one] eqn:H1; destruct (all_take l r1) as [r2 others] eqn:H2.
    intros H; injection H as <- Ho; apply orb_false_elim in Ho as [-> ->].
    destruct (IH _ _ H2) as [->|Hq]; [|auto]; apply (take_all_still _ _ _ _ H1). }
  intros r r' Ha Hq; destruct (H _ _ _ Ha); [trivial|congruence].
Qed.

(** A run that comes to its rest ends with a turn of the hub that moves nobody. *)
Lemma settled_ends r :
  quiet (settled r) = true ->
  exists before, settled r = hub_turn before /\ (stepped r -> stepped before).
Proof.
  unfold settled; generalize enough; intros fuel; revert r.
  induction fuel as [|fuel IH]; intros r; cbn [settle];
    pose proof (all_take_stepped (places (hub_turn r)) (hub_turn r)) as Hs;
    destruct (all_take (places (hub_turn r)) (hub_turn r)) as [r1 []] eqn:H1; intros Hq.
  - discriminate.
  - exists r; split; [apply (all_take_still _ _ _ H1 Hq)|trivial].
  - destruct (IH r1 Hq) as (before & E & Hb); exists before; split; [trivial|].
    intros Hr; apply Hb, (Hs (hub_turn_stepped r Hr)).
  - exists r; split; [apply (all_take_still _ _ _ H1 Hq)|trivial].
Qed.

(** [i] holds up the hub within its limit, if it does. *)
Definition in_time (r : run) (i : nat) : Prop :=
  forall p s most,
    party_at r i = Some p -> nth_error (seats r) i = Some s ->
    Patience.limit (patience s) = Some most ->
    Hub.is_held_up_by (Law.Hub.core (core r)) (decided p) 0 = true ->
    exists began, Patience.since (patience s) = Some began /\ now r < U64.sat_add began most.

Lemma nth_replaced A i (x : A) : forall l j,
  nth_error (replaced i x l) j =
    if Nat.eqb i j then match nth_error l j with Some _ => Some x | None => None end
    else nth_error l j.
Proof.
  induction i as [|i IH]; intros [|y l] [|j]; cbn; trivial.
  destruct (Nat.eqb i j); trivial.
Qed.

Lemma look_at_still r i r' :
  look_at r i = (r', false) ->
  core r' = core r /\ now r' = now r /\ quiet r' = quiet r /\ length (seats r') = length (seats r)
  /\ in_time r' i /\ forall j, in_time r j -> in_time r' j.
Proof.
  unfold look_at; destruct (party_at r i) as [p|] eqn:Hp;
    [|intros H; injection H as <-; repeat split; auto; intros p' s most H; congruence].
  destruct (nth_error (seats r) i) as [s|] eqn:Hs;
    [|intros H; injection H as <-; repeat split; auto; intros p' s most _ H; congruence].
  set (blocks := Hub.is_held_up_by _ _ _).
  destruct (Patience.look (patience s) blocks (now r)) as [after answer] eqn:Hl.
  assert (Hown : answer <> Patience.TooSlow ->
    in_time (with_seats r (replaced i (with_patience s after) (seats r))) i).
  { intros Ha p' s' most H1 H2 H3 H4; change (party_at r i = Some p') in H1; cbn in *.
    rewrite nth_replaced, Nat.eqb_refl, Hs in H2; injection H2 as <-; rewrite Hp in H1; injection H1 as <-.
    fold blocks in H4; unfold with_patience in *; cbn in *.
    unfold Patience.look in Hl; rewrite H4 in Hl.
    destruct (Patience.limit (patience s)) as [m|] eqn:Hm; [|injection Hl as <- <-; congruence].
    destruct (U64.leb _ _) eqn:Hle; injection Hl as <- <-; [now destruct Ha|]; cbn in *.
    injection H3 as <-; eexists; split; [reflexivity|]; unfold U64.leb in Hle; lia. }
  assert (Hlen : forall x, length (replaced i x (seats r)) = length (seats r)).
  { intros x; clear; generalize (seats r); induction i as [|i IH]; intros [|y l]; cbn; auto. }
  destruct answer; intros H; try discriminate; injection H as <-; cbn;
    (repeat split; auto; [apply Hown; discriminate|]); intros j Hj;
    (destruct (Nat.eqb i j) eqn:E; [apply Nat.eqb_eq in E as <-; apply Hown; discriminate|]);
    intros p' s' most H1 H2; cbn in H2; rewrite nth_replaced, E in H2; apply (Hj p' s' most H1 H2).
Qed.

Lemma look_at_all_still l : forall r r',
  look_at_all l r = (r', false) ->
  core r' = core r /\ length (seats r') = length (seats r)
  /\ forall j, In j l \/ in_time r j -> in_time r' j.
Proof.
  induction l as [|i l IH]; intros r r'; cbn [look_at_all].
  - intros H; injection H as <-; repeat split; trivial; intros j [[]|H]; exact H.
  - destruct (look_at r i) as [r1 one] eqn:H1; destruct (look_at_all l r1) as [r2 others] eqn:H2.
    intros H; injection H as <- Ho; apply orb_false_elim in Ho as [-> ->].
    destruct (look_at_still _ _ _ H1) as (C1 & _ & _ & L1 & O1 & K1).
    destruct (IH _ _ H2) as (C2 & L2 & K2); repeat split; try congruence.
    intros j [[<-|Hj]|Hj]; apply K2; auto.
Qed.

Lemma share_and_look_rests fuel : forall r,
  quiet (share_and_look fuel r) = true -> forall i, in_time (share_and_look fuel r) i.
Proof.
  induction fuel as [|fuel IH]; intros r; cbn [share_and_look];
    destruct (look_at_all (places (share_all enough r)) (share_all enough r)) as [r1 []] eqn:H1;
    try discriminate; try apply IH; intros _ i;
    destruct (look_at_all_still _ _ _ H1) as (_ & L & K);
    (destruct (Nat.ltb i (length (seats r1))) eqn:Hi;
      [apply K; left; apply in_seq; rewrite <- L; apply Nat.ltb_lt in Hi; lia|]);
    intros p s most _ Hs; apply Nat.ltb_ge in Hi; apply nth_error_None in Hi; congruence.
Qed.

Lemma did_keeps r e :
  seats (did r e) = seats r /\ now (did r e) = now r /\ quiet (did r e) = quiet r
  /\ ended (did r e) = ended r /\ shut (did r e) = shut r.
Proof. unfold did; destruct (Law.Hub.step (core r) e); repeat split. Qed.

Lemma ask_keeps_parties r :
  Law.Hub.parties (core (did r Law.Hub.Ask)) = Law.Hub.parties (core r)
  /\ Hub.queued (Law.Hub.core (core (did r Law.Hub.Ask))) = Hub.queued (Law.Hub.core (core r)).
Proof. unfold did; cbn; unfold Hub.replenish; split; reflexivity. Qed.

(** At rest nobody has held up the hub for longer than its limit, and whoever holds it up has its time
    running: so it ends, if nothing else does. *)
Theorem nobody_holds_up_the_hub_for_longer r i p s most :
  let rest := settled r in
  quiet rest = true -> shut rest = false ->
  party_at rest i = Some p -> nth_error (seats rest) i = Some s ->
  Patience.limit (patience s) = Some most ->
  Hub.is_held_up_by (Law.Hub.core (core rest)) (decided p) 0 = true ->
  exists began, Patience.since (patience s) = Some began /\ now rest < U64.sat_add began most.
Proof.
  intros rest Hq Hsh Hp Hs Hm Hb; subst rest.
  destruct (settled_ends r Hq) as (before & E & _); rewrite E in *; clear E.
  pose proof (share_and_look_rests enough before) as Hrest; unfold hub_turn in *.
  destruct (shut before) eqn:Hb0; [congruence|].
  generalize dependent (share_and_look enough before); intros r1 Hq Hsh Hp Hs Hb Hrest.
  destruct (ended r1).
  - destruct (Hub.is_shared _); [discriminate|]; apply (Hrest Hq i p s most); trivial.
  - destruct (did_keeps r1 Law.Hub.Ask) as (D1 & D2 & D3 & _).
    destruct (ask_keeps_parties r1) as (A1 & A2).
    rewrite D1 in Hs; rewrite D2; rewrite D3 in Hq; unfold party_at in Hp; rewrite A1 in Hp.
    apply (Hrest Hq i p s most); trivial.
Qed.

(** At rest what is queued and awaited covers the largest demand that is outstanding, as far as the hub has
    room; and it is never more than that room. *)
Theorem the_largest_demand_is_asked_for r :
  let rest := settled r in
  stepped r -> fits (steps rest) -> quiet rest = true -> shut rest = false -> ended rest = None ->
  let m := core rest in
  N.min (Law.Hub.demand m) (Hub.room (Law.Hub.core m))
    <= size (Law.Hub.queue m) + Law.Hub.may_send m
    <= Hub.room (Law.Hub.core m).
Proof.
  intros rest Hr Hf Hq Hsh He m; subst rest m.
  assert (Hall := settled_stepped r Hr); split; [|apply (Law.Hub.bounded _ _ Hall Hf)].
  destruct (settled_ends r Hq) as (before & E & Hb); rewrite E in *; clear E Hq; specialize (Hb Hr).
  pose proof (share_and_look_stepped enough before Hb) as Hl; unfold hub_turn in *.
  destruct (shut before) eqn:Hb0; [congruence|].
  generalize dependent (share_and_look enough before); intros r1 Hf Hsh He Hall Hl.
  destruct (ended r1) eqn:He1; [destruct (Hub.is_shared _); [discriminate Hsh|congruence]|].
  unfold did in *; destruct (Law.Hub.step (core r1) Law.Hub.Ask) as [m|] eqn:Hs; [cbn in *|discriminate].
  assert (Hf1 : fits (steps r1)) by (unfold fits in *; lia).
  pose proof (Law.Hub.upstream_demand _ _ _ Hl Hf1 Hs) as Hu; cbn zeta in Hu; rewrite Hu.
  unfold Law.Hub.step, Hub.replenish in Hs; injection Hs as <-; unfold Law.Hub.demand; cbn; lia.
Qed.
