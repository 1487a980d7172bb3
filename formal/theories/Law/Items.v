(** Items of many chunks through a small window (C6).

    An item is cut into chunks. All but one of its chunks are given back when they arrive; one keeps
    its credit until the item is consumed. Our rule keeps that of the chunk that completes the item;
    the other rule keeps that of its first chunk. *)

From Coq Require Import NArith Bool List Lia ZifyBool ZifyN ZifyNat.
From Sluicegate Require Import Base.U64 Base.Tactics Base.Eventually.
From Sluicegate Require Decide.Gate Decide.Window Law.Gate Law.Window Law.Progress.
From Sluicegate Require Import Law.Pair.
Import ListNotations.

Set Default Timeout 30.
Open Scope N_scope.

(** Which chunk of an item keeps its credit: as [Window.keeps_credit] decides, or its first. *)
Inductive rule := Completing | First.

(** A stream of items over a pair. Items are their numbers of chunks. *)
Record stream := Stream {
  link : pair;
  todo : list N;        (** items not begun *)
  left : N;             (** chunks still to be sent of the item being sent *)
  flight : list bool;   (** chunks on the wire, oldest first; true completes its item *)
  part : N;             (** chunks of the item being put together *)
  whole : list N;       (** items that the consumer can take *)
  done : list N;        (** items that it took *)
}.

Inductive move := SendChunk | Arrive | Eat | FlushNow | CreditNow.

Definition next_item (s : stream) : option (N * list N) :=
  if left s =? 0
  then match todo s with [] => None | n :: rest => Some (n, rest) end
  else Some (left s, todo s).

Definition go (r : rule) (s : stream) (m : move) : option stream :=
  let 'Stream p td lf fl pt wh dn := s in
  match m with
  | SendChunk =>
      match next_item s, step p (Take 1) with
      | Some (n, td'), Some p' =>
          match step p' Send with
          | Some p'' => Some (Stream p'' td' (n - 1) (fl ++ [n =? 1]) pt wh dn)
          | None => None
          end
      | _, _ => None
      end
  | Arrive =>
      match fl with
      | [] => None
      | last :: fl' =>
          let place := if last then W.Completes else W.Continues in
          let keeps := match r with Completing => W.keeps_credit place | First => pt =? 0 end in
          match step p (Deliver (negb keeps)) with
          | Some p' =>
              Some (if last then Stream p' td lf fl' 0 (wh ++ [pt + 1]) dn
                    else Stream p' td lf fl' (pt + 1) wh dn)
          | None => None
          end
      end
  | Eat =>
      match wh, step p Consume with
      | n :: wh', Some p' => Some (Stream p' td lf fl pt wh' (dn ++ [n]))
      | _, _ => None
      end
  | FlushNow =>
      match wh, step p Flush with
      | [], Some p' => Some (Stream p' td lf fl pt wh dn)
      | _, _ => None
      end
  | CreditNow =>
      match step p Credit with Some p' => Some (Stream p' td lf fl pt wh dn) | None => None end
  end.

Definition start (S : N) (w : W.window) (items : list N) : stream :=
  Stream (fresh S w) items 0 [] 0 [] [].

Inductive reachable (r : rule) (S R : N) (items : list N) : stream -> Prop :=
| reach_start w : Law.Window.fresh R w -> reachable r S R items (start S w items)
| reach_go s m s' : reachable r S R items s -> go r s m = Some s' -> reachable r S R items s'.

(** What the chunks on the wire make of the item that is being put together. *)
Fixpoint assemble (pt : N) (fl : list bool) : list N * N :=
  match fl with
  | [] => ([], pt)
  | true :: rest => let (items, pt') := assemble 0 rest in (pt + 1 :: items, pt')
  | false :: rest => assemble (pt + 1) rest
  end.

(** All items, wherever they are. *)
Definition everywhere (s : stream) : list N :=
  let (items, pt) := assemble (part s) (flight s) in
  done s ++ whole s ++ items ++ (if left s =? 0 then [] else [pt + left s]) ++ todo s.

(** The chunk that the item being put together has kept the credit of. *)
Definition kept (r : rule) (s : stream) : N :=
  match r with Completing => 0 | First => if part s =? 0 then 0 else 1 end.

