(** A gate with a line of those who wait: first come, first served (L9, L10, L13).

    The machine is what a shell does round the decisions of the gate: it keeps a line, serves its
    head while that is possible, sets what it took aside until it is fetched, and wakes. *)

From Coq Require Import NArith Bool List Lia ZifyBool ZifyN Sorting.Sorted.
From Sluicegate Require Import Base.U64 Base.Tactics.
From Sluicegate Require Decide.Gate Law.Gate.
Import ListNotations.

Set Default Timeout 30.
Open Scope N_scope.

Section Line.

(** Whatever a gate is closed with. *)
Variable reason : Type.

(** Who waits, by ticket, and for how much. *)
Definition place : Type := N * N.

Fixpoint sum (l : list place) : N :=
  match l with [] => 0 | (_, n) :: rest => n + sum rest end.

Record line := Line {
  gate : Decide.Gate.gate;
  why : option reason;      (** the reason of the close *)
  next : N;                 (** the next ticket *)
  waiting : list place;     (** first come, first *)
  aside : list place;       (** served, and not fetched yet *)
  log : list N;             (** all that were ever served from the line, in order *)
  granted : N;              (** the window and all grants to the open gate, unbounded *)
  used : N;                 (** what callers were told is theirs, less what they gave back *)
}.

Inductive op :=
| Try (n : N)          (** asks without waiting *)
| Join (n : N)         (** asks, and stands in line if it has to *)
| Fetch (t : N)        (** asks again after a wake *)
| Leave (t : N)        (** gives up: deadline, cancel, dropped future *)
| Grant (n : N)
| GiveBack (n : N)     (** a caller puts back what it does not use *)
| Close (r : reason).

Inductive answer :=
| IsTaken | IsWait | IsTicket (t : N) | IsClosed (r : option reason) | IsDone.

Inductive wake := Served (t : N) | Released (t : N).

(** Serves the head of the line while the gate has enough: the gate, who was served, who stays. *)
Fixpoint serve (g : Decide.Gate.gate) (l : list place) : Decide.Gate.gate * list place * list place :=
  match l with
  | [] => (g, [], [])
  | (t, n) :: rest =>
      match Decide.Gate.acquire g n false with
      | (g', Decide.Gate.Taken) => let '(g'', s, r) := serve g' rest in (g'', (t, n) :: s, r)
      | (_, _) => (g, [], l)
      end
  end.

(** What a shell does before it lets go of its lock: releases all of a closed gate, else serves. *)
Definition settle (l : line) : line * list wake :=
  let 'Line g w k q s lg gr u := l in
  if Decide.Gate.closed g
  then (Line g w k [] s lg gr u, map (fun p => Released (fst p)) q)
  else let '(g', served, rest) := serve g q in
       (Line g' w k rest (s ++ served) (lg ++ map fst served) gr u,
        map (fun p => Served (fst p)) served).

Definition find (t : N) (l : list place) : option N :=
  match List.find (fun p => fst p =? t) l with Some (_, n) => Some n | None => None end.

Definition remove (t : N) (l : list place) : list place := filter (fun p => negb (fst p =? t)) l.

Definition is_nil {A} (l : list A) : bool := match l with [] => true | _ => false end.

