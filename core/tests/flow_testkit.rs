//! Faults from a seed: the same seed gives the same faults, and a link that is cut fails what runs
//! over it once.

mod support;

use std::io::{Cursor, Read, Write};
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use sluicegate::flow::testkit::{self, Faults, Seed, Shuffle};
use sluicegate::flow::{EdgeOptions, Flow, Scope, Sink, Source, SubscriberEvent};
use sluicegate::{Cap, Cartridge, Engine, Error, Manifest, Peer, Request, Value};
use support::{engine, limits, within};

const SOON: Duration = Duration::from_secs(180);
const CAP: &str = "cap:numbers;in=media:numbers;out=media:numbers";

fn bytes() -> Vec<u8> {
    (0..=255).cycle().take(5_000).collect()
}

/// The lengths of reads, and what was read.
fn read_all(faults: Faults) -> (Vec<usize>, Vec<u8>) {
    let mut reader = faults.apply(Cursor::new(bytes()));
    let (mut lengths, mut all, mut buffer) = (vec![], vec![], [0; 64]);
    loop {
        let n = reader.read(&mut buffer).expect("a cut reader has an end");
        if n == 0 {
            return (lengths, all);
        }
        lengths.push(n);
        all.extend_from_slice(&buffer[..n]);
    }
}

#[test]
fn the_same_seed_gives_the_same_faults_and_changes_no_byte() {
    let first = read_all(Faults::new(7).splits());
    assert_eq!(first.1, bytes());
    assert!(first.0.iter().any(|n| *n < 64) && first.0.iter().all(|n| *n > 0));
    assert_eq!(read_all(Faults::new(7).splits()), first);
    assert_ne!(read_all(Faults::new(8).splits()).0, first.0);
    let delayed = Faults::new(7).splits().delays(Duration::from_micros(1));
    assert_eq!(read_all(delayed).1, bytes());
    let seed = Seed::fixed(3);
    assert_eq!((seed.value(), seed.fork("a")), (3, Seed::fixed(3).fork("a")));
    assert_ne!(seed.fork("a"), seed.fork("b"));
}

#[test]
fn a_cut_comes_after_its_byte_at_both_ends() {
    for cut in [0, 1, 777] {
        let (_, all) = read_all(Faults::new(1).splits().cut_after(cut));
        assert_eq!(all.len() as u64, cut);
        let mut written = Vec::new();
        let mut writer = Faults::new(1).splits().cut_after(cut).apply(&mut written);
        let error = writer.write_all(&bytes()).expect_err("cut");
        assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe);
        drop(writer);
        assert_eq!(written, bytes()[..usize::try_from(cut).expect("small")]);
    }
}

