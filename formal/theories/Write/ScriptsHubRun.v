(** Hub scripts: a publisher, a broadcast hub and subscribers that come and go, all played by hand, on a
    clock moved by hand. *)

From Coq Require Import NArith String List Bool.
From Sluicegate Require Import Write.Scripts Write.ScriptsDice.
From Sluicegate Require Import Law.Pipeline Law.HubRun.
From Sluicegate Require Decide.Demand Decide.Hub Decide.Overflow Law.HubSubscriber Law.Hub.
From Sluicegate Require Write.ScriptsGate Write.ScriptsPipeline Write.ScriptsStages.
Import ListNotations.
Open Scope string_scope.
Open Scope N_scope.

(** Subscribers count from 0 in the order in which they came. [most] is in microseconds. *)
Inductive op :=
| Start
| Subscribe (how : Hub.policy) (most : option N) (capacity : N)
| Request (who : nat) (n : N)
| Next (k : N)
| Complete
| Fail
| Cancel (who : nat)
| Advance (micros : N).

(** The elements that the hub holds before it shares them, and how many it keeps for newcomers. *)
Definition plan := (N * N)%type.

(** ** How it is written *)

Definition policy_text (how : Hub.policy) : json :=
  Text (match how with
        | Hub.HoldUp => "wait"
        | Hub.DropElements how => ScriptsStages.plan how
        | Hub.Disconnect => "disconnect"
        end).

Definition who_field (who : nat) : field := ("who", Number (N.of_nat who)).

Definition op_fields (o : op) : list field :=
  match o with
  | Start => [("op", Text "start")]
  | Subscribe how most capacity =>
      [("op", Text "subscribe"); ("policy", policy_text how); ("patience", or_null Number most);
       ("capacity", Number capacity)]
  | Request who n => [("op", Text "request"); who_field who; ("n", Number n)]
  | Next k => [("op", Text "next"); ("k", Number k)]
  | Complete => [("op", Text "complete")]
  | Fail => [("op", Text "fail")]
  | Cancel who => [("op", Text "cancel"); who_field who]
  | Advance micros => [("op", Text "advance"); ("micros", Number micros)]
  end.

Definition publisher_json (r : run) : json :=
  Object
    [("demand", Number (match ended r with Some _ => 0 | None => Law.Hub.may_send (core r) end));
     ("ended", or_null
        (fun how => Text (match how with
                          | Source_completed => "completed" | Source_failed => "failed"
                          | Source_cancelled => "cancelled" end)) (ended r))].

Definition listener_json (one : nat * party) : json :=
  let s := decided (snd one) in
  Object
    [("name", Text (show (N.of_nat (fst one)))); ("demand", Number (Hub.owed s));
     ("held", Number (Overflow.held (Hub.buffer s))); ("lost", Number (Overflow.lost (Hub.buffer s)))].

Definition subscriber_json (one : party * seat) : json :=
  let '(p, s) := one in
  Object
    [("delivered", Items (map Number (delivered p s)));
     ("terminal", or_null (fun how => Text (ScriptsStages.why how)) (told s))].

Definition shown_run (r : run) : list field :=
  [("state", Object
      [("publisher", publisher_json r);
       ("queued", Number (Hub.queued (Law.Hub.core (core r))));
       ("over", ScriptsPipeline.yes_no (shut r));
       ("listeners", Items (map listener_json (listening r)));
       ("subscribers", Items (map subscriber_json (pairs r)))])].

Definition micros (n : N) : N := 1000 * n.

(** One step. What the subscribers received in the step before is no longer shown. *)
Definition played (r : run) (o : op) : json * run :=
  let r := taken r in
  match o with
  | Start => (Null, settled r)
  | Subscribe how most capacity => (Null, subscribe r how (option_map micros most) capacity)
  | Request who n => (Null, request r who n)
  | Next k =>
      let '(r, n, why) := next (N.to_nat k) r in
      (Object
         [("sent", Number n);
          ("refused", match why with
                      | Sent => Null | No_demand => Text "no_demand" | Closed => Text "closed" end)],
       r)
  | Complete =>
      let '(r, first) := finish r Source_completed in (ScriptsPipeline.yes_no first, r)
  | Fail => let '(r, first) := finish r Source_failed in (ScriptsPipeline.yes_no first, r)
  | Cancel who => (Null, cancel r who)
  | Advance n => (Null, advance r (micros n))
  end.

Definition machine : machine_of run op := Machine _ _ op_fields played shown_run.

