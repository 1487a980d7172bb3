(** The ledger of a stream at a bystander: a runtime between the two ends that sees all chunks and all
    grants of a stream pass, and shows what is left of its window. What a ledger does with frames of any
    sender, and below zero, stands in [Law.Ledger]. *)

From Coq Require Import NArith List Bool Lia ZifyBool ZifyN.
From Sluicegate Require Base.U64 Decide.Gate Decide.Window Decide.Facts Decide.Ledger.
From Sluicegate Require Import Law.Chain Law.ChainHop.
Import ListNotations.

Open Scope N_scope.
Set Default Timeout 30.

Local Arguments N.add : simpl never.
Local Arguments N.sub : simpl never.
Local Arguments N.min : simpl never.
Local Arguments N.max : simpl never.
Local Arguments Window.flush : simpl never.

(** A stream and its bystander. The legs to either side of it may be of any length. *)
Record watched := Watched {
  gate : Gate.gate;
  near : N; (* chunks between the sender and the bystander *)
  far : N; (* chunks between the bystander and the consumer *)
  window : Window.window;
  queue : N;
  far_grants : list N; (* between the consumer and the bystander, oldest first *)
  near_grants : list N; (* between the bystander and the sender, oldest first *)
  balance : Ledger.balance; (* what the bystander shows *)
  overrun : bool;
}.

Inductive action := Send | ChunkPasses | ChunkArrives | Consume | Flush | GrantPasses | GrantArrives
  | Aside (kind : Facts.frame_type).

Definition acts (p : watched) (a : action) : option watched :=
  match p with Watched g x y w q c d v o =>
  match a with
  | Send =>
      match Gate.acquire g 1 false with
      | (g, Gate.Taken) => Some (Watched g (x + 1) y w q c d v o)
      | _ => None
      end
  | ChunkPasses =>
      if x =? 0 then None
      else Some (Watched g (x - 1) (y + 1) w q c d (Ledger.seen v Facts.Chunk 0) o)
  | ChunkArrives =>
      if y =? 0 then None
      else match Window.arrive w with
           | (w, Window.Accepted) => Some (Watched g x (y - 1) w (q + 1) c d v o)
           | (w, Window.Violation) => Some (Watched g x (y - 1) w q c d v true)
           end
  | Consume =>
      if q =? 0 then None
      else let '(w, n) := Window.consumed w in
           Some (Watched g x y w (q - 1) (sent_grant n c) d v o)
  | Flush => let '(w, n) := Window.flush w in Some (Watched g x y w q (sent_grant n c) d v o)
  | GrantPasses =>
      match c with
      | [] => None
      | n :: rest => Some (Watched g x y w q rest (d ++ [n]) (Ledger.seen v Facts.Credit n) o)
      end
  | GrantArrives =>
      match d with
      | [] => None
      | n :: rest => Some (Watched (Gate.grant g n) x y w q c rest v o)
      end
  | Aside kind => (* any other frame of the stream or its request *)
      match kind with
      | Facts.Chunk | Facts.Credit => None
      | _ => Some (Watched g x y w q c d (Ledger.seen v kind 0) o)
      end
  end end.

(** The sender and the ledger start with [S], the consumer with [R]. *)
Definition start (S R wish : N) : watched :=
  Watched (Gate.opened S) 0 0 (Window.with_batch R wish) 0 [] [] (Ledger.seeded S) false.

Inductive reached (S R : N) : watched -> Prop :=
| reached_start wish : reached S R (start S R wish)
| reached_act p a p' : reached S R p -> acts p a = Some p' -> reached S R p'.

Record watched_soundly (S R : N) (p : watched) : Prop := {
  stays_open : Gate.closed (gate p) = false;
  shows : balance p = Ledger.Left (Gate.available (gate p) + near p + sum (near_grants p));
  adds_up :
    Gate.available (gate p) + near p + far p + sum (far_grants p) + sum (near_grants p) + (R - S)
    = Window.remaining (window p);
  room : Window.remaining (window p) + Window.pending (window p) + queue p = R;
  batches : Window.pending (window p) < Window.batch (window p);
  paid : overrun p = false;
}.

