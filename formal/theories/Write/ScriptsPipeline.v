(** Pipeline scripts: lines of stages between a publisher and a subscriber, both played by hand. *)

From Coq Require Import NArith String List Bool.
From Sluicegate Require Import Write.Scripts Write.ScriptsDice Law.Pipeline.
From Sluicegate Require Decide.Demand.
From Sluicegate Require Write.ScriptsGate.
Import ListNotations.
Open Scope string_scope.
Open Scope N_scope.

Inductive op :=
| Start | Request (n : N) | Next (k : N) | Complete | Fail | Cancel.

(** ** How it is written *)

Definition stage_fields (o : operator) : list field :=
  match o with
  | Map_add k => [("stage", Text "map_add"); ("k", Number k)]
  | Filter_mod m r => [("stage", Text "filter_mod"); ("m", Number m); ("r", Number r)]
  | Take n => [("stage", Text "take"); ("n", Number n)]
  | Drop n => [("stage", Text "drop"); ("n", Number n)]
  | Page size mark => [("stage", Text "page"); ("size", Number size); ("mark", Number mark)]
  | Expand k => [("stage", Text "expand"); ("k", Number k)]
  | Batch k => [("stage", Text "batch"); ("k", Number k)]
  end.

Definition op_fields (o : op) : list field :=
  match o with
  | Start => [("op", Text "start")]
  | Request n => [("op", Text "request"); ("n", Number n)]
  | Next k => [("op", Text "next"); ("k", Number k)]
  | Complete => [("op", Text "complete")]
  | Fail => [("op", Text "fail")]
  | Cancel => [("op", Text "cancel")]
  end.

Definition element_json (x : element) : json :=
  match x with One n => Number n | Group ns => Items (map Number ns) end.

Definition outcome_json (how : outcome) : json :=
  Text (match how with Completed => "completed" | Failed => "failed" end).

Definition station_json (s : station) : json :=
  Object
    [("owed", Number (Demand.owed (meter s))); ("asked", Number (Demand.asked (meter s)));
     ("held", Number (Demand.held (meter s)))].

Definition shown_line (l : line) : list field :=
  [("state", Object
      [("demand", Number (demand l));
       ("ended", or_null
          (fun how => Text (match how with
                            | Source_completed => "completed" | Source_failed => "failed"
                            | Source_cancelled => "cancelled" end)) (ended l));
       ("delivered", Items (map element_json (got l))); ("terminal", or_null outcome_json (told l));
       ("stages", Items (map station_json (stations l)))])].

Definition yes_no (b : bool) : json := Text (if b then "yes" else "no").

(** One step. What the subscriber received in the step before is no longer shown. *)
Definition played (l : line) (o : op) : json * line :=
  let l := taken l in
  match o with
  | Start => (Null, start l)
  | Request n => (Null, request l n)
  | Next k =>
      let '(l, n, why) := next (N.to_nat k) l in
      (Object
         [("sent", Number n);
          ("refused", match why with
                      | Sent => Null | No_demand => Text "no_demand" | Closed => Text "closed" end)],
       l)
  | Complete => let '(l, first) := finish l Completed in (yes_no first, l)
  | Fail => let '(l, first) := finish l Failed in (yes_no first, l)
  | Cancel => (Null, cancel l)
  end.

Definition pipeline : machine_of line op := Machine _ _ op_fields played shown_line.

(** A line that cannot be built has a script without steps. *)
Definition pipeline_script (name : string) (stages : list operator) (ops : list op) : script :=
  Script name [("stages", Items (map (fun o => Object (stage_fields o)) stages))]
    (match composed stages with Some l => replay pipeline l (Start :: ops) | None => [] end).

(** False if a run was cut short: then [Pipeline.enough] is not. *)
Definition comes_to_rest (one : list operator * list op) : bool :=
  match composed (fst one) with
  | Some l => quiet (fold_left (fun l o => snd (played l o)) (Start :: snd one) l)
  | None => true
  end.

(** ** Which lines *)

(** Behind a batch stands what does not look into an element. *)
Fixpoint fitting (stages : list operator) : bool :=
  match stages with
  | [] => true
  | Batch _ :: rest =>
      forallb (fun o => match o with Take _ | Drop _ | Page _ _ => true | _ => false end) rest
  | _ :: rest => fitting rest
  end.

