(** Inner scripts of the streams layer: a stage's two counters, and a bounded buffer's strategies. *)

From Coq Require Import NArith String List Bool.
From Sluicegate Require Import Write.Scripts Write.ScriptsDice.
From Sluicegate Require Decide.Demand Decide.Overflow.
From Sluicegate Require Write.ScriptsGate.
Import ListNotations.
Open Scope string_scope.
Open Scope N_scope.

(** ** Stages *)

Inductive signal :=
| Start | Request (n : N) | Arrive | Emit (inputs : N) | Discard | Finish | Close.

Definition shown_stage (s : Demand.stage) : list field :=
  [("state", Object
      [("phase", Text (match Demand.phase s with
                       | Demand.Idle => "idle" | Demand.Running => "running"
                       | Demand.Draining => "draining" | Demand.Over => "over" end));
       ("owed", Number (Demand.owed s)); ("asked", Number (Demand.asked s));
       ("held", Number (Demand.held s));
       ("end_due", Text (if Demand.end_due s then "yes" else "no"))])].

Definition counted (did : Demand.stage * N) : json * Demand.stage := (Number (snd did), fst did).

Definition signalled (s : Demand.stage) (o : signal) : json * Demand.stage :=
  match o with
  | Start => counted (Demand.start s)
  | Request n => counted (Demand.request s n)
  | Arrive =>
      let '(after, answer) := Demand.arrive s in
      (Text (match answer with
             | Demand.Accepted => "accepted" | Demand.Unasked => "unasked" | Demand.Late => "late" end),
       after)
  | Emit inputs =>
      let '(after, answer) := Demand.emit s inputs in
      (match answer with
       | Demand.Emitted ask => Object [("emitted", Number ask)]
       | Demand.NoDemand => Text "no_demand"
       | Demand.NotHeld => Text "not_held"
       end, after)
  | Discard => counted (Demand.discard s)
  | Finish => (Null, Demand.finish s)
  | Close => counted (Demand.close s)
  end.

Definition signal_fields (o : signal) : list field :=
  match o with
  | Start => [("op", Text "start")]
  | Request n => [("op", Text "request"); ("n", Number n)]
  | Arrive => [("op", Text "arrive")]
  | Emit inputs => [("op", Text "emit"); ("inputs", Number inputs)]
  | Discard => [("op", Text "discard")]
  | Finish => [("op", Text "finish")]
  | Close => [("op", Text "close")]
  end.

Definition stage_machine : machine_of Demand.stage signal :=
  Machine _ _ signal_fields signalled shown_stage.

Inductive shape := Each (room : N) | Whole (size : N) | Ahead (size wish : N).

Definition opened (how : shape) : option Demand.stage :=
  match how with
  | Each room => Demand.each room
  | Whole size => Demand.whole size
  | Ahead size wish => Demand.ahead size wish
  end.

Definition shape_fields (how : shape) : list field :=
  match how with
  | Each room => [("shape", Text "each"); ("size", Number room); ("mark", Null)]
  | Whole size => [("shape", Text "whole"); ("size", Number size); ("mark", Null)]
  | Ahead size wish => [("shape", Text "ahead"); ("size", Number size); ("mark", Number wish)]
  end.

(** A stage that cannot be opened has a script without steps. *)
Definition stage_script (name : string) (how : shape) (signals : list signal) : script :=
  Script name [("open", Object (shape_fields how))]
    (match opened how with Some s => replay stage_machine s signals | None => [] end).

Definition shapes : list shape :=
  [Each 1; Each 2; Whole 1; Whole 2; Ahead 2 1; Ahead 2 2; Ahead 4 3].

Fixpoint signals (length : nat) (d : dice) : list signal :=
  match length with
  | O => []
  | S less =>
      let '(n, d) := ScriptsGate.amount 4 d in
      let '(inputs, d) := choose 1 [0; 1; 1; 1; 1; 2] d in
      let '(which, d) := throw 100 d in
      let one :=
        if which <? 25 then Request n
        else if which <? 60 then Arrive
        else if which <? 88 then Emit inputs
        else if which <? 95 then Discard
        else if which <? 97 then Start
        else if (which =? 97) && (n =? 1) then Close
        else if which =? 98 then Finish
        else Request 1 in
      one :: signals less d
  end%bool.

Definition stage_scripts (_ : unit) : list script :=
  (numbered (fun n how => stage_script ("cannot be opened " ++ show n) how [])
     [Each 0; Whole 0; Ahead 0 1] ++
   numbered (fun n script => Script ("sequence " ++ show n) (head script) (steps script))
     (flat_map
        (fun how =>
           map (fun signals => stage_script "" how (Start :: signals))
             (sequences [Request 1; Request 2; Arrive; Emit 1; Discard; Finish] 4)) shapes) ++
   map (fun seed =>
          let '(how, d) := choose (Each 1) (shapes ++ [Ahead 64 48; Each 16; Whole 10])%list
                             (seeded (seed + 10000)) in
          stage_script ("random signals " ++ show seed) how (Start :: signals 80 d))
     (ScriptsGate.seeds 60))%list.

(** ** Buffers, with the sizes of what they hold, oldest first *)

Inductive op :=
| Offer (size : N) | Take | End_as (why : Overflow.buffer_end) | Cancel.

Record queue := Queue { buffer : Overflow.buffer; sizes : list N }.

Definition sum (all : list N) : N := fold_left N.add all 0.

