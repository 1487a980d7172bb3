(** The kinds of frames, their numbers on the wire, and what each kind means to its flow. *)

From Coq Require Import NArith Bool.
From Sluicegate Require Import Base.U64.

Unset Elimination Schemes.

(** The kind of a frame. 2 is retired; 16 and up are not assigned. *)
Inductive frame_type :=
| Hello (** Opens a connection: limits and version. *)
| Req (** Opens a request. *)
| Chunk (** One unit of data, and the only frame that costs credit (L9, L14). *)
| End (** Ends a direction of a request, or the request. *)
| Log (** Progress or a log line. *)
| Err (** Ends a request as failed. *)
| Heartbeat (** Probe or reply. *)
| StreamStart (** Opens a stream of a request. *)
| StreamEnd (** Ends a stream of a request. *)
| RelayNotify (** A host tells its switch what it offers. *)
| RelayState (** A switch gives a host something to keep. *)
| Cancel (** Cancels a request. *)
| Credit (** Gives credit to a stream's sender, in chunks. *)
| CloseStream (** Asks live inputs to stop capturing. *)
| Policy (** Sets the network policy of a cartridge. *).

(** How a flow ends by a frame of its own. *)
Inductive flow_end :=
| Finished (** By END. *)
| Failed (** By ERR. *).

(** The number on the wire. *)
Definition code (kind : frame_type) : N :=
  match kind with
  | Hello => 0
  | Req => 1
  | Chunk => 3
  | End => 4
  | Log => 5
  | Err => 6
  | Heartbeat => 7
  | StreamStart => 8
  | StreamEnd => 9
  | RelayNotify => 10
  | RelayState => 11
  | Cancel => 12
  | Credit => 13
  | CloseStream => 14
  | Policy => 15
  end.

(** The kind with this number; none for the retired 2 and for 16 and up. *)
Definition from_code (number : N) : option frame_type :=
  if U64.eqb number 0 then Some Hello
  else if U64.eqb number 1 then Some Req
  else if U64.eqb number 3 then Some Chunk
  else if U64.eqb number 4 then Some End
  else if U64.eqb number 5 then Some Log
  else if U64.eqb number 6 then Some Err
  else if U64.eqb number 7 then Some Heartbeat
  else if U64.eqb number 8 then Some StreamStart
  else if U64.eqb number 9 then Some StreamEnd
  else if U64.eqb number 10 then Some RelayNotify
  else if U64.eqb number 11 then Some RelayState
  else if U64.eqb number 12 then Some Cancel
  else if U64.eqb number 13 then Some Credit
  else if U64.eqb number 14 then Some CloseStream
  else if U64.eqb number 15 then Some Policy
  else None.

(** Whether frames of this kind are numbered, reordered and gated by their flow's terminal. All
    others bypass the three, CREDIT above all: it never waits behind the data that it unblocks. *)
Definition is_flow (kind : frame_type) : bool :=
  match kind with
  | Hello => false
  | Req => true
  | Chunk => true
  | End => true
  | Log => true
  | Err => true
  | Heartbeat => false
  | StreamStart => true
  | StreamEnd => true
  | RelayNotify => false
  | RelayState => false
  | Cancel => false
  | Credit => false
  | CloseStream => false
  | Policy => false
  end.

(** How a frame of this kind ends its flow, if it does (L4). A request that is cancelled, or whose
    peer died, ends without a frame of its flow. *)
Definition ends (kind : frame_type) : option flow_end :=
  match kind with
  | End => Some Finished
  | Err => Some Failed
  | _ => None
  end.

(** Whether this kind ends its flow (L4): END and ERR. *)
Definition is_terminal (kind : frame_type) : bool :=
  match ends kind with
  | Some _ => true
  | None => false
  end.

(** What a frame of this kind costs its sender, in chunks of credit: 1 for CHUNK and nothing for
    any other, so that progress, errors and ends flow when no data can (L14). *)
Definition cost (kind : frame_type) : N :=
  match kind with
  | Chunk => 1
  | _ => 0
  end.
