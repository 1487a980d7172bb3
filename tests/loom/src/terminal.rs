//! The end of a request: one of all that end it wins, one terminal is written, nothing is left behind.

use crate::Check;
use crate::account::Counters;
use crate::error::{Error, ErrorKind, Reason};
use crate::explore::{every, go};
use crate::frame::{Frame, FrameType};
use crate::link::FrameWriter;
use crate::request::{Connection, Exchange, Side, Terminal};
use crate::rig::{Written, chunk, flow, limits};
use crate::stream::InputStream;
use crate::sync::Arc;
use crate::time::Deadline;
use crate::wait::block_on;
use crate::wait::owed::Owed;

pub const CHECKS: &[Check] = &[
    ("terminal_a_cancel_races_the_handler_s_begin", cancel_or_begin),
    ("terminal_the_handler_s_end_races_a_cancel", end_or_cancel),
    ("terminal_the_link_dies_during_the_end", end_or_death),
    ("terminal_a_caller_s_cancel_races_the_answer", cancel_or_answer),
    ("terminal_who_waits_for_credit_is_released", releases_credit),
    ("terminal_no_grant_comes_behind_the_handler_s_end", no_grant_behind_end),
    ("terminal_no_grant_comes_behind_a_caller_s_cancel", no_grant_behind_cancel),
];

fn connection() -> (Arc<Connection>, Written) {
    connection_of(1)
}

fn connection_of(window: u64) -> (Arc<Connection>, Written) {
    let written = Written::default();
    let writer = FrameWriter::new(written.clone());
    let (owed, counters) = (Arc::new(Owed::default()), Arc::new(Counters::default()));
    let connection = Connection::start(writer, limits(window), 1024, owed, counters, Reason::clone)
        .expect("a thread can be started");
    (connection, written)
}

fn request(connection: &Connection, side: Side) -> Arc<Exchange> {
    connection.register(side, flow(), "cap").expect("an empty table")
}

fn cancelled() -> Reason {
    Error::new(ErrorKind::Cancelled, "enough")
}

fn ended(exchange: &Arc<Exchange>) -> Result<Terminal, Reason> {
    block_on(Arc::clone(exchange).ended(), Deadline::NEVER).expect("no limit")
}

/// All that it takes to have ended: no request left, at most one terminal and it is the last of its flow.
fn settled(connection: &Connection, written: &Written) -> usize {
    assert_eq!(connection.live_requests(), 0, "a request is left in the table");
    assert!(connection.wire().router.is_empty(), "a gate is left in the router");
    connection.wire().lanes.close();
    block_on(connection.wire().lanes.finished(), Deadline::NEVER).expect("no limit");
    let flow: Vec<FrameType> = written.kinds().into_iter().filter(|kind| kind.is_flow()).collect();
    let terminals = flow.iter().filter(|kind| kind.is_terminal()).count();
    assert!(terminals <= 1, "{flow:?}");
    assert!(terminals == 0 || flow.last().is_some_and(|kind| kind.is_terminal()), "{flow:?}");
    terminals
}

fn end_or_cancel() {
    every(2, || {
        let (connection, written) = connection();
        let exchange = request(&connection, Side::Handler);
        assert!(exchange.begin());
        let handler = Arc::clone(&exchange);
        let handling = go(move || handler.finish(None, None));
        exchange.stop(&cancelled()); // as a CANCEL does
        let told = handling.end();
        let end = ended(&exchange);
        assert_eq!(told.is_ok(), end.is_ok());
        assert_eq!(settled(&connection, &written), 1);
    });
}

fn end_or_death() {
    every(2, || {
        let (connection, written) = connection();
        let exchange = request(&connection, Side::Handler);
        assert!(exchange.begin());
        let handler = Arc::clone(&exchange);
        let handling = go(move || handler.finish(None, None));
        connection.die(&Error::new(ErrorKind::PeerDied, "gone"));
        let told = handling.end();
        let end = ended(&exchange);
        assert_eq!(told.is_ok(), end.is_ok());
        assert!(settled(&connection, &written) <= 1);
        assert!(connection.register(Side::Handler, flow(), "cap").is_err());
    });
}

