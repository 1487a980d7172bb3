(** The remaining window of one stream as a bystander counts it. Diagnostic only. *)

From Coq Require Import NArith Bool.
From Sluicegate Require Import Base.U64 Decide.Facts.

Unset Elimination Schemes.

(** A whole number of chunks that may be below zero: [Left] reads as `credit_outstanding` = n,
    [Overrun] as −n. [Overrun] is never 0. *)
Inductive balance :=
| Left (chunks : N) (** So many chunks may still be sent. *)
| Overrun (chunks : N) (** So many chunks were sent that nobody granted. *).

(** The balance of a fresh stream: the window it starts with. *)
Definition seeded (window : N) : balance := Left window.

(** One chunk was seen. *)
Definition spend (now : balance) : balance :=
  match now with
  | Left n => if U64.eqb n 0 then Overrun 1 else Left (U64.sat_sub n 1)
  | Overrun n => Overrun (U64.sat_add n 1)
  end.

(** A grant of [n] chunks was seen. *)
Definition earn (now : balance) (n : N) : balance :=
  match now with
  | Left m => Left (U64.sat_add m n)
  | Overrun m => if U64.ltb n m then Overrun (U64.sat_sub m n) else Left (U64.sat_sub n m)
  end.

(** The balance after a frame of this kind was seen, in whichever direction; [n] is what a CREDIT
    carries. Kinds other than CHUNK and CREDIT leave it. *)
Definition seen (now : balance) (kind : Facts.frame_type) (n : N) : balance :=
  match kind with
  | Facts.Chunk => spend now
  | Facts.Credit => earn now n
  | _ => now
  end.
