(** Inner scripts of a hub and its subscribers. The elements are numbered as they arrive. *)

From Coq Require Import NArith String List Bool.
From Sluicegate Require Import Write.Scripts Write.ScriptsDice.
From Sluicegate Require Decide.Hub Decide.Overflow.
From Sluicegate Require Write.ScriptsGate Write.ScriptsStages.
Import ListNotations.
Open Scope string_scope.
Open Scope N_scope.

(** [who] counts the subscribers from 0 in the order in which they came. *)
Inductive op :=
| Subscribe (how : Hub.policy) (elements bytes : N)
| Request (who n : N)
| Replenish
| Arrive (size : N)
| Share
| Receive (who : N)
| Leave (who : N)
| Finish (who : N) (why : Overflow.buffer_end)
| Upstream_ended.

(** An element: its number, and its size. *)
Definition element := (N * N)%type.

Record member := Member { of : Hub.subscriber; box : list element }.

Record scene := Scene {
  hub : Hub.hub;
  queue : list element;
  members : list member;
  arrived : N;
}.

Definition policy_text (p : Hub.policy) : json :=
  Text (match p with
        | Hub.HoldUp => "hold_up"
        | Hub.DropElements how => ScriptsStages.plan how
        | Hub.Disconnect => "disconnect"
        end).

Definition nobody : member := Member (Hub.Subscriber 0 (Overflow.Buffer Overflow.Fail 1 1 0 0 0 None)) [].

Definition sum (all : list element) : N := fold_left (fun n one => n + snd one) all 0.

(** Shares one element with one subscriber, making room as long as that is what it says. *)
Fixpoint shared (fuel : nat) (m : member) (one : element) : json * member :=
  let '(after, answer) := Hub.share_with (of m) (snd one) in
  match answer, fuel with
  | Hub.MakeRoom what, S less =>
      let '(gone, kept) :=
        match what, box m with
        | Overflow.Everything, all => (all, [])
        | Overflow.Oldest, first :: rest => ([first], rest)
        | Overflow.Newest, all => ([List.last all (0, 0)], removelast all)
        | _, [] => ([], [])
        end in
      shared less (Member (Hub.threw_out after (N.of_nat (List.length gone)) (sum gone)) kept) one
  | Hub.Keep, _ => (Text "keep", Member after (box m ++ [one])%list)
  | Hub.HandOn, _ => (Text "hand_on", Member after (box m))
  | Hub.Lose, _ => (Text "lose", Member after (box m))
  | Hub.HeldUp, _ => (Text "held_up", Member after (box m))
  | Hub.Expelled, _ => (Text "expelled", Member after (box m))
  | Hub.Gone, _ => (Text "gone", Member after (box m))
  | Hub.MakeRoom _, O => (Text "make_room", m)
  end.

Fixpoint change (who : nat) (with_ : member -> member) (all : list member) : list member :=
  match all, who with
  | [], _ => []
  | one :: rest, O => with_ one :: rest
  | one :: rest, S less => one :: change less with_ rest
  end.

Definition member_at (s : scene) (who : N) : member := nth (N.to_nat who) (members s) nobody.

Definition with_member (s : scene) (who : N) (m : member) : scene :=
  Scene (hub s) (queue s) (change (N.to_nat who) (fun _ => m) (members s)) (arrived s).

Definition step (s : scene) (o : op) : json * scene :=
  match o with
  | Subscribe how elements bytes =>
      match Hub.subscribed how elements bytes with
      | Some one =>
          (Text "yes",
           Scene (hub s) (queue s) (members s ++ [Member one []])%list (arrived s))
      | None => (Text "no", s)
      end
  | Request who n =>
      let m := member_at s who in
      (Null, with_member s who (Member (Hub.request (of m) n) (box m)))
  | Replenish =>
      let demand := fold_left (fun n m => Hub.largest n (of m)) (members s) 0 in
      let '(after, n) := Hub.replenish (hub s) demand in
      (Number n, Scene after (queue s) (members s) (arrived s))
  | Arrive size =>
      let '(after, answer) := Hub.arrive (hub s) in
      match answer with
      | Hub.Accepted =>
          (Text "accepted",
           Scene after (queue s ++ [(arrived s, size)])%list (members s) (arrived s + 1))
      | Hub.Unasked => (Text "unasked", s)
      end
  | Share =>
      let one := hd (0, 0) (queue s) in
      let anybody := existsb (fun m => Hub.is_live (of m)) (members s) in
      let held_up := existsb (fun m => Hub.holds_up (of m) (snd one)) (members s) in
      let '(after, turn) := Hub.share_next (hub s) anybody held_up in
      match turn with
      | Hub.Share =>
          let all := map (fun m => shared (S (List.length (box m))) m one) (members s) in
          (Object [("shared", Items (map fst all))],
           Scene after (tl (queue s)) (map snd all) (arrived s))
      | Hub.Blocked => (Text "blocked", s)
      | Hub.Nothing => (Text "nothing", s)
      end
  | Receive who =>
      let m := member_at s who in
      let oldest := hd (0, 0) (box m) in
      let '(after, answer) := Hub.receive (of m) (snd oldest) in
      match answer with
      | Hub.Received =>
          (Object [("received", Number (fst oldest))],
           with_member s who (Member after (tl (box m))))
      | Hub.NotAsked => (Text "not_asked", s)
      | Hub.NothingYet => (Text "nothing_yet", s)
      | Hub.NoMore why => (Object [("no_more", Text (ScriptsStages.why why))], s)
      end
  | Leave who =>
      let '(after, n) := Hub.leave (of (member_at s who)) in
      (Number n, with_member s who (Member after []))
  | Finish who why =>
      let m := member_at s who in
      let '(after, news) := Hub.finish (of m) why in
      (Text (if news then "yes" else "no"), with_member s who (Member after (box m)))
  | Upstream_ended =>
      (Null, Scene (Hub.upstream_ended (hub s)) (queue s) (members s) (arrived s))
  end.

