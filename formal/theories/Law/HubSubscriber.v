(** Laws of one subscriber of a hub, under every policy: a list of elements round the decisions of
    [Decide.Hub] and [Decide.Overflow]. *)

From Coq Require Import NArith Bool List Permutation Lia ZifyBool ZifyN.
From Sluicegate Require Import Base.U64 Base.Lists Base.Tactics.
From Sluicegate Require Decide.Overflow.
From Sluicegate Require Import Decide.Hub.
From Sluicegate Require Law.Overflow.
Import ListNotations.

Open Scope N_scope.
Set Default Timeout 30.

Notation element := (N * N)%type.
Notation bytes_of := Law.Overflow.bytes_of.
Notation total := Law.Overflow.total.

(** [box] has the oldest first, the logs the newest. [thrown] is what was lost to this subscriber,
    [released] what it let go when it left, [shared] every element that was shared with it while its
    subscription ran and did not end it. *)
Record party := Party {
  decided : subscriber;
  box : list element;
  got : list element;
  thrown : list element;
  released : list element;
  shared : list element;
  wanted : N; (* all it has asked for *)
}.

(** Shares until the answer is final, as a shell does. *)
Fixpoint settle (fuel : nat) (s : subscriber) (l gone : list element) (x : element)
  : option (subscriber * list element * list element * share) :=
  match fuel with
  | O => None
  | S fuel =>
    let '(s', answer) := share_with s (bytes_of x) in
    match answer with
    | MakeRoom what =>
      match Law.Overflow.make_room what l with
      | None => None
      | Some (l', out) => settle fuel (threw_out s' (size out) (total out)) l' (out ++ gone) x
      end
    | _ => Some (s', l, gone, answer)
    end
  end.

(** One element shared with the subscriber. [None] if it must be waited for. *)
Definition hand (p : party) (x : element) : option party :=
  match settle (S (length (box p))) (decided p) (box p) (thrown p) x with
  | Some (s, l, gone, HandOn) => Some (Party s l (x :: got p) gone (released p) (x :: shared p) (wanted p))
  | Some (s, l, gone, Keep) => Some (Party s (l ++ [x]) (got p) gone (released p) (x :: shared p) (wanted p))
  | Some (s, l, gone, Lose) => Some (Party s l (got p) (x :: gone) (released p) (x :: shared p) (wanted p))
  | Some (s, l, gone, Expelled) | Some (s, l, gone, Gone) =>
    Some (Party s l (got p) gone (released p) (shared p) (wanted p))
  | _ => None
  end.

Inductive event :=
| Request (n : N)
| Receive
| Finish (why : Overflow.buffer_end)
| Leave.

Definition step (p : party) (e : event) : option party :=
  match e with
  | Request n =>
    Some (Party (request (decided p) n) (box p) (got p) (thrown p) (released p) (shared p)
            (wanted p + n))
  | Receive =>
    let oldest := match box p with [] => 0 | x :: _ => bytes_of x end in
    let '(s, answer) := receive (decided p) oldest in
    match answer, box p with
    | Received, x :: rest => 
      Some (Party s rest (x :: got p) (thrown p) (released p) (shared p) (wanted p))
    | Received, [] => None
    | _, _ => Some (Party s (box p) (got p) (thrown p) (released p) (shared p) (wanted p))
    end
  | Finish why =>
    Some (Party (fst (finish (decided p) why)) (box p) (got p) (thrown p) (released p) (shared p)
            (wanted p))
  | Leave =>
    let '(s, n) := leave (decided p) in
    if n =? size (box p) then
      Some (Party s [] (got p) (thrown p) (rev (box p) ++ released p) (shared p) (wanted p))
    else None
  end.

Arguments U64.sat_add : simpl never.
Arguments U64.sat_sub : simpl never.

Notation plan p := (Overflow.plan (buffer (decided p))).
Notation lost p := (Overflow.lost (buffer (decided p))).

(** What holds at every moment, after at most [n] elements. *)
Record holds (n : N) (p : party) : Prop := Holds {
  h_sound : Law.Overflow.sound (buffer (decided p)) (box p);
  h_lost : lost p = size (thrown p);
  h_parts : Permutation (box p ++ got p ++ thrown p ++ released p) (shared p);
  h_count : size (shared p) <= n;
  h_order : kept_of (rev (got p) ++ box p) (rev (shared p));
  h_demand : size (got p) + owed (decided p) <= wanted p;
  h_exact : fits (wanted p) -> is_live (decided p) = true ->
            size (got p) + owed (decided p) = wanted p;
  h_wait : plan p = Overflow.Backpressure \/ plan p = Overflow.Fail -> thrown p = [];
}.

(** What one element, shared to its end, does. *)
Record settled (x : element) (s : subscriber) (l gone : list element)
  (s' : subscriber) (l' gone' : list element) (answer : share) : Prop := Settled {
  t_sound : Law.Overflow.sound (buffer s') (match answer with Keep => l' ++ [x] | _ => l' end);
  t_plan : Overflow.plan (buffer s') = Overflow.plan (buffer s);
  t_kept : kept_of l' l;
  t_parts : Permutation (l' ++ gone') (l ++ gone);
  t_lost : Overflow.lost (buffer s') + size gone
           = Overflow.lost (buffer s) + size gone' + match answer with Lose => 1 | _ => 0 end;
  t_owed : match answer with
           | HandOn => l' = [] /\ 1 <= owed s /\ owed s' = owed s - 1 /\ is_live s = true
           | Keep | Lose => owed s' = owed s /\ is_live s = true
           | HeldUp => s' = s /\ Overflow.plan (buffer s) = Overflow.Backpressure
                       /\ is_live s = true /\ Overflow.has_room (buffer s) (bytes_of x) = false
           | Expelled => is_live s = true /\ is_live s' = false
                         /\ Overflow.plan (buffer s) = Overflow.Fail /\ owed s' = owed s
           | Gone => is_live s = false /\ s' = s
           | MakeRoom _ => False
           end;
  t_same : is_live s = false \/ Overflow.plan (buffer s) = Overflow.Backpressure
           \/ Overflow.plan (buffer s) = Overflow.Fail ->
           l' = l /\ gone' = gone /\ answer <> Lose;
}.

Lemma settle_settled fuel : forall s l gone x,
  (length l < fuel)%nat -> Law.Overflow.sound (buffer s) l -> fits (bytes_of x) ->
  fits (Overflow.lost (buffer s) + size l + 1) ->
  exists s' l' gone' answer,
    settle fuel s l gone x = Some (s', l', gone', answer)
    /\ settled x s l gone s' l' gone' answer.
Proof.
  induction fuel as [|fuel IH]; intros s l gone x Hfuel Hs Hx Hlost; [lia|].
  cbn [settle]; unfold share_with.
  destruct (is_live s && negb (U64.eqb (owed s) 0) && U64.eqb (Overflow.held (buffer s)) 0)
    eqn:Hnow.
  { apply andb_prop in Hnow as [Hnow Hz]; apply andb_prop in Hnow as [Hlive Ho].
    assert (Hl : l = []).
    { destruct l; [trivial|]; destruct Hs as [_ Hh _ _]; rewrite size_cons in Hh; u64. }
    do 4 eexists; split; [reflexivity|].
    subst l; constructor; cbn; trivial; try lia; [apply kept_nil| |].
    - repeat split; trivial; u64.
    - intros _; repeat split; trivial; discriminate. }
  destruct (Overflow.offer (buffer s) (bytes_of x) false) as [b1 a1] eqn:Hoff.
  destruct (Law.Overflow.settle_settled (S (length l)) (buffer s) l gone x false)
    as (b' & l' & gone' & ans & He & Ht); trivial; [lia|].
  cbn [Law.Overflow.settle] in He; rewrite Hoff in He.
  assert (Hlive : is_live s = match Overflow.ended (buffer s) with None => true | Some _ => false end)
    by reflexivity.
  destruct a1.
  1, 2, 3, 4, 5: injection He as <- <- <- <-; destruct Ht as [T1 T2 T3 T4 T5 T6 T7 T8].
  - do 4 eexists; split; [reflexivity|]; destruct T6 as [T6 _]; rewrite T6 in Hlive.
    constructor; cbn; trivial; try tauto; intros _; repeat split; discriminate.
  - do 4 eexists; split; [reflexivity|]; destruct T6 as [T6 _]; rewrite T6 in Hlive.
    constructor; cbn; trivial; try tauto.
    unfold Overflow.offer in Hoff; rewrite T6 in Hoff.
    intros [Hd|[Hp|Hp]]; [congruence| |]; rewrite Hp in Hoff; exfalso;
      destruct (Overflow.has_room (buffer s) (bytes_of x)); discriminate.
  - do 4 eexists; split; [reflexivity|]; destruct T6 as [T6 _].
    assert (is_live s = false) by (rewrite Hlive; destruct T6 as [->| ->]; reflexivity).
    constructor; cbn; auto; try lia; intros _; repeat split; discriminate.
  - destruct (is_live s) eqn:Hl; rewrite ?Hl.
    + do 4 eexists; split; [reflexivity|]; destruct T6 as [T6 T6'].
      destruct (Overflow.ended (buffer s)) eqn:Hend; [discriminate|].
      destruct T6 as [T6|[T6|(_ & T6 & _)]]; try discriminate.
      constructor; cbn; trivial; try tauto.
      * unfold is_live; cbn; rewrite T6'; auto.
      * intros _; repeat split; discriminate.
    + do 4 eexists; split; [reflexivity|].
      constructor; cbn; auto; try lia; intros _; repeat split; discriminate.
  - do 4 eexists; split; [reflexivity|]; destruct T6 as [T6 _]; rewrite T6 in Hlive.
    assert (Hw : snd (Overflow.offer (buffer s) (bytes_of x) false) = Overflow.Wait)
      by (rewrite Hoff; reflexivity).
    apply Law.Overflow.only_backpressure_waits in Hw; destruct Hw as (W1 & W2 & [W3|W3]); [|discriminate].
    constructor; cbn; auto; try lia; intros _; repeat split; discriminate.
  - (* room is made, and the element shared again *)
    clear He Ht b' l' gone' ans.
    destruct (Overflow.ended (buffer s)) eqn:Hend;
      [unfold Overflow.offer in Hoff; rewrite Hend in Hoff; destruct b; discriminate|].
    assert (Hplan : Overflow.plan (buffer s) <> Overflow.Backpressure
                    /\ Overflow.plan (buffer s) <> Overflow.Fail
                    /\ Overflow.has_room (buffer s) (bytes_of x) = false).
    { unfold Overflow.offer in Hoff; rewrite Hend in Hoff.
      destruct (Overflow.plan (buffer s)), (Overflow.has_room (buffer s) (bytes_of x));
        try discriminate; repeat split; discriminate. }
    destruct Hplan as (P1 & P2 & P3).
    destruct (Law.Overflow.make_room what l) as [[l1 out]|] eqn:Hm.
    + pose proof (Law.Overflow.make_room_parts _ _ _ _ Hm) as (Hperm & Hkept & Hless & Hsz & Htot).
      destruct (Law.Overflow.discarded_sound what (buffer s) l l1 out Hs Hm) as [Hs1 Hl1];
        [unfold fits in *; lia|].
      destruct (IH (threw_out s (size out) (total out)) l1 (out ++ gone) x)
        as (s' & l' & gone' & answer & He & Ht); trivial;
        [lia|unfold threw_out; cbn [buffer]; rewrite Hl1; unfold fits in *; lia|].
      exists s', l', gone', answer; split; [trivial|].
      assert (Hlv : is_live (threw_out s (size out) (total out)) = true)
        by (unfold is_live, threw_out; cbn; rewrite Hend; reflexivity).
      destruct Ht as [T1 T2 T3 T4 T5 T6 T7]; rewrite Hlv in T6.
      constructor; trivial.
      * apply (kept_trans _ _ _ _ T3 Hkept).
      * rewrite T4, app_assoc; apply Permutation_app_tail; trivial.
      * rewrite size_app in T5; unfold threw_out in T5; cbn [buffer] in T5; rewrite Hl1 in T5; lia.
      * unfold threw_out in T6; cbn [owed buffer Overflow.plan Overflow.discarded] in T6.
        destruct answer; intuition congruence.
      * rewrite Hlive; intros [T9|[T9|T9]]; congruence.
    + exfalso; destruct l as [|y l].
      * rewrite (Law.Overflow.room_of_an_empty (buffer s) (bytes_of x) Hs) in P3; discriminate.
      * unfold Law.Overflow.make_room in Hm.
        assert (Hr : rev (y :: l) <> [])
          by (intros Hr; apply (f_equal (@length _)) in Hr; rewrite rev_length in Hr; discriminate).
        destruct what, (rev (y :: l)); try discriminate; now destruct Hr.
Qed.

Lemma parts_size p :
  Permutation (box p ++ got p ++ thrown p ++ released p) (shared p) ->
  size (shared p) = size (box p) + size (got p) + size (thrown p) + size (released p).
Proof.
  intros Hp; apply Permutation_length in Hp; unfold size; rewrite <- Hp, !app_length; lia.
Qed.

(** An element is refused by a subscriber only if it holds up the hub; then nothing has changed. *)
Lemma hand_total n p x :
  holds n p -> fits (n + 1) -> fits (bytes_of x) ->
  (exists p', hand p x = Some p') \/ holds_up (decided p) (bytes_of x) = true.
Proof.
  intros [Hs Hl Hp Hc Ho Hd Hx0 Hw] Hn Hx; pose proof (parts_size p Hp) as Hsz.
  destruct (settle_settled (S (length (box p))) (decided p) (box p) (thrown p) x)
    as (s' & l' & gone' & answer & He & [T1 T2 T3 T4 T5 T6 T7]); trivial;
    [lia|unfold fits in *; lia|].
  unfold hand; rewrite He; destruct answer; eauto; try contradiction.
  right; destruct T6 as (-> & Hb & Hlive & Hroom).
  unfold holds_up, share_with.
  destruct (is_live (decided p) && negb (U64.eqb (owed (decided p)) 0)
            && U64.eqb (Overflow.held (buffer (decided p))) 0) eqn:Hnow.
  - cbn [settle] in He; unfold share_with in He; rewrite Hnow in He; discriminate.
  - unfold Overflow.offer; unfold is_live in Hlive.
    destruct (Overflow.ended (buffer (decided p))); [discriminate|].
    rewrite Hb, Hroom; reflexivity.
Qed.

Lemma hand_holds n p x p' :
  holds n p -> fits (n + 1) -> fits (bytes_of x) -> hand p x = Some p' ->
  holds (n + 1) p' /\ plan p' = plan p
  /\ (is_live (decided p) = false -> p' = p)
  /\ (is_live (decided p') = true -> shared p' = x :: shared p).
Proof.
  intros [Hs Hl Hp Hc Ho Hd Hx0 Hw] Hn Hx H; pose proof (parts_size p Hp) as Hsz.
  destruct (settle_settled (S (length (box p))) (decided p) (box p) (thrown p) x)
    as (s' & l' & gone' & answer & He & [T1 T2 T3 T4 T5 T6 T7]); trivial;
    [lia|unfold fits in *; lia|].
  unfold hand in H; rewrite He in H; destruct p as [s bx gt th rl sh wt]; cbn in *.
  assert (Hk : kept_of (rev gt ++ l') (rev sh))
    by (apply (kept_trans _ _ (rev gt ++ bx)); [apply kept_app|]; trivial).
  assert (Hall : Permutation (l' ++ gt ++ gone' ++ rl) sh).
  { rewrite <- Hp, !(Permutation_app_swap_app _ gt), !app_assoc.
    apply Permutation_app_tail; rewrite <- !app_assoc; apply Permutation_app_head; trivial. }
  assert (Hthrown : (plan (Party s' l' gt gone' rl sh wt) = Overflow.Backpressure
      \/ plan (Party s' l' gt gone' rl sh wt) = Overflow.Fail) -> gone' = [] /\ answer <> Lose).
  { cbn; rewrite T2; intros Hpl; destruct T7 as (_ & -> & T7); tauto. }
  cbn in Hthrown.
  destruct answer; try discriminate; injection H as <-; cbn.
  - destruct T6 as (-> & T6 & T6' & T6''); assert (Hx1 := fun F => Hx0 F T6''); split;
      [constructor; cbn; rewrite ?size_cons; trivial; try lia; try tauto
      |repeat split; trivial; congruence].
    + symmetry; apply (Permutation_cons_app []); symmetry; exact Hall.
    + rewrite app_nil_r in *; apply kept_snoc; trivial.
  - destruct T6 as (T6 & T6'); assert (Hx1 := fun F => Hx0 F T6'); rewrite <- T6 in Hx1.
    split; [constructor; cbn; rewrite ?size_cons; trivial; try lia; try tauto
           |repeat split; trivial; congruence].
    + rewrite <- app_assoc; cbn; symmetry; apply Permutation_cons_app; symmetry; trivial.
    + rewrite app_assoc; apply kept_snoc; trivial.
  - destruct T6 as (T6 & T6'); assert (Hx1 := fun F => Hx0 F T6'); rewrite <- T6 in Hx1.
    split; [constructor; cbn; rewrite ?size_cons; trivial; try lia;
              try (intros Hpl; now destruct (Hthrown Hpl))
           |repeat split; trivial; congruence].
    + symmetry; rewrite app_assoc; apply Permutation_cons_app; rewrite <- app_assoc; symmetry; trivial.
    + apply kept_skip_last; trivial.
  - destruct T6 as (T6 & T6' & T6'' & T6o).
    split; [constructor; cbn; trivial; try lia; try tauto; congruence|repeat split; trivial; congruence].
  - destruct T6 as (T6 & ->); destruct T7 as (-> & -> & _); [auto|].
    split; [constructor; cbn; trivial; lia|repeat split; trivial; congruence].
Qed.

Lemma step_holds n p e :
  holds n p -> fits n ->
  exists p', step p e = Some p' /\ holds n p' /\ plan p' = plan p.
Proof.
  intros [Hs Hl Hp Hc Ho Hd Hx0 Hw] Hn; destruct p as [s bx gt th rl sh wt]; cbn in *.
  destruct e as [k| |why|]; cbn.
  - eexists; split; [reflexivity|]; split; [constructor; cbn; trivial|trivial].
    + u64.
    + intros Hf Hlv; rewrite sat_add_exact by (unfold fits in *; lia).
      specialize (Hx0 ltac:(unfold fits in *; lia) Hlv); lia.
  - assert (Hs' := Hs); destruct Hs' as [Hr Hh Hb Hwd].
    unfold receive, Overflow.holds_back; rewrite negb_involutive.
    destruct (U64.eqb (owed s) 0 && negb (U64.eqb (Overflow.held (buffer s)) 0)) eqn:Hz.
    { eexists; split; [reflexivity|]; split; [constructor; cbn; trivial|trivial]. }
    unfold Overflow.take; destruct (U64.eqb (Overflow.held (buffer s)) 0) eqn:Hz0.
    + destruct (Overflow.ended (buffer s)); eexists; (split; [reflexivity|]);
        (split; [constructor; cbn; trivial|trivial]).
    + destruct bx as [|x bx]; [rewrite size_nil in Hh; u64|].
      eexists; split; [reflexivity|]; rewrite size_cons in *; cbn [Law.Overflow.total] in *.
      assert (Hone : sat_sub (owed s) 1 + 1 = owed s) by u64.
      split; [|trivial]; constructor; cbn; rewrite ?size_cons; trivial; try lia.
      * constructor; cbn; trivial; unfold sat_sub, fits in *; try lia.
        destruct Hwd as [Hwd|(y & [->|Hy] & Hy')]; [left; lia|left; lia|right; exists y].
        pose proof (Law.Overflow.in_total y bx Hy); split; [trivial|lia].
      * rewrite <- Hp; cbn; symmetry; apply Permutation_cons_app; reflexivity.
      * rewrite <- app_assoc; exact Ho.
  - eexists; split; [reflexivity|]; destruct Hs as [Hr Hh Hb Hwd].
    unfold finish, Overflow.finish; destruct (Overflow.ended (buffer s)); cbn;
      (split; [constructor; cbn; trivial; try discriminate; constructor; trivial|trivial]).
  - assert (Hs' := Hs); destruct Hs' as [Hr Hh Hb Hwd].
    unfold leave, Overflow.cancel; cbn.
    destruct (Overflow.held (buffer s) =? size bx) eqn:He; [|lia].
    eexists; split; [reflexivity|]; split; [|trivial]; constructor; cbn; trivial;
      try lia; try (unfold is_live; cbn; destruct (Overflow.ended (buffer s)); discriminate).
    + constructor; cbn; rewrite ?size_nil; auto; unfold fits in *; lia.
    + rewrite <- Hp, <- (Permutation_rev bx).
      rewrite (Permutation_app_swap_app bx gt); apply Permutation_app_head.
      rewrite (Permutation_app_swap_app bx th); apply Permutation_app_head; reflexivity.
    + apply (kept_trans _ _ (rev gt ++ bx)); [|trivial]; apply kept_app, kept_none.
Qed.

(** A policy is carried out by the overflow strategy of the subscriber's buffer: to be waited for is
    backpressure, to be expelled is fail, and to drop is to drop as declared. *)
Theorem policy_is_carried_out p elements all s :
  subscribed p elements all = Some s ->
  Overflow.plan (buffer s) =
    match p with
    | HoldUp => Overflow.Backpressure
    | DropElements how => how
    | Disconnect => Overflow.Fail
    end
  /\ Overflow.capacity (buffer s) = elements /\ owed s = 0 /\ is_live s = true.
Proof.
  unfold subscribed, Overflow.opened.
  destruct (U64.eqb elements 0 || U64.eqb all 0); [discriminate|].
  intros H; injection H as <-; cbn; destruct p; repeat split.
Qed.

(** A fresh subscriber. *)
Lemma subscribed_holds p elements all s :
  fits elements -> fits all -> subscribed p elements all = Some s ->
  forall n, holds n (Party s [] [] [] [] [] 0).
Proof.
  intros He Ha Hs n; unfold subscribed in Hs.
  destruct (Overflow.opened (plan_of p) elements all) as [b|] eqn:Hb; [|discriminate].
  injection Hs as <-.
  destruct (Law.Overflow.reached_holds 0 _ (Law.Overflow.reached_fresh _ _ _ _ He Ha Hb))
    as [H1 H2 _ _ _]; [unfold fits; lia|].
  constructor; cbn in *; rewrite ?size_nil; trivial; try lia; try constructor.
Qed.

(** Who leaves is owed nothing, holds nothing, and takes no further part; all that its box held is
    let go, and is no loss. *)
Theorem who_leaves_is_done n p p' :
  holds n p -> step p Leave = Some p' ->
  owed (decided p') = 0 /\ is_live (decided p') = false /\ box p' = []
  /\ lost p' = lost p
  /\ forall x, share_with (decided p') x = (decided p', Gone).
Proof.
  intros Hp H; destruct p as [s bx gt th rl sh wt]; cbn in *.
  destruct (Overflow.held (buffer s) =? size bx); [|discriminate]; injection H as <-.
  unfold is_live, share_with, Overflow.offer; cbn.
  destruct (Overflow.ended (buffer s)) as [[]|]; repeat split.
Qed.

(** A subscription ends once, and stays as it ended; its end takes nothing from it, neither what its
    buffer holds nor what it has asked for. *)
Theorem ends_once s why :
  is_live (fst (finish s why)) = false /\ snd (finish s why) = is_live s
  /\ owed (fst (finish s why)) = owed s
  /\ Overflow.held (buffer (fst (finish s why))) = Overflow.held (buffer s)
  /\ (is_live s = true -> Overflow.ended (buffer (fst (finish s why))) = Some why)
  /\ (is_live s = false -> fst (finish s why) = s).
Proof.
  destruct s as [o b]; unfold finish, is_live, Overflow.finish; cbn.
  destruct (Overflow.ended b) eqn:He; cbn; rewrite ?He; repeat split; trivial; discriminate.
Qed.
