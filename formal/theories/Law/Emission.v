(** Laws of the emission check: it accepts exactly the sequences that keep the rules of streams, and
    all their beginnings. *)

From Coq Require Import Arith NArith Bool List Lia ZifyBool ZifyN ZifyNat.
From Sluicegate Require Import Base.U64 Base.Tactics Decide.Emission.
Import ListNotations.

Set Default Timeout 30.
Open Scope N_scope.

Section Emission.

Variable name : Type.
Variable same : forall a b : name, {a = b} + {a <> b}.

(** A frame of the flow with the stream that it names; frames that name none may carry any. *)
Notation frame := (name * written)%type (only parsing).

(** The checker of a whole flow: the decision's state, and each stream's. *)
Record checker := Checker { flow : emission; streams : name -> named_stream }.

Definition fresh : checker := Checker started (fun _ => Unused).

Definition put (f : name -> named_stream) (n : name) (s : named_stream) : name -> named_stream :=
  fun m => if same n m then s else f m.

(** One frame: the checker after it, or the first fault. *)
Definition step (c : checker) (f : frame) : checker + verdict :=
  match check (flow c) (streams c (fst f)) (snd f) with
  | ((e, s), Good) => inl (Checker e (put (streams c) (fst f) s))
  | (_, fault) => inr fault
  end.

Fixpoint run (c : checker) (l : list frame) : checker + verdict :=
  match l with
  | [] => inl c
  | f :: rest => match step c f with inl c' => run c' rest | inr v => inr v end
  end.

Definition accepted (l : list frame) : Prop := exists c, run fresh l = inl c.

(** * The rules, told without the checker *)

(** The frames of one stream. *)
Definition of_stream (n : name) (l : list frame) : list written :=
  map snd (filter (fun f => match snd f with
                            | StreamStart | Chunk _ | StreamEnd _ => if same (fst f) n then true else false
                            | _ => false
                            end) l).

(** CHUNKs 0, 1, 2 … k-1. *)
Definition chunks (k : nat) : list written := map (fun i => Chunk (N.of_nat i)) (seq 0 k).

(** A stream is unused, or opened with its first k chunks in place, or closed behind them by an end
    that tells their count or none. *)
Inductive stage_of : list written -> named_stream -> Prop :=
| is_unused : stage_of [] Unused
| is_open k : stage_of (StreamStart :: chunks k) (Open (N.of_nat k))
| is_closed k count :
    count = None \/ count = Some (N.of_nat k) ->
    stage_of (StreamStart :: chunks k ++ [StreamEnd count]) Closed.

Definition terminal (w : written) : bool := match w with End | Err => true | _ => false end.

(** A flow that keeps the rules: each stream does, nothing follows a terminal, and END comes only
    when no stream is open. *)
Record good (l : list frame) : Prop := {
  each_stream : forall n, exists s, stage_of (of_stream n l) s;
  none_after : forall before f rest, l = before ++ f :: rest -> terminal (snd f) = true -> rest = [];
  ended_closed : forall before n rest,
    l = before ++ (n, End) :: rest -> forall m k, ~ stage_of (of_stream m before) (Open k);
}.

Lemma of_stream_app (n : name) (l m : list frame) : of_stream n (l ++ m) = of_stream n l ++ of_stream n m.
Proof. unfold of_stream; rewrite filter_app, map_app; reflexivity. Qed.

Lemma chunks_snoc (k : nat) : chunks k ++ [Chunk (N.of_nat k)] = chunks (k + 1).
Proof. unfold chunks; rewrite seq_app, map_app; reflexivity. Qed.

Lemma chunks_length (k : nat) : length (chunks k) = k.
Proof. unfold chunks; rewrite map_length, seq_length; reflexivity. Qed.

Lemma no_end_in_chunks (k : nat) (c : option N) : ~ In (StreamEnd c) (chunks k).
Proof. unfold chunks; rewrite in_map_iff; intros (i & E & _); discriminate. Qed.

