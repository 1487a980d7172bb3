(** Laws of a hub: an upstream that sends at most what it was asked, a queue, and any number of
    subscribers that come, ask, take and go when they like. *)

From Coq Require Import NArith Bool List Permutation Lia ZifyBool ZifyN.
From Sluicegate Require Import Base.U64 Base.Lists Base.Tactics.
From Sluicegate Require Decide.Overflow.
From Sluicegate Require Import Decide.Hub Law.HubSubscriber.
Import ListNotations.

Open Scope N_scope.
Set Default Timeout 30.

(** What the hub did not ask for is refused and changes nothing; all else is taken, and is then queued
    and awaited no more. *)
Theorem unasked_is_refused (h : hub) :
  (asked h = 0 -> arrive h = (h, Unasked))
  /\ (asked h <> 0 -> fits (asked h + queued h) ->
      exists h', arrive h = (h', Accepted)
        /\ asked h' + 1 = asked h /\ queued h' = queued h + 1 /\ room h' = room h).
Proof.
  unfold arrive; split; [intros ->; reflexivity|intros Ha Hf].
  destruct (U64.eqb (asked h) 0) eqn:Hz; [u64|].
  eexists; split; [reflexivity|]; cbn; repeat split; u64.
Qed.

(** The queue has the oldest first. *)
Record machine := Machine {
  core : hub;
  queue : list element;
  parties : list party;
  may_send : N;
}.

Inductive event :=
| Ask
| Arrive (x : element)
| ShareOne
| At (i : nat) (e : HubSubscriber.event)
| Join (p : policy) (elements all : N)
| Again (i : nat) (x : element) (* replayed to a newcomer *)
| End.

(** What the hub owes downwards: the largest demand of any live subscriber. *)
Definition demand (m : machine) : N := fold_left largest (map decided (parties m)) 0.

Definition anybody (m : machine) : bool := existsb (fun p => is_live (decided p)) (parties m).
Definition held_up (m : machine) (x : element) : bool :=
  existsb (fun p => holds_up (decided p) (bytes_of x)) (parties m).

Fixpoint hand_all (l : list party) (x : element) : option (list party) :=
  match l with
  | [] => Some []
  | p :: rest =>
    match hand p x, hand_all rest x with
    | Some p', Some rest' => Some (p' :: rest')
    | _, _ => None
    end
  end.

Fixpoint at_place (l : list party) (i : nat) (e : HubSubscriber.event) : option (list party) :=
  match l, i with
  | [], _ => Some []
  | p :: rest, O =>
    match HubSubscriber.step p e with Some p' => Some (p' :: rest) | None => None end
  | p :: rest, S i => match at_place rest i e with Some r => Some (p :: r) | None => None end
  end.

Fixpoint again (l : list party) (i : nat) (x : element) : option (list party) :=
  match l, i with
  | [], _ => Some []
  | p :: rest, O =>
    if holds_up (decided p) (bytes_of x) then Some l
    else match hand p x with Some p' => Some (p' :: rest) | None => None end
  | p :: rest, S i => match again rest i x with Some r => Some (p :: r) | None => None end
  end.

Definition step (m : machine) (e : event) : option machine :=
  match e with
  | Ask =>
    let '(h, n) := replenish (core m) (demand m) in
    Some (Machine h (queue m) (parties m) (may_send m + n))
  | Arrive x =>
    if may_send m =? 0 then None
    else
      match arrive (core m) with
      | (h, Accepted) => Some (Machine h (queue m ++ [x]) (parties m) (may_send m - 1))
      | (_, Unasked) => None
      end
  | ShareOne =>
    match queue m with
    | [] => Some m
    | x :: rest =>
      match share_next (core m) (anybody m) (held_up m x) with
      | (h, Share) =>
        match hand_all (parties m) x with
        | Some l => Some (Machine h rest l (may_send m))
        | None => None
        end
      | (_, Blocked) => Some m
      | (_, Nothing) => None
      end
    end
  | At i e =>
    match at_place (parties m) i e with
    | Some l => Some (Machine (core m) (queue m) l (may_send m))
    | None => None
    end
  | Join p elements all =>
    match subscribed p elements all with
    | Some s =>
      Some (Machine (core m) (queue m) (parties m ++ [Party s [] [] [] [] [] 0]) (may_send m))
    | None => Some m
    end
  | Again i x =>
    match again (parties m) i x with
    | Some l => Some (Machine (core m) (queue m) l (may_send m))
    | None => None
    end
  | End => Some (Machine (upstream_ended (core m)) (queue m) (parties m) 0)
  end.

