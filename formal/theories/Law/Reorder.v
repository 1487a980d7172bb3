(** Laws of the order of a flow (R1 to R6): the decision with the set of held numbers round it. *)

From Coq Require Import Arith NArith Bool List Lia ZifyBool ZifyN ZifyNat Sorting.Sorted Sorting.Permutation.
From Sluicegate Require Import Base.U64 Base.Tactics Decide.Reorder.
Import ListNotations.

Set Default Timeout 30.
Open Scope N_scope.

(** The expected number, none once all numbers are used up, and the held ones. *)
Record buffer := Buffer { expected : option N; held : list N }.

Definition empty : buffer := Buffer (Some 0) [].

Definition holds (l : list N) (n : N) : bool := existsb (N.eqb n) l.

Fixpoint insert (n : N) (l : list N) : list N :=
  match l with
  | [] => [n]
  | m :: rest => if n <? m then n :: l else m :: insert n rest
  end.

(** The held numbers that follow without a gap: delivered, next expected, still held. *)
Fixpoint run_out (next : option N) (l : list N) : list N * option N * list N :=
  match l, next with
  | m :: rest, Some e =>
      if m =? e then let '(d, e', r) := run_out (after m) rest in (m :: d, e', r) else ([], next, l)
  | _, _ => ([], next, l)
  end.

(** One arrival: the buffer after it, what is delivered, and the answer. *)
Definition arrive (b : buffer) (seq limit : N) : buffer * list N * accepted :=
  match accept (expected b) seq (holds (held b) seq) (N.of_nat (length (held b))) limit with
  | Deliver =>
      let '(d, e, r) := run_out (after seq) (held b) in (Buffer e r, seq :: d, Deliver)
  | Hold => (Buffer (expected b) (insert seq (held b)), [], Hold)
  | refusal => (b, [], refusal)
  end.

(** Arrivals in a row: the buffer, all that was delivered, all that was answered. *)
Fixpoint arrivals (b : buffer) (l : list N) (limit : N) : buffer * list N * list accepted :=
  match l with
  | [] => (b, [], [])
  | n :: rest =>
      let '(b1, d1, a) := arrive b n limit in
      let '(b2, d2, s) := arrivals b1 rest limit in (b2, d1 ++ d2, a :: s)
  end.

(** 0, 1, 2 … n-1. *)
Definition upto (n : nat) : list N := map N.of_nat (seq 0 n).

(** The number that is next when [n] were delivered. *)
Definition nth_next (n : nat) : option N :=
  if N.of_nat n <=? U64.max then Some (N.of_nat n) else None.

(** What holds when [n] were delivered: held numbers ascend, and all come later. *)
Record sound (n : nat) (b : buffer) : Prop := {
  next_is_n : expected b = nth_next n;
  within_u64 : N.of_nat n <= U64.max + 1;
  ascending : StronglySorted N.lt (held b);
  later : Forall (fun m => N.of_nat n < m <= U64.max) (held b);
}.

Lemma upto_add (n m : nat) : upto (n + m) = upto n ++ map N.of_nat (seq n m).
Proof. unfold upto; rewrite seq_app, map_app; reflexivity. Qed.

Lemma in_upto (n : nat) (x : N) : In x (upto n) <-> x < N.of_nat n.
Proof.
  unfold upto; rewrite in_map_iff; split.
  - intros (k & <- & I); apply in_seq in I; lia.
  - intros L; exists (N.to_nat x); rewrite in_seq; lia.
Qed.

Lemma holds_in (l : list N) (n : N) : holds l n = true <-> In n l.
Proof.
  unfold holds; rewrite existsb_exists; split; [intros (x & I & E)|intros I; exists n; split; [auto|]]; [|lia].
  replace n with x by lia; exact I.
Qed.

Lemma in_insert (x n : N) (l : list N) : In x (insert n l) <-> x = n \/ In x l.
Proof.
  induction l as [|m l IH]; cbn; [intuition|]; destruct (n <? m); cbn; [intuition|]; rewrite IH; intuition.
Qed.

Lemma insert_permutation (n : N) (l : list N) : Permutation (insert n l) (n :: l).
Proof.
  induction l as [|m l IH]; cbn; [reflexivity|]; destruct (n <? m); [reflexivity|].
  rewrite IH; apply perm_swap.
Qed.

Lemma insert_sorted (n : N) (l : list N) :
  StronglySorted N.lt l -> ~ In n l -> StronglySorted N.lt (insert n l).
Proof.
  induction l as [|m l IH]; cbn; intros S NI; [repeat constructor|].
  apply StronglySorted_inv in S as [S F]; destruct (n <? m) eqn:L.
  - constructor; [constructor; auto|]; constructor; [lia|]; eapply Forall_impl; [|exact F]; cbn; lia.
  - constructor; [apply IH; auto|]; rewrite Forall_forall in *; intros x I; apply in_insert in I as [->|I]; auto.
    assert (n <> m) by (intros ->; auto); lia.
Qed.

Lemma after_nth (n : nat) : N.of_nat n <= U64.max -> after (N.of_nat n) = nth_next (S n).
Proof.
  intros L; unfold after, nth_next; split_ifs; try (u64_unfold; f_equal; lia); try reflexivity; u64.
Qed.

Lemma run_out_spec (l : list N) (n : nat) (d r : list N) (e : option N) :
  StronglySorted N.lt l -> Forall (fun m => N.of_nat n <= m <= U64.max) l -> N.of_nat n <= U64.max + 1 ->
  run_out (nth_next n) l = (d, e, r) ->
  exists k, d = map N.of_nat (seq n k) /\ sound (n + k) (Buffer e r) /\ l = d ++ r.
Proof.
  revert n d r e; induction l as [|m l IH]; intros n d r e S F L E; cbn in E.
  - invert_all; exists 0%nat; rewrite Nat.add_0_r; repeat split; auto; cbn; constructor.
  - apply StronglySorted_inv in S as [S F2]; apply Forall_cons_iff in F as [B F].
    unfold nth_next in E; replace (N.of_nat n <=? U64.max) with true in E by lia.
    destruct (m =? N.of_nat n) eqn:M.
    + replace m with (N.of_nat n) in * by lia; rewrite after_nth in E by lia.
      destruct (run_out _ l) as [[d1 e1] r1] eqn:R; invert_all.
      destruct (IH (Datatypes.S n) d1 r e) as (k & -> & SD & ->); auto; try lia.
      { rewrite Forall_forall in *; intros x I; specialize (F x I); specialize (F2 x I); lia. }
      exists (Datatypes.S k); replace (n + Datatypes.S k)%nat with (Datatypes.S n + k)%nat by lia.
      split; [reflexivity|split; [exact SD|reflexivity]].
    + invert_all; exists 0%nat; rewrite Nat.add_0_r; repeat split; auto; cbn.
      * unfold nth_next; replace (N.of_nat n <=? U64.max) with true by lia; reflexivity.
      * constructor; auto.
      * constructor; [lia|]; rewrite Forall_forall in *; intros x I; specialize (F x I); specialize (F2 x I); lia.
Qed.

Lemma arrive_sound (n : nat) (b b' : buffer) (s limit : N) (d : list N) (a : accepted) :
  sound n b -> s <= U64.max -> arrive b s limit = (b', d, a) ->
  exists k, d = map N.of_nat (seq n k) /\ sound (n + k) b'
  /\ match a with
     | Deliver => expected b = Some s /\ Permutation (s :: held b) (d ++ held b')
     | Hold => d = [] /\ held b' = insert s (held b) /\ ~ In s (held b) /\ N.of_nat n < s
               /\ N.of_nat (length (held b)) < limit
     | Stale => b' = b /\ d = [] /\ s < N.of_nat n
     | Duplicate => b' = b /\ d = [] /\ In s (held b)
     | Overflow => b' = b /\ d = [] /\ limit <= N.of_nat (length (held b)) /\ N.of_nat n < s /\ ~ In s (held b)
     end.
Proof.
  intros [S1 S2 S3 S4] L E; destruct b as [e h]; cbn in *; subst e.
  unfold arrive in E; cbn [expected held] in E; unfold accept, nth_next in E.
  destruct (N.of_nat n <=? U64.max) eqn:B.
  - destruct (U64.ltb s (N.of_nat n)) eqn:B1.
    { invert_all; exists 0%nat; rewrite Nat.add_0_r; repeat split; auto; cbn; unfold nth_next; rewrite ?B; auto; u64. }
    destruct (U64.eqb s (N.of_nat n)) eqn:B2.
    { destruct (run_out (after s) h) as [[d1 e1] r1] eqn:R; invert_all.
      assert (s = N.of_nat n) as -> by u64; rewrite after_nth in R by lia.
      destruct (run_out_spec h (Datatypes.S n) d1 r1 e1) as (k & -> & SD & ->); auto; try lia.
      { eapply Forall_impl; [|exact S4]; cbn; lia. }
      exists (Datatypes.S k); replace (n + Datatypes.S k)%nat with (Datatypes.S n + k)%nat by lia.
      split; [reflexivity|split; [exact SD|split; [|reflexivity]]].
      unfold nth_next; rewrite B; reflexivity. }
    destruct (holds h s) eqn:B3.
    { invert_all; exists 0%nat; rewrite Nat.add_0_r; repeat split; auto; cbn; unfold nth_next; rewrite ?B; auto.
      apply holds_in, B3. }
    assert (~ In s h) as NI by (rewrite <- holds_in; congruence).
    destruct (U64.leb limit _) eqn:B4; invert_all; exists 0%nat; rewrite Nat.add_0_r.
    + repeat split; auto; cbn; unfold nth_next; rewrite ?B; auto; u64.
    + repeat split; auto; cbn; auto using insert_sorted; unfold nth_next; rewrite ?B; auto; try u64.
      apply Forall_forall; rewrite Forall_forall in S4; intros x I; apply in_insert in I as [->|I]; auto; u64.
  - invert_all; exists 0%nat; rewrite Nat.add_0_r; repeat split; auto; cbn; unfold nth_next; rewrite ?B; auto; lia.
Qed.

(** What can be reached from an empty buffer, with all that was delivered so far. *)
Inductive reachable : buffer -> list N -> Prop :=
| reach_empty : reachable empty []
| reach_arrive b out s limit b' d a :
    reachable b out -> s <= U64.max -> arrive b s limit = (b', d, a) -> reachable b' (out ++ d).

Lemma empty_sound : sound 0 empty.
Proof. constructor; cbn; auto; try lia; constructor. Qed.

Lemma reachable_sound (b : buffer) (out : list N) :
  reachable b out -> exists n, out = upto n /\ sound n b.
Proof.
  induction 1 as [|b out s limit b' d a R (n & -> & SD) L E]; [exists 0%nat; split; [reflexivity|apply empty_sound]|].
  eapply arrive_sound in E as (k & -> & SD' & _); eauto.
  exists (n + k)%nat; rewrite upto_add; auto.
Qed.

(** R1: what is delivered, joined over time, is 0, 1, 2 … without gap or repeat; and the expected
    number is how many were. *)
Theorem delivered_in_order (b : buffer) (out : list N) :
  reachable b out -> exists n, out = upto n /\ expected b = nth_next n.
Proof. intros R; apply reachable_sound in R as (n & E & [S _ _ _]); eauto. Qed.

(** R3: held numbers ascend, without repeat, and all come after what is expected. *)
Theorem held_ascend (b : buffer) (out : list N) (e : N) :
  reachable b out -> expected b = Some e ->
  StronglySorted N.lt (held b) /\ Forall (fun m => e < m) (held b).
Proof.
  intros R X; apply reachable_sound in R as (n & _ & [S1 S2 S3 S4]); split; [exact S3|].
  rewrite X in S1; unfold nth_next in S1; split_ifs; invert_all; eapply Forall_impl; [|exact S4]; cbn; lia.
Qed.

(** R2: no more than the limit are ever held. *)
Theorem held_within_limit (l : list N) (limit : N) (b : buffer) :
  N.of_nat (length (held b)) <= limit ->
  N.of_nat (length (held (fst (fst (arrivals b l limit))))) <= limit.
Proof.
  revert b; induction l as [|s l IH]; intros b L; cbn; [exact L|].
  destruct (arrive b s limit) as [[b1 d1] a] eqn:E; specialize (IH b1).
  destruct (arrivals b1 l limit) as [[b2 d2] r]; cbn in *; apply IH.
  unfold arrive in E; destruct (accept _ _ _ _ _) eqn:A; invert_all; auto; cbn.
  - destruct (run_out (after s) (held b)) as [[d e] r'] eqn:R; invert_all; cbn.
    enough (forall l n d e r, run_out n l = (d, e, r) -> (length r <= length l)%nat) as G
      by (apply G in R; lia).
    clear; induction l as [|m l IH]; cbn; intros n d e r E; [destruct n; invert_all; cbn; lia|].
    destruct n as [n|]; [|invert_all; cbn; lia]; destruct (m =? n); [|invert_all; cbn; lia].
    destruct (run_out _ l) as [[d1 e1] r1] eqn:R; invert_all; apply IH in R; lia.
  - rewrite (Permutation_length (insert_permutation s (held b))); cbn [length].
    unfold accept in A; destruct (expected b); split_ifs; invert_all; u64.
Qed.

(** R4: a number is stale if and only if it lies before the expected one. *)
Theorem stale_iff_before (b : buffer) (out : list N) (s limit : N) :
  reachable b out -> s <= U64.max ->
  (snd (arrive b s limit) = Stale <-> In s out).
Proof.
  intros R L; apply reachable_sound in R as (n & -> & SD); rewrite in_upto.
  destruct (arrive b s limit) as [[b' d] a] eqn:E; pose proof SD as [S1 S2 S3 S4].
  eapply arrive_sound in E as (k & _ & _ & A); eauto; cbn; destruct a; split; intros; try discriminate; try tauto; exfalso.
  - destruct A as [A _]; rewrite A in S1; unfold nth_next in S1; split_ifs; invert_all; lia.
  - lia.
  - destruct A as (_ & _ & I); rewrite Forall_forall in S4; specialize (S4 _ I); lia.
  - lia.
Qed.

(** R5: a refused frame leaves everything as it was, and delivers nothing. *)
Theorem refusal_changes_nothing (b b' : buffer) (s limit : N) (d : list N) (a : accepted) :
  arrive b s limit = (b', d, a) -> a <> Deliver -> a <> Hold -> b' = b /\ d = [].
Proof.
  unfold arrive; destruct (accept _ _ _ _ _); intros E N1 N2; invert_all; auto; try congruence.
  destruct (run_out _ _) as [[? ?] ?]; invert_all; congruence.
Qed.

(** A number is a duplicate if and only if it is held, and that is said before overflow is; it
    overflows if and only if it comes early, is not held, and the limit is reached. *)
Theorem refusals (b : buffer) (out : list N) (s limit : N) :
  reachable b out -> s <= U64.max ->
  (snd (arrive b s limit) = Duplicate <-> In s (held b))
  /\ (snd (arrive b s limit) = Overflow <->
      limit <= N.of_nat (length (held b)) /\ ~ In s (held b) /\ ~ In s out /\ expected b <> Some s).
Proof.
  intros R L; apply reachable_sound in R as (n & -> & SD); rewrite in_upto.
  destruct (arrive b s limit) as [[b' d] a] eqn:E; pose proof SD as [S1 S2 S3 S4]; rewrite Forall_forall in S4.
  assert (N.of_nat n < s -> expected b <> Some s) as NE
    by (intros ? X; rewrite X in S1; unfold nth_next in S1; split_ifs; invert_all; lia).
  assert (forall e, expected b = Some e -> e = N.of_nat n) as EN
    by (intros e X; rewrite X in S1; unfold nth_next in S1; split_ifs; invert_all; reflexivity).
  eapply arrive_sound in E as (k & _ & _ & A); eauto; cbn.
  destruct a; (split; split; [intros X; try discriminate X|intros X|intros X; try discriminate X|intros X]).
  - destruct A as [A _]; specialize (EN _ A); specialize (S4 _ X); lia.
  - tauto.
  - destruct A as (_ & _ & NI & _); tauto.
  - lia.
  - destruct A as (_ & _ & A); specialize (S4 _ X); lia.
  - tauto.
  - tauto.
  - reflexivity.
  - tauto.
  - tauto.
  - destruct A as (_ & _ & A1 & A2 & A3); repeat split; auto; lia.
  - reflexivity.
Qed.

(** * Any order of arrival *)

Definition fine (a : accepted) : Prop := a = Deliver \/ a = Hold.

Lemma arrivals_fine (l : list N) (limit : N) (n : nat) (b b' : buffer) (d : list N) (s : list accepted) :
  sound n b -> Forall (fun x => x <= U64.max) l -> arrivals b l limit = (b', d, s) -> Forall fine s ->
  exists k, d = map N.of_nat (seq n k) /\ sound (n + k) b' /\ Permutation (held b ++ l) (d ++ held b').
Proof.
  revert n b b' d s; induction l as [|x l IH]; intros n b b' d s SD L E F; cbn in E.
  - invert_all; exists 0%nat; rewrite Nat.add_0_r, app_nil_r; repeat split; try apply SD; reflexivity.
  - destruct (arrive b x limit) as [[b1 d1] a] eqn:A; destruct (arrivals b1 l limit) as [[b2 d2] r] eqn:AS; invert_all.
    apply Forall_cons_iff in L as [L1 L]; apply Forall_cons_iff in F as [F1 F].
    eapply arrive_sound in A as (k1 & -> & SD1 & P1); eauto.
    eapply IH in AS as (k2 & -> & SD2 & P2); eauto.
    exists (k1 + k2)%nat; rewrite seq_app, map_app, Nat.add_assoc; split; [reflexivity|split; [exact SD2|]].
    rewrite <- app_assoc, <- P2, app_assoc; destruct F1 as [-> | ->].
    + destruct P1 as [_ P1]; rewrite <- P1; rewrite <- Permutation_middle; reflexivity.
    + destruct P1 as (K & -> & _); rewrite K; cbn; rewrite insert_permutation, <- Permutation_middle; reflexivity.
Qed.

(** R6: frames that come in any order whatever, each once and none refused, are delivered as
    0, 1, 2 …, all of them. *)
Theorem any_order_is_put_right (l : list N) (n : nat) (limit : N) (b : buffer) (d : list N) (s : list accepted) :
  N.of_nat n <= U64.max + 1 -> Permutation l (upto n) ->
  arrivals empty l limit = (b, d, s) -> Forall fine s -> d = upto n /\ held b = [].
Proof.
  intros NM P E F.
  assert (Forall (fun x => x <= U64.max) l) as L.
  { apply Forall_forall; intros x I; apply (Permutation_in _ P), in_upto in I; lia. }
  destruct (arrivals_fine _ _ _ _ _ _ _ empty_sound L E F) as (k & -> & SD & P2); cbn in *.
  fold (upto k) in *; rewrite P in P2.
  destruct (held b) as [|m r] eqn:H.
  - split; [|reflexivity]; rewrite app_nil_r in P2; apply Permutation_length in P2.
    unfold upto in *; rewrite !map_length, !seq_length in P2; congruence.
  - exfalso; destruct SD as [_ _ S3 S4]; rewrite H in *; rewrite Forall_forall in S4.
    assert (In m (upto n)) as M by (eapply Permutation_in; [symmetry; exact P2|]; apply in_app_iff; right; left; reflexivity).
    pose proof (S4 m (or_introl eq_refl)); apply in_upto in M.
    assert (In (N.of_nat k) (upto n)) as K by (apply in_upto; lia).
    apply (Permutation_in _ P2), in_app_iff in K as [K|K]; [apply in_upto in K; lia|].
    specialize (S4 _ K); lia.
Qed.

(** R6: and with room for all of them none is refused. *)
Theorem room_for_all_refuses_none (l : list N) (limit : N) (n : nat) (b b' : buffer) (d : list N) (s : list accepted) :
  sound n b -> Forall (fun x => N.of_nat n <= x <= U64.max) l -> NoDup (held b ++ l) ->
  N.of_nat (length (held b ++ l)) <= limit ->
  arrivals b l limit = (b', d, s) -> Forall fine s.
Proof.
  revert n b b' d s; induction l as [|x l IH]; intros n b b' d s SD L D R E; cbn in E; [invert_all; constructor|].
  destruct (arrive b x limit) as [[b1 d1] a] eqn:A; destruct (arrivals b1 l limit) as [[b2 d2] r] eqn:AS; invert_all.
  apply Forall_cons_iff in L as [L1 L]; rewrite app_length in R; cbn [length] in R.
  pose proof (NoDup_remove_2 _ _ _ D) as NI; rewrite in_app_iff in NI.
  eapply arrive_sound in A as (k & -> & SD1 & P1); eauto; [|lia].
  assert (fine a) as FA.
  { destruct a; [left; reflexivity|right; reflexivity|lia|tauto|lia]. }
  constructor; [exact FA|].
  assert (Permutation (held b ++ x :: l) (map N.of_nat (seq n k) ++ held b1 ++ l)) as P.
  { rewrite <- Permutation_middle; destruct FA as [-> | ->].
    - destruct P1 as [_ P1]; rewrite app_assoc, <- P1; reflexivity.
    - destruct P1 as (K & -> & _); rewrite K; cbn; rewrite insert_permutation; reflexivity. }
  eapply IH; [exact SD1| | | |exact AS].
  - apply Forall_forall; intros y I; rewrite Forall_forall in L; specialize (L _ I).
    assert (~ In y (map N.of_nat (seq n k))) as NY.
    { intros Y; apply (Permutation_NoDup P) in D; clear - D Y I.
      induction (map N.of_nat (seq n k)) as [|z m IHm]; cbn in *; [tauto|].
      apply NoDup_cons_iff in D as [D1 D2]; rewrite !in_app_iff in D1; destruct Y as [->|Y]; tauto. }
    split; [|lia]; destruct (N.ltb_spec y (N.of_nat (n + k))); [|lia].
    exfalso; apply NY, in_map_iff; exists (N.to_nat y); rewrite in_seq; lia.
  - apply (Permutation_NoDup P) in D; clear - D.
    induction (map N.of_nat (seq n k)) as [|z m IHm]; cbn in *; auto; apply NoDup_cons_iff in D; tauto.
  - apply Permutation_length in P; rewrite !app_length in P; cbn [length] in P; rewrite app_length; lia.
Qed.
