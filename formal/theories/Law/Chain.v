(** Chains of hops: a source, any number of hops with a forwarder between each two, and a sink.

    Each hop is one gate at its sender, one window at its receiver, chunks on the wire towards the
    receiver and grants on the wire towards the sender. Whoever receives takes one chunk in hand and
    passes it on: a forwarder to the next hop, the sink to its user. It gives the chunk back either
    when it takes it or when it has passed it on, as the plan of the hop says.

    A chain is the list of its hops from source to sink; [moves] is its step relation. Windows and
    gates step by the decisions of [Decide], here and in all that follows. *)

From Coq Require Import NArith List.
From Sluicegate Require Base.U64 Decide.Gate Decide.Window.
Import ListNotations.

Open Scope N_scope.
Set Default Timeout 30.

Definition count {A : Type} (l : list A) : N := N.of_nat (length l).
Arguments count : simpl never.

(** What is fixed about a hop when it is opened. *)
Record plan := Plan {
  send_window : N; (* what its sender starts with *)
  receive_window : N; (* what its receiver has room for *)
  wish : N; (* the batch its receiver would like *)
  early : bool; (* gives a chunk back when it takes it, and not when it has passed it on *)
}.

Definition sound (p : plan) : Prop :=
  1 <= send_window p /\ send_window p <= receive_window p /\ receive_window p <= U64.max.

Section Chain.
Context {chunk : Type}.

Record hop := Hop {
  planned : plan;
  gate : Gate.gate;
  wire : list chunk; (* on their way to the receiver, oldest first *)
  grants : list N; (* on their way to the sender, oldest first *)
  window : Window.window;
  queue : list chunk; (* arrived, oldest first *)
  hand : option chunk; (* taken by the receiver, not passed on yet *)
  given_up : bool; (* the receiver wants no more *)
  gone : list chunk; (* thrown away by a receiver that gave up, or arrived after that *)
  overrun : bool; (* a chunk arrived that nothing was granted for *)
}.

Definition opened (p : plan) : hop :=
  Hop p (Gate.opened (send_window p)) [] []
    (Window.with_batch (receive_window p) (wish p)) [] None false [] false.

(** A grant of 0 is never sent. *)
Definition sent_grant (n : N) (frames : list N) : list N :=
  if U64.eqb n 0 then frames else frames ++ [n].

Definition in_hand (h : hop) : list chunk :=
  match hand h with Some x => [x] | None => [] end.

(** The chunks that the receiver holds and has not given back. *)
Definition owing (h : hop) : N :=
  count (queue h) + if early (planned h) then 0 else count (in_hand h).

(** All chunks that are somewhere in the hop, oldest first: memory. *)
Definition held (h : hop) : list chunk := in_hand h ++ queue h ++ wire h.

(** The chunks that entered the hop and did not leave it for the next, oldest first. *)
Definition inside (h : hop) : list chunk := in_hand h ++ queue h ++ gone h ++ wire h.

(** *** What one hop does. [None]: it cannot, now. *)

(** The sender takes a credit and sends a chunk. *)
Definition sends (x : chunk) (h : hop) : option hop :=
  match Gate.acquire (gate h) 1 false with
  | (g, Gate.Taken) =>
      Some (Hop (planned h) g (wire h ++ [x]) (grants h) (window h) (queue h) (hand h)
              (given_up h) (gone h) (overrun h))
  | _ => None
  end.

(** The oldest chunk on the wire arrives. *)
Definition arrives (h : hop) : option hop :=
  match wire h with
  | [] => None
  | x :: rest =>
      if given_up h then
        Some (Hop (planned h) (gate h) rest (grants h) (window h) (queue h) (hand h)
                (given_up h) (gone h ++ [x]) (overrun h))
      else match Window.arrive (window h) with
      | (w, Window.Accepted) =>
          Some (Hop (planned h) (gate h) rest (grants h) w (queue h ++ [x]) (hand h)
                  (given_up h) (gone h) (overrun h))
      | (w, Window.Violation) =>
          Some (Hop (planned h) (gate h) rest (grants h) w (queue h) (hand h)
                  (given_up h) (gone h ++ [x]) true)
      end
  end.

(** The oldest grant on the wire reaches the gate. *)
Definition credits (h : hop) : option hop :=
  match grants h with
  | [] => None
  | n :: rest =>
      Some (Hop (planned h) (Gate.grant (gate h) n) (wire h) rest (window h) (queue h) (hand h)
              (given_up h) (gone h) (overrun h))
  end.

(** The receiver takes the oldest chunk of its queue in hand. *)
Definition takes (h : hop) : option hop :=
  match given_up h, hand h, queue h with
  | false, None, x :: rest =>
      let '(w, n) := if early (planned h) then Window.consumed (window h) else (window h, 0) in
      Some (Hop (planned h) (gate h) (wire h) (sent_grant n (grants h)) w rest (Some x)
              (given_up h) (gone h) (overrun h))
  | _, _, _ => None
  end.

(** The receiver passes on what it has in hand. *)
Definition passes (h : hop) : option (chunk * hop) :=
  match given_up h, hand h with
  | false, Some x =>
      let '(w, n) := if early (planned h) then (window h, 0) else Window.consumed (window h) in
      Some (x, Hop (planned h) (gate h) (wire h) (sent_grant n (grants h)) w (queue h) None
                 (given_up h) (gone h) (overrun h))
  | _, _ => None
  end.