Definition valid (e : event) : Prop :=
  match e with
  | Arrive x => fits (bytes_of x)
  | Join _ elements all => fits elements /\ fits all
  | Again _ x => fits (bytes_of x)
  | _ => True
  end.

Inductive reached : N -> machine -> Prop :=
| reached_fresh elements h :
    fits elements -> opened elements = Some h -> reached 0 (Machine h [] [] 0)
| reached_step n m e m' : reached n m -> valid e -> step m e = Some m' -> reached (n + 1) m'.

Arguments U64.sat_add : simpl never.
Arguments U64.sat_sub : simpl never.

Record sound (n : N) (m : machine) : Prop := Sound {
  s_room : 1 <= room (core m) /\ fits (room (core m));
  s_bound : asked (core m) + queued (core m) <= room (core m);
  s_queue : queued (core m) = size (queue m);
  s_above : asked (core m) = may_send m;
  s_sizes : Forall (fun x => fits (bytes_of x)) (queue m);
  s_parties : Forall (holds n) (parties m);
}.

Lemma holds_later n k p : n <= k -> holds n p -> holds k p.
Proof. intros Hk [H1 H2 H3 H4 H5 H6 H7 H8]; constructor; trivial; lia. Qed.

Lemma all_later n k l : n <= k -> Forall (holds n) l -> Forall (holds k) l.
Proof. intros Hk; apply Forall_impl; intros p; apply holds_later; trivial. Qed.

(** An element that nobody holds up is handed to all, each of whom goes on as it must. *)
Lemma hand_all_total n x l :
  Forall (holds n) l -> fits (n + 1) -> fits (bytes_of x) ->
  existsb (fun p => holds_up (decided p) (bytes_of x)) l = false ->
  exists l', hand_all l x = Some l' /\ Forall (holds (n + 1)) l'
    /\ Forall2 (fun p p' => hand p x = Some p') l l'.
