(** Named waiting scripts: requests and their streams. *)

From Coq Require Import NArith String List.
From Sluicegate Require Import Write.ScriptsRouter Write.Scripts Write.ScriptsScene Write.ScriptsPlay.
From Sluicegate Require Import Write.ScriptsMoves.
Import ListNotations.
Open Scope string_scope.
Open Scope N_scope.

Definition requests : list (option Scripts.script) :=
  [played "the end of a request releases its gates only" [("main", 0); ("side", 0); ("other", 0)] []
     [route (Register "1" (Some "main") "main"); route (Register "1" (Some "side") "side");
      route (Register "2" (Some "main") "other"); start_at "main" "a" 1; start_at "side" "b" 1;
      start_at "other" "c" 1; start_at "main" "d" 2; route (Close_request "1" "CANCELLED");
      route (ScriptsRouter.Grant "2" None 1); route (ScriptsRouter.Grant "1" (Some "main") 1);
      start_at "side" "e" 1];
   played "the empty reason releases as well" [("main", 0); ("side", 0); ("other", 0)] []
     [route (Register "1" (Some "main") "main"); route (Register "1" (Some "side") "side");
      route (Register "2" (Some "main") "other"); start_at "main" "a" 1; start_at "side" "b" 1;
      start_at "other" "c" 1; start_at "main" "d" 2; route (Close_request "1" "");
      route (Close_request "2" "END")];
   played "the end of the connection releases everybody" [("main", 0); ("side", 0); ("other", 0)] []
     [route (Register "1" (Some "main") "main"); route (Register "1" (Some "side") "side");
      route (Register "2" (Some "main") "other"); start_at "main" "a" 1; start_at "side" "b" 1;
      start_at "other" "c" 1; start_at "main" "d" 2; route (Close_all "PEER_DIED");
      start_at "other" "e" 1];
   played "grants go to the stream they name" [("main", 0); ("side", 0); ("other", 0)] []
     [route (Register "1" (Some "main") "main"); route (Register "1" (Some "side") "side");
      route (Register "2" (Some "main") "other"); start_at "main" "a" 1; start_at "side" "b" 1;
      start_at "other" "c" 1; start_at "main" "d" 2;
      route (ScriptsRouter.Grant "1" (Some "side") 1);
      route (ScriptsRouter.Grant "2" (Some "side") 1); route (ScriptsRouter.Grant "1" None 1);
      route (ScriptsRouter.Grant "2" None 1); route (ScriptsRouter.Grant "1" (Some "main") 1);
      route (ScriptsRouter.Grant "1" (Some "") 1);
      route (ScriptsRouter.Grant "1" (Some "main") 2)];
   played "an unknown request grants to nobody" [("main", 0); ("side", 0); ("other", 0)] []
     [route (Register "1" (Some "main") "main"); route (Register "1" (Some "side") "side");
      route (Register "2" (Some "main") "other"); start_at "main" "a" 1; start_at "side" "b" 1;
      start_at "other" "c" 1; start_at "main" "d" 2; route (ScriptsRouter.Grant "3" None 9);
      route (ScriptsRouter.Grant "3" (Some "main") 9); route (Close_all "END")];
   played "a closed request's first reason stays" [("main", 0); ("side", 0); ("other", 0)] []
     [route (Register "1" (Some "main") "main"); route (Register "1" (Some "side") "side");
      route (Register "2" (Some "main") "other"); start_at "main" "a" 1; start_at "side" "b" 1;
      start_at "other" "c" 1; start_at "main" "d" 2; close_at "main" "early";
      route (Close_request "1" "late"); start_at "main" "e" 1; start_at "side" "f" 1;
      route (Close_all "END")];
   played "the request's only stream gets a grant without a name" [("g", 0)] []
     [route (Register "1" (Some "a") "g"); start "a" 1; route (ScriptsRouter.Grant "1" None 1);
      start "b" 2; route (ScriptsRouter.Grant "1" (Some "a") 1);
      route (ScriptsRouter.Grant "1" None 1)];
   played "the absent name gets a grant without a name" [("g", 0); ("h", 0)] []
     [route (Register "1" None "g"); route (Register "1" (Some "a") "h"); start "a" 1;
      start_at "h" "b" 1; route (ScriptsRouter.Grant "1" None 1);
      route (ScriptsRouter.Grant "1" (Some "a") 1)];
   played "the empty name is a name" [("g", 0); ("h", 0)] []
     [route (Register "1" (Some "") "g"); route (Register "1" (Some "a") "h"); start "a" 1;
      start_at "h" "b" 1; route (ScriptsRouter.Grant "1" None 1);
      route (ScriptsRouter.Grant "1" (Some "") 1); route (ScriptsRouter.Grant "1" (Some "a") 1)];
   played "a replaced gate releases its waiters" [("g", 0); ("h", 0)] []
     [route (Register "1" (Some "a") "g"); start "a" 1; start "b" 1;
      route (Register "1" (Some "a") "h"); start_at "h" "c" 1;
      route (ScriptsRouter.Grant "1" None 1); start "d" 1];
   played "a stream taken out waits on until its gate is closed" [("g", 0); ("h", 0)] []
     [route (Register "1" (Some "a") "g"); route (Register "1" (Some "b") "h"); start "a" 1;
      start_at "h" "b" 1; route (Unregister "1" (Some "a"));
      route (ScriptsRouter.Grant "1" (Some "a") 1); route (ScriptsRouter.Grant "1" None 1);
      route (Close_request "1" "END"); close "END"];
   played "a grant of nothing through the router wakes nobody" [("g", 0)] []
     [route (Register "1" (Some "a") "g"); start "a" 1; route (ScriptsRouter.Grant "1" None 0);
      route (ScriptsRouter.Grant "1" (Some "a") 0); route (ScriptsRouter.Grant "1" None 1)];
   played "one gate under two names" [("g", 0)] []
     [route (Register "1" (Some "a") "g"); route (Register "1" (Some "b") "g"); start "a" 1;
      start "b" 1; route (ScriptsRouter.Grant "1" None 1);
      route (ScriptsRouter.Grant "1" (Some "a") 1); route (ScriptsRouter.Grant "1" (Some "b") 1)];
   played "one who gives up and a request that ends" [("g", 2); ("h", 0)] []
     [route (Register "1" (Some "a") "g"); route (Register "1" (Some "b") "h");
      leaving By_expiry "a" 3; start "b" 2; start_at "h" "c" 1; leave By_expiry "a";
      route (Close_request "1" "ERR")]].

(** Every named script can be replayed by every runner. *)
Example all_fair : complete requests = true.
Proof. vm_compute; reflexivity. Qed.
