(** The request table: who is let in, what becomes of a frame, what is remembered of the ended. *)

From Coq Require Import NArith Bool.
From Sluicegate Require Import Base.U64.

Unset Elimination Schemes.

(** How many ended requests are remembered to tell a straggler from a stray. *)
Definition ring_size : N := 64.

(** What becomes of a frame of a request. *)
Inductive disposition :=
| Route (** The request is live. *)
| Straggler (** It ended lately: the frame crossed its terminal in flight. Benign (L8). *)
| NoRoute (** It was never known, or is long forgotten: the frame is dropped and counted (L6). *).

(** What becomes of a frame whose request is [live] or not, and [ended_lately] or not. *)
Definition dispose (live ended_lately : bool) : disposition :=
  if live then Route else if ended_lately then Straggler else NoRoute.

(** What a new request is told (L7). *)
Inductive registration :=
| Registered (** It is live now. *)
| AlreadyLive (** Refused: a live request has this id. *)
| Full (** Refused: as many are live as may be. *)
| LinkClosed (** Refused: the link is over. *).

(** Lets a request in, or says why not. [closed]: the link is over; [live]: a request with this id
    is live; [count] requests are live, and [limit] may be. *)
Definition register (closed live : bool) (count limit : N) : registration :=
  if closed then LinkClosed
  else if live then AlreadyLive
  else if U64.leb limit count then Full
  else Registered.

(** What the ring of ended requests does with an id. *)
Inductive remembered :=
| Renew (** It is in the ring, and moves to the newest place. *)
| Enter (** It enters as the newest. *)
| EnterForgetOldest (** It enters as the newest, and the oldest is forgotten. *).

(** Remembers an ended id. [known]: it is in the ring; [held] ids are. *)
Definition remember (known : bool) (held : N) : remembered :=
  if known then Renew
  else if U64.ltb held ring_size then Enter
  else EnterForgetOldest.
