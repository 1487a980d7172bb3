(** Laws of the end of a request (L4, L7, L13, L17): cancel, return and failure race for one
    terminal. *)

From Coq Require Import Bool List Lia Arith.
From Sluicegate Require Import Decide.Facts Decide.Cancel Decide.Phase.
Import ListNotations.

Set Default Timeout 30.

Section Cancel.

(** Whatever a request is cancelled with. *)
Variable reason : Type.

(** What happens to a request at the side that answers it. *)
Inductive event :=
| Begin                      (** a handler takes it *)
| CancelCame (r : reason)
| Returned (success : bool)
| CloseStreamCame.

(** A request: how far it is, why it was told to stop, and all that was done, oldest first. *)
Record request := Request {
  at_stage : stage;
  why : option reason;
  duties : list duty;
}.

Definition decide (s : stage) (e : event) : stage * duty :=
  match e with
  | Begin => begin s
  | CancelCame _ => cancel s
  | Returned success => returned s success
  | CloseStreamCame => close_stream s
  end.

Definition step (q : request) (e : event) : request :=
  let (s, d) := decide (at_stage q) e in
  Request s
    (match why q, e, d with
     | None, CancelCame r, (ReleaseAll | SendErr) => Some r
     | w, _, _ => w
     end)
    (duties q ++ match d with Nothing => [] | _ => [d] end).

Definition registered : request := Request Queued None [].

Definition after (events : list event) : request := fold_left step events registered.

Definition terminals (l : list duty) : list duty :=
  filter (fun d => match terminal_of d with Some _ => true | None => false end) l.

(** What can have been done when a request is at a stage. *)
Definition possible (s : stage) (l : list duty) : Prop :=
  match s with
  | Unknown => False
  | Queued => l = []
  | Running => l = [Start]
  | Stopping => l = [Start; ReleaseAll]
  | Ended => l = [SendErr] \/ l = [Start; SendEnd] \/ l = [Start; SendErr] \/ l = [Start; ReleaseAll; SendErr]
  end.

Lemma step_possible (q : request) (e : event) :
  possible (at_stage q) (duties q) -> possible (at_stage (step q e)) (duties (step q e)).
Proof.
  destruct q as [s w l]; destruct s, e as [|r|[|]|]; cbn; intros P; try tauto; subst;
    try (destruct P as [->|[->|[->| ->]]]); cbn; auto.
Qed.

(** All that can ever be done for a request, whatever happens in whatever order: nothing yet; or it
    runs; or it was told to stop; or it ended in one of four ways. *)
Theorem ways_to_end (events : list event) :
  possible (at_stage (after events)) (duties (after events)).
Proof.
  unfold after; assert (possible (at_stage registered) (duties registered)) as P by reflexivity.
  revert P; generalize registered; induction events as [|e events IH]; cbn [fold_left]; auto using step_possible.
Qed.

(** L4, L7: exactly one terminal is sent, and it is sent exactly when the request has ended. *)
Theorem one_terminal (events : list event) :
  length (terminals (duties (after events)))
  = match at_stage (after events) with Ended => 1 | _ => 0 end.
Proof.
  pose proof (ways_to_end events) as P; destruct (at_stage (after events)); cbn in P; try tauto;
    try (rewrite P; reflexivity); destruct P as [->|[->|[->| ->]]]; reflexivity.
Qed.

(** L4: the terminal is the last thing that is done. *)
Theorem nothing_after_the_terminal (events : list event) (before rest : list duty) (d : duty) :
  duties (after events) = before ++ d :: rest -> terminal_of d <> None -> rest = [].
Proof.
  intros E T; pose proof (ways_to_end events) as P; destruct (at_stage (after events)); cbn in P; try tauto;
    try (destruct P as [P|[P|[P|P]]]); rewrite P in E;
    repeat (destruct before as [|? before]; cbn in E; try discriminate; injection E as <- E);
    try (injection E as <- <-); subst; cbn in *; auto; try congruence; try discriminate.
Qed.

(** L13: whoever waits is released: at once when a running request is told to stop, and by every
    terminal. Before that nothing releases. *)
Theorem released_iff_stopping_or_ended (events : list event) :
  existsb releases (duties (after events)) = true <->
  at_stage (after events) = Stopping \/ at_stage (after events) = Ended.
Proof.
  pose proof (ways_to_end events) as P; destruct (at_stage (after events)); cbn in P; try tauto;
    try (destruct P as [->|[->|[->| ->]]]); try rewrite P; cbn; intuition congruence.
Qed.

(** L17: a cancel works at once, however far the request is: it ends unstarted, or is told to stop, or
    has ended before. *)
Theorem cancel_works_mid_stream (events : list event) (r : reason) :
  let q := step (after events) (CancelCame r) in
  (at_stage q = Ended \/ at_stage q = Stopping) /\ existsb releases (duties q) = true.
Proof.
  pose proof (ways_to_end events) as P; destruct (after events) as [s w l]; cbn in P |- *.
  destruct s; cbn in *; try tauto; subst; cbn; auto;
    destruct P as [->|[->|[->| ->]]]; cbn; auto.
Qed.

(** L17: a request that is cancelled before a handler took it is answered ERR and never runs. *)
Theorem cancelled_in_the_queue_never_runs (r : reason) (events : list event) :
  duties (fold_left step events (step registered (CancelCame r))) = [SendErr].
