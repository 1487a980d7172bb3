(** Building waiting scripts: what a script may do, step by step, and the outcomes of a race. *)

From Coq Require Import NArith String List Bool.
From Sluicegate Require Import Write.Scripts Write.ScriptsScene.
From Sluicegate Require Decide.Window Law.Line.
From Sluicegate Require Write.ScriptsRouter Write.ScriptsWindow.
Import ListNotations.
Open Scope string_scope.
Open Scope N_scope.

(** A step of a script. In a race the leaving may happen at any moment of the step; it is the last step
    of its script, and leaves nobody behind. *)
Inductive move :=
| Do (ops : list op)
| Race (ops : list op).

(** A script in the making. [fair]: nothing was done that a runner cannot replay. *)
Record making := Making {
  now : scene;
  done : list json;       (** the steps, last first *)
  together : list string; (** they wait at once and will give up: so in one step *)
  fair : bool;
}.

Definition leaver (o : op) : option string :=
  match o with Leave actor _ => Some actor | _ => None end.

Definition subset (some all : list string) : bool := forallb (fun one => present one all) some.

Definition leavers (ops : list op) : list string :=
  flat_map (fun o => match leaver o with Some actor => [actor] | None => [] end) ops.

(** Those in line who will give up. *)
Definition leaving_now (s : scene) : list string :=
  flat_map (fun one => match will one with Some _ => [who one] | None => [] end) (out s).

Definition stands (actor : string) (s : scene) : bool := present actor (map who (out s)).

(** What must hold before an operation. *)
Definition may (s : scene) (o : op) : bool :=
  match o with
  | Start actor _ _ within leaves =>
      negb (stands actor s) &&
      match leaves, within with
      | Some By_expiry, Short | Some By_cancel, No_limit | None, (No_limit | Zero | Long) => true
      | _, _ => false
      end
  | Leave actor how =>
      existsb
        (fun one =>
           String.eqb actor (who one) &&
           match will one, how with
           | Some By_expiry, By_expiry | Some By_cancel, By_cancel => true
           | _, _ => false
           end) (out s)
  | Route o => negb (ScriptsRouter.in_place (table s) o)
  | Try _ _ | Grant _ _ | Close _ _ | On_window _ _ => true
  end.

(** Who will give up has something to leave: it stands in line after its start. *)
Definition did_start (s : scene) (o : op) : bool :=
  match o with
  | Start actor _ _ _ (Some _) => stands actor s
  | _ => true
  end.

(** Operations one after the other: the scene, how they are written, who came back, whether all may. *)
Fixpoint run (s : scene) (ops : list op) : scene * list json * list return_ * bool :=
  match ops with
  | [] => (s, [], [], true)
  | o :: later =>
      let '(after, answer, back) := perform s o in
      let '(last, written, more, good) := run after later in
      (last, Object (fields_of o answer) :: written, (back ++ more)%list,
       may s o && did_start after o && good)
  end.

Definition step_of (ops : list json) (outcomes : list (list field)) : json :=
  Object [("do", Items ops); ("then", Items (map Object outcomes))].

Definition alone (ops : list op) : bool :=
  match ops with
  | [_] => true
  | _ => forallb (fun o => match o with Start _ _ _ _ _ => false | _ => true end) ops
  end.

Definition do_ops (m : making) (ops : list op) : making :=
  let s := now m in
  let '(after, written, back, good) := run s ops in
  let given_up := leavers ops in
  let waits_to_leave := leaving_now s in
  let by_themselves :=
    forallb (fun one : return_ => present (fst one) given_up || negb (present (fst one) waits_to_leave))
      back in
  let in_one_step :=
    negb (existsb (fun actor => present actor (together m)) given_up) ||
    (subset given_up (together m) && subset (together m) given_up) in
  let left := leaving_now after in
  let together :=
    match left with
    | _ :: _ :: _ => left
    | _ => if existsb (fun actor => present actor given_up) (together m) then [] else together m
    end in
  Making after (step_of written [outcome after back] :: done m) together
    (fair m && good && alone ops && by_themselves && in_one_step).

(** ** Races *)

Fixpoint inserted {A} (one : A) (all : list A) : list (list A) :=
  match all with
  | [] => [[one]]
  | first :: rest => (one :: all) :: map (cons first) (inserted one rest)
  end.

Fixpoint interleaved {A} (free fixed : list A) : list (list A) :=
  match free with
  | [] => [fixed]
  | one :: rest => flat_map (inserted one) (interleaved rest fixed)
  end.