Definition single : list operator :=
  [Map_add 5; Filter_mod 2 0; Filter_mod 3 1; Take 0; Take 1; Take 3; Drop 0; Drop 2; Page 1 1;
   Page 2 1; Page 4 3; Expand 0; Expand 1; Expand 3; Batch 1; Batch 2; Batch 3].

Definition few : list operator :=
  [Filter_mod 2 1; Take 2; Drop 1; Page 3 2; Expand 2; Batch 2].

Definition pairs : list (list operator) :=
  filter fitting (flat_map (fun one => map (fun other => [one; other]) single) single).

Definition triples : list (list operator) := filter fitting (sequences few 3).

(** ** What is played on them *)

Definition plays : list (list op) :=
  [[Next 1; Request 1; Next 2; Request 2; Next 9; Request 3; Next 9; Complete; Request 9; Next 1];
   [Request 20; Next 7; Complete; Complete; Cancel; Request 1];
   [Request 2; Next 5; Fail; Request 1; Request 3; Request 9; Complete];
   [Request 4; Next 3; Cancel; Next 1; Request 1; Fail]].

Definition named : list (string * (list operator * list op)) :=
  [("a filter that passes one of 100 asks a replacement for each it drops",
    ([Filter_mod 100 0], [Request 1; Next 1; Request 1; Next 99; Next 1; Request 1; Next 200]));
   ("an expansion pulls the next input only when it is drained",
    ([Expand 10; Take 5], [Request ScriptsGate.max; Next 9]));
   ("an expansion by ten, asked one by one",
    ([Expand 10],
     ([Next 1; Request 1; Next 2] ++ repeat (Request 1) 10 ++ [Next 2; Complete; Request 20])%list));
   ("a batch asks for whole groups and ends with a short one",
    ([Batch 3], [Request 2; Next 7; Request 1; Next 1; Complete]));
   ("the short rest of a batch and a failure",
    ([Batch 3], [Request 2; Next 5; Fail; Request 1]));
   ("take never asks for a sixth and cancels straight after the fifth",
    ([Take 5], [Request ScriptsGate.max; Next 4; Request 7; Next 9; Complete]));
   ("a take of more than was asked for", ([Take 5], [Request 2; Next 9; Complete; Request 9]));
   ("a page is filled ahead and again at its mark",
    ([Page 64 48], [Next 70; Request 16; Request 31; Request 1; Next 99; Request 1; Cancel]));
   ("a page that has been told the end still gives what it holds",
    ([Page 8 6], [Next 8; Request 3; Complete; Next 1; Request 4; Request 1; Request 1]));
   ("the first rows of a page of rows",
    ([Page 2 1; Expand 100; Take 5], [Next 9; Request 3; Next 9; Request 2; Next 9]));
   ("pages that stand above one that wants nothing fill themselves",
    ([Page 2 2; Expand 3; Page 4 1; Map_add 1], [Next 9; Next 9; Complete; Request 5; Request 99]));
   ("a take in front of a batch ends it with what it has",
    ([Take 5; Batch 3], [Request 3; Next 9]));
   ("a take behind a batch counts groups",
    ([Batch 3; Take 2], [Request 9; Next 9; Next 1]));
   ("demand adds up to 2^64 - 1 and no further",
    ([Map_add 1; Filter_mod 2 0],
     [Request (ScriptsGate.max - 1); Request 5; Next 3; Request ScriptsGate.max; Next 2; Complete]));
   ("a mark beyond the page, and a mark of none",
    ([Page 3 9; Page 2 0], [Next 9; Request 1; Next 9; Request 4; Next 9; Complete; Request 9]));
   ("no stage at all", ([], [Next 1; Request 2; Next 1; Request 1; Next 9; Request 0; Fail; Cancel]));
   ("every stage in one line",
    ([Page 4 2; Map_add 1; Filter_mod 3 0; Drop 1; Expand 3; Take 8; Batch 3],
     [Next 9; Request 1; Next 4; Next 9; Request 1; Next 9; Next 9; Request 9; Next 9; Next 9]))].