Definition act (l : line) (o : op) : option (line * answer) :=
  let 'Line g w k q s lg gr u := l in
  match o with
  | Try n =>
      match Decide.Gate.acquire g n (negb (is_nil q)) with
      | (g', Decide.Gate.Taken) => Some (Line g' w k q s lg gr (u + n), IsTaken)
      | (_, Decide.Gate.Wait) => Some (l, IsWait)
      | (_, Decide.Gate.Closed) => Some (l, IsClosed w)
      end
  | Join n =>
      match Decide.Gate.acquire g n (negb (is_nil q)) with
      | (g', Decide.Gate.Taken) => Some (Line g' w k q s lg gr (u + n), IsTaken)
      | (_, Decide.Gate.Wait) => Some (Line g w (k + 1) (q ++ [(k, n)]) s lg gr u, IsTicket k)
      | (_, Decide.Gate.Closed) => Some (l, IsClosed w)
      end
  | Fetch t =>
      match find t s with
      | Some n => Some (Line g w k q (remove t s) lg gr (u + n), IsTaken)
      | None =>
          match find t q with
          | Some _ => Some (l, IsWait)
          | None => Some (l, IsClosed w)
          end
      end
  | Leave t =>
      match find t s with
      | Some n => Some (Line (Decide.Gate.give_back g n) w k q (remove t s) lg gr u, IsDone)
      | None => Some (Line g w k (remove t q) s lg gr u, IsDone)
      end
  | Grant n =>
      Some (Line (Decide.Gate.grant g n) w k q s lg (if Decide.Gate.closed g then gr else gr + n) u, IsDone)
  | GiveBack n =>
      if n <=? u then Some (Line (Decide.Gate.give_back g n) w k q s lg gr (u - n), IsDone) else None
  | Close r =>
      let (g', first) := Decide.Gate.close g in
      Some (Line g' (if first then Some r else w) k q s lg gr u, IsDone)
  end.

Definition step (l : line) (o : op) : option (line * answer * list wake) :=
  match act l o with
  | Some (l', a) => let (l'', wakes) := settle l' in Some (l'', a, wakes)
  | None => None
  end.

Definition opened (window : N) : line := Line (Decide.Gate.opened window) None 0 [] [] [] window 0.

Inductive reachable (window : N) : line -> Prop :=
| reach_opened : reachable window (opened window)
| reach_step l o l' a wakes :
    reachable window l -> step l o = Some (l', a, wakes) -> reachable window l'.

(** * Serving *)

Lemma serve_spec (q : list place) (g g' : Decide.Gate.gate) (s r : list place) :
  Decide.Gate.closed g = false -> serve g q = (g', s, r) ->
  q = s ++ r /\ Decide.Gate.closed g' = false /\ Decide.Gate.available g' + sum s = Decide.Gate.available g
  /\ match r with [] => True | (_, n) :: _ => Decide.Gate.available g' < n end.
Proof.
  revert g g' s r; induction q as [|[t n] q IH]; intros g g' s r O E; cbn in E; invert_all.
  - repeat split; cbn; auto; lia.
  - destruct (Decide.Gate.acquire g n false) as [g1 [| |]] eqn:A.
    + destruct (serve g1 q) as [[g2 s2] r2] eqn:E2; invert_all.
      apply Law.Gate.taken_is_exact in A as (_ & ? & O1 & ?).
      destruct (IH _ _ _ _ O1 E2) as (-> & ? & ? & ?); cbn; repeat split; auto; lia.
    + invert_all; repeat split; auto; cbn; [lia|].
      assert (snd (Decide.Gate.acquire g' n false) = Decide.Gate.Wait) as W by (rewrite A; reflexivity).
      apply Law.Gate.waits_iff_short in W; intuition discriminate.
    + assert (snd (Decide.Gate.acquire g n false) = Decide.Gate.Closed) as W by (rewrite A; reflexivity).
      apply Law.Gate.closed_iff_closed in W; congruence.
Qed.

Lemma sum_app (l m : list place) : sum (l ++ m) = sum l + sum m.
Proof. induction l as [|[t n] l IH]; cbn; [reflexivity|]; rewrite IH; lia. Qed.

(** * What holds in every state *)

Definition tickets (l : line) : list N := log l ++ map fst (waiting l).

Record sound (l : line) : Prop := {
  ordered : StronglySorted N.lt (tickets l);
  given_out : Forall (fun t => t < next l) (tickets l);
  aside_logged : incl (map fst (aside l)) (log l);
  aside_once : NoDup (map fst (aside l));
  closed_why : Decide.Gate.closed (gate l) = match why l with Some _ => true | None => false end;
  head_short :
    match waiting l with
    | [] => True
    | (_, n) :: _ => Decide.Gate.closed (gate l) = false /\ Decide.Gate.available (gate l) < n
    end;
  spent : Decide.Gate.available (gate l) + sum (aside l) + used l <= granted l;
  kept : granted l <= U64.max -> Decide.Gate.available (gate l) + sum (aside l) + used l = granted l;
}.

(** What an action may break until the line is settled. *)
Record unsettled (l : line) : Prop := {
  u_ordered : StronglySorted N.lt (tickets l);
  u_given_out : Forall (fun t => t < next l) (tickets l);
  u_aside_logged : incl (map fst (aside l)) (log l);
  u_aside_once : NoDup (map fst (aside l));
  u_closed_why : Decide.Gate.closed (gate l) = match why l with Some _ => true | None => false end;
  u_spent : Decide.Gate.available (gate l) + sum (aside l) + used l <= granted l;
  u_kept : granted l <= U64.max -> Decide.Gate.available (gate l) + sum (aside l) + used l = granted l;
}.

Lemma sorted_app (l m : list N) :
  StronglySorted N.lt (l ++ m) <->
  StronglySorted N.lt l /\ StronglySorted N.lt m /\ (forall x y, In x l -> In y m -> x < y).
Proof.
  induction l as [|a l IH]; cbn.
  - split; [intros H; repeat split; auto; [constructor|intros ? ? []]|tauto].
  - split.
    + intros H; apply StronglySorted_inv in H as [H F]; apply IH in H as (H1 & H2 & H3).
      rewrite Forall_app in F; destruct F as [F1 F2]; rewrite Forall_forall in F2.
      repeat split; auto; [constructor; auto|]; intros x y [<-|X] Y; auto.
    + intros (H1 & H2 & H3); apply StronglySorted_inv in H1 as [H1 F]; constructor.
      * apply IH; repeat split; auto.
      * apply Forall_app; split; [exact F|]; apply Forall_forall; auto.
Qed.

Lemma sorted_nodup (l : list N) : StronglySorted N.lt l -> NoDup l.
Proof.
  induction 1 as [|a l S IH F]; constructor; auto.
  rewrite Forall_forall in F; intros X; specialize (F _ X); lia.
Qed.

Lemma nodup_app (l m : list N) :
  NoDup l -> NoDup m -> (forall x, In x l -> In x m -> False) -> NoDup (l ++ m).
Proof.
  induction l as [|a l IH]; cbn; intros H1 H2 H; [exact H2|].
  apply NoDup_cons_iff in H1 as [N1 H1]; constructor; [rewrite in_app_iff; intros [X|X]|]; eauto.
Qed.

Lemma settle_sound (l l' : line) (wakes : list wake) :
  unsettled l -> settle l = (l', wakes) -> sound l'.
Proof.
  intros [H1 H2 H3 H4 H5 H6 H7] E; destruct l as [g w k q s lg gr u]; unfold tickets in *; cbn in *.
  destruct (Decide.Gate.closed g) eqn:C.
  - invert_all; apply sorted_app in H1 as (H1 & _); apply Forall_app in H2 as [H2 _].
    constructor; unfold tickets; cbn; rewrite ?app_nil_r; auto; congruence.
  - destruct (serve g q) as [[g' sv] r] eqn:SV; invert_all.
    destruct (serve_spec _ _ _ _ _ C SV) as (-> & C' & A & HD); rewrite map_app in *.
    constructor; unfold tickets; cbn; rewrite <- ?app_assoc; auto.
    + rewrite map_app; intros x X; apply in_app_iff in X as [X|X]; apply in_app_iff; auto.
    + rewrite map_app; apply sorted_app in H1 as (H1 & H1' & L); apply sorted_app in H1' as (H1' & _).
      apply nodup_app; auto using sorted_nodup.
      intros x X Y; specialize (L x x (H3 x X)); rewrite in_app_iff in L; specialize (L (or_introl Y)); lia.
    + congruence.
    + destruct r as [|[t n] r]; auto.
    + rewrite sum_app; lia.
    + rewrite sum_app; lia.
Qed.

Lemma find_in (t n : N) (l : list place) : find t l = Some n -> In (t, n) l.
Proof.
  unfold find; destruct (List.find (fun p : N * N => fst p =? t) l) as [[t' n']|] eqn:E; intros; invert_all.
  apply find_some in E as [I E]; cbn in E; replace t with t' by lia; exact I.
Qed.

Lemma find_none (t n : N) (l : list place) : find t l = None -> ~ In (t, n) l.
Proof.
  unfold find; destruct (List.find (fun p : N * N => fst p =? t) l) as [[t' n']|] eqn:E; intros H I; [discriminate|].
  eapply List.find_none in E; [|exact I]; cbn in E; lia.
Qed.

Lemma in_remove (t : N) (p : place) (l : list place) : In p (remove t l) <-> In p l /\ fst p <> t.
Proof. unfold remove; rewrite filter_In, negb_true_iff, N.eqb_neq; tauto. Qed.

Lemma remove_absent (t : N) (l : list place) : ~ In t (map fst l) -> remove t l = l.
Proof.
  induction l as [|[a n] l IH]; cbn; intros H; [reflexivity|].
  destruct (a =? t) eqn:E; cbn; [exfalso; apply H; left; lia|].
  fold (remove t l); rewrite IH; [reflexivity|]; intros X; apply H; right; exact X.
Qed.

Lemma sum_remove (t n : N) (l : list place) :
  NoDup (map fst l) -> In (t, n) l -> sum (remove t l) + n = sum l.
Proof.
  induction l as [|[a m] l IH]; cbn; intros D I; [tauto|].
  apply NoDup_cons_iff in D as [D1 D2]; destruct I as [E|I].
  - injection E as -> ->; replace (t =? t) with true by lia; cbn.
    fold (remove t l); rewrite remove_absent by exact D1; lia.
  - destruct (a =? t) eqn:E; cbn.
    + exfalso; apply D1; replace a with t by lia; change t with (fst (t, n)); apply in_map, I.
    + fold (remove t l); specialize (IH D2 I); lia.
Qed.

Lemma map_remove_incl (t : N) (l : list place) : incl (map fst (remove t l)) (map fst l).
Proof.
  intros x X; apply in_map_iff in X as (p & <- & P); apply in_remove in P; apply in_map; tauto.
Qed.

Lemma map_remove_nodup (t : N) (l : list place) : NoDup (map fst l) -> NoDup (map fst (remove t l)).
Proof.
  induction l as [|[a m] l IH]; cbn; intros D; [constructor|].
  apply NoDup_cons_iff in D as [D1 D2]; destruct (a =? t); cbn; fold (remove t l); auto.
  constructor; auto; intros X; apply D1, (map_remove_incl t), X.
Qed.

Lemma map_remove_sorted (t : N) (l : list place) :
  StronglySorted N.lt (map fst l) -> StronglySorted N.lt (map fst (remove t l)).
Proof.
  induction l as [|[a m] l IH]; cbn; intros D; [constructor|].
  apply StronglySorted_inv in D as [D F]; destruct (a =? t); cbn; fold (remove t l); auto.
  constructor; auto; rewrite Forall_forall in *; intros x X; apply F, (map_remove_incl t), X.
Qed.

Lemma act_unsettled (l l' : line) (o : op) (a : answer) :
  sound l -> act l o = Some (l', a) -> unsettled l'.
Proof.
  intros [H1 H2 H3 H4 H5 H6 H7 H8] E; destruct l as [[av c] w k q s lg gr u]; unfold tickets in *; cbn in *.
  assert (forall n g', Decide.Gate.acquire (Decide.Gate.Gate av c) n (negb (is_nil q)) = (g', Decide.Gate.Taken) ->
          unsettled (Line g' w k q s lg gr (u + n))) as TK.
  { intros n g' A; apply Law.Gate.taken_is_exact in A as (C & ? & C' & ?); cbn in *.
    constructor; unfold tickets; cbn; auto; try congruence; lia. }
  destruct o as [n|n|t|t|n|n|r]; cbn in E.
  - destruct (Decide.Gate.acquire _ _ _) as [g' [| |]] eqn:A; invert_all; eauto; constructor; auto.
  - destruct (Decide.Gate.acquire _ _ _) as [g' [| |]] eqn:A; invert_all; eauto; constructor; auto;
      unfold tickets; cbn; rewrite map_app, app_assoc; cbn.
    + apply sorted_app; repeat split; auto; [repeat constructor|].
      rewrite Forall_forall in H2; intros x y X [<-|[]]; auto.
    + apply Forall_app; split; [|repeat constructor; lia].
      eapply Forall_impl; [|exact H2]; cbn; lia.
  - destruct (find t s) as [n|] eqn:F.
    + apply find_in in F; invert_all; pose proof (sum_remove _ _ _ H4 F).
      constructor; unfold tickets; cbn; auto using map_remove_nodup; try lia.
      intros x X; apply H3, (map_remove_incl t), X.
    + destruct (find t q); invert_all; constructor; auto.
  - destruct (find t s) as [n|] eqn:F; invert_all.
    + apply find_in in F; pose proof (sum_remove _ _ _ H4 F).
      constructor; unfold tickets; cbn; auto using map_remove_nodup; try u64.
      intros x X; apply H3, (map_remove_incl t), X.
    + apply sorted_app in H1 as (S1 & S2 & S3); apply Forall_app in H2 as [F1 F2].
      constructor; unfold tickets; cbn; auto.
      * apply sorted_app; repeat split; auto using map_remove_sorted.
        intros x y X Y; apply S3; auto; apply (map_remove_incl t), Y.
      * apply Forall_app; split; auto; rewrite Forall_forall in *.
        intros x X; apply F2, (map_remove_incl t), X.
  - unfold Decide.Gate.grant in E; cbn in E; destruct c; invert_all; constructor; unfold tickets; cbn; auto; u64.
  - destruct (n <=? u) eqn:L; invert_all; constructor; unfold tickets; cbn; auto; u64.
  - invert_all; constructor; unfold tickets; cbn; auto; destruct w; reflexivity.
Qed.

Lemma step_sound (l l' : line) (o : op) (a : answer) (wakes : list wake) :
  sound l -> step l o = Some (l', a, wakes) -> sound l'.
Proof.
  unfold step; intros S E; destruct (act l o) as [[l1 a1]|] eqn:A; [|discriminate].
  destruct (settle l1) as [l2 w2] eqn:T; invert_all; eauto using settle_sound, act_unsettled.
Qed.

Lemma reachable_sound (window : N) (l : line) : reachable window l -> sound l.
Proof.
  induction 1; [|eauto using step_sound].
  constructor; unfold tickets; cbn; try constructor; auto; try lia; intros ? [].
Qed.

(** * The laws *)

(** No waiter is left standing that could be served: whoever is first in line asked for more than
    there is, on an open gate. So no wake is ever lost. *)
Theorem nobody_stands_who_could_be_served (window : N) (l : line) (t n : N) (rest : list place) :
  reachable window l -> waiting l = (t, n) :: rest ->
  Decide.Gate.closed (gate l) = false /\ Decide.Gate.available (gate l) < n.
Proof. intros R E; pose proof (head_short _ (reachable_sound _ _ R)) as H; rewrite E in H; exact H. Qed.

(** First come, first served: tickets are served in the order they were given out, and all that were
    served came before all that still wait. *)
Theorem served_in_order (window : N) (l : line) :
  reachable window l ->
  StronglySorted N.lt (log l ++ map fst (waiting l))
  /\ Forall (fun t => t < next l) (log l ++ map fst (waiting l)).
Proof. intros R; destruct (reachable_sound _ _ R); auto. Qed.

(** Nobody overtakes: credit is taken without standing in line only when nobody stands there. *)
Theorem nobody_overtakes (l l' : line) (n : N) (wakes : list wake) :
  0 < n -> (step l (Try n) = Some (l', IsTaken, wakes) \/ step l (Join n) = Some (l', IsTaken, wakes)) ->
  waiting l = [].
Proof.
  intros P E; destruct l as [g w k q s lg gr u]; cbn.
  destruct q as [|p q]; [reflexivity|exfalso]; unfold step, act in E; cbn [is_nil negb] in E.
  assert (snd (Decide.Gate.acquire g n true) <> Decide.Gate.Taken) as N.
  { unfold Decide.Gate.acquire; split_ifs; cbn; try discriminate; u64. }
  destruct (Decide.Gate.acquire g n true) as [g' [| |]]; cbn in N; [congruence|..];
    destruct E as [E|E]; destruct (settle _) in E; discriminate.
Qed.

(** Conservation: window and grants = used + set aside + available, while the counts fit. *)
Theorem conservation (window : N) (l : line) :
  reachable window l -> granted l <= U64.max ->
  Decide.Gate.available (gate l) + sum (aside l) + used l = granted l.
Proof. intros R; apply (kept _ (reachable_sound _ _ R)). Qed.

(** And beyond that nothing is ever made: no more is used and available than was granted. *)
Theorem never_from_nothing (window : N) (l : line) :
  reachable window l -> Decide.Gate.available (gate l) + sum (aside l) + used l <= granted l.
Proof. intros R; apply (spent _ (reachable_sound _ _ R)). Qed.

(** No lost wake: who was in line before a step is in line after it, or left by itself, or was told:
    served with its credit set aside, or released because the gate is closed. *)
Theorem every_exit_is_told (l l' : line) (o : op) (a : answer) (wakes : list wake) (t n : N) :
  In (t, n) (waiting l) -> step l o = Some (l', a, wakes) ->
  In (t, n) (waiting l') \/ o = Leave t
  \/ (In (Served t) wakes /\ In (t, n) (aside l') /\ In t (log l'))
  \/ (In (Released t) wakes /\ Decide.Gate.closed (gate l') = true).
Proof.
  unfold step; intros I E; destruct (act l o) as [[l1 a1]|] eqn:A; [|discriminate].
  assert (In (t, n) (waiting l1) \/ o = Leave t) as [I1|?]; [clear E| |auto].
  { destruct l as [g w k q s lg gr u]; cbn in *; destruct o as [m|m|t'|t'|m|m|r]; cbn in A;
      repeat match goal with
      | H : context [Decide.Gate.acquire ?x ?y ?z] |- _ => destruct (Decide.Gate.acquire x y z) as [? [| |]]
      | H : context [find ?x ?y] |- _ => destruct (find x y)
      | H : context [if ?b then _ else _] |- _ => destruct b
      end; invert_all; cbn; auto; rewrite ?in_app_iff, ?in_remove; cbn; auto.
    destruct (N.eq_dec t t') as [->|]; auto. }
  destruct (settle l1) as [l2 w2] eqn:T; invert_all.
  destruct l1 as [g w k q s lg gr u]; cbn in *; destruct (Decide.Gate.closed g) eqn:C.
  - invert_all; right; right; right; split; [|exact C].
    change (Released t) with ((fun p : place => Released (fst p)) (t, n)); apply in_map, I1.
  - destruct (serve g q) as [[g' sv] r] eqn:SV; invert_all.
    destruct (serve_spec _ _ _ _ _ C SV) as (-> & _); apply in_app_iff in I1 as [I1|I1]; auto.
    right; right; left; cbn; rewrite !in_app_iff; repeat split; auto.
    + change (Served t) with ((fun p : place => Served (fst p)) (t, n)); apply in_map, I1.
    + right; change t with (fst (t, n)); apply in_map, I1.
Qed.

(** A wake is never for nothing: who is woken is served and has its credit set aside, or is released
    because the gate is closed; and it stands in line no more, so it is woken once. *)
Theorem no_idle_wake (window : N) (l l' : line) (o : op) (a : answer) (wakes : list wake) (k : wake) :
  reachable window l -> step l o = Some (l', a, wakes) -> In k wakes ->
  exists t, ~ In t (map fst (waiting l'))
            /\ (k = Served t /\ In t (map fst (aside l')) \/ k = Released t /\ Decide.Gate.closed (gate l') = true).
Proof.
  intros R E I; pose proof (ordered _ (step_sound _ _ _ _ _ (reachable_sound _ _ R) E)) as S.
  apply sorted_app in S as (_ & _ & S).
  unfold step in E; destruct (act l o) as [[l1 a1]|]; [|discriminate].
  destruct (settle l1) as [l2 w2] eqn:T; invert_all.
  destruct l1 as [g w q0 q s lg gr u]; cbn in *; destruct (Decide.Gate.closed g) eqn:C.
  - invert_all; apply in_map_iff in I as ([t n] & <- & _); exists t; cbn; auto.
  - destruct (serve g q) as [[g' sv] r] eqn:SV; invert_all; cbn in *.
    apply in_map_iff in I as ([t n] & <- & J); exists t; apply (in_map fst) in J; cbn in *.
    rewrite map_app, in_app_iff; split; [|auto].
    intros X; specialize (S t t); rewrite in_app_iff in S; specialize (S (or_intror J) X); lia.
Qed.

(** L13: a close releases everybody who waits, in the same step. *)
Theorem close_releases_all (l l' : line) (r : reason) (a : answer) (wakes : list wake) :
  step l (Close r) = Some (l', a, wakes) ->
  waiting l' = [] /\ Decide.Gate.closed (gate l') = true /\ wakes = map (fun p => Released (fst p)) (waiting l).
Proof. destruct l as [g w k q s lg gr u]; cbn; intros E; invert_all; auto. Qed.

(** L13: the reason of the first close is the reason for ever. *)
Theorem first_reason_stays (window : N) (l l' : line) (o : op) (a : answer) (wakes : list wake) (r : reason) :
  reachable window l -> why l = Some r -> step l o = Some (l', a, wakes) -> why l' = Some r.
Proof.
  intros R W E; pose proof (closed_why _ (reachable_sound _ _ R)) as C; rewrite W in C.
  unfold step in E; destruct (act l o) as [[l1 a1]|] eqn:A; [|discriminate].
  assert (why l1 = Some r) as W1.
  { destruct l as [[av c] w k q s lg gr u]; cbn in *; subst c; destruct o as [m|m|t'|t'|m|m|r']; cbn in A;
      repeat match goal with
      | H : context [find ?x ?y] |- _ => destruct (find x y)
      | H : context [if ?b then _ else _] |- _ => destruct b
      end; invert_all; cbn; auto. }
  destruct (settle l1) as [l2 w2] eqn:T; invert_all; destruct l1 as [g w k q s lg gr u]; cbn in *.
  destruct (Decide.Gate.closed g); [|destruct (serve g q) as [[? ?] ?]]; invert_all; auto.
Qed.

(** L13: an open gate that is closed keeps that reason, and everybody who asks is told it: who comes
    new, and who was released from the line. *)
Theorem asked_after_close (window : N) (l : line) (r : reason) (n t : N) :
  reachable window l -> why l = Some r ->
  (exists l' w, step l (Try n) = Some (l', IsClosed (Some r), w))
  /\ (exists l' w, step l (Join n) = Some (l', IsClosed (Some r), w))
  /\ (find t (aside l) = None -> exists l' w, step l (Fetch t) = Some (l', IsClosed (Some r), w)).
Proof.
  intros R W; pose proof (reachable_sound _ _ R) as [_ _ _ _ C H _ _]; rewrite W in C.
  destruct l as [[av c] w k q s lg gr u]; cbn in *; subst.
  assert (q = []) as -> by (destruct q as [|[? ?] ?]; auto; destruct H; discriminate).
  cbn; repeat split; [eauto..|].
  intros F; unfold step; cbn; rewrite F; cbn; eauto.
Qed.

(** L13: the first close is the one whose reason is told. *)
Theorem first_close_gives_the_reason (l l' : line) (r : reason) (a : answer) (wakes : list wake) :
  Decide.Gate.closed (gate l) = false -> step l (Close r) = Some (l', a, wakes) -> why l' = Some r.
Proof. destruct l as [[av c] w k q s lg gr u]; cbn; intros -> E; invert_all; reflexivity. Qed.

(** Who was served finds its credit, whatever happened since, until it fetches or leaves it. *)
Theorem set_aside_is_kept (l l' : line) (o : op) (a : answer) (wakes : list wake) (t n : N) :
  In (t, n) (aside l) -> step l o = Some (l', a, wakes) -> o <> Fetch t -> o <> Leave t ->
  In (t, n) (aside l').
Proof.
  unfold step; intros I E N1 N2; destruct (act l o) as [[l1 a1]|] eqn:A; [|discriminate].
  assert (In (t, n) (aside l1)) as I1.
  { destruct l as [g w k q s lg gr u]; cbn in *; destruct o as [m|m|t'|t'|m|m|r]; cbn in A;
      repeat match goal with
      | H : context [Decide.Gate.acquire ?x ?y ?z] |- _ => destruct (Decide.Gate.acquire x y z) as [? [| |]]
      | H : context [find ?x ?y] |- _ => destruct (find x y)
      | H : context [if ?b then _ else _] |- _ => destruct b
      end; invert_all; cbn; auto; rewrite in_remove; cbn; split; auto; congruence. }
  destruct (settle l1) as [l2 w2] eqn:T; invert_all; destruct l1 as [g w k q s lg gr u]; cbn in *.
  destruct (Decide.Gate.closed g); [|destruct (serve g q) as [[? ?] ?]]; invert_all; cbn; auto.
  apply in_app_iff; auto.
Qed.

(** Leaving hands on: what was set aside for one who leaves is available again, before the line is
    served anew. *)
Theorem leaving_hands_on (l l1 : line) (a : answer) (t n : N) :
  find t (aside l) = Some n -> act l (Leave t) = Some (l1, a) ->
  gate l1 = Decide.Gate.give_back (gate l) n /\ waiting l1 = waiting l /\ find t (aside l1) = None.
Proof.
  destruct l as [g w k q s lg gr u]; cbn; intros F E; rewrite F in E; invert_all; cbn.
  repeat split; unfold find; destruct (List.find (fun p : N * N => fst p =? t) (remove t s)) as [[t' n']|] eqn:X; auto.
  apply find_some in X as [X Y]; apply in_remove in X; cbn in *; lia.
Qed.

End Line.
