(** Stages in a line that runs until it is quiet, as fused stages do: the machine that pipeline scripts
    are written from. Each stage counts by [Decide.Demand]; here is what is round the counters: the
    elements, what a stage makes of them, and the calls from stage to stage. *)

From Coq Require Import NArith Bool List.
From Sluicegate Require Import Base.U64.
From Sluicegate Require Decide.Demand.
Import ListNotations.
Open Scope N_scope.

(** A batch makes groups of numbers, everything else hands numbers on as they are. *)
Inductive element := One (x : N) | Group (xs : list N).

Inductive operator :=
| Map_add (k : N)
| Filter_mod (m r : N)
| Take (n : N)
| Drop (n : N)
| Page (size mark : N)
| Expand (k : N)
| Batch (k : N).

Inductive outcome := Completed | Failed.

Record station := Station {
  does : operator;
  meter : Demand.stage;
  inputs : list element;    (** held, the oldest first *)
  made : N;                 (** expand: the outputs that the oldest input has made *)
  to_ask : N;               (** take: how much may still be asked for *)
  to_come : N;              (** take: how much is still handed down; drop: how much is still dropped *)
  ending : option outcome;  (** the upstream's end, from when it is known *)
}.

Definition plain_room : N := 18446744073709551615.

Definition stage_of (o : operator) : option Demand.stage :=
  match o with
  | Map_add _ | Filter_mod _ _ | Take _ | Drop _ => Demand.each plain_room
  | Page size mark => Demand.ahead size mark
  | Expand _ => Demand.whole 1
  | Batch k => Demand.whole k
  end.

(** None for a page or a batch of nothing. *)
Definition built (o : operator) : option station :=
  let n := match o with Take n | Drop n => n | _ => 0 end in
  match stage_of o with
  | Some s => Some (Station o s [] 0 n n None)
  | None => None
  end.

Definition with_meter (s : station) (m : Demand.stage) : station :=
  Station (does s) m (inputs s) (made s) (to_ask s) (to_come s) (ending s).

(** ** One stage *)

(** What goes from place to place. Place 0 is the publisher, the last one the subscriber. *)
Inductive signal :=
| Connect                (** the stage is connected upwards *)
| Ask (n : N)            (** up: so many more are wanted *)
| Stop                   (** up: nothing is wanted any more *)
| Give (x : element)     (** down: an element *)
| End (how : outcome)    (** down: the end *)
| Look                   (** to itself: is there anything to hand down? *).

Definition call := (nat * signal)%type.

Definition ask (at_ : nat) (n : N) : list call := if n =? 0 then [] else [(pred at_, Ask n)].

Definition count (s : station) : N := N.of_nat (length (inputs s)).

Definition number (x : element) : list N := match x with One n => [n] | Group ns => ns end.

(** What a stage would hand down next. *)
Inductive verdict :=
| Emit (x : element) (leave : N) (** this, and so many inputs leave with it *)
| Last (x : element)             (** this, and it is the last *)
| Forget                         (** the oldest input leaves without an output *)
| Nothing.

Definition verdict_of (s : station) : verdict :=
  match does s, inputs s with
  | _, [] => Nothing
  | Map_add k, One x :: _ => Emit (One (x + k)) 1
  | Filter_mod m r, One x :: _ => if N.modulo x m =? r then Emit (One x) 1 else Forget
  | Take _, x :: _ => if to_come s =? 1 then Last x else Emit x 1
  | Drop _, x :: _ => if to_come s =? 0 then Emit x 1 else Forget
  | Page _ _, x :: _ => Emit x 1
  | Expand k, One x :: _ =>
      if k =? 0 then Forget else Emit (One (x * k + made s)) (if made s + 1 =? k then 1 else 0)
  | Batch k, all =>
      if (count s =? k) || match ending s with Some _ => true | None => false end
      then Emit (Group (flat_map number all)) (count s) else Nothing
  | _, Group _ :: _ => Nothing
  end.

(** A stage that has handed down [leave] inputs, or dropped one. *)
Definition left_behind (s : station) (m : Demand.stage) (leave : N) : station :=
  Station (does s) m (skipn (N.to_nat leave) (inputs s)) (if leave =? 0 then made s + 1 else 0)
    (to_ask s) (to_come s - (match does s with Take _ | Drop _ => 1 | _ => 0 end)) (ending s).

(** A [take] that has nothing to hand down, and has not said so. *)
Definition spent (s : station) : bool :=
  match does s, ending s, Demand.phase (meter s) with
  | Take _, None, Demand.Running => to_come s =? 0
  | _, _, _ => false
  end.

Definition ending_with (s : station) (how : outcome) : station :=
  Station (does s) (Demand.finish (meter s)) (inputs s) (made s) (to_ask s) (to_come s) (Some how).

Definition closed (s : station) : station :=
  Station (does s) (fst (Demand.close (meter s))) [] 0 (to_ask s) (to_come s) (ending s).

(** One look: at most one output or one input dropped, and another look after it. *)
Definition look (at_ : nat) (s : station) : station * list call :=
  match verdict_of s with
  | Emit x leave =>
      let '(m, answer) := Demand.emit (meter s) leave in
      match answer with
      | Demand.Emitted n =>
          (left_behind s m leave, (S at_, Give x) :: ask at_ n ++ [(at_, Look)])
      | Demand.NoDemand | Demand.NotHeld => (s, [])
      end
  | Last x =>
      let '(m, answer) := Demand.emit (Demand.finish (meter s)) 1 in
      match answer with
      | Demand.Emitted _ =>
          (ending_with (left_behind s m 1) Completed,
           [(S at_, Give x); (pred at_, Stop); (at_, Look)])
      | Demand.NoDemand | Demand.NotHeld => (s, [])
      end
  | Forget =>
      let '(m, n) := Demand.discard (meter s) in
      (left_behind s m 1, ask at_ n ++ [(at_, Look)])
  | Nothing =>
      if spent s then (ending_with s Completed, [(pred at_, Stop); (at_, Look)])
      else if Demand.end_due (meter s) then
        (closed s, match ending s with Some how => [(S at_, End how)] | None => [] end)
      else (s, [])
  end.

Definition hear (at_ : nat) (s : station) (what : signal) : station * list call :=
  match what with
  | Connect =>
      let '(m, n) := Demand.start (meter s) in (with_meter s m, ask at_ n ++ [(at_, Look)])
  | Ask n =>
      let '(n, rest) :=
        match does s with Take _ => Demand.limited (to_ask s) n | _ => (n, to_ask s) end in
      let '(m, up) := Demand.request (meter s) n in
      (Station (does s) m (inputs s) (made s) rest (to_come s) (ending s),
       ask at_ up ++ [(at_, Look)])
  | Give x =>
      let '(m, answer) := Demand.arrive (meter s) in
      match answer with
      | Demand.Accepted =>
          (Station (does s) m (inputs s ++ [x]) (made s) (to_ask s) (to_come s) (ending s),
           [(at_, Look)])
      | Demand.Unasked | Demand.Late => (s, [])
      end
  | End how =>
      match ending s, Demand.phase (meter s) with
      | Some _, _ | _, Demand.Over => (s, [])
      | None, _ => (ending_with s how, [(at_, Look)])
      end
  | Stop => (closed s, [(pred at_, Stop)])
  | Look => look at_ s
  end.

(** ** The line *)

Inductive source_end := Source_completed | Source_failed | Source_cancelled.

Record line := Line {
  demand : N;                  (** asked of the publisher and not sent *)
  sent : N;                    (** the publisher's next element *)
  ended : option source_end;   (** how the publisher ended *)
  stations : list station;     (** from the publisher to the subscriber *)
  got : list element;          (** what the subscriber received since it was last looked at *)
  told : option outcome;       (** the end that it received since then *)
  over : bool;                 (** it has received an end, or has cancelled *)
  quiet : bool;                (** every run so far has come to its end *)
}.

Fixpoint replaced {A} (at_ : nat) (one : A) (all : list A) : list A :=
  match all, at_ with
  | [], _ => []
  | _ :: rest, O => one :: rest
  | first :: rest, S less => first :: replaced less one rest
  end.

Definition at_source (l : line) (what : signal) : line :=
  match ended l, what with
  | None, Ask n =>
      Line (U64.sat_add (demand l) n) (sent l) None (stations l) (got l) (told l) (over l) (quiet l)
  | None, Stop =>
      Line 0 (sent l) (Some Source_cancelled) (stations l) (got l) (told l) (over l) (quiet l)
  | _, _ => l
  end.

Definition at_subscriber (l : line) (what : signal) : line :=
  match over l, what with
  | false, Give x =>
      Line (demand l) (sent l) (ended l) (stations l) (got l ++ [x]) (told l) false (quiet l)
  | false, End how =>
      Line (demand l) (sent l) (ended l) (stations l) (got l) (Some how) true (quiet l)
  | _, _ => l
  end.

Definition with_stations (l : line) (all : list station) : line :=
  Line (demand l) (sent l) (ended l) all (got l) (told l) (over l) (quiet l).

Definition called (l : line) (one : call) : line * list call :=
  let '(at_, what) := one in
  match at_ with
  | O => (at_source l what, [])
  | S place =>
      match nth_error (stations l) place with
      | Some s =>
          let '(s, calls) := hear at_ s what in
          (with_stations l (replaced place s (stations l)), calls)
      | None => (at_subscriber l what, [])
      end
  end.

(** Calls in the order of a program: what a call calls comes before what is called after it. *)
Fixpoint run (fuel : nat) (l : line) (calls : list call) : line :=
  match calls, fuel with
  | [], _ => l
  | _, O =>
      Line (demand l) (sent l) (ended l) (stations l) (got l) (told l) (over l) false
  | one :: later, S less => let '(l, more) := called l one in run less l (more ++ later)
  end.

Definition enough : nat := N.to_nat 6000.

Definition settled (l : line) (calls : list call) : line := run enough l calls.

(** ** The two probes *)

Fixpoint all_built (all : list operator) : option (list station) :=
  match all with
  | [] => Some []
  | o :: rest =>
      match built o, all_built rest with Some s, Some later => Some (s :: later) | _, _ => None end
  end.

Definition composed (all : list operator) : option line :=
  match all_built all with
  | Some stations => Some (Line 0 0 None stations [] None false true)
  | None => None
  end.

Definition start (l : line) : line :=
  settled l (map (fun place => (S place, Connect)) (seq 0 (length (stations l)))).

Definition request (l : line) (n : N) : line :=
  if over l || (n =? 0) then l else settled l [(length (stations l), Ask n)].

Inductive sending := Sent | No_demand | Closed.

Definition send (l : line) : line * sending :=
  match ended l with
  | Some _ => (l, Closed)
  | None =>
      if demand l =? 0 then (l, No_demand)
      else
        (settled
           (Line (U64.sat_sub (demand l) 1) (sent l + 1) None (stations l) (got l) (told l) (over l)
              (quiet l)) [(1%nat, Give (One (sent l)))], Sent)
  end.

(** Up to [k] elements: how many were sent, and why no more. *)
Fixpoint next (k : nat) (l : line) : line * N * sending :=
  match k with
  | O => (l, 0, Sent)
  | S less =>
      match send l with
      | (l, Sent) => let '(l, n, why) := next less l in (l, n + 1, why)
      | (l, why) => (l, 0, why)
      end
  end.

(** True if it was the first end. *)
Definition finish (l : line) (how : outcome) : line * bool :=
  match ended l with
  | Some _ => (l, false)
  | None =>
      let why := match how with Completed => Source_completed | Failed => Source_failed end in
      (settled
         (Line 0 (sent l) (Some why) (stations l) (got l) (told l) (over l) (quiet l))
         [(1%nat, End how)], true)
  end.

Definition cancel (l : line) : line :=
  if over l then l
  else
    settled
      (Line (demand l) (sent l) (ended l) (stations l) (got l) (told l) true (quiet l))
      [(length (stations l), Stop)].

(** What the subscriber has received is taken from it. *)
Definition taken (l : line) : line :=
  Line (demand l) (sent l) (ended l) (stations l) [] None (over l) (quiet l).

(** ** What a line does, computed by the kernel *)

Definition line_of (all : list operator) : line :=
  match composed all with Some l => start l | None => Line 0 0 None [] [] None false false end.

Definition sent_up_to (k : nat) (l : line) : line := fst (fst (next k l)).

(** What is still asked of the publisher, what has come out, and the end. *)
Definition seen (l : line) : N * list element * option outcome := (demand l, got l, told l).

(** A [take] of five asks for five, whatever is asked of it, and ends by itself. *)
Example take_never_asks_for_a_sixth :
  let l := request (line_of [Take 5]) 1000 in
  demand l = 5 /\
  seen (sent_up_to 9 l) = (0, map One [0; 1; 2; 3; 4], Some Completed) /\
  ended (sent_up_to 9 l) = Some Source_cancelled.
Proof. vm_compute; repeat split. Qed.

(** A filter asks a replacement for each that it drops, and no more. *)
Example a_filter_asks_replacements :
  let l := sent_up_to 100 (request (line_of [Filter_mod 100 99]) 1) in
  seen l = (0, [One 99], None) /\ sent l = 100.
Proof. vm_compute; repeat split. Qed.

(** An expansion pulls an input only once the one before is used up and more is wanted. *)
Example an_expansion_pulls_one :
  let l := sent_up_to 9 (request (line_of [Expand 10; Take 5]) 1000) in
  seen l = (0, map One [0; 1; 2; 3; 4], Some Completed) /\ sent l = 1.
Proof. vm_compute; repeat split. Qed.

(** Two groups of three cost six, a third one three more, and the last may be short. *)
Example a_batch_asks_for_lots :
  let l := request (line_of [Batch 3]) 2 in
  demand l = 3 /\
  let l := sent_up_to 7 l in
  seen l = (0, [Group [0; 1; 2]; Group [3; 4; 5]], None) /\
  let l := sent_up_to 1 (request (taken l) 1) in
  seen l = (2, [], None) /\
  seen (fst (finish l Completed)) = (0, [Group [6]], Some Completed) /\
  seen (fst (finish l Failed)) = (0, [Group [6]], Some Failed).
Proof. vm_compute; repeat split. Qed.

(** A page is filled before anybody asks, and again once its mark has left. *)
Example a_page_reads_ahead :
  let l := line_of [Page 64 48] in
  demand l = 64 /\
  let l := sent_up_to 99 l in
  demand l = 0 /\ sent l = 64 /\
  demand (request l 47) = 0 /\ demand (request l 48) = 48 /\ demand (request (request l 47) 1) = 48.
Proof. vm_compute; repeat split. Qed.

(** An end, good or bad, comes behind what is held, and a cancel releases it all at once. *)
Example an_end_overtakes_nothing :
  let l := sent_up_to 3 (line_of [Page 4 1; Expand 2]) in
  let ends (how : outcome) := fst (finish (request l 3) how) in
  got (ends Failed) = map One [0; 1; 2] /\ told (ends Failed) = None /\
  seen (request (ends Failed) 9) = (0, map One [0; 1; 2; 3; 4; 5], Some Failed) /\
  seen (request (ends Completed) 9) = (0, map One [0; 1; 2; 3; 4; 5], Some Completed) /\
  ended (cancel l) = Some Source_cancelled /\
  forallb (fun s => Demand.held (meter s) =? 0) (stations (cancel l)) = true.
Proof. vm_compute; repeat split. Qed.
