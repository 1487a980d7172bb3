(** Several actors at gates: the machine that waiting scripts are written from.

    A gate with its line is [Law.Line], for which first come first served, wakes and leaving are proved.
    A scene has several of them, windows, one router, and the names of those who stand in line. *)

From Coq Require Import NArith String List Bool.
From Sluicegate Require Import Write.Scripts.
From Sluicegate Require Decide.Window Law.Line.
From Sluicegate Require Write.ScriptsGate Write.ScriptsWindow Write.ScriptsRouter.
Import ListNotations.
Open Scope string_scope.
Open Scope N_scope.

Inductive limit := No_limit | Zero | Short | Long.
Inductive leaving := By_expiry | By_cancel.

Inductive op :=
| Start (actor gate : string) (n : N) (within : limit) (leaves : option leaving)
| Leave (actor : string) (how : leaving)
| Try (gate : string) (n : N)
| Grant (gate : string) (n : N)
| Close (gate reason : string)
| Route (o : ScriptsRouter.op)
| On_window (window : string) (o : ScriptsWindow.op).

Definition line := Line.line string.

(** Who stands in line: where, under which ticket, and how the wait will be given up. *)
Record standing := Standing { who : string; at_gate : string; ticket : N; will : option leaving }.

Record scene := Scene {
  lines : list (string * line);
  windows : list (string * Window.window);
  table : ScriptsRouter.table;
  out : list standing;
  slow : list string; (** in a race: who does not ask again at once when it is woken *)
}.

Definition get {A} (otherwise : A) (name : string) (all : list (string * A)) : A :=
  match ScriptsRouter.find String.eqb name all with Some one => one | None => otherwise end.

Definition set {A} (name : string) (value : A) (all : list (string * A)) : list (string * A) :=
  map (fun one => if String.eqb name (fst one) then (name, value) else one) all.

Definition no_line : line := Line.opened string 0.

Definition answered (answer : Line.answer string) : json :=
  match answer with
  | Line.IsTaken _ => Text "acquired"
  | Line.IsWait _ => Text "wait"
  | Line.IsClosed _ reason => ScriptsGate.closing reason
  | Line.IsTicket _ _ | Line.IsDone _ => Null
  end.

(** Somebody who came back, with what. *)
Definition return_ := (string * json)%type.

Definition present (actor : string) (all : list string) : bool := existsb (String.eqb actor) all.

(** One step of a line; those whom it wakes ask again at once and come back, but for the slow. *)
Definition on_line (s : scene) (gate : string) (o : Line.op string) :
    scene * Line.answer string * list return_ :=
  match Line.step string (get no_line gate (lines s)) o with
  | None => (s, Line.IsDone _, [])
  | Some (after, answer, wakes) =>
      let fetch (did : line * list standing * list return_) (wake : Line.wake) :=
        let '(l, out, back) := did in
        let t := match wake with Line.Served t | Line.Released t => t end in
        let here (one : standing) :=
          String.eqb gate (at_gate one) && (ticket one =? t) && negb (present (who one) (slow s)) in
        match List.find here out, Line.step string l (Line.Fetch _ t) with
        | Some one, Some (l, answer, _) =>
            (l, filter (fun one => negb (here one)) out, (back ++ [(who one, answered answer)])%list)
        | _, _ => (l, out, back)
        end in
      let '(l, out, back) := fold_left fetch wakes (after, out s, []) in
      (Scene (set gate l (lines s)) (windows s) (table s) out (slow s), answer, back)
  end.

Definition start (s : scene) (actor gate : string) (n : N) (within : limit)
    (leaves : option leaving) : scene * list return_ :=
  match within with
  | Zero =>
      let '(s, answer, back) := on_line s gate (Line.Try _ n) in
      let told := match answer with Line.IsWait _ => Text "timed_out" | _ => answered answer end in
      (s, (actor, told) :: back)
  | _ =>
      let '(s, answer, back) := on_line s gate (Line.Join _ n) in
      match answer with
      | Line.IsTicket _ t =>
          let out := (out s ++ [Standing actor gate t leaves])%list in
          (Scene (lines s) (windows s) (table s) out (slow s), back)
      | _ => (s, (actor, answered answer) :: back)
      end
  end.

(** One who has come back already has nothing to leave. *)
Definition leave (s : scene) (actor : string) (how : leaving) : scene * list return_ :=
  match List.find (fun one => String.eqb actor (who one)) (out s) with
  | None => (s, [])
  | Some one =>
      let rest := filter (fun other => negb (String.eqb actor (who other))) (out s) in
      let told := match how with By_expiry => Text "timed_out" | By_cancel => Text "cancelled" end in
      let '(s, _, back) :=
        on_line (Scene (lines s) (windows s) (table s) rest (slow s)) (at_gate one)
          (Line.Leave _ (ticket one)) in
      (s, (actor, told) :: back)
  end.

