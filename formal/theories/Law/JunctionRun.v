(** The whole round a join or a fork, run until it is quiet: publishers, lines, the junction, lines,
    subscribers. *)

From Coq Require Import NArith Bool List.
From Sluicegate Require Import Base.U64 Law.Pipeline Law.Junction.
From Sluicegate Require Decide.Demand Decide.Hub.
Import ListNotations.
Open Scope N_scope.

(** A call into a line; place 0 of a line is what is above it. *)
Inductive line_of := Above (i : nat) | Below (j : nat).
Definition call := (line_of * Pipeline.call)%type.

Record publisher := Publisher {
  asked_of : N;                 (** asked for and not sent *)
  sent : N;                     (** the next element *)
  ended : option source_end;
}.

Record subscriber := Subscriber {
  got : list element;           (** received since it was last looked at *)
  told : option outcome;        (** the end that it received since then *)
  over : bool;                  (** it has received an end, or has cancelled *)
}.

Inductive junction := A_join (j : join) | A_fork (f : fork) | Gone.

Record web := Web {
  publishers : list publisher;
  above : list (list station);
  middle : junction;
  below : list (list station);
  subscribers : list subscriber;
  behind : list call;           (** into the branches of a fork, which has the first turn *)
  due : bool;                   (** the junction is to be looked at *)
  quiet : bool;                 (** every run so far has come to its end *)
}.

Definition with_publisher (w : web) (at_ : nat) (p : publisher) : web :=
  Web (replaced at_ p (publishers w)) (above w) (middle w) (below w) (subscribers w) (behind w)
    (due w) (quiet w).

Definition with_above (w : web) (at_ : nat) (all : list station) : web :=
  Web (publishers w) (replaced at_ all (above w)) (middle w) (below w) (subscribers w) (behind w)
    (due w) (quiet w).

Definition with_below (w : web) (at_ : nat) (all : list station) : web :=
  Web (publishers w) (above w) (middle w) (replaced at_ all (below w)) (subscribers w) (behind w)
    (due w) (quiet w).

Definition with_subscriber (w : web) (at_ : nat) (s : subscriber) : web :=
  Web (publishers w) (above w) (middle w) (below w) (replaced at_ s (subscribers w)) (behind w)
    (due w) (quiet w).

(** The junction has changed, and is to be looked at. *)
Definition changed (w : web) (m : junction) : web :=
  Web (publishers w) (above w) m (below w) (subscribers w) (behind w) true (quiet w).

Definition with_behind (w : web) (later : list call) : web :=
  Web (publishers w) (above w) (middle w) (below w) (subscribers w) later (due w) (quiet w).

Definition looked_at (w : web) : web :=
  Web (publishers w) (above w) (middle w) (below w) (subscribers w) (behind w) false (quiet w).

Definition noisy (w : web) : web :=
  Web (publishers w) (above w) (middle w) (below w) (subscribers w) (behind w) (due w) false.

(** ** What goes up from the junction *)

Definition last_place (w : web) (i : nat) : nat := length (nth i (above w) []).

