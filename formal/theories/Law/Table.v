(** Laws of the request table (D1 to D5): the decisions with the live requests and the ring of the
    ended round them. *)

From Coq Require Import Arith NArith Bool List Lia ZifyBool ZifyN ZifyNat.
From Sluicegate Require Import Base.U64 Base.Tactics Decide.Disposition.
Import ListNotations.

Set Default Timeout 30.
Open Scope N_scope.

Section Table.

(** Whatever identifies a request. *)
Variable id : Type.
Variable same : forall a b : id, {a = b} + {a <> b}.

Record table := Table {
  live : list id;
  ring : list id;      (** ended, oldest first *)
  link_over : bool;
  routed : nat;        (** frames that were routed *)
  stragglers : nat;    (** frames that crossed their request's end *)
  strays : nat;        (** frames dropped for the reason no_route *)
}.

Inductive op :=
| Register (a : id) (limit : N)
| EndOf (a : id)       (** a terminal: END, ERR, cancelled, the peer died *)
| Refuse (a : id)      (** a request that was not let in is answered, and counts as ended *)
| Evict (a : id)       (** a live entry is given up without its terminal *)
| LinkOver
| Frame (a : id).      (** a frame for this id *)

Definition has (l : list id) (a : id) : bool := if in_dec same a l then true else false.

Definition drop (a : id) (l : list id) : list id := filter (fun b => if same a b then false else true) l.

(** The ring after an end. *)
Definition noted (l : list id) (a : id) : list id :=
  match remember (has l a) (N.of_nat (length l)) with
  | Renew => drop a l ++ [a]
  | Enter => l ++ [a]
  | EnterForgetOldest => tl l ++ [a]
  end.

Definition step (t : table) (o : op) : table :=
  let 'Table lv rg ov rt st sy := t in
  match o with
  | Register a limit =>
      match register ov (has lv a) (N.of_nat (length lv)) limit with
      | Registered => Table (a :: lv) rg ov rt st sy
      | _ => t
      end
  | EndOf a => if has lv a then Table (drop a lv) (noted rg a) ov rt st sy else t
  | Refuse a => Table lv (noted rg a) ov rt st sy
  | Evict a => Table (drop a lv) rg ov rt st sy
  | LinkOver => Table lv rg true rt st sy
  | Frame a =>
      match dispose (has lv a) (has rg a) with
      | Route => Table lv rg ov (rt + 1) st sy
      | Straggler => Table lv rg ov rt (st + 1) sy
      | NoRoute => Table lv rg ov rt st (sy + 1)
      end
  end.

Definition empty : table := Table [] [] false 0 0 0.

Definition run (ops : list op) (t : table) : table := fold_left step ops t.

(** What becomes of a frame for [a] now. *)
Definition disposed (t : table) (a : id) : disposition := dispose (has (live t) a) (has (ring t) a).

Lemma has_in (l : list id) (a : id) : has l a = true <-> In a l.
Proof. unfold has; destruct (in_dec _ _ _); intuition discriminate. Qed.

Lemma in_drop (a b : id) (l : list id) : In b (drop a l) <-> In b l /\ a <> b.
Proof. unfold drop; rewrite filter_In; destruct (same a b); intuition discriminate. Qed.

(** D1: a frame is routed if and only if its request is live. *)
Theorem route_iff_live (t : table) (a : id) : disposed t a = Route <-> In a (live t).
Proof.
  unfold disposed, dispose; rewrite <- has_in;
    destruct (has (live t) a), (has (ring t) a); intuition congruence.
Qed.

(** D2, L8: it is a straggler if and only if its request is not live and ended lately. *)
Theorem straggler_iff_ended (t : table) (a : id) :
  disposed t a = Straggler <-> ~ In a (live t) /\ In a (ring t).
Proof.
  unfold disposed, dispose; rewrite <- !has_in;
    destruct (has (live t) a), (has (ring t) a); intuition congruence.
Qed.

(** D3, L6: it has no route if and only if its request is neither. *)
Theorem no_route_iff_neither (t : table) (a : id) :
  disposed t a = NoRoute <-> ~ In a (live t) /\ ~ In a (ring t).
Proof.
  unfold disposed, dispose; rewrite <- !has_in;
    destruct (has (live t) a), (has (ring t) a); intuition congruence.
Qed.

(** D4, L8: each frame moves one counter by one and no other: the one of what became of it. *)
Theorem one_counter_moves (t : table) (a : id) :
  let t' := step t (Frame a) in
  live t' = live t /\ ring t' = ring t /\
  match disposed t a with
  | Route => (routed t', stragglers t', strays t') = (routed t + 1, stragglers t, strays t)%nat
  | Straggler => (routed t', stragglers t', strays t') = (routed t, stragglers t + 1, strays t)%nat
  | NoRoute => (routed t', stragglers t', strays t') = (routed t, stragglers t, strays t + 1)%nat
  end.
Proof. destruct t; unfold disposed; cbn; destruct (dispose _ _); auto. Qed.

(** L8: and nothing but a frame moves a counter. *)
Theorem only_frames_are_counted (t : table) (o : op) :
  (forall a, o <> Frame a) ->
  (routed (step t o), stragglers (step t o), strays (step t o)) = (routed t, stragglers t, strays t).
Proof.
  intros N; destruct t; destruct o; cbn; try reflexivity; try (destruct (register _ _ _ _); reflexivity);
    [destruct (has _ _); reflexivity|exfalso; eapply N; reflexivity].
Qed.

(** L7: a request is let in if and only if the link lives, its id is not live, and there is room. *)
Theorem registered_iff_free (t : table) (a : id) (limit : N) :
  register (link_over t) (has (live t) a) (N.of_nat (length (live t))) limit = Registered <->
  link_over t = false /\ ~ In a (live t) /\ N.of_nat (length (live t)) < limit.
Proof.
  unfold register; rewrite <- has_in; split_ifs; split; intros; try discriminate; intuition (congruence || u64).
Qed.

(** The reason of a refusal: the link's end first, then the id, then the limit. *)
Theorem refused_because (closed alive : bool) (count limit : N) :
  (register closed alive count limit = LinkClosed <-> closed = true)
  /\ (register closed alive count limit = AlreadyLive <-> closed = false /\ alive = true)
  /\ (register closed alive count limit = Full <-> closed = false /\ alive = false /\ limit <= count).
Proof. unfold register; destruct closed, alive; split_ifs; intuition (congruence || u64). Qed.

(** * What holds always *)

Record sound (t : table) : Prop := {
  live_once : NoDup (live t);
  ring_once : NoDup (ring t);
  ring_bounded : N.of_nat (length (ring t)) <= ring_size;
}.

Lemma drop_absent (a : id) (l : list id) : ~ In a l -> drop a l = l.
Proof.
  induction l as [|b l IH]; cbn; intros N; [reflexivity|].
  destruct (same a b) as [->|]; [exfalso; auto|]; fold (drop a l); rewrite IH; auto.
Qed.

Lemma drop_length (a : id) (l : list id) :
  NoDup l -> In a l -> length l = Datatypes.S (length (drop a l)).
Proof.
  induction l as [|b l IH]; cbn; intros D I; [tauto|]; apply NoDup_cons_iff in D as [D1 D2].
  destruct (same a b) as [->|N]; cbn.
  - fold (drop b l); rewrite drop_absent by exact D1; reflexivity.
  - fold (drop a l); destruct I as [->|I]; [congruence|]; rewrite (IH D2 I); reflexivity.
Qed.

Lemma nodup_drop (a : id) (l : list id) : NoDup l -> NoDup (drop a l).
Proof. apply NoDup_filter. Qed.

Lemma nodup_snoc (a : id) (l : list id) : NoDup l -> ~ In a l -> NoDup (l ++ [a]).
Proof.
  intros D N; apply NoDup_Add with (a := a) (l := l); [|auto].
  rewrite <- (app_nil_r l) at 1; apply Add_app.
Qed.

Lemma noted_sound (l : list id) (a : id) :
  NoDup l -> N.of_nat (length l) <= ring_size ->
  NoDup (noted l a) /\ N.of_nat (length (noted l a)) <= ring_size /\ In a (noted l a).
Proof.
  intros D L; unfold noted, remember; destruct (has l a) eqn:H.
  - apply has_in in H; pose proof (drop_length a l D H).
    rewrite app_length, in_app_iff; cbn; repeat split; [|lia|auto].
    apply nodup_snoc; [apply nodup_drop, D|rewrite in_drop; tauto].
  - assert (~ In a l) as N by (rewrite <- has_in; congruence).
    destruct (U64.ltb _ _) eqn:B; rewrite app_length, in_app_iff; cbn; repeat split; auto.
    + apply nodup_snoc; auto.
    + u64.
    + destruct l as [|b l]; cbn in *; [repeat constructor; auto|].
      apply NoDup_cons_iff in D as [D1 D2]; apply nodup_snoc; auto.
    + destruct l as [|b l]; cbn [tl length] in *; unfold ring_size in *; u64.
Qed.

Lemma step_sound (t : table) (o : op) : sound t -> sound (step t o).
Proof.
  intros [S1 S2 S3]; destruct t as [lv rg ov rt st sy]; destruct o as [a n|a|a|a| |a]; cbn in *.
  - destruct (register _ _ _ _) eqn:R; try (constructor; assumption).
    constructor; cbn; auto; constructor; auto; rewrite <- has_in; intros H; rewrite H in R.
    unfold register in R; split_ifs; discriminate.
  - destruct (has lv a) eqn:H; [|constructor; assumption].
    destruct (noted_sound rg a S2 S3) as (? & ? & _); constructor; cbn; auto using nodup_drop.
  - destruct (noted_sound rg a S2 S3) as (? & ? & _); constructor; cbn; auto.
  - constructor; cbn; auto using nodup_drop.
  - constructor; cbn; auto.
  - destruct (dispose _ _); constructor; cbn; auto.
Qed.

Lemma run_sound (ops : list op) (t : table) : sound t -> sound (run ops t).
Proof. revert t; induction ops as [|o ops IH]; cbn; auto using step_sound. Qed.

Lemma empty_sound : sound empty.
Proof. constructor; cbn; try constructor; unfold ring_size; lia. Qed.

(** L7: an id is live at most once, and remembered at most once; the ring never holds more than 64. *)
Theorem once_and_bounded (ops : list op) :
  NoDup (live (run ops empty)) /\ NoDup (ring (run ops empty))
  /\ (length (ring (run ops empty)) <= 64)%nat.
Proof.
  destruct (run_sound ops _ empty_sound) as [S1 S2 S3]; unfold ring_size in S3; repeat split; auto; lia.
Qed.

(** L7: an end takes a live request out and puts its id into the ring; so its later frames are
    stragglers. A second end changes nothing. *)
Theorem ended_once (ops : list op) (a : id) :
  let t := run ops empty in
  In a (live t) -> disposed (step t (EndOf a)) a = Straggler
  /\ step (step t (EndOf a)) (EndOf a) = step t (EndOf a).
Proof.
  intros t I; pose proof (run_sound ops _ empty_sound) as [S1 S2 S3]; fold t in S1, S2, S3.
  rewrite straggler_iff_ended; destruct t as [lv rg ov rt st sy]; cbn in *.
  apply has_in in I as H; rewrite H; cbn.
  assert (~ In a (drop a lv)) as N by (rewrite in_drop; tauto).
  destruct (noted_sound rg a S2 S3) as (_ & _ & IN); repeat split; auto.
  destruct (has (drop a lv) a) eqn:X; [apply has_in in X; tauto|reflexivity].
Qed.

(** An id that is registered again after its end is live again. *)
Theorem live_again (t : table) (a : id) (limit : N) :
  link_over t = false -> ~ In a (live t) -> N.of_nat (length (live t)) < limit ->
  disposed (step t (Register a limit)) a = Route.
Proof.
  intros O N L; apply route_iff_live; destruct t as [lv rg ov rt st sy]; cbn in *.
  pose proof (proj2 (registered_iff_free (Table lv rg ov rt st sy) a limit)) as R; cbn in R.
  rewrite R by auto; left; reflexivity.
Qed.

(** * How long an end is remembered *)

(** Ends that were noted. *)
Definition ends (o : op) : nat := match o with EndOf _ | Refuse _ => 1 | _ => 0 end.

Fixpoint count_ends (ops : list op) : nat :=
  match ops with [] => 0 | o :: rest => ends o + count_ends rest end.

(** [a] is in the ring with at most [k] newer ones. *)
Definition recent (k : nat) (l : list id) (a : id) : Prop :=
  exists older newer, l = older ++ a :: newer /\ (length newer <= k)%nat.

Lemma drop_app (a : id) (l m : list id) : drop a (l ++ m) = drop a l ++ drop a m.
Proof. apply filter_app. Qed.

Lemma drop_shorter (a : id) (l : list id) : (length (drop a l) <= length l)%nat.
Proof. induction l as [|b l IH]; cbn; [lia|]; destruct (same a b); cbn; fold (drop a l); lia. Qed.

Lemma noted_recent (k : nat) (l : list id) (a b : id) :
  (k < 63)%nat -> N.of_nat (length l) <= ring_size -> recent k l a -> recent (k + 1) (noted l b) a.
Proof.
  intros K L (older & newer & -> & N); unfold noted, remember.
  destruct (same b a) as [->|D].
  { assert (has (older ++ a :: newer) a = true) as -> by (apply has_in, in_app_iff; right; left; reflexivity).
    exists (drop a (older ++ a :: newer)), []; split; [reflexivity|cbn; lia]. }
  destruct (has _ b).
  { exists (drop b older), (drop b newer ++ [b]); split.
    - rewrite drop_app; cbn; destruct (same b a); [congruence|]; fold (drop b newer); rewrite <- app_assoc; reflexivity.
    - rewrite app_length; cbn; pose proof (drop_shorter b newer); lia. }
  destruct (U64.ltb _ _) eqn:B.
  - exists older, (newer ++ [b]); rewrite <- app_assoc, app_length; cbn; split; [reflexivity|lia].
  - rewrite app_length in *; cbn [length] in *; unfold ring_size in *; destruct older as [|c older].
    + cbn in *; u64.
    + exists older, (newer ++ [b]); cbn; rewrite <- app_assoc, app_length; cbn; split; [reflexivity|lia].
Qed.

Lemma run_recent (ops : list op) (t : table) (a : id) (k : nat) :
  sound t -> recent k (ring t) a -> (k + count_ends ops <= 63)%nat ->
  recent (k + count_ends ops) (ring (run ops t)) a.
Proof.
  revert t k; induction ops as [|o ops IH]; cbn [run fold_left count_ends]; intros t k S R K.
  - rewrite Nat.add_0_r; exact R.
  - assert (recent (k + ends o) (ring (step t o)) a) as R1.
    { destruct S as [_ _ S3].
      assert (forall m, recent k m a -> recent (k + 0) m a) as Z by (intros; rewrite Nat.add_0_r; auto).
      assert (forall m, recent k m a -> recent (k + 1) m a) as W
        by (intros m (o1 & n1 & E1 & L1); exists o1, n1; split; [auto|lia]).
      destruct t as [lv rg ov rt st sy]; destruct o as [b n|b|b|b| |b]; cbn in *; auto.
      - destruct (register _ _ _ _); cbn; auto.
      - destruct (has lv b); cbn; auto; apply noted_recent; auto; lia.
      - apply noted_recent; auto; lia.
      - destruct (dispose _ _); cbn; auto. }
    rewrite Nat.add_assoc; apply IH; auto using step_sound; lia.
Qed.

(** D5: an id that ended at most 63 ends ago is never taken for a stray, whatever happened since. *)
Theorem recent_end_is_no_stray (before after : list op) (a : id) :
  let t := run before empty in
  In a (live t) -> (count_ends after <= 63)%nat ->
  disposed (run after (step t (EndOf a))) a <> NoRoute.
Proof.
  intros t I K; pose proof (run_sound before _ empty_sound) as S; fold t in S.
  rewrite no_route_iff_neither; intros [_ N]; apply N; clear N.
  assert (recent 0 (ring (step t (EndOf a))) a) as R.
  { destruct t as [lv rg ov rt st sy]; cbn in *; apply has_in in I; rewrite I; cbn.
    unfold noted; destruct (remember _ _); eexists; exists []; split; cbn; auto. }
  apply (run_recent after) in R as (o & n & E & _); auto using step_sound; rewrite E; apply in_app_iff; right; left; reflexivity.
Qed.

End Table.

(** D5 is exact: the 65th end forgets the first. *)
Theorem the_65th_end_forgets_the_first :
  let ids := map N.of_nat (seq 0 65) in
  let t := run N N.eq_dec (map (Refuse N) ids) (empty N) in
  disposed N N.eq_dec t 0 = NoRoute /\ disposed N N.eq_dec t 1 = Straggler.
Proof. vm_compute; split; reflexivity. Qed.
