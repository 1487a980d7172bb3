(** Stages in a line, of any shapes and any number: requests travel up and elements travel down, and
    both may be under way for as long as they like. No such line locks up, and it cannot go on for
    ever without an element coming out at its end or being dropped on purpose. *)

From Coq Require Import NArith Bool List Lia ZifyBool ZifyN.
From Sluicegate Require Import Base.U64 Base.Lists Base.Tactics.
From Sluicegate Require Import Decide.Demand Law.Stages Law.StageProgress.
Import ListNotations.

Open Scope N_scope.
Set Default Timeout 30.

Arguments U64.sat_add : simpl never.
Arguments U64.sat_sub : simpl never.

(** A stage and the link above it: requests on their way up, elements on their way down. A line has
    the stage next to the sink first; above the last one is the source, which owes a number. *)
Record hop := Hop {
  stage_of : stage;
  rising : N;
  falling : N;
}.

Definition owes (src : N) (l : list hop) : N :=
  match l with [] => src | h :: _ => owed (stage_of h) end.

(** [k] more are asked of the line's end. *)
Definition ask_line (src : N) (l : list hop) (k : N) : N * list hop :=
  match l with
  | [] => (src + k, [])
  | h :: rest =>
    let '(s, a) := request (stage_of h) k in (src, Hop s (rising h + a) (falling h) :: rest)
  end.

(** What a stage emits at a time if it may not emit early: a whole lot where it works on lots. *)
Definition lot (s : stage) : N := match kind s with Whole => capacity s | _ => 1 end.

(** One move, from one line to the next: how many elements came out at the end (0 or 1), and how
    many inputs were dropped on purpose (0 or 1). Patient stages emit whole lots only. *)
Inductive moves (patient : bool) : N -> list hop -> N -> N -> N -> list hop -> Prop :=
| source_sends src : 0 < src -> moves patient src [] 1 0 (src - 1) []
| stage_emits src h rest k s a :
    (patient = true -> k = lot (stage_of h)) -> emit (stage_of h) k = (s, Emitted a) ->
    moves patient src (h :: rest) 1 0 src (Hop s (rising h + a) (falling h) :: rest)
| stage_drops src h rest s a :
    1 <= held (stage_of h) -> discard (stage_of h) = (s, a) ->
    moves patient src (h :: rest) 0 1 src (Hop s (rising h + a) (falling h) :: rest)
| element_arrives src h rest s :
    0 < falling h -> arrive (stage_of h) = (s, Accepted) ->
    moves patient src (h :: rest) 0 0 src (Hop s (rising h) (falling h - 1) :: rest)
| request_arrives src h rest k src' rest' :
    0 < k <= rising h -> ask_line src rest k = (src', rest') ->
    moves patient src (h :: rest) 0 0 src' (Hop (stage_of h) (rising h - k) (falling h) :: rest')
| above src h rest o d src' rest' :
    moves patient src rest o d src' rest' ->
    moves patient src (h :: rest) 0 d src' (Hop (stage_of h) (rising h) (falling h + o) :: rest').

