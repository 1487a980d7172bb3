//! The loop of whatever stands in between: each frame to where its request goes on (L11).
//!
//! It makes and swallows no credit. It waits for nothing: a frame goes straight into the lanes of
//! the connection that it leaves by. What piles up there is bounded, because every chunk is within
//! the window of its stream, and one that is not ends its request (L12).

use std::collections::HashMap;

use super::end::{End, LinkId};
use super::port::{Port, Waiting};
use super::table::{Ending, Noted, Refused, Route, Routes, STREAMS};
use super::tally::Way;
use crate::account::load::UNREAD;
use crate::account::{Cause, Counters, Standing, StandingRequest, in_line};
use crate::error::{AttributionClass, Error, ErrorKind, Reason};
use crate::frame::{FlowKey, Frame, FrameType, Version};
use crate::link::Source;
use crate::model::accounting::DropReason;
use crate::model::disposition::Disposition;
use crate::model::phase::Phase;
use crate::model::relay::lies_unread;
use crate::request::{Connection, NAME, Passed, Unroutable, fitting};
use crate::sync::{Arc, Mutex};
use crate::time::now;

/// Requests that may be live in one relay.
const REQUESTS: usize = 65_536;

/// Where a request goes on.
pub(crate) struct Destination {
    pub(crate) link: LinkId,
    /// The ids that its frames carry there.
    pub(crate) flow: FlowKey,
    /// As whoever serves it has declared it.
    pub(crate) cap: String,
    pub(crate) is_peer: bool,
    /// Chunks that a stream may send before the first grant.
    pub(crate) window: u64,
}

#[derive(Default)]
pub(crate) struct Router {
    state: Mutex<State>,
    pub(crate) counters: Arc<Counters>,
}

#[derive(Default)]
struct State {
    ports: HashMap<LinkId, Port>,
    routes: Routes,
}

impl State {
    fn port(&mut self, link: LinkId) -> Result<&mut Port, Reason> {
        self.ports.get_mut(&link).ok_or_else(gone)
    }
}

impl Router {
    /// Enters a connection. What waited for it goes out in its order.
    pub(crate) fn add(&self, link: LinkId, connection: &Arc<Connection>) {
        let mut state = self.state.lock();
        let before = state.ports.insert(link, Port::Live(Arc::clone(connection)));
        if let Some(Port::Starting(waiting)) = before {
            for frame in waiting.into_frames() {
                // Under the lock, so that nothing overtakes. A dead connection tells it by itself.
                let _gone = connection.pass(frame, None);
            }
        }
    }

    /// Enters a connection that is about to be made: what goes to it waits.
    pub(crate) fn starting(&self, link: LinkId) {
        self.state.lock().ports.insert(link, Port::Starting(Waiting::default()));
    }

    /// Sends a frame off by `link`, of `source` or this relay's own. Never waits.
    fn pass(&self, link: LinkId, frame: Frame, source: Option<Source>) -> Result<Passed, Reason> {
        let mut state = self.state.lock();
        let connection = match state.port(link)? {
            Port::Starting(waiting) => return Ok(waiting.push(frame)),
            Port::Live(connection) => Arc::clone(connection),
        };
        drop(state);
        connection.pass(frame, source)
    }

    /// Looks at the routes.
    pub(crate) fn with<R>(&self, look: impl FnOnce(&Routes) -> R) -> R {
        look(&self.state.lock().routes)
    }

    /// How many live requests `link` answers.
    pub(crate) fn load(&self, link: LinkId) -> usize {
        self.with(|routes| routes.load(link))
    }

    /// The requests that wait for connections that are being made, by connection.
    pub(crate) fn queued(&self) -> Vec<(LinkId, Vec<StandingRequest>)> {
        let (state, at) = (self.state.lock(), now());
        let starting = state.ports.iter().filter_map(|(link, port)| match port {
            Port::Starting(waiting) => Some((*link, waiting)),
            Port::Live(_) => None,
        });
        let queued = starting.map(|(link, waiting)| {
            let frames = waiting.by_flow();
            let of_link = state.routes.of_link(link);
            let routes = of_link.iter().filter_map(|asker| state.routes.get(*asker));
            let routes = routes.filter(|route| route.server.link == link);
            let mut told: Vec<_> = routes
                .map(|route| {
                    let since = at.saturating_duration_since(route.opened);
                    let unread = frames.get(&route.server.flow).copied().unwrap_or_default();
                    StandingRequest {
                        request: route.asker.flow.id.to_string(),
                        cap: route.cap.clone(),
                        calls: false,
                        standing: Standing { unread, ..Standing::whole(Cause::Queue, since) },
                    }
                })
                .collect();
            in_line(told.iter_mut().map(|told| &mut told.standing));
            (link, told)
        });
        queued.filter(|(_, told)| !told.is_empty()).collect()
    }

