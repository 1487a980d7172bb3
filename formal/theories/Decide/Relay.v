(** What a relay decides about windows. It passes credit on and neither makes nor keeps any (L11). *)

From Coq Require Import NArith.
From Sluicegate Require Import Base.U64.

(** The window of a link whose other end did not say one, in chunks. *)
Definition default_window : N := 32.

(** The window that a host's notice offers, in chunks: the default if it gives none or 0. *)
Definition noticed (offered : option N) : N :=
  match offered with
  | Some window => if U64.eqb window 0 then default_window else window
  | None => default_window
  end.

(** Whether a request may go from a connection whose windows start with [caller] chunks to one whose
    windows start with [handler] chunks. Both ends send: each window is what one end's streams start
    with and the room that the same end has for the other's, so only equal windows overrun nobody,
    in either direction (L11, L12). *)
Definition may_join (caller handler : N) : bool := U64.eqb caller handler.

(** Whether a stream's consumer has been granted ahead of what it reads: [chunks] of the stream, of
    [bytes] bytes in all, wait for its link. A whole window may wait, whatever its size, and so may any
    number of chunks below [most] bytes (L10). *)
Definition lies_unread (window chunks most bytes : N) : bool :=
  U64.leb window chunks && U64.leb most bytes.