(** A line that was built of fresh stages, started, asked by its sink, and has moved. *)
Inductive running : N -> list hop -> Prop :=
| built l :
    Forall fresh l ->
    running 0 (map (fun s => let '(s', a) := start s in Hop s' a 0) l)
| moved src l o d src' l' : running src l -> moves false src l o d src' l' -> running src' l'
| asked_by_sink src l k src' l' :
    running src l -> 0 < k -> fits (owes src l + k) -> ask_line src l k = (src', l') ->
    running src' l'.

(** Nothing is lost between two stages: what a stage awaits is on its way up as a request, on its
    way down as an element, or owed by the stage above. *)
Fixpoint linked (src : N) (l : list hop) : Prop :=
  match l with
  | [] => True
  | h :: rest =>
    sound (stage_of h) /\ phase (stage_of h) = Running
    /\ asked (stage_of h) = rising h + falling h + owes src rest
    /\ linked src rest
  end.

Lemma request_running s k s' a :
  sound s -> phase s = Running -> 0 < k -> fits (owed s + k) -> request s k = (s', a) ->
  sound s' /\ phase s' = Running /\ capacity s' = capacity s /\ owed s' = owed s + k
  /\ held s' = held s /\ asked s' = asked s + a.
Proof.
  intros [S1 S2 S3 S4 S5 S6 S7 S8] Hp Hk Hf H; unfold request in H; rewrite Hp in H.
  destruct (U64.eqb k 0) eqn:Hz; [u64|].
  rewrite (sat_add_exact _ _ Hf) in H.
  apply replenish_sound in H; cbn; trivial; try discriminate; cbn in H; tauto.
Qed.

Lemma emit_inversion s k s' a :
  sound s -> phase s = Running -> emit s k = (s', Emitted a) ->
  k <= held s /\ sound s' /\ phase s' = Running /\ capacity s' = capacity s
  /\ owed s' + 1 = owed s /\ held s' + k = held s /\ asked s' = asked s + a.
Proof.
  intros Hs Hp He.
  assert (Hw : 1 <= owed s /\ k <= held s).
  { unfold emit in He; rewrite Hp in He; destruct (U64.eqb (owed s) 0) eqn:Hz; [discriminate|].
    destruct (U64.ltb (held s) k) eqn:Hl; [discriminate|]; u64. }
  destruct (emit_running s k Hs Hp) as (s2 & n & He2 & H1 & H2 & H3 & H4 & H5 & H6 & H7 & H8 & _);
    [tauto|tauto|].
  rewrite He in He2; injection He2 as <- <-.
  split; [tauto|]; split; [trivial|]; split; [trivial|]; split; [trivial|]; lia.
Qed.

Lemma discard_inversion s s' a :
  sound s -> phase s = Running -> 1 <= held s -> discard s = (s', a) ->
  sound s' /\ phase s' = Running /\ capacity s' = capacity s /\ owed s' = owed s
  /\ held s' + 1 = held s /\ asked s' = asked s + a.
Proof.
  intros [S1 S2 S3 S4 S5 S6 S7 S8] Hp Hh H; unfold discard in H.
  destruct (U64.eqb (held s) 0) eqn:Hz; [u64|].
  apply replenish_sound in H; cbn; trivial; try (rewrite Hp; discriminate);
    [|unfold sat_sub; lia].
  cbn in H; unfold sat_sub in H; rewrite Hp in H; intuition lia.
Qed.

Lemma arrive_inversion s s' :
  sound s -> phase s = Running -> arrive s = (s', Accepted) ->
  sound s' /\ phase s' = Running /\ capacity s' = capacity s /\ owed s' = owed s
  /\ held s' = held s + 1 /\ asked s' + 1 = asked s.
Proof.
  intros Hs Hp H.
  assert (Ha : 1 <= asked s).
  { unfold arrive in H; rewrite Hp in H; destruct (U64.eqb (asked s) 0) eqn:Hz; [discriminate|u64]. }
  destruct (arrive_running s Hs Hp Ha) as (s2 & H2 & A1 & A2 & A3 & A4 & A5 & A6 & A7 & A8).
  rewrite H in H2; injection H2 as <-.
  split; [trivial|]; split; [trivial|]; split; [trivial|]; lia.
Qed.

Lemma ask_line_linked src l k src' l' :
  linked src l -> 0 < k -> fits (owes src l + k) -> ask_line src l k = (src', l') ->
  linked src' l' /\ owes src' l' = owes src l + k.
Proof.
  intros Hl Hk Hf H; destruct l as [|h l]; cbn in *; [injection H as <- <-; auto|].
  destruct Hl as (H1 & H2 & H3 & H4).
  destruct (request (stage_of h) k) as [s a] eqn:Hr; injection H as <- <-.
  apply request_running in Hr; trivial; destruct Hr as (R1 & R2 & R3 & R4 & R5 & R6).
  cbn; split; [|lia]; split; [trivial|]; split; [trivial|]; split; [lia|trivial].
Qed.

Lemma awaited_fits src h l :
  linked src (h :: l) -> fits (asked (stage_of h)).
Proof.
  intros (H1 & _); pose proof (s_bound _ H1); pose proof (s_room _ H1); unfold fits in *; lia.
Qed.

Lemma moves_linked patient src l o d src' l' :
  moves patient src l o d src' l' -> linked src l -> linked src' l' /\ owes src' l' + o = owes src l.
Proof.
  induction 1 as [src H|src h l k s a _ H|src h l s a Hh H|src h l s Hf H|src h l k src' l' Hk H
                 |src h l o d src' l' H IH]; intros Hl.
  - cbn; lia.
  - destruct Hl as (H1 & H2 & H3 & H4); apply emit_inversion in H; trivial; cbn; intuition lia.
  - destruct Hl as (H1 & H2 & H3 & H4); apply discard_inversion in H; trivial; cbn; intuition lia.
  - destruct Hl as (H1 & H2 & H3 & H4); apply arrive_inversion in H; trivial; cbn; intuition lia.
  - pose proof (awaited_fits _ _ _ Hl); destruct Hl as (H1 & H2 & H3 & H4).
    apply ask_line_linked in H; trivial; [|lia|unfold fits in *; lia].
    cbn; intuition lia.
  - destruct Hl as (H1 & H2 & H3 & H4); destruct (IH H4); cbn; intuition lia.
Qed.

Lemma running_linked src l : running src l -> linked src l.
Proof.
  induction 1 as [l Hl|src l o d src' l' _ IH H|src l k src' l' _ IH Hk Hf H].
  - assert (Hg : linked 0 (map (fun s => let '(s', a) := start s in Hop s' a 0) l)
                 /\ owes 0 (map (fun s => let '(s', a) := start s in Hop s' a 0) l) = 0);
      [|apply Hg].
    induction Hl as [|s l Hs Hl [IH1 IH2]]; [cbn; auto|cbn [map]].
    apply fresh_sound in Hs; destruct Hs as (Hs & H1 & H2 & H3 & H4).
    assert (Hst : exists s' a, start s = (s', a) /\ sound s' /\ phase s' = Running
                  /\ owed s' = 0 /\ asked s' = a).
    { unfold start; rewrite H4; destruct (replenish _) as [s' a] eqn:Hr; exists s', a.
      destruct Hs as [S1 S2 S3 S4 S5 S6 S7 S8].
      apply replenish_sound in Hr; cbn; trivial; try discriminate; cbn in Hr; intuition lia. }
    destruct Hst as (s' & a & Hst & A1 & A2 & A3 & A4).
    rewrite Hst; cbn; rewrite IH2.
    split; [|trivial]; split; [trivial|]; split; [trivial|]; split; [lia|trivial].
  - apply (moves_linked false src l o d); trivial.
  - apply (ask_line_linked src l k); trivial.
Qed.

(** Conservation on every link of the line: requests and elements under way are never lost. *)
Theorem links_conserve src l : running src l -> linked src l.
Proof. apply running_linked. Qed.

(** No deadlock: as long as the last stage owes its sink something, something in the line can move,
    even if stages that work on lots wait for whole lots: a stage can emit, a request or an element
    can arrive, or the source can send. *)
Theorem line_never_locks_up src l :
  running src l -> 1 <= owes src l -> exists o d src' l', moves true src l o d src' l'.
Proof.
  intros Hr; apply running_linked in Hr; revert Hr.
  induction l as [|h l IH]; intros Hl Ho.
  - do 4 eexists; apply source_sends; cbn in Ho; lia.
  - destruct Hl as (H1 & H2 & H3 & H4); cbn in Ho.
    assert (Hw : lot (stage_of h) <= held (stage_of h) \/ 1 <= asked (stage_of h)).
    { pose proof (works_or_awaits _ H1 H2 Ho) as Hw; unfold lot.
      destruct (kind (stage_of h)); intuition lia. }
    destruct Hw as [Hw|Hw].
    + destruct (emit_running (stage_of h) _ H1 H2 Ho Hw) as (s & a & He & _).
      do 4 eexists; apply (stage_emits true src h l (lot (stage_of h)) s a); trivial.
    + destruct (N.eq_dec (falling h) 0) as [Hf|Hf].
      * destruct (N.eq_dec (rising h) 0) as [Hg|Hg].
        -- destruct (IH H4) as (o & d & src' & l' & Hm); [lia|].
           do 4 eexists; apply above; exact Hm.
        -- destruct (ask_line src l (rising h)) as [src' l'] eqn:Ha.
           do 4 eexists; apply (request_arrives true src h l (rising h)); [lia|exact Ha].
      * destruct (arrive_running _ H1 H2 Hw) as (s & Ha & _).
        do 4 eexists; apply element_arrives; [lia|exact Ha].
Qed.
