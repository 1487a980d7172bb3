(** A live feed's capture ring: what happens to an item that the device produced, and which loss is
    told with which item. *)

From Coq Require Import NArith.
From Sluicegate Require Import Base.U64.

Unset Elimination Schemes.

(** What a feed does when its ring is full. A device cannot wait. *)
Inductive overrun_policy :=
| DropOldest (** The oldest item makes room: fresh data matters more than complete data. *)
| Fail (** The feed ends with [FEED_OVERRUN] once what it holds was delivered. *).

(** Why a feed captures no more. *)
Inductive feed_end :=
| Finished (** The source came to its end, or was asked to stop. *)
| Overrun (** An item found the ring full under [Fail]: [FEED_OVERRUN], class resource. *)
| Broken (** The device failed. *)
| Abandoned (** Nobody wants the items any more. *).

(** Where a feed is in its life. *)
Inductive feed_phase :=
| Capturing (** Items are taken in. *)
| Ending (why : feed_end) (** Nothing is taken in any more; what is held is still delivered. *).

(** A feed's state. All counts are items; at any moment
    [captured = delivered + dropped + held]. *)
Record feed := Feed {
  capacity : N; (** Items the ring can hold, at least 1. *)
  policy : overrun_policy; (** What happens when it is full. *)
  phase : feed_phase; (** Where the feed is in its life. *)
  held : N; (** Items in the ring. *)
  captured : N; (** Items the device produced while the feed was capturing: the next item's number. *)
  delivered : N; (** Items that left the ring for the consumer. *)
  dropped : N; (** Items lost, for whatever reason. *)
  overruns : N; (** Of these, how many because the consumer was slower than reality. *)
  before : N; (** Items lost between the last delivered item and the oldest in the ring. *)
  behind : N; (** Items lost behind the newest in the ring. *)
  last_pts : option N; (** Presentation time of the last delivered item, in microseconds. *)
}.

(** A loss, told with the first item that is delivered after it. *)
Record gap := Gap {
  lost : N; (** Items lost since the item delivered before. On the wire: [dropped]. *)
  duration_us : N; (** Presentation time from the item delivered before to this one, in
    microseconds; 0 if there was none before. *)
}.

(** What the capture side is told. It is never told to wait. *)
Inductive capture_answer :=
| Stored (number : N) (** Put the item, which has this number, at the ring's end. *)
| Evicted (number : N) (** Throw the oldest item away first, then put this one at the ring's end. *)
| Overflowed (number : N) (** The ring is full and the policy is [Fail]: throw this item away. *)
| Refused (** The feed captures no more. The item counts nowhere. *).

(** What the consumer's side is told. *)
Inductive delivery :=
| Item (marker : option gap) (** Hand on the oldest item, stamped with this gap if there is one. *)
| Empty (** Nothing is held and the device is running: wait. *)
| Over (why : feed_end) (missing : N) (** The feed is over, each time it is asked; [missing] items
    were lost behind the last one delivered. *).

(** A fresh feed whose ring holds [size] items. None for a ring that could hold nothing. *)
Definition opened (size : N) (on_overrun : overrun_policy) : option feed :=
  if U64.eqb size 0 then None
  else Some (Feed size on_overrun Capturing 0 0 0 0 0 0 0 None).

(** The device produced an item. Decides at once and blocks nothing. *)
Definition capture (f : feed) : feed * capture_answer :=
  match phase f with
  | Ending _ => (f, Refused)
  | Capturing =>
    let counted := U64.sat_add (captured f) 1 in
    if U64.ltb (held f) (capacity f) then
      (Feed (capacity f) (policy f) Capturing (U64.sat_add (held f) 1) counted (delivered f)
         (dropped f) (overruns f) (before f) (behind f) (last_pts f), Stored (captured f))
    else
      match policy f with
      | DropOldest =>
        (Feed (capacity f) DropOldest Capturing (held f) counted (delivered f)
           (U64.sat_add (dropped f) 1) (U64.sat_add (overruns f) 1) (U64.sat_add (before f) 1)
           (behind f) (last_pts f), Evicted (captured f))
      | Fail =>
        (Feed (capacity f) Fail (Ending Overrun) (held f) counted (delivered f)
           (U64.sat_add (dropped f) 1) (U64.sat_add (overruns f) 1) (before f)
           (U64.sat_add (behind f) 1) (last_pts f), Overflowed (captured f))
      end
  end.

(** The consumer has room for an item. [oldest_pts] is the presentation time of the oldest item in
    the ring, in microseconds; it is not looked at when nothing is held. Nothing that was lost
    behind an item is ever told with it. *)
Definition deliver (f : feed) (oldest_pts : N) : feed * delivery :=
  if U64.eqb (held f) 0 then
    match phase f with
    | Capturing => (f, Empty)
    | Ending why => (f, Over why (U64.sat_add (before f) (behind f)))
    end
  else
    let marker :=
      if U64.eqb (before f) 0 then None
      else
        match last_pts f with
        | Some previous => Some (Gap (before f) (U64.sat_sub oldest_pts previous))
        | None => Some (Gap (before f) 0)
        end in
    (Feed (capacity f) (policy f) (phase f) (U64.sat_sub (held f) 1) (captured f)
       (U64.sat_add (delivered f) 1) (dropped f) (overruns f) 0 (behind f) (Some oldest_pts),
     Item marker).

(** No more is captured: the source ended, was asked to stop, or failed. What is held is still
    delivered. False if the feed was ending already: the first reason stays. *)
Definition end_capture (f : feed) (why : feed_end) : feed * bool :=
  match phase f with
  | Ending _ => (f, false)
  | Capturing =>
    (Feed (capacity f) (policy f) (Ending why) (held f) (captured f) (delivered f) (dropped f)
       (overruns f) (before f) (behind f) (last_pts f), true)
  end.

(** Nobody wants the items any more. Answers how many the ring has to throw away: all it holds. They
    are dropped, and no overruns. A feed that was ending keeps its reason. *)
Definition abandon (f : feed) : feed * N :=
  let ending :=
    match phase f with
    | Capturing => Ending Abandoned
    | Ending why => Ending why
    end in
  (Feed (capacity f) (policy f) ending 0 (captured f) (delivered f)
     (U64.sat_add (dropped f) (held f)) (overruns f) (before f)
     (U64.sat_add (behind f) (held f)) (last_pts f), held f).
