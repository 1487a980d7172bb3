(** Which window a relay lets a sender start with: the smallest on the way, or a consumer is overrun
    (C5; L11). *)

From Coq Require Import NArith List Bool Lia ZifyBool ZifyN.
From Sluicegate Require Base.U64 Decide.Gate Decide.Window Decide.Direction Decide.Negotiate.
From Sluicegate Require Import Law.Chain Law.ChainHop Law.Relay Law.RelayLaws.
From Sluicegate Require Law.Negotiate Decide.Relay.
Module Relay := Decide.Relay.
Import ListNotations.

Open Scope N_scope.
Set Default Timeout 30.

Section Safe.
Context (consumer : nat -> Direction.side) (starts grants_room : nat -> N).

(** If every stream starts with what was agreed over all links of its way, and its consumer's own
    window is one of those, then nothing is overrun, over any number of relays (C2, C4; L11, L12). *)
Theorem the_smallest_window_is_safe hops p (first : nat -> N) (links : nat -> list N) :
  hops <> O ->
  (forall s, In (grants_room s) (first s :: links s) /\ grants_room s <= U64.max /\
             Law.Negotiate.over (first s) (links s) = Some (starts s)) ->
  reached consumer starts grants_room hops p -> overruns p = false /\ astray p = false.
Proof.
  intros N A; apply nothing_goes_astray; [exact N|]; intros s; destruct (A s) as (I & M & E).
  split; [apply (Law.Negotiate.fits_every_link _ _ _ _ E I)|exact M].
Qed.
End Safe.

(** ** One relay between two links that do not know each other *)

(** The window of the end that sends a stream, and of the end that consumes it, if each end took the
    window of its own link. *)
Definition sender_takes (consumer : Direction.side) (caller handler : N) : N :=
  match consumer with Direction.Handler => caller | Direction.Caller => handler end.

Definition consumer_has (consumer : Direction.side) (caller handler : N) : N :=
  match consumer with Direction.Handler => handler | Direction.Caller => caller end.

(** A relay may join two links if and only if no stream of either direction could start with more
    than its consumer has room for (C4, C5; L11, L12). *)
Theorem may_join_iff_safe_both_ways caller handler :
  Relay.may_join caller handler = true <->
  (forall consumer, sender_takes consumer caller handler <= consumer_has consumer caller handler).
Proof.
  unfold Relay.may_join, U64.eqb; split.
  - intros E [|]; cbn; lia.
  - intros S; pose proof (S Direction.Caller); pose proof (S Direction.Handler); cbn in *; lia.
Qed.

(** Over links that a relay joined, nothing is overrun, whichever way a stream goes (C2; L11, L12). *)
Theorem joined_links_overrun_nobody (consumer : nat -> Direction.side) hops caller handler p :
  hops <> O -> Relay.may_join caller handler = true -> caller <= U64.max ->
  reached consumer (fun s => sender_takes (consumer s) caller handler)
    (fun s => consumer_has (consumer s) caller handler) hops p ->
  overruns p = false /\ astray p = false.
Proof.
  intros N J M; apply nothing_goes_astray; [exact N|]; intros s.
  split; [apply may_join_iff_safe_both_ways, J|].
  unfold Relay.may_join, U64.eqb in J; destruct (consumer s); cbn; lia.
Qed.

(** What a notice offers is never 0, so a host never offers a window that cannot move. *)
Theorem noticed_is_positive offered : 1 <= Relay.noticed offered.
Proof.
  unfold Relay.noticed, Relay.default_window, U64.eqb; destruct offered as [w|]; [|lia].
  destruct (w =? 0) eqn:Z; lia.
Qed.

(** And it is what the host said, if it said one; else 32, as the wire has it. *)
Theorem noticed_is_what_was_said w :
  (1 <= w -> Relay.noticed (Some w) = w) /\ Relay.noticed (Some 0) = 32 /\ Relay.noticed None = 32.
Proof.
  repeat split; intros P; unfold Relay.noticed, U64.eqb; destruct (w =? 0) eqn:Z; [lia|reflexivity].
Qed.

(** Who waits for no more than was granted to him at most is never refused for what lies unread: not below
    one window, however large its chunks are, and not below so many bytes, however many they are. *)
