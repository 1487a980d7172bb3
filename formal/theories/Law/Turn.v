(** The turn of one who waits: a large acquire is served once the grants have come that its place in
    line implies, whatever others do meanwhile. *)

From Coq Require Import NArith Bool List Lia ZifyBool ZifyN.
From Sluicegate Require Import Base.U64 Base.Tactics.
From Sluicegate Require Decide.Gate Law.Gate.
From Sluicegate Require Import Law.Line.
Import ListNotations.

Module G := Decide.Gate.

Set Default Timeout 30.
Open Scope N_scope.

Section Turn.

Variable reason : Type.
Notation line := (line reason).
Notation op := (op reason).

(** What all before and including [t] wait for. *)
Fixpoint ahead (t : N) (l : list place) : N :=
  match l with
  | [] => 0
  | (a, n) :: rest => if a =? t then n else n + ahead t rest
  end.

(** What an operation grants. *)
Definition grants (o : op) : N := match o with Grant _ n => n | _ => 0 end.

Fixpoint total (ops : list op) : N :=
  match ops with [] => 0 | o :: rest => grants o + total rest end.

Inductive steps : line -> list op -> line -> Prop :=
| no_step l : steps l [] l
| one_step l o l1 a wakes ops l2 :
    step _ l o = Some (l1, a, wakes) -> steps l1 ops l2 -> steps l (o :: ops) l2.

Definition in_line (t : N) (l : line) : Prop := In t (map fst (waiting _ l)).

Definition has (t : N) (l : list place) : bool := existsb (fun p => fst p =? t) l.

Lemma ahead_app (t : N) (l m : list place) :
  ahead t (l ++ m) = if has t l then ahead t l else sum l + ahead t m.
Proof.
  induction l as [|[a n] l IH]; cbn; [reflexivity|]; destruct (a =? t); cbn; [reflexivity|].
  rewrite IH; fold (has t l); destruct (has t l); lia.
Qed.

Lemma exists_in (t : N) (l : list place) :
  has t l = true <-> In t (map fst l).
Proof.
  unfold has; rewrite existsb_exists, in_map_iff; split; intros (p & A & B); exists p; split; auto; lia.
Qed.

Lemma ahead_remove (t u : N) (l : list place) : t <> u -> ahead t (remove u l) <= ahead t l.
Proof.
  intros D; induction l as [|[a n] l IH]; cbn; [lia|]; destruct (a =? u) eqn:E; cbn.
  - fold (remove u l); replace (a =? t) with false by lia; lia.
  - fold (remove u l); destruct (a =? t); lia.
Qed.

Lemma in_remove_other (t u : N) (l : list place) :
  t <> u -> In t (map fst l) -> In t (map fst (remove u l)).
Proof.
  intros D I; apply in_map_iff in I as (p & <- & I); apply in_map, in_remove; auto.
Qed.

Lemma act_fits (l l1 : line) (o : op) (a : answer reason) :
  U64.fits (G.available (gate _ l)) -> act _ l o = Some (l1, a) -> U64.fits (G.available (gate _ l1)).