fn cancel_or_answer() {
    every(2, || {
        let (connection, written) = connection();
        let exchange = request(&connection, Side::Caller);
        let caller = Arc::clone(&exchange);
        let cancelling = go(move || caller.fail(&cancelled()));
        let done = Terminal { exit_code: 0, progress: 1.0, message: None };
        exchange.end(Ok(done)); // as END does
        let end = ended(&exchange);
        cancelling.end();
        assert_eq!(ended(&exchange), end, "the first end stays");
        assert_eq!(settled(&connection, &written), 0);
        let cancels = written.kinds().iter().filter(|kind| **kind == FrameType::Cancel).count();
        assert_eq!(cancels, usize::from(end.is_err()));
    });
}

fn releases_credit() {
    every(1, || {
        let (connection, written) = connection();
        let exchange = request(&connection, Side::Handler);
        assert!(exchange.begin());
        let output = exchange.output("media:blob", None).expect("open");
        let output = crate::stream::OutputStream::new(output, Arc::new(()));
        let writing = go(move || {
            let first = output.blocking_emit(crate::frame::Value::Bool(true));
            let second = output.blocking_emit(crate::frame::Value::Bool(true)); // beyond the window of 1
            (first, second)
        });
        exchange.stop(&cancelled());
        let (_, second) = writing.end();
        assert_eq!(second.expect_err("no second credit").kind(), ErrorKind::Cancelled);
        assert!(exchange.finish(None, None).is_err());
        assert_eq!(settled(&connection, &written), 1);
    });
}

/// A request at `side` of which one chunk was consumed and not granted back yet.
fn owing(side: Side) -> (Arc<Connection>, Arc<Exchange>, Written) {
    let (connection, written) = connection_of(4);
    let exchange = request(&connection, side);
    exchange.frame(Frame::stream_start(flow().id, None, "a", "media:blob"));
    exchange.frame(chunk(0));
    let input = block_on(Arc::clone(&exchange).next_input(), Deadline::NEVER);
    let input = input.expect("no limit").expect("live").expect("one stream");
    let input = InputStream::new(input, Arc::new(()), None);
    assert!(input.blocking_recv().expect("live").is_some());
    (connection, exchange, written)
}

/// What is written of the request while another wait sends what it owes, and `end` ends it.
fn written_beside(side: Side, end: impl FnOnce(&Exchange)) -> Vec<FrameType> {
    let (connection, exchange, written) = owing(side);
    let wire = Arc::clone(exchange.wire());
    let waiting = go(move || wire.owed.settle_all());
    end(&exchange);
    waiting.end();
    settled(&connection, &written);
    written.kinds()
}

fn no_grant_behind_end() {
    every(2, || {
        let kinds = written_beside(Side::Handler, |exchange| {
            assert!(exchange.begin());
            exchange.finish(None, None).expect("it ends");
        });
        assert!(
            matches!(kinds[..], [FrameType::End] | [FrameType::Credit, FrameType::End]),
            "{kinds:?}"
        );
    });
}

fn no_grant_behind_cancel() {
    every(2, || {
        let kinds = written_beside(Side::Caller, |exchange| exchange.fail(&cancelled()));
        assert!(
            matches!(kinds[..], [FrameType::Cancel] | [FrameType::Credit, FrameType::Cancel]),
            "{kinds:?}"
        );
    });
}

/// A request that is cancelled before its handler has it never runs; one that runs is told to stop
/// and ends with its handler, never under it (`cancelled_in_the_queue_never_runs`).
fn cancel_or_begin() {
    every(2, || {
        let (connection, _written) = connection();
        let exchange = request(&connection, Side::Handler);
        let handler = Arc::clone(&exchange);
        let handling = go(move || handler.begin());
        exchange.frame(Frame::cancel(flow().id, None, false));
        let runs = handling.end();
        let ended = connection.live_requests() == 0;
        connection.wire().lanes.close();
        assert!(runs != ended, "runs {runs}, ended {ended}");
    });
}
