(** Inner scripts of flows: what each kind of frame is, reordering, the writer's gate and numbers, and
    the ledger. *)

From Coq Require Import NArith String List Bool.
From Sluicegate Require Import Write.Scripts Write.ScriptsDice.
From Sluicegate Require Decide.Facts Decide.Reorder Decide.Writer Decide.Ledger.
From Sluicegate Require Write.ScriptsGate.
Import ListNotations.
Open Scope string_scope.
Open Scope N_scope.

Definition max : N := ScriptsGate.max.

(** ** Frame facts *)

Definition kind_name (kind : Facts.frame_type) : string :=
  match kind with
  | Facts.Hello => "hello"
  | Facts.Req => "req"
  | Facts.Chunk => "chunk"
  | Facts.End => "end"
  | Facts.Log => "log"
  | Facts.Err => "err"
  | Facts.Heartbeat => "heartbeat"
  | Facts.StreamStart => "stream_start"
  | Facts.StreamEnd => "stream_end"
  | Facts.RelayNotify => "relay_notify"
  | Facts.RelayState => "relay_state"
  | Facts.Cancel => "cancel"
  | Facts.Credit => "credit"
  | Facts.CloseStream => "close_stream"
  | Facts.Policy => "policy"
  end.

Definition kinds : list Facts.frame_type :=
  [Facts.Hello; Facts.Req; Facts.Chunk; Facts.End; Facts.Log; Facts.Err; Facts.Heartbeat;
   Facts.StreamStart; Facts.StreamEnd; Facts.RelayNotify; Facts.RelayState; Facts.Cancel;
   Facts.Credit; Facts.CloseStream; Facts.Policy].

Definition yes (b : bool) : json := Text (if b then "yes" else "no").

Definition facts (kind : Facts.frame_type) : json :=
  let ends (how : Facts.flow_end) :=
    Text (match how with Facts.Finished => "finished" | Facts.Failed => "failed" end) in
  Object
    [("code", Number (Facts.code kind)); ("flow", yes (Facts.is_flow kind));
     ("ends", or_null ends (Facts.ends kind)); ("terminal", yes (Facts.is_terminal kind));
     ("cost", Number (Facts.cost kind))].

Definition fact_machine : machine_of unit (Facts.frame_type + N) :=
  Machine _ _
    (fun o => match o with
              | inl kind => [("op", Text "facts"); ("kind", Text (kind_name kind))]
              | inr code => [("op", Text "from_code"); ("code", Number code)]
              end)
    (fun s o => match o with
                | inl kind => (facts kind, s)
                | inr code =>
                    (or_null (fun kind => Text (kind_name kind)) (Facts.from_code code), s)
                end)
    (fun _ => []).

Definition fact_scripts (_ : unit) : list script :=
  [Script "every kind" [] (replay fact_machine tt (map inl kinds));
   Script "every number up to 300, and larger ones" []
     (replay fact_machine tt (map inr (ScriptsGate.seeds 301 ++ ScriptsGate.edges)))].

(** ** Reordering one flow *)

Record order := Order { expected : option N; held : list N; limit : N }.

Fixpoint hold (seq : N) (held : list N) : list N :=
  match held with
  | [] => [seq]
  | one :: rest => if seq <? one then seq :: held else one :: hold seq rest
  end.

(** What is delivered once [next] may be: it and each held successor. *)
Fixpoint delivered (fuel : nat) (next : option N) (held : list N) : list N * option N * list N :=
  match fuel, next with
  | S less, Some seq =>
      if existsb (N.eqb seq) held then
        let '(more, after, kept) :=
          delivered less (Reorder.after seq) (filter (fun one => negb (one =? seq)) held) in
        (seq :: more, after, kept)
      else ([], next, held)
  | _, _ => ([], next, held)
  end.

Definition accept (s : order) (seq : N) : json * order :=
  match
    Reorder.accept (expected s) seq (existsb (N.eqb seq) (held s))
      (N.of_nat (List.length (held s))) (limit s)
  with
  | Reorder.Deliver =>
      let '(more, after, kept) :=
        delivered (List.length (held s)) (Reorder.after seq) (held s) in
      (Object [("delivered", Items (map Number (seq :: more)))], Order after kept (limit s))
  | Reorder.Hold => (Text "hold", Order (expected s) (hold seq (held s)) (limit s))
  | Reorder.Stale => (Text "stale", s)
  | Reorder.Duplicate => (Text "duplicate", s)
  | Reorder.Overflow => (Text "overflow", s)
  end.

Definition order_machine : machine_of order N :=
  Machine _ _
    (fun seq => [("op", Text "accept"); ("seq", Number seq)]) accept
    (fun s => [("state", Object [("expected", or_null Number (expected s));
                                 ("held", Items (map Number (held s)))])]).

Definition order_script (name : string) (limit : N) (numbers : list N) : script :=
  Script name [("open", Object [("limit", Number limit)])]
    (replay order_machine (Order (Some 0) [] limit) numbers).

(** A walk ahead of what is expected, now and then behind it or far away. *)
Fixpoint arrivals (length : nat) (s : order) (d : dice) : list N :=
  match length with
  | O => []
  | S less =>
      let '(ahead, d) := throw 5 d in
      let '(which, d) := throw 12 d in
      let '(far, d) := choose 0 ScriptsGate.edges d in
      let next := match expected s with Some next => next | None => max end in
      let seq :=
        if which =? 0 then far else if which =? 1 then next - 1 else N.min max (next + ahead) in
      seq :: arrivals less (snd (accept s seq)) d
  end.

