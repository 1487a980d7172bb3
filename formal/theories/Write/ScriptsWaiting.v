(** The files of waiting scripts. *)

From Coq Require Import NArith String List.
From Sluicegate Require Import Write.Scripts Write.ScriptsPlay.
From Sluicegate Require Write.ScriptsScene Write.ScriptsLines Write.ScriptsLeavings.
From Sluicegate Require Write.ScriptsRequests Write.ScriptsPairs Write.ScriptsActs.
Import ListNotations.
Open Scope string_scope.
Open Scope N_scope.

Definition file (title : string) (scripts : unit -> list script) : file :=
  File "waiting" title "waiting" scripts.

Definition every_race (_ : unit) : list script :=
  (ScriptsActs.races 0 ScriptsScene.By_cancel ++ ScriptsActs.races 1 ScriptsScene.By_expiry)%list.

Definition files : list Scripts.file :=
  [file "lines" (fun _ => kept ScriptsLines.lines);
   file "closing" (fun _ => kept ScriptsLines.closing);
   file "leaving" (fun _ => kept ScriptsLeavings.leavings);
   file "requests" (fun _ => kept ScriptsRequests.requests);
   file "pairs" (fun _ => kept ScriptsPairs.pairs);
   file "lines_every"
     (fun _ => flat_map (ScriptsActs.every ScriptsActs.staying ScriptsActs.comes 4) [0; 1; 2]);
   file "leaving_every"
     (fun _ => flat_map (ScriptsActs.every ScriptsActs.giving_up ScriptsActs.leaves 4) [0; 1]);
   file "races_every" every_race;
   file "walks" ScriptsActs.walks].
