(** Relays: hosts and switches between a caller and a handler, that pass frames on and touch no
    credit (L11).

    The path is a list of legs, a relay between each two, the caller at the top and the handler at
    the bottom. On each leg frames go down and frames go up, oldest first; a grant may overtake data,
    as it has a lane of its own wherever frames wait. Any number of streams
    shares the path, in both directions: argument streams go down and their grants up, output streams
    go up and their grants down. Only the two ends know gates and windows. *)

From Coq Require Import NArith List Bool Lia ZifyBool ZifyN Permutation.
From Sluicegate Require Base.U64 Decide.Gate Decide.Window Decide.Direction Decide.Negotiate.
From Sluicegate Require Import Law.Chain Law.ChainHop.
Import ListNotations.

Open Scope N_scope.
Set Default Timeout 30.

Inductive content :=
| Data
| Grant (direction : option Direction.credit_direction) (n : N).

Record frame := Frame {
  stream : nat;
  body : content;
}.

Record leg := Leg {
  down : list frame; (* towards the handler *)
  up : list frame; (* towards the caller *)
}.

(** ** What a relay does with a frame *)

(** A switch goes by the routing id, which all that comes from the handler's side carries. A host
    sends data on the way that it came, and a grant where its direction says. *)
Definition way_of (switch coming_down : bool) (x : frame) : Direction.way :=
  if switch then Direction.at_switch (negb coming_down)
  else match body x with
       | Data => if coming_down then Direction.ToHandler else Direction.ToCaller
       | Grant direction _ => Direction.at_host direction
       end.

(** The relay, a switch or a host, under the leg at this place takes the oldest frame that comes down,
    or the oldest that comes up. *)
Fixpoint relays (switch coming_down : bool) (i : nat) (legs : list leg) : option (list leg) :=
  match i, legs with
  | O, a :: b :: t =>
      match (if coming_down then down a else up b) with
      | [] => None
      | x :: rest =>
          let a := if coming_down then Leg rest (up a) else a in
          let b := if coming_down then b else Leg (down b) rest in
          Some match way_of switch coming_down x with
               | Direction.ToHandler => a :: Leg (down b ++ [x]) (up b) :: t
               | Direction.ToCaller => Leg (down a) (up a ++ [x]) :: b :: t
               | Direction.Nowhere => a :: b :: t
               end
      end
  | S i, a :: t => option_map (cons a) (relays switch coming_down i t)
  | _, _ => None
  end.

(** A grant overtakes the chunk before it, [k] frames from the front. *)
Fixpoint overtake (k : nat) (l : list frame) : list frame :=
  match k, l with
  | O, x :: y :: rest =>
      match body x, body y with
      | Data, Grant _ _ => y :: x :: rest
      | _, _ => l
      end
  | S k, x :: rest => x :: overtake k rest
  | _, _ => l
  end.

(** The same on the leg at this place, in one of its directions. *)
Fixpoint hurries (going_down : bool) (i k : nat) (legs : list leg) : list leg :=
  match i, legs with
  | O, a :: t => (if going_down then Leg (overtake k (down a)) (up a) else Leg (down a) (overtake k (up a))) :: t
  | S i, a :: t => a :: hurries going_down i k t
  | _, [] => []
  end.

(** ** What the ends do with the path *)

Definition caller_sends (x : frame) (legs : list leg) : list leg :=
  match legs with
  | [] => []
  | a :: t => Leg (down a ++ [x]) (up a) :: t
  end.

Fixpoint handler_sends (x : frame) (legs : list leg) : list leg :=
  match legs with
  | [] => []
  | [a] => [Leg (down a) (up a ++ [x])]
  | a :: t => a :: handler_sends x t
  end.

Definition caller_receives (legs : list leg) : option (frame * list leg) :=
  match legs with
  | [] => None
  | a :: t => match up a with [] => None | x :: rest => Some (x, Leg (down a) rest :: t) end
  end.

Fixpoint handler_receives (legs : list leg) : option (frame * list leg) :=
  match legs with
  | [] => None
  | [a] => match down a with [] => None | x :: rest => Some (x, [Leg rest (up a)]) end
  | a :: t =>
      match handler_receives t with
      | Some (x, t') => Some (x, a :: t')
      | None => None
      end
  end.

(** ** The machine *)

