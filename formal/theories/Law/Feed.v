(** Laws of a live feed: a ring of items round the decisions of [Decide.Feed].

    The device produces when it likes, the consumer takes when it likes, the source may end or fail
    and the consumer may leave at any moment. An item's place is exactly one of four: in the ring,
    delivered, lost, or refused because the feed had ended. *)

From Coq Require Import NArith Bool List Permutation Lia ZifyBool ZifyN.
From Sluicegate Require Import Base.U64 Base.Lists.
From Sluicegate Require Import Decide.Feed.
Import ListNotations.

Open Scope N_scope.
Set Default Timeout 30.

(** An item: its number and its presentation time. *)
Notation item := (N * N)%type.
Definition number (x : item) : N := fst x.
Definition pts (x : item) : N := snd x.

(** [out], [gone] and [made] have the newest first, [ring] the oldest. [made] is all that was ever
    captured. *)
Record machine := Machine {
  decided : feed;
  ring : list item;
  out : list (item * option gap);
  gone : list item;
  made : list item;
}.

Inductive event :=
| Produce (at_pts : N)
| Consume
| Stop (why : feed_end)
| Leave.

Definition oldest_pts_of (l : list item) : N :=
  match l with [] => 0 | x :: _ => pts x end.

(** What the shell does with each answer. An answer that does not fit the ring ends in [None]. *)
Definition step (m : machine) (e : event) : option machine :=
  match e with
  | Produce at_pts =>
    let '(f, answer) := capture (decided m) in
    match answer, ring m with
    | Stored n, _ => 
      Some (Machine f (ring m ++ [(n, at_pts)]) (out m) (gone m) ((n, at_pts) :: made m))
    | Evicted n, x :: rest => 
      Some (Machine f (rest ++ [(n, at_pts)]) (out m) (x :: gone m) ((n, at_pts) :: made m))
    | Evicted _, [] => None
    | Overflowed n, _ => 
      Some (Machine f (ring m) (out m) ((n, at_pts) :: gone m) ((n, at_pts) :: made m))
    | Refused, _ => Some (Machine f (ring m) (out m) (gone m) (made m))
    end
  | Consume =>
    let '(f, answer) := deliver (decided m) (oldest_pts_of (ring m)) in
    match answer, ring m with
    | Item marker, x :: rest => Some (Machine f rest ((x, marker) :: out m) (gone m) (made m))
    | Item _, [] => None
    | _, [] => Some (Machine f [] (out m) (gone m) (made m))
    | _, _ :: _ => None
    end
  | Stop why =>
    Some (Machine (fst (end_capture (decided m) why)) (ring m) (out m) (gone m) (made m))
  | Leave =>
    let '(f, n) := abandon (decided m) in
    if n =? size (ring m) then Some (Machine f [] (out m) (rev (ring m) ++ gone m) (made m))
    else None
  end.

(** Reached in [n] steps from a fresh feed. *)
Inductive reached : N -> machine -> Prop :=
| reached_fresh room on_overrun f :
    fits room -> opened room on_overrun = Some f -> reached 0 (Machine f [] [] [] [])
| reached_step n m e m' : reached n m -> step m e = Some m' -> reached (n + 1) m'.

(** What the markers say was lost, in all. *)
Fixpoint stamped (l : list (item * option gap)) : N :=
  match l with
  | [] => 0
  | (_, Some g) :: older => lost g + stamped older
  | (_, None) :: older => stamped older
  end.

(** The number that would come next without a loss, and the time of the last. *)
Definition next_of (l : list (item * option gap)) : N :=
  match l with [] => 0 | (x, _) :: _ => number x + 1 end.
Definition last_of (l : list (item * option gap)) : option N :=
  match l with [] => None | (x, _) :: _ => Some (pts x) end.

(** Every marker tells just what is missing before its item, and since when. *)
Fixpoint exactly_marked (l : list (item * option gap)) : Prop :=
  match l with
  | [] => True
  | (x, marker) :: older =>
    match marker with
    | None => number x = next_of older
    | Some g =>
      0 < lost g /\ number x = next_of older + lost g /\
      duration_us g = match last_of older with None => 0 | Some p => pts x - p end
    end /\ exactly_marked older
  end.

