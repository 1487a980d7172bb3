(** Which way a CREDIT frame goes, and whose gate it releases. *)

From Coq Require Import Bool.

Unset Elimination Schemes.

(** Which kind of stream a CREDIT frame is for. *)
Inductive credit_direction :=
| Request (** It credits an argument stream; travels to the requester. *)
| Response (** It credits an output stream; travels to the handler. *).

(** An end of a request. *)
Inductive side :=
| Caller (** Who asked: sends argument streams, consumes output streams. *)
| Handler (** Who answers: consumes argument streams, sends output streams. *).

(** Where a relay sends a frame. *)
Inductive way :=
| ToCaller (** To where the request came from. *)
| ToHandler (** To where the request went. *)
| Nowhere (** Nowhere: it is counted as a drop with the reason `no_route`. *).

(** The direction in the grants that this end writes for what it consumes (L14). *)
Definition granted_by (consumer : side) : credit_direction :=
  match consumer with
  | Caller => Response
  | Handler => Request
  end.

(** The end whose gates a grant of this direction releases. *)
Definition released_by (direction : credit_direction) : side :=
  match direction with
  | Request => Caller
  | Response => Handler
  end.

(** Where a host sends a CREDIT frame (L11). Without a known direction it goes nowhere. *)
Definition at_host (direction : option credit_direction) : way :=
  match direction with
  | Some Request => ToCaller
  | Some Response => ToHandler
  | None => Nowhere
  end.

(** Where a switch sends a frame that came from a host: one with a routing id is of the answer, one
    without is of the call (L11). CREDIT is treated like all others. *)
Definition at_switch (routing_id : bool) : way :=
  if routing_id then ToCaller else ToHandler.
