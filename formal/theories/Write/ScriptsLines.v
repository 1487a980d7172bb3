(** Named waiting scripts: the line, and what a close does to it. *)

From Coq Require Import NArith String List.
From Sluicegate Require Import Write.Scripts Write.ScriptsScene Write.ScriptsPlay Write.ScriptsMoves.
From Sluicegate Require Write.ScriptsGate.
Import ListNotations.
Open Scope string_scope.
Open Scope N_scope.

Definition fifo : list (option script) :=
  [played "one waits and is served" [("g", 0)] []
     [start "a" 1; grant 1];
   played "a grant of nothing wakes nobody" [("g", 0)] []
     [start "a" 1; grant 0; attempt 0; grant 0; grant 1];
   played "hazard G01: two grants without a pause serve two" [("g", 0)] []
     [start "a" 1; start "b" 1; Do [Grant "g" 1; Grant "g" 1]];
   played "first come, first served" [("g", 0)] []
     [start "a" 1; start "b" 1; start "c" 1; start "d" 1; grant 1; grant 1; grant 1; grant 1];
   played "one grant serves as many as it pays for" [("g", 0)] []
     [start "a" 1; start "b" 1; start "c" 1; start "d" 1; start "e" 1; start "f" 1; grant 3;
      grant 1; grant 5];
   played "what is left over stays" [("g", 0)] []
     [start "a" 1; start "b" 1; grant 7; attempt 5; attempt 1];
   played "a large acquire is not starved by small ones that came later" [("g", 2)] []
     [start "big" 3; start "a" 1; start "b" 1; start "c" 1; attempt 1; grant 1; grant 1; grant 2];
   played "hazard G05: ten at once is served before all later ones" [("g", 0)] []
     [start "big" 10; start "a" 1; start "b" 1; start "c" 1; start "d" 1; start "e" 1; grant 1;
      grant 1; grant 1; grant 1; grant 1; grant 1; grant 1; grant 1; grant 1; grant 1; grant 1;
      grant 1; grant 1; grant 1; grant 1];
   played "hazard G11: more than the window is served once grants add up" [("g", 3)] []
     [start "big" 5; grant 1; attempt 1; grant 1];
   played "more than the window in many small grants" [("g", 0)] []
     [start "big" 8; grant 3; grant 0; grant 3; grant 1; grant 1];
   played "nothing is set aside for whoever waits" [("g", 3)] []
     [start "big" 4; attempt 0; grant 1];
   played "the large one goes first, the small one takes the rest" [("g", 0)] []
     [start "big" 4; start "small" 1; grant 5];
   played "the small one goes first, the large one waits on" [("g", 0)] []
     [start "small" 1; start "big" 4; grant 3; grant 1; grant 1];
   played "taking nothing never waits, whoever stands in line" [("g", 0)] []
     [start "a" 1; start "zero" 0; attempt 0; limited Zero "zero" 0; grant 1; start "zero" 0];
   played "a try does not overtake the line" [("g", 2)] []
     [start "a" 3; attempt 1; attempt 2; grant 1; attempt 1];
   played "an actor that was served may come again, at the end of the line" [("g", 0)] []
     [start "a" 1; start "b" 1; grant 1; start "a" 1; grant 1; start "b" 1; grant 1; grant 1];
   played "the largest number waits for all of it" [("g", 0)] []
     [start "all" ScriptsGate.max; grant (ScriptsGate.max - 1); attempt 1; grant 1];
   played "a full gate serves the largest number, then waits" [("g", ScriptsGate.max)] []
     [start "all" ScriptsGate.max; start "one" 1; grant ScriptsGate.max;
      attempt (ScriptsGate.max - 1)];
   played "grants saturate while somebody waits" [("g", 2)] []
     [start "all" ScriptsGate.max; start "one" 1; grant ScriptsGate.max; grant 1];
   played "hazard G06: saturated, then the largest signed number" [("g", 0)] []
     [grant ScriptsGate.signed; grant ScriptsGate.signed; grant 1; start "a" 1;
      start "b" ScriptsGate.signed; start "c" ScriptsGate.signed; start "d" 1; grant 1];
   played "two gates have two lines" [("g", 0); ("h", 0)] []
     [start "a" 1; start_at "h" "b" 1; start "c" 1; grant_at "h" 1; grant 1; grant_at "h" 1;
      grant 1; attempt_at "h" 1];
   played "many sizes" [("g", 1)] []
     [start "a" 2; start "b" 3; start "c" 1; start "d" 5; grant 1; grant 2; grant 1; grant 1;
      grant 4; grant 1];
   played "a long limit is served like no limit" [("g", 0)] []
     [limited Long "a" 1; start "b" 1; grant 1; grant 1]].

