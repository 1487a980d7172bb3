(** A sender's gate and a receiver's window, and what is on its way between them (C1 to C5).

    Everything here is about every state that can be reached from a fresh pair, whatever the order
    of the steps, with any windows 1 <= S <= R and any batch that can be set. *)

From Coq Require Import NArith Bool List Lia ZifyBool ZifyN.
From Sluicegate Require Import Base.U64 Base.Tactics.
From Sluicegate Require Decide.Gate Decide.Window Law.Gate Law.Window.
Import ListNotations.

Set Default Timeout 30.
Open Scope N_scope.

Module G := Decide.Gate.
Module W := Decide.Window.

(** The pair. All but [gate] and [window] are counts of the whole link that no end knows. *)
Record pair := Pair {
  gate : G.gate;
  window : W.window;
  taken : N;         (** credit taken by senders who have not sent yet *)
  wire : N;          (** chunks on the wire *)
  queue : N;         (** chunks that wait for their give-back in the receiver's queue *)
  credits : list N;  (** grants on the wire, oldest first *)
  lost : N;          (** credit that came to a closed gate *)
  violated : bool;   (** a chunk came that was not paid for *)
}.

Fixpoint sum (l : list N) : N :=
  match l with [] => 0 | x :: rest => x + sum rest end.

Lemma sum_app (l m : list N) : sum (l ++ m) = sum l + sum m.
Proof. induction l as [|x l IH]; cbn; [reflexivity|]; rewrite IH; lia. Qed.

(** The grants on the wire once the window answered [n]: a grant of 0 is not sent. *)
Definition send_grant (l : list N) (n : N) : list N := if n =? 0 then l else l ++ [n].

Lemma sum_send_grant (l : list N) (n : N) : sum (send_grant l n) = sum l + n.
Proof. unfold send_grant; split_ifs; [lia|]; rewrite sum_app; cbn; lia. Qed.

Lemma send_grant_positive (l : list N) (n : N) :
  Forall (N.le 1) l -> Forall (N.le 1) (send_grant l n).
Proof.
  intros F; unfold send_grant; split_ifs; [exact F|].
  apply Forall_app; split; [exact F|]; constructor; [lia|constructor].
Qed.

(** What can happen. *)
Inductive op :=
| Take (n : N)         (** a sender takes [n] chunks of credit *)
| PutBack (n : N)      (** it gives back what it does not use *)
| Send                 (** it sends a chunk *)
| Deliver (part : bool)(** a chunk arrives; a part only continues an item, and is given back at once *)
| Consume              (** the consumer takes a chunk from the queue *)
| Flush                (** the consumer is about to wait *)
| Credit               (** a grant arrives *)
| Close                (** the request ends at the sender *).

(** One step; none if it cannot happen now. *)
Definition step (p : pair) (o : op) : option pair :=
  match p with Pair g w h x q cs l v =>
  match o with
  | Take n =>
      match G.acquire g n false with
      | (g', G.Taken) => Some (Pair g' w (h + n) x q cs l v)
      | _ => None
      end
  | PutBack n => if n <=? h then Some (Pair (G.give_back g n) w (h - n) x q cs l v) else None
  | Send => if h =? 0 then None else Some (Pair g w (h - 1) (x + 1) q cs l v)
  | Deliver part =>
      if x =? 0 then None
      else match W.arrive w with
           | (_, W.Violation) => Some (Pair g w h (x - 1) q cs l true)
           | (w', W.Accepted) =>
               if part
               then let (w'', n) := W.continued w' in
                    Some (Pair g w'' h (x - 1) q (send_grant cs n) l v)
               else Some (Pair g w' h (x - 1) (q + 1) cs l v)
           end
  | Consume =>
      if q =? 0 then None
      else let (w', n) := W.consumed w in Some (Pair g w' h x (q - 1) (send_grant cs n) l v)
  | Flush =>
      if W.pending w =? 0 then None
      else let (w', n) := W.flush w in Some (Pair g w' h x q (send_grant cs n) l v)
  | Credit =>
      match cs with
      | [] => None
      | n :: rest =>
          Some (Pair (G.grant g n) w h x q rest (if G.closed g then l + n else l) v)
      end
  | Close => Some (Pair (fst (G.close g)) w h x q cs l v)
  end end.

(** A fresh pair: the sender's window is [S], the receiver's [R]. *)
Definition fresh (S : N) (w : W.window) : pair := Pair (G.opened S) w 0 0 0 [] 0 false.

Inductive reachable (S R : N) : pair -> Prop :=
| reach_fresh w : Law.Window.fresh R w -> reachable S R (fresh S w)
| reach_step p o p' : reachable S R p -> step p o = Some p' -> reachable S R p'.

(** All that is true of every reachable state. *)
Record sound (S R : N) (p : pair) : Prop := {
  conserved :
    G.available (gate p) + taken p + wire p + sum (credits p) + lost p + (R - S)
    = W.remaining (window p);
  bounded : W.remaining (window p) + W.pending (window p) + queue p = R;
  batch_low : 1 <= W.batch (window p);
  batch_high : W.batch (window p) <= W.default_batch R;
  pending_low : W.pending (window p) < W.batch (window p);
  grants_positive : Forall (N.le 1) (credits p);
  lost_closed : G.closed (gate p) = false -> lost p = 0;
  none_violated : violated p = false;
}.

Lemma fresh_sound (S R : N) (w : W.window) :
  S <= R -> Law.Window.fresh R w -> sound S R (fresh S w).
Proof.
  intros L F; destruct (Law.Window.fresh_batch _ _ F) as (? & ? & ?).
  constructor; cbn; auto; lia.
Qed.

(** Every step keeps all of it. For users of this file: a state that satisfies [sound] may come from
    anywhere, it need not be [reachable]. *)
Lemma step_sound (S R : N) (p p' : pair) (o : op) :
  1 <= S <= R -> U64.fits R -> sound S R p -> step p o = Some p' -> sound S R p'.
Proof.
  pose proof (Law.Window.default_batch_bounds R) as B.
  intros SR F [C1 C2 C3 C4 C5 C6 C7 C8] E.
  destruct p as [[a c] [r pe b] h x q cs l v]; cbn in *.
  destruct o as [n|n| |part| | | |]; cbn in E.
  - destruct (G.acquire (G.Gate a c) n false) as [g' [| |]] eqn:A; try discriminate.
    apply Law.Gate.taken_is_exact in A; destruct g' as [a' c']; cbn in A.
    destruct A as (-> & ? & -> & ?); invert_all; constructor; cbn; auto; lia.
  - split_ifs; [|discriminate]; invert_all; constructor; cbn; auto; u64.
  - split_ifs; [discriminate|]; invert_all; constructor; cbn; auto; lia.
  - destruct (x =? 0) eqn:X; [discriminate|]; destruct (W.arrive (W.Window r pe b)) as [w' [|]] eqn:A.
    + apply Law.Window.arrival_costs_one in A; destruct w' as [r' pe' b']; cbn in A.
      destruct A as (? & -> & ->).
      destruct part; cbn in E; invert_all; constructor; cbn; auto using send_grant_positive;
        rewrite ?sum_app; cbn; try u64.
      apply Forall_app; repeat constructor; auto; lia.
    + assert (r = 0) by (apply (Law.Window.violation_iff_exhausted (W.Window r pe b)); rewrite A; reflexivity).
      lia.
  - split_ifs; [discriminate|].
    destruct (N.ltb_spec (pe + 1) b).
    + rewrite Law.Window.consumed_below_batch in E by (cbn; u64); cbn in E; invert_all;
        constructor; cbn; auto; u64.
    + rewrite Law.Window.consumed_completes_batch in E by (cbn; u64); cbn in E; invert_all;
        constructor; cbn; auto using send_grant_positive; rewrite ?sum_send_grant; u64.
  - split_ifs; [discriminate|]; invert_all.
    constructor; cbn; auto using send_grant_positive; rewrite ?sum_send_grant; u64.
  - destruct cs as [|n cs]; [discriminate|]; invert_all; cbn in *.
    apply Forall_inv_tail in C6 as ?; constructor; cbn; auto; destruct c; cbn; auto; u64.
  - invert_all; constructor; cbn; auto; discriminate.
Qed.

Lemma reachable_sound (S R : N) (p : pair) :
  1 <= S <= R -> U64.fits R -> reachable S R p -> sound S R p.
Proof.
  intros SR F; induction 1; [apply fresh_sound; [lia|assumption]|eauto using step_sound].
Qed.

(** C1, C4: conservation: what may be sent, what was taken, what is on the wire both ways (and what
    came to a closed gate) add up to what may arrive, short of what the sender was never given. *)
Theorem conservation (S R : N) (p : pair) :
  1 <= S <= R -> U64.fits R -> reachable S R p ->
  G.available (gate p) + taken p + wire p + sum (credits p) + lost p + (R - S)
  = W.remaining (window p).
Proof. intros SR F H; apply (conserved _ _ _ (reachable_sound _ _ _ SR F H)). Qed.

(** C1 with P6: on an open gate all parts of the window add up to it. *)
Theorem whole_window (S R : N) (p : pair) :
  1 <= S <= R -> U64.fits R -> reachable S R p -> G.closed (gate p) = false ->
  G.available (gate p) + taken p + wire p + sum (credits p)
  + W.pending (window p) + queue p = S.
Proof.
  intros SR F H O; destruct (reachable_sound _ _ _ SR F H); specialize (lost_closed0 O); lia.
Qed.

(** C2, L12: a sender that takes one for each chunk never overruns its receiver. *)
Theorem never_overruns (S R : N) (p : pair) :
  1 <= S <= R -> U64.fits R -> reachable S R p ->
  violated p = false /\ (1 <= wire p -> snd (W.arrive (window p)) = W.Accepted).
Proof.
  intros SR F H; destruct (reachable_sound _ _ _ SR F H); split; [assumption|intros X].
  destruct (W.arrive (window p)) as [w' [|]] eqn:A; [reflexivity|].
  assert (W.remaining (window p) = 0)
    by (apply Law.Window.violation_iff_exhausted; rewrite A; reflexivity).
  lia.
Qed.

(** P6, C4, L10: the receiver never holds more than its window, nor more than the sender's. *)
Theorem buffer_bounded (S R : N) (p : pair) :
  1 <= S <= R -> U64.fits R -> reachable S R p ->
  W.remaining (window p) + W.pending (window p) + queue p = R /\ queue p <= S
  /\ queue p + wire p <= S.
Proof. intros SR F H; destruct (reachable_sound _ _ _ SR F H); lia. Qed.

(** P7: no grant of 0 is ever on the wire. *)
Theorem no_empty_grant (S R : N) (p : pair) :
  1 <= S <= R -> U64.fits R -> reachable S R p -> Forall (N.le 1) (credits p).
Proof. intros SR F H; apply (grants_positive _ _ _ (reachable_sound _ _ _ SR F H)). Qed.

(** The sender can do nothing and nothing is under way to it. *)
Definition blocked (p : pair) : Prop :=
  G.closed (gate p) = false /\ G.available (gate p) = 0
  /\ taken p = 0 /\ wire p = 0 /\ credits p = [].

(** C3: with one window for both, a blocked sender is always waited for: the consumer has a chunk to
    take, and more than is missing to the next grant. *)
Theorem blocked_sender_is_waited_for (W : N) (p : pair) :
  1 <= W -> U64.fits W -> reachable W W p -> blocked p ->
  1 <= queue p /\ W.batch (window p) <= W.pending (window p) + queue p.
Proof.
  intros P F H (O & A & T & X & C); pose proof (Law.Window.default_batch_bounds W) as [_ B].
  destruct (reachable_sound W W p) as [C1 C2 C3 C4 C5 C6 C7 C8]; try assumption; [lia|].
  specialize (C7 O); rewrite C in C1; cbn in C1; lia.
Qed.

(** [n] chunks taken by the consumer, one after the other. *)
Fixpoint consume_many (n : nat) (p : pair) : option pair :=
  match n with
  | O => Some p
  | S n => match step p Consume with Some p' => consume_many n p' | None => None end
  end.

Lemma consume_many_snoc (n : nat) (p p' p'' : pair) :
  consume_many n p = Some p' -> step p' Consume = Some p'' -> consume_many (n + 1) p = Some p''.
Proof.
  revert p; induction n as [|n IH]; intros p E F; cbn [consume_many Nat.add] in *.
  - invert_all; rewrite F; reflexivity.
  - destruct (step p Consume); [auto|discriminate].
Qed.

Lemma consume_up_to_batch (n : nat) (W : N) (p : pair) :
  1 <= W -> U64.fits W -> sound W W p -> N.of_nat n <= queue p ->
  W.pending (window p) + N.of_nat n < W.batch (window p) ->
  exists p', consume_many n p = Some p' /\ sound W W p'
             /\ W.pending (window p') = W.pending (window p) + N.of_nat n
             /\ W.batch (window p') = W.batch (window p)
             /\ queue p' + N.of_nat n = queue p /\ credits p' = credits p.
Proof.
  revert p; induction n as [|n IH]; intros p P F H Q L; cbn [consume_many].
  - exists p; repeat split; auto; try lia; apply H.
  - pose proof (Law.Window.default_batch_bounds W) as [_ B].
    destruct (step p Consume) as [p'|] eqn:E.
    + assert (sound W W p') as H' by (eapply step_sound; eauto; lia).
      pose proof (batch_high _ _ _ H) as BH.
      destruct p as [g [r pe b] h x q cs l v]; cbn -[N.of_nat] in *; split_ifs; [discriminate|].
      rewrite Law.Window.consumed_below_batch in E by (cbn; u64); cbn in E; invert_all.
      destruct (IH (Pair g (W.Window r (pe + 1) b) h x (q - 1) cs l v))
        as (p' & M & D & ? & ? & ? & ?); auto; cbn -[N.of_nat] in *; try lia.
      cbn -[N.of_nat] in *; exists p'; repeat split; auto; try apply D; try lia.
    + destruct p as [g w h x q cs l v]; cbn in *; split_ifs; [lia|].
      destruct (W.consumed w); discriminate.
Qed.

(** C3: taking what it has leads to a grant: a blocked sender is granted a whole batch after at most
    [batch] chunks more are consumed. *)
Theorem blocked_sender_is_granted (W : N) (p : pair) :
  1 <= W -> U64.fits W -> reachable W W p -> blocked p ->
  exists n p', (N.of_nat n <= W.batch (window p)) /\ consume_many n p = Some p'
               /\ credits p' = [W.batch (window p)].
Proof.
  intros P F H BL; destruct (blocked_sender_is_waited_for _ _ P F H BL) as [Q1 Q2].
  apply reachable_sound in H; [|lia|assumption]; destruct BL as (_ & _ & _ & _ & CR).
  pose proof (Law.Window.default_batch_bounds W) as [_ B].
  pose proof H as [C1 C2 C3 C4 C5 C6 C7 C8].
  set (n := N.to_nat (W.batch (window p) - W.pending (window p) - 1)).
  destruct (consume_up_to_batch n W p) as (p' & E & S' & E1 & E2 & E3 & E4); auto; try (subst n; lia).
  exists (n + 1)%nat.
  destruct p' as [g [r pe b] h x q cs l v]; cbn in *.
  assert (exists p'', step (Pair g (W.Window r pe b) h x q cs l v) Consume = Some p''
                      /\ credits p'' = [b]) as (p'' & E5 & E6).
  { cbn; split_ifs; [subst n; lia|]; destruct S' as [D1 D2 D3 D4 D5 D6 D7 D8]; cbn in *.
    rewrite Law.Window.consumed_completes_batch by (cbn; subst n; u64); cbn.
    eexists; split; [reflexivity|]; cbn; unfold send_grant; split_ifs; [lia|].
    rewrite E4, CR; reflexivity. }
  exists p''; split; [subst n; lia|split; [eapply consume_many_snoc; eauto|congruence]].
Qed.

(** C4, L10: with different windows, a blocked sender is waited for by a receiver that flushes before
    it waits on an empty queue. *)
Theorem blocked_sender_is_waited_for_if_flushed (S R : N) (p : pair) :
  1 <= S <= R -> U64.fits R -> reachable S R p -> blocked p ->
  (queue p = 0 -> W.pending (window p) = 0) -> 1 <= queue p.
Proof.
  intros SR F H (O & A & T & X & C) FL.
  destruct (reachable_sound S R p) as [C1 C2 C3 C4 C5 C6 C7 C8]; try assumption.
  specialize (C7 O); rewrite C in C1; cbn in C1; lia.
Qed.

(** C4, L10: without that flush it is false: with S = 1 and R = 32 both stop after one chunk. The
    sender is blocked, and no step is left but the flush (and ending the request). *)
Theorem without_flush_it_stops :
  exists p, reachable 1 32 p /\ blocked p /\ queue p = 0
            /\ forall o, o <> Flush -> o <> Close -> o <> Take 0 -> o <> PutBack 0 -> step p o = None.
Proof.
  exists (Pair (G.Gate 0 false) (W.Window 31 1 16) 0 0 0 [] 0 false).
  assert (1 <= U64.max) by (pose proof U64.max_large; lia).
  repeat split.
  - pose (w := W.opened 32).
    apply (reach_step 1 32 (Pair (G.Gate 0 false) (W.Window 31 0 16) 0 0 1 [] 0 false) Consume).
    apply (reach_step 1 32 (Pair (G.Gate 0 false) (W.Window 32 0 16) 0 1 0 [] 0 false) (Deliver false)).
    apply (reach_step 1 32 (Pair (G.Gate 0 false) (W.Window 32 0 16) 1 0 0 [] 0 false) Send).
    apply (reach_step 1 32 (fresh 1 w) (Take 1)).
    + apply reach_fresh; left; reflexivity.
    + reflexivity.
    + reflexivity.
    + reflexivity.
    + cbn [step]; replace (0 =? 1) with false by reflexivity; cbn [N.eqb Pos.eqb].
      rewrite Law.Window.consumed_below_batch; cbn; [reflexivity|lia|].
      unfold U64.fits; pose proof U64.max_large; lia.
  - intros [n|n| |part| | | |] N1 N2 N3 N4; try congruence; try reflexivity; cbn.
    + unfold G.acquire; cbn; split_ifs; try reflexivity; exfalso; [apply N3; f_equal|]; u64.
    + split_ifs; [|reflexivity]; exfalso; apply N4; f_equal; lia.
Qed.

(** * S > R *)

Lemma overrun_sends (S R : N) (n : nat) :
  N.of_nat n <= S ->
  reachable S R (Pair (G.Gate (S - N.of_nat n) false) (W.opened R) 0 (N.of_nat n) 0 [] 0 false).
Proof.
  induction n as [|n IH]; intros L.
  - replace (S - N.of_nat 0) with S by lia; apply (reach_fresh S R (W.opened R)); left; reflexivity.
  - eapply reach_step with (o := Send); [eapply reach_step with (o := Take 1); [apply IH; lia|]|].
    + cbn -[N.of_nat]; unfold G.acquire; cbn -[N.of_nat]; split_ifs; try u64; reflexivity.
    + cbn -[N.of_nat]; u64_unfold; do 2 f_equal; [f_equal|]; lia.
Qed.

Lemma overrun_delivers (S R : N) (n : nat) :
  N.of_nat n <= R -> R < S ->
  reachable S R (Pair (G.Gate 0 false) (W.Window (R - N.of_nat n) 0 (W.default_batch R)) 0
                      (S - N.of_nat n) (N.of_nat n) [] 0 false).
Proof.
  induction n as [|n IH]; intros L SR.
  - pose proof (overrun_sends S R (N.to_nat S)) as H; rewrite N2Nat.id in H; specialize (H ltac:(lia)).
    replace (S - S) with 0 in H by lia; cbn -[N.sub]; rewrite !N.sub_0_r; exact H.
  - eapply reach_step with (o := Deliver false); [apply IH; lia|].
    cbn -[N.of_nat]; unfold W.arrive; cbn -[N.of_nat]; split_ifs; try u64.
    u64_unfold; do 2 f_equal; [f_equal|..]; lia.
Qed.

(** C5: a sender that was given more than the receiver's window can overrun it, whatever the two
    windows; so a relay must never give it more. *)
Theorem larger_sender_overruns (S R : N) :
  R < S -> exists p, reachable S R p /\ violated p = true.
Proof.
  intros SR; eexists; split; [eapply reach_step with (o := Deliver false)|].
  - apply (overrun_delivers S R (N.to_nat R)); lia.
  - cbn -[N.of_nat]; unfold W.arrive; cbn -[N.of_nat]; split_ifs; try u64; reflexivity.
  - reflexivity.
Qed.
