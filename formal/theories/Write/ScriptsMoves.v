(** The words that named waiting scripts are written in. Unless said, the gate is called "g". *)

From Coq Require Import NArith String List.
From Sluicegate Require Import Write.Scripts Write.ScriptsScene Write.ScriptsPlay.
From Sluicegate Require Write.ScriptsRouter.
Import ListNotations.
Open Scope string_scope.
Open Scope N_scope.

Definition start_at (gate actor : string) (n : N) : move := Do [Start actor gate n No_limit None].
Definition grant_at (gate : string) (n : N) : move := Do [Grant gate n].
Definition close_at (gate reason : string) : move := Do [Close gate reason].
Definition attempt_at (gate : string) (n : N) : move := Do [Try gate n].

Definition start := start_at "g".
Definition grant := grant_at "g".
Definition close := close_at "g".
Definition attempt := attempt_at "g".

Definition within (how : leaving) : limit :=
  match how with By_expiry => Short | By_cancel => No_limit end.

(** A start under a limit that is not said to be given up. *)
Definition limited (within : limit) (actor : string) (n : N) : move :=
  Do [Start actor "g" n within None].

(** A start that will be given up, and the giving up. *)
Definition leaving (how : ScriptsScene.leaving) (actor : string) (n : N) : move :=
  Do [Start actor "g" n (within how) (Some how)].
Definition leave (how : ScriptsScene.leaving) (actor : string) : move := Do [Leave actor how].

Definition word (how : ScriptsScene.leaving) : string :=
  match how with By_expiry => "times out" | By_cancel => "is cancelled" end.

Definition route (o : ScriptsRouter.op) : move := Do [Route o].
