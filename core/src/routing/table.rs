//! What a relay knows of the requests that go through it: where each came from, where it went, what
//! has passed, and what became of it. Nothing here waits or writes.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::time::Instant;

pub(crate) use crate::account::Ending;
use crate::frame::{CreditDirection, FlowKey, Frame, FrameType, MessageId};
use crate::model::disposition::{self, Disposition, Registration, Remembered};
use crate::model::phase::Phase;
use crate::request::NAME;

use super::end::{End, LinkId};
use super::index::{Index, Touches};
use super::tally::{StreamTally, Way};

/// Streams that one request may open in one direction, as at its ends.
pub(crate) const STREAMS: usize = 1024;

/// Whether a frame may pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Noted {
    Passes,
    /// A chunk beyond its stream's window (L12).
    Overrun,
    /// A stream more than a request may open.
    TooMany,
    /// A stream with a name longer than is kept.
    Named,
}

/// One live request.
pub(crate) struct Route {
    /// Who asked.
    pub(crate) asker: End,
    /// Who answers.
    pub(crate) server: End,
    pub(crate) cap: String,
    /// A call that a handler made, and not one from outside.
    pub(crate) is_peer: bool,
    /// The request whose handler asked for this one.
    pub(crate) parent: Option<End>,
    pub(crate) phase: Phase,
    /// Its terminal has passed.
    pub(crate) ending: Option<Ending>,
    /// The END or ERR of its arguments, once it has passed.
    pub(crate) asked: Option<FrameType>,
    /// This relay is also who answers, through a switch beyond: what is left of its arguments has
    /// come back.
    pub(crate) came_back: bool,
    /// Chunks that each of its streams may send before the first grant.
    pub(crate) window: u64,
    pub(crate) streams: BTreeMap<(Way, Option<String>), StreamTally>,
    pub(crate) opened: Instant,
    pub(crate) last: Instant,
}

/// What is kept of an ended request.
#[derive(Clone, Debug)]
pub(crate) struct Summary {
    pub(crate) asker: End,
    pub(crate) server: End,
    pub(crate) cap: String,
    pub(crate) is_peer: bool,
    pub(crate) ending: Ending,
    pub(crate) lifetime_ms: u64,
    pub(crate) frames: (u64, u64),
    pub(crate) bytes: (u64, u64),
}

/// Why a request is not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// A live request of this asker has this id.
    Live,
    /// It had one lately: an id is used once.
    EndedLately,
    /// As many are live as may be.
    Full,
}

/// The requests of one relay, by both of their ends.
#[derive(Default)]
pub(crate) struct Routes {
    live: HashMap<End, Route>,
    /// The end that answers → the end that asked, which is the key of `live`.
    served: HashMap<End, End>,
    index: Index,
    ended: VecDeque<Summary>,
    registered: u64,
    by_ending: BTreeMap<Ending, u64>,
}

impl Routes {
    /// Lets a request in.
    pub(crate) fn open(&mut self, route: Route, limit: usize) -> Result<(), Refused> {
        let asker = route.asker;
        let live = self.live.contains_key(&asker) || self.served.contains_key(&route.server);
        match disposition::register(false, live, count(self.live.len()), count(limit)) {
            Registration::Registered => {}
            Registration::AlreadyLive => return Err(Refused::Live),
            Registration::Full | Registration::LinkClosed => return Err(Refused::Full),
        }
        if self.ended_lately(asker) {
            return Err(Refused::EndedLately); // the writers beyond write nothing more of it (L4)
        }
        self.served.insert(route.server, asker);
        self.index.enter(&route.touches());
        self.live.insert(asker, route);
        self.registered = self.registered.saturating_add(1);
        Ok(())
    }

    /// The live request that a frame which came from `end` belongs to, and which way it goes.
    pub(crate) fn find(&mut self, end: End) -> Option<(Way, &mut Route)> {
        if let Some(asker) = self.served.get(&end) {
            return self.live.get_mut(asker).map(|route| (Way::ToAsker, route));
        }
        self.live.get_mut(&end).map(|route| (Way::ToServer, route))
    }