(** A hub that could hold nothing has a script without steps. *)
Definition hub_script (name : string) (one : plan * list op) : script :=
  let '((room, replay), ops) := one in
  Script name [("capacity", Number room); ("replay", Number replay)]
    (match opened room replay with Some r => Scripts.replay machine r (Start :: ops) | None => [] end).

(** False if a run was cut short: then [Pipeline.enough] is not. *)
Definition comes_to_rest (one : plan * list op) : bool :=
  match opened (fst (fst one)) (snd (fst one)) with
  | Some r => quiet (fold_left (fun r o => snd (played r o)) (Start :: snd one) r)
  | None => true
  end.

(** ** By name *)

Definition waits (capacity : N) : op := Subscribe Hub.HoldUp None capacity.
Definition waits_for (most capacity : N) : op := Subscribe Hub.HoldUp (Some most) capacity.
Definition drops (how : Overflow.strategy) (capacity : N) : op :=
  Subscribe (Hub.DropElements how) None capacity.
Definition disconnects (capacity : N) : op := Subscribe Hub.Disconnect None capacity.

Definition named : list (string * (plan * list op)) :=
  [("a hub without room", ((0, 0), []));
   ("nobody asks, and nobody is asked", ((4, 0), [Next 1; waits 2; Next 1; Request 0 1; Next 2; Complete]));
   ("the largest demand is asked for",
    ((9, 0), [waits 8; waits 8; Request 0 2; Request 1 5; Request 0 1; Next 3; Cancel 1; Next 9]));
   ("no more than the hub holds", ((3, 0), [waits 8; Request 0 8; Next 9; Request 0 18446744073709551615; Next 9]));
   ("one that waits holds up all", 
    ((4, 0), [waits 2; waits 4; Request 1 9; Next 9; Request 0 1; Next 1; Request 0 9; Next 9; Complete]));
   ("who leaves holds up nobody", ((4, 0), [waits 2; waits 4; Request 1 9; Next 9; Cancel 0; Next 9]));
   ("one that drops its oldest", ((3, 0), [drops Overflow.DropHead 2; waits 3; Request 1 9; Next 5; Request 0 9; Next 2]));
   ("one that drops its newest", ((3, 0), [drops Overflow.DropTail 2; waits 3; Request 1 9; Next 5; Request 0 9; Next 2]));
   ("one that drops what comes", ((3, 0), [drops Overflow.DropNew 2; waits 3; Request 1 9; Next 5; Request 0 9; Next 2]));
   ("one that drops all", ((3, 0), [drops Overflow.DropBuffer 2; waits 3; Request 1 9; Next 5; Request 0 9; Next 2]));
   ("one that is disconnected",
    ((3, 0), [disconnects 2; waits 3; Request 1 9; Next 5; Request 0 1; Request 0 9; Next 2]));
   ("one that waits for a while",
    ((4, 0), [waits_for 1000 2; waits 4; Request 1 9; Next 9; Advance 999; Advance 1; Next 9; Request 0 9]));
   ("whoever lets an element through has all of its time again",
    ((4, 0), [waits_for 1000 2; waits 8; Request 1 9; Next 9; Advance 900; Request 0 1; Advance 900;
              Advance 100; Request 0 9]));
   ("those behind one whose time is up have their own time",
    ((4, 0), [waits_for 1000 1; waits_for 1000 1; waits 9; Request 1 1; Request 2 9; Next 4; Advance 1000;
              Advance 999; Advance 1]));
   ("nobody listens, and what has come is kept",
    ((3, 0), [waits 1; waits 3; Request 1 3; Next 3; Cancel 1; Cancel 0; waits 3; Request 2 9; Next 9]));
   ("the end comes behind the last",
    ((4, 0), [waits 1; waits 4; Request 1 9; Next 3; Complete; Request 0 1; waits 2; Request 0 9; waits 2]));
   ("a failure comes behind the last", ((4, 0), [waits 2; disconnects 3; Request 1 4; Next 2; Fail; Request 0 9]));
   ("a newcomer is given the latest",
    ((4, 3), [waits 4; Request 0 9; Next 5; waits 4; waits 2; drops Overflow.DropNew 1; Request 1 9;
              Request 2 9; Next 2; Complete; waits 4; Request 4 9]))].

(** ** Every sequence *)

Definition policies : list (Hub.policy * option N) :=
  [(Hub.HoldUp, None); (Hub.HoldUp, Some 1000); (Hub.DropElements Overflow.DropHead, None);
   (Hub.DropElements Overflow.DropTail, None); (Hub.DropElements Overflow.DropNew, None);
   (Hub.DropElements Overflow.DropBuffer, None); (Hub.Disconnect, None)].