Proof.
  cbn; enough (forall q, at_stage q = Ended -> duties (fold_left step events q) = duties q) as G
    by (apply (G (Request Ended (Some r) [SendErr])); reflexivity).
  induction events as [|e events IH]; cbn; intros q E; [reflexivity|].
  rewrite IH; destruct q as [s w l]; cbn in *; subst; destruct e as [|?|[|]|]; cbn; auto using app_nil_r.
Qed.

(** L17: a handler that was told to stop ends as failed, whatever it returns. *)
Theorem stopped_ends_as_failed (events : list event) (success : bool) :
  at_stage (after events) = Stopping ->
  duties (step (after events) (Returned success)) = [Start; ReleaseAll; SendErr].
Proof.
  intros E; pose proof (ways_to_end events) as P; rewrite E in P; cbn in P.
  unfold step; rewrite E, P; reflexivity.
Qed.

(** L7: a handler that returns ends its request; so it is never left behind. *)
Theorem return_ends (events : list event) (success : bool) :
  at_stage (after events) = Running \/ at_stage (after events) = Stopping ->
  at_stage (step (after events) (Returned success)) = Ended.
Proof. intros [E|E]; unfold step; rewrite E; reflexivity. Qed.

(** L7, L17: a second cancel changes nothing: the handler still runs, and the first reason stays. *)
Theorem second_cancel_is_nothing (q : request) (r : reason) :
  at_stage q = Stopping -> step q (CancelCame r) = q.
Proof.
  destruct q as [s w l]; cbn; intros ->; unfold step; cbn; rewrite app_nil_r; destruct w; reflexivity.
Qed.

(** L7: while a handler runs, whether it was told to stop or not, nothing but its return ends the
    request; so no terminal is sent, and nothing is forgotten, under a running handler. *)
Theorem only_a_return_ends_what_runs (q : request) (e : event) :
  at_stage q = Running \/ at_stage q = Stopping -> at_stage (step q e) = Ended ->
  exists success, e = Returned success.
Proof.
  destruct q as [s w l]; cbn; intros [-> | ->]; destruct e as [|r|success|]; cbn; intros E; try discriminate; eauto.
Qed.

(** A handler that succeeds unhindered ends as finished, one that fails as failed. *)
Theorem outcome_is_told (events : list event) (success : bool) :
  at_stage (after events) = Running ->
  duties (step (after events) (Returned success)) = [Start; if success then SendEnd else SendErr].
Proof.
  intros E; pose proof (ways_to_end events) as P; rewrite E in P; cbn in P.
  unfold step; rewrite E, P; destruct success; reflexivity.
Qed.

(** L13: the reason of the first cancel that came in time is kept for ever. *)
Theorem first_cancel_gives_the_reason (q : request) (e : event) (r : reason) :
  why q = Some r -> why (step q e) = Some r.
Proof. intros E; unfold step; destruct (decide _ _) as [s d]; cbn; rewrite E; reflexivity. Qed.

(** L13: a request that was told to stop has a reason, and one that runs has none. *)
Theorem stopped_for_a_reason (events : list event) :
  match at_stage (after events) with
  | Stopping => why (after events) <> None
  | Queued | Running => why (after events) = None
  | _ => True
  end.
Proof.
  unfold after; assert (match at_stage registered with Stopping => why registered <> None
    | Queued | Running => why registered = None | _ => True end) as P by reflexivity.
  revert P; generalize registered; induction events as [|e events IH]; cbn [fold_left]; auto.
  intros q P; apply IH; destruct q as [s w l]; destruct s, e as [|r|[|]|]; cbn in *; auto; subst; try discriminate;
    try (destruct w); auto; discriminate.
Qed.

(** CLOSE_STREAM is not a cancel: it releases nobody and ends nothing. *)
Theorem close_stream_is_no_cancel (q : request) :
  at_stage (step q CloseStreamCame) = at_stage q /\ duties (step q CloseStreamCame) = duties q
  /\ why (step q CloseStreamCame) = why q.
Proof. destruct q as [s [w|] l]; cbn; auto using app_nil_r. Qed.

(** L6: what comes for a request that is not known, or over, changes nothing. *)
Theorem over_is_over (e : event) (s : stage) :
  s = Unknown \/ s = Ended -> decide s e = (s, Nothing).
Proof. intros [->| ->]; destruct e as [|r|[|]|]; reflexivity. Qed.

End Cancel.

(** L4: the terminal that a duty sends ends the flow, as finished or as failed. *)
Theorem duties_send_terminals (d : duty) (kind : frame_type) :
  terminal_of d = Some kind ->
  is_terminal kind = true /\ releases d = true
  /\ (ends kind = Some Finished <-> d = SendEnd) /\ (ends kind = Some Failed <-> d = SendErr).
Proof. destruct d; cbn; intros E; try discriminate; injection E as <-; cbn; intuition congruence. Qed.

(** * The phase that a relay sees *)

(** A request streams once a frame of its flow has passed, whatever else passes. *)
Theorem streams_from_the_first_flow_frame (kinds : list frame_type) :
  fold_left passed kinds Created = if existsb is_flow kinds then Streaming else Created.
Proof.
  assert (forall l, fold_left passed l Streaming = Streaming) as S
    by (induction l as [|k l IH]; cbn; [reflexivity|]; unfold passed at 2; destruct (is_flow k); exact IH).
  induction kinds as [|k kinds IH]; cbn; [reflexivity|].
  unfold passed at 2; destruct (is_flow k); cbn; auto.
Qed.
