(** Inner scripts of requests: the table with its ring of ended ids, and the emission check. *)

From Coq Require Import NArith String List Bool.
From Sluicegate Require Import Write.Scripts Write.ScriptsDice.
From Sluicegate Require Decide.Disposition Decide.Emission.
From Sluicegate Require Write.ScriptsGate Write.ScriptsRouter.
Import ListNotations.
Open Scope string_scope.
Open Scope N_scope.

(** ** The table: who is live, and who ended lately, oldest first *)

Inductive op := Register (id : N) | End (id : N) | Dispose (id : N).

Record table := Table { live : list N; ended : list N; limit : N }.

Definition holds (id : N) (all : list N) : bool := existsb (N.eqb id) all.
Definition without (id : N) (all : list N) : list N := filter (fun one => negb (one =? id)) all.
Definition count (all : list N) : N := N.of_nat (List.length all).

Definition remembered (id : N) (ring : list N) : list N :=
  match Disposition.remember (holds id ring) (count ring) with
  | Disposition.Renew => without id ring ++ [id]
  | Disposition.Enter => ring ++ [id]
  | Disposition.EnterForgetOldest => tl ring ++ [id]
  end%list.

Definition step (t : table) (o : op) : json * table :=
  match o with
  | Register id =>
      match Disposition.register false (holds id (live t)) (count (live t)) (limit t) with
      | Disposition.Registered => (Text "registered", Table (live t ++ [id])%list (ended t) (limit t))
      | Disposition.AlreadyLive => (Text "already_live", t)
      | Disposition.Full => (Text "full", t)
      | Disposition.LinkClosed => (Text "link_closed", t)
      end
  | End id =>
      if holds id (live t)
      then (Text "ended", Table (without id (live t)) (remembered id (ended t)) (limit t))
      else (Text "not_live", t)
  | Dispose id =>
      (Text (match Disposition.dispose (holds id (live t)) (holds id (ended t)) with
             | Disposition.Route => "route"
             | Disposition.Straggler => "straggler"
             | Disposition.NoRoute => "no_route"
             end), t)
  end.

Definition fields_of (o : op) : list field :=
  match o with
  | Register id => [("op", Text "register"); ("id", Number id)]
  | End id => [("op", Text "end"); ("id", Number id)]
  | Dispose id => [("op", Text "dispose"); ("id", Number id)]
  end.

Definition table_machine : machine_of table op :=
  Machine _ _ fields_of step
    (fun t => [("state", Object [("live", Items (map Number (live t)));
                                 ("ended", Items (map Number (ended t)))])]).

Definition table_script (name : string) (limit : N) (ops : list op) : script :=
  Script name [("open", Object [("limit", Number limit)])] (replay table_machine (Table [] [] limit) ops).

Fixpoint walk (length : nat) (d : dice) : list op :=
  match length with
  | O => []
  | S less =>
      let '(id, d) := throw 90 d in
      let '(which, d) := throw 5 d in
      (if which <? 2 then [Register id; End id]
       else if which =? 2 then [Register id]
       else if which =? 3 then [Dispose id]
       else [End id; Dispose id]) ++ walk less d
  end%list.

Definition round (id : N) : list op := [Register id; End id].

Definition table_scripts (_ : unit) : list script :=
  (numbered (fun n ops => table_script ("sequence " ++ show n) 1 ops)
     (sequences [Register 1; Register 2; End 1; Dispose 1; Dispose 2] 4) ++
   [table_script "the 65th end forgets the first" 1024
      (flat_map round (ScriptsGate.seeds 64) ++
       [Dispose 0; Dispose 63] ++ round 64 ++ [Dispose 0; Dispose 1; Dispose 64; Dispose 65])%list;
    table_script "an id that ends again is the newest" 1024
      (flat_map round (ScriptsGate.seeds 64) ++
       round 0 ++ round 64 ++ [Dispose 0; Dispose 1; Dispose 2; Register 2; Dispose 2])%list] ++
   map (fun seed =>
          table_script ("random requests " ++ show seed) (if N.even seed then 1024 else 6)
            (walk 120 (seeded (seed + 8000))))
     (ScriptsGate.seeds 8))%list.

(** ** The emission check over one flow *)

