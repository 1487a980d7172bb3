(** Laws of the ledger (L1 to L4): what a bystander who counts the frames that pass can know. *)

From Coq Require Import NArith ZArith Bool List Lia ZifyBool ZifyN.
From Sluicegate Require Import Base.U64 Base.Tactics Law.Pair Decide.Facts Decide.Ledger.
From Sluicegate Require Law.Gate Law.Window.
Import ListNotations.

Set Default Timeout 30.

(** The balance as a whole number: `credit_outstanding`. *)
Definition value (b : balance) : Z :=
  match b with Left n => Z.of_N n | Overrun n => - Z.of_N n end.

(** A balance below zero is really below zero: each number has one form. *)
Definition canonical (b : balance) : Prop :=
  match b with Left n => (n <= U64.max)%N | Overrun n => (1 <= n <= U64.max)%N end.

Open Scope Z_scope.

Lemma max_positive : 1 <= Z.of_N U64.max.
Proof. pose proof U64.max_large; lia. Qed.

(** L1: only CHUNK and CREDIT move it. *)
Theorem only_chunk_and_credit_move (b : balance) (kind : frame_type) (n : N) :
  kind <> Chunk -> kind <> Credit -> seen b kind n = b.
Proof. destruct kind; cbn; congruence. Qed.

(** A chunk lowers it by 1, down to -(2^64 - 1). *)
Theorem chunk_lowers_by_one (b : balance) (n : N) :
  canonical b ->
  value (seen b Chunk n) = Z.max (value b - 1) (- Z.of_N U64.max) /\ canonical (seen b Chunk n).
Proof.
  pose proof max_positive; destruct b as [m|m]; cbn; intros C; unfold spend; split_ifs; cbn; u64.
Qed.

(** A grant raises it by what it carries, up to 2^64 - 1. *)
Theorem credit_raises_by_grant (b : balance) (n : N) :
  canonical b -> U64.fits n ->
  value (seen b Credit n) = Z.min (value b + Z.of_N n) (Z.of_N U64.max) /\ canonical (seen b Credit n).
Proof.
  pose proof max_positive; destruct b as [m|m]; cbn; intros C F; unfold earn; split_ifs; cbn; u64.
Qed.

(** A fresh ledger holds the window. *)
Theorem seeded_with_window (w : N) : value (seeded w) = Z.of_N w.
Proof. reflexivity. Qed.

(** * Any frames in any order *)

Fixpoint chunks (l : list (frame_type * N)) : Z :=
  match l with [] => 0 | (k, _) :: r => (match k with Chunk => 1 | _ => 0 end) + chunks r end.

Fixpoint grants (l : list (frame_type * N)) : Z :=
  match l with [] => 0 | (k, n) :: r => (match k with Credit => Z.of_N n | _ => 0 end) + grants r end.

Definition all_seen (b : balance) (l : list (frame_type * N)) : balance :=
  fold_left (fun b p => seen b (fst p) (snd p)) l b.

Lemma chunks_positive (l : list (frame_type * N)) : 0 <= chunks l.
Proof. induction l as [|[k n] l IH]; cbn; [lia|]; destruct k; lia. Qed.

Lemma grants_positive (l : list (frame_type * N)) : 0 <= grants l.
Proof. induction l as [|[k n] l IH]; cbn; [lia|]; destruct k; lia. Qed.

Lemma count_exact (l : list (frame_type * N)) (b : balance) :
  canonical b -> grants l <= Z.of_N U64.max ->
  value b + grants l <= Z.of_N U64.max -> - Z.of_N U64.max <= value b - chunks l ->
  value (all_seen b l) = value b + grants l - chunks l /\ canonical (all_seen b l).