Theorem one_window_may_lie_unread window chunks most bytes :
  Relay.lies_unread window chunks most bytes = true <-> window <= chunks /\ most <= bytes.
Proof. unfold Relay.lies_unread, U64.leb; lia. Qed.

(** ** A larger window is not safe *)

Section Unsafe.
Context (starts grants_room : nat -> N).

Let to_handler (_ : nat) : Direction.side := Direction.Handler.

Inductive leads : path -> path -> Prop :=
| leads_here p : leads p p
| leads_on p a p' p'' : acts to_handler p a = Some p' -> leads p' p'' -> leads p p''.

Lemma leads_reached hops p p' :
  leads p p' -> reached to_handler starts grants_room hops p -> reached to_handler starts grants_room hops p'.
Proof. intros L; induction L; intros R; eauto using reached_act. Qed.

Lemma one_chunk_through g w q o z :
  Gate.closed (g O) = false -> 1 <= Gate.available (g O) ->
  exists g' l, Gate.closed (g' O) = false /\ Gate.available (g' O) + 1 = Gate.available (g O) /\
    leads (Path [Leg [] []; Leg [] []] g w q o z) (Path [Leg [] []; l] g' w q o z) /\
    l = Leg [Frame O Data] [].
Proof.
  intros C A; destruct (acquire_one (g O)) as [[? _]|[[_ [? _]]|(_ & _ & g' & E)]]; [congruence|lia|].
  pose proof (acquire_taken _ _ _ E) as (_ & C' & A').
  exists (set g O g'), (Leg [Frame O Data] []); rewrite set_same; repeat split; auto.
  eapply leads_on with (a := Send O); [cbn [acts]; rewrite E; reflexivity|].
  eapply leads_on with (a := Pass false true O); [reflexivity|]; apply leads_here.
Qed.

Lemma too_many_chunks n : forall g w q z,
  N.to_nat (Window.remaining (w O)) = n ->
  Gate.closed (g O) = false -> Window.remaining (w O) < Gate.available (g O) ->
  exists p, leads (Path [Leg [] []; Leg [] []] g w q false z) p /\ overruns p = true.
Proof.
  induction n as [|n IH]; intros g w q z R C A;
    destruct (one_chunk_through g w q false z C ltac:(lia)) as (g' & l & C' & A' & L & ->).
  - eexists; split.
    + assert (forall p q r, leads p q -> leads q r -> leads p r) as trans
        by (intros p q' r X; induction X; eauto using leads_on).
      eapply trans; [exact L|]; eapply leads_on with (a := Receive Direction.Handler); [|apply leads_here].
      cbn; unfold Window.arrive, U64.eqb; replace (Window.remaining (w O)) with 0 by lia; reflexivity.
    + reflexivity.
  - edestruct (IH g' (set w O (fst (Window.arrive (w O)))) (set q O (q O + 1)) z) as (p & Lp & O).
    + rewrite set_same, arrive_spec by lia; cbn; lia.
    + exact C'.
    + rewrite set_same, arrive_spec by lia; cbn; lia.
    + exists p; split; [|exact O].
      assert (forall p q r, leads p q -> leads q r -> leads p r) as trans
        by (intros p' q' r X; induction X; eauto using leads_on).
      eapply trans; [exact L|]; eapply leads_on with (a := Receive Direction.Handler); [|exact Lp].
      cbn -[N.add]; rewrite arrive_spec by lia; reflexivity.
Qed.

(** A sender that a relay lets start with more than its consumer's window can overrun it: the relay
    must take the smallest (C5; L11, L12). *)
Theorem a_larger_window_is_not_safe :
  grants_room O < starts O ->
  exists p, reached to_handler starts grants_room 2 p /\ overruns p = true.
Proof.
  intros L.
  destruct (too_many_chunks _ (fun s => Gate.opened (starts s))
    (fun s => Window.with_batch (grants_room s) 1) (fun _ => 0) false eq_refl eq_refl L) as (p & Lp & O).
  exists p; split; [|exact O].
  eapply leads_reached; [exact Lp|]; apply (reached_start to_handler starts grants_room 2 (fun _ => 1)).
Qed.

End Unsafe.