    /// The end that a frame which came from `link` belongs to.
    ///
    /// A switch beyond may leave its number on what answers a call that came from here. If it gave
    /// the call to this relay to answer, that number also names the request, which comes back here:
    /// then the frame is told by what each side has sent of its kind and stream.
    pub(crate) fn belongs(&mut self, link: LinkId, frame: &Frame) -> End {
        let numbered = End { link, flow: frame.flow_key() };
        let plain = End { link, flow: FlowKey::new(frame.id, None) };
        if numbered == plain {
            return plain;
        }
        let Some(asker) = self.served.get(&plain).copied() else {
            return match self.dispose(numbered) {
                Disposition::NoRoute => plain,
                _ => numbered,
            };
        };
        if !self.live.contains_key(&numbered) && !self.ended_lately(numbered) {
            return plain;
        }
        let sent = |end: End, way: Way| {
            let key = (way, frame.stream_id.clone());
            let tally = self.live.get(&end).and_then(|route| route.streams.get(&key));
            tally.map_or(0, |tally| tally.frames)
        };
        let answered = !self.live.contains_key(&numbered);
        let call = self.live.get(&asker);
        let came_back = call.is_some_and(|call| call.came_back);
        // A terminal that who asked has not sent cannot come back.
        let asked = call.and_then(|call| call.asked) == Some(frame.frame_type);
        let answers = match frame.frame_type {
            FrameType::Credit => {
                matches!(frame.credit_direction(), Some(CreditDirection::Request))
            }
            FrameType::Cancel | FrameType::CloseStream => false,
            FrameType::Log => true,
            FrameType::Err => came_back || answered || !asked,
            FrameType::End => came_back || !asked,
            _ => {
                let all_back = sent(asker, Way::ToServer) <= sent(numbered, Way::ToServer);
                came_back || all_back && (answered || sent(numbered, Way::ToAsker) > 0)
            }
        };
        let terminal = frame.is_terminal();
        if let Some(call) = self.live.get_mut(&asker)
            && terminal
            && !answers
        {
            call.came_back = true;
        }
        if answers { plain } else { numbered }
    }

    /// Who answers at `numbered` has ended it. If the call came from here, a switch beyond drops what
    /// is not on its way by now.
    pub(crate) fn answered(&mut self, numbered: End) {
        let plain = End { flow: FlowKey::new(numbered.flow.id, None), ..numbered };
        let Some(asker) = self.served.get(&plain) else { return };
        if let Some(call) = self.live.get_mut(asker) {
            call.came_back |= call.asked.is_none();
        }
    }

    /// What becomes of a frame that came from `end`.
    pub(crate) fn dispose(&self, end: End) -> Disposition {
        let live = self.live.contains_key(&end) || self.served.contains_key(&end);
        disposition::dispose(live, self.ended_lately(end))
    }

    fn ended_lately(&self, end: End) -> bool {
        self.ended.iter().any(|summary| summary.asker == end || summary.server == end)
    }

    /// Ends a request, once: it leaves nothing but a summary (L7).
    pub(crate) fn end(&mut self, asker: End, ending: Ending, now: Instant) -> Option<Route> {
        let route = self.live.remove(&asker)?;
        self.served.remove(&route.server);
        self.index.leave(&route.touches());
        let ending = route.ending.unwrap_or(ending); // the first way to end stays
        let known = self.ended.iter().any(|summary| summary.asker == asker);
        match disposition::remember(known, count(self.ended.len())) {
            Remembered::Enter => {}
            Remembered::Renew => self.ended.retain(|summary| summary.asker != asker),
            Remembered::EnterForgetOldest => drop(self.ended.pop_front()),
        }
        let total = |way: Way, what: fn(&StreamTally) -> u64| {
            let of_way = route.streams.iter().filter(|((w, _), _)| *w == way);
            of_way.fold(0_u64, |sum, (_, tally)| sum.saturating_add(what(tally)))
        };
        self.ended.push_back(Summary {
            asker,
            server: route.server,
            cap: route.cap.clone(),
            is_peer: route.is_peer,
            ending,
            lifetime_ms: millis(now.saturating_duration_since(route.opened)),
            frames: (total(Way::ToServer, |t| t.frames), total(Way::ToAsker, |t| t.frames)),
            bytes: (total(Way::ToServer, |t| t.bytes), total(Way::ToAsker, |t| t.bytes)),
        });
        let count = self.by_ending.entry(ending).or_default();
        *count = count.saturating_add(1);
        Some(route)
    }

    /// The requests that `link` asked for or answers, by who asked.
    pub(crate) fn of_link(&self, link: LinkId) -> Vec<End> {
        self.index.of_link(link)
    }

    /// How many live requests `link` answers.
    pub(crate) fn load(&self, link: LinkId) -> usize {
        self.index.load(link)
    }

    /// How many live requests `link` has asked for.
    pub(crate) fn asked(&self, link: LinkId) -> usize {
        self.index.asked(link)
    }

    /// How many live requests are calls that handlers made.
    pub(crate) fn calls(&self) -> usize {
        self.index.calls()
    }

    /// The requests that the handler of `parent` asked for, children of children included.
    pub(crate) fn descendants(&self, parent: End) -> Vec<End> {
        let mut seen = HashSet::from([parent]);
        let mut found = vec![parent];
        let mut next = 0;
        while let Some(&parent) = found.get(next) {
            found.extend(self.index.children(parent).filter(|child| seen.insert(*child)));
            next += 1;
        }
        found.split_off(1)
    }

    /// The request that the handler on `link` knows as `id`, for a call that names it its parent.
    pub(crate) fn served_as(&self, link: LinkId, id: MessageId) -> Option<End> {
        self.index.served_as(link, id)
    }