Definition closing : list (option script) :=
  [played "close wakes the one who waits" [("g", 0)] []
     [start "a" 1; close "END"];
   played "hazard G02: close wakes all eight" [("g", 0)] []
     [start "a" 1; start "b" 1; start "c" 1; start "d" 1; start "e" 1; start "f" 1; start "g" 1;
      start "h" 1; close "CANCELLED"; start "late" 1; start "zero" 0];
   played "the first reason stays" [("g", 0)] []
     [start "a" 1; start "b" 1; close "first"; close "second"; start "c" 1; close ""];
   played "the empty text is a reason" [("g", 0)] []
     [start "a" 1; start "b" 1; close ""; start "c" 1; attempt 1];
   played "two closes without a pause: the first reason for all" [("g", 0)] []
     [start "a" 1; start "b" 1; start "c" 1; Do [Close "g" "first"; Close "g" "second"]];
   played "a grant after close changes nothing" [("g", 2)] []
     [start "a" 3; close "END"; grant 9; attempt 1];
   played "a grant and a close without a pause: the paid one is served" [("g", 0)] []
     [start "a" 1; start "b" 1; Do [Grant "g" 1; Close "g" "END"]];
   played "a close and a grant without a pause: nobody is served" [("g", 0)] []
     [start "a" 1; start "b" 1; Do [Close "g" "END"; Grant "g" 2]];
   played "close keeps the count" [("g", 4)] []
     [start "a" 5; close "END"; attempt 0];
   played "closed before anybody came" [("g", 3)] []
     [close "CANCELLED"; start "a" 1; start "b" 0; start "c" ScriptsGate.max;
      limited Zero "d" 1; limited Long "e" 1];
   played "a long limit hears the reason" [("g", 0)] []
     [limited Long "a" 1; close "PEER_DIED"];
   played "closing one gate leaves the other" [("g", 0); ("h", 0)] []
     [start "a" 1; start_at "h" "b" 1; close "END"; grant_at "h" 1];
   played "large and small alike" [("g", 1)] []
     [start "big" 100; start "small" 1; start "all" ScriptsGate.max; close "ERR"];
   played "a reason may be any text" [("g", 0)] []
     [start "a" 1; close "Grund: käuflich ✓ 門"; start "b" 1];
   played "close at the last chunk" [("g", 1)] []
     [start "a" 1; start "b" 1; close "END"; start "c" 1]].

(** ** The chunk after the last one waits *)

Definition after_the_last (w : N) : option script :=
  played ("window " ++ show w ++ ": the chunk after the last one waits") [("g", w)] []
    (numbered (fun n _ => start ("a" ++ show n) 1) (repeat tt (N.to_nat w)) ++
     [attempt 1; start "late" 1; start "later" 1; grant 1; grant (N.max 1 (N.div w 2))])%list.

Definition lines : list (option script) :=
  (fifo ++ map after_the_last [1; 2; 3; 4; 5; 7; 8])%list.

(** Every named script can be replayed by every runner. *)
Example all_fair : complete (lines ++ closing) = true.
Proof. vm_compute; reflexivity. Qed.
