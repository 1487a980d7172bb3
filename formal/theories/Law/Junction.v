(** One join or one fork between lines of stages, run until it is quiet: the machine that junction
    scripts are written from. The lines are those of [Law.Pipeline]. A join counts by [Decide.Demand],
    once for each input; a fork by [Decide.Hub], and by [Decide.Demand] for the credit of each edge. *)

From Coq Require Import NArith Bool List.
From Sluicegate Require Import Base.U64 Law.Pipeline.
From Sluicegate Require Decide.Demand Decide.Hub.
Import ListNotations.
Open Scope N_scope.

Inductive joining :=
| Zip            (** one of each of two as a pair *)
| Combine        (** one of each as a group *)
| Merge          (** all as they come, in turns *)
| Merge_prefer   (** the first one's before the others' *)
| Concat         (** one input after the other *).

Inductive forking :=
| Broadcast      (** each element to every branch *)
| Balance        (** to one that has room, in turns *)
| Partition      (** to the one whose number is the element's modulo their count *).

(** ** A join *)

Record input := Input {
  wants : Demand.stage;
  hand : list element;      (** arrived and not left, the oldest first *)
  stop : option outcome;    (** how the line above has ended, from when it is known *)
  gone : bool;              (** it has ended, held nothing, and plays no part any more *)
}.

Record join := Join { joins : joining; ins : list input; turn : nat }.

(** What comes of a look: new inputs, an output, what to ask of which input, and the end. *)
Inductive looked :=
| Gave (x : element) (asks : list (nat * N))
| Ended (how : outcome)
| Turned_to (at_ : nat) (owing : N)   (** concat: the next input's turn *)
| Waits.

Definition give_one (i : input) : option (input * element * N) :=
  match hand i, Demand.emit (wants i) 1 with
  | x :: rest, (m, Demand.Emitted n) => Some (Input m rest (stop i) (gone i), x, n)
  | _, _ => None
  end.

(** The end of an input, once nothing that it holds would be overtaken. *)
Definition heard_end (i : input) : option outcome := match hand i with [] => stop i | _ => None end.

Definition numbered {A} (all : list A) : list (nat * A) := combine (seq 0 (length all)) all.

Fixpoint all_some {A} (all : list (option A)) : option (list A) :=
  match all with
  | [] => Some []
  | Some one :: rest => match all_some rest with Some more => Some (one :: more) | None => None end
  | None :: _ => None
  end.

Definition ends_so (how : outcome) (i : input) : bool :=
  match heard_end i, how with
  | Some Failed, Failed | Some Completed, Completed => true
  | _, _ => false
  end.

(** One of each, or none; a failure is told first, then that one side has ended. *)
Definition pair_up (j : join) : join * looked :=
  if existsb (ends_so Failed) (ins j) then (j, Ended Failed)
  else if existsb (ends_so Completed) (ins j) then (j, Ended Completed)
  else
    match all_some (map give_one (ins j)) with
    | Some all =>
        (Join (joins j) (map (fun one => fst (fst one)) all) (turn j),
         Gave (Group (flat_map (fun one => number (snd (fst one))) all))
           (numbered (map snd all)))
    | None => (j, Waits)
    end.

Definition without (i : input) : input := Input (wants i) [] (stop i) true.

(** The first input of [order] that can give; those that have ended on the way there go. *)
Fixpoint search (order : list nat) (all : list input) : list input * looked :=
  match order with
  | [] => (all, Waits)
  | at_ :: rest =>
      match nth_error all at_ with
      | None => search rest all
      | Some i =>
          if gone i then search rest all
          else
            match give_one i, heard_end i with
            | Some (i, x, n), _ => (replaced at_ i all, Gave x [(at_, n)])
            | None, Some Failed => (all, Ended Failed)
            | None, Some Completed => search rest (replaced at_ (without i) all)
            | None, None => search rest all
            end
      end
  end.

(** Another input has made the output that all owed. *)
Definition passed_by (from : nat) (all : list input) : list input :=
  map
    (fun one =>
       let '(at_, i) := one in
       if Nat.eqb at_ from then i
       else Input (fst (Demand.emit (wants i) 0)) (hand i) (stop i) (gone i))
    (numbered all).

Definition order_of (prefers : bool) (j : join) : list nat :=
  let count := length (ins j) in
  let from := Nat.modulo (turn j) (Nat.max 1 count) in
  let all := (seq from (count - from) ++ seq 0 from)%list in
  if prefers then O :: filter (fun at_ => negb (Nat.eqb at_ 0)) all else all.

Definition take_turns (prefers : bool) (j : join) : join * looked :=
  let '(all, what) := search (order_of prefers j) (ins j) in
  match what with
  | Gave _ [(from, _)] =>
      (Join (joins j) (passed_by from all)
         (if prefers && Nat.eqb from 0 then turn j else S from), what)
  | Waits => (Join (joins j) all (turn j), if forallb gone all then Ended Completed else Waits)
  | _ => (Join (joins j) all (turn j), what)
  end.

Definition one_by_one (j : join) : join * looked :=
  match nth_error (ins j) (turn j) with
  | None => (j, Ended Completed)
  | Some i =>
      match give_one i, heard_end i with
      | Some (i, x, n), _ =>
          (Join (joins j) (replaced (turn j) i (ins j)) (turn j), Gave x [(turn j, n)])
      | None, Some Failed => (j, Ended Failed)
      | None, Some Completed =>
          (Join (joins j) (replaced (turn j) (without i) (ins j)) (S (turn j)),
           Turned_to (S (turn j)) (Demand.owed (wants i)))
      | None, None => (j, Waits)
      end
  end.

Definition look_at_inputs (j : join) : join * looked :=
  match joins j with
  | Zip | Combine => pair_up j
  | Merge => take_turns false j
  | Merge_prefer => take_turns true j
  | Concat => one_by_one j
  end.

(** So many more are wanted of a join: of each input, but of the one whose turn it is in a concat. *)
Definition wanted_of (j : join) (n : N) : join * list (nat * N) :=
  let asked one :=
    let '(at_, i) := one in
    let '(m, k) :=
      if match joins j with Concat => Nat.eqb at_ (turn j) | _ => negb (gone i) end
      then Demand.request (wants i) n else (wants i, 0) in
    (Input m (hand i) (stop i) (gone i), k) in
  let all := map asked (numbered (ins j)) in
  (Join (joins j) (map fst all) (turn j), numbered (map snd all)).

Definition arrived (i : input) (x : element) : input :=
  let '(m, answer) := Demand.arrive (wants i) in
  match answer with
  | Demand.Accepted => Input m (hand i ++ [x]) (stop i) (gone i)
  | Demand.Unasked | Demand.Late => i
  end.

Definition ended_above (i : input) (how : outcome) : input :=
  Input (Demand.finish (wants i)) (hand i) (Some how) (gone i).

(** ** A fork *)

Record branch := Branch {
  credit : Demand.stage;   (** what its edge has room for, and was not used yet *)
  left : bool;             (** its consumer wants no more *)
}.

Record fork := Fork {
  forks : forking;
  hub : Hub.hub;
  branches : list branch;
  waiting : list element;          (** arrived and not handed on, the oldest first *)
  from_above : option outcome;
  next_turn : nat;
}.

Definition room (b : branch) : N := if left b then 0 else Demand.owed (credit b).

Definition rooms (f : fork) : list N := map room (filter (fun b => negb (left b)) (branches f)).

Definition smallest (all : list N) : N :=
  match all with [] => 0 | first :: rest => fold_left N.min rest first end.

(** How many elements could be handed on. *)
Definition called_for (f : fork) : N :=
  match forks f with
  | Broadcast => smallest (rooms f)
  | Balance => fold_left U64.sat_add (rooms f) 0
  | Partition => fold_left N.max (rooms f) 0
  end.

(** How many may be handed on now: none while one waits, since nobody overtakes it. *)
Definition may_hand_on (f : fork) : N := if Hub.is_shared (hub f) then called_for f else 0.

Definition first_number (x : element) : N := hd 0 (number x).

Fixpoint first_with_room (order : list nat) (all : list branch) : option nat :=
  match order with
  | [] => None
  | at_ :: rest =>
      match nth_error all at_ with
      | Some b => if room b =? 0 then first_with_room rest all else Some at_
      | None => first_with_room rest all
      end
  end.

(** The branches that an element goes to; none if it must wait. *)
Definition places (f : fork) (x : element) : option (list nat) :=
  let count := length (branches f) in
  let at_once at_ :=
    match nth_error (branches f) at_ with
    | Some b => if left b || negb (room b =? 0) then Some [at_] else None
    | None => None
    end in
  match forks f with
  | Broadcast => if existsb (N.eqb 0) (rooms f) then None else Some (seq 0 count)
  | Balance =>
      let from := Nat.modulo (next_turn f) (Nat.max 1 count) in
      match first_with_room (seq from (count - from) ++ seq 0 from)%list (branches f) with
      | Some at_ => Some [at_]
      | None => None
      end
  | Partition => at_once (N.to_nat (N.modulo (first_number x) (N.of_nat count)))
  end.

(** A branch is handed an element; [true] if it gets there. *)
Definition handed (b : branch) : branch * bool :=
  if left b then (b, false)
  else
    match Demand.emit (fst (Demand.arrive (credit b))) 1 with
    | (m, Demand.Emitted _) => (Branch m false, true)
    | _ => (b, false)
    end.

Definition hand_to (at_ : list nat) (all : list branch) : list branch * list nat :=
  let each one :=
    let '(n, b) := one in
    if existsb (Nat.eqb n) at_ then let '(b, there) := handed b in (b, if there then [n] else [])
    else (b, []) in
  let done := map each (numbered all) in
  (map fst done, flat_map snd done).

(** Hands on the oldest element. None if it must wait, or if there is none. *)
Definition share (f : fork) : option (fork * element * list nat) :=
  match waiting f with
  | [] => None
  | x :: rest =>
      let to := places f x in
      let anybody := existsb (fun b => negb (left b)) (branches f) in
      match Hub.share_next (hub f) anybody (match to with Some _ => false | None => true end), to with
      | (h, Hub.Share), Some to =>
          let '(all, there) := hand_to to (branches f) in
          Some (Fork (forks f) h all rest (from_above f) (S (hd O to)), x, there)
      | _, _ => None
      end
  end.

(** Nothing is asked of an upstream that has ended. *)
Definition replenished (f : fork) : fork * N :=
  match from_above f with
  | Some _ => (f, 0)
  | None =>
      let '(h, n) := Hub.replenish (hub f) (called_for f) in
      (Fork (forks f) h (branches f) (waiting f) None (next_turn f), n)
  end.

Definition came (f : fork) (x : element) : fork :=
  let '(h, answer) := Hub.arrive (hub f) in
  match answer with
  | Hub.Accepted =>
      Fork (forks f) h (branches f) (waiting f ++ [x]) (from_above f) (next_turn f)
  | Hub.Unasked => f
  end.

Definition with_branches (f : fork) (all : list branch) : fork :=
  Fork (forks f) (hub f) all (waiting f) (from_above f) (next_turn f).

Definition at_branch (at_ : nat) (change : branch -> branch) (f : fork) : fork :=
  match nth_error (branches f) at_ with
  | Some b => with_branches f (replaced at_ (change b) (branches f))
  | None => f
  end.

Definition more_room (n : N) (b : branch) : branch :=
  if left b then b else Branch (fst (Demand.request (credit b) n)) false.

Definition leaves (b : branch) : branch := Branch (fst (Demand.close (credit b))) true.

(** The edge in front of a branch: it is kept full, so it asks for a place as soon as one is free. *)
Definition edge : operator := Page 16 1.
