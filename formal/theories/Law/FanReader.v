(** Fan-in by one reader: a consumer that has one chunk in hand at most, of whichever stream. *)

From Coq Require Import NArith List Bool Lia ZifyBool ZifyN.
From Sluicegate Require Base.U64 Decide.Gate Decide.Window.
From Sluicegate Require Import Law.Chain Law.ChainHop Law.ChainSafe Law.ChainLive Law.ChainWork Law.Fan.
Import ListNotations.

Open Scope N_scope.
Set Default Timeout 30.

Local Arguments N.add : simpl never.

Section Reader.
Context {chunk : Type}.
Implicit Types (h : hop chunk) (c : list (hop chunk)) (s : system chunk) (f : list (system chunk)).

(** The consumer has a chunk of this branch in hand. *)
Fixpoint in_use c : bool :=
  match c with
  | [] => false
  | [h] => match hand h with Some _ => true | None => false end
  | _ :: t => in_use t
  end.

Definition busy f : N := sum (map (fun s => if in_use (hops s) then 1 else 0) f).

(** A step that leaves the reader with one chunk in hand at most. *)
Definition reader_step (i : nat) (k : kind) f f' : Prop := fan_step i k f f' /\ busy f' <= 1.

Inductive reader_reachable (plans : list (list plan)) : list (system chunk) -> Prop :=
| reader_start : reader_reachable plans (map start plans)
| reader_more i k f f' :
    reader_reachable plans f -> reader_step i k f f' -> reader_reachable plans f'.

