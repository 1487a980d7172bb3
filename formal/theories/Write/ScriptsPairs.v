(** Waiting scripts of whole pairs: a gate, a window, and chunks that cross. *)

From Coq Require Import NArith String List Bool.
From Sluicegate Require Import Write.Scripts Write.ScriptsScene Write.ScriptsPlay Write.ScriptsMoves.
From Sluicegate Require Decide.Window.
From Sluicegate Require Write.ScriptsRouter Write.ScriptsWindow.
Import ListNotations.
Open Scope string_scope.
Open Scope N_scope.

Definition registered : move := route (ScriptsRouter.Register "1" (Some "s") "g").

Definition at_window (o : ScriptsWindow.op) : move := Do [On_window "w" o].

Definition window_of (m : making) : Window.window := get (Window.opened 0) "w" (windows (now m)).

Definition route_to (name : option string) (n : N) : move :=
  route (ScriptsRouter.Grant "1" name n).

(** A producer ahead of a consumer that takes one chunk at a time, and flushes before it would wait. *)
Fixpoint crossing (fuel : nat) (chunks sent arrived taken : N) (m : making) : making :=
  match fuel with
  | O => m
  | S less =>
      let standing := N.of_nat (List.length (out (now m))) in
      if taken =? chunks then m
      else if (sent <? chunks) && (standing =? 0) then
        crossing less chunks (sent + 1) arrived taken (move_on m (start ("c" ++ show sent) 1))
      else if arrived <? sent - standing then
        crossing less chunks sent (arrived + 1) taken (move_on m (at_window ScriptsWindow.Arrive))
      else
        let due := snd (Window.consumed (window_of m)) in
        let m := move_on m (at_window ScriptsWindow.Consumed) in
        let taken := taken + 1 in
        let flushes := (due =? 0) && (taken =? arrived) in
        let due := if flushes then snd (Window.flush (window_of m)) else due in
        let m := if flushes then move_on m (at_window ScriptsWindow.Flush) else m in
        let name := if N.odd taken then None else Some "s" in
        crossing less chunks sent arrived taken
          (if due =? 0 then m else move_on m (route_to name due))
  end%bool.

Definition ended (name : string) (gates windows : sizes) (m : making) : option Scripts.script :=
  if finished m then Some (written name gates windows m) else None.

Definition cross (one : N * N * N) : option Scripts.script :=
  let '(sender, receiver, chunks) := one in
  let gates := [("g", sender)] in
  let windows := [("w", receiver)] in
  ended (show chunks ++ " chunks from a window of " ++ show sender ++ " to one of " ++ show receiver)
    gates windows
    (crossing (10 * N.to_nat chunks) chunks 0 0 0 (move_on (opening gates windows) registered)).

(** An item wider than the window: each chunk that only continues it is given back at once. *)
Fixpoint continuing (chunks : nat) (number w : N) (m : making) : making :=
  match chunks with
  | O => m
  | S less =>
      let m := move_on m (start ("c" ++ show number) 1) in
      let m :=
        if number <? w then move_on m (at_window ScriptsWindow.Arrive)
        else
          let m := move_on m (at_window ScriptsWindow.Continued) in
          move_on (move_on m (route_to (Some "s") 1)) (at_window ScriptsWindow.Arrive) in
      continuing less (number + 1) w m
  end.

Definition item (w : N) : option Scripts.script :=
  let gates := [("g", w)] in
  let windows := [("w", w)] in
  let m := continuing (N.to_nat w + 3) 0 w (move_on (opening gates windows) registered) in
  let m := fold_left move_on (repeat (at_window ScriptsWindow.Continued) (N.to_nat w - 1)) m in
  let due := snd (Window.consumed (window_of m)) in
  let m := move_on m (at_window ScriptsWindow.Consumed) in
  let rest := snd (Window.flush (window_of m)) in
  let m := move_on m (at_window ScriptsWindow.Flush) in
  ended ("an item of " ++ show (w + 3) ++ " chunks through a window of " ++ show w) gates windows
    (move_on m (route_to (Some "s") (due + rest))).

Definition overrun : option Scripts.script :=
  played "an overrun is a violation and changes nothing" [("g", 3)] [("w", 2)]
    ([registered] ++
     flat_map (fun actor => [start actor 1; at_window ScriptsWindow.Arrive]) ["a"; "b"; "c"] ++
     [start "d" 1; at_window ScriptsWindow.Flush;
      route (ScriptsRouter.Close_request "1" "CREDIT_VIOLATION")]).

(** Every sender's window up to the receiver's, small ones; and larger ones of the same size. *)
Definition pairs : list (option Scripts.script) :=
  (map cross
     (flat_map
        (fun receiver =>
           flat_map
             (fun sender => if sender <=? receiver then [(sender, receiver, 2 * receiver + 3)] else [])
             [1; 2; 3; 4; 5])
        [1; 2; 3; 4; 5] ++ [(8, 8, 19); (16, 16, 35)]) ++
   map item [1; 2; 3; 4; 5] ++ [overrun])%list.

(** Every one can be replayed by every runner: so no pair stands still. *)
Example all_fair : complete pairs = true.
Proof. vm_compute; reflexivity. Qed.