Record path := Path {
  legs : list leg;
  gates : nat -> Gate.gate; (* of each stream, at its sender *)
  windows : nat -> Window.window; (* of each stream, at its consumer *)
  queues : nat -> N; (* arrived and not consumed *)
  overruns : bool; (* a chunk arrived that nothing was granted for *)
  astray : bool; (* a grant arrived at the end that holds no gate for it *)
}.

Definition set {A : Type} (f : nat -> A) (i : nat) (x : A) (j : nat) : A :=
  if Nat.eqb i j then x else f j.

Lemma set_same {A : Type} (f : nat -> A) i x : set f i x i = x.
Proof. unfold set; rewrite PeanoNat.Nat.eqb_refl; reflexivity. Qed.

Lemma set_other {A : Type} (f : nat -> A) i x j : i <> j -> set f i x j = f j.
Proof. intros D; unfold set; destruct (PeanoNat.Nat.eqb_spec i j); congruence. Qed.

Section Relay.
(** Which end consumes a stream, and the windows that the two ends start with. *)
Context (consumer : nat -> Direction.side) (starts grants_room : nat -> N).

Definition other (e : Direction.side) : Direction.side :=
  match e with Direction.Caller => Direction.Handler | Direction.Handler => Direction.Caller end.

Definition end_sends (e : Direction.side) (x : frame) (l : list leg) : list leg :=
  match e with Direction.Caller => caller_sends x l | Direction.Handler => handler_sends x l end.

Definition end_receives (e : Direction.side) (l : list leg) : option (frame * list leg) :=
  match e with Direction.Caller => caller_receives l | Direction.Handler => handler_receives l end.

Definition same_end (a b : Direction.side) : bool :=
  match a, b with
  | Direction.Caller, Direction.Caller | Direction.Handler, Direction.Handler => true
  | _, _ => false
  end.

Inductive action :=
| Pass (switch coming_down : bool) (i : nat) (* a relay passes a frame on *)
| Hurry (going_down : bool) (i k : nat) (* a grant overtakes data on a leg *)
| Send (s : nat) (* a stream's sender takes a credit and sends a chunk *)
| Receive (e : Direction.side) (* an end takes a frame off its link *)
| Consume (s : nat)
| Flush (s : nat).

(** A consumer grants; never 0. *)
Definition grants_back (s : nat) (n : N) (l : list leg) : list leg :=
  if U64.eqb n 0 then l
  else end_sends (consumer s) (Frame s (Grant (Some (Direction.granted_by (consumer s))) n)) l.

Definition acts (p : path) (a : action) : option path :=
  match p with Path l g w q o z =>
  match a with
  | Pass switch coming_down i =>
      match relays switch coming_down i l with
      | Some l => Some (Path l g w q o z)
      | None => None
      end
  | Hurry going_down i k => Some (Path (hurries going_down i k l) g w q o z)
  | Send s =>
      match Gate.acquire (g s) 1 false with
      | (g', Gate.Taken) =>
          Some (Path (end_sends (other (consumer s)) (Frame s Data) l) (set g s g') w q o z)
      | _ => None
      end
  | Receive e =>
      match end_receives e l with
      | None => None
      | Some (Frame s Data, l) =>
          match Window.arrive (w s) with
          | (w', Window.Accepted) => Some (Path l g (set w s w') (set q s (q s + 1)) o z)
          | (_, Window.Violation) => Some (Path l g w q true z)
          end
      | Some (Frame s (Grant direction n), l) =>
          match direction with
          | Some d =>
              if same_end (Direction.released_by d) e && same_end (other (consumer s)) e
              then Some (Path l (set g s (Gate.grant (g s) n)) w q o z)
              else Some (Path l g w q o true)
          | None => Some (Path l g w q o true)
          end
      end
  | Consume s =>
      if U64.eqb (q s) 0 then None
      else let '(w', n) := Window.consumed (w s) in
           Some (Path (grants_back s n l) g (set w s w') (set q s (q s - 1)) o z)
  | Flush s =>
      let '(w', n) := Window.flush (w s) in Some (Path (grants_back s n l) g (set w s w') q o z)
  end end.

Definition quiet (hops : nat) (wishes : nat -> N) : path :=
  Path (repeat (Leg [] []) hops) (fun s => Gate.opened (starts s))
    (fun s => Window.with_batch (grants_room s) (wishes s)) (fun _ => 0) false false.

(** What a path of so many legs can come to. *)
Inductive reached (hops : nat) : path -> Prop :=
| reached_start wishes : reached hops (quiet hops wishes)
| reached_act p a p' : reached hops p -> acts p a = Some p' -> reached hops p'.

End Relay.
