(** Inner scripts of a call on its way: how it ends at its handler's side, how far it has come, which
    way its grants go, which windows it starts with, and where its frames are counted. *)

From Coq Require Import NArith String List Bool.
From Sluicegate Require Import Write.Scripts Write.ScriptsDice.
From Sluicegate Require Decide.Cancel Decide.Direction Decide.Phase Decide.Relay Decide.Facts.
From Sluicegate Require Decide.Accounting Decide.Disposition Law.Accounting.
From Sluicegate Require Write.ScriptsGate Write.ScriptsFlows.
Import ListNotations.
Open Scope string_scope.
Open Scope N_scope.

Definition yes := ScriptsFlows.yes.

(** ** Cancel, failure and return *)

Inductive event := Begin | Cancelled | Returned (success : bool) | Close_stream.

Definition stage_text (s : Cancel.stage) : json :=
  Text (match s with
        | Cancel.Unknown => "unknown" | Cancel.Queued => "queued" | Cancel.Running => "running"
        | Cancel.Stopping => "stopping" | Cancel.Ended => "ended" end).

Definition duty_json (d : Cancel.duty) : json :=
  Object
    [("duty", Text (match d with
                    | Cancel.Nothing => "nothing" | Cancel.Start => "start"
                    | Cancel.ReleaseAll => "release_all" | Cancel.SendEnd => "send_end"
                    | Cancel.SendErr => "send_err" end));
     ("terminal", or_null (fun kind => Text (ScriptsFlows.kind_name kind)) (Cancel.terminal_of d));
     ("releases", yes (Cancel.releases d))].

Definition cancel_machine : machine_of Cancel.stage event :=
  Machine _ _
    (fun e => match e with
              | Begin => [("op", Text "begin")]
              | Cancelled => [("op", Text "cancel")]
              | Returned success => [("op", Text "returned"); ("success", yes success)]
              | Close_stream => [("op", Text "close_stream")]
              end)
    (fun now e =>
       let '(after, duty) :=
         match e with
         | Begin => Cancel.begin now
         | Cancelled => Cancel.cancel now
         | Returned success => Cancel.returned now success
         | Close_stream => Cancel.close_stream now
         end in
       (duty_json duty, after))
    (fun now => [("state", Object [("stage", stage_text now)])]).

Definition cancel_script (name : string) (first : Cancel.stage) (events : list event) : script :=
  Script name [("open", Object [("stage", stage_text first)])] (replay cancel_machine first events).

Definition events : list event := [Begin; Cancelled; Returned true; Returned false; Close_stream].

Definition stages : list Cancel.stage :=
  [Cancel.Unknown; Cancel.Queued; Cancel.Running; Cancel.Stopping; Cancel.Ended].

Definition cancel_scripts (_ : unit) : list script :=
  numbered (fun n one => cancel_script ("sequence " ++ show n) (fst one) (snd one))
    (flat_map (fun first => map (fun all => (first, all)) (sequences events 2)) stages ++
     map (fun all => (Cancel.Queued, all)) (sequences events 4))%list.

(** ** How far it has come *)

Definition phase_text (p : Phase.phase) : json :=
  Text (match p with Phase.Created => "created" | Phase.Streaming => "streaming" end).

Definition phase_machine : machine_of Phase.phase Facts.frame_type :=
  Machine _ _
    (fun kind => [("op", Text "passed"); ("kind", Text (ScriptsFlows.kind_name kind))])
    (fun now kind => (Null, Phase.passed now kind))
    (fun now => [("state", Object [("phase", phase_text now)])]).

Definition phase_script (name : string) (kinds : list Facts.frame_type) : script :=
  Script name [] (replay phase_machine Phase.Created kinds).

Definition phase_scripts (_ : unit) : list script :=
  flat_map
    (fun one =>
       map (fun other =>
              phase_script
                (ScriptsFlows.kind_name one ++ ", then " ++ ScriptsFlows.kind_name other)
                [one; other]) ScriptsFlows.kinds) ScriptsFlows.kinds.

(** ** Which way, and whose gate *)

Inductive question :=
| Granted_by (consumer : Direction.side)
| Released_by (direction : Direction.credit_direction)
| At_host (direction : option Direction.credit_direction)
| At_switch (routing_id : bool).

Definition side_text (s : Direction.side) : json :=
  Text (match s with Direction.Caller => "caller" | Direction.Handler => "handler" end).

Definition direction_text (d : Direction.credit_direction) : json :=
  Text (match d with Direction.Request => "request" | Direction.Response => "response" end).

Definition way_text (w : Direction.way) : json :=
  Text (match w with
        | Direction.ToCaller => "to_caller" | Direction.ToHandler => "to_handler"
        | Direction.Nowhere => "nowhere" end).

