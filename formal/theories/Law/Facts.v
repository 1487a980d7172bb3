(** Laws of the kinds of frames (F1 to F3). *)

From Coq Require Import NArith Bool Lia ZifyBool ZifyN.
From Sluicegate Require Import Base.U64 Base.Tactics Decide.Facts.

Set Default Timeout 30.
Open Scope N_scope.

(** F1: which number each kind has. A peer reads the number and not the name, so two kinds that
    exchange theirs are another protocol, even where both directions are exchanged alike. *)
Theorem codes_are_those_of_the_wire :
  code Hello = 0 /\ code Req = 1 /\ code Chunk = 3 /\ code End = 4 /\ code Log = 5 /\ code Err = 6
  /\ code Heartbeat = 7 /\ code StreamStart = 8 /\ code StreamEnd = 9 /\ code RelayNotify = 10
  /\ code RelayState = 11 /\ code Cancel = 12 /\ code Credit = 13 /\ code CloseStream = 14
  /\ code Policy = 15.
Proof. repeat split. Qed.

(** F1: every kind is read back from its number. *)
Theorem code_is_read_back (kind : frame_type) : from_code (code kind) = Some kind.
Proof. destruct kind; reflexivity. Qed.

(** F1: a number is read as the kind that has it; so no two kinds share one. *)
Theorem read_is_coded (number : N) (kind : frame_type) :
  from_code number = Some kind -> code kind = number.
Proof. unfold from_code; intros H; split_ifs; invert_all; cbn; u64. Qed.

(** F1: exactly 0, 1 and 3 to 15 are kinds. *)
Theorem read_iff_assigned (number : N) :
  from_code number <> None <-> number <= 15 /\ number <> 2.
Proof. unfold from_code; split_ifs; split; intros; try discriminate; try congruence; u64. Qed.

(** F2: what ends a flow is of the flow. *)
Theorem terminal_is_flow (kind : frame_type) : is_terminal kind = true -> is_flow kind = true.
Proof. destruct kind; cbn; congruence. Qed.

(** F2, L4: END finishes, ERR fails, nothing else ends a flow; terminal are those that do. *)
Theorem ends_by_end_or_err (kind : frame_type) (how : flow_end) :
  ends kind = Some how <-> (kind = End /\ how = Finished) \/ (kind = Err /\ how = Failed).
Proof. destruct kind, how; cbn; intuition congruence. Qed.

(** L4: a kind is terminal if and only if it ends its flow. *)
Theorem terminal_iff_ends (kind : frame_type) : is_terminal kind = true <-> ends kind <> None.
Proof. destruct kind; cbn; intuition congruence. Qed.

(** F3: of the flow are exactly REQ, CHUNK, END, LOG, ERR, STREAM_START and STREAM_END; CREDIT above
    all is not, so it is never numbered, held back or swallowed. *)
Theorem flow_kinds (kind : frame_type) :
  is_flow kind = true <->
  kind = Req \/ kind = Chunk \/ kind = End \/ kind = Log \/ kind = Err
  \/ kind = StreamStart \/ kind = StreamEnd.
Proof. destruct kind; cbn; intuition congruence. Qed.

(** L9, L14: only CHUNK costs credit, and it costs 1. *)
Theorem only_chunks_cost (kind : frame_type) :
  cost kind = if match kind with Chunk => true | _ => false end then 1 else 0.
Proof. destruct kind; reflexivity. Qed.
