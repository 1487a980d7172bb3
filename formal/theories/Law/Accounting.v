(** The three families of what did not arrive: drops, stragglers, overruns. Each frame that a runtime
    sees is counted once and in one place; the families are never mixed (L6, L8). *)

From Coq Require Import NArith List Bool Lia ZifyBool ZifyN.
From Sluicegate Require Base.U64 Decide.Facts Decide.Disposition.
From Sluicegate Require Import Decide.Accounting.
From Sluicegate Require Import Law.Chain Law.ChainHop.
Import ListNotations.

Open Scope N_scope.
Set Default Timeout 30.

Local Arguments N.add : simpl never.

Definition kinds : list Facts.frame_type :=
  [Facts.Hello; Facts.Req; Facts.Chunk; Facts.End; Facts.Log; Facts.Err; Facts.Heartbeat;
   Facts.StreamStart; Facts.StreamEnd; Facts.RelayNotify; Facts.RelayState; Facts.Cancel;
   Facts.Credit; Facts.CloseStream; Facts.Policy].

Definition reasons : list drop_reason :=
  [NoRoute; ChannelClosed; CreditViolation; Cancelled; MasterDied; LimitReached; Protocol; Unread;
   EventUnread; LogLaneFull; NotEncodable].

Lemma every_kind k : In k kinds.
Proof. destruct k; cbn; auto 20. Qed.

Definition same_kind (a b : Facts.frame_type) : bool := Facts.code a =? Facts.code b.

Definition same_reason (a b : drop_reason) : bool :=
  match a, b with
  | NoRoute, NoRoute | ChannelClosed, ChannelClosed | CreditViolation, CreditViolation
  | Cancelled, Cancelled | MasterDied, MasterDied | LimitReached, LimitReached | Protocol, Protocol
  | Unread, Unread | EventUnread, EventUnread | LogLaneFull, LogLaneFull
  | NotEncodable, NotEncodable => true
  | _, _ => false
  end.

Lemma same_kind_spec a b : same_kind a b = true <-> a = b.
Proof. destruct a, b; cbn; split; congruence. Qed.

Lemma same_reason_spec a b : same_reason a b = true <-> a = b.
Proof. destruct a, b; cbn; split; congruence. Qed.

(** The counters of one runtime. *)
Record counters := Counters {
  passed : N; (* frames that went where they belong *)
  drops : drop_reason -> Facts.frame_type -> N;
  stragglers : Facts.frame_type -> N;
  overruns : N; (* items that a live source had to discard *)
}.

Definition none : counters := Counters 0 (fun _ _ => 0) (fun _ => 0) 0.

Definition bump (f : Facts.frame_type -> N) (k : Facts.frame_type) : Facts.frame_type -> N :=
  fun j => if same_kind k j then f j + 1 else f j.

Definition bump_drop (f : drop_reason -> Facts.frame_type -> N) (r : drop_reason) (k : Facts.frame_type) :
  drop_reason -> Facts.frame_type -> N :=
  fun q => if same_reason r q then bump (f q) k else f q.

(** What happens to a runtime. *)
Inductive event :=
| Frame (kind : Facts.frame_type) (live ended_lately : bool) (trouble : option drop_reason)
    (* a frame came whose request is live or not, and ended lately or not; [trouble]: why it could
       not be handed on, if its request is live *)
| Overrun (items : N).

Definition counts (c : counters) (e : event) : counters :=
  match e with
  | Frame k live ended trouble =>
      match fate_of (Disposition.dispose live ended) trouble with
      | Passed => Counters (passed c + 1) (drops c) (stragglers c) (overruns c)
      | Dropped r => Counters (passed c) (bump_drop (drops c) r k) (stragglers c) (overruns c)
      | Late => Counters (passed c) (drops c) (bump (stragglers c) k) (overruns c)
      end
  | Overrun n => Counters (passed c) (drops c) (stragglers c) (overruns c + n)
  end.

Definition after (c : counters) (es : list event) : counters := fold_left counts es c.

(** ** Totals, as a snapshot shows them *)

Definition total (f : Facts.frame_type -> N) : N := sum (map f kinds).
Definition drops_total (f : drop_reason -> Facts.frame_type -> N) : N :=
  sum (map (fun r => total (f r)) reasons).

Definition frames (es : list event) : N :=
  count (filter (fun e => match e with Frame _ _ _ _ => true | Overrun _ => false end) es).