Proof.
  revert b; induction l as [|[k n] l IH]; cbn [all_seen fold_left fst snd chunks grants]; intros b C GM G H; [split; [lia|exact C]|].
  pose proof (chunks_positive l); pose proof (grants_positive l).
  assert (value (seen b k n) = value b + (match k with Credit => Z.of_N n | _ => 0 end)
          - (match k with Chunk => 1 | _ => 0 end) /\ canonical (seen b k n)) as [V C'].
  { destruct k; try (rewrite only_chunk_and_credit_move by discriminate; split; [lia|exact C]).
    - destruct (chunk_lowers_by_one b n C) as [-> ?]; split; [lia|assumption].
    - assert (U64.fits n) as F by (unfold U64.fits; lia).
      destruct (credit_raises_by_grant b n C F) as [-> ?]; split; [lia|assumption]. }
  unfold all_seen in IH; destruct (IH (seen b k n) C') as [E CE]; [try (rewrite V); destruct k; lia..|].
  split; [rewrite E, V; destruct k; lia|exact CE].
Qed.

(** L3: it is below zero if and only if more chunks were seen than the window and all grants seen. *)
Theorem below_zero_iff_overrun (w : N) (l : list (frame_type * N)) :
  Z.of_N w + grants l <= Z.of_N U64.max -> chunks l - Z.of_N w <= Z.of_N U64.max ->
  value (all_seen (seeded w) l) = Z.of_N w + grants l - chunks l
  /\ ((exists n, all_seen (seeded w) l = Overrun n) <-> Z.of_N w + grants l < chunks l).
Proof.
  intros G C; pose proof (grants_positive l).
  destruct (count_exact l (seeded w)) as [V K]; cbn [value seeded canonical] in *; try lia.
  split; [exact V|]; destruct (all_seen _ l) as [n|n]; cbn [value canonical] in *; split.
  - intros [? ?]; congruence.
  - intros; exfalso; lia.
  - intros _; lia.
  - eauto.
Qed.

(** * Beside a pair that keeps the rules *)

(** A pair with a bystander somewhere on its wire: [ahead] chunks were sent and have not passed it
    yet; of the grants on the wire, [passed] have passed it and [coming] have not. *)
Record watched := Watched {
  link : pair;
  ledger : balance;
  ahead : N;
  passed : list N;
  coming : list N;
}.

Inductive event :=
| At (o : Pair.op)                 (** a step at one of the ends *)
| PassChunk                   (** a chunk passes the bystander *)
| PassCredit (named : bool)   (** a grant passes; one that names no stream is booked elsewhere *).

(** What is on the wire behind the bystander only has to arrive, what is before it has to pass. *)
Definition see (w : watched) (e : event) : option watched :=
  let 'Watched p b a ps cm := w in
  match e with
  | PassChunk => if (a =? 0)%N then None else Some (Watched p (seen b Chunk 0) (a - 1) ps cm)
  | PassCredit named =>
      match cm with
      | [] => None
      | n :: rest => Some (Watched p (if named then seen b Credit n else b) a (ps ++ [n]) rest)
      end
  | At o =>
      match step p o with
      | None => None
      | Some p' =>
          match o with
          | Send => Some (Watched p' b (a + 1) ps cm)
          | Deliver _ =>
              if (wire p <=? a)%N then None
              else Some (Watched p' b a ps (cm ++ skipn (length (credits p)) (credits p')))
          | Pair.Credit => match ps with [] => None | _ :: rest => Some (Watched p' b a rest cm) end
          | Consume | Flush => Some (Watched p' b a ps (cm ++ skipn (length (credits p)) (credits p')))
          | Close => None
          | _ => Some (Watched p' b a ps cm)
          end
      end
  end.

(** [strict]: all grants name their stream. *)
Inductive reachable (strict : bool) (S R : N) : watched -> Prop :=
| reach_fresh w : Law.Window.fresh R w -> reachable strict S R (Watched (fresh S w) (seeded S) 0 [] [])
| reach_see w e w' :
    reachable strict S R w -> see w e = Some w' ->
    (strict = true -> e <> PassCredit false) -> reachable strict S R w'.

Record sound (S R : N) (w : watched) : Prop := {
  link_sound : Pair.sound S R (link w);
  open : G.closed (gate (link w)) = false;
  ahead_on_wire : (ahead w <= wire (link w))%N;
  grants_split : credits (link w) = passed w ++ coming w;
  known : value (ledger w)
    = Z.of_N (G.available (gate (link w)) + taken (link w) + ahead w + sum (passed w));
  ledger_canonical : canonical (ledger w);
}.

Lemma tail_of_grant (l : list N) (n : N) : skipn (length l) (send_grant l n) = if (n =? 0)%N then [] else [n].
Proof.
  unfold send_grant; destruct (n =? 0)%N; [apply skipn_all|].
  rewrite skipn_app, skipn_all, Nat.sub_diag; reflexivity.
Qed.

Lemma grant_split (ps cm : list N) (n : N) :
  send_grant (ps ++ cm) n = ps ++ cm ++ skipn (length (ps ++ cm)) (send_grant (ps ++ cm) n).
Proof.
  rewrite tail_of_grant; unfold send_grant; destruct (n =? 0)%N; rewrite ?app_nil_r, ?app_assoc; reflexivity.
Qed.

Local Arguments Decide.Gate.acquire : simpl never.
Local Arguments Decide.Window.arrive : simpl never.
Local Arguments Decide.Window.consumed : simpl never.
Local Arguments send_grant : simpl never.
Local Arguments seen : simpl never.
Local Arguments value : simpl never.
Local Arguments canonical : simpl never.

Lemma see_sound (S R : N) (w w' : watched) (e : event) :
  (1 <= S <= R)%N -> U64.fits R -> sound S R w -> see w e = Some w' -> e <> PassCredit false ->
  sound S R w'.
Proof.
  intros SR F [I1 I2 I3 I4 I5 I6] E NE; destruct w as [p b a ps cm]; cbn in *.
  pose proof max_positive as MP.
  destruct e as [o| |[|]]; cbn in E; [| | |congruence].
  - destruct (step p o) as [p'|] eqn:ST; [|discriminate].
    pose proof (step_sound _ _ _ _ _ SR F I1 ST) as I1'.
    destruct p as [[av c] [r pe bt] h x q cs l v]; cbn in *; subst c cs.
    destruct o as [n|n| |part| | | |]; cbn in ST; [| | | | | | |discriminate].
    + destruct (G.acquire _ _ _) as [g' [| |]] eqn:A; try discriminate; apply Law.Gate.taken_is_exact in A.
      destruct A as (_ & ? & ? & ?); invert_all; constructor; cbn in *; auto; lia.
    + destruct (n <=? h)%N eqn:L; invert_all; constructor; cbn in *; auto.
      destruct I1 as [C1 C2 _ _ _ _ _ _]; cbn in *; u64.
    + destruct (h =? 0)%N eqn:L; invert_all; constructor; cbn in *; auto; lia.
    + destruct (x =? 0)%N eqn:X; [discriminate|].
      destruct (x <=? a)%N eqn:XA; [discriminate|].
      destruct (W.arrive _) as [wd [|]]; [destruct part; cbn in ST|]; invert_all; constructor; cbn in *; auto; try lia.
      * apply (grant_split ps cm 1).
      * rewrite skipn_all, app_nil_r; reflexivity.
      * rewrite skipn_all, app_nil_r; reflexivity.
    + destruct (q =? 0)%N eqn:X; [discriminate|]; destruct (W.consumed _) as [wd n]; invert_all.
      constructor; cbn in *; auto; apply grant_split.
    + destruct (pe =? 0)%N eqn:X; [discriminate|]; invert_all.
      constructor; cbn in *; auto; apply grant_split.
    + destruct ps as [|n ps]; [discriminate|]; cbn in ST; invert_all.
      destruct I1 as [C1 C2 _ _ _ _ C7 _]; cbn in *; rewrite sum_app in C1.
      constructor; cbn in *; auto; try (rewrite ?Law.Gate.grant_adds; auto); cbn; u64.
  - destruct (a =? 0)%N eqn:A; invert_all.
    destruct (chunk_lowers_by_one b 0 I6) as [V C].
    constructor; cbn in *; auto; try lia; rewrite V; lia.
  - destruct cm as [|n cm]; [discriminate|]; invert_all.
    destruct I1 as [C1 C2 C3 C4 C5 C6 C7 C8]; cbn in *; rewrite I4, sum_app in C1; cbn in C1.
    assert (U64.fits n) as FN by u64.
    destruct (credit_raises_by_grant b n I6 FN) as [V C].
    constructor; cbn in *; auto; try (constructor; cbn; auto; rewrite I4, sum_app; cbn; lia).
    + rewrite <- app_assoc; exact I4.
    + rewrite V, sum_app; cbn; u64.
Qed.

Lemma reachable_sound (S R : N) (w : watched) :
  (1 <= S <= R)%N -> U64.fits R -> reachable true S R w -> sound S R w.
Proof.
  intros SR F; induction 1 as [w0 W|w e w' H IH E NE].
  - constructor; cbn; auto using fresh_sound; try (apply fresh_sound; auto; lia); try lia.
    + unfold value, seeded; lia.
    + unfold canonical, seeded; unfold U64.fits in F; lia.
  - eapply see_sound; eauto.
Qed.

(** Nothing is on the wire, and no sender holds credit that it has not used. *)
Definition quiet (w : watched) : Prop :=
  wire (link w) = 0%N /\ credits (link w) = [] /\ taken (link w) = 0%N.

(** L2: a ledger that is seeded with the sender's window and sees all frames of a stream whose grants
    name it shows, wherever on the way it stands, exactly the sender's credit at every quiet point;
    and with one window for both ends also the receiver's. *)
Theorem exact_at_quiet_points (S R : N) (w : watched) :
  (1 <= S <= R)%N -> U64.fits R -> reachable true S R w -> quiet w ->
  ledger w = Left (G.available (gate (link w)))
  /\ (G.available (gate (link w)) + (R - S) = W.remaining (window (link w)))%N.
Proof.
  intros SR F H (X & C & T); destruct (reachable_sound _ _ _ SR F H) as [I1 I2 I3 I4 I5 I6].
  destruct I1 as [C1 _ _ _ _ _ C7 _]; specialize (C7 I2).
  rewrite C in I4; symmetry in I4; apply app_eq_nil in I4 as [P _]; rewrite P in I5; cbn in I5.
  rewrite C in C1; cbn in C1; split; [|lia].
  assert (ahead w = 0%N) as A by lia; rewrite A, T in I5.
  destruct (ledger w) as [n|n]; unfold value, canonical in *; [f_equal; lia|lia].
Qed.

(** L2: it is never below zero beside a sender that keeps the rules. *)
Theorem never_below_zero (S R : N) (w : watched) :
  (1 <= S <= R)%N -> U64.fits R -> reachable true S R w -> exists n, ledger w = Left n.
Proof.
  intros SR F H; destruct (reachable_sound _ _ _ SR F H) as [_ _ _ _ I5 I6].
  destruct (ledger w) as [n|n]; [eauto|]; unfold value, canonical in *; lia.
Qed.

(** L4: if a grant names no stream and is booked elsewhere, that is broken: there is a quiet point at
    which the ledger shows 0 and the sender has all of its window. *)
Theorem unnamed_grants_break_it :
  exists w, reachable false 1 1 w /\ quiet w /\ ledger w = Left 0 /\ G.available (gate (link w)) = 1%N.
Proof.
  exists (Watched (Pair (G.Gate 1 false) (W.Window 1 0 1) 0 0 0 [] 0 false) (Left 0) 0 [] []).
  split; [|repeat split].
  assert (false = true -> forall e, e <> PassCredit false) as NS by discriminate.
  assert (1 <= U64.max)%N as M by (pose proof U64.max_large; lia).
  apply (reach_see false 1 1 (Watched (Pair (G.Gate 0 false) (W.Window 1 0 1) 0 0 0 [1%N] 0 false) (Left 0) 0 [1%N] []) (At Pair.Credit));
    [|cbn; unfold G.grant; cbn; rewrite U64.sat_add_exact by (unfold U64.fits; lia); reflexivity|auto].
  apply (reach_see false 1 1 (Watched (Pair (G.Gate 0 false) (W.Window 1 0 1) 0 0 0 [1%N] 0 false) (Left 0) 0 [] [1%N]) (PassCredit false));
    [|reflexivity|auto].
  apply (reach_see false 1 1 (Watched (Pair (G.Gate 0 false) (W.Window 0 0 1) 0 0 1 [] 0 false) (Left 0) 0 [] []) (At Consume));
    [|cbn|auto].
  2: { rewrite Law.Window.consumed_completes_batch by (cbn; unfold U64.fits; lia); reflexivity. }
  apply (reach_see false 1 1 (Watched (Pair (G.Gate 0 false) (W.Window 1 0 1) 0 1 0 [] 0 false) (Left 0) 0 [] []) (At (Deliver false)));
    [|reflexivity|auto].
  apply (reach_see false 1 1 (Watched (Pair (G.Gate 0 false) (W.Window 1 0 1) 0 1 0 [] 0 false) (Left 1) 1 [] []) PassChunk);
    [|reflexivity|auto].
  apply (reach_see false 1 1 (Watched (Pair (G.Gate 0 false) (W.Window 1 0 1) 1 0 0 [] 0 false) (Left 1) 0 [] []) (At Send));
    [|reflexivity|auto].
  apply (reach_see false 1 1 (Watched (fresh 1 (W.opened 1)) (seeded 1) 0 [] []) (At (Take 1)));
    [|reflexivity|auto].
  apply reach_fresh; left; reflexivity.
Qed.
