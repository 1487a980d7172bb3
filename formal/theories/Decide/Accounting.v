(** Which counter a frame moves: passed, straggler by type, or drop by reason and type. What a live
    source discards is a third family, and no frame. *)

From Sluicegate Require Decide.Disposition.

Unset Elimination Schemes.

(** Why a frame was lost. *)
Inductive drop_reason :=
| NoRoute (** Its request is not known. *)
| ChannelClosed (** The link that it had to go to is gone. *)
| CreditViolation (** It came beyond the window of its stream (L12). *)
| Cancelled (** Its request was cancelled before it was handed on. *)
| MasterDied (** The process that it had to go to is gone. *)
| LimitReached (** It is larger than its receiver takes. *)
| Protocol (** It does not fit to what came before it. *)
| Unread (** More than a window waits for who does not read (L10). *)
| EventUnread (** Newer events took the place of one that nobody had read. *)
| LogLaneFull (** More messages wait than may. *)
| NotEncodable (** It is larger than the other end takes. *).

(** Where a frame is counted. *)
Inductive fate :=
| Passed (** It went where it belongs. *)
| Late (** It is a straggler: it crossed its request's end in flight. Benign (L8). *)
| Dropped (why : drop_reason) (** It was lost (L6). *).

(** The fate of a frame by what became of it; [trouble] tells why a frame of a live request could not
    be handed on. Without a live request there is no such trouble: it is late, or has no route. *)
Definition fate_of (became : Disposition.disposition) (trouble : option drop_reason) : fate :=
  match became with
  | Disposition.Route =>
    match trouble with
    | Some why => Dropped why
    | None => Passed
    end
  | Disposition.Straggler => Late
  | Disposition.NoRoute => Dropped NoRoute
  end.
