(** A bounded buffer between two stages: what becomes of an element that is offered, by strategy. *)

From Coq Require Import NArith Bool.
From Sluicegate Require Import Base.U64.

Unset Elimination Schemes.

(** What happens to an element that finds the buffer full. *)
Inductive strategy :=
| Backpressure (** It waits for room. *)
| DropHead (** The oldest element makes room. *)
| DropTail (** The newest element makes room. *)
| DropNew (** It is discarded itself. *)
| DropBuffer (** All elements make room. *)
| Fail (** The buffer fails, once what it holds was taken. *).

(** How a buffer ended. *)
Inductive buffer_end :=
| Completed (** The producer has offered all. *)
| Failed (** The producer failed. *)
| Overflowed (** An element found it full under [Fail]. *)
| Cancelled (** The consumer wants no more. *).

(** A buffer's state. *)
Record buffer := Buffer {
  plan : strategy; (** What happens to an element that finds it full. *)
  capacity : N; (** Elements it can hold, at least 1. *)
  byte_capacity : N; (** Bytes it can hold, 2^64 - 1 for no limit. An empty buffer takes one element
    of any size. *)
  held : N; (** Elements in it. *)
  bytes : N; (** Bytes in it. *)
  lost : N; (** Elements discarded because it was full. *)
  ended : option buffer_end; (** Why nothing is taken in any more. *)
}.

(** Which element makes room. *)
Inductive victim :=
| Oldest (** The one that would be taken next. *)
| Newest (** The one that was put in last. *)
| Everything (** All of them. *).

(** What a full buffer has too many of. *)
Inductive limit :=
| ByElements (** It holds as many elements as it may. *)
| ByBytes (** There is a place, and too few bytes for the element that was offered. *).

(** What an offer is told. *)
Inductive offer_answer :=
| Enqueued (** The element is in the buffer: put it at the end. *)
| Dropped (** The element was discarded, and counted. *)
| QueueClosed (** The buffer was completed or cancelled: the element was not taken. *)
| Failure (** The buffer has failed, with the same error for everybody: the element was not taken. *)
| Wait (** There is no room, or somebody stands in line before. *)
| Discard (what : victim) (** Make room first, tell it with [discarded], then offer again. *).

(** What a consumer is told. *)
Inductive take_answer :=
| Element (** The oldest element is the caller's. *)
| Empty (** Nothing is there yet. *)
| Ended (why : buffer_end) (** Nothing is there and nothing will come, each time it is asked. *).

(** An empty buffer. None if it could hold nothing. *)
Definition opened (on_full : strategy) (elements bytes_in_all : N) : option buffer :=
  if U64.eqb elements 0 || U64.eqb bytes_in_all 0 then None
  else Some (Buffer on_full elements bytes_in_all 0 0 0 None).

(** Is there room for an element of [size] bytes? *)
Definition has_room (b : buffer) (size : N) : bool :=
  U64.ltb (held b) (capacity b)
  && (U64.eqb (held b) 0 || U64.leb size (U64.sat_sub (byte_capacity b) (bytes b))).

(** Offers an element of [size] bytes. [waiting] tells that somebody stands in line before the
    caller, whom nobody overtakes; it matters under [Backpressure] only, where offers wait. *)
Definition offer (b : buffer) (size : N) (waiting : bool) : buffer * offer_answer :=
  match ended b with
  | Some Completed => (b, QueueClosed)
  | Some Cancelled => (b, QueueClosed)
  | Some Failed => (b, Failure)
  | Some Overflowed => (b, Failure)
  | None =>
    let in_line :=
      match plan b with
      | Backpressure => waiting
      | _ => false
      end in
    if has_room b size && negb in_line then
      (Buffer (plan b) (capacity b) (byte_capacity b) (U64.sat_add (held b) 1)
         (U64.sat_add (bytes b) size) (lost b) None, Enqueued)
    else
      match plan b with
      | Backpressure => (b, Wait)
      | DropHead => (b, Discard Oldest)
      | DropTail => (b, Discard Newest)
      | DropBuffer => (b, Discard Everything)
      | DropNew =>
        (Buffer DropNew (capacity b) (byte_capacity b) (held b) (bytes b)
           (U64.sat_add (lost b) 1) None, Dropped)
      | Fail =>
        (Buffer Fail (capacity b) (byte_capacity b) (held b) (bytes b) (lost b)
           (Some Overflowed), Failure)
      end
  end.

(** [n] elements of [size] bytes in all were thrown out to make room. They are counted. *)
Definition discarded (b : buffer) (n size : N) : buffer :=
  Buffer (plan b) (capacity b) (byte_capacity b) (U64.sat_sub (held b) n)
    (U64.sat_sub (bytes b) size) (U64.sat_add (lost b) n) (ended b).

(** Does the buffer keep what it holds until it is asked for? An end is told to whoever looks, an element
    only to a consumer that [wanted] one. *)
Definition holds_back (b : buffer) (wanted : bool) : bool :=
  negb wanted && negb (U64.eqb (held b) 0).

(** Which of its two limits a full buffer has reached. *)
Definition full_by (b : buffer) : limit :=
  if U64.ltb (held b) (capacity b) then ByBytes else ByElements.

(** Takes the oldest element, of [size] bytes; the size is not looked at when there is none. An end
    never overtakes an element. *)
Definition take (b : buffer) (size : N) : buffer * take_answer :=
  if U64.eqb (held b) 0 then
    match ended b with
    | None => (b, Empty)
    | Some why => (b, Ended why)
    end
  else
    (Buffer (plan b) (capacity b) (byte_capacity b) (U64.sat_sub (held b) 1)
       (U64.sat_sub (bytes b) size) (lost b) (ended b), Element).

(** Ends the buffer: nothing more is taken in, what it holds can still be taken. False if it has
    ended already: the first end stays. *)
Definition finish (b : buffer) (why : buffer_end) : buffer * bool :=
  match ended b with
  | Some _ => (b, false)
  | None =>
    (Buffer (plan b) (capacity b) (byte_capacity b) (held b) (bytes b) (lost b) (Some why), true)
  end.

(** The consumer wants no more. Answers how many elements to release: all it holds. They are not
    counted as lost. A buffer that had ended keeps its end. *)
Definition cancel (b : buffer) : buffer * N :=
  let why :=
    match ended b with
    | Some before => Some before
    | None => Some Cancelled
    end in
  (Buffer (plan b) (capacity b) (byte_capacity b) 0 0 (lost b) why, held b).
