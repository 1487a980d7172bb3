(** "Sooner or later, whatever the order": what a run that never stops while it may go on must reach.

    [within goal n s]: from [s], however the moves [may] are chosen, the goal is reached after at most
    [n] of them; and until then there is always a move that somebody is obliged to make ([must]), so
    nothing can stand still. *)

From Coq Require Import Arith Lia.

Set Default Timeout 30.

Section Eventually.

Variable state : Type.
Variables may must : state -> state -> Prop.

Inductive within (goal : state -> Prop) : nat -> state -> Prop :=
| arrived n s : goal s -> within goal n s
| going n s :
    (exists s', must s s') -> (forall s', may s s' -> within goal n s') -> within goal (S n) s.

(** If every move makes a count smaller, and nothing but the goal lacks an obliged move, the goal is
    reached within that count. *)
Lemma shrinking_reaches (goal inv : state -> Prop) (count : state -> nat) :
  (forall s s', inv s -> may s s' -> goal s' \/ (inv s' /\ count s' < count s)) ->
  (forall s, inv s -> goal s \/ exists s', must s s') ->
  forall s n, inv s -> count s <= n -> within goal (S n) s.
Proof.
  intros SHRINK LIVE s n; revert s; induction n as [|n IH]; intros s I L;
    (destruct (LIVE s I) as [G|M]; [apply arrived, G|]);
    apply going; auto; intros s' M';
    (destruct (SHRINK s s' I M') as [G|[I' L']]; [apply arrived, G|]); [lia|].
  apply IH; [exact I'|lia].
Qed.

End Eventually.