Definition fields_of (o : op) : list field :=
  match o with
  | Subscribe how elements bytes =>
      [("op", Text "subscribe"); ("policy", policy_text how); ("elements", Number elements);
       ("bytes", Number bytes)]
  | Request who n => [("op", Text "request"); ("who", Number who); ("n", Number n)]
  | Replenish => [("op", Text "replenish")]
  | Arrive size => [("op", Text "arrive"); ("size", Number size)]
  | Share => [("op", Text "share")]
  | Receive who => [("op", Text "receive"); ("who", Number who)]
  | Leave who => [("op", Text "leave"); ("who", Number who)]
  | Finish who why =>
      [("op", Text "finish"); ("who", Number who); ("why", Text (ScriptsStages.why why))]
  | Upstream_ended => [("op", Text "upstream_ended")]
  end.

Definition numbers (all : list element) : json := Items (map (fun one => Number (fst one)) all).

Definition member_json (m : member) : json :=
  let b := Hub.buffer (of m) in
  Object
    [("owed", Number (Hub.owed (of m))); ("lost", Number (Overflow.lost b));
     ("ended", or_null (fun how => Text (ScriptsStages.why how)) (Overflow.ended b));
     ("box", numbers (box m))].

Definition machine : machine_of scene op :=
  Machine _ _ fields_of step
    (fun s => [("state", Object
        [("asked", Number (Hub.asked (hub s))); ("queue", numbers (queue s));
         ("members", Items (map member_json (members s)))])]).

(** A hub without room has a script without steps. *)
Definition hub_script (name : string) (room : N) (ops : list op) : script :=
  Script name [("open", Object [("room", Number room)])]
    (match Hub.opened room with Some h => replay machine (Scene h [] [] 0) ops | None => [] end).

Definition policies : list Hub.policy :=
  [Hub.HoldUp; Hub.DropElements Overflow.DropHead; Hub.DropElements Overflow.DropTail;
   Hub.DropElements Overflow.DropNew; Hub.DropElements Overflow.DropBuffer; Hub.Disconnect].

(** A slow subscriber under each policy beside one that is waited for, with elements on their way. *)
Definition prelude (slow : Hub.policy) : list op :=
  [Subscribe slow 2 5; Subscribe Hub.HoldUp 1 9; Request 1 6; Request 0 1; Replenish; Arrive 1; Arrive 3;
   Share; Share; Arrive 1].

Definition alphabet : list op :=
  [Request 0 1; Arrive 2; Share; Receive 0; Leave 0; Finish 0 Overflow.Completed; Replenish].

Fixpoint random (length : nat) (people : N) (d : dice) : list op :=
  match length with
  | O => []
  | S less =>
      let '(which, d) := throw 100 d in
      let '(who, d) := throw (N.max 1 people) d in
      let '(n, d) := choose 1 [0; 1; 1; 2; 3; 5] d in
      let '(how, d) := choose Hub.HoldUp policies d in
      let '(size, d) := throw 7 d in
      let '(rest_people, one) :=
        if (which <? 2) || (people =? 0) then (people + 1, Subscribe how (n + 1) (size + 4))
        else if which <? 20 then (people, Request who n)
        else if which <? 35 then (people, Replenish)
        else if which <? 60 then (people, Arrive size)
        else if which <? 80 then (people, Share)
        else if which <? 97 then (people, Receive who)
        else if which =? 97 then (people, Leave who)
        else if (which =? 98) && (size <? 3) then (people, Finish who Overflow.Failed)
        else if (which =? 99) && (size <? 1) then (people, Upstream_ended)
        else (people, Share) in
      one :: random less rest_people d
  end%bool.

Definition hub_scripts (_ : unit) : list script :=
  ([hub_script "cannot be opened" 0 [];
    hub_script "a subscriber that could hold nothing" 1
      [Subscribe Hub.Disconnect 0 1; Subscribe Hub.Disconnect 1 0; Subscribe Hub.HoldUp 1 1];
    hub_script "demand adds up to 2^64 - 1" 3
      [Subscribe Hub.HoldUp 1 1; Request 0 ScriptsGate.max; Request 0 1; Replenish; Arrive 1;
       Replenish; Share; Replenish]] ++
   flat_map
     (fun slow =>
        numbered
          (fun n ops =>
             hub_script (match policy_text slow with Text t => t | _ => "" end ++
                         ", sequence " ++ show n) 2 (prelude slow ++ ops)%list)
          (sequences alphabet 3)) policies ++
   map (fun seed =>
          let '(room, d) := throw 6 (seeded (seed + 14000)) in
          hub_script ("random subscribers " ++ show seed) (room + 1) (random 80 0 d))
     (ScriptsGate.seeds 60))%list.

Definition files : list file := [File "inner" "hub" "hub" hub_scripts].
