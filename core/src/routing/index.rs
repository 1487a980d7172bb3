//! What is asked of the live requests often, and would be slow to find by walking all of them.

use std::collections::{HashMap, HashSet};

use super::end::{End, LinkId};
use crate::frame::MessageId;

/// The live requests by what they touch. Each has an entry for as long as it lives.
#[derive(Default)]
pub(super) struct Index {
    links: HashMap<LinkId, Touched>,
    /// Who asked → the calls that its handler made, by who asked for them.
    children: HashMap<End, HashSet<End>>,
    /// The requests that the handler on a link knows by an id, by who asked for them.
    handled: HashMap<(LinkId, MessageId), Vec<End>>,
    /// Calls that handlers made.
    calls: usize,
}

/// What a request touches.
pub(super) struct Touches {
    pub(super) asker: End,
    pub(super) server: End,
    pub(super) parent: Option<End>,
    pub(super) is_call: bool,
}

/// The requests of one link.
#[derive(Default)]
struct Touched {
    asks: usize,
    serves: usize,
    requests: HashSet<End>,
}

impl Index {
    pub(super) fn enter(&mut self, route: &Touches) {
        let asker = route.asker;
        for link in [asker.link, route.server.link] {
            self.links.entry(link).or_default().requests.insert(asker);
        }
        self.links.entry(asker.link).or_default().asks += 1;
        self.links.entry(route.server.link).or_default().serves += 1;
        if let Some(parent) = route.parent {
            self.children.entry(parent).or_default().insert(asker);
        }
        self.handled.entry(handled_as(route)).or_default().push(asker);
        self.calls += usize::from(route.is_call);
    }

    pub(super) fn leave(&mut self, route: &Touches) {
        let asker = route.asker;
        self.touched(asker.link, |touched| touched.asks -= 1, asker);
        self.touched(route.server.link, |touched| touched.serves -= 1, asker);
        if let Some(parent) = route.parent
            && let Some(children) = self.children.get_mut(&parent)
        {
            children.remove(&asker);
            if children.is_empty() {
                self.children.remove(&parent);
            }
        }
        let key = handled_as(route);
        if let Some(handled) = self.handled.get_mut(&key) {
            handled.retain(|other| *other != asker);
            if handled.is_empty() {
                self.handled.remove(&key);
            }
        }
        self.calls -= usize::from(route.is_call);
    }

    fn touched(&mut self, link: LinkId, count: impl FnOnce(&mut Touched), asker: End) {
        let Some(touched) = self.links.get_mut(&link) else { return };
        count(touched);
        touched.requests.remove(&asker);
        if touched.asks == 0 && touched.serves == 0 {
            self.links.remove(&link);
        }
    }

    /// How many `link` answers.
    pub(super) fn load(&self, link: LinkId) -> usize {
        self.links.get(&link).map_or(0, |touched| touched.serves)
    }

    /// How many `link` has asked for.
    pub(super) fn asked(&self, link: LinkId) -> usize {
        self.links.get(&link).map_or(0, |touched| touched.asks)
    }

    /// How many are calls that handlers made.
    pub(super) fn calls(&self) -> usize {
        self.calls
    }

    /// Those that `link` asked for or answers.
    pub(super) fn of_link(&self, link: LinkId) -> Vec<End> {
        self.links.get(&link).into_iter().flat_map(|touched| &touched.requests).copied().collect()
    }

    /// The calls that the handler of `parent` made.
    pub(super) fn children(&self, parent: End) -> impl Iterator<Item = End> {
        self.children.get(&parent).into_iter().flatten().copied()
    }

    /// The request that the handler on `link` knows as `id`.
    pub(super) fn served_as(&self, link: LinkId, id: MessageId) -> Option<End> {
        self.handled.get(&(link, id))?.first().copied()
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.links.is_empty()
            && self.children.is_empty()
            && self.handled.is_empty()
            && self.calls == 0
    }
}

fn handled_as(route: &Touches) -> (LinkId, MessageId) {
    (route.server.link, route.server.flow.id)
}
