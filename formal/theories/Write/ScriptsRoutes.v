(** Which routers are scripted: named ones, every small sequence, random ones. *)

From Coq Require Import NArith String List Bool.
From Sluicegate Require Import Write.Scripts Write.ScriptsDice Write.ScriptsRouter.
From Sluicegate Require Write.ScriptsGate.
Import ListNotations.
Open Scope string_scope.
Open Scope N_scope.

(** ** Which stream a grant is for: every set of open names, every name of a grant *)

Definition names : list stream := [None; Some ""; Some "a"; Some "b"].

Fixpoint subsets {A} (all : list A) : list (list A) :=
  match all with
  | [] => [[]]
  | one :: rest => (subsets rest ++ map (cons one) (subsets rest))%list
  end.

Definition orders {A} (chosen : list A) : list (list A) :=
  match chosen with
  | [] | [_] => [chosen]
  | _ => [chosen; rev chosen]
  end.

Definition said (name : stream) : string :=
  match name with None => " absent" | Some text => " '" ++ text ++ "'" end.

Definition gate_number (n : N) : string := "g" ++ show n.

Definition target (order : list stream) : Scripts.script :=
  script
    ("open" ++ match order with
               | [] => " nothing"
               | _ => fold_left append (map said order) ""
               end)
    (numbered (fun n _ => (gate_number n, 0)) order ++ [("other", 0)])%list
    (numbered (fun n name => Register "1" name (gate_number n)) order ++
     [Register "2" (Some "a") "other"] ++
     numbered (fun n name => Grant "1" name (n + 1)) (names ++ [Some "c"; Some "A"; Some "a "]))%list.

Definition targets : list Scripts.script := map target (flat_map orders (subsets names)).

(** ** Named ones *)

Definition named : list Scripts.script :=
  [script "a request that is not known" [("g", 1)]
     [Grant "1" None 3; Grant "1" (Some "a") 3; Register "1" (Some "a") "g";
      Grant "2" (Some "a") 3; Grant "2" None 3; Grant "1" (Some "a") 3];
   script "registering a name again replaces the gate" [("old", 2); ("new", 0)]
     [Register "1" (Some "a") "old"; Grant "1" (Some "a") 1; Register "1" (Some "a") "new";
      Grant "1" (Some "a") 4; Grant "1" None 5; Close_request "1" "END";
      Grant "1" (Some "a") 6];
   script "the absent name is replaced like any other" [("old", 2); ("new", 0)]
     [Register "1" None "old"; Register "1" None "new"; Grant "1" None 4;
      Grant "1" (Some "a") 5];
   script "an ended request releases its gates and no other's" [("a", 1); ("b", 2); ("c", 3); ("d", 4)]
     [Register "1" (Some "a") "a"; Register "1" (Some "b") "b"; Register "1" None "c";
      Register "2" (Some "a") "d"; Close_request "1" "CANCELLED"; Grant "1" (Some "a") 9;
      Grant "1" None 9; Grant "2" (Some "a") 9; Close_request "1" "late";
      Close_request "2" ""; Grant "2" (Some "a") 1];
   script "closing what is not known does nothing" [("g", 1)]
     [Close_request "7" "END"; Close_all "END"; Register "7" (Some "a") "g";
      Grant "7" (Some "a") 1];
   script "a stream that is taken out is credited no more and stays open" [("a", 0); ("b", 0)]
     [Register "1" (Some "a") "a"; Register "1" (Some "b") "b"; Grant "1" None 1;
      Unregister "1" (Some "a"); Grant "1" (Some "a") 2; Grant "1" None 3;
      Unregister "1" (Some "a"); Unregister "1" (Some "b"); Grant "1" None 4;
      Close_request "1" "END"; Unregister "1" (Some "b"); Register "1" (Some "b") "b";
      Grant "1" (Some "b") 5];
   script "everything ends at once" [("a", 1); ("b", 2); ("c", 3)]
     [Register "1" (Some "a") "a"; Register "2" None "b"; Close_all "PEER_DIED";
      Grant "1" (Some "a") 1; Grant "2" None 1; Register "1" (Some "a") "c";
      Grant "1" None 1];
   script "grants of nothing and of very much" [("a", 1)]
     [Register "1" (Some "a") "a"; Grant "1" (Some "a") 0; Grant "1" None 0;
      Grant "1" (Some "a") 9223372036854775808; Grant "1" None 9223372036854775808;
      Grant "1" (Some "a") ScriptsGate.max; Grant "1" (Some "a") 1];
   script "a gate that is closed already keeps its first reason" [("a", 1); ("b", 1)]
     [Register "1" (Some "a") "a"; Close_request "1" "first"; Register "2" (Some "a") "a";
      Grant "2" (Some "a") 5; Register "2" (Some "a") "b"; Grant "2" (Some "a") 5;
      Close_all "last"];
   script "a request may begin again after its end" [("a", 0); ("b", 0)]
     [Register "1" None "a"; Close_request "1" "END"; Register "1" None "b";
      Grant "1" None 2; Grant "1" (Some "x") 2];
   script "names are texts: case, space and script matter" [("a", 0); ("b", 0); ("c", 0)]
     [Register "1" (Some "main") "a"; Register "1" (Some "Main") "b";
      Register "1" (Some "größe 門") "c"; Grant "1" (Some "MAIN") 1;
      Grant "1" (Some "main") 2; Grant "1" (Some "Main") 3; Grant "1" (Some " main") 4;
      Grant "1" (Some "größe 門") 5; Grant "1" (Some "grosse") 6]].

