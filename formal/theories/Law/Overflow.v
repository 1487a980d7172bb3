(** Laws of a bounded buffer under each of the six overflow strategies: a list of elements round the
    decisions of [Decide.Overflow]. *)

From Coq Require Import NArith Bool List Permutation Lia ZifyBool ZifyN.
From Sluicegate Require Import Base.U64 Base.Lists Base.Tactics.
From Sluicegate Require Import Decide.Overflow.
Import ListNotations.

Open Scope N_scope.
Set Default Timeout 30.

(** An element: who it is, and its size in bytes. *)
Notation element := (N * N)%type.
Definition bytes_of (x : element) : N := snd x.

Fixpoint total (l : list element) : N :=
  match l with [] => 0 | x :: rest => bytes_of x + total rest end.

(** [content] has the oldest first; the logs have the newest first. [thrown] is what was lost because
    the buffer was full, [released] what a cancel let go, [refused] what was never taken in because
    the buffer had ended, [offered] every element whose offer was answered. *)
Record machine := Machine {
  decided : buffer;
  content : list element;
  taken : list element;
  thrown : list element;
  released : list element;
  refused : list element;
  offered : list element;
}.

(** Makes room as the decision says; [None] if there is nothing of that kind to throw out. *)
Definition make_room (what : victim) (l : list element) : option (list element * list element) :=
  match what, l, rev l with
  | Oldest, x :: rest, _ => Some (rest, [x])
  | Newest, _, x :: before => Some (rev before, [x])
  | Everything, _ :: _, backwards => Some ([], backwards)
  | _, _, _ => None
  end.

