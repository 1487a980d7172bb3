(** Saturation is never reached by a link that keeps the rules.

    The decisions add with saturation. Here every addition that a pair can make is shown to be exact:
    the pair runs step by step like one that counts without any upper bound. *)

From Coq Require Import NArith Bool List Lia ZifyBool ZifyN.
From Sluicegate Require Import Base.U64 Base.Tactics.
From Sluicegate Require Decide.Gate Decide.Window Law.Gate Law.Window.
From Sluicegate Require Import Law.Pair.
Import ListNotations.

Set Default Timeout 30.
Open Scope N_scope.

(** The same decisions with addition that has no end. *)
Definition exact_grant (g : G.gate) (n : N) : G.gate :=
  if G.closed g then g else G.Gate (G.available g + n) false.

Definition exact_give_back (g : G.gate) (n : N) : G.gate :=
  G.Gate (G.available g + n) (G.closed g).

Definition exact_flush (w : W.window) : W.window * N :=
  (W.Window (W.remaining w + W.pending w) 0 (W.batch w), W.pending w).

Definition exact_consumed (w : W.window) : W.window * N :=
  if W.pending w + 1 <? W.batch w
  then (W.Window (W.remaining w) (W.pending w + 1) (W.batch w), 0)
  else (W.Window (W.remaining w + (W.pending w + 1)) 0 (W.batch w), W.pending w + 1).

Definition exact_continued (w : W.window) : W.window * N :=
  (W.Window (W.remaining w + 1) (W.pending w) (W.batch w), 1).

(** A step of the pair that counts without an upper bound. *)
Definition exact_step (p : pair) (o : op) : option pair :=
  match p with Pair g w h x q cs l v =>
  match o with
  | PutBack n => if n <=? h then Some (Pair (exact_give_back g n) w (h - n) x q cs l v) else None
  | Deliver part =>
      if x =? 0 then None
      else match W.arrive w with
           | (_, W.Violation) => Some (Pair g w h (x - 1) q cs l true)
           | (w', W.Accepted) =>
               if part
               then let (w'', n) := exact_continued w' in
                    Some (Pair g w'' h (x - 1) q (send_grant cs n) l v)
               else Some (Pair g w' h (x - 1) (q + 1) cs l v)
           end
  | Consume =>
      if q =? 0 then None
      else let (w', n) := exact_consumed w in Some (Pair g w' h x (q - 1) (send_grant cs n) l v)
  | Flush =>
      if W.pending w =? 0 then None
      else let (w', n) := exact_flush w in Some (Pair g w' h x q (send_grant cs n) l v)
  | Credit =>
      match cs with
      | [] => None
      | n :: rest =>
          Some (Pair (exact_grant g n) w h x q rest (if G.closed g then l + n else l) v)
      end
  | _ => step p o
  end end.

(** No overflow: in every reachable state, each step is the one without an upper bound. *)
Theorem no_overflow (S R : N) (p : pair) (o : op) :
  1 <= S <= R -> U64.fits R -> reachable S R p -> step p o = exact_step p o.
Proof.
  intros SR F H; pose proof (Law.Window.default_batch_bounds R) as [_ B].
  destruct (reachable_sound _ _ _ SR F H) as [C1 C2 C3 C4 C5 C6 C7 C8].
  destruct p as [[a c] [r pe b] h x q cs l v]; cbn in *.
  destruct o as [n|n| |part| | | |]; cbn; try reflexivity.
  - destruct (n <=? h) eqn:L; [|reflexivity]; unfold exact_give_back, G.give_back; cbn.
    rewrite U64.sat_add_exact by u64; reflexivity.
  - destruct (x =? 0) eqn:X; [reflexivity|].
    destruct (W.arrive (W.Window r pe b)) as [w' [|]] eqn:A; [|reflexivity].
    apply Law.Window.arrival_costs_one in A; destruct w' as [r' pe' b']; cbn in A; destruct A as (? & -> & ->).
    destruct part; [|reflexivity]; unfold exact_continued; cbn; rewrite U64.sat_add_exact by u64; reflexivity.
  - destruct (q =? 0) eqn:Q; [reflexivity|]; unfold exact_consumed, W.consumed, W.flush; cbn.
    rewrite !U64.sat_add_exact by u64; reflexivity.
  - destruct (pe =? 0) eqn:Q; [reflexivity|]; unfold exact_flush, W.flush; cbn.
    rewrite U64.sat_add_exact by u64; reflexivity.
  - destruct cs as [|n cs]; [reflexivity|]; cbn in *; unfold exact_grant, G.grant; cbn.
    destruct c; [reflexivity|]; rewrite U64.sat_add_exact by u64; reflexivity.
Qed.

(** And all counts of both ends stay within the larger window, so they fit. *)
Theorem counts_fit (S R : N) (p : pair) :
  1 <= S <= R -> U64.fits R -> reachable S R p ->
  G.available (gate p) <= R /\ W.remaining (window p) <= R
  /\ W.pending (window p) <= R /\ Forall (fun n => n <= R) (credits p).
Proof.
  intros SR F H; destruct (reachable_sound _ _ _ SR F H) as [C1 C2 C3 C4 C5 C6 C7 C8].
  repeat split; try lia; apply Forall_forall; intros n I.
  assert (n <= sum (credits p)); [|lia].
  clear - I; induction (credits p) as [|m l IH]; cbn in *; [tauto|]; destruct I as [->|I]; [lia|].
  specialize (IH I); lia.
Qed.

(** A peer that breaks the rules can make a gate saturate, never wrap. *)
Theorem saturates_under_a_liar (g : G.gate) (n : N) :
  G.closed g = false -> U64.max <= n -> G.available (G.grant g n) = U64.max.
Proof. intros O L; rewrite Law.Gate.grant_adds by exact O; cbn; lia. Qed.