    /// The live request that `asker` asked for.
    pub(crate) fn get(&self, asker: End) -> Option<&Route> {
        self.live.get(&asker)
    }

    pub(crate) fn live(&self) -> impl Iterator<Item = &Route> {
        self.live.values()
    }

    pub(crate) fn len(&self) -> usize {
        self.live.len()
    }

    pub(crate) fn ended(&self) -> impl Iterator<Item = &Summary> {
        self.ended.iter()
    }

    pub(crate) fn registered(&self) -> u64 {
        self.registered
    }

    pub(crate) fn by_ending(&self) -> &BTreeMap<Ending, u64> {
        &self.by_ending
    }
}

impl Route {
    fn touches(&self) -> Touches {
        let (asker, server, parent) = (self.asker, self.server, self.parent);
        Touches { asker, server, parent, is_call: self.is_peer }
    }

    /// Counts a frame, and answers whether it may pass.
    pub(crate) fn note(&mut self, way: Way, frame: &Frame, now: Instant) -> Noted {
        self.last = now;
        self.phase = self.phase.passed(frame.frame_type);
        let mut key = match frame.frame_type {
            FrameType::Credit => {
                (way.back(), self.credited(way.back(), frame.stream_id.as_deref()))
            }
            FrameType::StreamStart | FrameType::Chunk | FrameType::StreamEnd => {
                (way, frame.stream_id.clone())
            }
            _ => (way, None),
        };
        if key.1.is_some() && !self.streams.contains_key(&key) {
            if frame.frame_type == FrameType::Credit {
                key.1 = None; // there is no such stream to credit
            } else if key.1.as_ref().is_some_and(|name| name.len() > NAME) {
                return Noted::Named;
            } else if self.streams.keys().filter(|(w, _)| *w == way).count() > STREAMS {
                return Noted::TooMany; // the streams and the entry for what names none
            }
        }
        let window = self.window;
        match self.streams.entry(key).or_insert_with(|| StreamTally::new(window)).note(frame) {
            true => Noted::Passes,
            false => Noted::Overrun,
        }
    }

    /// The stream of data way `way` that a grant credits; `None` collects those that credit none.
    fn credited(&self, way: Way, named: Option<&str>) -> Option<String> {
        let open = || {
            self.streams
                .iter()
                .filter(|((w, name), tally)| *w == way && name.is_some() && !tally.ended)
                .map(|((_, name), _)| name.as_deref())
        };
        match named {
            Some(name) => Some(name.to_owned()),
            None => crate::credit::credited(open(), None).flatten().map(str::to_owned),
        }
    }
}

pub(crate) fn millis(elapsed: std::time::Duration) -> u64 {
    u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)
}

fn count(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::now;

    fn end(link: LinkId, id: u64) -> End {
        End { link, flow: FlowKey::new(MessageId::Uint(id), None) }
    }

    fn route(asker: End, server: End, parent: Option<End>) -> Route {
        let opened = now();
        Route {
            asker,
            server,
            cap: "cap:x".to_owned(),
            is_peer: parent.is_some(),
            parent,
            phase: Phase::Created,
            ending: None,
            asked: None,
            came_back: false,
            window: 1,
            streams: BTreeMap::new(),
            opened,
            last: opened,
        }
    }

    #[test]
    fn what_is_asked_of_the_live_requests_is_known_without_walking_them() {
        let mut routes = Routes::default();
        // 1 calls 2, whose handler calls 3 twice and itself once.
        let outer = end(1, 10);
        let inner = [end(2, 20), end(2, 21), end(2, 22)];
        routes.open(route(outer, end(2, 10), None), 9).expect("room");
        for (child, to) in inner.into_iter().zip([3, 3, 2]) {
            let server = End { link: to, ..child };
            let server = End { flow: FlowKey::new(child.flow.id, Some(7_u64.into())), ..server };
            let parent = routes.served_as(2, MessageId::Uint(10));
            assert_eq!(parent, Some(outer));
            routes.open(route(child, server, parent), 9).expect("room");
        }
        assert_eq!([1, 2, 3, 4].map(|link| routes.load(link)), [0, 2, 2, 0]);
        assert_eq!([1, 2, 3, 4].map(|link| routes.asked(link)), [1, 3, 0, 0]);
        assert_eq!((routes.calls(), routes.of_link(2).len(), routes.of_link(3).len()), (3, 4, 2));
        assert_eq!(routes.descendants(outer).into_iter().collect::<HashSet<_>>(), inner.into());
        assert!(routes.descendants(inner[0]).is_empty());
        for asker in inner.into_iter().chain([outer]) {
            assert!(routes.end(asker, Ending::End, now()).is_some());
            assert!(routes.end(asker, Ending::End, now()).is_none());
        }
        assert!(routes.index.is_empty(), "nothing is left behind");
    }
}
