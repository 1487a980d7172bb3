//! A caller and a handler with a wire between them, as the runtimes put them together: every thread of
//! both, under many random schedules. What does not end is a deadlock, which the checker reports.

use std::collections::VecDeque;
use std::io::{self, Read, Write};

use crate::Check;
use crate::account::Counters;
use crate::error::{Error, ErrorKind, Reason};
use crate::explore::{Running, go, many};
use crate::frame::{Frame, Value};
use crate::link::{FrameReader, FrameWriter};
use crate::request::{Connection, Exchange, Keeper, Role, Side};
use crate::rig::limits;
use crate::stream::{InputStream, Mode, OutputStream};
use crate::sync::{Arc, Condvar, Mutex};
use crate::time::Deadline;
use crate::wait::block_on;
use crate::wait::owed::Owed;

pub const CHECKS: &[Check] = &[
    ("whole_values_go_both_ways", both_ways),
    ("whole_items_wider_than_the_window", wide_items),
    ("whole_a_cancel_ends_both_ends", cancelled),
    ("whole_a_dead_peer_ends_what_waits", dead_peer),
];

const WINDOW: u64 = 2;

/// One direction of a wire. A write never waits; a read waits for bytes or for the end.
#[derive(Clone, Default)]
struct Pipe(Arc<(Mutex<(VecDeque<u8>, bool)>, Condvar)>);

struct PipeEnd(Pipe);

impl Read for Pipe {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut state = self.0.0.lock();
        while state.0.is_empty() && !state.1 {
            self.0.1.wait(&mut state);
        }
        state.0.read(buffer)
    }
}

impl Write for PipeEnd {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.0.0.lock().0.extend(bytes);
        self.0.0.1.notify_all();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for PipeEnd {
    fn drop(&mut self) {
        self.0.0.0.lock().1 = true;
        self.0.0.1.notify_all();
    }
}

/// What serves a request, on a thread of its own.
type Handler = fn(Arc<Exchange>);

struct End {
    handler: Option<Handler>,
    serving: Arc<std::sync::Mutex<Vec<Running<()>>>>,
}

impl Role for End {
    fn request(&self, connection: &Arc<Connection>, frame: Frame) {
        let exchange =
            connection.register(Side::Handler, frame.flow_key(), "cap").expect("one request");
        let handler = self.handler.expect("only one end is called");
        self.serving.lock().expect("no panic").push(go(move || handler(exchange)));
    }

    fn heartbeat(&self, _: &Arc<Connection>, _: &Frame, _: bool) -> Result<(), Reason> {
        Ok(())
    }

    fn policy(&self, _: &Frame) -> Result<(), Reason> {
        Ok(())
    }

    fn hello(&self, _: &Connection, _: &Frame) -> Result<(), Reason> {
        Ok(())
    }
}

/// One end of the wire and its reading thread.
struct Peer {
    connection: Arc<Connection>,
    reading: Running<()>,
    serving: Arc<std::sync::Mutex<Vec<Running<()>>>>,
}

impl Peer {
    fn start(from: Pipe, to: Pipe, handler: Option<Handler>) -> Self {
        let serving = Arc::default();
        let role = End { handler, serving: Arc::clone(&serving) };
        let (owed, counters) = (Arc::new(Owed::default()), Arc::new(Counters::default()));
        let writer = FrameWriter::new(PipeEnd(to));
        let connection =
            Connection::start(writer, limits(WINDOW), 1024, owed, counters, Reason::clone)
                .expect("a thread can be started");
        let reader = Arc::clone(&connection);
        let reading = go(move || {
            let reason = reader.read_all(&mut FrameReader::new(from), &role);
            reader.die(&reason);
        });
        Peer { connection, reading, serving }
    }

