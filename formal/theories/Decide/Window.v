(** The receiver's side of a window: how many chunks may still arrive, and what is owed for those
    that were consumed. *)

From Coq Require Import NArith.
From Sluicegate Require Import Base.U64.

Unset Elimination Schemes.

(** A window's state, in chunks. *)
Record window := Window {
  remaining : N; (** Chunks that may still arrive without a violation. *)
  pending : N; (** Chunks consumed and not granted back yet. *)
  batch : N; (** How many consumed chunks make a grant due. *)
}.

(** What a chunk that arrives is told. *)
Inductive arrival :=
| Accepted (** It was paid for. *)
| Violation (** No credit was left for it (L12). The window is untouched. *).

(** The batch of a window unless told otherwise: half of it, at least 1 (L10). *)
Definition default_batch (size : N) : N := U64.umax 1 (U64.half size).

(** A fresh window of [size] chunks that grants back in halves. *)
Definition opened (size : N) : window := Window size 0 (default_batch size).

(** A fresh window whose grants are due after [wish] chunks, held between 1 and half the window, so
    that no window can stall under its own batch (L10). *)
Definition with_batch (size wish : N) : window :=
  Window size 0 (U64.umin (U64.umax 1 wish) (default_batch size)).

(** A chunk arrives. *)
Definition arrive (w : window) : window * arrival :=
  if U64.eqb (remaining w) 0 then (w, Violation)
  else (Window (U64.sat_sub (remaining w) 1) (pending w) (batch w), Accepted).

(** Answers everything that is pending, 0 for nothing. Due before any wait (L10). *)
Definition flush (w : window) : window * N :=
  (Window (U64.sat_add (remaining w) (pending w)) 0 (batch w), pending w).

(** A chunk was consumed. Answers the grant that is now due, 0 for none (L10). *)
Definition consumed (w : window) : window * N :=
  let counted := Window (remaining w) (U64.sat_add (pending w) 1) (batch w) in
  if U64.ltb (pending counted) (batch counted) then (counted, 0) else flush counted.

(** A chunk arrived that only continues an item: it is given back at once, alone, so that an item
    may be wider than the window (L10). *)
Definition continued (w : window) : window * N :=
  (Window (U64.sat_add (remaining w) 1) (pending w) (batch w), 1).

(** Where a chunk that arrived stands in its item. *)
Inductive place :=
| Continues  (** More of the item is to come. *)
| Completes  (** It is the last of its item, or an item by itself. *).

(** Which chunk of an item keeps its credit until the item is consumed: the one that completes it. All
    others are [continued], so that an item may be wider than any window. If the first chunk kept it, a
    window of 1 would stop for ever (L10). *)
Definition keeps_credit (p : place) : bool :=
  match p with Continues => false | Completes => true end.