(** ** Every sequence on two gates, two requests and three names *)

Definition alphabet : list op :=
  [Register "1" None "g"; Register "1" (Some "a") "h"; Register "2" (Some "a") "g";
   Register "1" (Some "a") "g"; Unregister "1" (Some "a"); Grant "1" None 1; Grant "1" (Some "a") 2;
   Grant "2" None 4; Close_request "1" "END"; Close_all "PEER_DIED"].

(** A sequence in which nobody registers a gate in its own place. *)
Fixpoint proper (t : table) (ops : list op) : bool :=
  match ops with
  | [] => true
  | o :: later => negb (in_place t o) && proper (snd (fst (decide t o))) later
  end.

Definition every (length : nat) : list Scripts.script :=
  numbered (fun n ops => script ("sequence " ++ show n) [("g", 1); ("h", 0)] ops)
    (filter (proper []) (sequences alphabet length)).

(** ** Random ones *)

Fixpoint walk (length : nat) (t : table) (d : dice) : list op :=
  match length with
  | O => [Close_all "PEER_DIED"]
  | S less =>
      let '(request, d) := choose "1" ["1"; "1"; "2"] d in
      let '(name, d) := choose None names d in
      let '(gate, d) := throw 4 d in
      let '(n, d) := ScriptsGate.amount 3 d in
      let '(which, d) := throw 40 d in
      let one :=
        if which <? 11 then Register request name (gate_number gate)
        else if which <? 15 then Unregister request name
        else if which <? 38 then Grant request name n
        else if which =? 38 then Close_request request (if N.even n then "END" else "")
        else Close_all "ERR" in
      let one := if in_place t one then Grant request name n else one in
      one :: walk less (snd (fst (decide t one))) d
  end.

Definition random (length : nat) (seed : N) : Scripts.script :=
  script ("random walk " ++ show seed)
    [("g0", 0); ("g1", N.modulo seed 3); ("g2", 2); ("g3", if N.even seed then 0 else ScriptsGate.max)]
    (walk length [] (seeded (seed + 3000))).

Definition files : list file :=
  [File "pure" "negotiate" "negotiate"
     (fun _ => map negotiating (5 :: ScriptsGate.edges) ++
               map negotiating_at_random (ScriptsGate.seeds 20))%list;
   File "pure" "grant_target" "grant_target" (fun _ => targets);
   File "pure" "router" "router" (fun _ => named);
   File "pure" "router_every" "router" (fun _ => every 4);
   File "pure" "router_walks" "router" (fun _ => map (random 60) (ScriptsGate.seeds 60))].