/// The order in which links, each with 50 operations, have their turns.
fn order(seed: &Seed, links: &[&'static str]) -> Vec<&'static str> {
    struct Note(&'static str, Arc<std::sync::Mutex<Vec<&'static str>>>);
    impl Write for Note {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.1.lock().expect("sound").push(self.0);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let shuffle = Shuffle::new(Duration::MAX);
    let order = Arc::new(std::sync::Mutex::new(Vec::new()));
    let writers: Vec<_> = links
        .iter()
        .map(|&link| {
            let faults = Faults::new(seed.fork(link)).shuffled(&shuffle);
            faults.apply(Note(link, Arc::clone(&order)))
        })
        .collect();
    let threads: Vec<_> = writers
        .into_iter()
        .map(|mut writer| {
            thread::spawn(move || {
                (0..50).for_each(|_| writer.write_all(b"x").expect("written"));
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
    let order = order.lock().expect("sound");
    order.clone()
}

#[test]
fn the_seed_decides_the_order_of_shuffled_links_that_all_have_something_to_do() {
    within(SOON * 6, "shuffled links", || {
        let seed = testkit::seed();
        let links = ["0", "1", "2"];
        let first = order(&seed, &links);
        for _ in 0..20 {
            assert_eq!(order(&seed, &links), first, "the same seed, the same order");
        }
        for link in links {
            assert_eq!(first.iter().filter(|other| **other == link).count(), 50);
        }
        // The same as in every language.
        assert_eq!(order(&Seed::fixed(0), &["a", "b"])[..16].concat(), "babbaabababbabab");
        // One after the other changes places twice.
        let orders: Vec<_> = (0..20).map(|n| order(&Seed::fixed(n), &links)).collect();
        let changes = |order: &[&str]| order.windows(2).filter(|pair| pair[0] != pair[1]).count();
        assert!(orders.iter().all(|order| changes(order) > 50), "{orders:?}");
        assert!(orders.windows(2).all(|pair| pair[0] != pair[1]), "another seed, another order");
    });
}

#[test]
fn a_link_that_has_nothing_to_do_is_waited_for_no_longer_than_the_limit() {
    within(SOON * 6, "a link beside an idle one", || {
        let shuffle = Shuffle::new(Duration::from_millis(1));
        let idle = Faults::new(1).shuffled(&shuffle).apply(std::io::sink());
        let mut written = Vec::new();
        let mut writer = Faults::new(2).shuffled(&shuffle).apply(&mut written);
        (0..20).for_each(|_| writer.write_all(b"x").expect("written"));
        drop(idle); // and one that has left is not waited for at all
        (0..20).for_each(|_| writer.write_all(b"x").expect("written"));
        drop(writer);
        assert_eq!(written.len(), 40);
    });
}

#[test]
fn a_failing_test_prints_its_seed_and_the_variable_replays_it() {
    // The same test in a process of its own is the one that fails.
    if std::env::var_os("TESTKIT_FAILS").is_some() {
        let seed = testkit::seed();
        panic!("the seed is {}", seed.value());
    }
    let run = |seed: &str| {
        let own = std::env::current_exe().expect("a test is a program");
        let run = Command::new(own)
            .args(["--exact", "a_failing_test_prints_its_seed_and_the_variable_replays_it"])
            .arg("--nocapture")
            .env("TESTKIT_FAILS", "1")
            .env("SLUICEGATE_SEED", seed)
            .output()
            .expect("runs");
        assert!(!run.status.success());
        String::from_utf8_lossy(&run.stderr).into_owned()
    };
    let told = run("42");
    assert!(told.contains("the seed is 42"), "{told}");
    assert!(told.contains("this schedule again: SLUICEGATE_SEED=42"), "{told}");
    assert!(run("many").contains("is no seed"));
}

fn attach(engine: &Engine, read: Faults, write: Faults) -> Peer {
    let (host, plugin) = UnixStream::pair().expect("a pair of sockets");
    let numbers = |request: &Request| {
        let scope = Scope::new("cartridge")?;
        let counting = Source::unfold(0, |n| Ok(Some((n + 1, Value::Uint(n)))));
        counting.to(Sink::wire(request.output())).run(&scope)?.blocking_wait()
    };
    let cartridge =
        Cartridge::new(Manifest::new("test", "1").cap(Cap::new(CAP))).handler(CAP, numbers);
    let reader = plugin.try_clone().expect("a second handle");
    thread::spawn(move || cartridge.run(reader, plugin));
    let reader = read.apply(host.try_clone().expect("a second handle"));
    engine.attach(reader, write.apply(host)).expect("the handshake passes")
}

/// Counts how many of its kind are alive.
struct Counted(u64, Arc<AtomicU64>);

impl Counted {
    fn new(n: u64, alive: &Arc<AtomicU64>) -> Self {
        alive.fetch_add(1, Ordering::SeqCst);
        Counted(n, Arc::clone(alive))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.1.fetch_sub(1, Ordering::SeqCst);
    }
}

#[test]
fn a_link_that_is_cut_fails_the_pipeline_once_and_everything_is_released() {
    within(SOON * 3, "a cut link", || {
        let seed = testkit::seed();
        for round in 0..8 {
            let fork = |what: &str| seed.fork(&format!("{what} {round}"));
            let engine = engine(limits(4, 64));
            let read = Faults::new(fork("read")).splits().cut_after(3_000 + fork("cut") % 5_000);
            let write = Faults::new(fork("write")).splits().delays(Duration::from_micros(50));
            let peer = attach(&engine, read, write);
            let call = peer.call(CAP).expect("live");
            call.blocking_finish_input().expect("no input");
            let alive = Arc::new(AtomicU64::new(0));
            let counted = Arc::clone(&alive);
            let scope = Scope::new("test").expect("a scope");
            let graph = Source::wire_values(call.blocking_output().expect("a stream"))
                .via(Flow::map(move |n: Value| Counted::new(n.as_u64().expect("one"), &counted)))
                .via(Flow::buffer(EdgeOptions::capacity(4).expect("positive")))
                .to(Sink::probe());
            let end = graph.run(&scope).expect("runs").with_limit(SOON);
            end.request(u64::MAX);
            let mut next = 0;
            let error: Error = loop {
                match end.event_within(SOON).expect("an event") {
                    SubscriberEvent::Next(element) => {
                        assert_eq!(element.0, next, "in order, none missing");
                        next += 1;
                    }
                    SubscriberEvent::Error(error) => break error,
                    SubscriberEvent::Complete => panic!("cut, and said to be complete"),
                }
            };
            assert!(!error.message().is_empty());
            assert!(end.event_within(Duration::ZERO).is_none(), "once");
            scope.shutdown(SOON).expect("stops");
            assert_eq!(alive.load(Ordering::SeqCst), 0, "round {round}");
            assert_eq!(scope.running(), 0);
            call.blocking_wait().expect_err("the request is over");
        }
    });
}
