//! Streams between an engine and cartridges, over real sockets.

mod support;

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use sluicegate::{Cap, ErrorKind, Mode, StartOptions, Value, blocking_forward};
use support::{ECHO, PROMPT, attach, attach_echo, engine, limits, within};

const LIMIT: Duration = Duration::from_secs(180);

#[test]
fn values_come_back_as_they_went() {
    within(LIMIT, "echo", || {
        let engine = engine(limits(2, 16));
        let peer = attach_echo(&engine);
        let call = peer.call(ECHO).expect("live");
        let values = [
            Value::Uint(7),
            Value::Text("héllo".into()),
            Value::Null,
            Value::Bool(true),
            Value::Float(1.5),
            Value::Bytes(vec![1, 2, 3].into()),
            Value::Array(vec![Value::Uint(1), Value::Nint(0)]),
        ];
        let input = call.input("media:blob").expect("open");
        let (sent, feeding) = (values.clone(), call.clone());
        let feeder = thread::spawn(move || {
            for value in sent {
                input.blocking_emit(value)?;
                input.blocking_flush()?;
            }
            feeding.blocking_finish_input()
        });
        let output = call.blocking_output().expect("a result");
        let back: Vec<Value> = output.iter().map(|item| item.expect("a value").value).collect();
        assert_eq!(back, values);
        feeder.join().expect("no panic").expect("sent");
        let end = call.blocking_wait().expect("success");
        assert_eq!((end.exit_code, end.progress), (0, 1.0));
        assert_eq!(peer.live_calls(), 0);
    });
}

/// L9, L10, HZ-W02: every window moves everything, with grants in batches of half of it.
#[test]
fn l9_l10_every_window_moves_everything() {
    within(LIMIT, "windows", || {
        for window in [1, 2, 3, 4, 5, 32] {
            let engine = engine(limits(window, 1024));
            let peer = attach_echo(&engine);
            let call = peer.call(ECHO).expect("live");
            let input = call.input("media:blob").expect("open");
            let feeding = call.clone();
            let feeder = thread::spawn(move || {
                for n in 0..2000_u64 {
                    input.blocking_emit(Value::Uint(n))?;
                }
                feeding.blocking_finish_input()
            });
            let output = call.blocking_output().expect("a result");
            let count = output
                .iter()
                .enumerate()
                .inspect(|(n, item)| {
                    let value = &item.as_ref().expect("a value").value;
                    assert_eq!(value.as_u64(), Some(*n as u64));
                })
                .count();
            assert_eq!(count, 2000, "window {window}");
            feeder.join().expect("no panic").expect("sent");
            call.blocking_wait().expect("success");
        }
    });
}

/// HZ-W03, HZ-G11: an item is wider than the window, down to a window of one.
#[test]
fn hz_w03_an_item_may_be_wider_than_the_window() {
    const ITEMS: &str = "cap:items;in=media:items;out=media:items";
    within(LIMIT, "wide items", || {
        for window in [1, 2, 7] {
            let engine = engine(limits(window, 16));
            let cap = Cap::new(ITEMS).input_sequence(true).output_sequence(true);
            let peer = attach(&engine, cap, ITEMS, |request| {
                let output = request.output();
                for item in &request.blocking_input()? {
                    let item = item?;
                    output.blocking_emit_list_item(item.value, item.meta)?;
                }
                Ok(())
            });
            let call = peer.call(ITEMS).expect("live");
            let input = call.input("media:items").expect("open");
            let feeding = call.clone();
            let feeder = thread::spawn(move || {
                for n in 0..50_u64 {
                    let meta = Value::text_map([("n", Value::Uint(n))]);
                    let item = Value::Bytes(vec![n as u8; 800].into()); // 51 chunks
                    input.blocking_emit_list_item(item, Some(meta))?;
                }
                feeding.blocking_finish_input()
            });
            let items = call.blocking_output().expect("a result").blocking_collect_items();
            let items = items.expect("all items");
            assert_eq!(items.len(), 50);
            for (n, item) in items.iter().enumerate() {
                assert_eq!(item.value.as_bytes().expect("bytes")[..], vec![n as u8; 800]);
                let meta = item.meta.as_ref().and_then(|m| m.get("n")).and_then(Value::as_u64);
                assert_eq!(meta, Some(n as u64));
            }
            feeder.join().expect("no panic").expect("sent");
        }
    });
}

