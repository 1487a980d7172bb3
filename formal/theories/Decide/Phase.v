(** How far a request has come, as a relay sees it. *)

From Sluicegate Require Import Decide.Facts.

Unset Elimination Schemes.

(** A live request's phase. *)
Inductive phase :=
| Created (** It is registered, and no frame of its flow has passed. *)
| Streaming (** A frame of its flow has passed. *).

(** The phase after a frame of a live request passed: a flow frame makes it stream, for good. *)
Definition passed (now : phase) (kind : Facts.frame_type) : phase :=
  if Facts.is_flow kind then Streaming else now.
