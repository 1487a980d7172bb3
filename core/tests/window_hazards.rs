//! The hazards of a credit window with its gate, one test each, named by the hazard.

mod watchdog;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::thread;
use std::time::Duration;

use sluicegate::{CreditGate, CreditWindow, TryAcquire, Violation};
use watchdog::{until, within};

const LIMIT: Duration = Duration::from_secs(180);

/// One chunk on its way: true if it completes its item.
type Chunk = bool;

/// The receiving end: polices what arrives, gives back what was consumed, flushes before it waits.
struct Receiving {
    wire: Receiver<Chunk>,
    window: CreditWindow,
    gate: CreditGate,
    granted: u64,
}

impl Receiving {
    fn grant(&mut self, due: u64) {
        if due > 0 {
            self.granted += due;
            self.gate.grant(due);
        }
    }

    /// Takes one item, of as many chunks as it has. `None` after the last.
    fn item(&mut self) -> Option<u64> {
        for chunks in 1.. {
            let last = match self.wire.try_recv() {
                Ok(chunk) => chunk,
                Err(TryRecvError::Disconnected) => return None,
                Err(TryRecvError::Empty) => {
                    let due = self.window.flush(); // L10: before any wait
                    self.grant(due);
                    self.wire.recv().ok()?
                }
            };
            self.window.arrive().expect("the sender takes credit for each chunk");
            let due = if last { self.window.consumed() } else { self.window.continued() };
            self.grant(due);
            if last {
                return Some(chunks);
            }
        }
        None
    }
}

/// Sends `items` items of `chunks` chunks each from a gate of `sender` to `window`.
fn transfer(sender: u64, window: CreditWindow, items: u64, chunks: u64) {
    let gate = CreditGate::new(sender);
    let size = window.size();
    let (wire, received) = channel();
    let sending = gate.clone();
    let producer = thread::spawn(move || {
        for _ in 0..items {
            for chunk in 1..=chunks {
                sending.blocking_acquire(1).expect("open");
                wire.send(chunk == chunks).expect("the consumer reads to the end");
            }
        }
    });
    let mut receiving = Receiving { wire: received, window, gate, granted: 0 };
    let mut taken = 0;
    while let Some(width) = receiving.item() {
        assert_eq!(width, chunks);
        assert!(receiving.window.remaining() <= size);
        taken += 1;
    }
    producer.join().expect("no panic");
    assert_eq!(taken, items);
    let window = &receiving.window;
    assert_eq!(receiving.granted + window.pending(), items * chunks, "given back = consumed");
    assert_eq!(window.remaining() + window.pending(), size);
}

#[test]
fn hz_w01_a_small_sender_against_a_large_batch() {
    within(LIMIT, "HZ-W01", || {
        for chunks in [1, 3] {
            transfer(4, CreditWindow::with_batch(16, 8), 1_000, chunks);
        }
    });
}

#[test]
fn hz_w02_no_small_window_stalls_under_its_batch() {
    within(LIMIT, "HZ-W02", || {
        for size in [1, 2, 3] {
            transfer(size, CreditWindow::new(size), 10_000, 1);
        }
    });
    for size in 0..200 {
        for wish in [0, 1, 2, size / 2, size, u64::MAX] {
            let batch = CreditWindow::with_batch(size, wish).batch();
            assert!(
                (1..=(size / 2).max(1)).contains(&batch),
                "window {size}, wish {wish}: {batch}"
            );
        }
    }
}

#[test]
fn hz_w02_a_full_window_is_given_back_without_a_flush_but_for_less_than_a_batch() {
    for size in 1..100 {
        let window = CreditWindow::new(size);
        for _ in 0..size {
            window.arrive().expect("within the window");
        }
        let given: u64 = (0..size).map(|_| window.consumed()).sum();
        assert!(given > 0, "window {size} starves its sender");
        assert!(window.pending() < window.batch());
    }
}

#[test]
fn hz_w03_an_item_wider_than_the_window_crosses() {
    within(LIMIT, "HZ-W03", || {
        for size in [1, 2, 3] {
            transfer(size, CreditWindow::new(size), 10, 50);
        }
    });
}

#[test]
fn hz_w04_concurrent_consumers_never_grant_twice() {
    const CHUNKS: u64 = 100_000;
    const SIZE: u64 = 64;
    within(LIMIT, "HZ-W04", || {
        let window = CreditWindow::new(SIZE);
        let (arrived, granted) = (AtomicU64::new(0), AtomicU64::new(0));
        let consumed = AtomicU64::new(0);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    loop {
                        let mine = consumed.fetch_add(1, Ordering::Relaxed);
                        if mine >= CHUNKS {
                            return;
                        }
                        // Never ahead of what arrived: each accepted chunk is given back once.
                        until("a chunk has arrived", || arrived.load(Ordering::Acquire) > mine);
                        let due = window.consumed()
                            + if mine.is_multiple_of(3) { window.flush() } else { 0 };
                        granted.fetch_add(due, Ordering::Relaxed);
                        assert!(window.remaining() <= SIZE);
                    }
                });
            }
            for _ in 0..CHUNKS {
                until("there is room", || {
                    granted.fetch_add(window.flush(), Ordering::Relaxed);
                    window.arrive().is_ok()
                });
                arrived.fetch_add(1, Ordering::Release);
            }
        });
        let rest = window.flush();
        assert_eq!(granted.load(Ordering::Relaxed) + rest, CHUNKS);
        assert_eq!((window.remaining(), window.pending()), (SIZE, 0));
    });
}

#[test]
fn hz_w05_the_receivers_count_equals_the_senders() {
    let (gate, window) = (CreditGate::new(2), CreditWindow::new(2));
    for chunk in 0..100_000 {
        assert_eq!(gate.try_acquire(1), TryAcquire::Taken, "chunk {chunk}");
        assert_eq!(window.arrive(), Ok(()), "chunk {chunk}");
        gate.grant(window.consumed());
        assert_eq!((gate.available(), window.remaining()), (2, 2), "chunk {chunk}");
    }
}

#[test]
fn hz_w05_the_counts_agree_at_every_quiet_point_of_any_window() {
    for size in 1..40 {
        let (gate, window) = (CreditGate::new(size), CreditWindow::new(size));
        let mut queue = VecDeque::new();
        for round in 0..500_u64 {
            while gate.try_acquire(1) == TryAcquire::Taken {
                window.arrive().expect("paid for");
                queue.push_back(round);
            }
            assert_eq!(queue.len() as u64 + window.pending(), size, "buffer bounded, P6");
            for _ in 0..=round % size {
                if queue.pop_front().is_some() {
                    gate.grant(window.consumed());
                }
            }
            if queue.is_empty() {
                gate.grant(window.flush());
            }
            assert_eq!(gate.available(), window.remaining(), "conservation, C1");
        }
    }
}

#[test]
fn hz_w06_a_chunk_beyond_the_window_is_a_violation_and_changes_nothing() {
    let window = CreditWindow::new(2);
    assert_eq!((window.arrive(), window.arrive()), (Ok(()), Ok(())));
    for _ in 0..3 {
        assert_eq!(window.arrive(), Err(Violation));
        assert_eq!((window.remaining(), window.pending()), (0, 0));
    }
    assert_eq!(window.flush(), 0, "HZ-G10: nothing was consumed, so nothing is granted");
    assert_eq!(window.consumed(), 1);
    assert_eq!(window.arrive(), Ok(()));
}