    /// A REQ came from `link` and goes to `to`. Answered with ERR if it cannot.
    pub(crate) fn open(&self, link: LinkId, mut frame: Frame, to: Destination) {
        let asker = End { link, flow: frame.flow_key() };
        let server = End { link: to.link, flow: to.flow };
        let opened = now();
        if frame.cap.is_some() {
            frame.cap = Some(to.cap.clone()); // whoever serves it looks for its own spelling
        }
        let entered = {
            let mut state = self.state.lock();
            let parent = frame.parent_rid().and_then(|id| state.routes.served_as(link, id));
            let mut route = Route {
                asker,
                server,
                cap: to.cap,
                is_peer: to.is_peer,
                parent,
                phase: Phase::Created,
                ending: None,
                asked: None,
                came_back: false,
                window: to.window,
                streams: Default::default(),
                opened,
                last: opened,
            };
            let _passes = route.note(Way::ToServer, &frame, opened); // REQ costs no credit (L14)
            route.phase = Phase::Created; // what registers it is not the first of what follows
            state.routes.open(route, REQUESTS)
        };
        match entered {
            Ok(()) => {
                let source = (link, frame.routing_id);
                (frame.id, frame.routing_id) = (server.flow.id, server.flow.routing_id);
                match self.pass(server.link, frame, Some(source)) {
                    Ok(Passed::Crowded) => self.fail(asker, Ending::Err, &crowded()),
                    Ok(Passed::On | Passed::Undone) => {}
                    Err(reason) => self.fail(asker, Ending::MasterDied, &reason),
                }
            }
            Err(Refused::Live) => {
                let message = format!("request {} was opened twice", asker.flow.id);
                self.abort(asker, Ending::Err, &Error::new(ErrorKind::Protocol, message));
            }
            Err(Refused::EndedLately) => self.counters.straggler(FrameType::Req.name()),
            Err(Refused::Full) => {
                let message = format!("{REQUESTS} requests go through this relay");
                self.answer(asker, &Error::new(ErrorKind::LimitReached, message));
            }
        }
    }

    /// Passes on a frame of a request that came from `link`.
    pub(crate) fn relay(&self, link: LinkId, frame: Frame) -> Result<(), Unroutable> {
        let mut state = self.state.lock();
        let at = state.routes.belongs(link, &frame);
        let Some((way, route)) = state.routes.find(at) else {
            let lately_ended = state.routes.dispose(at) == Disposition::Straggler;
            return Err(Unroutable { lately_ended });
        };
        let asker = route.asker;
        let to = if way == Way::ToServer { route.server } else { asker };
        let noted = route.note(way, &frame, now());
        let window = route.window;
        let ending = match (way, frame.frame_type) {
            (Way::ToAsker, FrameType::End) => Some(Ending::End),
            (Way::ToAsker, FrameType::Err) => Some(Ending::Err),
            _ => None,
        };
        route.ending = route.ending.or(ending);
        if way == Way::ToServer && frame.is_terminal() {
            route.asked = Some(frame.frame_type);
        }
        let kin = match frame.frame_type {
            FrameType::Cancel if way == Way::ToServer => state.routes.descendants(asker),
            _ => Vec::new(),
        };
        if ending.is_some() {
            state.routes.answered(asker);
        }
        let source = (link, frame.routing_id);
        let mut frame = frame;
        if frame.is_terminal() {
            // Under the lock, so that a switch beyond hears the ends of a call in the order in which they
            // are noted here: it drops what comes behind the handler's.
            (frame.id, frame.routing_id) = (to.flow.id, to.flow.routing_id);
            let passed = state.port(to.link).and_then(|port| port.pass(frame, source));
            if passed == Ok(Passed::Crowded) {
                drop(state);
                self.abort(asker, Ending::Err, &crowded());
                return Ok(());
            }
            if let Some(ending) = ending {
                // The terminal is on its way before the state goes (L6).
                state.routes.end(asker, ending, now());
            }
            return Ok(());
        }
        drop(state);
        match noted {
            Noted::Passes => {}
            Noted::Overrun => {
                self.overrun(asker, &frame);
                return Ok(());
            }
            Noted::TooMany => {
                self.refuse(asker, format!("a request opens at most {STREAMS} streams"));
                return Ok(());
            }
            Noted::Named => {
                self.refuse(asker, format!("the name of a stream has at most {NAME} bytes"));
                return Ok(());
            }
        }
        if let Some(version) = self.cannot_name(to.link, &frame) {
            self.unnamed(asker, version, &frame);
            return Ok(());
        }
        for child in kin {
            self.cancel_child(child, &frame, Some(source));
        }
        (frame.id, frame.routing_id) = (to.flow.id, to.flow.routing_id);
        let (chunks, bytes) = self.waiting(to.link, &frame);
        if lies_unread(window, chunks, UNREAD, bytes) {
            self.unread(asker, to, &frame);
            return Ok(());
        }
        match self.pass(to.link, frame, Some(source)) {
            // The handler never hears of it, so nobody else will answer.
            Ok(Passed::Undone) => self.fail(asker, Ending::Cancelled, &undone()),
            Ok(Passed::Crowded) => self.abort(asker, Ending::Err, &crowded()),
            // A connection that is gone tells everybody itself.
            Ok(Passed::On) | Err(_) => {}
        }
        Ok(())
    }