Proof.
  intros F E; destruct l as [[av c] w k q s lg gr u]; cbn in *.
  assert (forall n x g' b, G.acquire (G.Gate av c) n x = (g', b) -> U64.fits (G.available g')) as TK.
  { intros n x g' [| |] A;
      [apply Law.Gate.taken_is_exact in A as (_ & ? & _ & ?); cbn in *; u64
      |apply Law.Gate.refusal_changes_nothing in A; [subst; exact F|discriminate]..]. }
  destruct o as [n|n|t|t|n|n|r]; cbn in E.
  - destruct (G.acquire _ _ _) as [? [| |]] eqn:?; invert_all; cbn; eauto.
  - destruct (G.acquire _ _ _) as [? [| |]] eqn:?; invert_all; cbn; eauto.
  - destruct (find t s); [|destruct (find t q)]; invert_all; exact F.
  - destruct (find t s); invert_all; cbn; [apply U64.sat_add_fits|exact F].
  - invert_all; destruct c; cbn; [exact F|apply U64.sat_add_fits].
  - destruct (n <=? u); invert_all; apply U64.sat_add_fits.
  - invert_all; exact F.
Qed.

Lemma settle_fits (l l1 : line) (wakes : list wake) :
  U64.fits (G.available (gate _ l)) -> settle _ l = (l1, wakes) -> U64.fits (G.available (gate _ l1)).
Proof.
  intros F E; destruct l as [g w k q s lg gr u]; cbn in *; destruct (G.closed g) eqn:C;
    [invert_all; exact F|].
  destruct (serve g q) as [[g' sv] r] eqn:SV; invert_all; apply serve_spec in SV as (_ & _ & A & _); cbn; u64.
Qed.

Lemma reachable_fits (window : N) (l : line) :
  U64.fits window -> reachable _ window l -> U64.fits (G.available (gate _ l)).
Proof.
  intros F; induction 1 as [|l o l' a w R IH E]; [exact F|].
  unfold step in E; destruct (act _ l o) as [[l1 a1]|] eqn:A; [|discriminate].
  destruct (settle _ l1) as [l2 w2] eqn:T; invert_all; eauto using act_fits, settle_fits.
Qed.

(** What an action does to the turn of one who stands in line. *)
Lemma act_turn (l l1 : line) (o : op) (a : answer reason) (t : N) :
  sound _ l -> U64.fits (G.available (gate _ l)) -> in_line t l -> act _ l o = Some (l1, a) ->
  (forall r, o <> Close _ r) -> o <> Leave _ t ->
  in_line t l1 /\ G.closed (gate _ l1) = false
  /\ ahead t (waiting _ l1) <= ahead t (waiting _ l)
  /\ N.min (G.available (gate _ l) + grants o) U64.max <= G.available (gate _ l1).
Proof.
  intros S F I E NC NL; pose proof (head_short _ _ S) as HS; unfold in_line in *.
  destruct l as [[av c] w k q s lg gr u]; cbn in *.
  assert (c = false /\ is_nil q = false) as [-> NE]
    by (destruct q as [|[t0 n0] q]; [destruct I|]; destruct HS; auto).
  clear HS.
  assert (forall n g', G.acquire (G.Gate av false) n true = (g', G.Taken) ->
          G.closed g' = false /\ G.available g' = av) as TK.
  { intros n g' A; unfold G.acquire in A; cbn in A; split_ifs; invert_all; auto. }
  destruct o as [n|n|t'|t'|n|n|r]; cbn [act grants] in E; rewrite ?NE in E; cbn [negb] in E.
  - destruct (G.acquire _ n true) as [g' [| |]] eqn:A; invert_all; cbn [gate waiting grants];
      try (apply TK in A as [-> ->]); cbn [G.available G.closed]; repeat split; auto; u64.
  - destruct (G.acquire _ n true) as [g' [| |]] eqn:A; invert_all; cbn [gate waiting grants];
      try (apply TK in A as [-> ->]); cbn [G.available G.closed]; repeat split; auto; try u64.
    + rewrite map_app, in_app_iff; auto.
    + apply exists_in in I; rewrite ahead_app, I; lia.
  - destruct (find t' s); [|destruct (find t' q)]; invert_all; cbn [gate waiting grants G.closed G.available];
      repeat split; auto; u64.
  - assert (t <> t') by congruence.
    destruct (find t' s); invert_all; cbn [gate waiting grants G.closed G.available G.give_back];
      repeat split; auto using in_remove_other, ahead_remove; u64.
  - invert_all; cbn [gate waiting grants]; rewrite Law.Gate.grant_adds by reflexivity; cbn; repeat split; auto; lia.
  - destruct (n <=? u); invert_all; cbn; repeat split; auto; u64.
  - exfalso; eapply NC; reflexivity.
Qed.

(** Serving keeps what is missing to a turn, or gives the turn. *)
Lemma settle_turn (l l1 : line) (wakes : list wake) (t : N) :
  G.closed (gate _ l) = false -> in_line t l -> settle _ l = (l1, wakes) ->
  In t (log _ l1)
  \/ (in_line t l1
      /\ ahead t (waiting _ l1) + G.available (gate _ l) = ahead t (waiting _ l) + G.available (gate _ l1)
      /\ G.available (gate _ l1) < ahead t (waiting _ l1)
      /\ G.available (gate _ l1) <= G.available (gate _ l)).
Proof.
  intros C I E; unfold in_line in *; destruct l as [g w k q s lg gr u]; cbn in *; rewrite C in E.
  destruct (serve g q) as [[g' sv] r] eqn:SV; invert_all; cbn.
  destruct (serve_spec _ _ _ _ _ C SV) as (-> & C' & A & HD).
  destruct (has t sv) eqn:X.
  - left; apply in_app_iff; right; apply exists_in; exact X.
  - right; rewrite map_app, in_app_iff in I; destruct I as [I|I]; [apply exists_in in I; congruence|].
    split; [exact I|]; rewrite ahead_app, X; split; [lia|]; split; [|lia].
    destruct r as [|[a n] r]; [destruct I|]; cbn; destruct (a =? t); lia.
Qed.

Lemma log_grows (l l1 : line) (o : op) (a : answer reason) (wakes : list wake) (t : N) :
  step _ l o = Some (l1, a, wakes) -> In t (log _ l) -> In t (log _ l1).
Proof.
  unfold step; intros E I; destruct (act _ l o) as [[l2 a2]|] eqn:A; [|discriminate].
  assert (log _ l2 = log _ l) as L.
  { destruct l as [g w k q s lg gr u]; destruct o; cbn in A;
      repeat match goal with
      | H : context [G.acquire ?x ?y ?z] |- _ => destruct (G.acquire x y z) as [? [| |]]
      | H : context [find ?x ?y] |- _ => destruct (find x y)
      | H : context [if ?b then _ else _] |- _ => destruct b
      end; invert_all; reflexivity. }
  destruct (settle _ l2) as [l3 w3] eqn:T; invert_all; destruct l2 as [g w k q s lg gr u]; cbn in *; subst.
  destruct (G.closed g); [|destruct (serve g q) as [[? ?] ?]]; invert_all; cbn; rewrite ?in_app_iff; auto.
Qed.

Lemma log_grows_all (l l1 : line) (ops : list op) (t : N) :
  steps l ops l1 -> In t (log _ l) -> In t (log _ l1).
Proof. induction 1; eauto using log_grows. Qed.

(** A large acquire is never starved: once all that is granted while it waits covers what it and those
    before it asked for, it has been served, whoever came, asked or gave up meanwhile. *)
Theorem served_after_its_share (window : N) (l l' : line) (ops : list op) (t : N) :
  U64.fits window -> reachable _ window l -> in_line t l -> steps l ops l' ->
  (forall r, ~ In (Close _ r) ops) -> ~ In (Leave _ t) ops ->
  ahead t (waiting _ l) <= U64.max ->
  ahead t (waiting _ l) <= G.available (gate _ l) + total ops ->
  In t (log _ l').
Proof.
  intros F R I ST NC NL FA EN.
  assert (G.available (gate _ l) < ahead t (waiting _ l)) as LT.
  { pose proof (head_short _ _ (reachable_sound _ _ _ R)) as HS; unfold in_line in I.
    destruct (waiting _ l) as [|[a n] q]; [destruct I|].
    cbn; destruct (a =? t); lia. }
  induction ST as [l|l o l1 a w ops l2 E ST IH]; cbn in *; [lia|].
  assert (reachable _ window l1) as R1 by (eapply reach_step; eauto).
  pose proof E as E'; unfold step in E'; destruct (act _ l o) as [[l3 a3]|] eqn:A; [|discriminate].
  destruct (settle _ l3) as [l4 w4] eqn:T; invert_all.
  destruct (act_turn l l3 o a t (reachable_sound _ _ _ R) (reachable_fits _ _ F R) I A)
    as (I3 & C3 & H3 & M3).
  { intros r ->; apply (NC r); auto. }
  { intros ->; apply NL; auto. }
  destruct (settle_turn l3 l1 w t C3 I3 T) as [J|(I4 & E4 & L4 & D4)]; [eauto using log_grows_all|].
  apply IH; auto; try lia; intros r X; apply (NC r); auto.
Qed.

End Turn.
