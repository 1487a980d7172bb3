(** The anchor: the hash of a small set of scripts of every machine, computed by the kernel. The
    extracted program computes the same set's hash again and stops if it differs. *)

From Coq Require Import NArith String List.
From Sluicegate Require Import Write.Scripts.
From Sluicegate Require Decide.Cancel Decide.Emission Decide.Feed Decide.Overflow.
From Sluicegate Require Write.ScriptsGate Write.ScriptsWindow Write.ScriptsRouter Write.ScriptsRoutes.
From Sluicegate Require Write.ScriptsPlay Write.ScriptsLines Write.ScriptsLeavings Write.ScriptsRequests.
From Sluicegate Require Write.ScriptsPairs Write.ScriptsActs.
From Sluicegate Require Write.ScriptsFlows Write.ScriptsRequest Write.ScriptsStages.
From Sluicegate Require Write.ScriptsCalls Write.ScriptsFeed Write.ScriptsHub Write.ScriptsPipeline.
From Sluicegate Require Write.ScriptsJunction Write.ScriptsHubRun.
Import ListNotations.
Open Scope string_scope.
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
   ScriptsActs.every ScriptsActs.staying ScriptsActs.comes 2 1 ++
   map ScriptsFlows.random_order [0; 1] ++
   [ScriptsFlows.writer_script "walk" ["1"; "2"; "3"; "4"] (ScriptsFlows.writes 30 6000);
    ScriptsFlows.ledger_script "walk" 2 (ScriptsFlows.seen 30 7000);
    ScriptsRequest.table_script "walk" 6 (ScriptsRequest.walk 30 8000);
    ScriptsRequest.emission_script "walk"
      (ScriptsRequest.emitted 30 (ScriptsRequest.Sent Emission.started []) 9000);
    ScriptsStages.stage_script "walk" (ScriptsStages.Ahead 4 3) (ScriptsStages.signals 30 10000);
    ScriptsStages.queue_script "walk" Overflow.DropHead 3 20 (ScriptsStages.queue_ops 30 11000)] ++
   [ScriptsCalls.cancel_script "all" Cancel.Queued (ScriptsCalls.events ++ ScriptsCalls.events);
    ScriptsCalls.phase_script "all" ScriptsFlows.kinds;
    ScriptsFeed.feed_script "walk" 3 Feed.DropOldest (ScriptsFeed.random 30 60 1000 13000);
    ScriptsHub.hub_script "walk" 3 (ScriptsHub.random 40 0 14000)] ++
   ScriptsCalls.direction_scripts tt ++ ScriptsCalls.relay_scripts tt ++
   ScriptsCalls.accounting_scripts tt ++
   ScriptsPipeline.named_scripts ++
   ScriptsPipeline.numbered_scripts "walk " (map (ScriptsPipeline.random 20) [0; 1; 2; 3]) ++
   ScriptsJunction.of_each ++ ScriptsHubRun.of_each)%list.

Definition anchor : N := 7012843127714534682.

Example anchored : hash_of sample = anchor.
Proof. vm_compute; reflexivity. Qed.