(** The receiver grants all that is pending. *)
Definition flushes (h : hop) : option hop :=
  if given_up h then None
  else let '(w, n) := Window.flush (window h) in
    if U64.eqb n 0 then None
    else Some (Hop (planned h) (gate h) (wire h) (sent_grant n (grants h)) w (queue h) (hand h)
                 (given_up h) (gone h) (overrun h)).

(** The sender's gate closes: all is sent, or it was told that nobody wants more. *)
Definition closes (h : hop) : option hop :=
  match Gate.close (gate h) with
  | (g, true) =>
      Some (Hop (planned h) g (wire h) (grants h) (window h) (queue h) (hand h)
              (given_up h) (gone h) (overrun h))
  | (_, false) => None
  end.

(** The receiver gives up and throws away what it holds. *)
Definition gives_up (h : hop) : option hop :=
  if given_up h then None
  else Some (Hop (planned h) (gate h) (wire h) (grants h) (window h) [] None
               true (in_hand h ++ queue h ++ gone h) (overrun h)).

(** Its receiver holds nothing and nothing is on its way to it. *)
Definition drained (h : hop) : Prop := held h = [].

(** Its sender is told that there will be no more credit. *)
Definition shut (h : hop) : Prop := snd (Gate.acquire (gate h) 1 false) = Gate.Closed.

(** Its sender, if it wants to send, waits. *)
Definition blocked (h : hop) : Prop := snd (Gate.acquire (gate h) 1 false) = Gate.Wait.

(** *** What a chain does *)

(** [Due]: what comes if nothing else does. [Free]: a flush that nobody waits for. [Cut]: somebody
    in the middle ends it, by will or by failure. *)
Inductive kind := Due | Free | Cut.

(** Steps that concern one hop only. *)
Inductive alone : kind -> hop -> hop -> Prop :=
| alone_arrives h h' : arrives h = Some h' -> alone Due h h'
| alone_credits h h' : credits h = Some h' -> alone Due h h'
| alone_takes h h' : takes h = Some h' -> alone Due h h'
| alone_flush_on_empty h h' : (* flush before waiting on an empty stream *)
    hand h = None -> queue h = [] -> flushes h = Some h' -> alone Due h h'
| alone_told h h' : (* the sender learns that its receiver gave up *)
    given_up h = true -> closes h = Some h' -> alone Due h h'
| alone_flush h h' : flushes h = Some h' -> alone Free h h'
| alone_gives_up h h' : gives_up h = Some h' -> alone Cut h h'
| alone_closes h h' : closes h = Some h' -> alone Cut h h'.

(** [moves k hops enters leaves hops']: one step of a chain, in which a chunk may enter at its first
    hop and a chunk may leave at its last. *)
Inductive moves : kind -> list hop -> option chunk -> option chunk -> list hop -> Prop :=
| moves_alone k h h' t : alone k h h' -> moves k (h :: t) None None (h' :: t)
| moves_in x h h' t : sends x h = Some h' -> moves Due (h :: t) (Some x) None (h' :: t)
| moves_on x h h' t t' : (* a forwarder passes its chunk on, which costs a credit downstream *)
    passes h = Some (x, h') -> moves Due t (Some x) None t' -> moves Due (h :: t) None None (h' :: t')
| moves_out x h h' : passes h = Some (x, h') -> moves Due [h] None (Some x) [h']
| moves_flush x h h' d t : (* flush upstream before waiting downstream *)
    hand h = Some x -> blocked d -> flushes h = Some h' ->
    moves Due (h :: d :: t) None None (h' :: d :: t)
| moves_end h d d' t : (* the end goes downstream, behind all that was sent *)
    shut h -> drained h -> closes d = Some d' -> moves Due (h :: d :: t) None None (h :: d' :: t)
| moves_stop h h' d t : (* nobody wants more: that goes upstream *)
    shut d -> gives_up h = Some h' -> moves Due (h :: d :: t) None None (h' :: d :: t)
| moves_further k h t t' o : moves k t None o t' -> moves k (h :: t) None o (h :: t').

(** A chain with its source and its sink. *)
Record system := System {
  offered : list chunk; (* all that the source sent, oldest first *)
  hops : list hop;
  delivered : list chunk; (* all that the sink passed to its user, oldest first *)
}.

Inductive step : kind -> system -> system -> Prop :=
| step_offer x o c c' d : moves Due c (Some x) None c' -> step Due (System o c d) (System (o ++ [x]) c' d)
| step_inside k o c c' d : moves k c None None c' -> step k (System o c d) (System o c' d)
| step_deliver x o c c' d : moves Due c None (Some x) c' -> step Due (System o c d) (System o c' (d ++ [x]))
| step_finish o h h' t d : closes h = Some h' -> step Due (System o (h :: t) d) (System o (h' :: t) d).

(** What a chain of these plans can come to. *)
Inductive reachable (plans : list plan) : system -> Prop :=
| reach_start : reachable plans (System [] (map opened plans) [])
| reach_step k s s' : reachable plans s -> step k s s' -> reachable plans s'.

(** The same, while nobody in the middle cuts it off. *)
Inductive undisturbed (plans : list plan) : system -> Prop :=
| calm_start : undisturbed plans (System [] (map opened plans) [])
| calm_step k s s' : k <> Cut -> undisturbed plans s -> step k s s' -> undisturbed plans s'.

Lemma undisturbed_reachable plans s : undisturbed plans s -> reachable plans s.
Proof. induction 1; econstructor; eassumption. Qed.

End Chain.

Arguments hop : clear implicits.
Arguments system : clear implicits.
