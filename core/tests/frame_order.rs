//! Numbering, reordering and the writer's gate, by the window model's sections on flow machines.

use sluicegate::frame::{
    Admitted, AttributionClass, CreditDirection, ENDED_FLOWS_KEPT, FlowKey, Frame, FrameType,
    MessageId, Refusal, Reorder, ReorderBuffer, SeqAssigner, WriterGate,
};

fn flow(number: u64) -> FlowKey {
    FlowKey::new(MessageId::Uint(number), None)
}

fn log(number: u64, seq: u64) -> Frame {
    let id = MessageId::Uint(number);
    let mut frame = Frame::log(id, None, "info", AttributionClass::Internal, "m");
    frame.seq = seq;
    frame
}

fn end(number: u64, seq: u64) -> Frame {
    let mut frame = Frame::end(MessageId::Uint(number), None);
    frame.seq = seq;
    frame
}

#[test]
fn numbers_are_gapless_per_flow() {
    // W5
    let mut seqs = SeqAssigner::new();
    let id = MessageId::Uint(1);
    let (plain, routed) = (FlowKey::new(id, None), FlowKey::new(id, Some(MessageId::Uint(1))));
    assert_eq!([0, 1, 2], [(); 3].map(|()| seqs.next(plain)));
    assert_eq!([0, 1], [(); 2].map(|()| seqs.next(routed)));
    assert_eq!(seqs.next(FlowKey::new(MessageId::Uuid([0; 16]), None)), 0);
    assert_eq!(seqs.next(plain), 3);
    assert_eq!(seqs.flows(), 3);
    seqs.forget(&plain);
    assert_eq!(seqs.next(plain), 0);
}

#[test]
fn stamping_numbers_flow_frames_only() {
    let mut seqs = SeqAssigner::new();
    let mut stamp = |mut frame: Frame| {
        frame.seq = 99;
        seqs.stamp(&mut frame);
        (frame.seq, seqs.flows())
    };
    let id = MessageId::Uint(1);
    assert_eq!(stamp(log(1, 0)), (0, 1));
    assert_eq!(stamp(Frame::credit(id, None, None, 1, CreditDirection::Request)), (0, 1));
    assert_eq!(stamp(Frame::heartbeat(id)), (0, 1));
    assert_eq!(stamp(log(1, 0)), (1, 1));
    assert_eq!(stamp(end(1, 0)), (2, 0));
    assert_eq!(stamp(log(1, 0)), (0, 1));
}

#[test]
fn nothing_of_a_flow_passes_behind_its_terminal() {
    // W1 to W4
    let mut gate = WriterGate::new();
    for frame_type in FrameType::ALL {
        if !frame_type.is_terminal() {
            assert_eq!(gate.write(flow(1), frame_type), Admitted::Send);
        }
    }
    assert_eq!(gate.write(flow(1), FrameType::End), Admitted::SendLast);
    for frame_type in FrameType::ALL {
        let expected = if frame_type.is_flow() { Admitted::Suppress } else { Admitted::Send };
        assert_eq!(gate.write(flow(1), frame_type), expected, "{frame_type}");
    }
    let routed = FlowKey { routing_id: Some(MessageId::Uint(5)), ..flow(1) };
    assert_eq!(gate.write(routed, FrameType::Err), Admitted::SendLast);
    assert!(gate.is_over(&flow(1)) && gate.is_over(&routed) && !gate.is_over(&flow(2)));
}

#[test]
fn the_oldest_ended_flow_is_forgotten_first() {
    let mut gate = WriterGate::new();
    let kept = ENDED_FLOWS_KEPT as u64;
    for number in 0..kept {
        assert_eq!(gate.write(flow(number), FrameType::End), Admitted::SendLast);
    }
    // A suppressed terminal neither renews a flow nor pushes another one out.
    assert_eq!(gate.write(flow(0), FrameType::Err), Admitted::Suppress);
    assert!((0..kept).all(|number| gate.is_over(&flow(number))));
    assert_eq!(gate.write(flow(kept), FrameType::End), Admitted::SendLast);
    assert!(!gate.is_over(&flow(0)));
    assert!((1..=kept).all(|number| gate.is_over(&flow(number))));
}

/// The model, word for word, to compare with.
#[derive(Clone, Default)]
struct Model {
    expected: u64,
    held: Vec<u64>,
}

#[derive(Debug, PartialEq)]
enum Answer {
    Deliver(Vec<u64>),
    Hold,
    Stale,
    Duplicate,
    Overflow,
}

impl Model {
    fn accept(&mut self, seq: u64, limit: u64) -> Answer {
        if seq < self.expected {
            return Answer::Stale;
        }
        if seq == self.expected {
            let mut run = vec![seq];
            while let Some(at) = self.held.iter().position(|held| *held == run[run.len() - 1] + 1) {
                run.push(self.held.remove(at));
            }
            self.expected = run[run.len() - 1] + 1;
            return Answer::Deliver(run);
        }
        if self.held.contains(&seq) {
            return Answer::Duplicate;
        }
        if self.held.len() as u64 >= limit {
            return Answer::Overflow;
        }
        self.held.push(seq);
        self.held.sort_unstable();
        Answer::Hold
    }
}

