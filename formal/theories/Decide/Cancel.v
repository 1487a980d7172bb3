(** How a request ends at its handler's side: cancel, failure and return race for one terminal. *)

From Coq Require Import Bool.
From Sluicegate Require Import Decide.Facts.

Unset Elimination Schemes.

(** How far a request is at the side that answers it. *)
Inductive stage :=
| Unknown (** Never heard of, or ended and gone. *)
| Queued (** Registered; no handler has taken it. *)
| Running (** A handler has it. *)
| Stopping (** A handler has it and was told to stop; its waiters are released. *)
| Ended (** Its terminal is sent; nothing of it is left. *).

(** What is to be done now. *)
Inductive duty :=
| Nothing (** Nothing: it does not matter any more, or not yet. *)
| Start (** Run the handler. *)
| ReleaseAll (** Release every waiter of the request with the reason (L13) and tell the handler to
    stop; the terminal follows once it returns. *)
| SendEnd (** Send END, then release every waiter and forget the request (L7). *)
| SendErr (** Send ERR with the reason, then release every waiter and forget the request (L7). *).

(** A handler takes the request. *)
Definition begin (now : stage) : stage * duty :=
  match now with
  | Queued => (Running, Start)
  | _ => (now, Nothing)
  end.

(** CANCEL came (L17). A request that no handler has taken is answered at once and never runs; a
    running one is told to stop; a second cancel changes nothing, and its reason is not kept. *)
Definition cancel (now : stage) : stage * duty :=
  match now with
  | Queued => (Ended, SendErr)
  | Running => (Stopping, ReleaseAll)
  | _ => (now, Nothing)
  end.

(** The handler returned, with success or without. One that was told to stop ends as failed under
    the reason of the cancel, whatever it returned. *)
Definition returned (now : stage) (success : bool) : stage * duty :=
  match now with
  | Running => (Ended, if success then SendEnd else SendErr)
  | Stopping => (Ended, SendErr)
  | _ => (now, Nothing)
  end.

(** CLOSE_STREAM came: it stops the capture of live inputs, and touches no waiter and no phase. *)
Definition close_stream (now : stage) : stage * duty := (now, Nothing).

(** The frame that a duty puts on the wire, if any. *)
Definition terminal_of (what : duty) : option Facts.frame_type :=
  match what with
  | SendEnd => Some Facts.End
  | SendErr => Some Facts.Err
  | _ => None
  end.

(** Whether a duty releases the waiters of the request (L13). *)
Definition releases (what : duty) : bool :=
  match what with
  | ReleaseAll => true
  | SendEnd => true
  | SendErr => true
  | _ => false
  end.