Record sound (r : rule) (S R : N) (items : list N) (s : stream) : Prop := {
  link_sound : Pair.sound S R (link s);
  open : G.closed (gate (link s)) = false;
  none_taken : taken (link s) = 0;
  wire_is_flight : wire (link s) = N.of_nat (length (flight s));
  queue_is_whole : queue (link s) = N.of_nat (length (whole s)) + kept r s;
  real_items : Forall (N.le 1) (todo s);
  no_rest : left s = 0 -> snd (assemble (part s) (flight s)) = 0;
  nothing_lost : everywhere s = items;
}.

Lemma assemble_snoc (pt : N) (fl : list bool) (b : bool) :
  assemble pt (fl ++ [b]) =
  let (items, pt') := assemble pt fl in
  if b then (items ++ [pt' + 1], 0) else (items, pt' + 1).
Proof.
  revert pt; induction fl as [|[|] fl IH]; intros pt; cbn.
  - destruct b; reflexivity.
  - rewrite IH; destruct (assemble 0 fl), b; reflexivity.
  - apply IH.
Qed.

Lemma start_sound (r : rule) (S R : N) (items : list N) (w : W.window) :
  S <= R -> Forall (N.le 1) items -> Law.Window.fresh R w -> sound r S R items (start S w items).
Proof.
  intros L I F; constructor; cbn; auto using fresh_sound; destruct r; reflexivity.
Qed.

(** What a link step changes of what is counted here. *)
Lemma link_step (S R : N) (p p' : pair) (o : op) :
  1 <= S <= R -> U64.fits R -> Pair.sound S R p -> step p o = Some p' ->
  (o <> Close -> G.closed (gate p') = G.closed (gate p))
  /\ match o with
     | Take n => taken p' = taken p + n | PutBack n => taken p' + n = taken p
     | Send => taken p' + 1 = taken p | _ => taken p' = taken p
     end
  /\ match o with
     | Send => wire p' = wire p + 1 | Deliver _ => wire p' + 1 = wire p | _ => wire p' = wire p
     end
  /\ match o with
     | Deliver false => queue p' = queue p + 1 | Consume => queue p' + 1 = queue p
     | _ => queue p' = queue p
     end.
Proof.
  intros SR F I E.
  assert (G.closed (gate p) = true -> G.closed (gate p') = true) as CC
    by (intros C; apply (Law.Progress.released_for_ever p p' o 0 false C E)).
  destruct I as [C1 C2 C3 C4 C5 C6 C7 C8].
  destruct p as [[a c] w h x q cs l v]; cbn in *; destruct o as [m|m| |b| | | |]; cbn in E.
  - destruct (G.acquire _ _ _) as [g' [| |]] eqn:A; invert_all; cbn.
    apply Law.Gate.taken_is_exact in A as (A1 & _ & A2 & _); cbn in A1.
    repeat split; auto; congruence.
  - split_ifs; invert_all; cbn; repeat split; auto; lia.
  - split_ifs; invert_all; cbn; repeat split; auto; lia.
  - destruct (x =? 0) eqn:X; [discriminate|]; destruct (W.arrive w) as [w' [|]] eqn:A.
    + destruct b; invert_all; cbn; repeat split; auto; lia.
    + assert (W.remaining w = 0) by (apply Law.Window.violation_iff_exhausted; rewrite A; reflexivity).
      lia.
  - destruct (q =? 0) eqn:X; [discriminate|]; destruct (W.consumed w); invert_all; cbn;
      repeat split; auto; lia.
  - destruct (W.pending w =? 0) eqn:X; invert_all; cbn; auto.
  - destruct cs; invert_all; cbn; repeat split; auto; unfold G.grant; cbn; destruct c; reflexivity.
  - invert_all; cbn; repeat split; auto; congruence.
Qed.

Lemma go_sound (r : rule) (S R : N) (items : list N) (s s' : stream) (m : move) :
  1 <= S <= R -> U64.fits R -> sound r S R items s -> go r s m = Some s' -> sound r S R items s'.
Proof.
  intros SR F [I1 I2 I3 I4 I5 I6 I7 I8] E.
  destruct s as [p td lf fl pt wh dn]; unfold everywhere, kept, next_item in *; cbn in *.
  destruct m; cbn in E.
  - (* SendChunk *)
    destruct (next_item _) as [[n td']|] eqn:NX; [|discriminate]; unfold next_item in NX; cbn in NX.
    destruct (step p (Take 1)) as [p1|] eqn:E1; [|discriminate].
    destruct (step p1 Send) as [p2|] eqn:E2; [|discriminate]; invert_all.
    pose proof (step_sound _ _ _ _ _ SR F I1 E1) as J1.
    destruct (link_step _ _ _ _ _ SR F I1 E1) as (A1 & A2 & A3 & A4).
    destruct (link_step _ _ _ _ _ SR F J1 E2) as (B1 & B2 & B3 & B4).
    assert (1 <= n /\ Forall (N.le 1) td') as [N1 TD].
    { destruct (lf =? 0) eqn:L; [destruct td; [discriminate|]; invert_all; apply Forall_cons_iff in I6; auto|].
      invert_all; split; [lia|auto]. }
    constructor; unfold everywhere; cbn; auto.
    + eauto using step_sound.
    + rewrite B1, A1 by discriminate; exact I2.
    + lia.
    + rewrite app_length; cbn; lia.
    + unfold kept; cbn; lia.
    + intros Z; rewrite assemble_snoc; destruct (assemble pt fl); replace (n =? 1) with true by lia; reflexivity.
    + rewrite assemble_snoc; destruct (assemble pt fl) as [its pt'] eqn:AS; cbn in I7.
      destruct (lf =? 0) eqn:L.
      * destruct td as [|n' td]; [discriminate|]; invert_all; specialize (I7 ltac:(lia)); subst.
        destruct (n =? 1) eqn:N2; cbn [app].
        -- replace (n - 1 =? 0) with true by lia; replace (0 + 1) with n by lia.
           rewrite <- app_assoc; reflexivity.
        -- replace (n - 1 =? 0) with false by lia; replace (0 + 1 + (n - 1)) with n by lia; reflexivity.
      * invert_all; destruct (n =? 1) eqn:N2; cbn [app].
        -- replace (n - 1 =? 0) with true by lia; replace n with 1 by lia.
           rewrite <- !app_assoc; reflexivity.
        -- replace (n - 1 =? 0) with false by lia; replace (pt' + 1 + (n - 1)) with (pt' + n) by lia; reflexivity.
  - (* Arrive *)
    destruct fl as [|last fl]; [discriminate|].
    destruct (step p _) as [p1|] eqn:E1; [|discriminate].
    pose proof (step_sound _ _ _ _ _ SR F I1 E1) as J1.
    destruct (link_step _ _ _ _ _ SR F I1 E1) as (A1 & A2 & A3 & A4); cbn in *.
    destruct last; invert_all; constructor; unfold everywhere, kept in *; cbn in *; auto;
      try (rewrite A1 by discriminate; exact I2); try lia.
    + rewrite app_length; cbn; destruct r; cbn in A4; [lia|]; destruct (pt =? 0); cbn in A4; lia.
    + intros Z; specialize (I7 Z); destruct (assemble 0 fl); exact I7.
    + destruct (assemble 0 fl); rewrite <- !app_assoc; reflexivity.
    + destruct r; cbn in A4; [lia|]; replace (pt + 1 =? 0) with false by lia;
        destruct (pt =? 0); cbn in A4; lia.
  - (* Eat *)
    destruct wh as [|n wh]; [discriminate|]; destruct (step p Consume) as [p1|] eqn:E1; [|discriminate].
    destruct (link_step _ _ _ _ _ SR F I1 E1) as (A1 & A2 & A3 & A4); invert_all.
    constructor; unfold everywhere, kept in *; cbn -[N.of_nat] in *; eauto using step_sound;
      try (rewrite A1 by discriminate; exact I2); try (destruct r; lia).
    destruct (assemble pt fl); rewrite <- !app_assoc; reflexivity.
  - (* FlushNow *)
    destruct wh; [|discriminate]; destruct (step p Flush) as [p1|] eqn:E1; [|discriminate].
    destruct (link_step _ _ _ _ _ SR F I1 E1) as (A1 & A2 & A3 & A4); invert_all.
    constructor; unfold everywhere, kept in *; cbn -[N.of_nat] in *; eauto using step_sound;
      try (rewrite A1 by discriminate; exact I2); destruct r; lia.
  - (* CreditNow *)
    destruct (step p Credit) as [p1|] eqn:E1; [|discriminate].
    destruct (link_step _ _ _ _ _ SR F I1 E1) as (A1 & A2 & A3 & A4); invert_all.
    constructor; unfold everywhere, kept in *; cbn -[N.of_nat] in *; eauto using step_sound;
      try (rewrite A1 by discriminate; exact I2); destruct r; lia.
Qed.

Lemma reachable_sound (r : rule) (S R : N) (items : list N) (s : stream) :
  1 <= S <= R -> U64.fits R -> Forall (N.le 1) items -> reachable r S R items s -> sound r S R items s.
Proof. intros SR F I; induction 1; [apply start_sound; auto; lia|eauto using go_sound]. Qed.

(** C6: with our rule, a chunk that only continues an item leaves the receiver as it was before, so it
    takes no room: no more than the window's number of whole items is ever queued, beside the one item
    that is being put together. *)
Theorem held_is_one_part_and_whole_items (S R : N) (items : list N) (s : stream) :
  1 <= S <= R -> U64.fits R -> Forall (N.le 1) items -> reachable Completing S R items s ->
  N.of_nat (length (whole s)) = queue (link s) /\ N.of_nat (length (whole s)) <= S
  /\ W.remaining (window (link s)) + W.pending (window (link s)) + N.of_nat (length (whole s)) = R.
Proof.
  intros SR F I H; destruct (reachable_sound _ _ _ _ _ SR F I H) as [[C1 C2 C3 C4 C5 C6 C7 C8] ? ? ? Q ? ? ?].
  cbn in Q; lia.
Qed.

(** C6, in chunks (and so in bytes, with as many bytes to a chunk as may be): if no item has more than
    [m] chunks, no more than S of them and one being put together are ever held. *)
Theorem held_is_bounded (S R m : N) (items : list N) (s : stream) :
  1 <= S <= R -> U64.fits R -> Forall (fun n => 1 <= n <= m) items ->
  reachable Completing S R items s ->
  sum (whole s) + part s <= (S + 1) * m.
Proof.
  intros SR F I H; assert (Forall (N.le 1) items) as I1 by (eapply Forall_impl; [|exact I]; cbn; lia).
  destruct (held_is_one_part_and_whole_items _ _ _ _ SR F I1 H) as (_ & L & _).
  destruct (reachable_sound _ _ _ _ _ SR F I1 H) as [_ _ _ _ _ _ NR E].
  rewrite <- E in I; unfold everywhere in I; destruct (assemble (part s) (flight s)) as [its pt] eqn:AS.
  rewrite !Forall_app in I; destruct I as (_ & IW & II & IL & _).
  assert (sum (whole s) <= N.of_nat (length (whole s)) * m) as A
    by (clear - IW; induction IW; cbn [sum length]; lia).
  assert (part s <= m) as B.
  { clear - AS II IL NR; revert AS; generalize (part s) as q; revert its pt NR II IL.
    assert (forall fl q its pt, assemble q fl = (its, pt) -> (its = [] /\ q <= pt) \/ exists i r, its = i :: r /\ q + 1 <= i) as G.
    { induction fl as [|[|] fl IH]; cbn; intros q its pt E; invert_all; [left; split; [reflexivity|lia]|..].
      - destruct (assemble 0 fl); invert_all; right; eexists; eexists; split; [reflexivity|lia].
      - apply IH in E as [(-> & ?)|(i & r & -> & ?)]; [left; split; [reflexivity|lia]|right; eexists; eexists; split; [reflexivity|lia]]. }
    intros its pt NR II IL q AS; apply G in AS as [(-> & L)|(i & r & -> & L)].
    - destruct (left s =? 0) eqn:LS.
      + cbn in NR; specialize (NR ltac:(lia)). lia.
      + apply Forall_inv in IL; lia.
    - apply Forall_inv in II; lia. }
  assert (sum (whole s) <= S * m) by (etransitivity; [exact A|apply N.mul_le_mono_r; exact L]); lia.
Qed.

(** * Everything gets through *)

Definition may (r : rule) (s s' : stream) : Prop := exists m, go r s m = Some s'.

Definition to_send (s : stream) : nat := N.to_nat (left s + sum (todo s)).

Lemma moves_shrink (r : rule) (S R : N) (items : list N) (s s' : stream) :
  1 <= S <= R -> U64.fits R -> sound r S R items s -> may r s s' ->
  (5 * to_send s' + Law.Progress.under_way (link s') < 5 * to_send s + Law.Progress.under_way (link s))%nat.
Proof.
  intros SR F I [m E]; pose proof (go_sound _ _ _ _ _ _ _ SR F I E) as I'.
  pose proof (link_sound _ _ _ _ _ I) as L; pose proof (open _ _ _ _ _ I') as O'.
  destruct s as [p td lf fl pt wh dn]; unfold to_send; cbn in L.
  assert (forall o p', step p o = Some p' -> G.closed (gate p') = false ->
          match o with Take _ | PutBack _ | Close => False | _ => True end ->
          (Law.Progress.under_way p' < Law.Progress.under_way p)%nat) as D.
  { intros o p' E1 C O; destruct (Law.Progress.moves_use_up S R true p p' SR F L) as [?|[_ ?]]; [|congruence|auto].
    destruct o; try tauto; try (left; eexists; split; [exact E1|exact Logic.I]).
    right; exists Flush; auto. }
  destruct m; cbn in E.
  - destruct (next_item _) as [[n td']|] eqn:NX; [|discriminate]; unfold next_item in NX; cbn in NX.
    destruct (step p (Take 1)) as [p1|] eqn:E1; [|discriminate].
    destruct (step p1 Send) as [p2|] eqn:E2; [|discriminate]; invert_all; cbn [link left todo].
    assert (1 <= n /\ n + sum td' = lf + sum td) as [N1 N2].
    { pose proof (real_items _ _ _ _ _ I) as I6; cbn in I6.
      destruct (lf =? 0) eqn:X; [destruct td; [discriminate|]; invert_all; apply Forall_inv in I6; cbn; lia|].
      invert_all; lia. }
    assert (Law.Progress.under_way p2 = Law.Progress.under_way p + 4)%nat; [|lia].
    pose proof (none_taken _ _ _ _ _ I) as T; cbn in T.
    destruct p as [g w h x q cs l v]; cbn in *; subst h.
    destruct (G.acquire g 1 false) as [g' [| |]]; invert_all; cbn in E2; invert_all.
    unfold Law.Progress.under_way; cbn; lia.
  - destruct fl as [|last fl]; [discriminate|].
    destruct (step p _) as [p1|] eqn:E1; [|discriminate]; destruct last; invert_all; cbn [link left todo part] in *;
      specialize (D _ _ E1 O' Logic.I); lia.
  - destruct wh; [discriminate|]; destruct (step p Consume) eqn:E1; [|discriminate]; invert_all; cbn [link left todo] in *.
    specialize (D _ _ E1 O' Logic.I); lia.
  - destruct wh; [|discriminate]; destruct (step p Flush) eqn:E1; [|discriminate]; invert_all; cbn [link left todo] in *.
    specialize (D _ _ E1 O' Logic.I); lia.
  - destruct (step p Credit) eqn:E1; [|discriminate]; invert_all; cbn [link left todo] in *.
    specialize (D _ _ E1 O' Logic.I); lia.
Qed.

Local Arguments Decide.Gate.acquire : simpl never.

Lemma something_moves (r : rule) (S R : N) (items : list N) (s : stream) :
  1 <= S <= R -> U64.fits R -> r = Completing \/ 2 <= S -> sound r S R items s ->
  done s = items \/ exists s', may r s s'.
Proof.
  intros SR F RS [[C1 C2 C3 C4 C5 C6 C7 C8] I2 I3 I4 I5 I6 I7 I8].
  destruct s as [[g w h x q cs l v] td lf fl pt wh dn]; cbn in *; specialize (C7 I2); subst h l.
  destruct fl as [|last fl].
  2: { right; enough (exists p', step (Pair g w 0 x q cs 0 v) (Deliver (negb match r with Completing => W.keeps_credit (if last then W.Completes else W.Continues) | First => pt =? 0 end)) = Some p')
         as [p' E] by (destruct last; eexists; exists Arrive; cbn [go]; rewrite E; reflexivity).
       cbn [length] in I4; cbn [step]; replace (x =? 0) with false by lia.
       destruct (W.arrive w) as [? [|]]; [destruct (negb _)|]; cbn; eauto. }
  destruct cs as [|c cs]; [|right; eexists; exists CreditNow; reflexivity].
  destruct wh as [|n wh].
  2: { right; enough (exists p', step (Pair g w 0 x q [] 0 v) Consume = Some p') as [p' E]
         by (eexists; exists Eat; cbn [go]; rewrite E; reflexivity).
       cbn [length] in I5; cbn [step]; replace (q =? 0) with false by lia.
       destruct (W.consumed w); eauto. }
  destruct (W.pending w =? 0) eqn:P.
  2: { right; eexists; exists FlushNow; cbn; rewrite P; reflexivity. }
  assert (kept r (Stream (Pair g w 0 x q [] 0 v) td lf [] pt [] dn) <= 1) as K1
    by (unfold kept; destruct r; cbn; split_ifs; lia).
  assert (1 <= G.available g) as A by (destruct RS as [->|?]; cbn in *; lia).
  destruct g as [a c]; cbn in A, I2; subst c.
  assert (G.acquire (G.Gate a false) 1 false = (G.Gate (a - 1) false, G.Taken)) as TK
    by (unfold G.acquire; cbn; split_ifs; [u64|reflexivity]).
  destruct (N.eq_dec lf 0) as [->|L].
  - destruct td as [|n td].
    + left; unfold everywhere in I8; cbn in I8; rewrite app_nil_r in I8; exact I8.
    + right; eexists; exists SendChunk; cbn; rewrite TK; reflexivity.
  - right; eexists; exists SendChunk; cbn; unfold next_item; cbn.
    replace (lf =? 0) with false by lia; rewrite TK; reflexivity.
Qed.

(** C6, L10: with our rule items of any number of chunks get through any window of at least 1, all of
    them, whole and in order, after a bounded number of moves in whatever order. With the other rule
    that takes a window of at least 2. *)
Theorem all_items_get_through (r : rule) (S R : N) (items : list N) (s : stream) :
  1 <= S <= R -> U64.fits R -> Forall (N.le 1) items -> r = Completing \/ 2 <= S ->
  reachable r S R items s ->
  exists n, within stream (may r) (may r) (fun s => done s = items) n s.
Proof.
  intros SR F I RS H; apply reachable_sound in H; auto; eexists.
  eapply shrinking_reaches with (inv := sound r S R items)
    (count := fun s => (5 * to_send s + Law.Progress.under_way (link s))%nat); eauto.
  - intros s1 s2 I1 M; right; split; [|eauto using moves_shrink].
    destruct M as [m M]; eauto using go_sound.
  - intros s1 I1; eapply something_moves; eauto.
Qed.

(** C6: with the other rule and a window of 1, an item of two chunks stops for ever after its first:
    it is not taken, and no move is left at all. *)
Theorem first_rule_stops_at_one :
  exists s, reachable First 1 1 [2] s /\ done s = [] /\ forall m, go First s m = None.
Proof.
  exists (Stream (Pair (G.Gate 0 false) (W.Window 0 0 1) 0 0 1 [] 0 false) [] 1 [] 1 [] []).
  split; [|split; [reflexivity|intros []; reflexivity]].
  apply (reach_go First 1 1 [2]
           (Stream (Pair (G.Gate 0 false) (W.Window 1 0 1) 0 1 0 [] 0 false) [] 1 [false] 0 [] []) Arrive);
    [|reflexivity].
  apply (reach_go First 1 1 [2] (start 1 (W.opened 1) [2]) SendChunk); [|reflexivity].
  apply reach_start; left; reflexivity.
Qed.
