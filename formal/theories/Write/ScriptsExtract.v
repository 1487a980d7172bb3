(** The scripts as an OCaml program. Numbers stay binary, so that 2^64-1 is exact; only texts become
    OCaml's own. Compile this in the folder where the program is to lie. *)

From Coq Require Import List.
From Coq Require Extraction ExtrOcamlBasic ExtrOcamlNativeString.
From Sluicegate Require Import Write.Scripts Write.ScriptsAnchor.
From Sluicegate Require Write.ScriptsGate Write.ScriptsWindow Write.ScriptsRoutes Write.ScriptsWaiting.
From Sluicegate Require Write.ScriptsFlows Write.ScriptsRequest Write.ScriptsStages.
From Sluicegate Require Write.ScriptsCalls Write.ScriptsFeed Write.ScriptsHub Write.ScriptsPipeline.
From Sluicegate Require Write.ScriptsJunction Write.ScriptsHubRun.
Import ListNotations.

Definition every_file : list file :=
  (ScriptsGate.files ++ ScriptsWindow.files ++ ScriptsRoutes.files ++ ScriptsWaiting.files ++
   ScriptsFlows.files ++ ScriptsRequest.files ++ ScriptsStages.files ++ ScriptsCalls.files ++
   ScriptsFeed.files ++ ScriptsHub.files ++ ScriptsPipeline.files ++ ScriptsJunction.files ++
   ScriptsHubRun.files)%list.

Definition all_at_rest (_ : unit) : bool :=
  (ScriptsPipeline.all_at_rest tt && ScriptsJunction.all_at_rest tt && ScriptsHubRun.all_at_rest tt)%bool.

Extraction Language OCaml.
Extraction "scripts.ml" every_file all_at_rest hash_of sample anchor.