(** A frame, and the stream that it names. *)
Definition frame := (option string * Emission.written)%type.

Record sent := Sent { flow : Emission.emission; streams : list (string * Emission.named_stream) }.

Definition named (s : sent) (name : option string) : Emission.named_stream :=
  match name with
  | Some name =>
      match ScriptsRouter.find String.eqb name (streams s) with
      | Some one => one
      | None => Emission.Unused
      end
  | None => Emission.Unused
  end.

Definition verdict (v : Emission.verdict) : json :=
  match v with
  | Emission.Good => Text "good"
  | Emission.AfterEnd => Text "after_end"
  | Emission.Restarted => Text "restarted"
  | Emission.NotOpen => Text "not_open"
  | Emission.OutOfPlace expected => Object [("out_of_place", Number expected)]
  | Emission.CountWrong sent => Object [("count_wrong", Number sent)]
  | Emission.EndWithOpenStream => Text "end_with_open_stream"
  end.

Definition check (s : sent) (f : frame) : json * sent :=
  let '((after, stream), said) := Emission.check (flow s) (named s (fst f)) (snd f) in
  let streams :=
    match fst f with
    | Some name =>
        match stream with
        | Emission.Unused => streams s
        | _ => (ScriptsRouter.without String.eqb name (streams s) ++ [(name, stream)])%list
        end
    | None => streams s
    end in
  (verdict said, Sent after streams).

Definition emission_fields (f : frame) : list field :=
  let stream := ("stream", or_null Text (fst f)) in
  match snd f with
  | Emission.StreamStart => [("op", Text "stream_start"); stream]
  | Emission.Chunk index => [("op", Text "chunk"); stream; ("index", Number index)]
  | Emission.StreamEnd told => [("op", Text "stream_end"); stream; ("count", or_null Number told)]
  | Emission.End => [("op", Text "end")]
  | Emission.Err => [("op", Text "err")]
  | Emission.Other => [("op", Text "other")]
  end.

Definition emission_machine : machine_of sent frame :=
  Machine _ _ emission_fields check
    (fun s =>
       [("state",
         Object [("over", Text (if Emission.over (flow s) then "yes" else "no"));
                 ("open_streams", Number (Emission.open_streams (flow s)))])]).

Definition emission_script (name : string) (frames : list frame) : script :=
  Script name [] (replay emission_machine (Sent Emission.started []) frames).

Definition frames : list frame :=
  let a := Some "a" in
  [(a, Emission.StreamStart); (a, Emission.Chunk 0); (a, Emission.Chunk 1);
   (a, Emission.StreamEnd (Some 1)); (a, Emission.StreamEnd None); (Some "b", Emission.StreamStart);
   (None, Emission.End); (None, Emission.Err)].

Fixpoint emitted (length : nat) (s : sent) (d : dice) : list frame :=
  match length with
  | O => []
  | S less =>
      let '(name, d) := choose "a" ["a"; "b"; "c"] d in
      let '(which, d) := throw 40 d in
      let '(slip, d) := throw 12 d in
      let next := match named s (Some name) with Emission.Open next => next | _ => 0 end in
      let told := if slip =? 0 then next + 1 else next in
      let one : frame :=
        if which <? 6 then (Some name, Emission.StreamStart)
        else if which <? 32 then (Some name, Emission.Chunk told)
        else if which <? 35 then (Some name, Emission.StreamEnd (Some told))
        else if which =? 35 then (Some name, Emission.StreamEnd None)
        else if which =? 36 then (None, Emission.End)
        else if (which =? 37) && (slip =? 1) then (None, Emission.Err)
        else (None, Emission.Other) in
      one :: emitted less (snd (check s one)) d
  end%bool.

Definition emission_scripts (_ : unit) : list script :=
  (numbered (fun n all => emission_script ("sequence " ++ show n) all) (sequences frames 4) ++
   map (fun seed =>
          emission_script ("random frames " ++ show seed)
            (emitted 60 (Sent Emission.started []) (seeded (seed + 9000))))
     (ScriptsGate.seeds 40))%list.

Definition files : list file :=
  [File "inner" "table" "table" table_scripts;
   File "inner" "emission" "emission" emission_scripts].
