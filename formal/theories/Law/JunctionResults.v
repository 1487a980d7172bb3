(** What single junctions do, computed by the kernel with the machine of [Law.JunctionRun]. *)

From Coq Require Import NArith Bool List.
From Sluicegate Require Import Law.Pipeline Law.Junction Law.JunctionRun.
Import ListNotations.
Open Scope N_scope.

Definition running (made : option web) : web :=
  match made with Some w => start w | None => Web [] [] Gone [] [] [] false false end.

Definition join_of (how : joining) (count : nat) : web := running (joined how (repeat [] count) []).
Definition fork_of (how : forking) (count : nat) : web := running (forked how [] (repeat [] count)).

Definition sends (k : nat) (i : nat) (w : web) : web := fst (fst (next k w i)).
Definition ends (how : outcome) (i : nat) (w : web) : web := fst (finish w i how).
Definition wants_more (j : nat) (n : N) (w : web) : web := request w j n.
Definition cancels (j : nat) (w : web) : web := cancel w j.

(** What the publishers may send, and what the subscribers were given and told. *)
Definition may_send (w : web) : list N := map asked_of (publishers w).
Definition given (w : web) : list (list N) := map (fun s => flat_map number (got s)) (subscribers w).
Definition were_told (w : web) : list (option outcome) := map told (subscribers w).
Definition ended_how (w : web) : list (option source_end) := map ended (publishers w).

(** ** Joins *)

(** A pair asks one of each side, however much is wanted, and the next once it has left. *)
Example a_pair_asks_one_of_each :
  let w := wants_more 0 10 (join_of Zip 2) in
  may_send w = [1; 1] /\
  may_send (sends 9 0 w) = [0; 1] /\ given (sends 9 0 w) = [[]] /\
  may_send (sends 1 1 (sends 9 0 w)) = [1; 1] /\
  given (sends 1 1 (sends 9 0 w)) = [[0; 1000]] /\
  given (sends 1 2 (sends 1 1 (sends 1 0 (wants_more 0 1 (join_of Combine 3))))) = [[0; 1000; 2000]] /\
  may_send (join_of Zip 2) = [0; 0].
Proof. vm_compute; repeat split. Qed.

(** A pair ends with the first side that has ended and holds nothing; the others are cancelled. *)
Example a_pair_ends_with_a_side :
  let w := wants_more 0 10 (join_of Zip 2) in
  were_told (ends Completed 1 (sends 1 0 w)) = [Some Completed] /\
  ended_how (ends Completed 1 (sends 1 0 w)) = [Some Source_cancelled; Some Source_completed] /\
  were_told (ends Failed 1 w) = [Some Failed] /\
  were_told (ends Completed 0 (sends 1 0 w)) = [None] /\
  were_told (sends 1 1 (ends Completed 0 (sends 1 0 w))) = [Some Completed] /\
  given (sends 1 1 (ends Failed 0 (sends 1 0 w))) = [[0; 1000]] /\
  were_told (sends 1 1 (ends Failed 0 (sends 1 0 w))) = [Some Failed] /\
  were_told (sends 1 1 (ends Completed 1 (ends Failed 0 (sends 1 0 w)))) = [Some Completed].
Proof. vm_compute; repeat split. Qed.

(** One side waits: what reads ahead above the other goes on. *)
Example a_page_above_a_pair_fills_itself :
  let w := wants_more 0 9 (running (joined Zip [[Page 4 1]; []] [])) in
  may_send w = [4; 1] /\ may_send (sends 1 0 w) = [4; 1] /\ may_send (sends 9 0 w) = [0; 1] /\
  sent (hd (publisher_of 0) (publishers (sends 9 0 w))) = 5.
Proof. vm_compute; repeat split. Qed.

(** A merge holds one of each at most, and gives them in turns. *)
Example a_merge_takes_turns :
  let w := sends 9 1 (sends 9 0 (wants_more 0 1 (join_of Merge 2))) in
  given w = [[0]] /\ may_send w = [0; 0] /\
  given (wants_more 0 1 w) = [[0; 1000]] /\ may_send (wants_more 0 1 w) = [1; 0] /\
  let w := sends 1 0 (sends 1 2 (sends 1 1 (wants_more 0 1 (join_of Merge 3)))) in
  given (wants_more 0 2 w) = [[1000; 2000; 0]].
Proof. vm_compute; repeat split. Qed.

