(** Writes each file of decisions as a tree, from which [cargo xtask formal] writes core/src/model.

    Nothing is simplified on the way: what a decision says is what the tree holds. *)

From Sluicegate Require Import Decide.Accounting
  Decide.Branches
  Decide.Cancel
  Decide.Demand
  Decide.Direction
  Decide.Disposition
  Decide.Emission
  Decide.Facts
  Decide.Feed
  Decide.Gate
  Decide.Hub
  Decide.Ledger
  Decide.Negotiate
  Decide.Overflow
  Decide.Patience
  Decide.Phase
  Decide.Relay
  Decide.Reorder
  Decide.Target
  Decide.Window
  Decide.Writer.
Require Coq.extraction.Extraction.

Extraction Language JSON.
Unset Extraction Optimize.
Unset Extraction AutoInline.
Set Extraction KeepSingleton.

Extraction Library Accounting.
Extraction Library Branches.
Extraction Library Cancel.
Extraction Library Demand.
Extraction Library Direction.
Extraction Library Disposition.
Extraction Library Emission.
Extraction Library Facts.
Extraction Library Feed.
Extraction Library Gate.
Extraction Library Hub.
Extraction Library Ledger.
Extraction Library Negotiate.
Extraction Library Overflow.
Extraction Library Patience.
Extraction Library Phase.
Extraction Library Relay.
Extraction Library Reorder.
Extraction Library Target.
Extraction Library Window.
Extraction Library Writer.