(** ** At random *)

Definition throw_stage (d : dice) : operator * dice :=
  let '(which, d) := throw 7 d in
  let '(n, d) := throw 6 d in
  let '(m, d) := throw 5 d in
  ((match which with
    | 0 => Map_add (n + 1)
    | 1 => Filter_mod (n + 2) (N.modulo m (n + 2))
    | 2 => Take (n * 9 + m)
    | 3 => Drop (n + m)
    | 4 => Page (n * 2 + 1) m
    | 5 => Expand (n + 1)
    | _ => Batch (n + 1)
    end)%N, d).

Fixpoint throw_stages (length : nat) (d : dice) : list operator * dice :=
  match length with
  | O => ([], d)
  | S less =>
      let '(rest, d) := throw_stages less d in
      let '(one, d) := throw_stage d in
      (if fitting (one :: rest) then one :: rest else rest, d)
  end.

Definition throw_op (d : dice) : op * dice :=
  let '(which, d) := throw 200 d in
  let '(n, d) := choose 1 [1; 1; 1; 2; 2; 3; 5; 9; 20] d in
  ((if which <? 80 then Request n
    else if which <? 190 then Next n
    else if which <? 193 then Request ScriptsGate.max
    else if which =? 193 then Request 0
    else if which <? 196 then Complete
    else if which =? 196 then Fail
    else if which =? 197 then Cancel
    else Next 1)%N, d).

(** [after] more operations once the subscriber takes nothing more. *)
Fixpoint walk (length after : nat) (l : line) (d : dice) : list op :=
  match length, after, over l with
  | O, _, _ | _, O, true => []
  | S less, _, _ =>
      let '(one, d) := throw_op d in
      one :: walk less (if over l then pred after else after) (snd (played l one)) d
  end.

Definition random (length : nat) (seed : N) : list operator * list op :=
  let '(n, d) := choose 3 [1; 2; 2; 3; 3; 4; 5] (seeded (seed + 20000)) in
  let '(stages, d) := throw_stages (N.to_nat n) d in
  (stages,
   match composed stages with Some l => walk length 2 (start l) d | None => [] end).

(** ** The files *)

Definition alphabet : list op := [Request 1; Request 3; Next 2; Complete; Cancel].

(** Every sequence of three on a few stages; each play on each stage and each pair; one on each triple. *)
Definition every : list (list operator * list op) :=
  (flat_map (fun one => map (fun ops => ([one], ops)) (sequences alphabet 3))
     [Filter_mod 2 1; Take 2; Page 2 1; Expand 2; Batch 2] ++
   flat_map (fun stages => map (fun ops => (stages, ops)) plays) (map (fun one => [one]) single) ++
   flat_map (fun stages => map (fun ops => (stages, ops)) plays) pairs ++
   map (fun stages => (stages, hd [] plays)) triples)%list.

Definition of_seed (seed : N) : list operator * list op := random 50 seed.

Definition numbered_scripts (title : string) (all : list (list operator * list op)) : list script :=
  numbered (fun n one => pipeline_script (title ++ show n) (fst one) (snd one)) all.

Definition named_scripts : list script :=
  (map (fun one => pipeline_script (fst one) (fst (snd one)) (snd (snd one))) named ++
   numbered (fun n stages => pipeline_script ("cannot be built " ++ show n) stages [])
     [[Page 0 1]; [Batch 0]; [Map_add 1; Batch 0]; [Page 0 0; Take 1]])%list.

Definition everything (_ : unit) : list (list operator * list op) :=
  (map snd named ++ every ++ map of_seed (ScriptsGate.seeds 250))%list.

(** True if every run of every script comes to its rest. *)
Definition all_at_rest (_ : unit) : bool := forallb comes_to_rest (everything tt).

Definition files : list file :=
  [File "pipeline" "named" "pipeline" (fun _ => named_scripts);
   File "pipeline" "every" "pipeline" (fun _ => numbered_scripts "line " every);
   File "pipeline" "walks" "pipeline"
     (fun _ => numbered_scripts "walk " (map of_seed (ScriptsGate.seeds 250)))].
