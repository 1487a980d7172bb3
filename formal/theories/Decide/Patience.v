(** How long a subscriber of a hub may hold up the others. All times are nanoseconds of one clock. *)

From Coq Require Import NArith.
From Sluicegate Require Import Base.U64.

Unset Elimination Schemes.

(** What is known of one subscriber. *)
Record patience := Patience {
  limit : option N; (** How long it may hold up the others; none for ever. *)
  since : option N; (** Since when it has held them up without a break. *)
}.

(** What is to be done about it. *)
Inductive judgement :=
| LetBe (** Nothing. *)
| LookAgain (next : N) (** Look again at that time at the latest. *)
| TooSlow (** Its time is up: its subscription ends. *).

(** A subscriber that holds up nobody yet. *)
Definition patient (most : option N) : patience := Patience most None.

(** Looks at a subscriber at the time [now]. [holds_up] tells whether it keeps an element from the others
    just now; once it does not, what it has used of its time is forgotten. *)
Definition look (p : patience) (holds_up : bool) (now : N) : patience * judgement :=
  match limit p with
  | None => (p, LetBe)
  | Some most =>
    if holds_up then
      let began :=
        match since p with
        | Some before => before
        | None => now
        end in
      if U64.leb (U64.sat_add began most) now then (Patience (limit p) (Some began), TooSlow)
      else (Patience (limit p) (Some began), LookAgain (U64.sat_add began most))
    else (Patience (limit p) None, LetBe)
  end.