(** One that prefers takes the first one's whenever there is one, and turns for the others. *)
Example a_preferred_input_goes_first :
  let w := sends 1 0 (sends 1 2 (sends 1 1 (wants_more 0 1 (join_of Merge_prefer 3)))) in
  given (wants_more 0 1 w) = [[1000; 0]] /\ given (wants_more 0 2 w) = [[1000; 0; 2000]] /\
  let w := running (joined Merge_prefer [[Page 3 1]; [Page 3 1]] []) in
  given (wants_more 0 5 (sends 3 1 (sends 3 0 w))) = [[0; 1; 2; 1000; 1001]] /\
  let w := running (joined Merge [[Page 3 1]; [Page 3 1]] []) in
  given (wants_more 0 5 (sends 3 1 (sends 3 0 w))) = [[0; 1000; 1; 1001; 2]] /\
  let w := running (joined Merge_prefer [[]; [Page 3 1]; [Page 3 1]] []) in
  let w := sends 1 0 (wants_more 0 1 (sends 3 2 (sends 3 1 w))) in
  given (wants_more 0 2 w) = [[1000; 0; 2000]].
Proof. vm_compute; repeat split. Qed.

(** A merge goes on without those that have ended, ends with the last, and fails with the first. *)
Example a_merge_ends_with_the_last :
  let w := wants_more 0 9 (join_of Merge 2) in
  were_told (ends Completed 0 w) = [None] /\
  given (sends 1 1 (ends Completed 0 w)) = [[1000]] /\
  were_told (ends Completed 1 (ends Completed 0 w)) = [Some Completed] /\
  were_told (ends Failed 0 w) = [Some Failed] /\
  ended_how (ends Failed 0 w) = [Some Source_failed; Some Source_cancelled].
Proof. vm_compute; repeat split. Qed.

(** A concat asks the input whose turn it is, and the next for what that one still owed. *)
Example a_concat_hands_on_what_is_owed :
  let w := wants_more 0 5 (join_of Concat 2) in
  may_send w = [5; 0] /\ may_send (ends Completed 0 (sends 2 0 w)) = [0; 3] /\
  given (sends 2 1 (ends Completed 0 (sends 2 0 w))) = [[0; 1; 1000; 1001]] /\
  were_told (ends Completed 1 w) = [None] /\
  were_told (ends Completed 0 (ends Completed 1 w)) = [Some Completed] /\
  were_told (ends Failed 0 w) = [Some Failed] /\
  let w := running (joined Concat [[]; [Page 4 1]] []) in
  may_send w = [0; 0] /\ may_send (ends Completed 0 w) = [0; 4].
Proof. vm_compute; repeat split. Qed.

(** Whoever wants no more ends all that is above. *)
Example a_cancel_goes_up_to_all :
  ended_how (cancels 0 (join_of Merge 2)) = [Some Source_cancelled; Some Source_cancelled] /\
  ended_how (cancels 0 (join_of Concat 2)) = [Some Source_cancelled; Some Source_cancelled] /\
  ended_how (cancels 0 (join_of Zip 2)) = [Some Source_cancelled; Some Source_cancelled].
Proof. vm_compute; repeat split. Qed.

(** ** Forks *)

(** A broadcast gives each a copy, and the fullest edge sets the pace. *)
Example a_broadcast_waits_for_the_slowest :
  let w := fork_of Broadcast 2 in
  may_send w = [16] /\
  may_send (sends 3 0 (wants_more 0 9 w)) = [13] /\
  given (sends 3 0 (wants_more 0 9 w)) = [[0; 1; 2]; []] /\
  may_send (sends 99 0 (wants_more 0 99 w)) = [0] /\
  may_send (wants_more 1 4 (sends 99 0 (wants_more 0 99 w))) = [4] /\
  given (wants_more 1 4 (sends 99 0 (wants_more 0 2 w))) = [[0; 1]; [0; 1; 2; 3]].
Proof. vm_compute; repeat split. Qed.

(** A balance gives each element to one that has room, in turns. *)
Example a_balance_takes_turns :
  let w := fork_of Balance 2 in
  may_send w = [32] /\
  given (sends 4 0 (wants_more 1 9 (wants_more 0 9 w))) = [[0; 2]; [1; 3]] /\
  may_send (sends 99 0 w) = [0] /\
  sent (hd (publisher_of 0) (publishers (sends 99 0 w))) = 32 /\
  given (sends 2 0 (wants_more 1 99 (sends 99 0 w))) = [[]; map (fun n => 2 * N.of_nat n + 1) (seq 0 16) ++ [32; 33]].
Proof. vm_compute; repeat split. Qed.

(** A partition asks for what the emptiest edge has room for; a full branch holds up the others. *)
Example a_full_branch_holds_up_a_partition :
  let w := fork_of Partition 2 in
  may_send w = [16] /\
  given (sends 4 0 (wants_more 1 9 (wants_more 0 9 w))) = [[0; 2]; [1; 3]] /\
  let w := sends 99 0 (wants_more 1 99 w) in
  map (@length N) (given w) = [0%nat; 16%nat] /\ may_send w = [0] /\
  map (@length N) (given (wants_more 0 1 w)) = [1%nat; 17%nat].
Proof. vm_compute; repeat split. Qed.

(** An element that waits for a full branch is held with those behind it, as many as were asked for; what
    reads ahead above goes on, and an end is heard and told behind them. *)
Definition waits_in_the_fork (w : web) : list (N * N) :=
  match middle w with
  | A_fork f => [(may_hand_on f, N.of_nat (length (waiting f)))]
  | _ => []
  end.

Example a_page_above_a_full_branch_fills_itself :
  let w := running (forked Partition [Filter_mod 2 0; Page 4 3] (repeat [] 2)) in
  let full := sends 33 0 w in
  may_send w = [4] /\ may_send full = [2] /\ sent (hd (publisher_of 0) (publishers full)) = 33 /\
  waits_in_the_fork full = [(0, 1)] /\
  let stuck := sends 99 0 w in
  may_send stuck = [0] /\ waits_in_the_fork stuck = [(0, 16)] /\
  given (wants_more 0 3 stuck) = [[0; 2; 4]; []] /\
  let over := ends Completed 0 full in
  were_told over = [None; None] /\ were_told (wants_more 0 1 over) = [None; Some Completed] /\
  were_told (wants_more 0 99 over) = [Some Completed; Some Completed].
Proof. vm_compute; repeat split. Qed.

(** What a branch that left had asked for is not asked for again; what has been asked for still comes, and
    goes to the others or waits for them. *)
Example who_leaves_a_balance_asks_no_more :
  let w := cancels 0 (fork_of Balance 2) in
  may_send w = [32] /\
  let w := sends 99 0 w in
  may_send w = [0] /\ waits_in_the_fork w = [(0, 16)] /\
  may_send (wants_more 1 15 w) = [0] /\ may_send (wants_more 1 17 w) = [1] /\
  given (wants_more 1 99 w) = [[]; map N.of_nat (seq 0 32)] /\
  may_send (wants_more 1 99 w) = [16] /\
  let w := cancels 0 (running (forked Balance [Page 4 3] (repeat [] 2))) in
  may_send w = [4] /\ sent (hd (publisher_of 0) (publishers (sends 99 0 w))) = 34 /\
  may_send (sends 99 0 w) = [0].
Proof. vm_compute; repeat split. Qed.

(** A branch that wants no more leaves the others running; the last one cancels above. *)
Example the_last_branch_cancels_above :
  let w := sends 16 0 (fork_of Broadcast 2) in
  may_send w = [0] /\ may_send (cancels 0 (wants_more 1 3 w)) = [3] /\
  may_send (cancels 1 (wants_more 0 3 w)) = [3] /\
  ended_how (cancels 0 w) = [None] /\ ended_how (cancels 1 (cancels 0 w)) = [Some Source_cancelled] /\
  let w := fork_of Partition 2 in
  given (sends 4 0 (wants_more 1 9 (cancels 0 w))) = [[]; [1; 3]].
Proof. vm_compute; repeat split. Qed.

(** An end comes behind what the edges hold. *)
Example an_end_comes_behind_the_edges :
  let w := ends Failed 0 (sends 3 0 (wants_more 0 9 (fork_of Broadcast 2))) in
  were_told w = [Some Failed; None] /\ given w = [[0; 1; 2]; []] /\
  were_told (wants_more 1 2 w) = [Some Failed; None] /\
  given (wants_more 1 3 w) = [[0; 1; 2]; [0; 1; 2]] /\
  were_told (wants_more 1 3 w) = [Some Failed; Some Failed] /\
  were_told (ends Completed 0 (fork_of Balance 2)) = [Some Completed; Some Completed].
Proof. vm_compute; repeat split. Qed.
