(** Waiting scripts that nobody thought of: every short sequence of acts at one gate, every race at a
    short line, and random walks. Those that a runner cannot replay are left out. *)

From Coq Require Import NArith String Ascii List Bool.
From Sluicegate Require Import Write.Scripts Write.ScriptsDice.
From Sluicegate Require Import Write.ScriptsScene Write.ScriptsPlay Write.ScriptsMoves.
From Sluicegate Require Write.ScriptsGate Write.ScriptsRouter Write.ScriptsRoutes.
Import ListNotations.
Open Scope string_scope.
Open Scope N_scope.

(** An act is a step in which the next actor is not named yet. *)
Inductive act :=
| Comes (n : N) (leaves : option ScriptsScene.leaving)
| Gets (n : N)
| Asks (n : N)
| Ends
| Leaves (** All who will give up do. *).

Definition letter (n : N) : string := String (ascii_of_N (97 + n)) EmptyString.

Definition leave_all (s : scene) : list op :=
  flat_map (fun one => match will one with Some how => [Leave (who one) how] | None => [] end) (out s).

Definition coming (actor gate : string) (n : N) (leaves : option ScriptsScene.leaving) : op :=
  Start actor gate n (match leaves with Some how => within how | None => No_limit end) leaves.

Definition act_out (m : making) (actor : N) (one : act) : making :=
  match one with
  | Comes n leaves => do_ops m [coming (letter actor) "g" n leaves]
  | Gets n => do_ops m [Grant "g" n]
  | Asks n => do_ops m [Try "g" n]
  | Ends => do_ops m [Close "g" "END"]
  | Leaves =>
      match leave_all (now m) with
      | [] => Making (now m) (done m) (together m) false
      | ops => do_ops m ops
      end
  end.

Fixpoint acts_out (m : making) (actor : N) (all : list act) : making :=
  match all with
  | [] => m
  | one :: rest => acts_out (act_out m actor one) (actor + 1) rest
  end.

(** Lets go who is still in line: those who give up, then the others by a close. *)
Definition let_go (gates : list string) (m : making) : making :=
  let m := match leave_all (now m) with [] => m | ops => do_ops m ops end in
  match out (now m) with
  | [] => m
  | _ => fold_left (fun m gate => do_ops m [Close gate ("end of " ++ gate)]) gates m
  end.

Definition every (alphabet : list act) (wanted : act -> bool) (length : nat) (window : N) :
    list Scripts.script :=
  let make (all : list act) :=
    let m := let_go ["g"] (acts_out (opening [("g", window)] []) 0 all) in
    if finished m && existsb wanted all then Some m else None in
  numbered
    (fun n m =>
       written ("window " ++ show window ++ ", sequence " ++ show n) [("g", window)] [] m)
    (kept (map make (sequences alphabet length))).

Definition staying : list act := [Comes 1 None; Comes 2 None; Gets 1; Gets 2; Ends].

Definition giving_up : list act :=
  [Comes 1 None; Comes 2 None; Comes 1 (Some By_cancel); Comes 2 (Some By_expiry); Gets 1; Asks 1; Leaves].

Definition comes (one : act) : bool := match one with Comes _ _ => true | _ => false end.
Definition leaves (one : act) : bool := match one with Leaves => true | _ => false end.

(** ** Every race at a line of up to three *)

Fixpoint standing_in (m : making) (actor : N) (leaver : N) (how : ScriptsScene.leaving)
    (amounts : list N) : making :=
  match amounts with
  | [] => m
  | n :: rest =>
      let will := if actor =? leaver then Some how else None in
      standing_in (do_ops m [coming (letter actor) "g" n will]) (actor + 1) leaver how rest
  end.

Definition races (window : N) (how : ScriptsScene.leaving) : list Scripts.script :=
  let lines := flat_map (sequences [1; 2]) [1; 2; 3]%nat in
  let tails leaver :=
    (flat_map
       (fun n => [[Grant "g" n; Leave leaver how; Grant "g" 10];
                  [Grant "g" n; Leave leaver how; Close "g" "END"]]) [1; 2; 3] ++
     [[Close "g" "END"; Leave leaver how]])%list in
  let all :=
    flat_map
      (fun amounts =>
         flat_map
           (fun leaver =>
              let m := standing_in (opening [("g", window)] []) 0 leaver how amounts in
              map (fun ops => race m ops) (tails (letter leaver)))
           (ScriptsGate.seeds (List.length amounts))) lines in
  numbered
    (fun n m =>
       written ("window " ++ show window ++ ", one " ++ word how ++ ", race " ++ show n)
         [("g", window)] [] m)
    (filter finished all).

(** ** Random walks *)

Definition gate_names : list string := ["g"; "h"; "k"].

(** One step of a walk, as a move; it is taken if it is fair. *)
Definition proposal (s : scene) (routed : bool) (gates : list string) (number : N) (d : dice) :
    list op * dice :=
  let '(gate, d) := choose "g" gates d in
  let '(roll, d) := throw 100 d in
  let '(n, d) := choose 1 [0; 1; 1; 1; 1; 2; 2; 3; 6] d in
  let '(limit, d) := choose No_limit [No_limit; No_limit; No_limit; No_limit; Long; Zero] d in
  let '(will, d) := choose None [None; None; None; None; Some By_expiry; Some By_cancel] d in
  let '(request, d) := choose "1" ["1"; "1"; "2"] d in
  let '(name, d) := choose None ScriptsRoutes.names d in
  let '(reason, d) := choose "END" ["END"; ""] d in
  let actor := "a" ++ show number in
  let ops :=
    if roll <? 45 then
      match will with
      | None => [Start actor gate n limit None]
      | Some _ => [coming actor gate n will]
      end
    else if roll <? 53 then [Try gate n]
    else if roll <? 63 then leave_all s
    else if roll <? 65 then [Close gate reason]
    else if routed && (roll <? 90) then [Route (ScriptsRouter.Grant request name n)]
    else if routed && (roll <? 93) then [Route (ScriptsRouter.Register request name gate)]
    else if routed && (roll =? 94) then [Route (ScriptsRouter.Close_request request reason)]
    else if routed && (roll =? 95) then [Route (ScriptsRouter.Unregister request name)]
    else [Grant gate n] in
  (ops, d).

Fixpoint walk (length : nat) (routed : bool) (gates : list string) (d : dice) (m : making) : making :=
  match length with
  | O => let_go gates m
  | S less =>
      let '(ops, d) := proposal (now m) routed gates (N.of_nat length) d in
      let after := match ops with [] => m | _ => do_ops m ops end in
      walk less routed gates d (if fair after then after else m)
  end.

Definition registrations : list move :=
  [route (ScriptsRouter.Register "1" (Some "a") "g"); route (ScriptsRouter.Register "1" None "h");
   route (ScriptsRouter.Register "2" (Some "a") "k")].

Definition random (routed : bool) (length : nat) (seed : N) : option Scripts.script :=
  let '(count, d) := throw 3 (seeded (seed + 4000)) in
  let names := if routed then gate_names else firstn (S (N.to_nat count)) gate_names in
  let gates := map (fun one => (one, N.modulo seed 4)) names in
  let m := opening gates [] in
  let m := if routed then fold_left move_on registrations m else m in
  let m := walk length routed names d m in
  if finished m
  then Some (written ("random walk " ++ show seed ++ (if routed then ", routed" else "")) gates [] m)
  else None.

Definition walks (_ : unit) : list Scripts.script :=
  (kept (map (random false 30) (ScriptsGate.seeds 250)) ++
   kept (map (random true 40) (ScriptsGate.seeds 150)))%list.