    /// A chunk beyond its window: the request fails at both ends, and only this one (L12).
    fn overrun(&self, asker: End, chunk: &Frame) {
        self.counters.drop_frame(DropReason::CreditViolation, FrameType::Chunk.name());
        let stream = chunk.stream_id.as_deref().unwrap_or_default();
        let message = format!("stream {stream:?} sent a chunk beyond its window");
        self.abort(
            asker,
            Ending::CreditViolation,
            &Error::new(ErrorKind::CreditViolation, message),
        );
    }

    /// The version of `link` if it has no way to say which output `frame` opens.
    fn cannot_name(&self, link: LinkId, frame: &Frame) -> Option<Version> {
        frame.output.as_ref()?;
        match self.state.lock().ports.get(&link) {
            Some(Port::Live(connection)) => {
                Some(connection.version()).filter(|version| !version.names_outputs())
            }
            _ => None,
        }
    }

    /// An output beside the main one, for who would take it for the main one: the request fails at both
    /// ends.
    fn unnamed(&self, asker: End, version: Version, start: &Frame) {
        let output = start.output.as_deref().unwrap_or_default();
        let message = format!(
            "output {output:?} cannot be passed on: who asked speaks protocol version {version}, which has the main output alone"
        );
        let (kind, class) = (ErrorKind::Protocol, ErrorKind::Protocol.class());
        let error = Error::with_code(kind, "VERSION_MISMATCH", class, message);
        self.abort(asker, Ending::Err, &error);
    }

    /// How many chunks of the stream of `frame`, if it is one, wait for `link`, and their bytes.
    fn waiting(&self, link: LinkId, frame: &Frame) -> (u64, u64) {
        match self.state.lock().ports.get(&link) {
            Some(Port::Live(connection)) if frame.frame_type == FrameType::Chunk => {
                connection.wire().lanes.passed_of(frame)
            }
            _ => (0, 0), // whoever does not run yet has granted nothing
        }
    }

    /// More than a window waits for `to`: who grants ahead of what it reads would have the relay hold
    /// what it does not (L10). The request fails at both ends.
    fn unread(&self, asker: End, to: End, chunk: &Frame) {
        self.counters.drop_frame(DropReason::Unread, FrameType::Chunk.name());
        if let Some(Port::Live(connection)) = self.state.lock().ports.get(&to.link) {
            let _begun = connection.wire().lanes.take_back(to.flow);
        }
        let stream = chunk.stream_id.as_deref().unwrap_or_default();
        let message = format!(
            "stream {stream:?} was granted more than its window, and {UNREAD} bytes of it lie unread"
        );
        self.abort(asker, Ending::CreditViolation, &Error::new(ErrorKind::LimitReached, message));
    }

    /// More than either end would take.
    fn refuse(&self, asker: End, message: String) {
        self.abort(asker, Ending::Err, &Error::new(ErrorKind::LimitReached, message));
    }

    /// `link` is gone: what it answered fails, what it asked for is cancelled.
    pub(crate) fn gone(&self, link: LinkId, reason: &Reason) {
        let ends = {
            let mut state = self.state.lock();
            state.ports.remove(&link);
            state.routes.of_link(link)
        };
        let left = Error::with_code(
            ErrorKind::Cancelled,
            "ABORTED_COLLATERAL",
            AttributionClass::Environment,
            format!("who asked for it is gone: {}", reason.message()),
        );
        for asker in ends {
            if asker.link == link {
                self.abort(asker, Ending::Cancelled, &left);
            } else {
                self.fail(asker, Ending::MasterDied, reason);
            }
        }
    }