Definition discarded (es : list event) : N :=
  sum (map (fun e => match e with Frame _ _ _ _ => 0 | Overrun n => n end) es).

Arguments total : simpl never.
Arguments drops_total : simpl never.

Lemma total_bump f k : total (bump f k) = total f + 1.
Proof. unfold total, bump; destruct k; cbn; lia. Qed.

Lemma drops_total_bump f r k : drops_total (bump_drop f r k) = drops_total f + 1.
Proof.
  unfold drops_total, bump_drop; destruct r; cbn [map reasons sum same_reason];
    rewrite total_bump; lia.
Qed.

(** All that a runtime counts about frames. *)
Definition accounted (c : counters) : N := passed c + total (stragglers c) + drops_total (drops c).

Lemma counts_one c e :
  accounted (counts c e) = accounted c + frames [e] /\ overruns (counts c e) = overruns c + discarded [e].
Proof.
  unfold accounted, frames, discarded; destruct e as [k live ended trouble|n]; cbn.
  - rewrite (@count_cons event), (@count_nil event); destruct (Disposition.dispose live ended), trouble as [r|]; cbn;
      rewrite ?total_bump, ?drops_total_bump; lia.
  - rewrite (@count_nil event); lia.
Qed.

(** Every loss is counted: the frames that a runtime saw are the ones that went through, the
    stragglers and the drops; and items that a live source discarded are none of them (L8). *)
Theorem every_frame_is_accounted_for es :
  passed (after none es) + total (stragglers (after none es)) + drops_total (drops (after none es)) = frames es /\
  overruns (after none es) = discarded es.
Proof.
  assert (forall es c, accounted (after c es) = accounted c + frames es /\
                    overruns (after c es) = overruns c + discarded es) as G.
  { clear es; induction es as [|e es IH]; intros c; [unfold frames, discarded; cbn; rewrite (@count_nil event); lia|].
    change (after c (e :: es)) with (after (counts c e) es).
    destruct (IH (counts c e)) as [-> ->]; destruct (counts_one c e) as [-> ->].
    unfold frames, discarded; cbn; destruct e; rewrite ?(@count_cons event), ?(@count_nil event); cbn; lia. }
  destruct (G es none) as [A B]; exact (conj A B).
Qed.

(** ** One counter a frame *)

(** Which counter a frame moves. *)
Inductive counter :=
| Through
| Drop (r : drop_reason) (k : Facts.frame_type)
| Crossed (k : Facts.frame_type).

Lemma same_counter (a b : counter) : {a = b} + {a <> b}.
Proof.
  destruct a as [|r k|k], b as [|q j|j]; try (right; congruence); try (left; congruence).
  - destruct (same_reason r q) eqn:R; [apply same_reason_spec in R as ->|];
      [destruct (same_kind k j) eqn:K; [apply same_kind_spec in K as ->; left; reflexivity|]|].
    + right; intros E; injection E as ->; assert (same_kind j j = true) by (apply same_kind_spec; easy); congruence.
    + right; intros E; injection E as -> ->; assert (same_reason q q = true) by (apply same_reason_spec;
      easy); congruence.
  - destruct (same_kind k j) eqn:K; [apply same_kind_spec in K as ->; left; reflexivity|].
    right; intros E; injection E as ->; assert (same_kind j j = true) by (apply same_kind_spec; easy); congruence.
Qed.

Definition value (c : counters) (at_ : counter) : N :=
  match at_ with
  | Through => passed c
  | Drop r k => drops c r k
  | Crossed k => stragglers c k
  end.

(** The one that is right: live and no trouble, passed; live and trouble, a drop for that reason;
    ended lately, a straggler; else a drop without a route. *)
Definition belongs (k : Facts.frame_type) (live ended : bool) (trouble : option drop_reason) : counter :=
  if live then match trouble with None => Through | Some r => Drop r k end
  else if ended then Crossed k else Drop NoRoute k.

(** One and only one counter moves for each frame, by one, and it is the right one: a late frame is
    never a drop, a lost one never a straggler, and neither is an overrun (D1 to D4; L6, L8). *)
