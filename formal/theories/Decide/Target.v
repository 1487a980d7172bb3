(** Which stream of a request a grant is for. *)

From Coq Require Import NArith Bool.
From Sluicegate Require Import Base.U64.

Unset Elimination Schemes.

(** The stream that a grant credits, out of those of its request that are open for sending. *)
Inductive target :=
| Named (** The stream with the name that the grant gives. *)
| Unnamed (** The stream that has no name. *)
| Sole (** The request's only stream, whatever its name. *)
| Nobody (** None: the grant has no effect. *).

(** Where a grant goes. [named]: it gives a name, and the empty text is a name; [named_open]: a
    stream of that name is open for sending; [unnamed_open]: one without a name is; [open]: how many
    are in all, each entry counted. A grant without a name goes to the stream without a name if
    there is one, else to the request's only stream. *)
Definition grant_target (named named_open unnamed_open : bool) (open : N) : target :=
  if named then (if named_open then Named else Nobody)
  else if unnamed_open then Unnamed
  else if U64.eqb open 1 then Sole
  else Nobody.
