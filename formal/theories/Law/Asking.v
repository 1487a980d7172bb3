(** Laws of the small questions round a stage: whether there is anything to ask for, how two takes become
    one request, and how much a source reads at one go. *)

From Coq Require Import NArith Bool List Lia ZifyBool ZifyN.
From Sluicegate Require Import Base.U64 Base.Tactics.
From Sluicegate Require Import Decide.Demand Law.Stages Law.StageLaws.

Open Scope N_scope.
Set Default Timeout 30.

(** A call is left out exactly where it would change nothing: a stage that runs owes more after it if and
    only if there is something to ask for, as long as the sum fits. *)
Theorem is_request_iff_it_changes s n :
  phase s = Running -> fits (owed s + n) ->
  (is_request n = false -> request s n = (s, 0))
  /\ (is_request n = true -> owed s < owed (fst (request s n))).
Proof.
  intros Hp Hf; unfold is_request, request; rewrite Hp; split; intros Hn.
  - destruct (U64.eqb n 0); [reflexivity|discriminate].
  - destruct (U64.eqb n 0) eqn:Hz; [discriminate|].
    unfold replenish; cbn [phase]; destruct (U64.ltb _ _); cbn [fst owed]; u64.
Qed.

(** A turn and what was taken behind it, asked for as one, are the two asked for one after the other:
    the stage owes and awaits the same. *)
Theorem together_is_both m turn more :
  reached m -> phase (decided m) = Running -> fits (owed (decided m) + turn + more) ->
  let one := fst (request (decided m) (together turn more)) in
  let two := fst (request (fst (request (decided m) turn)) more) in
  owed one = owed two /\ asked one = asked two.
Proof.
  intros Hr Hp Hf one two; unfold one, two, together.
  rewrite sat_add_exact by (unfold fits in *; lia).
  destruct (requests_add_up m turn more Hr Hp Hf) as (-> & -> & _); auto.
Qed.

(** No credit comes of it and none goes, and nothing saturates that fits. *)
Theorem together_is_the_sum turn more :
  fits (turn + more) -> together turn more = turn + more.
Proof. apply sat_add_exact. Qed.

(** An input is awaited if and only if the next one that arrives is taken. *)
Theorem awaits_iff_the_next_is_taken s :
  phase s <> Over -> awaits s = true <-> snd (arrive s) = Accepted.
Proof.
  intros Hp; unfold awaits, arrive; destruct (phase s); try (now destruct Hp);
    destruct (U64.eqb (asked s) 0); cbn; split; trivial; discriminate.
Qed.

(** There is an input if and only if one may leave with an output that was asked for. *)
Theorem has_input_iff_one_may_leave s :
  phase s <> Over -> owed s <> 0 ->
  has_input s = true <-> exists ask, snd (emit s 1) = Emitted ask.
Proof.
  intros Hp Ho; unfold has_input, emit.
  assert (Hz : U64.eqb (owed s) 0 = false) by u64.
  assert (Hh : U64.ltb (held s) 1 = U64.eqb (held s) 0) by (u64_unfold; lia).
  destruct (phase s); try (now destruct Hp); rewrite Hz, Hh;
    destruct (U64.eqb (held s) 0); cbn [negb snd]; split; try discriminate;
    try (intros [? E]; discriminate E); trivial; intros _;
    match goal with |- context [replenish ?x] => destruct (replenish x) end;
    cbn [snd]; eauto.
Qed.

(** What is read at one go was asked for, and is no more than one go takes; and where something was asked
    for, something is read. *)
Theorem page_was_asked_for s most :
  page s most <= owed s /\ page s most <= most
  /\ (owed s <> 0 -> 1 <= most -> 1 <= page s most)
  /\ (owed s <= most -> page s most = owed s).
Proof. unfold page; repeat split; u64. Qed.

(** A page is the last exactly if it came short: one that came whole says nothing about the end. *)
Theorem last_page_iff_short n came : is_last_page n came = true <-> came < n.
Proof. apply ltb_spec. Qed.