Proof.
  intros Hl Hn Hx; induction Hl as [|p l Hp Hl IH]; cbn [existsb hand_all]; intros H.
  - exists []; auto.
  - apply orb_false_elim in H as [H1 H2]; destruct (IH H2) as (l' & -> & A1 & A2).
    destruct (hand_total n p x Hp Hn Hx) as [[p' Hh]|Hh]; [|congruence].
    destruct (hand_holds n p x p' Hp Hn Hx Hh) as (Hp' & _).
    rewrite Hh; exists (p' :: l'); auto.
Qed.

Lemma at_place_total n i e l :
  Forall (holds n) l -> fits n -> exists l', at_place l i e = Some l' /\ Forall (holds n) l'.
Proof.
  intros Hl Hn; revert i; induction Hl as [|p l Hp Hl IH]; intros i; cbn [at_place]; [eauto|].
  destruct i as [|i].
  - destruct (HubSubscriber.step_holds n p e Hp Hn) as (p' & -> & Hp' & _); eauto.
  - destruct (IH i) as (l' & -> & Hl'); eauto.
Qed.

Lemma again_total n i x l :
  Forall (holds n) l -> fits (n + 1) -> fits (bytes_of x) ->
  exists l', again l i x = Some l' /\ Forall (holds (n + 1)) l'.
Proof.
  intros Hl Hn Hx; revert i; induction Hl as [|p l Hp Hl IH]; intros i; cbn [again]; [eauto|].
  destruct i as [|i].
  - destruct (holds_up (decided p) (bytes_of x)) eqn:Hu.
    + eexists; split; [reflexivity|]; apply (all_later n); auto; lia.
    + destruct (hand_total n p x Hp Hn Hx) as [[p' Hh]|Hh]; [|congruence].
      destruct (hand_holds n p x p' Hp Hn Hx Hh) as (Hp' & _).
      rewrite Hh; eexists; split; [reflexivity|]; constructor; trivial.
      apply (all_later n); trivial; lia.
  - destruct (IH i) as (l' & -> & Hl'); eexists; split; [reflexivity|]; constructor; trivial.
    apply (holds_later n); trivial; lia.
Qed.

(** Every step keeps the hub sound, and every event that an upstream, a subscriber or the hub itself
    may bring is a step. *)
Lemma step_sound n m e :
  sound n m -> valid e -> fits (n + 1) ->
  (forall x, e = Arrive x -> 0 < may_send m) ->
  exists m', step m e = Some m' /\ sound (n + 1) m'.
Proof.
  intros [Hr Hb Hq Ha Hs Hp] Hv Hn He.
  assert (Hn' : fits n) by (unfold fits in *; lia).
  assert (Hp' : Forall (holds (n + 1)) (parties m)) by (apply (all_later n); trivial; lia).
  destruct m as [h q l ms]; cbn in *; destruct e as [|x| |i e|p els all|i x|]; cbn [step core queue parties may_send].
  - unfold replenish; eexists; split; [reflexivity|].
    assert (Hsum : sat_add (asked h) (queued h) = asked h + queued h)
      by (apply sat_add_exact; unfold fits in *; lia).
    set (d := demand _); rewrite Hsum.
    assert (Hask : sat_add (asked h) (sat_sub (umin d (room h)) (asked h + queued h))
                   = asked h + sat_sub (umin d (room h)) (asked h + queued h))
      by (apply sat_add_exact; u64).
    constructor; cbn; rewrite ?Hask; trivial; try lia; u64.
  - specialize (He x eq_refl); destruct (ms =? 0) eqn:Hz; [lia|].
    unfold arrive; rewrite Ha; unfold U64.eqb; rewrite Hz; eexists; split; [reflexivity|].
    constructor; cbn; rewrite ?size_app, ?size_cons, ?size_nil; trivial;
      rewrite ?(sat_add_exact (queued h) 1) by (unfold fits in *; lia); unfold sat_sub; try lia.
    apply Forall_app; auto.
  - destruct q as [|x q]; [eexists; split; [reflexivity|constructor; trivial]|].
    inversion Hs as [|? ? Hx Hq']; subst; rewrite size_cons in *.
    unfold share_next; destruct (U64.eqb (queued h) 0) eqn:Hz; [u64|].
    unfold held_up, anybody; cbn [parties].
    destruct (existsb _ l && negb (existsb _ l)) eqn:Hgo.
    + apply andb_prop in Hgo as [_ Hgo]; apply negb_true_iff in Hgo.
      destruct (hand_all_total n x l Hp Hn Hx Hgo) as (l' & -> & Hl' & _).
      eexists; split; [reflexivity|]; constructor; cbn; trivial; unfold sat_sub; lia.
    + eexists; split; [reflexivity|]; constructor; cbn; rewrite ?size_cons; trivial.
  - destruct (at_place_total n i e l Hp Hn') as (l' & -> & Hl').
    eexists; split; [reflexivity|]; constructor; cbn; trivial; apply (all_later n); trivial; lia.
  - destruct (subscribed p els all) as [s|] eqn:Hsub;
      eexists; (split; [reflexivity|]); constructor; cbn; trivial.
    cbn in Hv; apply Forall_app; split; trivial; constructor; [|trivial].
    apply (subscribed_holds p els all); tauto.
  - destruct (again_total n i x l Hp Hn Hv) as (l' & -> & Hl').
    eexists; split; [reflexivity|]; constructor; cbn; trivial.
  - eexists; split; [reflexivity|]; constructor; cbn; trivial; lia.
Qed.

Lemma reached_sound n m : reached n m -> fits n -> sound n m.
Proof.
  induction 1 as [els h Hf Ho|n m e m' _ IH Hv Hs]; intros Hn.
  - unfold opened in Ho; destruct (U64.eqb els 0) eqn:Hz; [discriminate|]; injection Ho as <-.
    constructor; cbn; rewrite ?size_nil; trivial; u64.
  - destruct (step_sound n m e) as (m2 & Hs2 & Hm2); trivial;
      [apply IH; unfold fits in *; lia| |congruence].
    intros x ->; cbn in Hs; destruct (may_send m =? 0) eqn:Hz; [discriminate|lia].
Qed.

(** Nothing ever stands still: whatever comes, the decisions' answers fit the queue and the boxes. *)
Theorem never_stuck n m e :
  reached n m -> valid e -> fits (n + 1) -> (forall x, e = Arrive x -> 0 < may_send m) ->
  exists m', step m e = Some m'.
Proof.
  intros Hr Hv Hn He; destruct (step_sound n m e) as (m' & Hs & _); eauto.
  apply reached_sound; trivial; unfold fits in *; lia.
Qed.

(** The hub never holds and awaits more than its room; an upstream that sends what it was asked for
    always finds room. *)
Theorem bounded n m :
  reached n m -> fits n -> size (queue m) + may_send m <= room (core m).
Proof. intros Hr Hn; destruct (reached_sound n m Hr Hn); lia. Qed.

Lemma largest_fold l : forall d,
  d <= fold_left largest l d
  /\ (forall s, In s l -> is_live s = true -> owed s <= fold_left largest l d)
  /\ (fold_left largest l d = d
      \/ exists s, In s l /\ is_live s = true /\ owed s = fold_left largest l d).
Proof.
  induction l as [|s l IH]; intros d; cbn [fold_left In].
  - repeat split; auto; [lia|tauto].
  - destruct (IH (largest d s)) as (A1 & A2 & A3).
    assert (Hd : d <= largest d s /\ (is_live s = true -> owed s <= largest d s)
                 /\ (largest d s = d \/ is_live s = true /\ largest d s = owed s))
      by (unfold largest; destruct (is_live s); u64).
    repeat split; [lia| |].
    + intros s' [<-|Hin] Hlv; [destruct Hd as (_ & Hd & _); specialize (Hd Hlv); lia|auto].
    + destruct A3 as [A3|(s' & B1 & B2 & B3)]; [|right; exists s'; auto].
      rewrite A3; destruct Hd as (_ & _ & [Hd|[Hd1 Hd2]]); [auto|].
      right; exists s; auto.
Qed.

(** What the hub owes is the largest demand of any live subscriber: no live one has more, and if it
    is not 0 some live one has just that. *)
Theorem demand_is_the_largest m :
  (forall p, In p (parties m) -> is_live (decided p) = true -> owed (decided p) <= demand m)
  /\ (demand m = 0
      \/ exists p, In p (parties m) /\ is_live (decided p) = true /\ owed (decided p) = demand m).
Proof.
  unfold demand; destruct (largest_fold (map decided (parties m)) 0) as (_ & H1 & H2); split.
  - intros p Hp; apply H1, in_map; trivial.
  - destruct H2 as [H2|(s & Hs & Hl & Ho)]; [auto|right].
    apply in_map_iff in Hs as (p & <- & Hp); eauto.
Qed.

(** Asking brings what is queued and awaited up to the largest demand, as far as the hub has room,
    and never beyond it. So without a subscriber that asks, nothing is asked for. *)
Theorem upstream_demand n m m' :
  reached n m -> fits n -> step m Ask = Some m' ->
  let goal := N.min (demand m) (room (core m)) in
  let before := size (queue m) + may_send m in
  size (queue m') + may_send m' = N.max before goal.
Proof.
  intros Hr Hn H; destruct (reached_sound n m Hr Hn) as [Hroom Hb Hq Ha _ _].
  cbn in H; injection H as <-; cbn.
  rewrite sat_add_exact by (unfold fits in *; lia); u64.
Qed.

(** Conservation for each subscriber, whatever its policy: what was shared with it, it received, lost
    with a count, let go when it left, or has in its box; each element in one place, in order. *)
Theorem each_subscriber_conserves n m p :
  reached n m -> fits n -> In p (parties m) ->
  Permutation (box p ++ got p ++ thrown p ++ released p) (shared p)
  /\ size (shared p) = size (box p) + size (got p)
                       + Overflow.lost (buffer (decided p)) + size (released p)
  /\ kept_of (rev (got p) ++ box p) (rev (shared p))
  /\ size (box p) <= Overflow.capacity (buffer (decided p)).
Proof.
  intros Hr Hn Hp; destruct (reached_sound n m Hr Hn) as [_ _ _ _ _ Hl].
  rewrite Forall_forall in Hl; destruct (Hl p Hp) as [[_ Hh _ _] H2 H3 H4 H5 _ _ _].
  repeat split; trivial; [rewrite (parts_size p H3)|]; lia.
Qed.

(** A subscriber never receives more than it asked for, and while its subscription runs not one
    request is forgotten. *)
Theorem no_subscriber_gets_unasked n m p :
  reached n m -> fits n -> In p (parties m) ->
  size (got p) <= wanted p
  /\ (fits (wanted p) -> is_live (decided p) = true ->
      owed (decided p) = wanted p - size (got p)).
Proof.
  intros Hr Hn Hp; destruct (reached_sound n m Hr Hn) as [_ _ _ _ _ Hl].
  rewrite Forall_forall in Hl; destruct (Hl p Hp) as [_ _ _ _ _ H6 H7 _].
  split; [lia|]; intros Hf Hlv; specialize (H7 Hf Hlv); lia.
Qed.

(** Nothing is lost silently: a subscriber that is waited for, or expelled, loses nothing at all; and
    whatever else is lost to a subscriber is in its count. *)
Theorem no_silent_loss n m p :
  reached n m -> fits n -> In p (parties m) ->
  Overflow.lost (buffer (decided p)) = size (thrown p)
  /\ (Overflow.plan (buffer (decided p)) = Overflow.Backpressure
      \/ Overflow.plan (buffer (decided p)) = Overflow.Fail ->
      thrown p = [] /\ Overflow.lost (buffer (decided p)) = 0).
Proof.
  intros Hr Hn Hp; destruct (reached_sound n m Hr Hn) as [_ _ _ _ _ Hl].
  rewrite Forall_forall in Hl; destruct (Hl p Hp) as [_ H2 _ _ _ _ _ H6].
  split; [trivial|]; intros Hw; specialize (H6 Hw); rewrite H6 in H2; auto.
Qed.

(** An element that leaves the queue is shared with every live subscriber: whoever stays subscribed
    has it among what was shared with it. *)
Theorem shared_with_everybody n m x rest m' :
  reached n m -> fits (n + 1) -> queue m = x :: rest -> step m ShareOne = Some m' ->
  queue m' = rest ->
  anybody m = true
  /\ Forall2 (fun p p' => (is_live (decided p) = false -> p' = p)
                          /\ (is_live (decided p') = true -> shared p' = x :: shared p))
             (parties m) (parties m').
Proof.
  intros Hr Hn Hq Hs Hrest.
  assert (Hn' : fits n) by (unfold fits in *; lia).
  destruct (reached_sound n m Hr Hn') as [_ _ _ _ Hsz Hl].
  cbn in Hs; rewrite Hq in *; inversion Hsz as [|? ? Hx _]; subst.
  unfold share_next in Hs; destruct (U64.eqb (queued (core m)) 0); [discriminate|].
  destruct (anybody m && negb (held_up m x)) eqn:Hgo.
  - apply andb_prop in Hgo as [Hany Hgo]; apply negb_true_iff in Hgo; split; [trivial|].
    destruct (hand_all_total n x (parties m) Hl Hn Hx Hgo) as (l' & Hh & _ & H2).
    rewrite Hh in Hs; injection Hs as <-; cbn; clear - H2 Hl Hn Hx.
    induction H2 as [|p p' l l' Hp H2 IH]; constructor; inversion Hl; subst; auto.
    destruct (hand_holds n p x p') as (_ & _ & Hgone & Hlive); trivial; auto.
  - injection Hs as <-; exfalso.
    apply (f_equal (@length _)) in Hq; cbn in Hq; lia.
Qed.

(** A slow subscriber that is waited for keeps the element from everybody: nothing moves, and what
    the upstream may still send is bounded by the hub's room. *)
Theorem waiting_throttles n m x rest p m' :
  reached n m -> fits n -> queue m = x :: rest -> In p (parties m) ->
  holds_up (decided p) (bytes_of x) = true -> step m ShareOne = Some m' ->
  m' = m /\ size (queue m) + may_send m <= room (core m).
Proof.
  intros Hr Hn Hq Hp Hh Hs; split; [|apply (bounded n); trivial].
  destruct (reached_sound n m Hr Hn) as [_ _ Hqd _ _ _].
  cbn in Hs; rewrite Hq in *; unfold share_next in Hs.
  destruct (U64.eqb (queued (core m)) 0) eqn:Hz; [discriminate|].
  assert (Hup : held_up m x = true) by (apply existsb_exists; eauto).
  rewrite Hup, andb_false_r in Hs; injection Hs as <-; trivial.
Qed.

(** Only a live subscriber that is to be waited for, has asked for nothing or has elements waiting,
    and has a full box holds up the hub. One that drops or is expelled never does. *)
Theorem only_waiting_holds_up s k :
  holds_up s k = true ->
  Overflow.plan (buffer s) = Overflow.Backpressure /\ is_live s = true
  /\ Overflow.has_room (buffer s) k = false
  /\ (owed s = 0 \/ Overflow.held (buffer s) <> 0).
Proof.
  unfold holds_up, share_with.
  destruct (is_live s && negb (U64.eqb (owed s) 0) && U64.eqb (Overflow.held (buffer s)) 0) eqn:Hn;
    [discriminate|].
  destruct (Overflow.offer (buffer s) k false) as [b []] eqn:Ho; try discriminate;
    try (destruct (is_live s); discriminate).
  intros _; assert (Hw : snd (Overflow.offer (buffer s) k false) = Overflow.Wait)
    by (rewrite Ho; reflexivity).
  apply Law.Overflow.only_backpressure_waits in Hw; destruct Hw as (W1 & W2 & [W3|W3]); [|discriminate].
  assert (Hl : is_live s = true) by (unfold is_live; rewrite W2; reflexivity).
  rewrite Hl in Hn; repeat split; trivial; u64.
Qed.

(** An element is never shared with nobody: without a live subscriber the queue keeps it. *)
Theorem nobody_nothing n m m' :
  reached n m -> fits n -> anybody m = false -> step m ShareOne = Some m' -> m' = m.
Proof.
  intros Hr Hn Ha Hs; cbn in Hs; destruct (queue m); [congruence|].
  unfold share_next in Hs; rewrite Ha in Hs; cbn in Hs.
  destruct (U64.eqb (queued (core m)) 0); [discriminate|congruence].
Qed.

(** And with somebody there and nobody to wait for, the oldest element is shared. *)
Theorem queue_moves n m x rest m' :
  reached n m -> fits n -> queue m = x :: rest -> anybody m = true -> held_up m x = false ->
  step m ShareOne = Some m' -> queue m' = rest.
Proof.
  intros Hr Hn Hq Ha Hh Hs; cbn in Hs; rewrite Hq, Ha, Hh in Hs; unfold share_next in Hs; cbn in Hs.
  destruct (U64.eqb (queued (core m)) 0); [discriminate|].
  destruct (hand_all (parties m) x); [injection Hs as <-; reflexivity|discriminate].
Qed.
