(** Inner scripts of a live feed's ring, with the numbers and times of the items that it holds. *)

From Coq Require Import NArith String List Bool.
From Sluicegate Require Import Write.Scripts Write.ScriptsDice.
From Sluicegate Require Decide.Feed.
From Sluicegate Require Write.ScriptsGate.
Import ListNotations.
Open Scope string_scope.
Open Scope N_scope.

Inductive op := Capture (pts : N) | Deliver | End_as (why : Feed.feed_end) | Abandon.

(** An item: its number, and its presentation time. *)
Definition item := (N * N)%type.

(** A feed, and its ring, the oldest item first. *)
Record ring := Ring { feed : Feed.feed; items : list item }.

Definition why_text (why : Feed.feed_end) : json :=
  Text (match why with
        | Feed.Finished => "finished" | Feed.Overrun => "overrun" | Feed.Broken => "broken"
        | Feed.Abandoned => "abandoned" end).

Definition gap_json (g : Feed.gap) : json :=
  Object [("lost", Number (Feed.lost g)); ("duration_us", Number (Feed.duration_us g))].

Definition step (r : ring) (o : op) : json * ring :=
  match o with
  | Capture pts =>
      let '(after, answer) := Feed.capture (feed r) in
      match answer with
      | Feed.Stored n =>
          (Object [("stored", Number n)], Ring after (items r ++ [(n, pts)])%list)
      | Feed.Evicted n =>
          (Object [("evicted", Number n)], Ring after (tl (items r) ++ [(n, pts)])%list)
      | Feed.Overflowed n => (Object [("overflowed", Number n)], Ring after (items r))
      | Feed.Refused => (Text "refused", Ring after (items r))
      end
  | Deliver =>
      let oldest := hd (0, 0) (items r) in
      let '(after, answer) := Feed.deliver (feed r) (snd oldest) in
      match answer with
      | Feed.Item marker =>
          (Object [("item", Number (fst oldest)); ("gap", or_null gap_json marker)],
           Ring after (tl (items r)))
      | Feed.Empty => (Text "empty", Ring after (items r))
      | Feed.Over why missing =>
          (Object [("over", why_text why); ("missing", Number missing)], Ring after (items r))
      end
  | End_as why =>
      let '(after, first) := Feed.end_capture (feed r) why in
      (Text (if first then "yes" else "no"), Ring after (items r))
  | Abandon => let '(after, n) := Feed.abandon (feed r) in (Number n, Ring after [])
  end.

Definition machine : machine_of ring op :=
  Machine _ _
    (fun o => match o with
              | Capture pts => [("op", Text "capture"); ("pts", Number pts)]
              | Deliver => [("op", Text "deliver")]
              | End_as why => [("op", Text "end"); ("why", why_text why)]
              | Abandon => [("op", Text "abandon")]
              end)
    step
    (fun r =>
       let f := feed r in
       [("state", Object
           [("ending", match Feed.phase f with
                       | Feed.Capturing => Null | Feed.Ending why => why_text why end);
            ("held", Number (Feed.held f)); ("captured", Number (Feed.captured f));
            ("delivered", Number (Feed.delivered f)); ("dropped", Number (Feed.dropped f));
            ("overruns", Number (Feed.overruns f)); ("before", Number (Feed.before f));
            ("behind", Number (Feed.behind f));
            ("ring", Items (map (fun one => Number (fst one)) (items r)))])]).

Definition policy_text (p : Feed.overrun_policy) : string :=
  match p with Feed.DropOldest => "drop_oldest" | Feed.Fail => "fail" end.

Definition policies : list Feed.overrun_policy := [Feed.DropOldest; Feed.Fail].

(** A ring of nothing has a script without steps. *)
Definition feed_script (name : string) (size : N) (p : Feed.overrun_policy) (ops : list op) : script :=
  Script name [("open", Object [("size", Number size); ("policy", Text (policy_text p))])]
    (match Feed.opened size p with Some f => replay machine (Ring f []) ops | None => [] end).

(** Items 40 ms apart, as the sequences have them. *)
Fixpoint timed (now : N) (ops : list op) : list op :=
  match ops with
  | [] => []
  | Capture _ :: rest => Capture now :: timed (now + 40000) rest
  | one :: rest => one :: timed now rest
  end.

(** The time between two items varies, and now and then it runs backwards. *)
Fixpoint random (length : nat) (slow now : N) (d : dice) : list op :=
  match length with
  | O => []
  | S less =>
      let '(which, d) := throw 100 d in
      let '(jitter, d) := throw 50000 d in
      let '(how, d) := choose Feed.Finished [Feed.Finished; Feed.Broken] d in
      let pts := if which =? 0 then now - jitter else now + jitter in
      let one :=
        if which <? slow then Capture pts
        else if which <? 98 then Deliver
        else if (which =? 98) && (jitter <? 15000) then End_as how
        else if (which =? 99) && (jitter <? 5000) then Abandon
        else Deliver in
      one :: random less slow pts d
  end%bool.

Definition feed_scripts (_ : unit) : list script :=
  (numbered (fun n p => feed_script ("cannot be opened " ++ show n) 0 p []) policies ++
   flat_map
     (fun p =>
        numbered
          (fun n ops => feed_script (policy_text p ++ ", sequence " ++ show n) 2 p (timed 1000 ops))
          (sequences [Capture 0; Deliver; End_as Feed.Finished; End_as Feed.Broken; Abandon] 5))
     policies ++
   map (fun seed =>
          let '(p, d) := choose Feed.Fail policies (seeded (seed + 13000)) in
          let '(size, d) := throw 8 d in
          let '(slow, d) := choose 50 [35; 50; 70] d in
          feed_script ("random items " ++ show seed) (size + 1) p (random 80 slow 1000000 d))
     (ScriptsGate.seeds 60))%list.

Definition files : list file := [File "inner" "feed" "feed" feed_scripts].
