(** Credit is end to end: relays neither make nor keep any, over any number of legs (L11). *)

From Coq Require Import NArith List Bool Lia ZifyBool ZifyN Permutation.
From Sluicegate Require Base.U64 Decide.Gate Decide.Window Decide.Direction Decide.Negotiate.
From Sluicegate Require Import Law.Chain Law.ChainHop Law.Relay.
Import ListNotations.

Open Scope N_scope.
Set Default Timeout 30.

Local Arguments N.add : simpl never.
Local Arguments Window.flush : simpl never.
Local Arguments N.sub : simpl never.
Local Arguments N.min : simpl never.
Local Arguments N.max : simpl never.

(** ** What is on the path *)

Definition on_path (l : list leg) : list frame := flat_map (fun a => down a ++ up a) l.

Definition chunks_in (s : nat) (x : frame) : N :=
  match body x with Data => if Nat.eqb (stream x) s then 1 else 0 | Grant _ _ => 0 end.

Definition credit_in (s : nat) (x : frame) : N :=
  match body x with Data => 0 | Grant _ n => if Nat.eqb (stream x) s then n else 0 end.

(** Chunks of a stream on all legs, and the sum of its grants on all legs. *)
Definition chunks_of (s : nat) (l : list leg) : N := sum (map (chunks_in s) (on_path l)).
Definition credit_of (s : nat) (l : list leg) : N := sum (map (credit_in s) (on_path l)).

Arguments chunks_of : simpl never.
Arguments credit_of : simpl never.

Lemma sum_permutation l m : Permutation l m -> sum l = sum m.
Proof. intros P; induction P; cbn; lia. Qed.

Lemma total_permutation (f : frame -> N) l m :
  Permutation l m -> sum (map f l) = sum (map f m).
Proof. intros P; apply sum_permutation, Permutation_map, P. Qed.

Lemma caller_sends_path x l : l <> [] -> Permutation (on_path (caller_sends x l)) (x :: on_path l).
Proof.
  destruct l as [|a t]; intros N; [easy|]; cbn; rewrite <- !app_assoc; symmetry.
  apply (Permutation_middle (down a) (up a ++ on_path t) x).
Qed.

Lemma handler_sends_path x l : l <> [] -> Permutation (on_path (handler_sends x l)) (x :: on_path l).
Proof.
  induction l as [|a t IH]; intros N; [easy|]; destruct t as [|b t].
  - cbn; rewrite !app_nil_r, app_assoc; symmetry; apply Permutation_cons_append.
  - change (on_path (handler_sends x (a :: b :: t)))
      with ((down a ++ up a) ++ on_path (handler_sends x (b :: t))).
    change (on_path (a :: b :: t)) with ((down a ++ up a) ++ on_path (b :: t)).
    rewrite IH by easy; symmetry; apply Permutation_middle.
Qed.

Lemma caller_receives_path x l l' :
  caller_receives l = Some (x, l') -> Permutation (on_path l) (x :: on_path l').
Proof.
  destruct l as [|a t]; cbn; [easy|]; destruct (up a) as [|y rest] eqn:U; [easy|].
  intros E; injection E as <- <-; cbn; rewrite <- !app_assoc; symmetry; apply Permutation_middle.
Qed.

Lemma handler_receives_path x l l' :
  handler_receives l = Some (x, l') -> Permutation (on_path l) (x :: on_path l').