Lemma watched_always S R p :
  S <= R -> R <= U64.max -> reached S R p -> watched_soundly S R p.
Proof.
  intros L M X; induction X as [wish|p a p' X I E].
  - constructor; cbn; auto; unfold Ledger.seeded, Window.default_batch, U64.umin, U64.umax; try lia.
    f_equal; lia.
  - destruct I as [O V A B C D]; destruct p as [g x y w q c d v o], a as [| | | | | | |kind]; cbn in *; subst.
    + destruct (Gate.acquire g 1 false) as [g' []] eqn:T; try discriminate; injection E as <-.
      apply acquire_taken in T as (_ & T1 & T2); constructor; cbn; auto; try lia; f_equal; lia.
    + destruct (x =? 0) eqn:Z; [discriminate|]; injection E as <-; constructor; cbn; auto; try lia.
      unfold U64.eqb, U64.sat_sub; destruct (Gate.available g + x + sum d =? 0) eqn:Y; [lia|];
        apply (f_equal Ledger.Left); lia.
    + destruct (y =? 0) eqn:Z; [discriminate|]; rewrite arrive_spec in E by lia; injection E as <-.
      constructor; cbn; auto; lia.
    + destruct (q =? 0) eqn:Z; [discriminate|].
      destruct (consumed_spec w C) as (w' & n & F & W1 & W2 & W3 & W4); [lia|].
      rewrite F in E; injection E as <-; constructor; cbn; rewrite ?sum_sent_grant; auto; lia.
    + rewrite flush_spec in E by lia; injection E as <-.
      constructor; cbn; rewrite ?sum_sent_grant; auto; lia.
    + destruct c as [|n rest]; [discriminate|]; injection E as <-; cbn in *.
      constructor; cbn; rewrite ?sum_app; cbn; auto; try lia.
      rewrite U64.sat_add_exact by (unfold U64.fits; lia); f_equal; lia.
    + destruct d as [|n rest]; [discriminate|]; injection E as <-; cbn in *.
      unfold Gate.grant; rewrite O, U64.sat_add_exact by (unfold U64.fits; lia).
      constructor; cbn; auto; try lia; f_equal; lia.
    + destruct kind; try discriminate; injection E as <-; constructor; cbn; auto.
Qed.

(** What a bystander shows is what its side of the stream holds: the sender's credit, the chunks that
    have not passed yet and the grants that have. So it is never below zero while the sender keeps the
    rules, and a runtime that refuses what would take it below refuses no paid chunk (L2, L3; L12). *)
Theorem the_ledger_is_the_window_so_far S R p :
  S <= R -> R <= U64.max -> reached S R p ->
  balance p = Ledger.Left (Gate.available (gate p) + near p + sum (near_grants p)) /\
  (1 <= near p -> exists n, Ledger.spend (balance p) = Ledger.Left n) /\ overrun p = false.
Proof.
  intros L M X; destruct (watched_always S R p L M X) as [O V A B C D]; repeat split; auto.
  intros P; rewrite V; cbn; unfold U64.eqb; destruct (Gate.available (gate p)
    + near p + sum (near_grants p) =? 0) eqn:Z; [lia|eexists; reflexivity].
Qed.

(** At a quiet point, when nothing of the stream is on its way, the ledger, the gate and the window
    agree: it shows what the sender may send, which is what the consumer expects, less what the
    sender was never told of (L2). *)
Theorem at_a_quiet_point_all_agree S R p :
  S <= R -> R <= U64.max -> reached S R p ->
  near p = 0 -> far p = 0 -> far_grants p = [] -> near_grants p = [] ->
  balance p = Ledger.Left (Gate.available (gate p)) /\
  Gate.available (gate p) + (R - S) = Window.remaining (window p).
Proof.
  intros L M X N F G H; destruct (watched_always S R p L M X) as [O V A B C D].
  rewrite N, F, G, H in *; cbn in *; split; [rewrite V; f_equal; lia|lia].
Qed.