    /// Ends a request at once: CANCEL to who answers, ERR to who asked.
    fn abort(&self, asker: End, ending: Ending, reason: &Reason) {
        let (route, kin) = {
            let mut state = self.state.lock();
            let kin = state.routes.descendants(asker);
            let Some(route) = state.routes.end(asker, ending, now()) else { return };
            (route, kin)
        };
        let cancel = cancel(route.server.flow, reason);
        for child in kin {
            self.cancel_child(child, &cancel, None);
        }
        let _gone = self.pass(route.server.link, cancel, None); // a dead one has nobody to tell
        self.answer(asker, reason);
    }

    /// Ends a request whose handler is out of reach: ERR to who asked.
    fn fail(&self, asker: End, ending: Ending, reason: &Reason) {
        let ended = self.state.lock().routes.end(asker, ending, now());
        if ended.is_some() {
            self.answer(asker, reason);
        }
    }

    /// ERR to who asked.
    fn answer(&self, asker: End, reason: &Reason) {
        let FlowKey { id, routing_id } = asker.flow;
        let err = Frame::err(id, routing_id, reason.code(), reason.class(), text(reason));
        let _gone = self.pass(asker.link, err, None); // a dead one has nobody to tell
    }

    /// The request whose handler asked for `child` is cancelled: so is the child (L17).
    fn cancel_child(&self, child: End, why: &Frame, source: Option<Source>) {
        let found = self.state.lock().routes.find(child).map(|(_, route)| route.server);
        let Some(server) = found else { return };
        let mut cancel = Frame::cancel(server.flow.id, server.flow.routing_id, false);
        cancel.meta.clone_from(&why.meta);
        match self.pass(server.link, cancel, source) {
            Ok(Passed::Undone) => self.fail(child, Ending::Cancelled, &undone()),
            Ok(Passed::Crowded) => self.abort(child, Ending::Err, &crowded()),
            Ok(Passed::On) | Err(_) => {}
        }
    }
}

fn undone() -> Reason {
    Error::new(ErrorKind::Cancelled, "the request was cancelled before it was handed on")
}

/// Who sends more than is read fails its own request, and no link that others use too.
fn crowded() -> Reason {
    let message = "too many frames of this sender wait for an end that does not read them yet";
    Error::new(ErrorKind::LimitReached, message)
}

fn cancel(flow: FlowKey, reason: &Reason) -> Frame {
    let cancel = Frame::cancel(flow.id, flow.routing_id, false);
    cancel.with_reason(reason.code(), reason.class(), text(reason))
}

/// What a reason says; no text of a terminal may be empty.
fn text(reason: &Reason) -> &str {
    fitting(match reason.message() {
        "" => reason.code(),
        message => message,
    })
}

fn gone() -> Reason {
    Error::new(ErrorKind::PeerDied, "the connection it was to go by is gone")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::MessageId;

    /// A cartridge that is being started has room for so many frames. What finds none fails its request, and
    /// is not left out of it.
    #[test]
    fn what_finds_no_room_before_a_cartridge_runs_fails_its_request() {
        let (router, id) = (Router::default(), |n: u64| MessageId::Uint(n));
        router.starting(1);
        let mut opened = 0;
        loop {
            let frame = Frame::req(id(opened), None, "cap:x", "application/cbor");
            let flow = frame.flow_key();
            let to = Destination { link: 1, flow, cap: "cap:x".into(), is_peer: false, window: 1 };
            router.open(0, frame, to);
            if router.load(1) as u64 == opened {
                break; // this one was refused
            }
            opened += 1;
        }
        let live = |n| {
            let asker = End { link: 0, flow: FlowKey::new(id(n), None) };
            router.with(|routes| routes.get(asker).is_some())
        };
        let frames = [
            Frame::stream_start(id(0), None, "in", "media:"),
            Frame::end(id(1), None),
            Frame::stream_end(id(2), None, "in", Some(0)),
        ];
        for (n, frame) in (0..).zip(frames) {
            assert!(live(n));
            assert!(router.relay(0, frame).is_ok());
            assert!(!live(n), "request {n}");
            // Its REQ waits no longer: there is room for one frame of another.
            let start = Frame::stream_start(id(n + 10), None, "in", "media:");
            assert!(router.relay(0, start).is_ok());
            assert!(live(n + 10));
        }
        assert_eq!(router.load(1) as u64, opened - 3);
    }
}
