(** Junction scripts: several publishers joined, or one forked to several subscribers, all played by
    hand, with lines of stages on either side. *)

From Coq Require Import NArith String List Bool.
From Sluicegate Require Import Write.Scripts Write.ScriptsDice.
From Sluicegate Require Import Law.Pipeline Law.Junction Law.JunctionRun.
From Sluicegate Require Decide.Demand Decide.Hub.
From Sluicegate Require Write.ScriptsGate Write.ScriptsPipeline.
Import ListNotations.
Open Scope string_scope.
Open Scope N_scope.

Inductive op :=
| Start
| Request (who : nat) (n : N)
| Next (who : nat) (k : N)
| Complete (who : nat)
| Fail (who : nat)
| Cancel (who : nat).

(** What is played: joined publishers, or forked subscribers, and the lines of stages. *)
Inductive plan :=
| Joining (how : joining) (from : list (list operator)) (to : list operator)
| Forking (how : forking) (from : list operator) (to : list (list operator)).

Definition opened (p : plan) : option web :=
  match p with
  | Joining how from to => joined how from to
  | Forking how from to => forked how from to
  end.

(** ** How it is written *)

Definition join_word (how : joining) : string :=
  match how with
  | Zip => "zip" | Combine => "combine" | Merge => "merge" | Merge_prefer => "merge_prefer"
  | Concat => "concat"
  end.

Definition fork_word (how : forking) : string :=
  match how with Broadcast => "broadcast" | Balance => "balance" | Partition => "partition" end.

Definition stages_json (all : list operator) : json :=
  Items (map (fun o => Object (ScriptsPipeline.stage_fields o)) all).

Definition plan_fields (p : plan) : list field :=
  let '(kind, from, to) :=
    match p with
    | Joining how from to => (join_word how, from, [to])
    | Forking how from to => (fork_word how, [from], to)
    end in
  [("junction", Text kind); ("inputs", Items (map stages_json from));
   ("outputs", Items (map stages_json to))].

Definition who_field (who : nat) : field := ("who", Number (N.of_nat who)).

Definition op_fields (o : op) : list field :=
  match o with
  | Start => [("op", Text "start")]
  | Request who n => [("op", Text "request"); who_field who; ("n", Number n)]
  | Next who k => [("op", Text "next"); who_field who; ("k", Number k)]
  | Complete who => [("op", Text "complete"); who_field who]
  | Fail who => [("op", Text "fail"); who_field who]
  | Cancel who => [("op", Text "cancel"); who_field who]
  end.

Definition meter_json (m : Demand.stage) : json :=
  Object
    [("owed", Number (Demand.owed m)); ("asked", Number (Demand.asked m));
     ("held", Number (Demand.held m))].

Definition publisher_json (p : publisher) : json :=
  Object
    [("demand", Number (asked_of p));
     ("ended", or_null
        (fun how => Text (match how with
                          | Source_completed => "completed" | Source_failed => "failed"
                          | Source_cancelled => "cancelled" end)) (ended p))].

Definition subscriber_json (s : subscriber) : json :=
  Object
    [("delivered", Items (map ScriptsPipeline.element_json (got s)));
     ("terminal", or_null ScriptsPipeline.outcome_json (told s))].

Definition is_over (m : Demand.stage) : bool :=
  match Demand.phase m with Demand.Over => true | _ => false end.

(** The edge of a branch while it is there. *)
Definition edge_json (line : list station) : list json :=
  match line with
  | s :: _ => if is_over (meter s) then [] else [meter_json (meter s)]
  | [] => []
  end.

(** What a fork may hand on, what it has asked for above, and what waits in it. *)
Definition fork_json (f : fork) : json :=
  Object
    [("owed", Number (may_hand_on f)); ("asked", Number (Hub.asked (hub f)));
     ("held", Number (Hub.queued (hub f)))].

(** The counters of what is there of the junction: of the inputs of a join that have not ended; of a
    fork its own and the credit of each branch while it runs, and the edge while that is there. *)
Definition middle_json (forked : bool) (w : web) : list json :=
  match middle w with
  | A_join j =>
      flat_map (fun i => if Junction.gone i then [] else [meter_json (wants i)]) (ins j)
  | A_fork f =>
      fork_json f ::
      flat_map (fun one => meter_json (credit (fst one)) :: edge_json (snd one))
        (combine (branches f) (below w))
  | Gone => if forked then flat_map edge_json (below w) else []
  end.

