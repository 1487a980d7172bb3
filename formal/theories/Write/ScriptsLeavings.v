(** Named waiting scripts: deadlines, cancels, and their races with grants and closes. *)

From Coq Require Import NArith String List.
From Sluicegate Require Import Write.Scripts Write.ScriptsScene Write.ScriptsPlay Write.ScriptsMoves.
From Sluicegate Require Write.ScriptsGate.
Import ListNotations.
Open Scope string_scope.
Open Scope N_scope.

Definition giving_up (how : ScriptsScene.leaving) : list (option script) :=
  [played ("one who " ++ word how ++ " takes nothing") [("g", 0)] []
     [leaving how "a" 1; leave how "a"; attempt 1; grant 1; attempt 1];
   played ("one who " ++ word how ++ " leaves the count alone") [("g", 2)] []
     [leaving how "a" 3; leave how "a"; attempt 3; attempt 2];
   played ("hazard G04: the head " ++ word how ++ ", the next is served") [("g", 3)] []
     [leaving how "a" 5; start "b" 1; leave how "a"; attempt 2];
   played ("the head " ++ word how ++ ", all who can be are served") [("g", 6)] []
     [leaving how "a" 7; start "b" 1; start "c" 2; start "d" 4; start "e" 1; leave how "a";
      grant 1; grant 1];
   played ("one in the middle " ++ word how ++ ", the line closes up") [("g", 0)] []
     [start "a" 1; leaving how "b" 1; start "c" 1; leave how "b"; grant 1; grant 1; attempt 1];
   played ("the last " ++ word how) [("g", 0)] []
     [start "a" 1; start "b" 1; leaving how "c" 1; leave how "c"; grant 2; attempt 1];
   played ("one that " ++ word how ++ " behind a large one") [("g", 1)] []
     [start "big" 2; leaving how "a" 1; leave how "a"; grant 1; attempt 1];
   played ("two that give up in one step: " ++ word how) [("g", 2)] []
     [leaving how "a" 3; leaving how "b" 4; start "c" 2; Do [Leave "a" how; Leave "b" how];
      attempt 1];
   played ("whoever " ++ word how ++ " may come again") [("g", 0)] []
     [leaving how "a" 1; leave how "a"; start "a" 1; grant 1];
   played ("again and again: " ++ word how) [("g", 1)] []
     [leaving how "a" 2; leave how "a"; leaving how "a" 2; leave how "a"; leaving how "a" 2;
      leave how "a"; start "a" 2; grant 1; attempt 1];
   played ("comes back to the end of the line: " ++ word how) [("g", 0)] []
     [leaving how "a" 1; start "b" 1; leave how "a"; start "a" 1; grant 1; grant 1];
   played ("who " ++ word how ++ " before the close does not hear it") [("g", 0)] []
     [start "a" 1; leaving how "b" 1; leave how "b"; close "END"; start "b" 1];
   played ("the largest number " ++ word how) [("g", 5)] []
     [leaving how "all" ScriptsGate.max; start "b" 5; leave how "all"; attempt 1];
   played ("a grant races with one who " ++ word how ++ ": credit goes to one of two") [("g", 0)] []
     [leaving how "a" 1; start "b" 1; Race [Grant "g" 1; Leave "a" how; Grant "g" 1]];
   played ("one who " ++ word how ++ " races with a grant: credit goes to one of two") [("g", 0)] []
     [leaving how "a" 1; start "b" 1; Race [Leave "a" how; Grant "g" 1; Grant "g" 1]];
   played ("alone, a grant races with one who " ++ word how ++ ": taken or left") [("g", 0)] []
     [leaving how "a" 1; Race [Grant "g" 1; Leave "a" how]];
   played ("a close races with one who " ++ word how) [("g", 0)] []
     [leaving how "a" 1; start "b" 1; Race [Close "g" "CANCELLED"; Leave "a" how]];
   played ("the head " ++ word how ++ " while a grant comes: it goes to the head or the next") [("g", 1)] []
     [leaving how "a" 2; start "b" 2; Race [Grant "g" 1; Leave "a" how; Grant "g" 2]];
   played ("three follow, a grant races with the head who " ++ word how) [("g", 0)] []
     [leaving how "a" 1; start "b" 1; start "c" 1; start "d" 1;
      Race [Grant "g" 2; Leave "a" how; Grant "g" 2]]].

Definition given_up : list (option script) :=
  [played "a limit of nothing is a try" [("g", 1)] []
     [limited Zero "a" 2; limited Zero "b" 1; limited Zero "c" 1; attempt 1];
   played "a limit of nothing does not overtake the line" [("g", 1)] []
     [start "a" 2; limited Zero "b" 1; grant 1; limited Zero "c" 1];
   played "a limit of nothing leaves the line as it was" [("g", 0)] []
     [start "a" 2; limited Zero "b" 1; grant 1; limited Zero "b" 1; grant 1];
   played "first one is cancelled, then another times out" [("g", 3)] []
     [leaving By_cancel "a" 5; start "b" 4; leave By_cancel "a"; leaving By_expiry "c" 9;
      leave By_expiry "c"; grant 1]].

Definition leavings : list (option script) :=
  (giving_up By_expiry ++ giving_up By_cancel ++ given_up)%list.

(** Every named script can be replayed by every runner. *)
Example all_fair : complete leavings = true.
Proof. vm_compute; reflexivity. Qed.