(** What a router does to a gate. *)
Definition effect (did : scene * list return_) (one : string * ScriptsGate.op) :=
  let '(s, back) := did in
  let o :=
    match snd one with
    | ScriptsGate.Grant n => Line.Grant _ n
    | ScriptsGate.Close reason => Line.Close _ reason
    | ScriptsGate.Acquire n => Line.Try _ n
    end in
  let '(s, _, more) := on_line s (fst one) o in
  (s, (back ++ more)%list).

(** One operation: its own answer, if the scripts show one, and who comes back because of it. *)
Definition perform (s : scene) (o : op) : scene * json * list return_ :=
  match o with
  | Start actor gate n within leaves =>
      let '(s, back) := start s actor gate n within leaves in (s, Null, back)
  | Leave actor how => let '(s, back) := leave s actor how in (s, Null, back)
  | Try gate n =>
      let '(s, answer, back) := on_line s gate (Line.Try _ n) in (s, answered answer, back)
  | Grant gate n => let '(s, _, back) := on_line s gate (Line.Grant _ n) in (s, Null, back)
  | Close gate reason => let '(s, _, back) := on_line s gate (Line.Close _ reason) in (s, Null, back)
  | Route o =>
      let '(answer, t, effects) := ScriptsRouter.decide (table s) o in
      let '(s, back) := fold_left effect effects (Scene (lines s) (windows s) t (out s) (slow s), []) in
      (s, answer, back)
  | On_window window o =>
      let '(answer, w) :=
        ScriptsWindow.step (get (Window.opened 0) window (windows s)) o in
      (Scene (lines s) (set window w (windows s)) (table s) (out s) (slow s), answer, [])
  end.

(** Those who were slow ask again at last. *)
Definition catch_up (s : scene) : scene * list return_ :=
  let fetch (did : scene * list return_) (one : standing) :=
    let '(s, back) := did in
    match Line.step string (get no_line (at_gate one) (lines s)) (Line.Fetch _ (ticket one)) with
    | Some (_, Line.IsWait _, _) | None => did
    | Some (l, answer, _) =>
        (Scene (set (at_gate one) l (lines s)) (windows s) (table s)
           (filter (fun other => negb (String.eqb (who one) (who other))) (out s)) [],
         (back ++ [(who one, answered answer)])%list)
    end in
  let '(s, back) := fold_left fetch (out s) (s, []) in
  (Scene (lines s) (windows s) (table s) (out s) [], back).

(** ** How it is written *)

Definition fields_of (o : op) (answer : json) : list field :=
  let how := or_null (fun how => Text (match how with By_expiry => "expire" | By_cancel => "cancel" end)) in
  match o with
  | Start actor gate n within leaves =>
      [("op", Text "start"); ("actor", Text actor); ("gate", Text gate); ("n", Number n);
       ("limit", match within with
                 | No_limit => Null | Zero => Text "zero" | Short => Text "short" | Long => Text "long"
                 end);
       ("leaves", how leaves)]
  | Leave actor how =>
      [("op", Text (match how with By_expiry => "expire" | By_cancel => "cancel" end));
       ("actor", Text actor)]
  | Try gate n => [("op", Text "try"); ("gate", Text gate); ("n", Number n); ("answer", answer)]
  | Grant gate n => [("op", Text "grant"); ("gate", Text gate); ("n", Number n)]
  | Close gate reason => [("op", Text "close"); ("gate", Text gate); ("reason", Text reason)]
  | Route (ScriptsRouter.Grant _ _ _ as o) =>
      (ScriptsRouter.fields_of "route" o ++ [("answer", answer)])%list
  | Route o => ScriptsRouter.fields_of "route" o
  | On_window window o =>
      [("op", Text (ScriptsWindow.called o)); ("window", Text window); ("answer", answer)]
  end.

Fixpoint insert (one : return_) (sorted : list return_) : list return_ :=
  match sorted with
  | [] => [one]
  | other :: rest =>
      if String.ltb (fst other) (fst one) then other :: insert one rest else one :: sorted
  end.

Definition sort (all : list return_) : list return_ := fold_left (fun done one => insert one done) all [].

Definition outcome (s : scene) (back : list return_) : list field :=
  let returned (one : return_) := Object [("actor", Text (fst one)); ("answer", snd one)] in
  let gate (one : string * line) :=
    (fst one,
     Object
       [("available", Number (Gate.available (Line.gate _ (snd one))));
        ("waiting", Number (N.of_nat (List.length (Line.waiting _ (snd one)))));
        ("closed", or_null Text (Line.why _ (snd one)))]) in
  let window (one : string * Window.window) :=
    (fst one,
     Object [("remaining", Number (Window.remaining (snd one)));
             ("pending", Number (Window.pending (snd one)))]) in
  [("returned", Items (map returned (sort back)));
   ("blocked", Items (map (fun one => Text (who one)) (out s)));
   ("gates", Object (map gate (lines s)));
   ("windows", Object (map window (windows s)))].
