(** The sender's side of a window: how many chunks may still be sent. *)

From Coq Require Import NArith.
From Sluicegate Require Import Base.U64.

Unset Elimination Schemes.

(** A gate's state, in chunks. A closed gate keeps what was available, for reading only. *)
Record gate := Gate {
  available : N; (** Chunks that may be sent now. *)
  closed : bool; (** True once closed; a gate never opens again. *)
}.

(** What an acquire is told. *)
Inductive acquire_answer :=
| Taken (** The credit is the caller's. *)
| Wait (** There is not enough, or somebody stands in line before; nothing was taken. *)
| Closed (** The gate is closed, however much is left. *).

(** An open gate with [window] chunks. Zero is a legal gate. *)
Definition opened (window : N) : gate := Gate window false.

(** Takes [n] chunks or says why not (L9). [waiting] tells that somebody stands in line before the
    caller, whom nobody overtakes. Zero takes nothing, so it overtakes nobody and never waits on an
    open gate. *)
Definition acquire (g : gate) (n : N) (waiting : bool) : gate * acquire_answer :=
  if closed g then (g, Closed)
  else if U64.eqb n 0 then (g, Taken)
  else if waiting then (g, Wait)
  else if U64.ltb (available g) n then (g, Wait)
  else (Gate (U64.sat_sub (available g) n) false, Taken).

(** Adds [n] chunks, up to 2^64 - 1. A closed gate stays as it is (L13). *)
Definition grant (g : gate) (n : N) : gate :=
  if closed g then g else Gate (U64.sat_add (available g) n) false.

(** Puts back [n] chunks that were taken for somebody who never used them, also if the gate was
    closed since: granted stays used plus available. *)
Definition give_back (g : gate) (n : N) : gate :=
  Gate (U64.sat_add (available g) n) (closed g).

(** Closes the gate. False if it was closed already: the first reason stays (L13). *)
Definition close (g : gate) : gate * bool :=
  (Gate (available g) true, negb (closed g)).