fn step(buffer: &mut ReorderBuffer<u64>, seq: u64, limit: u64) -> Answer {
    let mut out = Vec::new();
    match buffer.accept(seq, seq, limit, &mut out) {
        Ok(done) => {
            assert_eq!((done.delivered, done.stranded), (out.len(), 0));
            if out.is_empty() { Answer::Hold } else { Answer::Deliver(out) }
        }
        Err(refused) => {
            assert_eq!(refused.item, seq, "handed back");
            assert!(out.is_empty());
            match refused.why {
                Refusal::Stale { .. } => Answer::Stale,
                Refusal::Duplicate { .. } => Answer::Duplicate,
                Refusal::Overflow { .. } => Answer::Overflow,
            }
        }
    }
}

/// Every sequence of six arrivals of the numbers 0 to 4, under every limit from 0 to 3 (R1 to R5).
#[test]
fn reordering_follows_the_model() {
    fn walk(buffer: &ReorderBuffer<u64>, model: &Model, left: u32, limit: u64, steps: &mut u64) {
        if left == 0 {
            return;
        }
        for seq in 0..5 {
            let (mut buffer, mut model) = (buffer.clone(), model.clone());
            assert_eq!(step(&mut buffer, seq, limit), model.accept(seq, limit));
            assert_eq!(buffer.expected(), Some(model.expected));
            assert!(buffer.held().eq(model.held.iter().copied()));
            assert!(buffer.held().len() as u64 <= limit);
            *steps += 1;
            walk(&buffer, &model, left - 1, limit, steps);
        }
    }
    let mut steps = 0;
    for limit in 0..4 {
        walk(&ReorderBuffer::new(), &Model::default(), 6, limit, &mut steps);
    }
    println!("reorder steps compared: {steps}");
    assert_eq!(steps, 4 * (5 + 25 + 125 + 625 + 3125 + 15_625));
}

#[test]
fn any_order_within_the_limit_delivers_the_same() {
    // R6: numbers move by at most `limit` places.
    let limit = 8u64;
    let mut state = 7u64;
    for _ in 0..200 {
        let mut numbers: Vec<u64> = (0..100).collect();
        for block in numbers.chunks_mut(limit as usize) {
            for at in (1..block.len()).rev() {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                block.swap(at, (state >> 33) as usize % (at + 1));
            }
        }
        let mut buffer = ReorderBuffer::new();
        let mut out = Vec::new();
        for seq in numbers {
            let _ = buffer.accept(seq, seq, limit, &mut out).expect("within the limit");
        }
        assert!(out.iter().copied().eq(0..100));
    }
}

#[test]
fn frames_are_put_right_per_flow() {
    let mut reorder = Reorder::new(2);
    let mut out = Vec::new();
    let mut take = |frame: Frame| {
        let done = reorder.accept(frame, &mut out).expect("within the limit");
        let seqs: Vec<u64> = out.drain(..).map(|frame| frame.seq).collect();
        assert_eq!(done.delivered, seqs.len());
        (seqs, done.stranded, reorder.flows())
    };
    assert_eq!(take(log(1, 1)), (vec![], 0, 1));
    assert_eq!(take(log(2, 0)), (vec![0], 0, 2));
    assert_eq!(take(end(1, 2)), (vec![], 0, 2));
    // Non-flow frames carry 0 throughout and pass.
    let credit = || Frame::credit(MessageId::Uint(1), None, None, 1, CreditDirection::Request);
    assert_eq!(take(credit()), (vec![0], 0, 2));
    assert_eq!(take(credit()), (vec![0], 0, 2));
    // The terminal is delivered in the same run, and the state goes.
    assert_eq!(take(log(1, 0)), (vec![0, 1, 2], 0, 1));
    assert_eq!(take(log(1, 0)), (vec![0], 0, 2));
    // What was held behind the terminal is not lost silently (L8).
    assert_eq!(take(log(2, 3)), (vec![], 0, 2));
    assert_eq!(take(log(2, 4)), (vec![], 0, 2));
    assert_eq!(take(end(2, 1)), (vec![1], 2, 1));
}

#[test]
fn refused_frames_come_back() {
    let mut reorder = Reorder::new(1);
    let mut out = Vec::new();
    for seq in [0, 2] {
        let _ = reorder.accept(log(1, seq), &mut out).expect("taken");
    }
    let mut refused = |frame: Frame| {
        let refused = reorder.accept(frame.clone(), &mut Vec::new()).expect_err("refused");
        assert_eq!(refused.item, frame);
        refused.why
    };
    assert_eq!(refused(log(1, 0)), Refusal::Stale { seq: 0, expected: 1 });
    assert_eq!(refused(log(1, 2)), Refusal::Duplicate { seq: 2 });
    assert_eq!(refused(log(1, 3)), Refusal::Overflow { seq: 3, limit: 1 });
    assert_eq!(reorder.forget(&flow(1)), 1);
    assert_eq!(reorder.forget(&flow(1)), 0);
    assert_eq!(reorder.flows(), 0);
}