(** A stream's frames have one stage at most. *)
Lemma stage_unique (l : list written) (s t : named_stream) : stage_of l s -> stage_of l t -> s = t.
Proof.
  intros H1 H2; destruct H1 as [|k|k c C]; inversion H2; subst; auto.
  - f_equal; match goal with H : chunks _ = chunks _ |- _ => apply (f_equal (@length _)) in H; rewrite !chunks_length in H end; lia.
  - exfalso; match goal with H : _ ++ _ = chunks _ |- _ => apply (no_end_in_chunks k count); rewrite <- H; apply in_app_iff; right; left; reflexivity
      | H : chunks _ = _ ++ _ |- _ => apply (no_end_in_chunks k count); rewrite H; apply in_app_iff; right; left; reflexivity end.
  - exfalso; match goal with H : _ ++ _ = chunks _ |- _ => apply (no_end_in_chunks k0 c); rewrite <- H; apply in_app_iff; right; left; reflexivity
      | H : chunks _ = _ ++ _ |- _ => apply (no_end_in_chunks k0 c); rewrite H; apply in_app_iff; right; left; reflexivity end.
Qed.

Lemma run_app (c : checker) (l m : list frame) :
  run c (l ++ m) = match run c l with inl c' => run c' m | inr v => inr v end.
Proof. revert c; induction l as [|f l IH]; cbn; intros c; [reflexivity|]; destruct (step c f); auto. Qed.

(** What the checker knows of a sequence that it accepted. *)
Record knows (l : list frame) (c : checker) : Prop := {
  knows_over : over (flow c) = existsb (fun f => terminal (snd f)) l;
  knows_streams : forall n, stage_of (of_stream n l) (streams c n);
  knows_open : exists open : list name,
    NoDup open /\ (forall n, In n open <-> exists k, streams c n = Open k)
    /\ (over (flow c) = false -> open_streams (flow c) = N.of_nat (length open))
    /\ (length open <= length l)%nat;
}.

Lemma fresh_knows : knows [] fresh.
Proof.
  constructor; cbn; auto; [intros; constructor|].
  exists []; repeat split; auto; [constructor|intros []|intros [k E]; discriminate].
Qed.

Lemma stage_snoc (a : list written) (w : written) (s : named_stream) :
  stage_of (a ++ [w]) s ->
  (w = StreamStart /\ a = [])
  \/ (exists k, w = Chunk (N.of_nat k) /\ stage_of a (Open (N.of_nat k)))
  \/ (exists k c, w = StreamEnd c /\ (c = None \/ c = Some (N.of_nat k)) /\ stage_of a (Open (N.of_nat k))).
Proof.
  intros H; remember (a ++ [w]) as l eqn:E; destruct H as [|k|k c C].
  - apply app_cons_not_nil in E; tauto.
  - destruct k as [|k].
    + left; destruct a as [|b a]; cbn in E; [injection E as <-; auto|injection E as <- E].
      apply app_cons_not_nil in E; tauto.
    + right; left; exists k; replace (Datatypes.S k) with (k + 1)%nat in E by lia.
      rewrite <- chunks_snoc, app_comm_cons in E; apply app_inj_tail in E as [<- <-].
      split; [reflexivity|constructor].
  - right; right; exists k, c; rewrite app_comm_cons in E; apply app_inj_tail in E as [<- <-].
    repeat split; auto; constructor.
Qed.

Lemma stage_prefix (a b : list written) (s : named_stream) :
  stage_of (a ++ b) s -> exists s', stage_of a s'.
Proof.
  revert s; induction b as [|w b IH] using rev_ind; intros s H; [rewrite app_nil_r in H; eauto|].
  rewrite app_assoc in H; apply stage_snoc in H as [[_ E]|[(k & _ & H)|(k & c & _ & _ & H)]]; eauto.
  apply app_eq_nil in E as [-> _]; exists Unused; constructor.
Qed.

(** The beginnings of a good sequence are good. *)
Theorem good_is_prefix_closed (l m : list frame) : good (l ++ m) -> good l.
Proof.
  intros [G1 G2 G3]; constructor.
  - intros n; destruct (G1 n) as [s H]; rewrite of_stream_app in H; eauto using stage_prefix.
  - intros before f rest -> T; specialize (G2 before f (rest ++ m)).
    rewrite <- app_assoc in G2; cbn in G2; specialize (G2 eq_refl T); apply app_eq_nil in G2; tauto.
  - intros before n rest ->; specialize (G3 before n (rest ++ m)).
    rewrite <- app_assoc in G3; cbn in G3; exact (G3 eq_refl).
Qed.

(** So are those of an accepted one. *)
Theorem accepted_is_prefix_closed (l m : list frame) : accepted (l ++ m) -> accepted l.
Proof.
  intros [c E]; rewrite run_app in E; destruct (run fresh l) as [c'|] eqn:R; [exists c'; exact R|discriminate].
Qed.

Lemma of_stream_one (n m : name) (w : written) :
  of_stream n [(m, w)] =
  match w with
  | StreamStart | Chunk _ | StreamEnd _ => if same m n then [w] else []
  | _ => []
  end.
Proof. unfold of_stream; cbn; destruct w; try reflexivity; destruct (same m n); reflexivity. Qed.

Lemma open_is_counted (n : name) (l : list frame) (k : nat) :
  stage_of (of_stream n l) (Open (N.of_nat k)) -> (k + 1 <= length l)%nat.
Proof.
  intros H; assert (length (of_stream n l) <= length l)%nat as L.
  { unfold of_stream; rewrite map_length; clear; induction l as [|f l IH]; cbn; [lia|].
    destruct (snd f); try (cbn; lia); destruct (same (fst f) n); cbn; lia. }
  inversion H as [|j E1 E2|]; rewrite <- E1 in L; cbn in L; rewrite chunks_length in L; lia.
Qed.

Lemma remove_length (n : name) (l : list name) :
  NoDup l -> In n l -> length l = Datatypes.S (length (remove same n l)).
Proof.
  induction l as [|b l IH]; cbn; intros D I; [tauto|]; apply NoDup_cons_iff in D as [D1 D2].
  destruct (same n b) as [->|N]; [rewrite notin_remove by exact D1; reflexivity|].
  cbn; destruct I as [->|I]; [congruence|]; rewrite (IH D2 I); reflexivity.
Qed.

Lemma nodup_remove (n : name) (l : list name) : NoDup l -> NoDup (remove same n l).
Proof.
  induction 1 as [|b l N D IH]; cbn; [constructor|]; destruct (same n b); auto.
  constructor; auto; intros I; apply in_remove in I; tauto.
Qed.

Lemma step_knows (l : list frame) (c c' : checker) (f : frame) :
  N.of_nat (length l) < U64.max -> knows l c -> step c f = inl c' -> knows (l ++ [f]) c'.
Proof.
  intros LM [K1 K2 (op & D & O1 & O2 & O3)] E; destruct f as [n w].
  destruct c as [[ov os] st]; unfold step in E; cbn in *.
  destruct ov; [discriminate|]; specialize (O2 eq_refl).
  assert (forall m, n <> m -> of_stream m (l ++ [(n, w)]) = of_stream m l) as OTHER.
  { intros m N; rewrite of_stream_app, of_stream_one.
    destruct w; try (destruct (same n m); [congruence|]); apply app_nil_r. }
  assert (forall s, stage_of (of_stream n (l ++ [(n, w)])) s ->
          forall m, stage_of (of_stream m (l ++ [(n, w)])) (put st n s m)) as PUT.
  { intros s H m; unfold put; destruct (same n m) as [<-|N]; [exact H|rewrite OTHER by exact N; apply K2]. }
  assert (terminal w = true \/ existsb (fun f => terminal (snd f)) (l ++ [(n, w)]) = false) as OV.
  { destruct (terminal w) eqn:TW; [auto|right]; rewrite existsb_app; cbn; rewrite TW, !orb_false_r; symmetry; exact K1. }
  assert (match w with StreamStart | Chunk _ | StreamEnd _ => False | _ => True end ->
          of_stream n (l ++ [(n, w)]) = of_stream n l) as SAME
    by (rewrite of_stream_app, of_stream_one; destruct w; intros []; apply app_nil_r).
  assert (forall m k, put st n (st n) m = Open k <-> st m = Open k) as PS
    by (intros m k; unfold put; destruct (same n m) as [<-|]; tauto).
  pose proof (K2 n) as KN.
  destruct w as [|i|count| | |]; cbn in E.
  - destruct (st n) eqn:S; try discriminate; injection E as <-.
    inversion KN as [Z| |].
    constructor; cbn.
    + destruct OV as [X|X]; [discriminate X|symmetry; exact X].
    + apply PUT; rewrite of_stream_app, <- Z, of_stream_one; destruct (same n n); [|congruence].
      apply (is_open 0).
    + exists (n :: op); rewrite app_length; cbn; repeat split; try lia.
      * constructor; auto; rewrite O1, S; intros [k X]; discriminate.
      * intros [<-|I]; unfold put; [exists 0; destruct (same n n); congruence|].
        destruct (same n n0) as [<-|]; [exists 0; reflexivity|apply O1, I].
      * unfold put; intros [k X]; destruct (same n n0) as [<-|]; [auto|right; apply O1; eauto].
      * intros _; u64.
  - destruct (st n) as [|k|] eqn:S; try discriminate; destruct (U64.eqb i k) eqn:I; try discriminate; injection E as <-.
    inversion KN as [|j Z1 Z2|].
    assert (N.of_nat j <= U64.max - 1) as JM
      by (rewrite <- Z2 in KN; apply open_is_counted in KN; lia).
    constructor; cbn.
    + destruct OV as [X|X]; [discriminate X|symmetry; exact X].
    + apply PUT; rewrite of_stream_app, <- Z1, of_stream_one; destruct (same n n); [|congruence].
      assert (i = N.of_nat j) as -> by u64; cbn; rewrite chunks_snoc.
      replace (U64.sat_add (N.of_nat j) 1) with (N.of_nat (j + 1)) by u64; constructor.
    + exists op; rewrite app_length; cbn; repeat split; auto; try lia.
      * intros I'; apply O1 in I' as [k' X]; unfold put; destruct (same n n0); eauto.
      * unfold put; intros [k' X]; apply O1; destruct (same n n0) as [<-|]; eauto.
  - destruct (st n) as [|k|] eqn:S; try discriminate.
    assert (c' = Checker (Emission false (U64.sat_sub os 1)) (put st n Closed) /\ (count = None \/ count = Some k)) as [-> CC].
    { destruct count as [told|]; [destruct (U64.eqb told k) eqn:T; try discriminate|]; injection E as <-; split; auto.
      right; f_equal; u64. }
    inversion KN as [|j Z1 Z2|]; subst k.
    assert (In n op) as IN by (apply O1; eauto).
    constructor; cbn.
    + destruct OV as [X|X]; [discriminate X|symmetry; exact X].
    + apply PUT; rewrite of_stream_app, <- Z1, of_stream_one; destruct (same n n); [|congruence].
      cbn; apply is_closed, CC.
    + pose proof (remove_length n op D IN).
      exists (remove same n op); rewrite app_length; cbn; repeat split; try lia.
      * apply nodup_remove, D.
      * intros I; apply in_remove in I as [I N]; apply O1 in I as [k X]; exists k; unfold put.
        destruct (same n n0); congruence.
      * unfold put; intros [k X]; destruct (same n n0) as [|N]; [discriminate|].
        apply in_in_remove; auto; apply O1; eauto.
      * intros _; u64.
  - destruct (U64.eqb os 0) eqn:Z; try discriminate; injection E as <-.
    constructor; cbn; [rewrite existsb_app; cbn; rewrite orb_true_r; reflexivity|apply PUT; rewrite SAME by exact Logic.I; exact KN|].
    exists op; rewrite app_length; cbn; repeat split; auto; try lia; try discriminate;
      [intros I; apply O1 in I as [k X]; exists k; apply PS; exact X|intros [k X]; apply PS in X; apply O1; eauto].
  - injection E as <-.
    constructor; cbn; [rewrite existsb_app; cbn; rewrite orb_true_r; reflexivity|apply PUT; rewrite SAME by exact Logic.I; exact KN|].
    exists op; rewrite app_length; cbn; repeat split; auto; try lia; try discriminate;
      [intros I; apply O1 in I as [k X]; exists k; apply PS; exact X|intros [k X]; apply PS in X; apply O1; eauto].
  - injection E as <-.
    constructor; cbn; [destruct OV as [X|X]; [discriminate X|symmetry; exact X]|apply PUT; rewrite SAME by exact Logic.I; exact KN|].
    exists op; rewrite app_length; cbn; repeat split; auto; try lia; try discriminate;
      [intros I; apply O1 in I as [k X]; exists k; apply PS; exact X|intros [k X]; apply PS in X; apply O1; eauto].
Qed.

Lemma run_knows (l : list frame) (c : checker) :
  N.of_nat (length l) <= U64.max -> run fresh l = inl c -> knows l c.
Proof.
  revert c; induction l as [|f l IH] using rev_ind; intros c LM E.
  - injection E as <-; apply fresh_knows.
  - rewrite app_length in LM; cbn in LM; rewrite run_app in E.
    destruct (run fresh l) as [c1|] eqn:R; [|discriminate]; cbn in E.
    destruct (step c1 f) as [c2|] eqn:S; [|discriminate]; injection E as <-.
    eapply step_knows; eauto; [lia|apply IH; [lia|reflexivity]].
Qed.

(** What the check accepts keeps the rules. *)
Theorem accepted_is_good (l : list frame) : N.of_nat (length l) <= U64.max -> accepted l -> good l.
Proof.
  intros LM [c E]; constructor.
  - intros n; destruct (run_knows _ _ LM E) as [_ K _]; eauto.
  - intros before f rest -> T; rewrite app_length in LM; cbn in LM.
    destruct rest as [|g rest]; [reflexivity|exfalso].
    replace (before ++ f :: g :: rest) with ((before ++ [f]) ++ g :: rest) in E by (rewrite <- app_assoc; reflexivity).
    rewrite run_app in E; destruct (run fresh (before ++ [f])) as [c1|] eqn:R; [|discriminate].
    apply run_knows in R as [K _ _]; [|rewrite app_length; cbn in *; lia].
    rewrite existsb_app in K; cbn in K; rewrite T, orb_true_r in K.
    cbn in E; unfold step, check in E; rewrite K in E; discriminate.
  - intros before n rest -> m k H; rewrite app_length in LM; cbn in LM.
    rewrite run_app in E; destruct (run fresh before) as [c1|] eqn:R; [|discriminate].
    apply run_knows in R as [_ K (op & D & O1 & O2 & _)]; [|lia].
    assert (In m op) as I by (apply O1; exists k; eapply stage_unique; [apply K|exact H]).
    cbn in E; unfold step, check in E; cbn in E; destruct (over (flow c1)) eqn:O; [discriminate|].
    specialize (O2 eq_refl); destruct op as [|x op]; [destruct I|].
    destruct (U64.eqb (open_streams (flow c1)) 0) eqn:Z; [|discriminate]; cbn [length] in O2; u64.
Qed.

(** And what keeps the rules is accepted. *)
Theorem good_is_accepted (l : list frame) : N.of_nat (length l) <= U64.max -> good l -> accepted l.
Proof.
  induction l as [|[n w] l IH] using rev_ind; intros LM G; [exists fresh; reflexivity|].
  rewrite app_length in LM; cbn in LM.
  destruct (IH ltac:(lia) (good_is_prefix_closed _ _ G)) as [c E].
  pose proof (run_knows l c ltac:(lia) E) as [K1 K2 (op & D & O1 & O2 & _)].
  assert (over (flow c) = false) as OV.
  { rewrite K1; destruct (existsb _ l) eqn:X; [exfalso|reflexivity].
    apply existsb_exists in X as (f & I & T); apply in_split in I as (l1 & l2 & ->).
    pose proof (none_after _ G l1 f (l2 ++ [(n, w)])) as NA.
    rewrite <- app_assoc in NA; specialize (NA eq_refl T); destruct l2; discriminate. }
  specialize (O2 OV); destruct (each_stream _ G n) as [s H].
  rewrite of_stream_app, of_stream_one in H; pose proof (K2 n) as KN.
  enough (exists c', step c (n, w) = inl c') as [c' S]
    by (exists c'; rewrite run_app, E; cbn; rewrite S; reflexivity).
  unfold step, check; cbn; rewrite OV.
  assert (forall k, stage_of (of_stream n l) (Open k) -> streams c n = Open k) as OPEN
    by (intros k X; eapply stage_unique; eauto).
  destruct w as [|i|count| | |]; try (destruct (same n n); [|congruence]); try (apply stage_snoc in H).
  - destruct H as [[_ Z]|[(k & X & _)|(k & c0 & X & _)]]; try discriminate.
    rewrite Z in KN; inversion KN; eauto.
  - destruct H as [[X _]|[(k & X & H)|(k & c0 & X & _)]]; try discriminate; injection X as ->.
    rewrite (OPEN _ H); replace (U64.eqb (N.of_nat k) (N.of_nat k)) with true by u64; eauto.
  - destruct H as [[X _]|[(k & X & _)|(k & c0 & X & [->| ->] & H)]]; try discriminate; injection X as ->;
      rewrite (OPEN _ H); eauto; replace (U64.eqb (N.of_nat k) (N.of_nat k)) with true by u64; eauto.
  - assert (op = []) as ->.
    { destruct op as [|m op]; [reflexivity|exfalso].
      destruct (proj1 (O1 m) (or_introl eq_refl)) as [k X].
      apply (ended_closed _ G l n [] eq_refl m k); rewrite <- X; apply K2. }
    replace (U64.eqb (open_streams (flow c)) 0) with true by (cbn in O2; u64); eauto.
  - eauto.
  - eauto.
Qed.

(** The first fault is told by name, whatever comes behind it. *)
Theorem first_fault_wins (l m : list frame) (v : verdict) :
  run fresh l = inr v -> run fresh (l ++ m) = inr v.
Proof. intros E; rewrite run_app, E; reflexivity. Qed.

End Emission.

(** Which fault is told for which frame. *)
Theorem faults_are_named (e : emission) (s : named_stream) (w : written) :
  snd (check e s w) =
  if over e then AfterEnd
  else match w, s with
       | StreamStart, Unused => Good
       | StreamStart, _ => Restarted
       | Chunk i, Open k => if N.eqb i k then Good else OutOfPlace k
       | StreamEnd (Some n), Open k => if N.eqb n k then Good else CountWrong k
       | StreamEnd None, Open _ => Good
       | Chunk _, _ | StreamEnd _, _ => NotOpen
       | End, _ => if N.eqb (open_streams e) 0 then Good else EndWithOpenStream
       | Err, _ | Other, _ => Good
       end.
Proof.
  unfold check, U64.eqb; destruct (over e); [reflexivity|].
  destruct w as [|i|[n|]| | |], s as [|k|]; try reflexivity; split_ifs; reflexivity.
Qed.

(** A fault changes nothing. *)
Theorem fault_changes_nothing (e : emission) (s : named_stream) (w : written) :
  snd (check e s w) <> Good -> fst (check e s w) = (e, s).
Proof.
  unfold check; destruct (over e); [reflexivity|].
  destruct w as [|i|[n|]| | |], s as [|k|]; cbn; split_ifs; cbn; congruence.
Qed.
