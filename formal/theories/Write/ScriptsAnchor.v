(** The anchor: the hash of a small set of scripts of every machine, computed by the kernel. The
    extracted program computes the same set's hash again and stops if it differs. *)

From Coq Require Import NArith List.
From Sluicegate Require Import Write.Scripts.
From Sluicegate Require Write.ScriptsGate Write.ScriptsWindow Write.ScriptsRouter Write.ScriptsRoutes.
From Sluicegate Require Write.ScriptsPlay Write.ScriptsLines Write.ScriptsLeavings Write.ScriptsRequests.
From Sluicegate Require Write.ScriptsPairs Write.ScriptsActs.
Import ListNotations.
Open Scope N_scope.

Definition sample : list script :=
  (ScriptsGate.named ++ ScriptsGate.every 2 1 ++ map (ScriptsGate.random 20) [0; 1; 2; 3] ++
   ScriptsWindow.named ++ ScriptsWindow.every 3 (2, None) ++
   map (ScriptsWindow.random 20) [0; 1; 2; 3] ++
   [ScriptsRouter.negotiating 5; ScriptsRouter.negotiating_at_random 0] ++
   ScriptsRoutes.targets ++ ScriptsRoutes.named ++ map (ScriptsRoutes.random 20) [0; 1] ++
   ScriptsPlay.kept
     (ScriptsLines.lines ++ ScriptsLines.closing ++ ScriptsLeavings.leavings ++
      ScriptsRequests.requests ++ firstn 3 ScriptsPairs.pairs ++
      map (ScriptsActs.random false 20) [0; 1] ++ map (ScriptsActs.random true 20) [0; 1]) ++
   ScriptsActs.every ScriptsActs.staying ScriptsActs.comes 2 1)%list.

Definition anchor : N := 2704351468975905352.

Example anchored : hash_of sample = anchor.
Proof. vm_compute; reflexivity. Qed.
