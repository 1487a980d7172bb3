(** Pure scripts of routers, which keep gates by request and stream name, of the decision which stream
    a grant is for, and of negotiations. *)

From Coq Require Import NArith String List Bool.
From Sluicegate Require Import Write.Scripts Write.ScriptsDice.
From Sluicegate Require Write.ScriptsGate Decide.Target Decide.Negotiate.
Import ListNotations.
Open Scope string_scope.
Open Scope N_scope.

Definition stream := option string.

Inductive op :=
| Register (request : string) (name : stream) (gate : string)
| Unregister (request : string) (name : stream)
| Grant (request : string) (name : stream) (n : N)
| Close_request (request reason : string)
| Close_all (reason : string).

(** ** The table: which gate stands under which name of which request *)

Definition streams := list (stream * string).
Definition table := list (string * streams).

(** What a step of the router does to gates. *)
Definition effects := list (string * ScriptsGate.op).

Definition same_stream (x y : stream) : bool :=
  match x, y with
  | None, None => true
  | Some x, Some y => String.eqb x y
  | _, _ => false
  end.

Definition find {A B} (same : A -> A -> bool) (key : A) (all : list (A * B)) : option B :=
  match List.find (fun one => same key (fst one)) all with
  | Some one => Some (snd one)
  | None => None
  end.

Definition without {A B} (same : A -> A -> bool) (key : A) (all : list (A * B)) : list (A * B) :=
  filter (fun one => negb (same key (fst one))) all.

Definition streams_of (t : table) (request : string) : streams :=
  match find String.eqb request t with
  | Some known => known
  | None => []
  end.

Definition put (t : table) (request : string) (open : streams) : table :=
  match open with
  | [] => without String.eqb request t
  | _ => (without String.eqb request t ++ [(request, open)])%list
  end.

Definition is_some {A} (value : option A) : bool := match value with Some _ => true | None => false end.

(** The gate that a grant credits. *)
Definition credited (open : streams) (name : stream) : option string :=
  let named_open := is_some (find same_stream name open) && is_some name in
  let unnamed_open := is_some (find same_stream None open) in
  match
    Target.grant_target (is_some name) named_open unnamed_open (N.of_nat (List.length open))
  with
  | Target.Named => find same_stream name open
  | Target.Unnamed => find same_stream None open
  | Target.Sole => match open with one :: _ => Some (snd one) | [] => None end
  | Target.Nobody => None
  end.

Definition closing (reason : string) (open : streams) : effects :=
  map (fun one => (snd one, ScriptsGate.Close reason)) open.

Definition decide (t : table) (o : op) : json * table * effects :=
  match o with
  | Register request name gate =>
      let open := streams_of t request in
      let replaced :=
        match find same_stream name open with
        | Some before => [(before, ScriptsGate.Close "REPLACED")]
        | None => []
        end in
      (Null, put t request (without same_stream name open ++ [(name, gate)])%list, replaced)
  | Unregister request name =>
      (Null, put t request (without same_stream name (streams_of t request)), [])
  | Grant request name n =>
      match find String.eqb request t with
      | None => (Text "no_request", t, [])
      | Some open =>
          match credited open name with
          | Some gate => (Text "granted", t, [(gate, ScriptsGate.Grant n)])
          | None => (Text "no_stream", t, [])
          end
      end
  | Close_request request reason =>
      (Null, without String.eqb request t, closing reason (streams_of t request))
  | Close_all reason => (Null, [], flat_map (fun one => closing reason (snd one)) t)
  end.

(** A gate that stands in its own place already: no script registers it there again. *)
Definition in_place (t : table) (o : op) : bool :=
  match o with
  | Register request name gate =>
      match find same_stream name (streams_of t request) with
      | Some before => String.eqb before gate
      | None => false
      end
  | _ => false
  end.

(** ** The machine: a table and the gates of the script *)

Definition gates := list (string * ScriptsGate.state).

Definition do_to (all : gates) (effect : string * ScriptsGate.op) : gates :=
  map (fun one =>
         if String.eqb (fst effect) (fst one)
         then (fst one, snd (ScriptsGate.step (snd one) (snd effect)))
         else one) all.

Definition state := (table * gates)%type.

Definition step (s : state) (o : op) : json * state :=
  let '(answer, after, due) := decide (fst s) o in
  (answer, (after, fold_left do_to due (snd s))).

(** [grant] is called [route] in scripts with actors. *)
Definition fields_of (grant : string) (o : op) : list field :=
  let request text := ("request", Text text) in
  let stream name := ("stream", or_null Text name) in
  match o with
  | Register r name gate =>
      [("op", Text "register"); request r; stream name; ("gate", Text gate)]
  | Unregister r name => [("op", Text "unregister"); request r; stream name]
  | Grant r name n => [("op", Text grant); request r; stream name; ("n", Number n)]
  | Close_request r reason => [("op", Text "close_request"); request r; ("reason", Text reason)]
  | Close_all reason => [("op", Text "close_all"); ("reason", Text reason)]
  end.

Definition shown (s : state) : list field :=
  [("state", Object [("gates",
      Object (map (fun one => (fst one, ScriptsGate.shown (snd one))) (snd s)))])].

Definition machine : machine_of state op := Machine _ _ (fields_of "grant") step shown.

Definition windows := list (string * N).

Definition opened (all : windows) : gates :=
  map (fun one => (fst one, ScriptsGate.opened (snd one))) all.

Definition script (name : string) (all : windows) (ops : list op) : Scripts.script :=
  Script name
    [("open", Object [("gates", Object (map (fun one => (fst one, Number (snd one))) all))])]
    (replay machine ([], opened all) ops).

(** ** Negotiations *)

Definition negotiation : machine_of unit (N * N) :=
  Machine _ _
    (fun o => [("op", Text "negotiate"); ("ours", Number (fst o)); ("theirs", Number (snd o))])
    (fun s o => (or_null Number (Negotiate.negotiate (fst o) (snd o)), s))
    (fun _ => []).

Definition negotiating (ours : N) : Scripts.script :=
  Script (show ours ++ " against all") []
    (replay negotiation tt (map (fun theirs => (ours, theirs)) (5 :: ScriptsGate.edges))).

Fixpoint proposals (length : nat) (d : dice) : list (N * N) :=
  match length with
  | O => []
  | S less =>
      let '(ours, d) := ScriptsGate.amount 32 d in
      let '(theirs, d) := ScriptsGate.amount 32 d in
      (ours, theirs) :: proposals less d
  end.

Definition negotiating_at_random (seed : N) : Scripts.script :=
  Script ("random proposals " ++ show seed) []
    (replay negotiation tt (proposals 100 (seeded (seed + 2000)))).