    /// Says nothing more and waits until the other end does the same.
    fn end(self) {
        self.connection.wire().lanes.close();
        self.reading.end();
        let serving = std::mem::take(&mut *self.serving.lock().expect("no panic"));
        serving.into_iter().for_each(Running::end);
        assert_eq!(self.connection.live_requests(), 0, "a request is left in the table");
        assert!(self.connection.wire().router.is_empty(), "a gate is left in the router");
    }
}

fn pair(handler: Handler) -> (Peer, Peer) {
    let (there, back) = (Pipe::default(), Pipe::default());
    let callee = Peer::start(there.clone(), back.clone(), Some(handler));
    (Peer::start(back, there, None), callee)
}

fn input(exchange: &Arc<Exchange>, keeper: &Arc<Keeper>) -> Result<Option<InputStream>, Error> {
    let next = exchange.wire().owed.before_wait(Arc::clone(exchange).next_input());
    let core = block_on(next, Deadline::NEVER).expect("no limit")?;
    Ok(core.map(|core| InputStream::new(core, Arc::clone(keeper) as Arc<_>, None)))
}

fn output(exchange: &Arc<Exchange>, keeper: &Arc<Keeper>) -> Result<OutputStream, Error> {
    Ok(OutputStream::new(exchange.output("media:blob", None)?, Arc::clone(keeper) as Arc<_>))
}

/// Answers each value as it came, and ends when they end.
fn echo(exchange: Arc<Exchange>) {
    let keeper = Keeper::new(Arc::clone(&exchange), "unfinished");
    if !exchange.begin() {
        return; // cancelled before it was taken
    }
    let served = || -> Result<(), Error> {
        let from = input(&exchange, &keeper)?.expect("the caller sends one stream");
        let to = output(&exchange, &keeper)?;
        let items = from.info().mode == Mode::Sequence;
        while let Some(item) = from.blocking_recv()? {
            match items {
                true => to.blocking_emit_list_item(item.value, None)?,
                false => to.blocking_emit(item.value)?,
            }
        }
        to.blocking_close()
    };
    match served() {
        Ok(()) => drop(exchange.finish(None, None)),
        Err(reason) => exchange.fail(&reason),
    }
}

fn both_ways() {
    many(60, || {
        let (caller, callee) = pair(echo);
        let exchange = caller.connection.call("cap", None).expect("alive");
        let keeper = Keeper::new(Arc::clone(&exchange), "unfinished");
        let sending = output(&exchange, &keeper).expect("open");
        let flow = exchange.flow();
        let wire = Arc::clone(exchange.wire());
        let sender = go(move || {
            for n in 0..5 {
                sending.blocking_emit(Value::Uint(n)).expect("the handler reads");
            }
            sending.blocking_close().expect("the handler reads");
            wire.send(Frame::end(flow.id, flow.routing_id)).expect("alive");
        });
        let answers = input(&exchange, &keeper).expect("success").expect("one stream");
        let mut seen = Vec::new();
        while let Some(item) = answers.blocking_recv().expect("success") {
            seen.push(item.value);
        }
        assert_eq!(seen, (0..5).map(Value::Uint).collect::<Vec<_>>());
        sender.end();
        block_on(Arc::clone(&exchange).ended(), Deadline::NEVER)
            .expect("no limit")
            .expect("success");
        caller.connection.wire().lanes.close();
        callee.end();
        caller.end();
    });
}

/// Items of several chunks over a window of two.
fn wide_items() {
    many(40, || {
        let (caller, callee) = pair(echo);
        let exchange = caller.connection.call("cap", None).expect("alive");
        let keeper = Keeper::new(Arc::clone(&exchange), "unfinished");
        let sending = output(&exchange, &keeper).expect("open");
        let (flow, wire) = (exchange.flow(), Arc::clone(exchange.wire()));
        let item = Value::Text("x".repeat(700));
        let again = item.clone();
        let sender = go(move || {
            for _ in 0..3 {
                sending.blocking_emit_list_item(again.clone(), None).expect("the handler reads");
            }
            sending.blocking_close().expect("the handler reads");
            wire.send(Frame::end(flow.id, flow.routing_id)).expect("alive");
        });
        let answers = input(&exchange, &keeper).expect("success").expect("one stream");
        for _ in 0..3 {
            assert_eq!(answers.blocking_recv().expect("success").expect("an item").value, item);
        }
        assert!(answers.blocking_recv().expect("success").is_none());
        sender.end();
        block_on(Arc::clone(&exchange).ended(), Deadline::NEVER)
            .expect("no limit")
            .expect("success");
        caller.connection.wire().lanes.close();
        callee.end();
        caller.end();
    });
}

/// The caller sends more than anybody reads, and is cut off while it waits for credit.
fn cancelled() {
    many(200, || {
        let (caller, callee) = pair(echo);
        let exchange = caller.connection.call("cap", None).expect("alive");
        let keeper = Keeper::new(Arc::clone(&exchange), "unfinished");
        let sending = output(&exchange, &keeper).expect("open");
        let sender = go(move || (0..40).try_for_each(|_| sending.blocking_emit(Value::Bool(true))));
        exchange.fail(&Error::new(ErrorKind::Cancelled, "enough"));
        let _released = sender.end(); // with an error unless all of it fitted before
        let end = block_on(Arc::clone(&exchange).ended(), Deadline::NEVER).expect("no limit");
        assert_eq!(end.expect_err("cancelled").kind(), ErrorKind::Cancelled);
        caller.connection.wire().lanes.close();
        callee.end();
        caller.end();
    });
}

/// The handler's end says nothing more while the caller waits for credit and for an answer.
fn dead_peer() {
    many(200, || {
        let (caller, callee) = pair(|exchange| exchange.wire().lanes.close());
        let exchange = caller.connection.call("cap", None).expect("alive");
        let keeper = Keeper::new(Arc::clone(&exchange), "unfinished");
        let sending = output(&exchange, &keeper).expect("open");
        let sender = go(move || (0..9).try_for_each(|_| sending.blocking_emit(Value::Bool(true))));
        let answer = input(&exchange, &keeper);
        assert_eq!(answer.expect_err("nobody answers").kind(), ErrorKind::PeerDied);
        assert!(sender.end().is_err());
        caller.end();
        callee.end();
    });
}