Proof.
  revert l'; induction l as [|a t IH]; intros l'; [easy|]; destruct t as [|b t].
  - cbn; destruct (down a) as [|y rest] eqn:D; [easy|]; intros E; injection E as <- <-; cbn; reflexivity.
  - change (handler_receives (a :: b :: t)) with
      (match handler_receives (b :: t) with Some (x, t') => Some (x, a :: t') | None => None end).
    destruct (handler_receives (b :: t)) as [[y t']|]; [|easy]; intros E; injection E as <- <-.
    change (on_path (a :: b :: t)) with ((down a ++ up a) ++ on_path (b :: t)).
    change (on_path (a :: t')) with ((down a ++ up a) ++ on_path t').
    rewrite (IH t' eq_refl); symmetry; apply Permutation_middle.
Qed.

Lemma move_down (x : frame) r u d v t :
  Permutation ((r ++ u) ++ ((d ++ [x]) ++ v) ++ t) (((x :: r) ++ u) ++ (d ++ v) ++ t).
Proof.
  replace ((r ++ u) ++ ((d ++ [x]) ++ v) ++ t) with ((r ++ u ++ d) ++ x :: v ++ t)
    by (rewrite <- !app_assoc; reflexivity).
  rewrite <- Permutation_middle; cbn; rewrite <- ?app_assoc; reflexivity.
Qed.

Lemma move_up (x : frame) a u d r t :
  Permutation ((a ++ u ++ [x]) ++ (d ++ r) ++ t) ((a ++ u) ++ (d ++ x :: r) ++ t).
Proof.
  replace ((a ++ u ++ [x]) ++ (d ++ r) ++ t) with ((a ++ u) ++ x :: d ++ r ++ t)
    by (rewrite <- !app_assoc; reflexivity).
  apply Permutation_app_head; rewrite <- app_assoc; cbn; apply Permutation_middle.
Qed.

Section Laws.
Context (consumer : nat -> Direction.side) (starts grants_room : nat -> N).

(** A frame that goes down is a chunk for the handler or a grant for a stream that the handler
    sends; and the other way round. *)
Definition goes (coming_down : bool) (x : frame) : Prop :=
  let there := if coming_down then Direction.Handler else Direction.Caller in
  match body x with
  | Data => consumer (stream x) = there
  | Grant direction n =>
      other (consumer (stream x)) = there /\
      direction = Some (Direction.granted_by (consumer (stream x)))
  end.

Definition straight (l : list leg) : Prop :=
  Forall (fun a => Forall (goes true) (down a) /\ Forall (goes false) (up a)) l.

(** A relay sends every frame on the way that it came, for any stream of either direction. *)
Lemma way_goes_on switch coming_down x :
  goes coming_down x ->
  way_of switch coming_down x = if coming_down then Direction.ToHandler else Direction.ToCaller.
Proof.
  unfold goes, way_of; destruct switch; [destruct coming_down; reflexivity|]; destruct (body x)
    as [|direction n]; [reflexivity|].
  intros [O ->]; destruct (consumer (stream x)), coming_down; cbn in *; congruence.
Qed.

(** A relay neither makes nor keeps a frame, and none turns round: what is on the path before is on
    it afterwards (L11). *)
Theorem a_relay_touches_nothing switch coming_down i l l' :
  straight l -> relays switch coming_down i l = Some l' ->
  Permutation (on_path l') (on_path l) /\ straight l' /\ length l' = length l.
Proof.
  revert l l'; induction i as [|i IH]; intros l l' S E.
  - destruct l as [|a [|b t]]; try discriminate; cbn in E.
    inversion S as [|? ? [A1 A2] S1]; inversion S1 as [|? ? [B1 B2] S2]; subst.
    destruct coming_down.
    + destruct (down a) as [|x rest] eqn:D; [discriminate|]; inversion A1; subst.
      rewrite (way_goes_on switch true x) in E by assumption; injection E as <-.
      repeat split; auto.
      * cbn; rewrite D; apply move_down.
      * constructor; [|constructor; [|exact S2]]; cbn; split; auto; apply Forall_app; auto.
    + destruct (up b) as [|x rest] eqn:U; [discriminate|]; inversion B2; subst.
      rewrite (way_goes_on switch false x) in E by assumption; injection E as <-.
      repeat split; auto.
      * cbn; rewrite U; apply move_up.
      * constructor; [|constructor; [|exact S2]]; cbn; split; auto; apply Forall_app; auto.
  - destruct l as [|a t]; [discriminate|]; cbn in E.
    destruct (relays switch coming_down i t) as [t'|] eqn:R; [|discriminate]; injection E as <-.
    inversion S as [|? ? Sa St]; subst; destruct (IH t t' St R) as (P & S' & L).
    repeat split; [apply Permutation_app_head, P|constructor; assumption|cbn; congruence].
Qed.

Lemma overtake_permutation k l : Permutation (overtake k l) l.
Proof.
  revert l; induction k as [|k IH]; intros [|x l]; cbn; try reflexivity.
  - destruct l as [|y l]; [reflexivity|]; destruct (body x), (body y); try reflexivity; apply perm_swap.
  - apply perm_skip, IH.
Qed.

Lemma hurries_path going_down i k l :
  Permutation (on_path (hurries going_down i k l)) (on_path l) /\
  (straight l -> straight (hurries going_down i k l)) /\ (l <> [] -> hurries going_down i k l <> []).
Proof.
  revert l; induction i as [|i IH]; intros [|a t]; cbn; try solve [split; [reflexivity|auto]].
  - repeat split; [|intros S; inversion S as [|? ? [A B] S']; subst; constructor; auto|discriminate].
    + apply Permutation_app_tail; destruct going_down; cbn;
        [apply Permutation_app_tail|apply Permutation_app_head]; apply overtake_permutation.
    + destruct going_down; cbn; split; auto;
        (eapply Permutation_Forall; [symmetry; apply overtake_permutation|assumption]).
  - destruct (IH t) as (P & Q & _); repeat split; [|intros S; inversion S; subst; constructor; [|apply Q];
    assumption|discriminate].
    apply Permutation_app_head, P.
Qed.

(** ** End to end *)

(** What holds in every state, of every stream. *)
Record relayed (p : path) : Prop := {
  goes_straight : straight (legs p);
  some_leg : legs p <> [];
  no_stream_overrun : overruns p = false;
  none_astray : astray p = false;
  gate_open s : Gate.closed (gates p s) = false;
  batch_sound s : Window.pending (windows p s) < Window.batch (windows p s);
  end_to_end s :
    Gate.available (gates p s) + chunks_of s (legs p) + credit_of s (legs p)
      + (grants_room s - starts s) = Window.remaining (windows p s);
  room s :
    Window.remaining (windows p s) + Window.pending (windows p s) + queues p s = grants_room s;
}.

Definition sound_ends : Prop :=
  forall s, starts s <= grants_room s /\ grants_room s <= U64.max.

Lemma end_sends_path e x l : l <> [] -> Permutation (on_path (end_sends e x l)) (x :: on_path l).
Proof. destruct e; [apply caller_sends_path|apply handler_sends_path]. Qed.

Lemma end_receives_path e x l l' :
  end_receives e l = Some (x, l') -> Permutation (on_path l) (x :: on_path l').
Proof. destruct e; [apply caller_receives_path|apply handler_receives_path]. Qed.

Lemma end_sends_some e x l : l <> [] -> end_sends e x l <> [].
Proof. destruct e, l as [|a [|b t]]; cbn; congruence. Qed.

Lemma end_receives_some e x l l' : end_receives e l = Some (x, l') -> l' <> [].
Proof.
  destruct e; cbn.
  - destruct l as [|a t]; cbn; [easy|]; destruct (up a); [easy|]; intros E; injection E as <- <-; easy.
  - destruct l as [|a [|b t]]; [easy| |].
    + cbn; destruct (down a); [easy|]; intros E; injection E as <- <-; easy.
    + change (handler_receives (a :: b :: t)) with
        (match handler_receives (b :: t) with Some (x, t') => Some (x, a :: t') | None => None end).
      destruct (handler_receives (b :: t)) as [[y t']|]; [|easy]; intros E; injection E as <- <-; easy.
Qed.

Definition away (e : Direction.side) : bool :=
  match e with Direction.Caller => true | Direction.Handler => false end.

Lemma end_sends_straight e x l : goes (away e) x -> straight l -> straight (end_sends e x l).
Proof.
  intros G S; destruct e; cbn.
  - destruct S as [|a t [A1 A2] S]; [constructor|]; constructor; [|exact S]; cbn; split; auto.
    apply Forall_app; auto.
  - induction S as [|a t [A1 A2] S IH]; [constructor|]; destruct t as [|b t].
    + constructor; [|constructor]; cbn; split; auto; apply Forall_app; auto.
    + constructor; [split; auto|exact IH].
Qed.

Lemma end_receives_straight e x l l' :
  end_receives e l = Some (x, l') -> straight l -> goes (away (other e)) x /\ straight l'.
Proof.
  intros E S; destruct e; cbn in *.
  - destruct S as [|a t [A1 A2] S]; [discriminate|]; cbn in E.
    destruct (up a) as [|y rest] eqn:U; [discriminate|]; injection E as <- <-; inversion A2; subst.
    split; auto; constructor; [split; auto|exact S].
  - revert l' E; induction S as [|a t [A1 A2] S IH]; intros l' E; [discriminate|]; destruct t as [|b t].
    + cbn in E; destruct (down a) as [|y rest] eqn:D; [discriminate|]; injection E as <- <-.
      inversion A1; subst; split; auto; constructor; [split; auto|constructor].
    + change (handler_receives (a :: b :: t)) with
        (match handler_receives (b :: t) with Some (x, t') => Some (x, a :: t') | None => None end) in E.
      destruct (handler_receives (b :: t)) as [[y t']|]; [|discriminate]; injection E as <- <-.
      destruct (IH t' eq_refl) as [G S']; split; [exact G|constructor; [split; auto|exact S']].
Qed.

(** A consumer's grants go to the stream's sender. *)
Lemma grant_goes s n :
  goes (away (consumer s)) (Frame s (Grant (Some (Direction.granted_by (consumer s))) n)).
Proof. unfold goes; cbn; split; [|reflexivity]; destruct (consumer s); reflexivity. Qed.

Lemma data_goes s : goes (away (other (consumer s))) (Frame s Data).
Proof. unfold goes; cbn; destruct (consumer s); reflexivity. Qed.

Lemma chunks_permutation s l m : Permutation (on_path l) (on_path m) -> chunks_of s l = chunks_of s m.
Proof. apply total_permutation. Qed.

Lemma credit_permutation s l m : Permutation (on_path l) (on_path m) -> credit_of s l = credit_of s m.
Proof. apply total_permutation. Qed.

Lemma chunks_cons s x l m :
  Permutation (on_path l) (x :: on_path m) -> chunks_of s l = chunks_in s x + chunks_of s m.
Proof. intros P; unfold chunks_of; rewrite (total_permutation _ _ _ P); reflexivity. Qed.

Lemma credit_cons s x l m :
  Permutation (on_path l) (x :: on_path m) -> credit_of s l = credit_in s x + credit_of s m.
Proof. intros P; unfold credit_of; rewrite (total_permutation _ _ _ P); reflexivity. Qed.

Lemma grants_back_path s n l :
  l <> [] -> straight l ->
  let l' := grants_back consumer s n l in
  l' <> [] /\ straight l' /\ (forall t, chunks_of t l' = chunks_of t l) /\
  (forall t, credit_of t l' = credit_of t l + if Nat.eqb s t then n else 0).
Proof.
  intros N S; unfold grants_back, U64.eqb; destruct (n =? 0) eqn:Z; cbn.
  - repeat split; auto; intros t; destruct (Nat.eqb s t); lia.
  - pose proof (end_sends_path (consumer s)
      (Frame s (Grant (Some (Direction.granted_by (consumer s))) n)) l N) as P.
    repeat split; [apply end_sends_some, N|apply end_sends_straight; [apply grant_goes|exact S]| |];
      intros t; [rewrite (chunks_cons t _ _ _ P)|rewrite (credit_cons t _ _ _ P)]; cbn; [reflexivity|lia].
Qed.

Lemma quiet_relayed hops wishes :
  hops <> O -> sound_ends -> relayed (quiet starts grants_room hops wishes).
Proof.
  intros N S; constructor; cbn; auto.
  - apply Forall_forall; intros a I; apply repeat_spec in I as ->; split; constructor.
  - destruct hops; easy.
  - intros s; unfold Window.default_batch, U64.umin, U64.umax; lia.
  - intros s; destruct (S s).
    assert (on_path (repeat (Leg [] []) hops) = []) as E by (clear; induction hops; auto).
    unfold chunks_of, credit_of; rewrite E; cbn; lia.
  - intros s; lia.
Qed.

Ltac at_stream i s :=
  unfold set; destruct (PeanoNat.Nat.eqb_spec i s) as [->|?]; cbn.

Lemma acts_relayed p a p' :
  sound_ends -> relayed p -> acts consumer p a = Some p' -> relayed p'.
Proof.
  intros S [] E; destruct p as [l g w q o z], a as [switch coming_down i|going_down i k|s|e|s|s]; cbn in *.
  - destruct (relays switch coming_down i l) as [l'|] eqn:R; [|discriminate]; injection E as <-.
    destruct (a_relay_touches_nothing _ _ _ _ _ goes_straight0 R) as (P & S' & L).
    constructor; cbn; auto.
    + intros ->; destruct l; cbn in L; congruence.
    + intros s; rewrite (chunks_permutation s _ _ P), (credit_permutation s _ _ P); auto.
  - injection E as <-; destruct (hurries_path going_down i k l) as (P & Q & N).
    constructor; cbn; auto.
    intros s; rewrite (chunks_permutation s _ _ P), (credit_permutation s _ _ P); auto.
  - destruct (Gate.acquire (g s) 1 false) as [g' []] eqn:A; try discriminate; injection E as <-.
    apply acquire_taken in A as (_ & C & A).
    pose proof (end_sends_path (other (consumer s)) (Frame s Data) l some_leg0) as P.
    constructor; cbn; auto.
    + apply end_sends_straight; [apply data_goes|exact goes_straight0].
    + apply end_sends_some; exact some_leg0.
    + intros t; at_stream s t; auto.
    + intros t; rewrite (chunks_cons t _ _ _ P), (credit_cons t _ _ _ P).
      specialize (end_to_end0 t); unfold chunks_in, credit_in; cbn; at_stream s t; lia.
  - destruct (end_receives e l) as [[[s b] l']|] eqn:R; [|discriminate].
    pose proof (end_receives_path _ _ _ _ R) as P.
    destruct (end_receives_straight _ _ _ _ R goes_straight0) as [G S'].
    pose proof (end_receives_some _ _ _ _ R) as N.
    destruct b as [|direction n].
    + pose proof (end_to_end0 s) as X; rewrite (chunks_cons s _ _ _ P) in X.
      unfold chunks_in in X; cbn in X; rewrite PeanoNat.Nat.eqb_refl in X.
      rewrite arrive_spec in E by lia; injection E as <-.
      constructor; cbn; auto.
      * intros t; specialize (batch_sound0 t); at_stream s t; auto.
      * intros t; pose proof (end_to_end0 t) as Y.
        rewrite (chunks_cons t _ _ _ P), (credit_cons t _ _ _ P) in Y.
        unfold chunks_in, credit_in in Y; cbn in Y; at_stream s t; [|destruct (PeanoNat.Nat.eqb_spec s t);
          [congruence|]]; lia.
      * intros t; pose proof (room0 t) as Y; at_stream s t; lia.
    + unfold goes in G; cbn in G; destruct G as [O ->].
      assert (same_end (Direction.released_by (Direction.granted_by (consumer s))) e
              && same_end (other (consumer s)) e = true) as T
        by (destruct (consumer s), e; cbn in *; congruence).
      rewrite T in E; injection E as <-.
      assert (Gate.available (g s) + n <= U64.max) as F.
      { destruct (S s); pose proof (end_to_end0 s) as X; pose proof (room0 s).
        rewrite (credit_cons s _ _ _ P) in X; unfold credit_in in X; cbn in X.
        rewrite PeanoNat.Nat.eqb_refl in X; lia. }
      constructor; cbn; auto.
      * intros t; at_stream s t; auto; unfold Gate.grant; rewrite gate_open0; reflexivity.
      * intros t; pose proof (end_to_end0 t) as Y.
        rewrite (chunks_cons t _ _ _ P), (credit_cons t _ _ _ P) in Y.
        unfold chunks_in, credit_in in Y; cbn in Y; at_stream s t.
        -- unfold Gate.grant; rewrite gate_open0; cbn.
           rewrite U64.sat_add_exact by exact F; rewrite ?PeanoNat.Nat.eqb_refl in Y; lia.
        -- destruct (PeanoNat.Nat.eqb_spec s t); [congruence|]; lia.
  - unfold U64.eqb in E; destruct (q s =? 0) eqn:Q; [discriminate|].
    destruct (S s) as [S1 S2]; pose proof (room0 s) as X.
    destruct (consumed_spec (w s) (batch_sound0 s)) as (w' & n & C & W1 & W2 & W3 & W4); [lia|].
    rewrite C in E; injection E as <-.
    destruct (grants_back_path s n l some_leg0 goes_straight0) as (A1 & A2 & A3 & A4).
    constructor; cbn; auto.
    + intros t; specialize (batch_sound0 t); at_stream s t; auto.
    + intros t; rewrite A3, A4; specialize (end_to_end0 t); at_stream s t; lia.
    + intros t; specialize (room0 t); at_stream s t; lia.
  - destruct (S s) as [S1 S2]; pose proof (room0 s) as X.
    rewrite flush_spec in E by lia; injection E as <-.
    destruct (grants_back_path s (Window.pending (w s)) l some_leg0 goes_straight0) as (A1 & A2 & A3 & A4).
    constructor; cbn; auto.
    + intros t; specialize (batch_sound0 t); at_stream s t; lia.
    + intros t; rewrite A3, A4; specialize (end_to_end0 t); at_stream s t; lia.
    + intros t; specialize (room0 t); at_stream s t; lia.
Qed.

Lemma reached_relayed hops p :
  hops <> O -> sound_ends -> reached consumer starts grants_room hops p -> relayed p.
Proof. intros N S R; induction R; eauto using quiet_relayed, acts_relayed. Qed.

(** Credit is end to end over any number of relays, for any number of streams in both directions:
    what a sender may send, its chunks on all legs and its grants on all legs always add up to what
    its consumer expects, less what the sender was never told of (C1, C4; L11, L14). *)
Theorem credit_is_end_to_end hops p s :
  hops <> O -> sound_ends -> reached consumer starts grants_room hops p ->
  Gate.available (gates p s) + chunks_of s (legs p) + credit_of s (legs p)
    + (grants_room s - starts s) = Window.remaining (windows p s) /\
  Window.remaining (windows p s) + Window.pending (windows p s) + queues p s = grants_room s.
Proof. intros N S R; destruct (reached_relayed hops p N S R); auto. Qed.

(** No consumer is overrun and no grant comes to an end that holds no gate for it, however many
    relays stand between (C2; L11, L12, L14). *)
Theorem nothing_goes_astray hops p :
  hops <> O -> sound_ends -> reached consumer starts grants_room hops p ->
  overruns p = false /\ astray p = false.
Proof. intros N S R; destruct (reached_relayed hops p N S R); auto. Qed.

(** Relays store at most the window: the chunks of a stream on all legs and in its consumer's queue
    never exceed what its sender started with (C7). *)
Theorem relays_hold_at_most_the_window hops p s :
  hops <> O -> sound_ends -> reached consumer starts grants_room hops p ->
  chunks_of s (legs p) + queues p s <= starts s.
Proof.
  intros N S R; destruct (reached_relayed hops p N S R); destruct (S s).
  specialize (end_to_end0 s); specialize (room0 s); lia.
Qed.

End Laws.
