//! A router against a naive one: a list of entries.

use proptest::prelude::*;
use sluicegate::{CreditGate, CreditRouter, Delivery};

type Name = Option<&'static str>;

#[derive(Clone, Debug)]
enum Step {
    /// Enters a fresh gate.
    Register(u8, Name),
    Unregister(u8, Name),
    Grant(u8, Name, u64),
    CloseRequest(u8, &'static str),
    CloseAll(&'static str),
}

fn name() -> impl Strategy<Value = Name> {
    prop_oneof![Just(None), Just(Some("")), Just(Some("a")), Just(Some("b"))]
}

fn step() -> impl Strategy<Value = Step> {
    let reason = || prop_oneof![Just("END"), Just("")];
    prop_oneof![
        6 => (0..3_u8, name()).prop_map(|(r, s)| Step::Register(r, s)),
        3 => (0..3_u8, name()).prop_map(|(r, s)| Step::Unregister(r, s)),
        12 => (0..3_u8, name(), 0..5_u64).prop_map(|(r, s, n)| Step::Grant(r, s, n)),
        2 => (0..3_u8, reason()).prop_map(|(r, why)| Step::CloseRequest(r, why)),
        1 => reason().prop_map(Step::CloseAll),
    ]
}

/// What should be so of one gate that was ever made.
#[derive(Clone, Debug, PartialEq)]
struct Expected {
    available: u64,
    closed: Option<String>,
}

#[derive(Default)]
struct Naive {
    gates: Vec<Expected>,
    entries: Vec<(u8, Name, usize)>,
}

impl Naive {
    fn close(&mut self, which: impl Fn(&(u8, Name, usize)) -> bool, reason: &str) {
        for entry in self.entries.extract_if(.., |entry| which(entry)) {
            self.gates[entry.2].closed.get_or_insert(reason.to_owned());
        }
    }

    fn grant(&mut self, request: u8, named: Name, n: u64) -> Delivery {
        let open: Vec<_> = self.entries.iter().filter(|entry| entry.0 == request).collect();
        if open.is_empty() {
            return Delivery::NoRequest;
        }
        let exact = open.iter().find(|entry| entry.1 == named);
        let only = if named.is_none() && open.len() == 1 { open.first() } else { None };
        match exact.or(only) {
            Some(&&(_, _, gate)) => {
                self.gates[gate].available += n;
                Delivery::Granted
            }
            None => Delivery::NoStream,
        }
    }
}

#[test]
fn a_gate_entered_again_in_its_own_place_is_no_replacement() {
    let router = CreditRouter::<u8>::new();
    let gate = CreditGate::new(0);
    router.register(1, Some("a"), &gate);
    router.register(1, Some("a"), &gate.clone());
    assert!(!gate.is_closed());
    assert_eq!(router.grant(&1, None, 2), Delivery::Granted);
    assert_eq!(gate.available(), 2);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_router_does_what_a_naive_one_does(steps in prop::collection::vec(step(), 0..60)) {
        let router = CreditRouter::<u8>::new();
        let mut gates: Vec<CreditGate> = Vec::new();
        let mut naive = Naive::default();
        for step in steps {
            match step {
                Step::Register(request, stream) => {
                    let window = gates.len() as u64 % 3;
                    naive.close(|entry| (entry.0, entry.1) == (request, stream), "REPLACED");
                    naive.entries.push((request, stream, gates.len()));
                    naive.gates.push(Expected { available: window, closed: None });
                    gates.push(CreditGate::new(window));
                    router.register(request, stream, gates.last().expect("just pushed"));
                }
                Step::Unregister(request, stream) => {
                    naive.entries.retain(|entry| (entry.0, entry.1) != (request, stream));
                    router.unregister(&request, stream);
                }
                Step::Grant(request, stream, n) => {
                    prop_assert_eq!(router.grant(&request, stream, n), naive.grant(request, stream, n));
                }
                Step::CloseRequest(request, reason) => {
                    naive.close(|entry| entry.0 == request, reason);
                    router.close_request(&request, reason);
                }
                Step::CloseAll(reason) => {
                    naive.close(|_| true, reason);
                    router.close_all(reason);
                }
            }
            // T4: the gates of the request grow by n or by 0; nobody else's move.
            for (number, (gate, expected)) in gates.iter().zip(&naive.gates).enumerate() {
                let closed = gate.reason().map(|reason| reason.code().to_owned());
                let is = Expected { available: gate.available(), closed };
                prop_assert_eq!(&is, expected, "gate {}", number);
            }
            let mut requests: Vec<u8> = naive.entries.iter().map(|entry| entry.0).collect();
            requests.sort_unstable();
            requests.dedup();
            prop_assert_eq!(router.len(), requests.len());
            prop_assert_eq!(router.is_empty(), requests.is_empty());
        }
    }
}
