(** Laws of the window (P1 to P7), for every batch that can be set. *)

From Coq Require Import NArith Bool List Lia ZifyBool ZifyN.
From Sluicegate Require Import Base.U64 Base.Tactics Decide.Window.

Set Default Timeout 30.
Open Scope N_scope.

(** P1: the batch unless told otherwise is half the window, at least 1, at most the window. *)
Theorem default_batch_bounds (size : N) :
  1 <= default_batch size <= N.max 1 (U64.half size) /\ (1 <= size -> default_batch size <= size).
Proof. pose proof (U64.half_spec size); unfold default_batch; u64. Qed.

(** P1: it is as large as it may be. *)
Theorem default_batch_is_half (size : N) :
  1 <= size -> 2 * default_batch size <= N.max 2 size < 2 * default_batch size + 2.
Proof. pose proof (U64.half_spec size); unfold default_batch; u64. Qed.

(** P1: a fresh window's batch is that default, as large as it may be and no smaller. *)
Theorem opened_has_the_default_batch (size : N) : batch (opened size) = default_batch size.
Proof. reflexivity. Qed.

(** P1: a batch that is set is what was wished, held between 1 and the default. *)
Theorem with_batch_is_clamped (size wish : N) :
  batch (with_batch size wish) = N.min (N.max 1 wish) (default_batch size)
  /\ 1 <= batch (with_batch size wish) <= default_batch size.
Proof.
  pose proof (default_batch_bounds size); unfold with_batch; cbn; u64.
Qed.

(** A fresh window has all of its size and owes nothing. *)
Theorem fresh_is_empty (size wish : N) :
  (remaining (opened size) = size /\ pending (opened size) = 0)
  /\ (remaining (with_batch size wish) = size /\ pending (with_batch size wish) = 0).
Proof. repeat split. Qed.

(** P2, L12: a chunk is a violation if and only if nothing is left, and it changes nothing then. *)
Theorem violation_iff_exhausted (w : window) :
  (snd (arrive w) = Violation <-> remaining w = 0)
  /\ (snd (arrive w) = Violation -> fst (arrive w) = w).
Proof. unfold arrive; split_ifs; cbn; split; intros; try split; intros; try discriminate; u64 || reflexivity. Qed.

(** P3: an accepted chunk costs one, and nothing else. *)
Theorem arrival_costs_one (w w' : window) :
  arrive w = (w', Accepted) ->
  remaining w' + 1 = remaining w /\ pending w' = pending w /\ batch w' = batch w.
Proof. unfold arrive; intros H; split_ifs; invert_all; cbn; u64. Qed.

(** P3: the window rises by exactly what it answers. *)
Theorem consumed_raises_by_grant (w w' : window) (n : N) :
  consumed w = (w', n) -> U64.fits (remaining w + n) ->
  remaining w' = remaining w + n.
Proof. unfold consumed, flush; cbn; intros H F; split_ifs; invert_all; cbn; u64. Qed.

(** P3: the window rises by exactly what it answers. *)
Theorem flush_raises_by_grant (w w' : window) (n : N) :
  flush w = (w', n) -> U64.fits (remaining w + n) -> remaining w' = remaining w + n.
Proof. unfold flush; intros H F; invert_all; cbn; u64. Qed.

(** P3: a continuing chunk is given back at once, alone, and owes nothing. *)
Theorem continued_is_one (w : window) :
  snd (continued w) = 1
  /\ (U64.fits (remaining w + 1) -> remaining (fst (continued w)) = remaining w + 1)
  /\ pending (fst (continued w)) = pending w /\ batch (fst (continued w)) = batch w.
Proof. unfold continued; cbn; u64. Qed.

(** P5: a flush leaves nothing pending, and answers all that was. *)
Theorem flush_empties (w : window) :
  snd (flush w) = pending w /\ pending (fst (flush w)) = 0 /\ batch (fst (flush w)) = batch w.
Proof. repeat split. Qed.

(** P5: a second flush answers 0. *)
Theorem second_flush_is_empty (w : window) : snd (flush (fst (flush w))) = 0.
Proof. reflexivity. Qed.

(** L10: below the batch a consumed chunk is only noted. *)
Theorem consumed_below_batch (w : window) :
  pending w + 1 < batch w -> U64.fits (batch w) ->
  consumed w = (Window (remaining w) (pending w + 1) (batch w), 0).
Proof.
  unfold consumed; cbn; intros H F; replace (U64.sat_add (pending w) 1) with (pending w + 1) by u64.
  split_ifs; [reflexivity|u64].
Qed.

(** L10: the chunk that completes the batch makes exactly one batch due. *)
Theorem consumed_completes_batch (w : window) :
  pending w + 1 = batch w -> U64.fits (batch w) -> U64.fits (remaining w + batch w) ->
  consumed w = (Window (remaining w + batch w) 0 (batch w), batch w).
Proof.
  unfold consumed, flush; cbn; intros H F G.
  replace (U64.sat_add (pending w) 1) with (batch w) by u64.
  replace (U64.sat_add (remaining w) (batch w)) with (remaining w + batch w) by u64.
  split_ifs; [u64|reflexivity].
Qed.

(** * A window in use: each accepted chunk is given back once *)

(** The window, the chunks that were accepted and not given back yet, and two counts of its life:
    chunks given back, and credit granted. *)
Record usage := Usage {
  state : window;
  queue : N;
  returned : N;
  granted : N;
}.

(** What a receiver does: takes a chunk in, gives one of those back (whole, or as a continuing one),
    or flushes. *)
Inductive op := Arrive | Consume | Continue | Flush.

(** One step, and the grant that it makes; none where a careful caller cannot make it. *)
Definition step (u : usage) (o : op) : option (usage * N) :=
  match o with
  | Arrive =>
      match arrive (state u) with
      | (w, Accepted) => Some (Usage w (queue u + 1) (returned u) (granted u), 0)
      | (w, Violation) => Some (Usage w (queue u) (returned u) (granted u), 0)
      end
  | Consume =>
      if queue u =? 0 then None
      else let (w, n) := consumed (state u) in
           Some (Usage w (queue u - 1) (returned u + 1) (granted u + n), n)
  | Continue =>
      if queue u =? 0 then None
      else let (w, n) := continued (state u) in
           Some (Usage w (queue u - 1) (returned u + 1) (granted u + n), n)
  | Flush =>
      let (w, n) := flush (state u) in Some (Usage w (queue u) (returned u) (granted u + n), n)
  end.

(** A fresh window of [size], with the default batch or one that was set. *)
Definition fresh (size : N) (w : window) : Prop :=
  w = opened size \/ exists wish, w = with_batch size wish.

Inductive reachable (size : N) : usage -> Prop :=
| reach_fresh w : fresh size w -> reachable size (Usage w 0 0 0)
| reach_step u o u' n : reachable size u -> step u o = Some (u', n) -> reachable size u'.

Lemma fresh_batch (size : N) (w : window) :
  fresh size w -> remaining w = size /\ pending w = 0 /\ 1 <= batch w <= default_batch size.
Proof.
  pose proof (default_batch_bounds size).
  intros [->|[wish ->]]; cbn; [lia|]. pose proof (with_batch_is_clamped size wish); cbn in *; lia.
Qed.

Record sound (size : N) (u : usage) : Prop := {
  sound_sum : remaining (state u) + pending (state u) + queue u = size;
  sound_batch : 1 <= batch (state u) <= default_batch size;
  sound_pending : pending (state u) < batch (state u);
  sound_granted : granted u + pending (state u) = returned u;
}.

(** One step of a window in use, seen from outside. *)
Lemma step_sound (size : N) (u u' : usage) (o : op) (n : N) :
  1 <= size -> U64.fits size -> sound size u -> step u o = Some (u', n) ->
  sound size u' /\ batch (state u') = batch (state u)
  /\ remaining (state u') + (match o with Arrive => queue u' - queue u | _ => 0 end)
     = remaining (state u) + n
  /\ granted u' = granted u + n.
Proof.
  pose proof (default_batch_bounds size) as B.
  intros P F [S1 S2 S3 S4] E; destruct u as [[r p b] q t g]; cbn in *.
  destruct o; cbn in E.
  - unfold arrive in E; cbn in E; split_ifs; invert_all; cbn;
      (split; [constructor; cbn; u64|]); cbn; u64.
  - split_ifs; [discriminate|].
    destruct (N.ltb_spec (p + 1) b).
    + rewrite (consumed_below_batch (Window r p b)) in E by (cbn; u64); cbn in E; invert_all; cbn.
      split; [constructor; cbn|]; u64.
    + rewrite (consumed_completes_batch (Window r p b)) in E by (cbn; u64); cbn in E; invert_all; cbn.
      split; [constructor; cbn|]; u64.
  - split_ifs; [discriminate|]; invert_all; cbn; (split; [constructor; cbn|]); u64.
  - invert_all; cbn; (split; [constructor; cbn|]); u64.
Qed.

Lemma reachable_sound (size : N) (u : usage) :
  1 <= size -> U64.fits size -> reachable size u -> sound size u.
Proof.
  intros P F; induction 1 as [w W|u o u' n R IH E].
  - destruct (fresh_batch _ _ W) as (? & ? & ?); constructor; cbn; lia.
  - eapply step_sound in E; eauto; tauto.
Qed.

(** P1: the batch stays between 1 and half the window. *)
Theorem batch_within_half (size : N) (u : usage) :
  1 <= size -> U64.fits size -> reachable size u ->
  1 <= batch (state u) /\ batch (state u) <= N.max 1 (U64.half size) /\ batch (state u) <= size.
Proof.
  intros P F R; destruct (reachable_sound _ _ P F R).
  pose proof (default_batch_bounds size); lia.
Qed.

(** P1: the batch never changes. *)
Theorem batch_is_constant (size : N) (u u' : usage) (o : op) (n : N) :
  1 <= size -> U64.fits size -> reachable size u -> step u o = Some (u', n) ->
  batch (state u') = batch (state u).
Proof. intros P F R E; eapply step_sound in E; eauto using reachable_sound; tauto. Qed.

(** P4: less than a batch is ever pending. *)
Theorem pending_below_batch (size : N) (u : usage) :
  1 <= size -> U64.fits size -> reachable size u -> pending (state u) < batch (state u).
Proof. intros P F R; destruct (reachable_sound _ _ P F R); assumption. Qed.

(** P6, L10: buffer bounded: what may still arrive, what is pending and what is queued add up to the
    window, so no more than the window is ever queued. *)
Theorem buffer_bounded (size : N) (u : usage) :
  1 <= size -> U64.fits size -> reachable size u ->
  remaining (state u) + pending (state u) + queue u = size
  /\ remaining (state u) <= size /\ queue u <= size.
Proof. intros P F R; destruct (reachable_sound _ _ P F R); lia. Qed.

(** P7: no credit comes from nothing: all grants are the chunks given back, less what is pending. *)
Theorem grants_are_returns (size : N) (u : usage) :
  1 <= size -> U64.fits size -> reachable size u ->
  granted u + pending (state u) = returned u.
Proof. intros P F R; destruct (reachable_sound _ _ P F R); assumption. Qed.

(** L10: a consumed chunk makes nothing due, or exactly one batch; so a grant on the wire is never
    of nothing, and never more than half the window. *)
Theorem consume_grants_a_batch (size : N) (u u' : usage) (n : N) :
  1 <= size -> U64.fits size -> reachable size u -> step u Consume = Some (u', n) ->
  n = 0 /\ pending (state u') = pending (state u) + 1
  \/ n = batch (state u) /\ pending (state u) + 1 = n /\ pending (state u') = 0.
Proof.
  intros P F R E; pose proof (default_batch_bounds size) as B.
  destruct (reachable_sound _ _ P F R) as [S1 S2 S3 S4].
  destruct u as [[r p b] q t g]; cbn in *; split_ifs; [discriminate|].
  destruct (N.ltb_spec (p + 1) b).
  - rewrite (consumed_below_batch (Window r p b)) in E by (cbn; u64); cbn in E; invert_all; cbn; lia.
  - rewrite (consumed_completes_batch (Window r p b)) in E by (cbn; u64); cbn in E; invert_all; cbn; lia.
Qed.