(** Consecutive numbers from [from] on. *)
Fixpoint consecutive (from : N) (l : list item) : Prop :=
  match l with
  | [] => True
  | x :: rest => number x = from /\ consecutive (from + 1) rest
  end.

(** How many of [l] have a number below [bound]. *)
Fixpoint below (bound : N) (l : list item) : N :=
  match l with
  | [] => 0
  | x :: rest => (if number x <? bound then 1 else 0) + below bound rest
  end.

Lemma number_pair n p : number (n, p) = n.
Proof. reflexivity. Qed.

Arguments U64.sat_add : simpl never.
Arguments U64.sat_sub : simpl never.
Arguments number : simpl never.

Lemma below_mono b b' l : b <= b' -> below b l <= below b' l.
Proof.
  intros Hb; induction l as [|x l IH]; cbn; [lia|].
  destruct (N.ltb_spec (number x) b), (N.ltb_spec (number x) b'); lia.
Qed.

Lemma below_all b l : below b l <= size l.
Proof.
  induction l as [|x l IH]; cbn; rewrite ?size_cons; [lia|].
  destruct (N.ltb_spec (number x) b); lia.
Qed.

Lemma consecutive_app from l k :
  consecutive from (l ++ k) <-> consecutive from l /\ consecutive (from + size l) k.
Proof.
  revert from; induction l as [|x l IH]; intros from; cbn [app consecutive].
  - rewrite size_nil, N.add_0_r; tauto.
  - rewrite IH, size_cons.
    replace (from + 1 + size l) with (from + (size l + 1)) by lia; tauto.
Qed.

Lemma below_app b l k : below b (l ++ k) = below b l + below b k.
Proof. induction l; cbn [app below]; lia. Qed.

Lemma below_rev b l : below b (rev l) = below b l.
Proof. induction l; cbn [rev below]; rewrite ?below_app; cbn [below]; lia. Qed.

Lemma below_consecutive b from l : consecutive from l -> b <= from -> below b l = 0.
Proof.
  revert from; induction l as [|x l IH]; intros from; cbn [consecutive below]; [lia|].
  intros [Hx Hl] Hb; rewrite (IH (from + 1)) by (trivial; lia).
  destruct (N.ltb_spec (number x) b); lia.
Qed.

(** What holds at every moment, as long as no counter could have run over. *)
Record sound (n : N) (m : machine) : Prop := Sound {
  s_room : 1 <= capacity (decided m) /\ fits (capacity (decided m));
  s_ring : held (decided m) = size (ring m) /\ size (ring m) <= capacity (decided m);
  s_steps : captured (decided m) <= n;
  s_out : delivered (decided m) = size (out m);
  s_gone : dropped (decided m) = size (gone m);
  s_sum : captured (decided m) = delivered (decided m) + dropped (decided m) + held (decided m);
  s_over : overruns (decided m) <= dropped (decided m);
  s_told : dropped (decided m) = stamped (out m) + before (decided m) + behind (decided m);
  s_behind : phase (decided m) = Capturing -> behind (decided m) = 0;
  s_last : last_pts (decided m) = last_of (out m);
  s_mark : exactly_marked (out m);
  s_row : consecutive (next_of (out m) + before (decided m)) (ring m);
  s_all : captured (decided m)
          = next_of (out m) + before (decided m) + size (ring m) + behind (decided m);
  s_below : below (next_of (out m)) (gone m) = stamped (out m);
  s_around : forall b,
      next_of (out m) + before (decided m) <= b <=
      next_of (out m) + before (decided m) + size (ring m) ->
      below b (gone m) = stamped (out m) + before (decided m);
}.

Lemma step_sound n m e m' :
  sound n m -> fits (n + 1) -> step m e = Some m' -> sound (n + 1) m'.
Proof.
  destruct m as [f r o g hist]; destruct f as [cap pol ph hd ca dl dr ov bf bh lp].
  intros H Hn Hs.
  destruct H as [Hroom Hring Hsteps Hout Hgone Hsum Hover Htold Hbehind Hlast Hmark Hrow Hall
    Hbelow Haround]; cbn in *.
  assert (Hsat : forall x, x <= n -> sat_add x 1 = x + 1)
    by (intros x Hx; apply sat_add_exact; unfold fits in *; lia).
  assert (Hsat2 : sat_add dr hd = dr + hd)
    by (apply sat_add_exact; unfold fits in *; lia).
  assert (Hsat3 : sat_add bh hd = bh + hd)
    by (apply sat_add_exact; unfold fits in *; lia).
  destruct e as [p| |why|]; cbn in Hs.
  - (* produce *)
    unfold capture in Hs; cbn in Hs; destruct ph as [|w]; cbn in Hs;
      [|injection Hs as <-; constructor; cbn; auto; lia].
    specialize (Hbehind eq_refl); subst bh.
    destruct (U64.ltb hd cap) eqn:Hfull; cbn in Hs.
    + apply ltb_spec in Hfull; injection Hs as <-.
      constructor; cbn; rewrite ?size_app, ?size_cons, ?size_nil, ?Hsat by lia; auto; try lia.
      * apply consecutive_app; cbn; split; [trivial|]; rewrite number_pair; lia.
      * intros b Hb; destruct (N.eq_dec b (next_of o + bf + size r + 1)) as [->|];
          [|apply Haround; lia].
        specialize (Haround (next_of o + bf + size r)).
        pose proof (below_mono (next_of o + bf + size r) (next_of o + bf + size r + 1) g).
        pose proof (below_all (next_of o + bf + size r + 1) g); lia.
    + apply Bool.not_true_iff_false in Hfull; rewrite ltb_spec in Hfull.
      destruct pol; cbn in Hs.
      * destruct r as [|x r]; [discriminate|]; injection Hs as <-.
        rewrite size_cons in *; destruct Hrow as [Hx Hrow].
        constructor; cbn; rewrite ?size_app, ?size_cons, ?size_nil, ?Hsat by lia; auto; try lia.
        -- apply consecutive_app; cbn; rewrite number_pair; split; [|lia].
           replace (next_of o + (bf + 1)) with (next_of o + bf + 1) by lia; trivial.
        -- rewrite Hbelow; destruct (N.ltb_spec (number x) (next_of o)); lia.
        -- intros b Hb; destruct (N.ltb_spec (number x) b); [|lia].
           destruct (N.eq_dec b (next_of o + bf + size r + 2)) as [->|]; [|rewrite Haround; lia].
           specialize (Haround (next_of o + bf + size r + 1)).
           pose proof (below_mono (next_of o + bf + size r + 1) (next_of o + bf + size r + 2) g).
           pose proof (below_all (next_of o + bf + size r + 2) g); lia.
      * injection Hs as <-.
        constructor; cbn; rewrite ?size_app, ?size_cons, ?size_nil, ?Hsat by lia; auto; try lia;
          try discriminate.
        -- rewrite number_pair, Hbelow.
           destruct (N.ltb_spec ca (next_of o)); lia.
        -- intros b Hb; rewrite number_pair, Haround by lia.
           destruct (N.ltb_spec ca b); lia.
  - (* consume *)
    unfold deliver in Hs; cbn in Hs; destruct (U64.eqb hd 0) eqn:Hz.
    + apply eqb_spec in Hz; destruct r as [|x r]; [|rewrite size_cons in *; lia].
      destruct ph as [|w]; injection Hs as <-; constructor; cbn; auto; lia.
    + apply Bool.not_true_iff_false in Hz; rewrite eqb_spec in Hz.
      destruct r as [|x r]; [discriminate|]; injection Hs as <-.
      rewrite size_cons in *; destruct Hrow as [Hx Hrow].
      assert (Hd : sat_sub hd 1 = size r) by (unfold sat_sub; lia).
      assert (Hstamp : match (if U64.eqb bf 0 then None
          else match lp with Some p => Some (Gap bf (sat_sub (pts x) p)) | None => Some (Gap bf 0) end)
          with Some g0 => lost g0 | None => 0 end = bf).
      { destruct (U64.eqb bf 0) eqn:Hb; [apply eqb_spec in Hb; lia|destruct lp; cbn; lia]. }
      set (marker := if U64.eqb bf 0 then None else _) in *.
      assert (Hst : stamped ((x, marker) :: o) = bf + stamped o)
        by (cbn; destruct marker; lia).
      assert (Hb1 : below (number x + 1) g = stamped o + bf) by (apply Haround; lia).
      constructor; cbn -[stamped exactly_marked]; rewrite ?size_cons, ?Hst, ?Hd, ?Hsat by lia;
        auto; try lia.
      * cbn; split; [|trivial]; subst marker; rewrite Hlast.
        destruct (U64.eqb bf 0) eqn:Hb; [apply eqb_spec in Hb; lia|].
        apply Bool.not_true_iff_false in Hb; rewrite eqb_spec in Hb.
        destruct (last_of o); cbn; unfold sat_sub; repeat split; lia.
      * replace (number x + 1 + 0) with (next_of o + bf + 1) by lia; trivial.
      * intros b Hb; rewrite Haround; lia.
  - (* stop *)
    injection Hs as <-; unfold end_capture; cbn; destruct ph; cbn; constructor; cbn; auto; try lia;
      try discriminate.
  - (* leave *)
    destruct (hd =? size r) eqn:He; [|discriminate]; injection Hs as <-.
    constructor; cbn; rewrite ?size_app, ?size_rev, ?size_nil, ?Hsat2, ?Hsat3; auto; try lia.
    + destruct ph; discriminate.
    + rewrite below_app, below_rev, (below_consecutive _ _ _ Hrow) by lia; lia.
    + intros b Hb; rewrite below_app, below_rev, (below_consecutive _ _ _ Hrow) by lia.
      rewrite Haround; lia.
Qed.

Lemma reached_sound n m : reached n m -> fits n -> sound n m.
Proof.
  induction 1 as [room pol f Hf Ho|n m e m' _ IH Hs]; intros Hn.
  - unfold opened in Ho; destruct (U64.eqb room 0) eqn:Hz; [discriminate|].
    apply Bool.not_true_iff_false in Hz; rewrite eqb_spec in Hz.
    injection Ho as <-; constructor; cbn; rewrite ?size_nil; auto; try lia; unfold fits in *; lia.
  - apply (step_sound n m e); auto; apply IH; unfold fits in *; lia.
Qed.

(** Conservation, exactly and at every moment (HZ-V01): every item captured is delivered, counted as
    dropped or in the ring, and the counters say what the lists hold. *)
Theorem conservation n m :
  reached n m -> fits n ->
  captured (decided m) = delivered (decided m) + dropped (decided m) + held (decided m)
  /\ delivered (decided m) = size (out m)
  /\ dropped (decided m) = size (gone m)
  /\ held (decided m) = size (ring m).
Proof. intros Hr Hn; destruct (reached_sound n m Hr Hn); intuition. Qed.

(** No counter ever runs over while fewer than 2^64 things have happened. *)
Theorem no_overflow n m :
  reached n m -> fits n ->
  captured (decided m) <= n /\ delivered (decided m) <= n /\ dropped (decided m) <= n
  /\ overruns (decided m) <= dropped (decided m).
Proof. intros Hr Hn; destruct (reached_sound n m Hr Hn); intuition lia. Qed.

(** The ring never holds more than its room. *)
Theorem ring_bounded n m :
  reached n m -> fits n -> size (ring m) <= capacity (decided m).
Proof. intros Hr Hn; destruct (reached_sound n m Hr Hn); intuition. Qed.

(** Every captured item is in exactly one place: in the ring, delivered, or lost. *)
Theorem each_item_in_one_place n m :
  reached n m -> Permutation (ring m ++ map fst (out m) ++ gone m) (made m).
Proof.
  induction 1 as [|n m e m' _ IH Hs]; [constructor|].
  destruct m as [f r o g hist]; cbn in *.
  destruct e as [p| |why|]; cbn in Hs.
  - destruct (capture f) as [f' [k|k|k|]]; [| destruct r as [|x r]; [discriminate|] | |];
      injection Hs as <-; cbn; trivial.
    + rewrite <- app_assoc; cbn; symmetry; apply Permutation_cons_app; symmetry; trivial.
    + rewrite <- app_assoc; cbn.
      symmetry; apply Permutation_cons_app; symmetry.
      rewrite <- IH; cbn; rewrite !app_assoc; symmetry; apply Permutation_middle.
    + symmetry; rewrite app_assoc; apply Permutation_cons_app; rewrite <- app_assoc; symmetry; trivial.
  - destruct (deliver f (oldest_pts_of r)) as [f' [k| |w k]]; destruct r as [|x r];
      try discriminate; try (injection Hs as <-; exact IH).
    injection Hs as <-; cbn; rewrite <- IH; symmetry; apply Permutation_middle.
  - injection Hs as <-; trivial.
  - destruct (held f =? size r); [|discriminate].
    injection Hs as <-; cbn; rewrite <- IH.
    rewrite (Permutation_app_comm r), <- app_assoc.
    apply Permutation_app_head; rewrite Permutation_app_comm.
    apply Permutation_app_head; symmetry; apply Permutation_rev.
Qed.

(** Nothing ever stands still: whatever comes, the decision's answer fits the ring, and the capture
    side is told at once what to do with its item. *)
Theorem never_stuck n m e :
  reached n m -> fits n -> exists m', step m e = Some m'.
Proof.
  intros Hr Hn; destruct (reached_sound n m Hr Hn) as [Hroom Hring _ _ _ _ _ _ _ _ _ _ _ _ _].
  destruct m as [f r o g hist], f as [cap pol ph hd ca dl dr ov bf bh lp]; cbn in *.
  destruct e as [p| |why|]; cbn.
  - unfold capture; cbn; destruct ph; [|eauto].
    destruct (U64.ltb hd cap) eqn:Hf; [eauto|].
    apply Bool.not_true_iff_false in Hf; rewrite ltb_spec in Hf.
    destruct pol; [|eauto]; destruct r; [rewrite size_nil in *; lia|eauto].
  - unfold deliver; cbn; destruct (U64.eqb hd 0) eqn:Hz.
    + apply eqb_spec in Hz; destruct r; [destruct ph; eauto|rewrite size_cons in *; lia].
    + apply Bool.not_true_iff_false in Hz; rewrite eqb_spec in Hz.
      destruct r; [rewrite size_nil in *; lia|eauto].
  - eauto.
  - destruct (hd =? size r) eqn:He; [eauto|lia].
Qed.

(** A running feed takes every item: it is stored, or one item is lost and counted as one overrun.
    Never both, never neither; and what was delivered plays no part. *)
Theorem capture_stores_or_counts n m p m' :
  reached n m -> fits (n + 1) -> phase (decided m) = Capturing ->
  step m (Produce p) = Some m' ->
  captured (decided m') = captured (decided m) + 1
  /\ delivered (decided m') = delivered (decided m)
  /\ ((held (decided m') = held (decided m) + 1
       /\ dropped (decided m') = dropped (decided m)
       /\ overruns (decided m') = overruns (decided m))
      \/ (held (decided m') = held (decided m)
          /\ size (ring m) = capacity (decided m)
          /\ dropped (decided m') = dropped (decided m) + 1
          /\ overruns (decided m') = overruns (decided m) + 1)).
Proof.
  intros Hr Hn Hp Hs.
  assert (Hn' : fits n) by (unfold fits in *; lia).
  destruct (reached_sound n m Hr Hn') as [Hroom Hring Hsteps _ _ Hsum Hover _ _ _ _ _ _ _ _].
  destruct m as [f r o g hist], f as [cap pol ph hd ca dl dr ov bf bh lp]; cbn in *; subst ph.
  assert (Hsat : forall x, x <= n -> sat_add x 1 = x + 1)
    by (intros x Hx; apply sat_add_exact; unfold fits in *; lia).
  unfold capture in Hs; cbn in Hs; destruct (U64.ltb hd cap) eqn:Hf.
  - injection Hs as <-; cbn; rewrite !Hsat by lia; intuition lia.
  - apply Bool.not_true_iff_false in Hf; rewrite ltb_spec in Hf.
    destruct pol; [destruct r; [discriminate|]|]; injection Hs as <-; cbn;
      rewrite !Hsat by lia; (split; [|split]); trivial; right; intuition lia.
Qed.

(** Under drop-oldest the newest item is in the ring, always. *)
Theorem newest_is_kept n m p m' :
  reached n m -> fits n -> phase (decided m) = Capturing -> policy (decided m) = DropOldest ->
  step m (Produce p) = Some m' ->
  exists older, ring m' = older ++ [(captured (decided m), p)]
                /\ phase (decided m') = Capturing.
Proof.
  intros Hr Hn Hp Hpol Hs.
  destruct m as [f r o g hist], f as [cap pol ph hd ca dl dr ov bf bh lp]; cbn in *; subst ph pol.
  unfold capture in Hs; cbn in Hs; destruct (U64.ltb hd cap);
    [|destruct r as [|x r]; [discriminate|]]; injection Hs as <-; cbn; eauto.
Qed.

(** Only an item that finds the ring full is an overrun: nothing else moves that counter, and items
    thrown away because nobody wants them are dropped without being overruns. *)
Theorem overruns_only_at_capture n m e m' :
  reached n m -> fits n -> step m e = Some m' -> (forall p, e <> Produce p) ->
  overruns (decided m') = overruns (decided m)
  /\ (e = Leave -> dropped (decided m') = dropped (decided m) + size (ring m) /\ ring m' = []).
Proof.
  intros Hr Hn Hs He.
  destruct (reached_sound n m Hr Hn) as [_ Hring Hsteps _ _ Hsum _ _ _ _ _ _ _ _ _].
  destruct m as [f r o g hist], f as [cap pol ph hd ca dl dr ov bf bh lp]; cbn in *.
  destruct e as [p| |why|]; cbn in Hs; [now destruct (He p)| | |].
  - split; [|discriminate]; unfold deliver in Hs; cbn in Hs.
    destruct (U64.eqb hd 0), ph, r; try discriminate; injection Hs as <-; trivial.
  - injection Hs as <-; split; [|discriminate]; unfold end_capture; cbn; destruct ph; trivial.
  - destruct (hd =? size r); [|discriminate]; injection Hs as <-; cbn; split; trivial.
    intros _; split; trivial; rewrite sat_add_exact; [lia|unfold fits in *; lia].
Qed.

(** Every marker is exact (HZ-V02): the item's number less that of the item delivered before, less
    one, is what its marker says was lost, and no marker means none; its duration is the distance of
    the two presentation times. *)
Theorem every_gap_is_exact n m : reached n m -> fits n -> exactly_marked (out m).
Proof. intros Hr Hn; destruct (reached_sound n m Hr Hn); trivial. Qed.

(** The sum of all markers is the number of items that were lost before the last delivered item;
    nothing lost behind an item is told with it. *)
Theorem gaps_tell_losses_before n m :
  reached n m -> fits n -> stamped (out m) = below (next_of (out m)) (gone m).
Proof. intros Hr Hn; destruct (reached_sound n m Hr Hn); auto. Qed.

(** The end is told when the ring is empty, never before, with all that no marker has told: markers
    and the end together tell every loss, and nothing is held. *)
Theorem end_tells_the_rest n m p why rest f :
  reached n m -> fits n -> deliver (decided m) p = (f, Over why rest) ->
  ring m = [] /\ phase (decided m) = Ending why /\ f = decided m
  /\ stamped (out m) + rest = dropped (decided m)
  /\ captured (decided m) = delivered (decided m) + dropped (decided m).
Proof.
  intros Hr Hn Hd.
  destruct (reached_sound n m Hr Hn) as [_ Hring Hsteps _ _ Hsum _ Htold _ _ _ _ _ _ _].
  destruct m as [f0 r o g hist], f0 as [cap pol ph hd ca dl dr ov bf bh lp]; cbn in *.
  unfold deliver in Hd; cbn in Hd; destruct (U64.eqb hd 0) eqn:Hz; [|discriminate].
  apply eqb_spec in Hz; destruct ph as [|w]; [discriminate|]; injection Hd as <- <- <-.
  destruct r; [|rewrite size_cons in *; lia].
  rewrite sat_add_exact by (unfold fits in *; lia); intuition lia.
Qed.

(** A consumer waits only while the feed is running and the ring is empty. *)
Theorem waits_only_for_the_device n m p f :
  reached n m -> fits n -> deliver (decided m) p = (f, Empty) ->
  ring m = [] /\ phase (decided m) = Capturing.
Proof.
  intros Hr Hn Hd.
  destruct (reached_sound n m Hr Hn) as [_ Hring _ _ _ _ _ _ _ _ _ _ _ _ _].
  destruct m as [f0 r o g hist], f0 as [cap pol ph hd ca dl dr ov bf bh lp]; cbn in *.
  unfold deliver in Hd; cbn in Hd; destruct (U64.eqb hd 0) eqn:Hz; [|discriminate].
  apply eqb_spec in Hz; destruct ph as [|w]; [|discriminate].
  destruct r; [tauto|rewrite size_cons in *; lia].
Qed.

(** The first end stays, whatever comes after it; and nothing is captured any more. *)
Theorem first_end_stays m e m' why :
  phase (decided m) = Ending why -> step m e = Some m' ->
  phase (decided m') = Ending why /\ captured (decided m') = captured (decided m)
  /\ made m' = made m.
Proof.
  intros Hp Hs.
  destruct m as [f r o g hist], f as [cap pol ph hd ca dl dr ov bf bh lp]; cbn in *; subst ph.
  destruct e as [p| |w|]; cbn in Hs.
  - injection Hs as <-; auto.
  - unfold deliver in Hs; cbn in Hs.
    destruct (U64.eqb hd 0), r; try discriminate; injection Hs as <-; auto.
  - injection Hs as <-; auto.
  - destruct (hd =? size r); [|discriminate]; injection Hs as <-; auto.
Qed.

(** A feed that must lose nothing (policy fail) delivers 0, 1, 2, … without a gap, also what it held
    when an item overran it; then it ends. *)
Theorem fail_delivers_without_a_gap n m :
  reached n m -> fits n -> policy (decided m) = Fail ->
  stamped (out m) = 0 /\ next_of (out m) = size (out m)
  /\ (0 < overruns (decided m) -> exists why, phase (decided m) = Ending why).
Proof.
  intros Hr Hn Hpol.
  assert (H : before (decided m) = 0 /\ stamped (out m) = 0
              /\ (0 < overruns (decided m) -> exists why, phase (decided m) = Ending why)).
  { revert Hn Hpol; induction Hr as [room pol f Hf Ho|n m e m' Hr IH Hs]; intros Hn Hpol.
    - unfold opened in Ho; destruct (U64.eqb room 0); [discriminate|]; injection Ho as <-; cbn.
      repeat split; lia.
    - assert (Hn' : fits n) by (unfold fits in *; lia).
      specialize (IH Hn').
      destruct m as [f r o g hist], f as [cap pol ph hd ca dl dr ov bf bh lp]; cbn in *.
      destruct e as [p| |w|]; cbn in Hs.
      + unfold capture in Hs; cbn in Hs; destruct ph as [|w]; cbn in Hs;
          [|injection Hs as <-; cbn in *; auto].
        destruct (U64.ltb hd cap); [injection Hs as <-; cbn in *; auto|].
        destruct pol; [destruct r; [discriminate|]; injection Hs as <-; discriminate|].
        injection Hs as <-; cbn; specialize (IH eq_refl); intuition eauto.
      + unfold deliver in Hs; cbn in Hs; destruct (U64.eqb hd 0), ph, r; try discriminate;
          injection Hs as <-; cbn in *; specialize (IH Hpol); destruct IH as (-> & Hst & Ho);
          cbn; intuition eauto.
      + injection Hs as <-; unfold end_capture in *; cbn in *; destruct ph; cbn in *;
          specialize (IH Hpol); intuition eauto.
      + destruct (hd =? size r); [|discriminate]; injection Hs as <-; cbn in *.
        specialize (IH Hpol); destruct ph; intuition eauto. }
  destruct H as (_ & Hst & Ho); split; [trivial|split; [|trivial]].
  destruct (reached_sound n m Hr Hn) as [_ _ _ _ _ _ _ _ _ _ Hmark _ _ _ _].
  revert Hst Hmark; clear; induction (out m) as [|[x k] l IH]; cbn; [reflexivity|].
  rewrite size_cons; destruct k as [k|]; intros Hst [Hx Hl]; [lia|].
  rewrite Hx, IH; trivial.
Qed.
