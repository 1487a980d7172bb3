(** Laws of the direction of credit (L11, L14). *)

From Coq Require Import Bool List Lia Arith.
From Sluicegate Require Import Decide.Direction.
Import ListNotations.

Set Default Timeout 30.

(** The end across. *)
Definition other (s : side) : side := match s with Caller => Handler | Handler => Caller end.

(** The way toward an end. *)
Definition toward (s : side) : way := match s with Caller => ToCaller | Handler => ToHandler end.

(** L14: what a consumer grants releases the sender across, at either end. *)
Theorem grant_releases_the_end_across (consumer : side) :
  released_by (granted_by consumer) = other consumer.
Proof. destruct consumer; reflexivity. Qed.

(** L14: at a program that is caller and handler of one request, the direction tells the two apart:
    a grant releases gates of one end only. *)
Theorem direction_tells_the_ends_apart (d e : credit_direction) :
  released_by d = released_by e -> d = e.
Proof. destruct d, e; cbn; congruence. Qed.

(** L11: a host sends a grant toward the end that it releases. *)
Theorem host_sends_to_the_sender (d : credit_direction) :
  at_host (Some d) = toward (released_by d).
Proof. destruct d; reflexivity. Qed.

(** L6: a grant without a known direction goes nowhere at a host, and is counted. *)
Theorem undirected_goes_nowhere (d : option credit_direction) :
  at_host d = Nowhere <-> d = None.
Proof. destruct d as [[|]|]; cbn; split; congruence. Qed.

(** Whether the frames that an end writes carry the routing id of the request when they come to a
    switch: the handler copies it from the REQ, the caller never had it. *)
Definition carries_routing_id (writer : side) : bool :=
  match writer with Caller => false | Handler => true end.

(** L11: a switch that looks only at the routing id sends a grant the same way as a host that looks
    only at the direction. *)
Theorem switch_and_host_agree (consumer : side) :
  at_switch (carries_routing_id consumer) = at_host (Some (granted_by consumer)).
Proof. destruct consumer; reflexivity. Qed.

(** * Any number of relays *)

(** A relay on the way between the ends. *)
Inductive relay := Host | Switch.

(** Where a relay sends the grant that [consumer] wrote. *)
Definition sends (r : relay) (consumer : side) : way :=
  match r with
  | Host => at_host (Some (granted_by consumer))
  | Switch => at_switch (carries_routing_id consumer)
  end.

(** Places on the way: 0 is the caller, [length route + 1] the handler, the relays lie between. *)
Definition hop (route : list relay) (consumer : side) (place : nat) : option nat :=
  match place with
  | O => None
  | S i =>
      match nth_error route i with
      | None => None
      | Some r =>
          match sends r consumer with
          | ToCaller => Some i
          | ToHandler => Some (S (S i))
          | Nowhere => None
          end
      end
  end.

Fixpoint travel (hops : nat) (route : list relay) (consumer : side) (place : nat) : option nat :=
  match hops with
  | O => Some place
  | S h => match hop route consumer place with Some p => travel h route consumer p | None => None end
  end.

Definition place_of (route : list relay) (s : side) : nat :=
  match s with Caller => 0 | Handler => S (length route) end.

(** The place of the relay nearest to an end. *)
Definition nearest (route : list relay) (s : side) : nat :=
  match s with Caller => 1 | Handler => length route end.

(** L11: over any number of hosts and switches, in any order, a grant goes straight from the consumer
    to the sender across: one relay after the other, none twice, and it ends nowhere else. *)
Theorem grant_reaches_the_sender (route : list relay) (consumer : side) :
  travel (length route) route consumer (nearest route consumer) = Some (place_of route (other consumer)).
Proof.
  destruct consumer; cbn [nearest other place_of].
  - enough (forall k i, i + k = length route -> travel k route Caller (S i) = Some (S (length route))) as G
      by (apply (G (length route) 0); lia).
    induction k as [|k IH]; intros i E; cbn; [f_equal; lia|].
    destruct (nth_error route i) as [r|] eqn:R; [|apply nth_error_None in R; lia].
    destruct r; cbn; apply IH; lia.
  - enough (forall k, k <= length route -> travel k route Handler k = Some 0) as G by (apply G; lia).
    induction k as [|k IH]; intros E; cbn; [reflexivity|].
    destruct (nth_error route k) as [r|] eqn:R; [|apply nth_error_None in R; lia].
    destruct r; cbn; apply IH; lia.
Qed.
