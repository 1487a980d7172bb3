(** What each of the six overflow strategies does with an element, and that backpressure is a gate. *)

From Coq Require Import NArith Bool List Lia ZifyBool ZifyN.
From Sluicegate Require Import Base.U64 Base.Lists Base.Tactics.
From Sluicegate Require Import Decide.Overflow Law.Overflow.
From Sluicegate Require Decide.Gate.
Import ListNotations.

Open Scope N_scope.
Set Default Timeout 30.

(** What an offer changes: the content and the losses afterwards, and its answer. *)
Definition outcome (m : machine) (x : element) :=
  match settle (S (length (content m))) (decided m) (content m) [] x false with
  | Some (b, l, out, answer) => Some (l, out, answer, ended b)
  | None => None
  end.

(** With room, every strategy takes the element and throws out nothing. *)
Theorem with_room_enqueued n m x :
  reached n m -> fits n -> ended (decided m) = None ->
  has_room (decided m) (bytes_of x) = true ->
  outcome m x = Some (content m, [], Enqueued, None).
Proof.
  intros Hr Hn He Hroom; unfold outcome; cbn [settle]; unfold offer; rewrite He, Hroom.
  destruct (plan (decided m)); reflexivity.
Qed.

(** When full, each strategy answers as it must, and loses just the elements it must. *)
Theorem when_full n m x :
  reached n m -> fits n -> ended (decided m) = None ->
  size (content m) = capacity (decided m) ->
  total (content m) + bytes_of x <= byte_capacity (decided m) ->
  outcome m x =
  match plan (decided m), content m with
  | Backpressure, l => Some (l, [], Wait, None)
  | DropHead, oldest :: rest => Some (rest, [oldest], Enqueued, None)
  | DropTail, l =>
    match rev l with
    | newest :: before => Some (rev before, [newest], Enqueued, None)
    | [] => None
    end
  | DropNew, l => Some (l, [], Dropped, None)
  | DropBuffer, l => Some ([], rev l, Enqueued, None)
  | Fail, l => Some (l, [], Failure, Some Overflowed)
  | DropHead, [] => None
  end.
Proof.
  intros Hr Hn He Hfull Hbytes.
  destruct (reached_holds n m Hr Hn) as [[Hroom Hh Hb _] _ _ _ _].
  unfold outcome; destruct m as [b l tk th rl rf off]; cbn [decided content] in *.
  assert (Hno : has_room b (bytes_of x) = false)
    by (apply Bool.not_true_iff_false; rewrite has_room_spec; lia).
  assert (Hyes : forall k out, size k + size out = size l -> total k + total out = total l ->
      0 < size out -> has_room (discarded b (size out) (total out)) (bytes_of x) = true).
  { intros k out Hs Ht Hz; rewrite has_room_spec; cbn; unfold sat_sub; split; [lia|right; lia]. }
  destruct l as [|y l]; [rewrite size_nil in *; lia|].
  assert (Hm : forall what k out, make_room what (y :: l) = Some (k, out) -> 0 < size out ->
      has_room (discarded b (size out) (total out)) (bytes_of x) = true).
  { intros what k out Hm Hz; apply make_room_parts in Hm; apply (Hyes k); tauto || trivial. }
  cbn [length settle]; unfold offer at 1; rewrite He, Hno; cbn [andb].
  destruct (plan b) eqn:Hp; cbn [settle]; rewrite ?He; try reflexivity.
  - specialize (Hm Oldest l [y] eq_refl); unfold make_room.
    cbn [settle]; unfold offer; cbn [ended discarded plan]; rewrite He, Hm by (rewrite size_cons; lia).
    cbn [discarded plan andb]; rewrite Hp; reflexivity.
  - unfold make_room in *; destruct (rev (y :: l)) as [|z r] eqn:Hrev; [reflexivity|].
    specialize (Hm Newest (rev r) [z] eq_refl).
    unfold offer; cbn [ended discarded].
    rewrite He, Hm by (rewrite size_cons; lia).
    cbn [discarded plan andb]; rewrite Hp; reflexivity.
  - unfold make_room in *; specialize (Hm Everything [] (rev (y :: l)) eq_refl).
    unfold offer; cbn [ended discarded].
    rewrite He, Hm by (rewrite size_rev, size_cons; lia).
    cbn [discarded plan andb]; rewrite Hp, app_nil_r; reflexivity.
