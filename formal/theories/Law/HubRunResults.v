(** What single hubs do, computed by the kernel with the machine of [Law.HubRun]. *)

From Coq Require Import NArith Bool List.
From Sluicegate Require Import Law.Pipeline Law.HubRun.
From Sluicegate Require Decide.Overflow Decide.Hub Law.HubSubscriber Law.Hub.
Import ListNotations.
Open Scope N_scope.

Definition nothing : run := Run (Law.Hub.Machine (Hub.Hub 0 0 0) [] [] 0) 0 [] [] 0 0 None 0 false false.

Definition hub (room replay : N) : run :=
  match opened room replay with Some r => settled r | None => nothing end.

Definition hold (capacity : N) (r : run) : run := subscribe r Hub.HoldUp None capacity.
Definition hold_for (most capacity : N) (r : run) : run := subscribe r Hub.HoldUp (Some most) capacity.
Definition drop (how : Overflow.strategy) (capacity : N) (r : run) : run :=
  subscribe r (Hub.DropElements how) None capacity.
Definition expel (capacity : N) (r : run) : run := subscribe r Hub.Disconnect None capacity.
Definition ask (i : nat) (n : N) (r : run) : run := request r i n.
Definition sends (k : nat) (r : run) : run := fst (fst (next k r)).
Definition ends (how : source_end) (r : run) : run := fst (finish r how).

(** What the publisher may send, what the hub has not shared, and what the subscribers have received, lost and
    been told. *)
Definition may_send (r : run) : N := Law.Hub.may_send (core r).
Definition queued (r : run) : N := Hub.queued (Law.Hub.core (core r)).
Definition came (r : run) : list (list N) := map (fun one => delivered (fst one) (snd one)) (pairs r).
Definition lost (r : run) : list N :=
  map (fun p => Overflow.lost (Hub.buffer (decided p))) (Law.Hub.parties (core r)).
Definition were_told (r : run) : list (option Overflow.buffer_end) := map told (seats r).

(** The largest demand is asked for, as far as the hub has room. *)
Example the_hub_asks_for_the_largest :
  let r := ask 1 5 (ask 0 2 (hold 8 (hold 8 (hub 9 0)))) in
  may_send r = 5 /\ may_send (ask 0 1 r) = 5 /\ may_send (ask 0 4 r) = 6 /\
  may_send (ask 0 9 (hold 8 (hub 3 0))) = 3 /\ may_send (hold 8 (hub 3 0)) = 0 /\
  snd (send (hold 8 (hub 3 0))) = No_demand.
Proof. vm_compute; repeat split. Qed.

(** One that is waited for sets the pace of all, until it leaves. *)
Example one_that_waits_sets_the_pace :
  let r := sends 9 (ask 1 9 (hold 4 (hold 2 (hub 4 0)))) in
  came r = [[]; [0; 1]] /\ queued r = 4 /\ may_send r = 0 /\
  came (ask 0 1 r) = [[0]; [0; 1; 2]] /\ may_send (ask 0 1 r) = 1 /\
  came (ask 0 9 r) = [[0; 1; 2; 3; 4; 5]; [0; 1; 2; 3; 4; 5]] /\
  came (cancel r 0) = [[]; [0; 1; 2; 3; 4; 5]] /\ lost (cancel r 0) = [0; 0].
Proof. vm_compute; repeat split. Qed.

(** One that drops holds up nobody, and loses as its strategy says. *)
Example one_that_drops_loses :
  let slow how := sends 5 (ask 1 9 (hold 3 (drop how 2 (hub 3 0)))) in
  let all how := (came (ask 0 9 (slow how)), lost (slow how)) in
  all Overflow.DropHead = ([[3; 4]; [0; 1; 2; 3; 4]], [3; 0]) /\
  all Overflow.DropTail = ([[0; 4]; [0; 1; 2; 3; 4]], [3; 0]) /\
  all Overflow.DropNew = ([[0; 1]; [0; 1; 2; 3; 4]], [3; 0]) /\
  all Overflow.DropBuffer = ([[4]; [0; 1; 2; 3; 4]], [4; 0]).
Proof. vm_compute; repeat split. Qed.

