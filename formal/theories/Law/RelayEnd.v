(** The end of a request on its way through relays. A relay forgets a route once its terminal has
    passed, and a grant may cross it in flight: it is counted as a straggler there, and nothing else
    happens (L6, L8, L13). *)

From Coq Require Import NArith List Bool Lia ZifyBool ZifyN.
From Sluicegate Require Base.U64 Decide.Gate Decide.Disposition.
From Sluicegate Require Import Law.Chain Law.ChainHop.
Import ListNotations.

Open Scope N_scope.
Set Default Timeout 30.

Local Arguments N.add : simpl never.

(** A relay on the grants' way: grants wait in front of it; its request may have ended here. *)
Record station := Station {
  waiting : list N; (* grants on the leg towards it, oldest first *)
  ended : bool; (* the terminal has passed it *)
  late : N; (* credit in the grants that it counted as stragglers *)
  unknown : N; (* credit in the grants that it had no route for *)
}.

(** The way of one stream's grants: from the consumer through the relays, the one next to the
    consumer first, to the sender's gate. *)
Record way := Way {
  stations : list station;
  last : list N; (* on the leg towards the sender *)
  gate : Gate.gate;
  made : N; (* credit that the consumer granted *)
  came : N; (* credit that came to the gate *)
}.

(** A grant is handed to the first relay, or to the last leg where there is none. *)
Definition hand_on (n : N) (s : list station) (l : list N) : list station * list N :=
  match s with
  | [] => ([], l ++ [n])
  | a :: t => (Station (waiting a ++ [n]) (ended a) (late a) (unknown a) :: t, l)
  end.

(** The relay at this place takes the oldest grant that waits for it. *)
Fixpoint takes (i : nat) (s : list station) (l : list N) : option (list station * list N) :=
  match i, s with
  | O, a :: t =>
      match waiting a with
      | [] => None
      | n :: rest =>
          Some match Disposition.dispose (negb (ended a)) (ended a) with
               | Disposition.Route =>
                   let '(t, l) := hand_on n t l in (Station rest (ended a) (late a) (unknown a) :: t, l)
               | Disposition.Straggler => (Station rest (ended a) (late a + n) (unknown a) :: t, l)
               | Disposition.NoRoute => (Station rest (ended a) (late a) (unknown a + n) :: t, l)
               end
      end
  | S i, a :: t =>
      match takes i t l with
      | Some (t, l) => Some (a :: t, l)
      | None => None
      end
  | _, [] => None
  end.

Fixpoint ends_at (i : nat) (s : list station) : list station :=
  match i, s with
  | O, a :: t => Station (waiting a) true (late a) (unknown a) :: t
  | S i, a :: t => a :: ends_at i t
  | _, [] => []
  end.

Inductive action :=
| Grant (n : N) (* the consumer grants *)
| Takes (i : nat) (* a relay takes a grant off its link *)
| Arrives (* a grant comes to the sender *)
| EndsAt (i : nat) (* the terminal passes a relay *)
| EndsAtSender (* it was the sender's own, or it has come to it *).

Definition acts (w : way) (a : action) : option way :=
  match w with Way s l g m c =>
  match a with
  | Grant n => let '(s, l) := hand_on n s l in Some (Way s l g (m + n) c)
  | Takes i =>
      match takes i s l with
      | Some (s, l) => Some (Way s l g m c)
      | None => None
      end
  | Arrives =>
      match l with
      | [] => None
      | n :: l => Some (Way s l (Gate.grant g n) m (c + n))
      end
  | EndsAt i => Some (Way (ends_at i s) l g m c)
  | EndsAtSender => Some (Way s l (fst (Gate.close g)) m c)
  end end.

Inductive reached (relays : nat) (S : N) : way -> Prop :=
| reached_start : reached relays S (Way (repeat (Station [] false 0 0) relays) [] (Gate.opened S) 0 0)
| reached_act w a w' : reached relays S w -> acts w a = Some w' -> reached relays S w'.

(** Credit in front of the relays, and what they counted. *)
Definition on_legs (s : list station) : N := sum (map (fun a => sum (waiting a)) s).
Definition stragglers (s : list station) : N := sum (map late s).
Definition lost (s : list station) : N := sum (map unknown s).

(** All credit that a path of relays knows of. *)
Definition known (s : list station) (l : list N) : N := on_legs s + stragglers s + sum l.

Arguments known : simpl never.
Arguments lost : simpl never.

Lemma hand_on_known n s l s' l' :
  hand_on n s l = (s', l') ->
  known s' l' = known s l + n /\ lost s' = lost s /\ stragglers s' = stragglers s /\ map ended s' = map ended s.
Proof.
  unfold known, on_legs, stragglers, lost; destruct s as [|a t]; cbn; intros E; injection E as <- <-;
    cbn; rewrite ?sum_app; cbn; repeat split; lia.
Qed.

Lemma takes_known i : forall s l s' l',
  takes i s l = Some (s', l') ->
  known s' l' = known s l /\ lost s' = lost s /\ map ended s' = map ended s /\
  (forallb (fun a => negb (ended a)) s = true -> stragglers s' = stragglers s).
Proof.
  induction i as [|i IH]; intros [|a t] l s' l' E; try discriminate; cbn in E.
  - destruct (waiting a) as [|n rest] eqn:W; [discriminate|].
    destruct (ended a) eqn:Z; cbn in E.
    + injection E as <- <-; unfold known, on_legs, stragglers, lost; cbn; rewrite W, Z; cbn.
      repeat split; try lia; discriminate.
    + destruct (hand_on n t l) as [t' m] eqn:H; injection E as <- <-.
      destruct (hand_on_known _ _ _ _ _ H) as (A & B & C & D).
      unfold known, on_legs, stragglers, lost in *; cbn; rewrite W, Z, D; cbn; repeat split; try lia.
  - destruct (takes i t l) as [[t' m]|] eqn:T; [|discriminate]; injection E as <- <-.
    destruct (IH _ _ _ _ T) as (A & B & C & D).
    unfold known, on_legs, stragglers, lost in *; cbn; rewrite C; repeat split; try lia.
Qed.

Lemma ends_at_known i : forall s l,
  known (ends_at i s) l = known s l /\ lost (ends_at i s) = lost s /\ stragglers (ends_at i s) = stragglers s.
Proof.
  induction i as [|i IH]; intros [|a t] l; try (repeat split; reflexivity).
  destruct (IH t l) as (A & B & C); unfold known, on_legs, stragglers, lost in *; cbn; repeat split; lia.
Qed.

Lemma way_always relays S w :
  reached relays S w ->
  made w = came w + known (stations w) (last w) /\ lost (stations w) = 0.
Proof.
  intros R; induction R as [|w a w' R [A B] E].
  - cbn; unfold known, on_legs, stragglers, lost; induction relays as [|n [IH1 IH2]]; cbn in *; split; lia.
  - destruct w as [s l g m c], a as [n|i| |i| ]; cbn in *.
    + destruct (hand_on n s l) as [s' l'] eqn:H; injection E as <-; cbn.
      destruct (hand_on_known _ _ _ _ _ H) as (C & D & _); rewrite C, D; split; lia.
    + destruct (takes i s l) as [[s' l']|] eqn:T; [|discriminate]; injection E as <-; cbn.
      destruct (takes_known _ _ _ _ _ T) as (C & D & _); rewrite C, D; split; lia.
    + destruct l as [|n l]; [discriminate|]; injection E as <-; cbn; unfold known in *; cbn in A; split; lia.
    + injection E as <-; cbn; destruct (ends_at_known i s l) as (C & D & _); rewrite C, D; split; lia.
    + injection E as <-; cbn; split; assumption.
Qed.

(** Credit that crosses an end does not vanish: all that a consumer granted came to the sender, is on
    its way, or was counted as a straggler, and none of it is ever counted as a drop (L6, L8, L11). *)
Theorem no_credit_vanishes relays S w :
  reached relays S w ->
  made w = came w + on_legs (stations w) + sum (last w) + stragglers (stations w) /\ lost (stations w) = 0.
Proof. intros R; destruct (way_always relays S w R) as [A B]; unfold known in A; split; lia. Qed.

(** While the terminal has passed no relay, none of it is counted at all: relays keep nothing (L11). *)
Theorem relays_keep_nothing_while_it_lives s l i s' l' :
  forallb (fun a => negb (ended a)) s = true -> takes i s l = Some (s', l') ->
  on_legs s' + sum l' = on_legs s + sum l.
Proof.
  intros F T; destruct (takes_known _ _ _ _ _ T) as (A & _ & _ & D).
  specialize (D F); unfold known in A; lia.
Qed.

(** A grant that comes to the sender after the end opens nothing again (L13). *)
Theorem a_late_grant_opens_nothing relays S w n rest :
  reached relays S w -> Gate.closed (gate w) = true -> last w = n :: rest ->
  exists w', acts w Arrives = Some w' /\ gate w' = gate w.
Proof.
  intros R C L; destruct w as [s l g m c]; cbn in *; subst l; eexists; split; [reflexivity|]; cbn.
  unfold Gate.grant; rewrite C; reflexivity.
Qed.
