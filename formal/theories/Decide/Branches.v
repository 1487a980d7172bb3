(** The branches of a fan-out inside one process: what they may be given together. *)

From Coq Require Import NArith.
From Sluicegate Require Import Base.U64.

Unset Elimination Schemes.

(** Who gets an element. *)
Inductive division :=
| ToAll (** Every branch, a copy each: broadcast. *)
| ToAny (** One branch that has asked: balance. *)
| ToChosen (** The branch that a function names: partition. *).

(** What all branches together ask for, one branch more: [so_far] of those before it, none if there
    were none, and [owed] of this one, which it has asked for and not been given. To all: no more than the
    least of any, so that none gets what it has not asked for. To any: the sum. To a chosen one: the most
    of any; an element for one that has not asked waits. *)
Definition and_branch (how : division) (so_far : option N) (owed : N) : option N :=
  match so_far with
  | None => Some owed
  | Some n =>
    match how with
    | ToAll => Some (U64.umin n owed)
    | ToAny => Some (U64.sat_add n owed)
    | ToChosen => Some (U64.umax n owed)
    end
  end.

(** What is asked for above, once every branch was looked at: nothing while there is none. *)
Definition in_all (so_far : option N) : N :=
  match so_far with
  | Some n => n
  | None => 0
  end.