Qed.

(** Under backpressure, without a byte limit, a buffer is a gate of its capacity: an offer is
    enqueued where the gate's acquire of one is taken, waits where it waits, and each element that
    is taken is a grant of one. So an edge needs no second rule of demand. *)
Definition as_gate (b : buffer) : Gate.gate :=
  Gate.Gate (capacity b - held b) (match ended b with None => false | Some _ => true end).

Theorem backpressure_is_a_gate n m x waiting :
  reached n m -> fits n -> plan (decided m) = Backpressure ->
  total (content m) + bytes_of x <= byte_capacity (decided m) ->
  let '(g, answer) := Gate.acquire (as_gate (decided m)) 1 waiting in
  let '(b, result) := offer (decided m) (bytes_of x) waiting in
  as_gate b = g
  /\ match answer with
     | Gate.Taken => result = Enqueued
     | Gate.Wait => result = Wait
     | Gate.Closed => result = QueueClosed \/ result = Failure
     end.
Proof.
  intros Hr Hn Hp Hbytes.
  destruct (reached_holds n m Hr Hn) as [[Hroom Hh Hb _] _ _ _ _].
  unfold as_gate, Gate.acquire, offer; cbn [Gate.closed Gate.available].
  destruct (ended (decided m)) as [[]|] eqn:He; try (cbn; rewrite He; auto; fail).
  rewrite Hp; cbn [U64.eqb N.eqb].
  destruct waiting; cbn [negb]; [rewrite andb_false_r; cbn; rewrite He; auto|].
  rewrite andb_true_r.
  assert (Hone : has_room (decided m) (bytes_of x) = negb (U64.ltb (capacity (decided m) - held (decided m)) 1)).
  { apply Bool.eq_true_iff_eq; rewrite has_room_spec; u64. }
  rewrite Hone; destruct (U64.ltb (capacity (decided m) - held (decided m)) 1) eqn:Hl; cbn.
  - rewrite He; auto.
  - split; [|trivial]; f_equal; u64.
Qed.

(** HZ-S06: an edge of three, the elements 1 to 10, nobody takes: what is held, how many were lost,
    and whether the edge has failed. *)
Definition ten_into_three (on_full : strategy) : option (list N * N * option buffer_end) :=
  let offer_one (o : option machine) (k : nat) :=
    match o with
    | Some m => step m (Offer (N.of_nat k, 0) false)
    | None => None
    end in
  match opened on_full 3 1000 with
  | None => None
  | Some b =>
    match fold_left offer_one (seq 1 10) (Some (Machine b [] [] [] [] [] [])) with
    | Some m => Some (map fst (content m), lost (decided m), ended (decided m))
    | None => None
    end
  end.

Theorem ten_into_three_by_strategy :
  ten_into_three Backpressure = Some ([1; 2; 3], 0, None)
  /\ ten_into_three DropHead = Some ([8; 9; 10], 7, None)
  /\ ten_into_three DropTail = Some ([1; 2; 10], 7, None)
  /\ ten_into_three DropNew = Some ([1; 2; 3], 7, None)
  /\ ten_into_three DropBuffer = Some ([10], 9, None)
  /\ ten_into_three Fail = Some ([1; 2; 3], 0, Some Overflowed).
Proof. vm_compute; repeat split. Qed.

(** A buffer keeps an element back exactly from a consumer that has not asked for one; an end it tells
    to whoever looks, and never before the last element. *)
Theorem holds_back_iff_an_element_is_unwanted b wanted size :
  holds_back b wanted = true <-> wanted = false /\ snd (take b size) = Element.
Proof.
  unfold holds_back, take; destruct wanted, (U64.eqb (held b) 0); cbn; split; try discriminate;
    try (now intros [? ?]); auto; destruct (ended b); intros [_ H]; discriminate H.
Qed.

(** An open buffer that has no room for an element has reached the limit that it tells: all of its places
    are taken, or there is a place and the element has too many bytes beside what is there. *)
Theorem full_by_tells_the_limit b size :
  has_room b size = false ->
  match full_by b with
  | ByElements => capacity b <= held b
  | ByBytes => held b < capacity b /\ held b <> 0 /\ U64.sat_sub (byte_capacity b) (bytes b) < size
  end.
Proof. unfold has_room, full_by; destruct (U64.ltb (held b) (capacity b)) eqn:H; u64. Qed.