Definition lines_json (all : list (list station)) : json :=
  Items (map (fun line => Items (map (fun s => meter_json (meter s)) line)) all).

Definition shown_web (forked : bool) (w : web) : list field :=
  [("state", Object
      [("publishers", Items (map publisher_json (publishers w)));
       ("inputs", lines_json (above w));
       ("junction", Items (middle_json forked w));
       ("outputs", lines_json (if forked then map (@tl station) (below w) else below w));
       ("subscribers", Items (map subscriber_json (subscribers w)))])].

(** One step. What the subscribers received in the step before is no longer shown. *)
Definition played (w : web) (o : op) : json * web :=
  let w := taken w in
  match o with
  | Start => (Null, start w)
  | Request who n => (Null, request w who n)
  | Next who k =>
      let '(w, n, why) := next (N.to_nat k) w who in
      (Object
         [("sent", Number n);
          ("refused", match why with
                      | Sent => Null | No_demand => Text "no_demand" | Closed => Text "closed" end)],
       w)
  | Complete who =>
      let '(w, first) := finish w who Completed in (ScriptsPipeline.yes_no first, w)
  | Fail who => let '(w, first) := finish w who Failed in (ScriptsPipeline.yes_no first, w)
  | Cancel who => (Null, cancel w who)
  end.

Definition machine_for (p : plan) : machine_of web op :=
  Machine _ _ op_fields played
    (shown_web (match p with Forking _ _ _ => true | Joining _ _ _ => false end)).

Definition junction_script (name : string) (p : plan) (ops : list op) : script :=
  Script name (plan_fields p)
    (match opened p with Some w => replay (machine_for p) w (Start :: ops) | None => [] end).

(** False if a run was cut short: then [Pipeline.enough] is not. *)
Definition comes_to_rest (one : plan * list op) : bool :=
  match opened (fst one) with
  | Some w => quiet (fold_left (fun w o => snd (played w o)) (Start :: snd one) w)
  | None => true
  end.

(** ** Joins: which, and what is played on them *)

Definition bare (count : nat) : list (list operator) := repeat [] count.

(** In front of a join, or of a fork: what hands on numbers. *)
Definition upper : list operator :=
  [Map_add 5; Filter_mod 2 0; Take 0; Take 2; Drop 1; Page 1 1; Page 4 3; Expand 0; Expand 3].

(** Behind a join. A pair is looked into by nobody. *)
Definition lower (how : joining) : list operator :=
  match how with
  | Zip | Combine => [Take 0; Take 3; Drop 2; Page 2 1; Page 4 3]
  | _ => [Filter_mod 2 0; Take 0; Take 3; Drop 2; Page 1 1; Page 4 3; Expand 3; Batch 2]
  end.

Definition two : list (list operator) := bare 2.

Definition with_lines (how : joining) : list plan :=
  (map (fun o => Joining how [[o]; []] []) upper ++ map (fun o => Joining how [[]; [o]] []) upper ++
   map (fun o => Joining how two [o]) (lower how) ++
   [Joining how [[Page 2 1; Map_add 1]; [Filter_mod 2 1]] [Page 3 2]; Joining how [[]] [];
    Joining how [[Expand 2]; [Page 3 3]; [Drop 1]] [Take 7]])%list.

Definition join_plays : list (list op) :=
  [[Next 0 1; Request 0 1; Next 0 2; Next 1 1; Request 0 3; Next 1 9; Next 0 9; Complete 1;
    Request 0 9; Next 0 9];
   [Request 0 20; Next 1 3; Next 0 4; Fail 0; Next 1 4; Complete 1; Request 0 1];
   [Next 1 4; Next 0 4; Complete 0; Request 0 2; Fail 1; Request 0 1; Request 0 9; Next 1 9];
   [Request 0 4; Next 0 3; Next 1 1; Cancel 0; Next 1 1; Request 0 1; Complete 0]].

Definition join_alphabet : list op :=
  [Request 0 1; Request 0 3; Next 0 2; Next 1 1; Complete 0; Fail 1; Cancel 0].

Definition three_alphabet : list op := [Request 0 2; Next 0 1; Next 1 2; Next 2 1; Complete 1].

(** What can be played: a script names nobody who is not there. *)
Definition playable (p : plan) (o : op) : bool :=
  match p, o with
  | Joining _ from _, (Next who _ | Complete who | Fail who) => Nat.ltb who (length from)
  | Forking _ _ to, (Request who _ | Cancel who) => Nat.ltb who (length to)
  | _, _ => true
  end.