Definition comes (who : Hub.policy * option N) (capacity : N) : op := Subscribe (fst who) (snd who) capacity.

(** A slow one under each policy beside one that is waited for. *)
Definition prelude (slow : Hub.policy * option N) : list op :=
  [comes slow 2; waits 4; Request 1 9; Next 5].

Definition alphabet : list op :=
  [Request 0 1; Request 0 4; Next 2; waits_for 400 1; Cancel 0; Complete; Advance 600].

(** Newcomers to a hub that keeps some. *)
Definition newcomers : list op :=
  [waits 1; drops Overflow.DropHead 2; disconnects 3; Request 1 2; Next 2; Fail].

(** What can be played: a script names nobody who is not there. *)
Fixpoint playable (count : nat) (all : list op) : list op :=
  match all with
  | [] => []
  | Subscribe how most capacity :: rest => Subscribe how most capacity :: playable (S count) rest
  | (Request who _ | Cancel who) as one :: rest =>
      if Nat.ltb who count then one :: playable count rest else playable count rest
  | one :: rest => one :: playable count rest
  end.

Definition every (_ : unit) : list (plan * list op) :=
  (flat_map (fun slow => map (fun ops => ((3, 0), prelude slow ++ ops)) (sequences alphabet 3))
     policies ++
   map (fun ops => ((3, 2), playable 0 ([waits 4; Request 0 20; Next 3] ++ ops ++ [Request 1 1])))
     (sequences newcomers 3))%list.

(** ** At random *)

(** The order of the islands would show, where one loses elements that has asked for more of them than it can
    hold twice: nobody who is not waited for has so little room. *)
Definition wide_enough (room capacity : N) (how : Hub.policy) : N :=
  match how with
  | Hub.HoldUp => capacity
  | _ => N.max capacity (N.div2 (room + 1))
  end.

Definition throw_op (room people : N) (d : dice) : op * dice :=
  let '(which, d) := throw 200 d in
  let '(n, d) := choose 1 [1; 1; 1; 2; 2; 3; 5; 9] d in
  let '(who, d) := throw people d in
  let '(how, d) := choose (Hub.HoldUp, None) policies d in
  let '(small, d) := throw 3 d in
  let who := N.to_nat who in
  ((if (which <? 6) || (people =? 0) then
      Subscribe (fst how) (snd how) (wide_enough room (small + 1) (fst how))
    else if which <? 80 then Request who n
    else if which <? 160 then Next n
    else if which <? 188 then Advance (n * 200)
    else if which <? 194 then Cancel who
    else if which <? 196 then Request who 0
    else if which <? 197 then Fail
    else if which <? 198 then Complete
    else Next 30), d)%bool.

(** [later] more operations once the hub is over. *)
Fixpoint walk (length later : nat) (room : N) (r : run) (d : dice) : list op :=
  match length, later, shut r with
  | O, _, _ | _, O, true => []
  | S less, _, over =>
      let '(one, d) := throw_op room (N.of_nat (List.length (seats r))) d in
      one :: walk less (if over then pred later else later) room (snd (played r one)) d
  end.

Definition random (length : nat) (seed : N) : plan * list op :=
  let '(room, d) := throw 6 (seeded (seed + 50000)) in
  let '(replay, d) := choose 0 [0; 0; 2; 5] d in
  let p := (room + 1, replay) in
  (p, match opened (fst p) (snd p) with Some r => walk length 4 (fst p) r d | None => [] end).

Definition walks (_ : unit) : list (plan * list op) := map (random 60) (ScriptsGate.seeds 240).

(** ** The files *)

Definition named_scripts : list script := map (fun one => hub_script (fst one) (snd one)) named.

Definition numbered_scripts (title : string) (all : list (plan * list op)) : list script :=
  Scripts.numbered (fun n one => hub_script (title ++ show n) one) all.

(** True if every run of every script comes to its rest. *)
Definition all_at_rest (_ : unit) : bool :=
  forallb comes_to_rest (map snd named ++ every tt ++ walks tt).

Definition files : list file :=
  [File "hub" "named" "hub" (fun _ => named_scripts);
   File "hub" "every" "hub" (fun _ => numbered_scripts "sequence " (every tt));
   File "hub" "walks" "hub" (fun _ => numbered_scripts "walk " (walks tt))].

(** A little of each, for the anchor. *)
Definition of_each : list script :=
  (named_scripts ++ numbered_scripts "sequence " (firstn 3 (rev (every tt))) ++
   numbered_scripts "walk " (map (random 15) [0; 1; 2]))%list.