(** Makes room as the decision says, and offers again, until it says something else. *)
Fixpoint offered (fuel : nat) (q : queue) (size : N) : Overflow.offer_answer * queue :=
  let '(after, answer) := Overflow.offer (buffer q) size false in
  match answer, fuel with
  | Overflow.Discard what, S less =>
      let '(gone, kept) :=
        match what, sizes q with
        | Overflow.Everything, all => (all, [])
        | Overflow.Oldest, first :: rest => ([first], rest)
        | Overflow.Newest, all => ([List.last all 0], removelast all)
        | _, [] => ([], [])
        end in
      offered less
        (Queue (Overflow.discarded after (N.of_nat (List.length gone)) (sum gone)) kept) size
  | Overflow.Enqueued, _ => (answer, Queue after (sizes q ++ [size])%list)
  | _, _ => (answer, Queue after (sizes q))
  end.

Definition why (e : Overflow.buffer_end) : string :=
  match e with
  | Overflow.Completed => "completed"
  | Overflow.Failed => "failed"
  | Overflow.Overflowed => "overflowed"
  | Overflow.Cancelled => "cancelled"
  end.

Definition queue_step (q : queue) (o : op) : json * queue :=
  match o with
  | Offer size =>
      let '(answer, after) := offered (S (List.length (sizes q))) q size in
      (Text (match answer with
             | Overflow.Enqueued => "enqueued"
             | Overflow.Dropped => "dropped"
             | Overflow.QueueClosed => "queue_closed"
             | Overflow.Failure => "failure"
             | Overflow.Wait => "wait"
             | Overflow.Discard _ => "discard"
             end), after)
  | Take =>
      let '(after, answer) := Overflow.take (buffer q) (hd 0 (sizes q)) in
      match answer with
      | Overflow.Element => (Object [("element", Number (hd 0 (sizes q)))], Queue after (tl (sizes q)))
      | Overflow.Empty => (Text "empty", q)
      | Overflow.Ended how => (Object [("ended", Text (why how))], q)
      end
  | End_as how =>
      let '(after, first) := Overflow.finish (buffer q) how in
      (Text (if first then "yes" else "no"), Queue after (sizes q))
  | Cancel => let '(after, n) := Overflow.cancel (buffer q) in (Number n, Queue after [])
  end.

Definition queue_machine : machine_of queue op :=
  Machine _ _
    (fun o => match o with
              | Offer size => [("op", Text "offer"); ("size", Number size)]
              | Take => [("op", Text "take")]
              | End_as how => [("op", Text "finish"); ("why", Text (why how))]
              | Cancel => [("op", Text "cancel")]
              end)
    queue_step
    (fun q => [("state", Object
        [("held", Number (Overflow.held (buffer q))); ("bytes", Number (Overflow.bytes (buffer q)));
         ("lost", Number (Overflow.lost (buffer q)));
         ("ended", or_null (fun how => Text (why how)) (Overflow.ended (buffer q)));
         ("sizes", Items (map Number (sizes q)))])]).

Definition plan (s : Overflow.strategy) : string :=
  match s with
  | Overflow.Backpressure => "backpressure"
  | Overflow.DropHead => "drop_head"
  | Overflow.DropTail => "drop_tail"
  | Overflow.DropNew => "drop_new"
  | Overflow.DropBuffer => "drop_buffer"
  | Overflow.Fail => "fail"
  end.

Definition plans : list Overflow.strategy :=
  [Overflow.Backpressure; Overflow.DropHead; Overflow.DropTail; Overflow.DropNew;
   Overflow.DropBuffer; Overflow.Fail].

Definition queue_script (name : string) (s : Overflow.strategy) (elements bytes : N) (ops : list op) :
    script :=
  Script name
    [("open", Object [("strategy", Text (plan s)); ("elements", Number elements);
                      ("bytes", Number bytes)])]
    (match Overflow.opened s elements bytes with
     | Some b => replay queue_machine (Queue b []) ops
     | None => []
     end).

Fixpoint queue_ops (length : nat) (d : dice) : list op :=
  match length with
  | O => []
  | S less =>
      let '(size, d) := throw 9 d in
      let '(which, d) := throw 100 d in
      let one :=
        if which <? 58 then Offer size
        else if which <? 97 then Take
        else if which =? 97 then End_as (if N.even size then Overflow.Completed else Overflow.Failed)
        else if (which =? 98) && (size <? 3) then Cancel
        else Offer (size * 3) in
      one :: queue_ops less d
  end%bool.

Definition queue_scripts (_ : unit) : list script :=
  (numbered (fun n one => queue_script ("cannot be opened " ++ show n) Overflow.Fail (fst one) (snd one) [])
     [(0, 5); (5, 0)] ++
   flat_map
     (fun s =>
        numbered
          (fun n ops => queue_script (plan s ++ ", sequence " ++ show n) s 2 5 ops)
          (sequences [Offer 1; Offer 3; Offer 9; Take; End_as Overflow.Completed; Cancel] 4)) plans ++
   map (fun seed =>
          let '(s, d) := choose Overflow.Fail plans (seeded (seed + 11000)) in
          let '(elements, d) := throw 8 d in
          let '(bytes, d) := choose 20 [1; 8; 20; 40; ScriptsGate.max] d in
          queue_script ("random offers " ++ show seed) s (elements + 1) bytes (queue_ops 60 d))
     (ScriptsGate.seeds 60))%list.

Definition files : list file :=
  [File "inner" "demand" "demand" stage_scripts;
   File "inner" "overflow" "overflow" queue_scripts].