Definition playing (plays : list (list op)) (all : list plan) : list (plan * list op) :=
  flat_map (fun p => map (fun ops => (p, filter (playable p) ops)) plays) all.

(** Every sequence of three on two bare inputs, or on three; each play on each line. *)
Definition every_of (how : joining) : list (plan * list op) :=
  (map (fun ops => (Joining how two [], ops)) (sequences join_alphabet 3) ++
   match how with
   | Zip => []
   | _ => map (fun ops => (Joining how (bare 3) [], Request 0 1 :: ops)) (sequences three_alphabet 3)
   end ++
   playing join_plays
     (filter
        (fun p => match how, p with
                  | Zip, Joining _ [_; _] _ => true
                  | Zip, _ => false
                  | _, _ => true end) (with_lines how)))%list.

(** ** Forks *)

(** In front of a fork. What stands there goes on while an element waits for its branch. *)
Definition before : list operator :=
  [Map_add 5; Filter_mod 2 0; Take 0; Take 2; Take 20; Drop 1; Page 1 1; Page 4 3; Page 40 9; Expand 3].

(** Behind an edge. A branch of a balance that leaves at once may leave before it is asked for or after:
    what was asked for then stays asked. *)
Definition after (how : forking) : list operator :=
  (match how with Balance => [] | _ => [Take 0] end ++
   [Filter_mod 2 0; Take 3; Drop 2; Page 1 1; Page 4 3; Expand 3; Batch 2])%list.

Definition forks_with (how : forking) : list plan :=
  (map (fun o => Forking how [o] two) before ++
   map (fun o => Forking how [] [[o]; []]) (after how) ++
   map (fun o => Forking how [] [[]; [o]]) (after how) ++
   [Forking how [] [[]]; Forking how [] [[Page 2 1; Map_add 1]; [Take 4]; [Batch 3]];
    Forking how [Page 4 3] [[Take 3]; []]; Forking how [Page 8 6] [[Filter_mod 3 1]; []; [Take 9]];
    Forking how [Filter_mod 2 0; Page 5 4] [[]; [Page 2 1]]])%list.

Definition fork_plays : list (list op) :=
  [[Next 0 3; Request 0 2; Request 1 1; Next 0 20; Request 1 9; Next 0 9; Request 0 40; Complete 0;
    Request 1 40];
   [Request 0 5; Next 0 40; Cancel 0; Next 0 3; Request 1 20; Next 0 40; Request 1 40; Fail 0;
    Request 1 40];
   [Request 0 20; Request 1 20; Next 0 7; Cancel 1; Next 0 4; Cancel 0; Next 0 1];
   [Next 0 40; Complete 0; Request 1 3; Request 0 99; Request 1 99]].

Definition fork_alphabet : list op :=
  [Request 0 1; Request 1 3; Next 0 3; Complete 0; Fail 0; Cancel 0; Cancel 1].

Definition every_fork (how : forking) : list (plan * list op) :=
  (map (fun ops => (Forking how [] two, Request 1 1 :: ops)) (sequences fork_alphabet 3) ++
   playing fork_plays (forks_with how))%list.

(** ** At random *)

Fixpoint throw_some (all : list operator) (length : nat) (d : dice) : list operator * dice :=
  match length with
  | O => ([], d)
  | S less =>
      let '(rest, d) := throw_some all less d in
      let '(one, d) := choose (Map_add 1) all d in
      (one :: rest, d)
  end.

Fixpoint throw_lines (all : list operator) (count : nat) (d : dice) : list (list operator) * dice :=
  match count with
  | O => ([], d)
  | S less =>
      let '(rest, d) := throw_lines all less d in
      let '(n, d) := choose 0 [0; 0; 1; 1; 2] d in
      let '(one, d) := throw_some all (N.to_nat n) d in
      (one :: rest, d)
  end.

(** One of these comes often, so that a walk is long. *)
Definition often : list operator :=
  [Map_add 7; Filter_mod 2 0; Filter_mod 3 1; Take 30; Drop 1; Drop 3; Page 1 1; Page 3 2; Page 5 4;
   Expand 2; Expand 3].

Definition often_behind (how : joining) : list operator :=
  match how with
  | Zip | Combine => [Take 30; Drop 2; Page 2 1; Page 5 4]
  | _ => often
  end.