Definition direction_machine : machine_of unit question :=
  Machine _ _
    (fun q => match q with
              | Granted_by consumer => [("op", Text "granted_by"); ("side", side_text consumer)]
              | Released_by direction =>
                  [("op", Text "released_by"); ("direction", direction_text direction)]
              | At_host direction =>
                  [("op", Text "at_host"); ("direction", or_null direction_text direction)]
              | At_switch id => [("op", Text "at_switch"); ("routing_id", yes id)]
              end)
    (fun s q =>
       (match q with
        | Granted_by consumer => direction_text (Direction.granted_by consumer)
        | Released_by direction => side_text (Direction.released_by direction)
        | At_host direction => way_text (Direction.at_host direction)
        | At_switch id => way_text (Direction.at_switch id)
        end, s))
    (fun _ => []).

Definition direction_scripts (_ : unit) : list script :=
  [Script "whose gate a grant releases" []
     (replay direction_machine tt
        [Granted_by Direction.Caller; Granted_by Direction.Handler;
         Released_by Direction.Request; Released_by Direction.Response]);
   Script "which way a relay sends" []
     (replay direction_machine tt
        [At_host (Some Direction.Request); At_host (Some Direction.Response); At_host None;
         At_switch true; At_switch false])].

(** ** Which windows *)

Inductive windows := Noticed (offered : option N) | May_join (caller handler : N).

Definition relay_machine : machine_of unit windows :=
  Machine _ _
    (fun o => match o with
              | Noticed offered => [("op", Text "noticed"); ("offered", or_null Number offered)]
              | May_join caller handler =>
                  [("op", Text "may_join"); ("caller", Number caller); ("handler", Number handler)]
              end)
    (fun s o =>
       (match o with
        | Noticed offered => Number (Relay.noticed offered)
        | May_join caller handler => yes (Relay.may_join caller handler)
        end, s))
    (fun _ => []).

Definition sizes : list N := [0; 1; 2; 16; 31; 32; 33; 4294967296; ScriptsGate.max - 1; ScriptsGate.max].

Fixpoint joins (length : nat) (d : dice) : list windows :=
  match length with
  | O => []
  | S less =>
      let '(caller, d) := large d in
      let '(near, d) := throw 3 d in
      May_join caller (if near =? 0 then caller else N.lxor caller near) :: joins less d
  end.

Definition relay_scripts (_ : unit) : list script :=
  [Script "what a notice offers" []
     (replay relay_machine tt (Noticed None :: map (fun n => Noticed (Some n)) sizes));
   Script "which links may be joined" []
     (replay relay_machine tt
        (flat_map (fun caller => map (May_join caller) sizes) sizes));
   Script "links at random" [] (replay relay_machine tt (joins 100 (seeded 12000)))].

(** ** Where a frame is counted *)

Definition reason_name (r : Decide.Accounting.drop_reason) : string :=
  match r with
  | Decide.Accounting.NoRoute => "no_route"
  | Decide.Accounting.ChannelClosed => "channel_closed"
  | Decide.Accounting.CreditViolation => "credit_violation"
  | Decide.Accounting.Cancelled => "cancelled"
  | Decide.Accounting.MasterDied => "master_died"
  | Decide.Accounting.LimitReached => "limit_reached"
  | Decide.Accounting.Protocol => "protocol"
  | Decide.Accounting.Unread => "unread"
  | Decide.Accounting.EventUnread => "event_unread"
  | Decide.Accounting.LogLaneFull => "log_lane_full"
  | Decide.Accounting.NotEncodable => "not_encodable"
  end.

Definition became_text (d : Disposition.disposition) : json :=
  Text (match d with
        | Disposition.Route => "route" | Disposition.Straggler => "straggler"
        | Disposition.NoRoute => "no_route" end).

(** What became of a frame, and what kept it from being handed on. *)
Definition seen_frame := (Disposition.disposition * option Decide.Accounting.drop_reason)%type.

Definition accounting_machine : machine_of unit seen_frame :=
  Machine _ _
    (fun f => [("op", Text "fate"); ("became", became_text (fst f));
               ("trouble", or_null (fun r => Text (reason_name r)) (snd f))])
    (fun s f =>
       (match Decide.Accounting.fate_of (fst f) (snd f) with
        | Decide.Accounting.Passed => Text "passed"
        | Decide.Accounting.Late => Text "late"
        | Decide.Accounting.Dropped why => Object [("dropped", Text (reason_name why))]
        end, s))
    (fun _ => []).

Definition accounting_scripts (_ : unit) : list script :=
  [Script "every frame" []
     (replay accounting_machine tt
        (flat_map
           (fun became =>
              map (fun trouble => (became, trouble)) (None :: map Some Law.Accounting.reasons))
           [Disposition.Route; Disposition.Straggler; Disposition.NoRoute]))].

Definition files : list file :=
  [File "inner" "cancel" "cancel" cancel_scripts;
   File "inner" "phase" "phase" phase_scripts;
   File "inner" "direction" "direction" direction_scripts;
   File "inner" "relay" "relay" relay_scripts;
   File "inner" "accounting" "accounting" accounting_scripts].