(** Offers until the answer is final, as a shell does under its lock. *)
Fixpoint settle (fuel : nat) (b : buffer) (l gone : list element) (x : element) (waiting : bool)
  : option (buffer * list element * list element * offer_answer) :=
  match fuel with
  | O => None
  | S fuel =>
    let '(b', answer) := offer b (bytes_of x) waiting in
    match answer with
    | Discard what =>
      match make_room what l with
      | None => None
      | Some (l', out) => settle fuel (discarded b' (size out) (total out)) l' (out ++ gone) x waiting
      end
    | _ => Some (b', l, gone, answer)
    end
  end.

Inductive event :=
| Offer (x : element) (waiting : bool)
| Take
| Finish (why : buffer_end)
| Cancel.

Definition step (m : machine) (e : event) : option machine :=
  match e with
  | Offer x waiting =>
    match settle (S (length (content m))) (decided m) (content m) (thrown m) x waiting with
    | None => None
    | Some (b, l, gone, answer) =>
      match answer with
      | Enqueued =>
        Some (Machine b (l ++ [x]) (taken m) gone (released m) (refused m) (x :: offered m))
      | Dropped =>
        Some (Machine b l (taken m) (x :: gone) (released m) (refused m) (x :: offered m))
      | QueueClosed | Failure =>
        Some (Machine b l (taken m) gone (released m) (x :: refused m) (x :: offered m))
      | Wait => Some (Machine b l (taken m) gone (released m) (refused m) (offered m))
      | Discard _ => None
      end
    end
  | Take =>
    let oldest := match content m with [] => 0 | x :: _ => bytes_of x end in
    let '(b, answer) := take (decided m) oldest in
    match answer, content m with
    | Element, x :: rest =>
      Some (Machine b rest (x :: taken m) (thrown m) (released m) (refused m) (offered m))
    | Element, [] => None
    | _, [] => Some (Machine b [] (taken m) (thrown m) (released m) (refused m) (offered m))
    | _, _ :: _ => None
    end
  | Finish why =>
    Some (Machine (fst (finish (decided m) why)) (content m) (taken m) (thrown m) (released m)
      (refused m) (offered m))
  | Cancel =>
    let '(b, n) := cancel (decided m) in
    if n =? size (content m) then
      Some (Machine b [] (taken m) (thrown m) (rev (content m) ++ released m) (refused m)
        (offered m))
    else None
  end.

(** What anybody may do: sizes are numbers that fit. *)
Definition valid (e : event) : Prop :=
  match e with Offer x _ => fits (bytes_of x) | _ => True end.

(** Reached in [n] steps from a fresh buffer. *)
Inductive reached : N -> machine -> Prop :=
| reached_fresh on_full elements bytes_in_all b :
    fits elements -> fits bytes_in_all -> opened on_full elements bytes_in_all = Some b ->
    reached 0 (Machine b [] [] [] [] [] [])
| reached_step n m e m' : reached n m -> valid e -> step m e = Some m' -> reached (n + 1) m'.

Lemma total_app l k : total (l ++ k) = total l + total k.
Proof. induction l; cbn [app total]; lia. Qed.

Lemma total_rev l : total (rev l) = total l.
Proof. induction l; cbn [rev total]; rewrite ?total_app; cbn [total]; lia. Qed.

Lemma in_total x l : In x l -> bytes_of x <= total l.
Proof.
  induction l as [|y l IH]; cbn [In total]; [tauto|].
  intros [->|Hx]; [lia|specialize (IH Hx); lia].
Qed.

Arguments bytes_of : simpl never.
Arguments U64.sat_add : simpl never.
Arguments U64.sat_sub : simpl never.

(** Making room throws out at least one element, keeps the others in their order. *)
Lemma make_room_parts what l l' out :
  make_room what l = Some (l', out) ->
  Permutation (l' ++ out) l /\ kept_of l' l /\ (length l' < length l)%nat
  /\ size l' + size out = size l /\ total l' + total out = total l.
Proof.
  unfold make_room; destruct what; intros H.
  - destruct l as [|x l]; [discriminate|]; injection H as <- <-.
    repeat split; cbn [length total app]; rewrite ?size_cons, ?size_nil; try lia.
    + symmetry; apply Permutation_cons_append.
    + apply kept_skip, kept_same.
  - assert (Hl : l = rev (rev l)) by (symmetry; apply rev_involutive).
    destruct (rev l) as [|x r]; [destruct l; discriminate|].
    assert (Hk : l' = rev r /\ out = [x]) by (destruct l; injection H as <- <-; auto).
    destruct Hk as [-> ->]; cbn [rev] in Hl; rewrite Hl.
    repeat split; rewrite ?app_length, ?size_app, ?total_app, ?size_cons, ?size_nil;
      cbn [length]; try lia; trivial.
    apply kept_skip_last, kept_same.
  - destruct l as [|x l]; [discriminate|].
    assert (Hk : l' = [] /\ out = rev (x :: l)) by (injection H as <- <-; auto).
    destruct Hk as [-> ->].
    repeat split; rewrite ?size_rev, ?total_rev, ?size_nil; cbn [length total app]; try lia.
    + symmetry; apply Permutation_rev.
    + apply kept_none.
Qed.

(** What a buffer and its content say of each other. *)
Record sound (b : buffer) (l : list element) : Prop := Sound {
  s_room : 1 <= capacity b /\ fits (capacity b) /\ 1 <= byte_capacity b /\ fits (byte_capacity b);
  s_held : held b = size l /\ held b <= capacity b;
  s_bytes : bytes b = total l /\ fits (bytes b);
  s_wide : bytes b <= byte_capacity b \/ exists x, In x l /\ bytes_of x = total l;
}.

Lemma has_room_spec b n :
  has_room b n = true <->
  held b < capacity b /\ (held b = 0 \/ n <= byte_capacity b - bytes b).
Proof. unfold has_room; u64. Qed.

Lemma room_of_an_empty b n : sound b [] -> has_room b n = true.
Proof.
  intros [Hr Hh _ _]; rewrite size_nil in *; rewrite has_room_spec; lia.
Qed.

(** Throwing out keeps the buffer and its content together, and counts. *)
Lemma discarded_sound what b l l' out :
  sound b l -> make_room what l = Some (l', out) -> fits (lost b + size out) ->
  sound (discarded b (size out) (total out)) l'
  /\ lost (discarded b (size out) (total out)) = lost b + size out.
Proof.
  intros [Hr Hh Hb Hw] Hm Hf; pose proof (make_room_parts _ _ _ _ Hm) as (Hp & _ & _ & Hs & Ht).
  split; [|cbn; apply sat_add_exact; trivial].
  constructor; cbn; trivial; unfold sat_sub; try lia.
  - unfold fits in *; lia.
  - destruct Hw as [Hw|(x & Hx & Hx')]; [left; lia|].
    apply (Permutation_in _ (Permutation_sym Hp)), in_app_or in Hx; destruct Hx as [Hx|Hx].
    + right; exists x; split; trivial.
      apply in_total in Hx; lia.
    + left; apply in_total in Hx; lia.
Qed.

(** What one offer, answered to its end, does. *)
Record settled (x : element) (b : buffer) (l gone : list element)
  (b' : buffer) (l' gone' : list element) (answer : offer_answer) : Prop := Settled {
  t_sound : sound b' (match answer with Enqueued => l' ++ [x] | _ => l' end);
  t_plan : plan b' = plan b /\ capacity b' = capacity b /\ byte_capacity b' = byte_capacity b;
  t_kept : kept_of l' l;
  t_parts : Permutation (l' ++ gone') (l ++ gone);
  t_lost : lost b' + size gone
           = lost b + size gone' + match answer with Dropped => 1 | _ => 0 end;
  t_end : match answer with
          | Enqueued | Dropped | Wait => ended b = None /\ ended b' = None
          | QueueClosed => (ended b = Some Completed \/ ended b = Some Cancelled) /\ b' = b
          | Failure => (ended b = Some Failed \/ ended b = Some Overflowed \/
                        (ended b = None /\ plan b = Fail /\ has_room b (bytes_of x) = false))
                       /\ ended b' = (match ended b with None => Some Overflowed | e => e end)
          | Discard _ => False
          end;
  t_wait : answer = Wait -> plan b = Backpressure;
  t_same : (ended b <> None \/ plan b = Backpressure \/ plan b = Fail \/ plan b = DropNew) ->
           l' = l /\ gone' = gone;
}.

Lemma settle_settled fuel : forall b l gone x waiting,
  (length l < fuel)%nat -> sound b l -> fits (bytes_of x) -> fits (lost b + size l + 1) ->
  exists b' l' gone' answer,
    settle fuel b l gone x waiting = Some (b', l', gone', answer)
    /\ settled x b l gone b' l' gone' answer.
Proof.
  induction fuel as [|fuel IH]; intros b l gone x waiting Hfuel Hs Hx Hlost; [lia|].
  assert (Hown := Hs); destruct Hs as [Hr Hh Hb Hw].
  cbn [settle]; unfold offer.
  destruct (ended b) as [[]|] eqn:Hend.
  1-4: do 4 eexists; split; [reflexivity|];
       constructor; rewrite ?Hend; cbn; auto; try discriminate; try lia; apply kept_same.
  set (in_line := match plan b with Backpressure => waiting | _ => false end).
  destruct (has_room b (bytes_of x) && negb in_line) eqn:Hroom.
  { apply andb_prop in Hroom as [Hroom _].
    assert (Hsp := Hroom); rewrite has_room_spec in Hsp.
    assert (Hz : held b = 0 -> total l = 0)
      by (intros Hz; destruct l; [reflexivity|rewrite size_cons in *; lia]).
    assert (Hfit : total l = 0 \/ bytes b + bytes_of x <= byte_capacity b \/ bytes_of x = 0)
      by lia.
    assert (Hadd : sat_add (held b) 1 = held b + 1)
      by (apply sat_add_exact; unfold fits in *; lia).
    assert (Hsum : fits (bytes b + bytes_of x)).
    { unfold fits in *; destruct Hfit as [Hfit|[Hfit|Hfit]]; lia. }
    do 4 eexists; split; [reflexivity|].
    constructor; cbn; rewrite ?Hend; auto; try discriminate; try lia; try apply kept_same.
    constructor; cbn; trivial; rewrite ?Hadd, ?(sat_add_exact _ _ Hsum), ?size_app, ?total_app,
      ?size_cons, ?size_nil; cbn [total]; try lia.
    - split; [lia|trivial].
    - destruct Hfit as [Hfit|[Hfit|Hfit]]; [right; exists x|left; lia|].
      + split; [apply in_or_app; right; left; trivial|lia].
      + destruct Hw as [Hw|(y & Hy & Hy')]; [left; lia|right; exists y].
        split; [apply in_or_app; left; trivial|lia]. }
  assert (Hfull : in_line = false -> has_room b (bytes_of x) = false)
    by (intros ->; destruct (has_room b (bytes_of x)); [discriminate|trivial]).
  assert (Hmore : forall what, in_line = false -> plan b <> Fail -> plan b <> Backpressure ->
      plan b <> DropNew ->
      exists b' l' gone' answer,
        match make_room what l with
        | None => None
        | Some (l', out) =>
          settle fuel (discarded b (size out) (total out)) l' (out ++ gone) x waiting
        end = Some (b', l', gone', answer)
        /\ settled x b l gone b' l' gone' answer).
  { intros what Hin Hp1 Hp2 Hp3; specialize (Hfull Hin).
    destruct (make_room what l) as [[l1 out]|] eqn:Hm.
    - pose proof (make_room_parts _ _ _ _ Hm) as (Hperm & Hkept & Hless & Hsz & Htot).
      destruct (discarded_sound what b l l1 out Hown Hm) as [Hs1 Hl1];
        [unfold fits in *; lia|].
      destruct (IH (discarded b (size out) (total out)) l1 (out ++ gone) x waiting)
        as (b' & l' & gone' & answer & He & Ht); trivial; [lia|unfold fits in *; lia|].
      exists b', l', gone', answer; split; [trivial|].
      destruct Ht as [T1 T2 T3 T4 T5 T6 T7 T8]; cbn in T2, T6, T7, T8.
      constructor; trivial.
      + apply (kept_trans _ _ _ _ T3 Hkept).
      + rewrite T4, app_assoc; apply Permutation_app_tail; trivial.
      + rewrite size_app in T5; lia.
      + rewrite Hend in *; destruct answer; trivial.
        * destruct T6 as [[T6|T6] _]; discriminate.
        * destruct T6 as [[T6|[T6|[_ [T6 _]]]] _]; [discriminate|discriminate|now destruct Hp1].
      + intros [T9|[T9|[T9|T9]]]; congruence.
    - exfalso; destruct l as [|y l].
      + rewrite (room_of_an_empty b (bytes_of x) Hown) in Hfull; discriminate.
      + destruct what; cbn in Hm; try discriminate.
        destruct (rev l); discriminate. }
  destruct (plan b) eqn:Hplan; subst in_line.
  - do 4 eexists; split; [reflexivity|].
    constructor; rewrite ?Hend; auto; try discriminate; try lia; apply kept_same.
  - apply Hmore; discriminate || trivial.
  - apply Hmore; discriminate || trivial.
  - do 4 eexists; split; [reflexivity|].
    constructor; cbn; rewrite ?Hend; auto; try discriminate; try lia; try apply kept_same.
    + constructor; cbn; trivial.
    + rewrite sat_add_exact; [lia|unfold fits in *; lia].
  - apply Hmore; discriminate || trivial.
  - do 4 eexists; split; [reflexivity|].
    constructor; cbn; rewrite ?Hend; auto; try discriminate; try lia; try apply kept_same.
    + constructor; cbn; trivial.
    + split; [right; right; auto|trivial].
Qed.

(** What holds at every moment. *)
Record holds (n : N) (m : machine) : Prop := Holds {
  h_sound : sound (decided m) (content m);
  h_lost : lost (decided m) = size (thrown m);
  h_parts : Permutation (content m ++ taken m ++ thrown m ++ released m ++ refused m) (offered m);
  h_count : size (offered m) <= n;
  h_order : kept_of (rev (taken m) ++ content m) (rev (offered m));
}.

Lemma parts_size m :
  Permutation (content m ++ taken m ++ thrown m ++ released m ++ refused m) (offered m) ->
  size (offered m)
  = size (content m) + size (taken m) + size (thrown m) + size (released m) + size (refused m).
Proof.
  intros Hp; apply Permutation_length in Hp; unfold size; rewrite <- Hp, !app_length; lia.
Qed.

Lemma step_holds n m e :
  holds n m -> valid e -> fits (n + 1) -> exists m', step m e = Some m' /\ holds (n + 1) m'.
Proof.
  intros [Hs Hl Hp Hc Ho] Hv Hn.
  pose proof (parts_size m Hp) as Hsz.
  destruct m as [b l tk th rl rf off]; cbn in *.
  destruct e as [x waiting| |why|]; cbn in Hv |- *.
  - destruct (settle_settled (S (length l)) b l th x waiting) as (b' & l' & th' & answer & He & Ht);
      trivial; [lia|unfold fits in *; lia|].
    cbn [settle] in He; rewrite He; clear He.
    destruct Ht as [T1 T2 T3 T4 T5 T6 T7 T8].
    assert (Hk : kept_of (rev tk ++ l') (rev off))
      by (apply (kept_trans _ _ (rev tk ++ l)); [apply kept_app|]; trivial).
    assert (Hall : Permutation (l' ++ tk ++ th' ++ rl ++ rf) off).
    { rewrite <- Hp, !(Permutation_app_swap_app _ tk), !app_assoc.
      do 2 apply Permutation_app_tail.
      rewrite <- !app_assoc; apply Permutation_app_head; trivial. }
    destruct answer; try (exfalso; exact T6); eexists; (split; [reflexivity|]); constructor; cbn;
      rewrite ?size_cons; trivial; try lia.
    + rewrite <- app_assoc; cbn; symmetry; apply Permutation_cons_app; symmetry; trivial.
    + rewrite app_assoc; apply kept_snoc; trivial.
    + symmetry; rewrite app_assoc; apply Permutation_cons_app; rewrite <- app_assoc.
      symmetry; trivial.
    + apply kept_skip_last; trivial.
    + symmetry; rewrite !app_assoc; apply Permutation_cons_app; rewrite <- !app_assoc.
      symmetry; trivial.
    + apply kept_skip_last; trivial.
    + symmetry; rewrite !app_assoc; apply Permutation_cons_app; rewrite <- !app_assoc.
      symmetry; trivial.
    + apply kept_skip_last; trivial.
  - destruct Hs as [Hr Hh Hb Hw]; unfold take; destruct (U64.eqb (held b) 0) eqn:Hz.
    + apply eqb_spec in Hz; destruct l; [|rewrite size_cons in *; lia].
      destruct (ended b); eexists; (split; [reflexivity|]); constructor; cbn; trivial; try lia;
        constructor; trivial.
    + apply Bool.not_true_iff_false in Hz; rewrite eqb_spec in Hz.
      destruct l as [|x l]; [rewrite size_nil in *; lia|].
      eexists; split; [reflexivity|]; rewrite size_cons in *; cbn [total] in *.
      constructor; cbn; trivial; try lia.
      * constructor; cbn; trivial; unfold sat_sub, fits in *; try lia.
        destruct Hw as [Hw|(y & [->|Hy] & Hy')]; [left; lia|left; lia|right; exists y].
        pose proof (in_total y l Hy); split; [trivial|lia].
      * rewrite <- Hp; cbn; symmetry; apply Permutation_cons_app; reflexivity.
      * rewrite <- app_assoc; exact Ho.
  - eexists; split; [reflexivity|]; destruct Hs as [Hr Hh Hb Hw].
    unfold finish; destruct (ended b); constructor; cbn; trivial; try lia; constructor; trivial.
  - destruct Hs as [Hr Hh Hb Hw].
    destruct (held b =? size l) eqn:He; [|lia].
    eexists; split; [reflexivity|]; constructor; cbn; rewrite ?size_nil; trivial; try lia.
    + constructor; cbn; rewrite ?size_nil; auto; unfold fits in *; try lia.
    + rewrite <- Hp.
      rewrite <- (Permutation_rev l), <- app_assoc.
      rewrite (Permutation_app_swap_app l tk); apply Permutation_app_head.
      rewrite (Permutation_app_swap_app l th); apply Permutation_app_head; reflexivity.
    + apply (kept_trans _ _ (rev tk ++ l)); [|trivial].
      apply kept_app, kept_none.
Qed.

Lemma reached_holds n m : reached n m -> fits n -> holds n m.
Proof.
  induction 1 as [on_full elements all b He Ha Hb|n m e m' _ IH Hv Hs]; intros Hn.
  - unfold opened in Hb.
    destruct (U64.eqb elements 0 || U64.eqb all 0) eqn:Hz; [discriminate|].
    injection Hb as <-; constructor; cbn; rewrite ?size_nil; try lia; try constructor; cbn;
      rewrite ?size_nil; try (unfold fits; lia); u64.
  - destruct (step_holds n m e) as (m2 & Hs2 & Hh); trivial; [apply IH; unfold fits in *; lia|].
    congruence.
Qed.

(** Nothing ever stands still: every offer comes to a final answer, and every answer fits the
    content. *)
Theorem never_stuck n m e :
  reached n m -> valid e -> fits (n + 1) -> exists m', step m e = Some m'.
Proof.
  intros Hr Hv Hn; destruct (step_holds n m e) as (m' & Hs & _); eauto.
  apply reached_holds; trivial; unfold fits in *; lia.
Qed.

(** Conservation under every strategy: what was offered was taken, counted as lost, released by a
    cancel, refused because the buffer had ended, or is held. Each element is in one place, and the
    counter of losses says what was lost. *)
Theorem conservation n m :
  reached n m -> fits n ->
  Permutation (content m ++ taken m ++ thrown m ++ released m ++ refused m) (offered m)
  /\ size (offered m) = held (decided m) + size (taken m) + lost (decided m)
                        + size (released m) + size (refused m).
Proof.
  intros Hr Hn; destruct (reached_holds n m Hr Hn) as [[_ Hh _ _] Hl Hp _ _].
  split; [trivial|]; rewrite (parts_size m Hp); lia.
Qed.

(** The buffer never holds more elements than its capacity, nor more bytes than its byte capacity,
    unless a single element is larger than that and all others are empty (HZ-S06). *)
Theorem bounded n m :
  reached n m -> fits n ->
  size (content m) <= capacity (decided m)
  /\ bytes (decided m) = total (content m)
  /\ (total (content m) <= byte_capacity (decided m)
      \/ exists x, In x (content m) /\ bytes_of x = total (content m)).
Proof.
  intros Hr Hn; destruct (reached_holds n m Hr Hn) as [[_ Hh Hb Hw] _ _ _ _].
  destruct Hb as [Hb _]; split; [lia|split; [trivial|]].
  destruct Hw as [Hw|Hw]; [left; lia|right; trivial].
Qed.

(** Order is kept: what was taken, and then what is held, stands in the order of the offers. *)
Theorem order_kept n m :
  reached n m -> fits n -> kept_of (rev (taken m) ++ content m) (rev (offered m)).
Proof. intros Hr Hn; destruct (reached_holds n m Hr Hn); trivial. Qed.

(** An end never overtakes an element that was accepted: it is told when nothing is held, for good. *)
Theorem end_never_overtakes n m bytes_of_oldest b why :
  reached n m -> fits n -> take (decided m) bytes_of_oldest = (b, Ended why) ->
  content m = [] /\ ended (decided m) = Some why /\ b = decided m.
Proof.
  intros Hr Hn Ht; destruct (reached_holds n m Hr Hn) as [[_ Hh _ _] _ _ _ _].
  unfold take in Ht; destruct (U64.eqb (held (decided m)) 0) eqn:Hz; [|discriminate].
  apply eqb_spec in Hz; destruct (ended (decided m)); [|discriminate]; injection Ht as <- <-.
  destruct (content m); [auto|rewrite size_cons in *; lia].
Qed.

(** A consumer waits only while the buffer is open and empty. *)
Theorem waits_only_for_an_offer n m bytes_of_oldest b :
  reached n m -> fits n -> take (decided m) bytes_of_oldest = (b, Empty) ->
  content m = [] /\ ended (decided m) = None.
Proof.
  intros Hr Hn Ht; destruct (reached_holds n m Hr Hn) as [[_ Hh _ _] _ _ _ _].
  unfold take in Ht; destruct (U64.eqb (held (decided m)) 0) eqn:Hz; [|discriminate].
  apply eqb_spec in Hz; destruct (ended (decided m)); [discriminate|].
  destruct (content m); [auto|rewrite size_cons in *; lia].
Qed.

(** The first end stays, and after it nothing is taken in: an offer is answered at once, closed if
    the buffer was completed or cancelled, failure if it failed; it never waits (L13). *)
Theorem first_end_stays m e m' why :
  ended (decided m) = Some why -> step m e = Some m' ->
  ended (decided m') = Some why /\ kept_of (content m') (content m)
  /\ (forall x waiting, e = Offer x waiting ->
        snd (offer (decided m) (bytes_of x) waiting)
        = match why with Completed | Cancelled => QueueClosed | _ => Failure end
        /\ refused m' = x :: refused m).
Proof.
  intros He Hs; destruct m as [b l tk th rl rf off]; cbn in *.
  destruct e as [x waiting| |w|]; cbn in Hs.
  - unfold offer in *; rewrite He in *.
    destruct why; injection Hs as <-; cbn; (split; [trivial|split; [apply kept_same|]]);
      intros y wt Hy; injection Hy as <- <-; rewrite ?He; auto.
  - unfold take in Hs; rewrite He in Hs; destruct (U64.eqb (held b) 0), l; try discriminate;
      injection Hs as <-; cbn; (split; [trivial|split; [|discriminate]]);
      [apply kept_same|apply kept_skip, kept_same].
  - injection Hs as <-; unfold finish; rewrite He; cbn.
    split; [trivial|split; [apply kept_same|discriminate]].
  - destruct (held b =? size l); [|discriminate]; injection Hs as <-; cbn; rewrite He.
    split; [trivial|split; [apply kept_none|discriminate]].
Qed.

(** Backpressure and fail lose nothing: what they did not refuse was taken, is held, or was let go
    by a cancel. *)
Theorem some_lose_nothing n m :
  reached n m -> fits n -> plan (decided m) = Backpressure \/ plan (decided m) = Fail ->
  thrown m = [] /\ lost (decided m) = 0.
Proof.
  intros Hr Hn Hp.
  assert (H : thrown m = []).
  { revert Hn Hp; induction Hr as [on_full elements all b He Ha Hb|n m e m' Hr IH Hv Hs];
      intros Hn Hp; [reflexivity|].
    assert (Hn' : fits n) by (unfold fits in *; lia).
    destruct (reached_holds n m Hr Hn') as [Hsd Hl Hparts Hc _].
    pose proof (parts_size m Hparts) as Hsz.
    destruct m as [b l tk th rl rf off]; cbn in *.
    destruct e as [x waiting| |w|]; cbn [step decided content thrown taken released refused offered]
      in Hs.
    - destruct (settle_settled (S (length l)) b l th x waiting)
        as (b' & l' & th' & answer & He & Ht); trivial; [lia|unfold fits in *; lia|].
      rewrite He in Hs; destruct Ht as [T1 T2 T3 T4 T5 T6 T7 T8].
      assert (Hpb : plan (decided m') = plan b)
        by (destruct answer; try discriminate; injection Hs as <-; cbn; tauto).
      rewrite Hpb in Hp; destruct T8 as [-> ->]; [tauto|]; specialize (IH Hn' Hp); cbn in IH.
      destruct answer; try discriminate; injection Hs as <-; cbn in *; trivial.
      exfalso.
      cbn [settle] in He; unfold offer in He; destruct (ended b) as [[]|]; try discriminate.
      destruct Hp as [Hp|Hp]; rewrite Hp in He; cbn in He;
        destruct (has_room b (bytes_of x)), waiting; discriminate.
    - unfold take in Hs; destruct (U64.eqb (held b) 0), (ended b), l; try discriminate;
        injection Hs as <-; cbn in *; auto.
    - injection Hs as <-; unfold finish in *; destruct (ended b); cbn in *; auto.
    - destruct (cancel b) as [b2 k] eqn:Hcb; destruct (k =? size l); [|discriminate].
      injection Hs as <-; unfold cancel in Hcb; injection Hcb as <- <-; cbn in *; auto. }
  destruct (reached_holds n m Hr Hn) as [_ Hl _ _ _]; rewrite H in Hl; auto.
Qed.

(** Only backpressure makes an offer wait, and only for room or for those who stand before; the
    others answer at once. *)
Theorem only_backpressure_waits b n waiting :
  snd (offer b n waiting) = Wait ->
  plan b = Backpressure /\ ended b = None /\ (has_room b n = false \/ waiting = true).
Proof.
  unfold offer; destruct (ended b) as [[]|]; try discriminate.
  destruct (plan b); cbn; destruct (has_room b n), waiting; cbn; intros H; try discriminate; auto.
Qed.
