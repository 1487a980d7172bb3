(** Pure scripts of windows. *)

From Coq Require Import NArith String List.
From Sluicegate Require Import Write.Scripts Write.ScriptsDice.
From Sluicegate Require Decide.Window.
From Sluicegate Require Write.ScriptsGate.
Import ListNotations.
Open Scope string_scope.
Open Scope N_scope.

Inductive op := Arrive | Consumed | Flush | Continued.

Definition opened (size : N) (wish : option N) : Window.window :=
  match wish with
  | None => Window.opened size
  | Some wish => Window.with_batch size wish
  end.

Definition arrived (answer : Window.arrival) : json :=
  match answer with
  | Window.Accepted => Text "accepted"
  | Window.Violation => Text "violation"
  end.

Definition granted (did : Window.window * N) : json * Window.window :=
  (Number (snd did), fst did).

Definition step (w : Window.window) (o : op) : json * Window.window :=
  match o with
  | Arrive => let '(after, answer) := Window.arrive w in (arrived answer, after)
  | Consumed => granted (Window.consumed w)
  | Flush => granted (Window.flush w)
  | Continued => granted (Window.continued w)
  end.

Definition called (o : op) : string :=
  match o with
  | Arrive => "arrive"
  | Consumed => "consumed"
  | Flush => "flush"
  | Continued => "continued"
  end.

Definition shown (w : Window.window) : json :=
  Object [("remaining", Number (Window.remaining w)); ("pending", Number (Window.pending w));
          ("batch", Number (Window.batch w))].

Definition machine : machine_of Window.window op :=
  Machine _ _ (fun o => [("op", Text (called o))]) step (fun w => [("state", shown w)]).

Definition script (name : string) (size : N) (wish : option N) (ops : list op) : script :=
  Script name
    [("open", Object [("window", Number size); ("batch", or_null Number wish)])]
    (replay machine (opened size wish) ops).

(** ** Named ones *)

Definition max : N := ScriptsGate.max.

Definition times (n : N) (o : op) : list op := repeat o (N.to_nat n).

Fixpoint again (n : nat) (ops : list op) : list op :=
  match n with
  | O => []
  | S less => (ops ++ again less ops)%list
  end.

Definition of_each_window (w : N) : list Scripts.script :=
  [script ("window " ++ show w ++ ": a full cycle and a chunk too many") w None
     (times (w + 1) Arrive ++ times w Consumed ++ [Flush; Flush]);
   script ("window " ++ show w ++ ": each chunk given back by a flush") w None
     (again 4 [Arrive; Consumed; Flush]);
   script ("window " ++ show w ++ ": an item wider than the window") w None
     (again (N.to_nat (N.min w 8) + 3) [Arrive; Continued] ++ [Arrive; Consumed; Flush]);
   script ("window " ++ show w ++ ": continued neither needs nor touches what is pending") w None
     [Arrive; Consumed; Continued; Consumed; Continued; Flush; Continued; Arrive]]%list.

Definition batched (size wish : N) (ops : list op) : Scripts.script :=
  script ("window " ++ show size ++ " with a batch of " ++ show wish) size (Some wish) ops.

Definition wishes : list (N * N) :=
  [(0, 5); (1, 5); (2, 5); (3, 5); (4, 1); (5, 2); (8, 3); (8, 4); (8, 5); (7, 0)].

Definition named : list Scripts.script :=
  flat_map of_each_window ScriptsGate.windows ++
  map (fun wish => batched 32 wish (times 18 Arrive ++ times 18 Consumed ++ [Flush])%list)
    [0; 1; 2; 3; 15; 16; 17; 100; max] ++
  map (fun one =>
         let '(size, wish) := one in
         batched size wish
           (times (size + 1) Arrive ++ times (size + 1) Consumed ++ [Flush; Consumed; Flush])%list)
    wishes ++
  [script "a violation leaves the window untouched" 2 None
     [Arrive; Arrive; Arrive; Arrive; Flush; Arrive; Consumed; Arrive; Arrive];
   script "continued on an exhausted window" 4 None
     (times 4 Arrive ++ [Consumed; Continued; Arrive; Arrive; Consumed]);
   script "consumed is total: more often than arrive it lets the window grow" 4 None
     (Arrive :: times 6 Consumed);
   script "an empty window that is given something" 0 None
     [Arrive; Flush; Continued; Arrive; Arrive; Consumed; Arrive; Arrive];
   script "a full window does not wrap" max None [Continued; Arrive; Continued; Continued];
   script "a very large window" max None [Arrive; Consumed; Consumed; Flush; Flush; Arrive];
   script "the largest signed window" ScriptsGate.signed (Some 3)
     [Arrive; Consumed; Consumed; Consumed; Continued; Flush]].

(** ** Every sequence from a small window *)

Definition alphabet : list op := [Arrive; Consumed; Flush; Continued].

Definition every (length : nat) (one : N * option N) : list Scripts.script :=
  let '(size, wish) := one in
  numbered
    (fun n ops =>
       script ("window " ++ show size ++ match wish with None => "" | Some b => ", batch " ++ show b end
               ++ ", sequence " ++ show n) size wish ops)
    (sequences alphabet length).

(** ** Random ones *)

(** [held]: chunks accepted and not given back. An honest walk gives back no more than that. *)
Fixpoint walk (length : nat) (honest : bool) (w : Window.window) (held : N) (d : dice) : list op :=
  match length with
  | O => []
  | S less =>
      let '(one, d) :=
        choose Flush
          [Arrive; Arrive; Arrive; Arrive; Arrive; Consumed; Consumed; Consumed; Consumed; Flush;
           Continued] d in
      let one :=
        match one with
        | Consumed | Continued => if honest && (held =? 0) then Arrive else one
        | Arrive | Flush => one
        end in
      let held :=
        match one with
        | Arrive => if Window.remaining w =? 0 then held else held + 1
        | Consumed | Continued => held - 1
        | Flush => held
        end in
      one :: walk less honest (snd (step w one)) held d
  end%bool.

Definition random (length : nat) (seed : N) : Scripts.script :=
  let '(size, d) :=
    choose 0
      ([6; 9; 10; 12; 16; 64; max - 1; max] ++ ScriptsGate.windows ++ ScriptsGate.windows)%list
      (seeded (seed + 1000)) in
  let '(wish, d) := choose None [None; None; Some 1; Some 2; Some 3; Some 5; Some max] d in
  let honest := negb (N.modulo seed 4 =? 0) in
  script ("random walk " ++ show seed ++ " of window " ++ show size ++
          (if honest then ", each chunk given back once at most" else ", any order"))
    size wish (walk length honest (opened size wish) 0 d).

Definition files : list file :=
  [File "pure" "window" "window" (fun _ => named);
   File "pure" "window_every" "window"
     (fun _ => flat_map (every 5)
        [(0, None); (1, None); (2, None); (3, None); (4, None); (6, None); (6, Some 2); (8, None)]);
   File "pure" "window_walks" "window"
     (fun _ => map (random 100) (ScriptsGate.seeds 150))].