/// L13, L17: cancelling releases a handler that waits for credit, at once.
#[test]
fn l13_a_cancel_releases_a_blocked_sender() {
    const FOREVER: &str = "cap:forever;in=media:void;out=media:blob";
    within(LIMIT, "cancel", || {
        let (released, was_released) = mpsc::channel();
        let engine = engine(limits(4, 64));
        let peer = attach(&engine, Cap::new(FOREVER), FOREVER, move |request| {
            let output = request.output();
            let options = StartOptions { unbounded: true, ..StartOptions::mode(Mode::Scalar) };
            output.start(options)?;
            let error = (0..).find_map(|n| output.blocking_emit(Value::Uint(n)).err());
            let error = error.expect("ends");
            released.send(error.clone()).expect("the test listens");
            Err(error)
        });
        let call = peer.call(FOREVER).expect("live");
        let output = call.blocking_output().expect("a result");
        let refused = output.blocking_collect_items().expect_err("L16: no end to collect up to");
        assert_eq!(refused.kind(), ErrorKind::Unbounded);
        for n in 0..10 {
            let item = output.blocking_recv().expect("a value").expect("no end");
            assert_eq!(item.value, Value::Uint(n));
        }
        call.cancel(&ErrorKind::Cancelled.into());
        let error = was_released.recv_timeout(PROMPT).expect("released");
        assert_eq!(error.kind(), ErrorKind::Cancelled);
        assert_eq!(output.blocking_recv().expect_err("over").kind(), ErrorKind::Cancelled);
        assert_eq!(call.blocking_wait().expect_err("over").kind(), ErrorKind::Cancelled);
    });
}

/// L11: a chain keeps credit end to end over every hop, with different windows.
#[test]
fn l11_a_chain_forwards_everything_through_different_windows() {
    within(LIMIT, "chain", || {
        let (wide, narrow) = (engine(limits(32, 4096)), engine(limits(1, 512)));
        let (first, second) = (attach_echo(&wide), attach_echo(&narrow));
        let (a, b) = (first.call(ECHO).expect("live"), second.call(ECHO).expect("live"));
        let source = a.input("media:blob").expect("open");
        let data: Vec<u8> = (0..1_000_000_u32).map(|n| (n % 251) as u8).collect();
        let (sent, feeding) = (data.clone(), a.clone());
        let feeder = thread::spawn(move || {
            source.blocking_write(&sent)?;
            feeding.blocking_finish_input()
        });
        let (upstream, forwarding) = (a.clone(), b.clone());
        let hop = thread::spawn(move || {
            let from = upstream.blocking_output()?;
            blocking_forward(from, forwarding.input("media:blob")?)?;
            forwarding.blocking_finish_input()
        });
        let all = b.blocking_output().expect("a result").blocking_collect_bytes().expect("all");
        assert!(all == data);
        feeder.join().expect("no panic").expect("fed");
        hop.join().expect("no panic").expect("forwarded");
        a.blocking_wait().expect("success");
        b.blocking_wait().expect("success");
    });
}

/// L14: progress, logs and the end flow while every data window stands at zero and nobody reads.
#[test]
fn l14_control_flows_while_all_windows_are_at_zero() {
    const STUCK: &str = "cap:stuck;in=media:void;out=media:blob";
    within(LIMIT, "control", || {
        let (filled, is_filled) = mpsc::channel();
        let engine = engine(limits(2, 64));
        let peer = attach(&engine, Cap::new(STUCK), STUCK, move |request| {
            let output = request.output();
            output.blocking_emit(Value::Uint(1))?;
            output.blocking_emit(Value::Uint(2))?;
            filled.send(output.stats().window).expect("the test listens");
            request.progress(0.5, "standing still");
            Err(sluicegate::Error::new(ErrorKind::LimitReached, "no way on"))
        });
        let call = peer.call(STUCK).expect("live");
        assert_eq!(is_filled.recv().expect("filled"), 0);
        let event = call.blocking_next_event().expect("progress");
        assert!(matches!(event, sluicegate::Event::Progress { value, .. } if value == 0.5));
        let error = call.blocking_wait().expect_err("failed");
        assert_eq!((error.kind(), error.message()), (ErrorKind::LimitReached, "no way on"));
        let output = call.blocking_output().expect("opened before the end");
        for n in 1..=2 {
            let item = output.blocking_recv().expect("came before the end").expect("a value");
            assert_eq!(item.value, Value::Uint(n));
        }
        assert_eq!(
            output.blocking_recv().expect_err("then the end").kind(),
            ErrorKind::LimitReached
        );
    });
}

/// L15: a handler that answers while its input still flows never stands against its caller, with the
/// smallest window and far more data than all buffers hold.
#[test]
fn l15_both_directions_of_one_request_flow_at_once() {
    within(LIMIT, "both directions", || {
        let engine = engine(limits(1, 4096));
        let peer = attach_echo(&engine);
        let call = peer.call(ECHO).expect("live");
        let input = call.input("media:blob").expect("open");
        let feeding = call.clone();
        let feeder = thread::spawn(move || {
            for _ in 0..500 {
                input.blocking_write(&[7; 4096])?;
            }
            feeding.blocking_finish_input()
        });
        let output = call.blocking_output().expect("a result");
        let all = output.blocking_collect_bytes().expect("everything");
        assert_eq!(all.len(), 500 * 4096);
        feeder.join().expect("no panic").expect("sent");
    });
}