(** One that is expelled is told behind what its buffer holds, and loses nothing that was shared with it. *)
Example one_that_is_expelled_ends_alone :
  let r := sends 5 (ask 1 9 (hold 3 (expel 2 (hub 3 0)))) in
  came (ask 0 1 r) = [[0]; [0; 1; 2; 3; 4]] /\ were_told (ask 0 1 r) = [None; None] /\
  came (ask 0 9 r) = [[0; 1]; [0; 1; 2; 3; 4]] /\
  were_told (ask 0 9 r) = [Some Overflow.Overflowed; None] /\ lost r = [0; 0].
Proof. vm_compute; repeat split. Qed.

(** One that is waited for so long: not a moment longer, and anew for each element. *)
Example one_that_waits_has_its_time :
  let r := sends 9 (ask 1 9 (hold 4 (hold_for 1000 2 (hub 4 0)))) in
  came (advance r 999) = [[]; [0; 1]] /\ came (advance r 1000) = [[]; [0; 1; 2; 3; 4; 5]] /\
  came (ask 0 9 (advance r 1000)) = [[0; 1]; [0; 1; 2; 3; 4; 5]] /\
  were_told (ask 0 9 (advance r 1000)) = [Some Overflow.Overflowed; None] /\
  let r := ask 0 1 (advance r 900) in
  came (advance r 999) = [[0]; [0; 1; 2]] /\ came (advance r 1000) = [[0]; [0; 1; 2; 3; 4; 5]].
Proof. vm_compute; repeat split. Qed.

(** And those behind it have their own. *)
Example those_behind_have_their_own_time :
  let r := sends 4 (ask 2 9 (ask 1 1 (hold 9 (hold_for 1000 1 (hold_for 1000 1 (hub 4 0)))))) in
  came r = [[]; [0]; [0]] /\ came (advance r 1000) = [[]; [0]; [0; 1]] /\
  came (advance (advance r 1000) 999) = [[]; [0]; [0; 1]] /\
  came (advance (advance r 1000) 1000) = [[]; [0]; [0; 1; 2; 3]].
Proof. vm_compute; repeat split. Qed.

(** While nobody listens the hub keeps what it has; the next one gets it. *)
Example the_hub_waits_for_somebody :
  let r := cancel (cancel (sends 3 (ask 1 3 (hold 3 (hold 1 (hub 3 0))))) 1) 0 in
  queued r = 2 /\ may_send r = 0 /\ map fst (listening r) = [] /\
  came (ask 2 9 (hold 3 r)) = [[]; [0]; [1; 2]] /\ may_send (ask 2 9 (hold 3 r)) = 3.
Proof. vm_compute; repeat split. Qed.

(** An end comes behind the last element, and whoever comes later is told it at once. *)
Example an_end_comes_behind_the_last :
  let r := ends Source_completed (sends 3 (ask 1 9 (hold 4 (hold 1 (hub 4 0))))) in
  were_told r = [None; None] /\ shut r = false /\ came (ask 0 1 r) = [[0]; [0; 1]] /\
  came (ask 0 9 r) = [[0; 1; 2]; [0; 1; 2]] /\ shut (ask 0 9 r) = true /\
  were_told (hold 2 (ask 0 9 r)) =
    [Some Overflow.Completed; Some Overflow.Completed; Some Overflow.Completed] /\
  were_told (ends Source_failed (hold 1 (hub 4 0))) = [Some Overflow.Failed].
Proof. vm_compute; repeat split. Qed.

(** A newcomer is given the latest, as many as its buffer holds. *)
Example a_newcomer_is_given_the_latest :
  let r := sends 5 (ask 0 9 (hold 4 (hub 4 3))) in
  came (ask 1 9 (hold 4 r)) = [[0; 1; 2; 3; 4]; [2; 3; 4]] /\
  came (ask 1 9 (drop Overflow.DropNew 1 r)) = [[0; 1; 2; 3; 4]; [4]] /\
  lost (drop Overflow.DropNew 1 r) = [0; 0] /\
  came (ask 1 9 (hold 4 (sends 3 (ask 0 9 (hold 4 (hub 4 0)))))) = [[0; 1; 2]; []].
Proof. vm_compute; repeat split. Qed.