Definition asks_up (w : web) (asks : list (nat * N)) : list call :=
  flat_map
    (fun one =>
       let '(i, n) := one in if n =? 0 then [] else [(Above i, (last_place w i, Ask n))]) asks.

Definition stops_up (w : web) : list call :=
  map (fun i => (Above i, (last_place w i, Stop))) (seq 0 (length (above w))).

Definition connects (line : line_of) (all : list station) : list call :=
  map (fun place => (line, (S place, Connect))) (seq 0 (length all)).

(** ** One call *)

Definition at_publisher (w : web) (i : nat) (what : signal) : web :=
  match nth_error (publishers w) i with
  | Some p =>
      match ended p, what with
      | None, Ask n =>
          with_publisher w i (Publisher (U64.sat_add (asked_of p) n) (sent p) None)
      | None, Stop => with_publisher w i (Publisher 0 (sent p) (Some Source_cancelled))
      | _, _ => w
      end
  | None => w
  end.

Definition at_subscriber (w : web) (j : nat) (what : signal) : web :=
  match nth_error (subscribers w) j with
  | Some s =>
      match over s, what with
      | false, Give x => with_subscriber w j (Subscriber (got s ++ [x]) (told s) false)
      | false, End how => with_subscriber w j (Subscriber (got s) (Some how) true)
      | _, _ => w
      end
  | None => w
  end.

(** From the line [i] above. *)
Definition from_line (w : web) (i : nat) (what : signal) : web :=
  match middle w, what with
  | A_join j, Give x =>
      match nth_error (ins j) i with
      | Some one => changed w (A_join (Join (joins j) (replaced i (arrived one x) (ins j)) (turn j)))
      | None => w
      end
  | A_join j, End how =>
      match nth_error (ins j) i with
      | Some one =>
          changed w (A_join (Join (joins j) (replaced i (ended_above one how) (ins j)) (turn j)))
      | None => w
      end
  | A_fork f, Give x => changed w (A_fork (came f x))
  | A_fork f, End how =>
      changed w
        (A_fork
           (Fork (forks f) (Hub.upstream_ended (hub f)) (branches f) (waiting f) (Some how)
              (next_turn f)))
  | _, _ => w
  end.

(** From the line [at_] below. *)
Definition from_below (w : web) (at_ : nat) (what : signal) : web * list call :=
  match middle w, what with
  | A_join j, Ask n =>
      let '(j, asks) := wanted_of j n in (changed w (A_join j), asks_up w asks)
  | A_join _, Stop => (changed w Gone, stops_up w)
  | A_fork f, Ask n => (changed w (A_fork (at_branch at_ (more_room n) f)), [])
  | A_fork f, Stop => (changed w (A_fork (at_branch at_ leaves f)), [])
  | _, _ => (w, [])
  end.

Definition called (w : web) (one : call) : web * list call :=
  let '(line, (at_, what)) := one in
  let heard all :=
    match nth_error all (pred at_) with
    | Some s =>
        let '(s, more) := hear at_ s what in
        Some (replaced (pred at_) s all, map (fun one => (line, one)) more)
    | None => None
    end in
  match line, at_ with
  | Above i, O => (at_publisher w i what, [])
  | Below j, O => from_below w j what
  | Above i, S _ =>
      match heard (nth i (above w) []) with
      | Some (all, more) => (with_above w i all, more)
      | None => (from_line w i what, [])
      end
  | Below j, S _ =>
      match heard (nth j (below w) []) with
      | Some (all, more) => (with_below w j all, more)
      | None => (at_subscriber w j what, [])
      end
  end.

(** ** A look at the junction *)

Definition join_turn (w : web) (j : join) : web * list call :=
  let '(j, what) := look_at_inputs j in
  match what with
  | Gave x asks => (changed w (A_join j), (Below 0, (1%nat, Give x)) :: asks_up w asks)
  | Ended how => (changed w Gone, (Below 0, (1%nat, End how)) :: stops_up w)
  | Turned_to i owing =>
      let '(j, asks) := wanted_of j owing in
      (changed w (A_join j), (connects (Above i) (nth i (above w) []) ++ asks_up w asks)%list)
  | Waits => (Web (publishers w) (above w) (A_join j) (below w) (subscribers w) (behind w) false
                (quiet w), [])
  end.

Definition to_branches (what : signal) (at_ : list nat) : list call :=
  map (fun j => (Below j, (1%nat, what))) at_.

(** A fork asks for more only while no element waits. *)
Definition fork_asks (w : web) (f : fork) (again : bool) : web * list call :=
  let '(f, n) := replenished f in
  let w := changed w (A_fork f) in
  (if again then w else looked_at w, asks_up w [(O, n)]).

Definition fork_turn (w : web) (f : fork) : web * list call :=
  if forallb left (branches f) then (changed w Gone, stops_up w)
  else
    match share f, waiting f, from_above f with
    | Some (f, x, at_), _, _ =>
        fork_asks (with_behind w (behind w ++ to_branches (Give x) at_)) f true
    | None, [], Some how =>
        let live := filter (fun one => negb (left (snd one))) (numbered (branches f)) in
        (changed (with_behind w (behind w ++ to_branches (End how) (map fst live))) Gone, [])
    | None, [], None => fork_asks w f false
    | None, _ :: _, _ => (looked_at w, [])
    end.

Definition junction_turn (w : web) : web * list call :=
  match middle w with
  | A_join j => join_turn w j
  | A_fork f => fork_turn w f
  | Gone => (looked_at w, [])
  end.

(** Calls come first, in the order of a program; then the junction has its turn, and last the branches
    of a fork, which are islands of their own. *)
Fixpoint run (fuel : nat) (w : web) (calls : list call) : web :=
  match calls, due w, behind w, fuel with
  | [], false, [], _ => w
  | _, _, _, O => noisy w
  | one :: later, _, _, S less => let '(w, more) := called w one in run less w (more ++ later)
  | [], true, _, S less => let '(w, more) := junction_turn w in run less w more
  | [], false, one :: later, S less => run less (with_behind w later) [one]
  end.

Definition settled (w : web) (calls : list call) : web := run enough w calls.

(** ** The probes *)

Definition fresh (room : N) : Demand.stage :=
  match Demand.each room with
  | Some s => fst (Demand.start s)
  | None => Demand.Stage Demand.Each Demand.Over 0 1 0 0 0
  end.

Definition input_room (how : joining) : N := match how with Concat => plain_room | _ => 1 end.

Definition lines (all : list (list operator)) : option (list (list station)) :=
  all_some (map all_built all).

Definition start (w : web) : web :=
  let above_ :=
    match middle w with
    | A_join j =>
        match joins j with
        | Concat => connects (Above 0) (nth 0 (above w) [])
        | _ => flat_map (fun one => connects (Above (fst one)) (snd one)) (numbered (above w))
        end
    | _ => flat_map (fun one => connects (Above (fst one)) (snd one)) (numbered (above w))
    end in
  let below_ := flat_map (fun one => connects (Below (fst one)) (snd one)) (numbered (below w)) in
  settled w (above_ ++ below_).

Definition publisher_of (n : nat) : publisher := Publisher 0 (1000 * N.of_nat n) None.
Definition nobody : subscriber := Subscriber [] None false.

Definition joined (how : joining) (from : list (list operator)) (to : list operator) : option web :=
  match lines from, lines [to] with
  | Some from, Some to =>
      Some (Web (map publisher_of (seq 0 (length from))) from
              (A_join (Join how (map (fun _ => Input (fresh (input_room how)) [] None false) from) 0))
              to [nobody] [] true true)
  | _, _ => None
  end.

Definition forked (how : forking) (from : list operator) (to : list (list operator)) : option web :=
  match lines [from], lines (map (cons edge) to), Hub.opened plain_room with
  | Some from, Some to, Some h =>
      Some (Web [publisher_of 0] from
              (A_fork (Fork how h (map (fun _ => Branch (fresh plain_room) false) to) [] None 0))
              to (map (fun _ => nobody) to) [] true true)
  | _, _, _ => None
  end.

Definition request (w : web) (j : nat) (n : N) : web :=
  match nth_error (subscribers w) j with
  | Some s =>
      if over s || (n =? 0) then w
      else settled w [(Below j, (length (nth j (below w) []), Ask n))]
  | None => w
  end.

Definition send (w : web) (i : nat) : web * sending :=
  match nth_error (publishers w) i with
  | Some p =>
      match ended p with
      | Some _ => (w, Closed)
      | None =>
          if asked_of p =? 0 then (w, No_demand)
          else
            (settled
               (with_publisher w i (Publisher (U64.sat_sub (asked_of p) 1) (sent p + 1) None))
               [(Above i, (1%nat, Give (One (sent p))))], Sent)
      end
  | None => (w, Closed)
  end.

(** Up to [k] elements: how many were sent, and why no more. *)
Fixpoint next (k : nat) (w : web) (i : nat) : web * N * sending :=
  match k with
  | O => (w, 0, Sent)
  | S less =>
      match send w i with
      | (w, Sent) => let '(w, n, why) := next less w i in (w, n + 1, why)
      | (w, why) => (w, 0, why)
      end
  end.

(** True if it was the first end. *)
Definition finish (w : web) (i : nat) (how : outcome) : web * bool :=
  match nth_error (publishers w) i with
  | Some p =>
      match ended p with
      | Some _ => (w, false)
      | None =>
          let why := match how with Completed => Source_completed | Failed => Source_failed end in
          (settled (with_publisher w i (Publisher 0 (sent p) (Some why)))
             [(Above i, (1%nat, End how))], true)
      end
  | None => (w, false)
  end.

Definition cancel (w : web) (j : nat) : web :=
  match nth_error (subscribers w) j with
  | Some s =>
      if over s then w
      else
        settled (with_subscriber w j (Subscriber (got s) (told s) true))
          [(Below j, (length (nth j (below w) []), Stop))]
  | None => w
  end.

(** What the subscribers have received is taken from them. *)
Definition taken (w : web) : web :=
  Web (publishers w) (above w) (middle w) (below w)
    (map (fun s => Subscriber [] None (over s)) (subscribers w)) (behind w) (due w) (quiet w).

Definition all_over (w : web) : bool := forallb over (subscribers w).
