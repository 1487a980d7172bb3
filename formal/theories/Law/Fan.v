(** Fan-in: many sources into one consumer, a chain each.

    The consumer takes from any stream that has something, in whatever order it likes, by one reader
    for all or by one for each: what a single reader does is among the runs shown here. Windows are
    separate, so what one stream does or fails to do is nothing to the others. *)

From Coq Require Import NArith List Bool Lia ZifyBool ZifyN.
From Sluicegate Require Base.U64 Decide.Gate Decide.Window.
From Sluicegate Require Import Law.Chain Law.ChainHop Law.ChainSafe Law.ChainLive Law.ChainWork.
Import ListNotations.

Open Scope N_scope.
Set Default Timeout 30.

Section Fan.
Context {chunk : Type}.
Implicit Types (h : hop chunk) (c : list (hop chunk)) (s : system chunk) (f : list (system chunk)).

(** The branches of a fan, each with its plans. *)
Definition start (plans : list plan) : system chunk := System [] (map opened plans) [].

(** A step of the branch at this place. *)
Inductive fan_step : nat -> kind -> list (system chunk) -> list (system chunk) -> Prop :=
| fan_here k s s' f : step k s s' -> fan_step O k (s :: f) (s' :: f)
| fan_there i k s f f' : fan_step i k f f' -> fan_step (S i) k (s :: f) (s :: f').

Inductive fan_reachable (plans : list (list plan)) : list (system chunk) -> Prop :=
| fan_start : fan_reachable plans (map start plans)
| fan_more i k f f' : fan_reachable plans f -> fan_step i k f f' -> fan_reachable plans f'.

Lemma fan_step_branches i k plans f f' :
  Forall2 reachable plans f -> fan_step i k f f' -> Forall2 reachable plans f'.
Proof.
  intros R St; revert plans R; induction St; intros plans R; inversion R; subst; constructor; auto.
  eapply reach_step; eassumption.
Qed.

(** Each branch of a fan is a chain of its own. *)
Lemma fan_branches plans f : fan_reachable plans f -> Forall2 reachable plans f.
Proof.
  intros R; induction R as [|i k f f' R IH St]; [|eapply fan_step_branches; eassumption].
  induction plans; constructor; auto; apply reach_start.
Qed.

Lemma branch_plans (P : list plan -> system chunk -> Prop) plans f s :
  Forall2 P plans f -> In s f -> exists p, In p plans /\ P p s.
Proof.
  intros F; induction F as [|p s' plans f X F IH]; intros I; [easy|].
  destruct I as [->|I]; [exists p; split; [left|]; auto|].
  destruct (IH I) as (q & Q & Y); exists q; split; [right|]; auto.
Qed.

(** Credit is conserved on every hop of every branch, and no stream overruns its window, whatever
    the other streams do (C1, C2; L12). *)
Theorem fan_in_conserves plans f s h :
  Forall (Forall sound) plans -> fan_reachable plans f -> In s f -> In h (hops s) ->
  overrun h = false /\
  (Gate.closed (gate h) = false -> given_up h = false ->
   Gate.available (gate h) + count (wire h) + sum (grants h)
     + (receive_window (planned h) - send_window (planned h)) = Window.remaining (window h)) /\
  (given_up h = false ->
   Window.remaining (window h) + Window.pending (window h) + owing h = receive_window (planned h)).
Proof.
  intros F R I J; destruct (branch_plans _ _ _ _ (fan_branches _ _ R) I) as (p & P & X).
  pose proof (proj1 (Forall_forall _ _) F p P) as Fp; split.
  - exact (never_overruns p s h Fp X J).
  - exact (conservation_on_every_hop p s h Fp X J).
Qed.

(** Memory of a fan: the sum of all windows of all branches, and the chunks in early hands (C7). *)
Theorem fan_in_memory plans f :
  Forall (Forall sound) plans -> fan_reachable plans f ->
  sum (map (fun s => held_by (hops s)) f)
    <= sum (map (fun p => sum (map send_window p) + sum (map in_early_hands p)) plans).
Proof.
  intros F R; pose proof (fan_branches _ _ R) as B; clear R.
  induction B as [|p s plans f X B IH]; cbn -[N.add]; [lia|].
  inversion F as [|? ? Fp F']; subst; specialize (IH F').
  pose proof (memory_is_the_sum_of_the_windows p s Fp X); lia.
Qed.

Lemma fan_step_some i k f f' : fan_step i k f f' -> nth_error f i <> None.
Proof. intros St; induction St; cbn; [discriminate|assumption]. Qed.

(** What a branch can do depends on that branch alone: if it can step beside these neighbours, it
    can step the same way beside any others, and they stay as they are. *)
Theorem no_stream_blocks_another i k f f' g :
  fan_step i k f f' -> nth_error g i = nth_error f i ->
  exists g', fan_step i k g g' /\ nth_error g' i = nth_error f' i /\
    (forall j, j <> i -> nth_error g' j = nth_error g j).
Proof.
  intros St; revert g; induction St as [k s s' f St|i k s f f' St IH]; intros [|r g] E; try discriminate;
    try (cbn in E; destruct (fan_step_some _ _ _ _ St); congruence).
  - injection E as ->; exists (s' :: g); repeat split; [constructor; exact St|].
    intros [|j] J; [easy|reflexivity].
  - destruct (IH g E) as (g' & A & B & C); exists (r :: g'); repeat split; [constructor; exact A|exact B|].
    intros [|j] J; [reflexivity|]; apply C; congruence.
Qed.

(** Steps of one branch only. *)
Inductive only_branch (i : nat) : list (system chunk) -> list (system chunk) -> Prop :=
| only_none f : only_branch i f f
| only_more f f' f'' : fan_step i Due f f' -> only_branch i f' f'' -> only_branch i f f''.

Lemma only_cons i s f f' : only_branch i f f' -> only_branch (S i) (s :: f) (s :: f').
Proof. intros O; induction O; econstructor; eauto; constructor; eassumption. Qed.

Lemma run_only n c d c' o e f :
  run only_due n c d c' -> only_branch O (System o c e :: f) (System o c' (e ++ d) :: f).
Proof.
  intros R; revert e; induction R as [|n k c x c' d c'' K M R IH]; intros e.
  - rewrite app_nil_r; constructor.
  - unfold only_due in K; subst k; rewrite app_assoc; eapply only_more; [|apply IH].
    constructor; destruct x; cbn; [apply step_deliver; exact M|rewrite app_nil_r; apply step_inside; exact M].
Qed.

(** One slow or silent stream blocks no other: from every state of the fan, by steps of this one
    branch and the consumer alone, everything that the branch was offered is delivered and its
    source may send again, while all the others stand still (C9; L10, L15). *)
Theorem a_silent_stream_blocks_nobody plans f i s :
  Forall (Forall sound) plans -> fan_reachable plans f ->
  nth_error f i = Some s -> Forall live (hops s) ->
  exists f' s', only_branch i f f' /\ nth_error f' i = Some s' /\
    offered s' = offered s /\ delivered s' = offered s /\ Forall whole (hops s') /\
    (forall j, j <> i -> nth_error f' j = nth_error f j).
Proof.
  intros F R E L; pose proof (fan_branches _ _ R) as B; clear R; revert i E.
  induction B as [|p r plans f X B IH]; intros [|i] E; try discriminate;
    inversion F as [|? ? Fp F']; subst; cbn in E.
  - injection E as ->; destruct (every_chunk_arrives p s Fp X L) as (n & c' & Rn & W).
    destruct s as [o c e]; cbn in *.
    exists (System o c' (e ++ contents c) :: f), (System o c' (e ++ contents c)); cbn.
    repeat split; auto.
    + eapply run_only; exact Rn.
    + exact (nothing_lost_nothing_overtakes p _ Fp X).
    + intros [|j] J; [easy|reflexivity].
  - destruct (IH F' i E) as (f' & s' & O & N' & A & D & W & Z).
    exists (r :: f'), s'; repeat split; auto; [apply only_cons; exact O|].
    intros [|j] J; [reflexivity|]; apply Z; congruence.
Qed.

(** A fan never deadlocks: something is due in some branch, or each branch is at rest: it has
    delivered everything and its source may send, or it is over (C3, C9). *)
Theorem fan_in_never_deadlocks plans f :
  Forall (Forall sound) plans -> fan_reachable plans f ->
  Exists (fun s => due (hops s)) f \/
  Forall (fun s => (Forall whole (hops s) /\ delivered s = offered s) \/ Forall over (hops s)) f.
Proof.
  intros F R; pose proof (fan_branches _ _ R) as B; clear R.
  induction B as [|p s plans f X B IH]; [right; constructor|].
  inversion F as [|? ? Fp F']; subst; destruct (IH F') as [E|E]; [left; right; exact E|].
  destruct (no_deadlock p s Fp X) as [D|D]; [left; left; exact D|right; constructor; auto].
Qed.

End Fan.