Theorem one_counter_moves c k live ended trouble at_ :
  let c' := counts c (Frame k live ended trouble) in
  overruns c' = overruns c /\
  (at_ = belongs k live ended trouble -> value c' at_ = value c at_ + 1) /\
  (at_ <> belongs k live ended trouble -> value c' at_ = value c at_).
Proof.
  assert (forall f k j, (j = k -> bump f k j = f j + 1) /\ (j <> k -> bump f k j = f j)) as B.
  { clear; intros f k j; unfold bump; destruct (same_kind k j) eqn:E.
    - apply same_kind_spec in E; split; congruence.
    - split; intros J; [subst j|reflexivity].
      assert (same_kind k k = true) as X by (apply same_kind_spec; reflexivity); congruence. }
  assert (forall f r k q j,
    (Drop q j = Drop r k -> bump_drop f r k q j = f q j + 1) /\
    (Drop q j <> Drop r k -> bump_drop f r k q j = f q j)) as D.
  { clear - B; intros f r k q j; unfold bump_drop; destruct (same_reason r q) eqn:E.
    - apply same_reason_spec in E as <-; split; intros J; apply (B (f r) k j); congruence.
    - split; intros J; [injection J as -> ->|reflexivity].
      assert (same_reason r r = true) as X by (apply same_reason_spec; reflexivity); congruence. }
  cbn; unfold belongs; destruct live, ended, trouble as [r|]; cbn; destruct at_ as [|q j|j]; cbn;
    (split; [reflexivity|]);
    try apply D; try (split; congruence);
    try (split; intros J; [injection J as ->; apply B; reflexivity|apply B; congruence]);
    split; intros J; try congruence; try reflexivity; lia.
Qed.

(** An overrun moves no counter of frames (L8). *)
Theorem an_overrun_is_no_frame c n at_ :
  value (counts c (Overrun n)) at_ = value c at_ /\ overruns (counts c (Overrun n)) = overruns c + n.
Proof. destruct at_; split; reflexivity. Qed.

(** ** Snapshots *)

(** What a snapshot shows of one family: what never happened is left out. *)
Definition shown (f : Facts.frame_type -> N) : list (Facts.frame_type * N) :=
  filter (fun e => negb (snd e =? 0)) (map (fun k => (k, f k)) kinds).

(** A snapshot shows a kind with its count, if and only if it ever happened
    (L8). *)
Theorem shown_iff_happened f k n : In (k, n) (shown f) <-> n = f k /\ n <> 0.
Proof.
  unfold shown; rewrite filter_In, in_map_iff; cbn; split.
  - intros [(j & E & _) Z]; injection E as -> <-; split; [reflexivity|lia].
  - intros [-> Z]; split; [exists k; split; [reflexivity|apply every_kind]|lia].
Qed.

(** The total beside the map is the sum of the map (L8). *)
Theorem total_is_the_sum_of_the_shown f : sum (map snd (shown f)) = total f.
Proof.
  unfold shown, total; induction kinds as [|k ks IH]; cbn; [reflexivity|].
  destruct (f k =? 0) eqn:Z; cbn; rewrite IH; lia.
Qed.

(** Between two snapshots, each taken at one moment, no counter falls, and their difference is what
    was seen in between (L8). *)
Theorem later_snapshots_agree es later at_ :
  let a := after none es in
  let b := after none (es ++ later) in
  value a at_ <= value b at_ /\ overruns a <= overruns b /\
  accounted b = accounted a + frames later.
Proof.
  assert (forall es c, value c at_ <= value (after c es) at_ /\ overruns c <= overruns (after c es) /\
    accounted (after c es) = accounted c + frames es) as G.
  { clear es later; induction es as [|e es IH]; intros c; [unfold frames; cbn; rewrite (@count_nil event); lia|].
    change (after c (e :: es)) with (after (counts c e) es).
    destruct (IH (counts c e)) as (A & B & C); destruct (counts_one c e) as [D E].
    assert (value c at_ <= value (counts c e) at_) as F.
    { destruct e as [k live ended trouble|n].
      - destruct (one_counter_moves c k live ended trouble at_) as (_ & U & V).
        destruct (same_counter at_ (belongs k live ended trouble)) as [S|S].
        + rewrite (U S); lia.
        + rewrite (V S); lia.
      - destruct (an_overrun_is_no_frame c n at_) as [-> _]; lia. }
    repeat split; [lia|rewrite E in B; lia|].
    rewrite C, D; unfold frames; cbn; destruct e; rewrite ?(@count_cons event), ?(@count_nil event); lia. }
  cbn; unfold after at 2 4 5; rewrite fold_left_app; apply G.
Qed.