Fixpoint same_json (x y : json) {struct x} : bool :=
  match x, y with
  | Null, Null => true
  | Text x, Text y => String.eqb x y
  | Number x, Number y => x =? y
  | Items x, Items y =>
      (fix same (x y : list json) : bool :=
         match x, y with
         | [], [] => true
         | x :: xs, y :: ys => same_json x y && same xs ys
         | _, _ => false
         end) x y
  | Object x, Object y =>
      (fix same (x y : list (string * json)) : bool :=
         match x, y with
         | [], [] => true
         | (k, x) :: xs, (l, y) :: ys => String.eqb k l && same_json x y && same xs ys
         | _, _ => false
         end) x y
  | _, _ => false
  end.

(** An outcome of a race: who came back, and all of it. *)
Definition raced := (list return_ * list field)%type.

Definition came_back_in (x y : list return_) : bool :=
  forallb
    (fun one : return_ =>
       existsb
         (fun other : return_ =>
            String.eqb (fst one) (fst other) && same_json (snd one) (snd other)) y) x.

Definition add_raced (all : list raced) (one : raced) : list raced :=
  if existsb (fun other => same_json (Object (snd one)) (Object (snd other))) all then all
  else (all ++ [one])%list.

(** No outcome's returns are contained in another's, so that a runner can tell them apart. *)
Fixpoint told_apart (all : list raced) : bool :=
  match all with
  | [] => true
  | one :: rest =>
      forallb
        (fun other => negb (came_back_in (fst one) (fst other)) &&
                      negb (came_back_in (fst other) (fst one))) rest
      && told_apart rest
  end.

(** One order of a race. Who leaves may have been served before and not know it yet: then it hands on
    what was set aside for it, or, of a closed gate, puts it back. *)
Definition ran (s : scene) (ops : list op) (slow : list string) : scene * list return_ :=
  let '(after, _, back, _) := run (Scene (lines s) (windows s) (table s) (out s) slow) ops in
  let '(after, more) := catch_up after in
  (after, (back ++ more)%list).

Definition race (m : making) (ops : list op) : making :=
  let s := now m in
  let free := filter (fun o => match leaver o with Some _ => true | None => false end) ops in
  let fixed := filter (fun o => match leaver o with Some _ => false | None => true end) ops in
  let ends :=
    flat_map (fun order => map (ran s order) [[]; leavers ops]) (interleaved free fixed) in
  let outcomes :=
    fold_left
      (fun all (one : scene * list return_) =>
         add_raced all (snd one, outcome (fst one) (snd one))) ends [] in
  let nobody_left :=
    forallb
      (fun one : scene * list return_ => match out (fst one) with [] => true | _ => false end) ends in
  let '(_, written, _, _) := run s ops in
  let several := match outcomes with _ :: _ :: _ => true | _ => false end in
  Making (Scene (lines s) (windows s) (table s) [] []) (step_of written (map snd outcomes) :: done m) []
    (fair m && forallb (may s) free && nobody_left && several && told_apart outcomes &&
     subset (leaving_now s) (leavers ops)).

Definition move_on (m : making) (one : move) : making :=
  match one with
  | Do ops => do_ops m ops
  | Race ops => race m ops
  end.

(** ** A whole script *)

Definition sizes := list (string * N).

Definition opening (gates windows : sizes) : making :=
  Making
    (Scene (map (fun one => (fst one, Line.opened string (snd one))) gates)
       (map (fun one => (fst one, Window.opened (snd one))) windows) [] [] [])
    [] [] true.

(** Nobody is left in line, and nothing unfair was done. *)
Definition finished (m : making) : bool :=
  fair m && match out (now m) with [] => true | _ => false end.

Definition written (name : string) (gates windows : sizes) (m : making) : script :=
  let window (one : string * N) :=
    (fst one, Object [("window", Number (snd one)); ("batch", Null)]) in
  Script name
    [("gates", Object (map (fun one => (fst one, Number (snd one))) gates));
     ("windows", Object (map window windows))]
    (rev (done m)).

Definition played (name : string) (gates windows : sizes) (moves : list move) : option script :=
  let m := fold_left move_on moves (opening gates windows) in
  if finished m then Some (written name gates windows m) else None.

Definition kept {A} (all : list (option A)) : list A :=
  flat_map (fun one => match one with Some one => [one] | None => [] end) all.

Definition complete {A} (all : list (option A)) : bool :=
  forallb (fun one => match one with Some _ => true | None => false end) all.
