(** Laws of the target of a grant (T1 to T4), tied to the list of a request's streams. *)

From Coq Require Import NArith Bool List Lia ZifyBool ZifyN ZifyNat Sorting.Permutation.
From Sluicegate Require Import Base.U64 Base.Tactics Decide.Target.
From Sluicegate Require Decide.Gate Law.Gate.
Import ListNotations.

Set Default Timeout 30.
Open Scope N_scope.

Module G := Decide.Gate.

Section Target.

(** Texts; the empty text is one of them. *)
Variable text : Type.
Variable same : forall a b : text, {a = b} + {a <> b}.

(** A stream's name: absent, or a text. *)
Definition name : Type := option text.

Definition same_name (a b : name) : {a = b} + {a <> b}.
Proof. decide equality. Defined.

Definition is_open (streams : list name) (a : name) : bool :=
  if in_dec same_name a streams then true else false.

(** What a router does: it tells the decision what it needs to know of its list. *)
Definition choose (streams : list name) (named : name) : option name :=
  match
    grant_target (match named with Some _ => true | None => false end)
                 (is_open streams named) (is_open streams None) (N.of_nat (length streams))
  with
  | Named => Some named
  | Unnamed => Some None
  | Sole => hd_error streams
  | Nobody => None
  end.

Lemma is_open_in (streams : list name) (a : name) : is_open streams a = true <-> In a streams.
Proof. unfold is_open; destruct (in_dec _ _ _); intuition discriminate. Qed.

(** T1: a grant that names a stream goes to that stream if it is open, and else to none. *)
Theorem named_goes_to_its_name (streams : list name) (t : text) :
  choose streams (Some t) = if in_dec same_name (Some t) streams then Some (Some t) else None.
Proof.
  unfold choose, grant_target, is_open; destruct (in_dec same_name (Some t) streams); reflexivity.
Qed.

(** T2: a grant without a name goes to the stream without a name if there is one, else to the only
    stream, and else to none. *)
Theorem unnamed_goes_to_unnamed_or_sole (streams : list name) :
  choose streams None =
  if in_dec same_name None streams then Some None
  else match streams with [a] => Some a | _ => None end.
Proof.
  unfold choose, grant_target, is_open; destruct (in_dec same_name None streams); [reflexivity|].
  destruct streams as [|a [|b r]]; try reflexivity.
  replace (U64.eqb (N.of_nat (length (a :: b :: r))) 1) with false; [reflexivity|].
  cbn [length]; u64.
Qed.

(** T1: sound: what is answered is an open stream, and the named one if a name was given. *)
Theorem answer_is_open (streams : list name) (named a : name) :
  choose streams named = Some a -> In a streams /\ (named <> None -> a = named).
Proof.
  destruct named as [t|].
  - rewrite named_goes_to_its_name; destruct (in_dec _ _ _); intros; invert_all; auto.
  - rewrite unnamed_goes_to_unnamed_or_sole; destruct (in_dec _ _ _); intros E; invert_all; split; auto;
      try tauto; destruct streams as [|b [|c r]]; invert_all; left; reflexivity.
Qed.

(** T3: the order in which streams were opened plays no part. *)
Theorem order_plays_no_part (s s' : list name) (named : name) :
  Permutation s s' -> choose s named = choose s' named.
Proof.
  intros P; assert (forall a, is_open s a = is_open s' a) as O.
  { intros a; apply eq_true_iff_eq; rewrite !is_open_in; split; apply Permutation_in; auto using Permutation_sym. }
  unfold choose; rewrite !O, (Permutation_length P).
  destruct (grant_target _ _ _ _) eqn:T; auto.
  assert (length s' = 1%nat) as L.
  { unfold grant_target in T; split_ifs; invert_all; u64. }
  destruct s' as [|a [|b r]]; try discriminate.
  apply Permutation_sym, Permutation_length_1_inv in P; subst; reflexivity.
Qed.

(** * The gates behind the names *)

Definition gates : Type := list (name * G.gate).

(** What a router does with a grant of [n]. *)
Definition credit (gs : gates) (named : name) (n : N) : gates :=
  match choose (map fst gs) named with
  | None => gs
  | Some a => map (fun e => if same_name (fst e) a then (fst e, G.grant (snd e) n) else e) gs
  end.

Fixpoint total (gs : gates) : N :=
  match gs with [] => 0 | (_, g) :: rest => G.available g + total rest end.

Lemma credit_elsewhere (gs : gates) (a : name) (n : N) :
  ~ In a (map fst gs) ->
  map (fun e => if same_name (fst e) a then (fst e, G.grant (snd e) n) else e) gs = gs.
Proof.
  induction gs as [|[b g] gs IH]; cbn; intros H; [reflexivity|].
  destruct (same_name b a); [exfalso; auto|]; f_equal; auto.
Qed.

(** T4: all gates of a request together rise by exactly the grant if it has a target, and else by
    nothing: no grant is split, doubled, or made of nothing. *)
Theorem grant_lands_once (gs : gates) (named : name) (n : N) :
  NoDup (map fst gs) ->
  Forall (fun e => G.closed (snd e) = false /\ U64.fits (G.available (snd e) + n)) gs ->
  total (credit gs named n) =
  total gs + match choose (map fst gs) named with Some _ => n | None => 0 end.
Proof.
  intros D F; unfold credit; destruct (choose (map fst gs) named) as [a|] eqn:C; [|lia].
  apply answer_is_open in C as [I _]; clear named.
  induction gs as [|[b g] gs IH]; cbn in *; [tauto|].
  apply NoDup_cons_iff in D as [D1 D2]; apply Forall_cons_iff in F as [[O L] F]; cbn in *.
  destruct (same_name b a) as [->|N]; cbn.
  - rewrite credit_elsewhere by exact D1; rewrite Law.Gate.grant_adds by exact O; cbn; u64.
  - destruct I as [->|I]; [congruence|]; rewrite IH by auto; lia.
Qed.

(** T4: gates under other names are not touched. *)
Theorem others_are_not_touched (gs : gates) (named a b : name) (g : G.gate) (n : N) :
  choose (map fst gs) named = Some a -> b <> a -> In (b, g) gs -> In (b, g) (credit gs named n).
Proof.
  intros C N I; unfold credit; rewrite C; apply in_map_iff; exists (b, g); cbn.
  destruct (same_name b a); [congruence|auto].
Qed.

End Target.
