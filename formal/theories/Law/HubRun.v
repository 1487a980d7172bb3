(** A hub with all that is round it, run until it is quiet: a publisher, subscribers that come and go, and a
    clock moved by hand. It is the machine that hub scripts are written from. Its moves are those of
    [Law.Hub], in the order of the library; each subscriber's first stage counts by [Decide.Demand]. *)

From Coq Require Import NArith Bool List.
From Sluicegate Require Import Base.U64 Law.Pipeline.
From Sluicegate Require Decide.Overflow Decide.Hub Decide.Demand Decide.Patience.
From Sluicegate Require Law.HubSubscriber Law.Hub.
Import ListNotations.
Open Scope N_scope.

Notation party := HubSubscriber.party.
Notation decided := HubSubscriber.decided.

(** What is round one subscriber of the hub. *)
Record seat := Seat {
  meter : Demand.stage;                (** of its first stage *)
  patience : Patience.patience;
  passed : nat;                        (** of what it has received, so much went through that stage *)
  seen : nat;                          (** and so much was looked at *)
  told : option Overflow.buffer_end;   (** the end that it was told since it was last looked at *)
  over : bool;                         (** it was told an end, or has left *)
}.

Record run := Run {
  core : Law.Hub.machine;
  steps : N;                           (** how many that machine has made *)
  seats : list seat;                   (** in the order of its parties *)
  kept : list N;                       (** for newcomers, the oldest first *)
  replays : N;
  sent : N;                            (** the next element *)
  ended : option source_end;
  now : N;                             (** nanoseconds *)
  shut : bool;                         (** the end was told to all: the hub is over *)
  quiet : bool;                        (** every run so far has come to its end *)
}.

Definition did (r : run) (e : Law.Hub.event) : run :=
  match Law.Hub.step (core r) e with
  | Some m =>
      Run m (steps r + 1) (seats r) (kept r) (replays r) (sent r) (ended r) (now r) (shut r) (quiet r)
  | None => r
  end.

Definition with_seats (r : run) (all : list seat) : run :=
  Run (core r) (steps r) all (kept r) (replays r) (sent r) (ended r) (now r) (shut r) (quiet r).

Definition with_kept (r : run) (all : list N) : run :=
  Run (core r) (steps r) (seats r) all (replays r) (sent r) (ended r) (now r) (shut r) (quiet r).

Definition with_end (r : run) (n : N) (how : option source_end) : run :=
  Run (core r) (steps r) (seats r) (kept r) (replays r) n how (now r) (shut r) (quiet r).

Definition with_time (r : run) (time : N) : run :=
  Run (core r) (steps r) (seats r) (kept r) (replays r) (sent r) (ended r) time (shut r) (quiet r).

Definition shut_down (r : run) : run :=
  Run (core r) (steps r) (seats r) (kept r) (replays r) (sent r) (ended r) (now r) true (quiet r).

Definition noisy (r : run) : run :=
  Run (core r) (steps r) (seats r) (kept r) (replays r) (sent r) (ended r) (now r) (shut r) false.

Definition party_at (r : run) (i : nat) : option party := nth_error (Law.Hub.parties (core r)) i.

Definition with_patience (s : seat) (p : Patience.patience) : seat :=
  Seat (meter s) p (passed s) (seen s) (told s) (over s).

(** ** The hub's turn *)

(** Whoever could be shared with has held up nobody: all have all of their time again. *)
Definition forgiven (time : N) (s : seat) : seat :=
  with_patience s (fst (Patience.look (patience s) false time)).

Definition keep (r : run) (x : N) : run :=
  let all := (kept r ++ [x])%list in
  with_kept r (if Hub.replays_too_many (replays r) (N.of_nat (length all)) then tl all else all).

(** Shares what can be shared. *)
Fixpoint share_all (fuel : nat) (r : run) : run :=
  match Law.Hub.queue (core r), fuel with
  | x :: _, S less =>
      if Law.Hub.anybody (core r) && negb (Law.Hub.held_up (core r) x) then
        let r := did r Law.Hub.ShareOne in
        share_all less (keep (with_seats r (map (forgiven (now r)) (seats r))) (fst x))
      else r
  | _, _ => r
  end.

(** Looks at the subscriber number [i]; true if its time was up. *)
Definition look_at (r : run) (i : nat) : run * bool :=
  match party_at r i, nth_error (seats r) i with
  | Some p, Some s =>
      let '(after, answer) :=
        Patience.look (patience s) (Hub.is_held_up_by (Law.Hub.core (core r)) (decided p) 0) (now r) in
      let r := with_seats r (replaced i (with_patience s after) (seats r)) in
      match answer with
      | Patience.TooSlow => (did r (Law.Hub.At i (HubSubscriber.Finish Overflow.Overflowed)), true)
      | Patience.LetBe | Patience.LookAgain _ => (r, false)
      end
  | _, _ => (r, false)
  end.

Fixpoint look_at_all (all : list nat) (r : run) : run * bool :=
  match all with
  | [] => (r, false)
  | i :: rest =>
      let '(r, one) := look_at r i in
      let '(r, others) := look_at_all rest r in
      (r, one || others)
  end.

Definition places (r : run) : list nat := seq 0 (length (seats r)).

Definition finish_all (r : run) (how : Overflow.buffer_end) : run :=
  fold_left (fun r i => did r (Law.Hub.At i (HubSubscriber.Finish how))) (places r) r.

Definition end_of (how : source_end) : Overflow.buffer_end :=
  match how with Source_failed => Overflow.Failed | _ => Overflow.Completed end.

(** Those behind one whose time is up may be shared with, and are looked at again. *)
Fixpoint share_and_look (fuel : nat) (r : run) : run :=
  let r := share_all enough r in
  let '(r, again) := look_at_all (places r) r in
  match again, fuel with
  | true, S less => share_and_look less r
  | true, O => noisy r
  | false, _ => r
  end.

Definition hub_turn (r : run) : run :=
  if shut r then r
  else
    let r := share_and_look enough r in
    match ended r with
    | Some how =>
        if Hub.is_shared (Law.Hub.core (core r)) then shut_down (finish_all r (end_of how)) else r
    | None => did r Law.Hub.Ask
    end.

(** ** A subscriber's turn *)

(** It asks the hub for so many more, and takes what its buffer holds. *)
Fixpoint receive_all (fuel : nat) (r : run) (i : nat) : run :=
  match fuel, party_at r i with
  | S less, Some p =>
      match snd (Hub.receive (decided p) 0) with
      | Hub.Received => receive_all less (did r (Law.Hub.At i HubSubscriber.Receive)) i
      | Hub.NotAsked | Hub.NothingYet | Hub.NoMore _ => r
      end
  | _, _ => r
  end.

Definition asks (r : run) (i : nat) (n : N) : run :=
  if Demand.is_request n then
    receive_all enough (did r (Law.Hub.At i (HubSubscriber.Request n))) i
  else r.

(** An element goes through its first stage. *)
Definition pass (m : Demand.stage) : Demand.stage * N :=
  match Demand.emit (fst (Demand.arrive m)) 1 with
  | (m, Demand.Emitted n) => (m, n)
  | (m, _) => (m, 0)
  end.

Fixpoint take_all (fuel : nat) (r : run) (i : nat) : run * bool :=
  match fuel, party_at r i, nth_error (seats r) i with
  | S less, Some p, Some s =>
      if over s then (r, false)
      else if Nat.ltb (passed s) (length (HubSubscriber.got p)) then
        let '(m, n) := pass (meter s) in
        let s := Seat m (patience s) (S (passed s)) (seen s) (told s) false in
        (fst (take_all less (asks (with_seats r (replaced i s (seats r))) i n) i), true)
      else
        match snd (Hub.receive (decided p) 0) with
        | Hub.NoMore how =>
            let s := Seat (meter s) (patience s) (passed s) (seen s) (Some how) true in
            (did (with_seats r (replaced i s (seats r))) (Law.Hub.At i HubSubscriber.Leave), true)
        | Hub.Received | Hub.NotAsked | Hub.NothingYet => (r, false)
        end
  | O, _, _ => (noisy r, false)
  | _, _, _ => (r, false)
  end.

Fixpoint all_take (all : list nat) (r : run) : run * bool :=
  match all with
  | [] => (r, false)
  | i :: rest =>
      let '(r, one) := take_all enough r i in
      let '(r, others) := all_take rest r in
      (r, one || others)
  end.

(** Turn by turn, until a subscriber's turn has changed nothing. *)
Fixpoint settle (fuel : nat) (r : run) : run :=
  let r := hub_turn r in
  let '(r, moved) := all_take (places r) r in
  match moved, fuel with
  | true, S less => settle less r
  | true, O => noisy r
  | false, _ => r
  end.

Definition settled (r : run) : run := settle enough r.

(** ** The probes and the clock *)

(** None for a hub that could hold nothing. *)
Definition opened (room replay : N) : option run :=
  match Hub.opened room with
  | Some h => Some (Run (Law.Hub.Machine h [] [] 0) 0 [] [] replay 0 None 0 false true)
  | None => None
  end.

Definition fresh (capacity : N) : Demand.stage :=
  match Demand.each capacity with
  | Some s => fst (Demand.start s)
  | None => Demand.Stage Demand.Each Demand.Over 0 1 0 0 0
  end.

Fixpoint replay_to (i : nat) (all : list N) (r : run) : run :=
  match all with
  | [] => r
  | x :: rest => replay_to i rest (did r (Law.Hub.Again i (x, 0)))
  end.

(** The newcomer is given the latest, and told the end if that has been told. *)
Definition subscribe (r : run) (how : Hub.policy) (most : option N) (capacity : N) : run :=
  let i := length (seats r) in
  let r := did r (Law.Hub.Join how capacity plain_room) in
  match party_at r i with
  | Some p =>
      let s := Seat (fresh capacity) (Patience.patient most) 0 0 None false in
      let r := with_seats r (seats r ++ [s])%list in
      let count := length (kept r) in
      let latest := N.to_nat (Hub.replayed (decided p) (N.of_nat count)) in
      let r := replay_to i (skipn (count - latest) (kept r)) r in
      settled
        (match ended r with
         | Some how => if shut r then did r (Law.Hub.At i (HubSubscriber.Finish (end_of how))) else r
         | None => r
         end)
  | None => r
  end.

Definition request (r : run) (i : nat) (n : N) : run :=
  match nth_error (seats r) i with
  | Some s =>
      if over s then r
      else
        let '(m, k) := Demand.request (meter s) n in
        let s := Seat m (patience s) (passed s) (seen s) (told s) false in
        settled (asks (with_seats r (replaced i s (seats r))) i k)
  | None => r
  end.

Definition cancel (r : run) (i : nat) : run :=
  match nth_error (seats r) i with
  | Some s =>
      if over s then r
      else
        let s := Seat (meter s) (patience s) (passed s) (seen s) (told s) true in
        settled
          (did (with_seats r (replaced i s (seats r))) (Law.Hub.At i HubSubscriber.Leave))
  | None => r
  end.

Definition send (r : run) : run * sending :=
  match ended r with
  | Some _ => (r, Closed)
  | None =>
      if Law.Hub.may_send (core r) =? 0 then (r, No_demand)
      else
        (settled (with_end (did r (Law.Hub.Arrive (sent r, 0))) (sent r + 1) None), Sent)
  end.

(** Up to [k] elements: how many were sent, and why no more. *)
Fixpoint next (k : nat) (r : run) : run * N * sending :=
  match k with
  | O => (r, 0, Sent)
  | S less =>
      match send r with
      | (r, Sent) => let '(r, n, why) := next less r in (r, n + 1, why)
      | (r, why) => (r, 0, why)
      end
  end.

(** True if it was the first end. *)
Definition finish (r : run) (how : source_end) : run * bool :=
  match ended r with
  | Some _ => (r, false)
  | None => (settled (with_end (did r Law.Hub.End) (sent r) (Some how)), true)
  end.

Definition advance (r : run) (by_ : N) : run := settled (with_time r (U64.sat_add (now r) by_)).

(** What the subscribers have received is taken from them. *)
Definition taken (r : run) : run :=
  with_seats r
    (map (fun s => Seat (meter s) (patience s) (passed s) (passed s) None (over s)) (seats r)).

(** ** What is seen of them *)

(** What the subscriber has received since it was last looked at, in order. *)
Definition delivered (p : party) (s : seat) : list N :=
  map fst (skipn (seen s) (firstn (passed s) (rev (HubSubscriber.got p)))).

Definition pairs (r : run) : list (party * seat) := combine (Law.Hub.parties (core r)) (seats r).

Definition listening (r : run) : list (nat * party) :=
  flat_map
    (fun one =>
       let '(i, (p, s)) := one in if over s then [] else [(i, p)])
    (combine (places r) (pairs r)).