Lemma reader_fan plans f : reader_reachable plans f -> fan_reachable plans f.
Proof. intros R; induction R as [|i k f f' R IH [St _]]; [apply fan_start|eapply fan_more; eassumption]. Qed.

Lemma opened_in_use plans : in_use (map (@opened chunk) plans) = false.
Proof.
  induction plans as [|p [|q plans] IH]; [reflexivity..|]; exact IH.
Qed.

Lemma reader_busy plans f : reader_reachable plans f -> busy f <= 1.
Proof.
  intros R; destruct R as [|i k f f' R [_ B]]; [|exact B].
  assert (busy (map start plans) = 0) as ->; [|lia].
  unfold busy; induction plans as [|p plans IH]; [reflexivity|].
  cbn [map sum]; rewrite IH; unfold start; cbn [hops]; rewrite opened_in_use; reflexivity.
Qed.

Lemma busy_app f g : busy (f ++ g) = busy f + busy g.
Proof. unfold busy; rewrite map_app, sum_app; reflexivity. Qed.

Lemma busy_cons s f : busy (s :: f) = (if in_use (hops s) then 1 else 0) + busy f.
Proof. reflexivity. Qed.

(** The reader can always pass on what it has in hand. *)
Lemma passes_on c :
  Forall hop_invariant c -> in_use c = true ->
  exists x c', moves Due c None (Some x) c' /\ in_use c' = false.
Proof.
  induction c as [|h [|d t] IH]; intros F U; [discriminate| |].
  - inversion F as [|? ? I _]; subst; cbn in U; destruct (hand h) as [x|] eqn:H; [|discriminate].
    assert (given_up h = false) as G
      by (destruct (given_up h) eqn:G; [destruct (nothing_kept h I G); congruence|reflexivity]).
    destruct (passes_some h x G H) as [h' P]; exists x, [h']; split; [apply moves_out; exact P|].
    revert P; unfold passes; rewrite G, H; destruct (if early (planned h) then _ else _).
    intros E; injection E as <-; reflexivity.
  - inversion F as [|? ? I F']; subst; destruct (IH F' U) as (x & c' & M & U').
    exists x, (h :: c'); split; [apply moves_further; exact M|].
    pose proof (moves_count _ _ _ _ _ M) as N; destruct c' as [|d' t']; [|exact U'].
    rewrite count_cons, (@count_nil (hop chunk)) in N; lia.
Qed.

Lemma step_at k s s' before rest :
  step k s s' -> fan_step (length before) k (before ++ s :: rest) (before ++ s' :: rest).
Proof. intros St; induction before; cbn; constructor; assumption. Qed.

(** Where the reader has a chunk in hand. *)
Lemma busy_split f :
  busy f <= 1 ->
  busy f = 0 \/ exists before s rest, f = before ++ s :: rest /\ in_use (hops s) = true /\
                                 busy before = 0 /\ busy rest = 0.
Proof.
  induction f as [|s f IH]; intros B; [left; reflexivity|]; rewrite busy_cons in *.
  destruct (in_use (hops s)) eqn:U.
  - right; exists [], s, f; repeat split; auto; lia.
  - destruct IH as [Z|(before & r & rest & -> & U' & A & Z)]; [lia|left; lia|].
    right; exists (s :: before), r, rest; repeat split; auto; rewrite busy_cons, U; lia.
Qed.

(** Steps of one branch, by the one reader. *)
Inductive reader_run (i : nat) : list (system chunk) -> list (system chunk) -> Prop :=
| reader_none f : reader_run i f f
| reader_one f f' f'' : reader_step i Due f f' -> reader_run i f' f'' -> reader_run i f f''.

Lemma run_reader n c d c' o e before rest :
  busy before = 0 -> busy rest = 0 -> run only_due n c d c' ->
  reader_run (length before) (before ++ System o c e :: rest) (before ++ System o c' (e ++ d) :: rest).
Proof.
  intros A B R; revert e; induction R as [|n k c x c' d c'' K M R IH]; intros e.
  - rewrite app_nil_r; constructor.
  - unfold only_due in K; subst k; rewrite app_assoc; eapply reader_one; [|apply IH].
    split; [apply step_at; destruct x; cbn;
              [apply step_deliver; exact M|rewrite app_nil_r; apply step_inside; exact M]|].
    rewrite busy_app, busy_cons; cbn [hops]; destruct (in_use c'); lia.
Qed.

(** One reader is enough: from every state, once it has passed on what it has in hand, everything
    that a stream was offered is delivered and its source may send again, by steps of that stream
    and the reader alone, while all other streams stand still (C9; L10, L15). *)
Theorem one_reader_serves_every_stream plans f i s :
  Forall (Forall sound) plans -> reader_reachable plans f ->
  nth_error f i = Some s -> Forall live (hops s) ->
  exists f1 f' s', (f1 = f \/ exists j, reader_step j Due f f1) /\ reader_run i f1 f' /\
    nth_error f' i = Some s' /\ offered s' = offered s /\ delivered s' = offered s /\
    Forall whole (hops s') /\ (forall j, j <> i -> nth_error f' j = nth_error f1 j).
Proof.
  intros F R E L.
  assert (exists f1 s1, (f1 = f \/ exists j, reader_step j Due f f1) /\ busy f1 = 0 /\
            reader_reachable plans f1 /\ nth_error f1 i = Some s1 /\ Forall live (hops s1) /\
            offered s1 = offered s) as (f1 & s1 & St & Z & R1 & E1 & L1 & O1).
  { destruct (busy_split f (reader_busy _ _ R)) as [Z|(before & r & rest & -> & U & A & B)].
    - exists f, s; repeat split; auto.
    - destruct (branch_plans _ _ _ r (fan_branches _ _ (reader_fan _ _ R))) as (p & P & X);
        [apply in_or_app; right; left; reflexivity|].
      pose proof (reachable_invariant p r (proj1 (Forall_forall _ _) F p P) X) as I.
      destruct (passes_on _ I U) as (x & c' & M & U').
      destruct r as [o c d]; cbn [hops] in *.
      assert (reader_step (length before) Due (before ++ System o c d :: rest)
                (before ++ System o c' (d ++ [x]) :: rest)) as Sj.
      { split; [apply step_at, step_deliver; exact M|].
        rewrite busy_app, busy_cons; cbn [hops]; rewrite U'; lia. }
      destruct (PeanoNat.Nat.eq_dec i (length before)) as [->|D].
      + rewrite nth_error_app2, PeanoNat.Nat.sub_diag in E by lia; injection E as <-; cbn [hops offered] in *.
        exists (before ++ System o c' (d ++ [x]) :: rest), (System o c' (d ++ [x])); repeat split.
        * right; eexists; exact Sj.
        * rewrite busy_app, busy_cons; cbn [hops]; rewrite U'; lia.
        * eapply reader_more; eassumption.
        * rewrite nth_error_app2, PeanoNat.Nat.sub_diag by lia; reflexivity.
        * cbn [hops]; eapply moves_live; [|exact L|exact M]; discriminate.
      + exists (before ++ System o c' (d ++ [x]) :: rest), s; repeat split; auto.
        * right; eexists; exact Sj.
        * rewrite busy_app, busy_cons; cbn [hops]; rewrite U'; lia.
        * eapply reader_more; eassumption.
        * rewrite <- E; clear - D; destruct (PeanoNat.Nat.lt_ge_cases i (length before)) as [Lt|Ge].
          -- rewrite !nth_error_app1 by exact Lt; reflexivity.
          -- rewrite !nth_error_app2 by exact Ge.
             destruct (i - length before)%nat eqn:Q; [lia|reflexivity]. }
  destruct (nth_error_split _ _ E1) as (before & rest & -> & <-).
  rewrite busy_app, busy_cons in Z.
  destruct (branch_plans _ _ _ s1 (fan_branches _ _ (reader_fan _ _ R1))) as (p & P & X);
    [apply in_or_app; right; left; reflexivity|].
  pose proof (proj1 (Forall_forall _ _) F p P) as Fp.
  destruct (every_chunk_arrives p s1 Fp X L1) as (n & c' & Rn & W).
  destruct s1 as [o c d]; cbn [hops offered] in *.
  exists (before ++ System o c d :: rest), (before ++ System o c' (d ++ contents c) :: rest),
    (System o c' (d ++ contents c)); repeat split; auto.
  - apply (run_reader n); [lia|lia|exact Rn].
  - rewrite nth_error_app2, PeanoNat.Nat.sub_diag by lia; reflexivity.
  - cbn [delivered]; rewrite <- O1; exact (nothing_lost_nothing_overtakes p _ Fp X).
  - intros j D; destruct (PeanoNat.Nat.lt_ge_cases j (length before)) as [Lt|Ge].
    + rewrite !nth_error_app1 by exact Lt; reflexivity.
    + rewrite !nth_error_app2 by exact Ge; destruct (j - length before)%nat eqn:Q; [lia|reflexivity].
Qed.

End Reader.
