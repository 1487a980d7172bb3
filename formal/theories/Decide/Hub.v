(** A hub: one upstream, subscribers that come and go, each with a demand, a buffer and a policy of
    its own. *)

From Coq Require Import NArith Bool.
From Sluicegate Require Import Base.U64.
From Sluicegate Require Decide.Overflow.

Unset Elimination Schemes.

(** What a subscriber that has not asked and whose buffer is full does to the hub. *)
Inductive policy :=
| HoldUp (** The hub waits for it: nothing is lost, and everybody goes at its pace. *)
| DropElements (how : Overflow.strategy) (** It loses elements, counted, and holds up nobody. *)
| Disconnect (** The element ends its subscription, once what its buffer holds was taken. *).

(** A subscriber's state. Its buffer holds elements that it has not asked for yet. *)
Record subscriber := Subscriber {
  owed : N; (** Elements it has asked for and not received yet. *)
  buffer : Overflow.buffer; (** What it has not asked for, and what it has lost. *)
}.

(** What becomes of one element at one subscriber. *)
Inductive share :=
| HandOn (** Hand it on at once: it was asked for. *)
| Keep (** Put it at the end of the subscriber's buffer. *)
| MakeRoom (what : Overflow.victim) (** Throw these out of its buffer, tell it, and share again. *)
| Lose (** The element is lost to this subscriber, and counted. *)
| HeldUp (** The subscriber must be waited for: hand the element to nobody yet. *)
| Expelled (** The subscription is over: it was too slow. *)
| Gone (** The subscription was over before. *).

(** What a subscriber with demand is told. *)
Inductive receipt :=
| Received (** The oldest element of its buffer is its. *)
| NotAsked (** It has not asked for more. *)
| NothingYet (** Its buffer is empty. *)
| NoMore (why : Overflow.buffer_end) (** Its buffer is empty, and nothing will come. *).

(** The hub's own state, towards its upstream. *)
Record hub := Hub {
  room : N; (** Elements the hub can hold before it shares them, at least 1. *)
  asked : N; (** Elements it has asked for above and not received yet. *)
  queued : N; (** Elements it has received and not shared yet. *)
}.

(** What an element that arrives at the hub is told. *)
Inductive hub_arrival :=
| Accepted (** It was asked for, and there is room for it. *)
| Unasked (** It was not asked for: the upstream broke the demand gate. Nothing changes. *).

(** What the hub does next with its queue. *)
Inductive turn :=
| Share (** Take the oldest element and share it with every subscriber. *)
| Blocked (** Wait: for a subscriber that holds up the hub, or for anybody to subscribe. *)
| Nothing (** The queue is empty. *).

(** The overflow strategy of a subscriber's buffer. *)
Definition plan_of (p : policy) : Overflow.strategy :=
  match p with
  | HoldUp => Overflow.Backpressure
  | DropElements how => how
  | Disconnect => Overflow.Fail
  end.

(** A subscriber that has asked for nothing, with a buffer of so many elements and bytes. None if
    that could hold nothing. *)
Definition subscribed (p : policy) (elements bytes_in_all : N) : option subscriber :=
  match Overflow.opened (plan_of p) elements bytes_in_all with
  | Some b => Some (Subscriber 0 b)
  | None => None
  end.

(** The subscriber asks for [n] more, up to 2^64 - 1 in all; 0 is ignored. Then it takes what its
    buffer holds, with [receive]. *)
Definition request (s : subscriber) (n : N) : subscriber :=
  Subscriber (U64.sat_add (owed s) n) (buffer s).

(** The subscriber takes the oldest element of its buffer, of [size] bytes, if it has asked. *)
Definition receive (s : subscriber) (size : N) : subscriber * receipt :=
  if Overflow.holds_back (buffer s) (negb (U64.eqb (owed s) 0)) then (s, NotAsked)
  else
    let '(after, answer) := Overflow.take (buffer s) size in
    match answer with
    | Overflow.Element => (Subscriber (U64.sat_sub (owed s) 1) after, Received)
    | Overflow.Empty => (s, NothingYet)
    | Overflow.Ended why => (s, NoMore why)
    end.

(** Is the subscription running? *)
Definition is_live (s : subscriber) : bool :=
  match Overflow.ended (buffer s) with
  | None => true
  | Some _ => false
  end.

(** Shares an element of [size] bytes with the subscriber. A subscriber that has asked gets it at
    once if its buffer is empty, and behind what its buffer holds otherwise. *)
Definition share_with (s : subscriber) (size : N) : subscriber * share :=
  if is_live s && negb (U64.eqb (owed s) 0) && U64.eqb (Overflow.held (buffer s)) 0 then
    (Subscriber (U64.sat_sub (owed s) 1) (buffer s), HandOn)
  else
    let '(after, answer) := Overflow.offer (buffer s) size false in
    match answer with
    | Overflow.Enqueued => (Subscriber (owed s) after, Keep)
    | Overflow.Dropped => (Subscriber (owed s) after, Lose)
    | Overflow.Wait => (s, HeldUp)
    | Overflow.Discard what => (s, MakeRoom what)
    | Overflow.QueueClosed => (s, Gone)
    | Overflow.Failure => if is_live s then (Subscriber (owed s) after, Expelled) else (s, Gone)
    end.

(** [n] elements of [size] bytes in all were thrown out of the subscriber's buffer. They are counted
    as lost to it. *)
Definition threw_out (s : subscriber) (n size : N) : subscriber :=
  Subscriber (owed s) (Overflow.discarded (buffer s) n size).

(** Must the hub wait for this subscriber before it shares an element of [size] bytes? Asked of each
    subscriber; one that says so keeps the element from all. *)
Definition holds_up (s : subscriber) (size : N) : bool :=
  let '(_, answer) := share_with s size in
  match answer with
  | HeldUp => true
  | _ => false
  end.

(** The subscriber leaves, or the upstream has ended. Answers whether that was news. *)
Definition finish (s : subscriber) (why : Overflow.buffer_end) : subscriber * bool :=
  let '(after, news) := Overflow.finish (buffer s) why in
  (Subscriber (owed s) after, news).

(** The subscriber wants no more. Answers how many elements of its buffer to release. *)
Definition leave (s : subscriber) : subscriber * N :=
  let '(after, release) := Overflow.cancel (buffer s) in
  (Subscriber 0 after, release).

(** The largest demand seen so far, over one subscriber more. Whose subscription is over, counts for
    nothing. Begun with 0, over all subscribers, it is what the hub owes downwards. *)
Definition largest (so_far : N) (s : subscriber) : N :=
  if is_live s then U64.umax so_far (owed s) else so_far.

(** A hub that has asked for nothing and can hold [elements]. None for 0. *)
Definition opened (elements : N) : option hub :=
  if U64.eqb elements 0 then None else Some (Hub elements 0 0).

(** The demand below is now [demand], the largest of any subscriber. Answers how many to ask for
    above: the hub never has more on the way and in its queue than that, or than it has room for. *)
Definition replenish (h : hub) (demand : N) : hub * N :=
  let due := U64.sat_sub (U64.umin demand (room h)) (U64.sat_add (asked h) (queued h)) in
  (Hub (room h) (U64.sat_add (asked h) due) (queued h), due).

(** An element arrives. *)
Definition arrive (h : hub) : hub * hub_arrival :=
  if U64.eqb (asked h) 0 then (h, Unasked)
  else (Hub (room h) (U64.sat_sub (asked h) 1) (U64.sat_add (queued h) 1), Accepted).

(** May the oldest element of the queue be shared now? [anybody] tells that a subscription is live,
    [held_up] that a live one holds up the hub. An element is never shared with nobody. *)
Definition share_next (h : hub) (anybody held_up : bool) : hub * turn :=
  if U64.eqb (queued h) 0 then (h, Nothing)
  else if anybody && negb held_up then
    (Hub (room h) (asked h) (U64.sat_sub (queued h) 1), Share)
  else (h, Blocked).

(** Does this subscriber keep an element of [size] bytes from all of them? Only while there is one. *)
Definition is_held_up_by (h : hub) (s : subscriber) (size : N) : bool :=
  negb (U64.eqb (queued h) 0) && holds_up s size.

(** Was everything shared that has arrived? An end of the upstream is told then, and not before. *)
Definition is_shared (h : hub) : bool := U64.eqb (queued h) 0.

(** How many of the [kept] elements that were shared last a newcomer is given: as many of the latest as
    its buffer takes, so that it loses none of them. *)
Definition replayed (s : subscriber) (kept : N) : N :=
  U64.umin kept (Overflow.capacity (buffer s)).

(** Must the oldest of [kept] elements go, where the last [replays] are kept for newcomers? *)
Definition replays_too_many (replays kept : N) : bool := U64.ltb replays kept.

(** The upstream has ended: what was asked for will not come. *)
Definition upstream_ended (h : hub) : hub :=
  Hub (room h) 0 (queued h).