Definition random_order (seed : N) : script :=
  let limit := N.modulo seed 6 in
  order_script ("random arrivals " ++ show seed) limit
    (arrivals 80 (Order (Some 0) [] limit) (seeded (seed + 5000))).

Definition order_scripts (_ : unit) : list script :=
  (flat_map
     (fun limit =>
        numbered
          (fun n numbers =>
             order_script ("limit " ++ show limit ++ ", sequence " ++ show n) limit numbers)
          (sequences [0; 1; 2; 3] 4))
     [0; 1; 2] ++ map random_order (ScriptsGate.seeds 60))%list.

(** ** The writer of several flows: what it lets past, and under which number *)

Record flow := Flow { over : bool; next : N }.
Definition flows := list (string * flow).

Definition write (s : flows) (o : string * Facts.frame_type) : json * flows :=
  let '(name, kind) := o in
  let now :=
    match List.find (fun one => String.eqb name (fst one)) s with
    | Some one => snd one
    | None => Flow false 0
    end in
  let admitted := Writer.admit (over now) kind in
  let stamped := Writer.stamp (next now) kind in
  let after (one : flow) :=
    map (fun other => if String.eqb name (fst other) then (name, one) else other) s in
  match admitted with
  | Writer.Suppress => (Text "suppress", s)
  | Writer.Send =>
      (Object [("send", Number (Writer.seq stamped))],
       after (Flow (Writer.over_after (over now) admitted) (Writer.next stamped)))
  | Writer.SendLast =>
      (Object [("send_last", Number (Writer.seq stamped))],
       after (Flow (Writer.over_after (over now) admitted) (Writer.next stamped)))
  end.

Definition writer_machine : machine_of flows (string * Facts.frame_type) :=
  Machine _ _
    (fun o => [("op", Text "write"); ("flow", Text (fst o)); ("kind", Text (kind_name (snd o)))])
    write
    (fun s => [("state", Object (map (fun one => (fst one, yes (over (snd one)))) s))]).

Definition fresh (names : list string) : flows := map (fun name => (name, Flow false 0)) names.

Definition writer_script (name : string) (flows : list string) (ops : list (string * Facts.frame_type)) :=
  Script name [("open", Object [("flows", Items (map Text flows))])]
    (replay writer_machine (fresh flows) ops).

Fixpoint writes (length : nat) (d : dice) : list (string * Facts.frame_type) :=
  match length with
  | O => []
  | S less =>
      let '(flow, d) := choose "1" ["1"; "2"; "3"; "4"] d in
      let '(kind, d) := choose Facts.Chunk (kinds ++ repeat Facts.Chunk 25)%list d in
      (flow, kind) :: writes less d
  end.

Definition writer_scripts (_ : unit) : list script :=
  (numbered (fun n ops => writer_script ("sequence " ++ show n) ["1"; "2"] ops)
     (sequences
        [("1", Facts.Req); ("1", Facts.Chunk); ("1", Facts.End); ("1", Facts.Err); ("2", Facts.Chunk);
         ("1", Facts.Credit)] 4) ++
   map (fun seed =>
          writer_script ("random frames " ++ show seed) ["1"; "2"; "3"; "4"]
            (writes 60 (seeded (seed + 6000))))
     (ScriptsGate.seeds 40))%list.

(** ** The ledger of one stream *)

Definition balance (b : Ledger.balance) : json :=
  match b with
  | Ledger.Left n => Object [("left", Number n)]
  | Ledger.Overrun n => Object [("overrun", Number n)]
  end.

Definition ledger_machine : machine_of Ledger.balance (Facts.frame_type * N) :=
  Machine _ _
    (fun o => [("op", Text "seen"); ("kind", Text (kind_name (fst o))); ("n", Number (snd o))])
    (fun s o => (Null, Ledger.seen s (fst o) (snd o)))
    (fun s => [("state", balance s)]).

Fixpoint seen (length : nat) (d : dice) : list (Facts.frame_type * N) :=
  match length with
  | O => []
  | S less =>
      let '(kind, d) :=
        choose Facts.Chunk (kinds ++ repeat Facts.Chunk 12 ++ repeat Facts.Credit 5)%list d in
      let '(n, d) := ScriptsGate.amount 4 d in
      (kind, n) :: seen less d
  end.

Definition ledger_script (name : string) (window : N) (ops : list (Facts.frame_type * N)) : script :=
  Script name [("open", Object [("window", Number window)])]
    (replay ledger_machine (Ledger.seeded window) ops).

Definition ledger_scripts (_ : unit) : list script :=
  (flat_map
     (fun window =>
        numbered
          (fun n ops =>
             ledger_script ("window " ++ show window ++ ", sequence " ++ show n) window ops)
          (sequences [(Facts.Chunk, 0); (Facts.Credit, 1); (Facts.Credit, 3); (Facts.End, 2)] 4))
     [0; 1; 2] ++
   map (fun seed =>
          ledger_script ("random frames " ++ show seed) (N.modulo seed 5)
            (seen 60 (seeded (seed + 7000))))
     (ScriptsGate.seeds 40))%list.

Definition files : list file :=
  [File "inner" "facts" "facts" fact_scripts;
   File "inner" "reorder" "reorder" order_scripts;
   File "inner" "writer" "writer" writer_scripts;
   File "inner" "ledger" "ledger" ledger_scripts].
