//! [`CreditRouter`]: brings grants to gates.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;

use super::CreditGate;
use crate::error::Reason;
use crate::model::target::{Target, grant_target};
use crate::sync::Mutex;

/// What became of a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// It credited a gate.
    Granted,
    /// The request is known, and the grant names none of its streams. Ignored.
    NoStream,
    /// The request is not known: a straggler or a stray, the caller's to classify.
    NoRequest,
}

/// The gates of the streams that are open for sending, by request and stream name. `K` is whatever
/// identifies a request in your transport. A name is absent or a text; the empty text is a name.
///
/// Any number of threads may use it at once. Grants are applied here, by whoever reads the
/// connection, whether or not anybody reads the stream.
#[derive(Debug)]
pub struct CreditRouter<K> {
    requests: Mutex<HashMap<K, Gates>>,
}

type Gates = HashMap<Option<String>, CreditGate>;

impl<K> std::fmt::Debug for Mutex<HashMap<K, Gates>> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} requests", self.lock().len())
    }
}

impl<K: Eq + Hash> Default for CreditRouter<K> {
    fn default() -> Self {
        CreditRouter { requests: Mutex::new(HashMap::new()) }
    }
}

impl<K: Eq + Hash> CreditRouter<K> {
    /// A router that knows no request.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Enters a stream that is open for sending. Registering a name again replaces the gate; the
    /// one before is closed with the reason `REPLACED`, so that nobody waits on it for ever. Registering the same
    /// gate again changes nothing.
    pub fn register(&self, request: K, stream: Option<&str>, gate: &CreditGate) {
        let replaced = {
            let mut requests = self.requests.lock();
            let gates = requests.entry(request).or_default();
            gates.insert(stream.map(str::to_owned), gate.clone())
        };
        if let Some(replaced) = replaced.filter(|replaced| !replaced.is_same(gate)) {
            replaced.close("REPLACED");
        }
    }

    /// Takes a stream out once it is no longer open for sending. Its gate stays as it is.
    pub fn unregister<Q>(&self, request: &Q, stream: Option<&str>)
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        let mut requests = self.requests.lock();
        if let Some(gates) = requests.get_mut(request) {
            gates.remove(&stream.map(str::to_owned));
            if gates.is_empty() {
                requests.remove(request);
            }
        }
    }

    /// Credits the stream that a grant names, or the request's only one if it names none.
    pub fn grant<Q>(&self, request: &Q, stream: Option<&str>, n: u64) -> Delivery
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        let gate = {
            let requests = self.requests.lock();
            let Some(gates) = requests.get(request) else { return Delivery::NoRequest };
            match credited(gates.keys().map(Option::as_deref), stream) {
                None => return Delivery::NoStream,
                Some(target) => gates[&target.map(str::to_owned)].clone(),
            }
        };
        gate.grant(n); // wakes with the router's lock released
        Delivery::Granted
    }

    /// Ends a request: closes all its gates with `reason`, which releases every waiter (L13).
    pub fn close_request<Q>(&self, request: &Q, reason: impl Into<Reason>)
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        let gates = self.requests.lock().remove(request);
        let reason = reason.into();
        for gate in gates.into_iter().flat_map(HashMap::into_values) {
            gate.close(reason.clone());
        }
    }

    /// Ends every request, for a connection that is gone.
    pub fn close_all(&self, reason: impl Into<Reason>) {
        let requests = std::mem::take(&mut *self.requests.lock());
        let reason = reason.into();
        for gate in requests.into_values().flat_map(HashMap::into_values) {
            gate.close(reason.clone());
        }
    }

    /// How many requests have streams open for sending.
    #[must_use]
    pub fn len(&self) -> usize {
        self.requests.lock().len()
    }

    /// True if no stream is open for sending.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The stream that a grant credits, out of the streams of its request that are open for sending;
/// outer `None` if it credits none. The decision is the model's; here the names are looked up for it.
pub(crate) fn credited<'a>(
    open: impl IntoIterator<Item = Option<&'a str>>,
    named: Option<&str>,
) -> Option<Option<&'a str>> {
    let (mut same, mut unnamed_open, mut last) = (None, false, None);
    let mut count = 0;
    for name in open {
        if name == named {
            same = Some(name);
        }
        unnamed_open |= name.is_none();
        last = Some(name);
        count += 1;
    }
    match grant_target(named.is_some(), same.is_some(), unnamed_open, count) {
        Target::Named => same,
        Target::Unnamed => Some(None),
        Target::Sole => last,
        Target::Nobody => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grant_goes_where_the_specification_measured() {
        let to = |open: &[Option<&'static str>], named| credited(open.iter().copied(), named);
        assert_eq!(to(&[Some("a")], None), Some(Some("a")));
        assert_eq!(to(&[Some("a")], Some("")), None);
        assert_eq!(to(&[Some("")], None), Some(Some("")));
        assert_eq!(to(&[Some("")], Some("")), Some(Some("")));
        assert_eq!(to(&[Some(""), Some("a")], None), None);
        assert_eq!(to(&[None, Some("a")], None), Some(None));
        assert_eq!(to(&[None], Some("a")), None);
        assert_eq!(to(&[Some("a"), Some("a")], None), None);
        assert_eq!(to(&[], None), None);
    }

    #[test]
    fn a_replaced_gate_is_closed_and_a_closed_request_releases_all() {
        let router = CreditRouter::<u64>::new();
        let (first, second) = (CreditGate::new(0), CreditGate::new(0));
        router.register(1, Some("a"), &first);
        router.register(1, Some("a"), &second);
        router.register(1, Some("a"), &second.clone());
        assert_eq!(first.reason().expect("closed").code(), "REPLACED");
        assert_eq!(router.grant(&1, None, 3), Delivery::Granted);
        assert_eq!(second.available(), 3);
        assert_eq!(router.grant(&1, Some("b"), 3), Delivery::NoStream);
        assert_eq!(router.grant(&2, None, 3), Delivery::NoRequest);
        router.close_request(&1, "END");
        assert_eq!(second.reason().expect("closed").code(), "END");
        assert!(router.is_empty());
    }
}
