(** Dice for random scripts: a linear congruential generator, so that the kernel and the extracted
    program throw the same. *)

From Coq Require Import NArith List.
Import ListNotations.
Open Scope N_scope.

Definition dice := N.

Definition next (d : dice) : dice :=
  N.land (6364136223846793005 * d + 1442695040888963407) 18446744073709551615.

(** The first throws of neighbouring seeds would look alike. *)
Definition seeded (seed : N) : dice := next (next (next (N.lxor seed 88172645463325252))).

(** A number below [bound], from the upper bits, which are the better ones. *)
Definition throw (bound : N) (d : dice) : N * dice :=
  let after := next d in
  (N.modulo (N.shiftr after 33) (N.max 1 bound), after).

Fixpoint pick_from {A} (otherwise : A) (all : list A) (index : nat) : A :=
  match all, index with
  | [], _ => otherwise
  | one :: _, O => one
  | _ :: rest, S less => pick_from otherwise rest less
  end.

(** One of a list; [otherwise] of an empty one. *)
Definition choose {A} (otherwise : A) (all : list A) (d : dice) : A * dice :=
  let '(index, after) := throw (N.of_nat (length all)) d in
  (pick_from otherwise all (N.to_nat index), after).

(** Full range numbers of 64 bits, from two throws. *)
Definition large (d : dice) : N * dice :=
  let '(high, d) := throw 4294967296 d in
  let '(low, d) := throw 2147483648 d in
  (N.lor (N.shiftl high 32) (N.lor (N.shiftl low 1) (N.land high 1)), d).
