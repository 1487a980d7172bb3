(** Pure scripts of gates: the gate's decision, nobody else in line. *)

From Coq Require Import NArith String List.
From Sluicegate Require Import Write.Scripts Write.ScriptsDice.
From Sluicegate Require Decide.Gate.
Import ListNotations.
Open Scope string_scope.
Open Scope N_scope.

Inductive op := Acquire (n : N) | Grant (n : N) | Close (reason : string).

(** The decision keeps whether, the scripts also with which reason: the first. *)
Definition state := (Gate.gate * option string)%type.

Definition opened (window : N) : state := (Gate.opened window, None).

Definition closing (reason : option string) : json :=
  Object [("closed", or_null Text reason)].

Definition acquired (answer : Gate.acquire_answer) (reason : option string) : json :=
  match answer with
  | Gate.Taken => Text "acquired"
  | Gate.Wait => Text "wait"
  | Gate.Closed => closing reason
  end.

Definition close (s : state) (reason : string) : state :=
  let '(after, first) := Gate.close (fst s) in
  (after, if first : bool then Some reason else snd s).

Definition step (s : state) (o : op) : json * state :=
  let '(gate, reason) := s in
  match o with
  | Acquire n =>
      let '(after, answer) := Gate.acquire gate n false in
      (acquired answer reason, (after, reason))
  | Grant n => (Null, (Gate.grant gate n, reason))
  | Close why => (Null, close s why)
  end.

Definition fields_of (o : op) : list field :=
  match o with
  | Acquire n => [("op", Text "acquire"); ("n", Number n)]
  | Grant n => [("op", Text "grant"); ("n", Number n)]
  | Close reason => [("op", Text "close"); ("reason", Text reason)]
  end.

Definition shown (s : state) : json :=
  Object [("available", Number (Gate.available (fst s))); ("closed", or_null Text (snd s))].

Definition machine : machine_of state op :=
  Machine _ _ fields_of step (fun s => [("state", shown s)]).

Definition script (name : string) (window : N) (ops : list op) : script :=
  Script name [("open", Object [("window", Number window)])] (replay machine (opened window) ops).

(** ** Named ones *)

Definition max : N := 18446744073709551615.
Definition signed : N := 9223372036854775807.

Definition windows : list N := [0; 1; 2; 3; 4; 5; 7; 8; 31; 32; 33].

Definition edges : list N :=
  [0; 1; 2; 3; 8; 32; 2147483647; 2147483648; 4294967296; 9007199254740993;
   signed; 9223372036854775808; max - 1; max].

Definition drained (w : N) :=
  script ("window " ++ show w ++ " drains chunk by chunk and comes back") w
    (repeat (Acquire 1) (N.to_nat w + 2) ++
     [Acquire 0; Grant 0; Acquire 1; Grant 1; Acquire 1; Acquire 1; Grant w; Acquire w;
      Acquire (w + 1); Grant (w + 1); Acquire (w + 1); Acquire 0])%list.

Definition kept (w : N) :=
  script ("window " ++ show w ++ " closed keeps its count and its first reason") w
    [Acquire 0; Close "first"; Acquire 0; Acquire 1; Acquire w; Grant 5; Close "second";
     Acquire 1; Close ""; Grant max; Acquire max].

Definition never_narrowed (n : N) :=
  script ("the number " ++ show n ++ " is never narrowed") n
    [Acquire n; Acquire 1; Grant n; Acquire n; Grant n; Grant n; Acquire n; Acquire n;
     Acquire 1; Acquire 0].

Definition added (m n : N) :=
  script ("grants add up: " ++ show m ++ " and " ++ show n) 0
    [Grant m; Grant n; Acquire (m + n + 1); Acquire (m + n); Acquire 1].

Definition named : list Scripts.script :=
  map drained windows ++ map kept windows ++ map never_narrowed edges ++
  flat_map (fun m => map (added m) [0; 1; 5]) [0; 1; 4; 9] ++
  [script "taking nothing from an empty open gate succeeds" 0 [Acquire 0; Acquire 1; Acquire 0];
   script "more than the window waits until grants add up" 3
     [Acquire 5; Grant 1; Acquire 5; Acquire 4; Acquire 5; Grant 4; Acquire 5; Grant 1; Acquire 5];
   script "a refused acquire takes nothing" 2 [Acquire 3; Acquire max; Acquire 2; Acquire 1];
   script "the empty text is a reason" 4 [Close ""; Acquire 1; Close "late"; Acquire 0];
   script "a reason may be any text" 4 [Close "Grund: käuflich ✓ 門"; Acquire 1];
   script "close an empty gate" 0 [Acquire 1; Close "END"; Acquire 1; Acquire 0];
   script "grants saturate" 1
     [Grant max; Grant max; Grant 1; Acquire 1; Acquire max; Grant 1; Acquire max; Grant 7];
   script "hazard G06 with the largest signed number" 0
     [Grant signed; Grant signed; Grant 1; Acquire 1; Acquire signed; Acquire signed; Acquire 1];
   script "a full gate never falls by a grant" max
     [Grant 1; Grant max; Grant 0; Acquire max; Acquire 1; Grant max; Acquire (max - 1);
      Acquire 1; Acquire 1];
   script "one below full" (max - 1)
     [Grant 1; Acquire 1; Grant 2; Acquire 2; Grant 1; Acquire max; Acquire (max - 1); Acquire 0];
   script "full and closed" max [Close "END"; Grant 1; Acquire max]].

(** ** Every sequence from a small window *)

Definition alphabet : list op :=
  [Acquire 1; Acquire 2; Grant 1; Grant 2; Close "END"].

Definition every (length : nat) (window : N) : list Scripts.script :=
  numbered
    (fun n ops =>
       script ("window " ++ show window ++ ", sequence " ++ show n) window ops)
    (sequences alphabet length).

(** ** Random ones *)

Definition amount (window : N) (d : dice) : N * dice :=
  let '(small, d) := throw 7 d in
  let '(edge, d) := choose 0 edges d in
  let '(any, d) := large d in
  let '(which, d) := throw 8 d in
  (pick_from small [small; small; small; small; N.div window 2; window; edge; any] (N.to_nat which), d).

Fixpoint walk (length : nat) (closes : bool) (window : N) (d : dice) : list op :=
  match length with
  | O => []
  | S less =>
      let '(n, d) := amount window d in
      let '(which, d) := throw 60 d in
      let one :=
        if (which =? 0) && closes then Close (if N.even n then "END" else "")
        else if which <? 33 then Acquire n
        else Grant n in
      one :: walk less closes window d
  end%bool.

Definition random (length : nat) (seed : N) : Scripts.script :=
  let '(window, d) := choose 0 (windows ++ edges) (seeded seed) in
  script ("random walk " ++ show seed ++ " from " ++ show window) window
    (walk length (N.modulo seed 3 =? 0) window d).

Definition seeds (count : nat) : list N := map N.of_nat (seq 0 count).

Definition files : list file :=
  [File "pure" "gate" "gate" (fun _ => named);
   File "pure" "gate_every" "gate" (fun _ => flat_map (every 5) [0; 1; 2; 3]);
   File "pure" "gate_walks" "gate" (fun _ => map (random 100) (seeds 150))].