Definition throw_op (above below : N) (d : dice) : op * dice :=
  let '(which, d) := throw 200 d in
  let '(n, d) := choose 1 [1; 1; 1; 2; 2; 3; 5; 9] d in
  let '(p, d) := throw above d in
  let '(s, d) := throw below d in
  let '(p, s) := (N.to_nat p, N.to_nat s) in
  ((if which <? 80 then Request s n
    else if which <? 191 then Next p n
    else if which <? 193 then Request s 0
    else if which <? 196 then Complete p
    else if which =? 196 then Fail p
    else if which <? 199 then Cancel s
    else Next p 30), d).

Definition sides (p : plan) : N * N :=
  match p with
  | Joining _ from _ => (N.of_nat (length from), 1)
  | Forking _ _ to => (1, N.of_nat (length to))
  end.

(** [after] more operations once the subscribers take nothing more. *)
Fixpoint walk (length after : nat) (p : plan) (w : web) (d : dice) : list op :=
  match length, after, all_over w with
  | O, _, _ | _, O, true => []
  | S less, _, over =>
      let '(one, d) := throw_op (fst (sides p)) (snd (sides p)) d in
      one :: walk less (if over then pred after else after) p (snd (played w one)) d
  end.

Definition walked (length : nat) (p : plan) (d : dice) : plan * list op :=
  (p, match opened p with Some w => walk length 2 p (start w) d | None => [] end).

Definition random_join (how : joining) (length : nat) (seed : N) : plan * list op :=
  let '(n, d) := choose 2 [2; 2; 3] (seeded (seed + 30000)) in
  let n := match how with Zip => 2%nat | _ => N.to_nat n end in
  let '(from, d) := throw_lines often n d in
  let '(to, d) := throw_lines (often_behind how) 1 d in
  walked length (Joining how from (hd [] to)) d.

Definition random_fork (how : forking) (length : nat) (seed : N) : plan * list op :=
  let '(n, d) := choose 2 [2; 2; 3] (seeded (seed + 40000)) in
  let '(to, d) := throw_lines (Batch 2 :: often) (N.to_nat n) d in
  let '(from, d) := throw_lines often 1 d in
  walked length
    (Forking how (hd [] from)
       (map (fun line => if ScriptsPipeline.fitting line then line else []) to)) d.

(** ** The files *)

Definition numbered_scripts (title : string) (all : list (plan * list op)) : list script :=
  Scripts.numbered (fun n one => junction_script (title ++ show n) (fst one) (snd one)) all.

Definition all_joins : list joining := [Zip; Combine; Merge; Merge_prefer; Concat].
Definition all_forks : list forking := [Broadcast; Balance; Partition].

Definition join_walks (how : joining) : list (plan * list op) :=
  map (random_join how 40) (ScriptsGate.seeds 60).

Definition fork_walks (how : forking) : list (plan * list op) :=
  map (random_fork how 40) (ScriptsGate.seeds 60).

Definition everything (_ : unit) : list (plan * list op) :=
  (flat_map (fun how => every_of how ++ join_walks how) all_joins ++
   flat_map (fun how => every_fork how ++ fork_walks how) all_forks)%list.

(** True if every run of every script comes to its rest. *)
Definition all_at_rest (_ : unit) : bool := forallb comes_to_rest (everything tt).

Definition files_of (word : string) (every walks : unit -> list (plan * list op)) : list file :=
  [File "junction" (word ++ "_every") "junction"
     (fun _ => numbered_scripts (word ++ " ") (every tt));
   File "junction" (word ++ "_walks") "junction"
     (fun _ => numbered_scripts (word ++ " walk ") (walks tt))].

Definition files : list file :=
  (flat_map (fun how => files_of (join_word how) (fun _ => every_of how) (fun _ => join_walks how))
     all_joins ++
   flat_map (fun how => files_of (fork_word how) (fun _ => every_fork how) (fun _ => fork_walks how))
     all_forks)%list.

(** A little of each, for the anchor. *)
Definition of_each : list script :=
  (numbered_scripts "join "
     (flat_map (fun how => firstn 3 (rev (every_of how)) ++ map (random_join how 15) [0; 1])
        all_joins) ++
   numbered_scripts "fork "
     (flat_map (fun how => firstn 3 (rev (every_fork how)) ++ map (random_fork how 15) [0; 1])
        all_forks))%list.
