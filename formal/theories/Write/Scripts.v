(** The words in which scripts are written: a tree that prints as JSON, scripts, their hash, and the
    replay of a machine over a list of operations. *)

From Coq Require Import NArith String Ascii List.
Import ListNotations.
Open Scope string_scope.
Open Scope N_scope.

(** A value of a script. Every number is printed as a decimal text. *)
Inductive json :=
| Null
| Text (text : string)
| Number (number : N)
| Items (items : list json)
| Object (fields : list (string * json)).

Definition field := (string * json)%type.

(** [head] is everything between the name and the steps. *)
Record script := Script { name : string; head : list field; steps : list json }.

(** One file of scripts, made when it is asked for. *)
Record file := File {
  folder : string;
  title : string;
  machine : string;
  scripts : unit -> list script;
}.

Definition or_null {A} (show : A -> json) (value : option A) : json :=
  match value with
  | Some value => show value
  | None => Null
  end.

(** ** Replay *)

(** What one machine is: its operations as fields, one step, and what is shown of its state. *)
Record machine_of (state op : Type) := Machine {
  fields_of : op -> list field;
  step : state -> op -> json * state;
  shown : state -> list field;
}.

Arguments fields_of {state op}.
Arguments step {state op}.
Arguments shown {state op}.

Fixpoint replay {state op} (m : machine_of state op) (s : state) (ops : list op) : list json :=
  match ops with
  | [] => []
  | o :: later =>
      let '(answer, after) := step m s o in
      Object (fields_of m o ++ ("answer", answer) :: shown m after) :: replay m after later
  end.

(** ** Every sequence of operations *)

Fixpoint sequences {A} (alphabet : list A) (length : nat) : list (list A) :=
  match length with
  | O => [[]]
  | S less =>
      flat_map (fun one => map (fun rest => one :: rest) (sequences alphabet less)) alphabet
  end.

Fixpoint numbered_from {A B} (n : N) (make : N -> A -> B) (all : list A) : list B :=
  match all with
  | [] => []
  | one :: rest => make n one :: numbered_from (N.succ n) make rest
  end.

Definition numbered {A B} (make : N -> A -> B) (all : list A) : list B := numbered_from 0 make all.

(** ** Small words *)

Definition digit (n : N) : ascii := ascii_of_N (48 + n).

Fixpoint digits (fuel : nat) (n : N) (later : string) : string :=
  match fuel with
  | O => later
  | S less =>
      let '(rest, last) := N.div_eucl n 10 in
      let text := String (digit last) later in
      if rest =? 0 then text else digits less rest text
  end.

(** A number of up to 20 digits, as 2^64-1 has. *)
Definition show (n : N) : string := digits 20 n "".

(** ** The hash

    FNV-1a of 64 bits over the letters of texts, the numbers as they are, and a mark for each shape.
    The kernel computes the same over a small set of scripts, which anchors the extracted program. *)

Definition prime : N := 1099511628211.
Definition offset : N := 14695981039346656037.
Definition mask : N := 18446744073709551615.

Definition mix (hash symbol : N) : N := N.land (prime * N.lxor hash symbol) mask.

Fixpoint mix_text (hash : N) (text : string) : N :=
  match text with
  | EmptyString => mix hash 256
  | String letter rest => mix_text (mix hash (N_of_ascii letter)) rest
  end.

Fixpoint mix_json (hash : N) (value : json) : N :=
  match value with
  | Null => mix hash 257
  | Text text => mix_text (mix hash 258) text
  | Number number => mix (mix hash 259) number
  | Items items =>
      mix (fold_left (fun h one => mix_json h one) items (mix hash 260)) 261
  | Object fields =>
      mix (fold_left (fun h (one : field) => mix_json (mix_text h (fst one)) (snd one)) fields
             (mix hash 262)) 263
  end.

Definition mix_script (hash : N) (one : script) : N :=
  mix_json (mix_json (mix_text hash (name one)) (Object (head one))) (Items (steps one)).

Definition hash_of (all : list script) : N := fold_left mix_script all offset.
