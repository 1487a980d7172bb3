//! Promises: one transition wins, everyone is told once.

mod support;

use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use sluicegate::flow::{Completion, Promise, Status};
use sluicegate::{Error, ErrorKind};
use support::{tells_waits, within};

const SOON: Duration = Duration::from_secs(180);

/// How the threads of a round settle: each in one of three ways, with a mark of its own.
fn settle(promise: &Promise<u64>, thread: u64) -> bool {
    match thread % 3 {
        0 => promise.try_success(thread),
        1 => promise.try_failure(Error::new(ErrorKind::Io, thread.to_string())),
        _ => promise.try_cancel_with(Error::new(ErrorKind::Cancelled, thread.to_string())),
    }
}

/// What thread `thread` would have made of it.
fn expected(thread: u64) -> (Status, Result<u64, Error>) {
    match thread % 3 {
        0 => (Status::Success, Ok(thread)),
        1 => (Status::Failure, Err(Error::new(ErrorKind::Io, thread.to_string()))),
        _ => (Status::Cancelled, Err(Error::new(ErrorKind::Cancelled, thread.to_string()))),
    }
}

/// Rounds of a race; all that the hazard asks for where the build is one for speed.
const ROUNDS: usize = if cfg!(debug_assertions) { 1_500 } else { 100_000 };
/// Rounds of the same threads.
const BATCH: usize = 500;

type Told = (Status, Option<Result<u64, Error>>);

/// One promise, and what those were told who registered a callback.
struct Race {
    promise: Promise<u64>,
    told: Mutex<Vec<Told>>,
}

/// HZ-S17: 8 threads settle while 8 register callbacks and wait: one wins, and everyone hears of that
/// one, once.
#[test]
fn hz_s17_one_of_many_transitions_wins_and_everyone_is_told_once() {
    within(SOON * 10, "races", || {
        for batch in 0..ROUNDS / BATCH {
            let race = || Race { promise: Promise::new(), told: Mutex::default() };
            let races: Vec<_> = (0..BATCH).map(|_| Arc::new(race())).collect();
            let begin = Barrier::new(16);
            let settle_all = |thread| {
                let race = |race: &Arc<Race>| {
                    begin.wait();
                    settle(&race.promise, thread)
                };
                races.iter().map(race).collect::<Vec<_>>()
            };
            let wait_all = || {
                let race = |race: &Arc<Race>| {
                    begin.wait();
                    let (completion, hears) = (race.promise.completion(), Arc::clone(race));
                    completion.on_settled(move |settled| {
                        let told = (settled.status(), settled.result());
                        hears.told.lock().expect("sound").push(told);
                    });
                    completion.blocking_wait()
                };
                races.iter().map(race).collect::<Vec<_>>()
            };
            let (wins, answers): (Vec<_>, Vec<_>) = thread::scope(|scope| {
                let settling: Vec<_> =
                    (0..8).map(|thread| scope.spawn(move || settle_all(thread))).collect();
                let waiting: Vec<_> = (0..8).map(|_| scope.spawn(wait_all)).collect();
                let wins = settling.into_iter().map(|t| t.join().expect("no panic")).collect();
                (wins, waiting.into_iter().map(|t| t.join().expect("no panic")).collect())
            });
            for (at, race) in races.iter().enumerate() {
                let round = batch * BATCH + at;
                let won = (0..8_u64).zip(&wins).filter(|(_, won)| won[at]);
                let winners: Vec<_> = won.map(|(thread, _)| thread).collect();
                let [winner] = winners[..] else { panic!("round {round}: {winners:?} have won") };
                let (status, result) = expected(winner);
                assert_eq!(race.promise.completion().status(), status, "round {round}");
                assert!(answers.iter().all(|answer| answer[at] == result), "round {round}");
                // A callback runs on the thread that settles, or on its own: all have returned.
                let told = race.told.lock().expect("sound").clone();
                assert_eq!(told, vec![(status, Some(result)); 8], "round {round}");
                for late in 0..3 {
                    assert!(!settle(&race.promise, late), "round {round}: settled twice");
                }
            }
        }
    });
}

fn states<T>(completion: &Completion<T>) -> [bool; 4] {
    [
        completion.is_pending(),
        completion.is_success(),
        completion.is_failure(),
        completion.is_cancelled(),
    ]
}

#[test]
fn each_way_to_settle_is_final_and_says_what_it_was() {
    type Way = (fn(&Promise<u64>) -> bool, Status, [bool; 4], Option<ErrorKind>);
    let ways: [Way; 4] = [
        (|p| p.try_success(7), Status::Success, [false, true, false, false], None),
        (
            |p| p.try_failure(Error::new(ErrorKind::Io, "gone")),
            Status::Failure,
            [false, false, true, false],
            Some(ErrorKind::Io),
        ),
        (
            Promise::try_cancel,
            Status::Cancelled,
            [false, false, false, true],
            Some(ErrorKind::Cancelled),
        ),
        (
            |p| p.try_cancel_with(Error::new(ErrorKind::TimedOut, "late")),
            Status::Cancelled,
            [false, false, false, true],
            Some(ErrorKind::TimedOut),
        ),
    ];
    for (way, status, flags, kind) in ways {
        let promise = Promise::new();
        let completion = promise.completion();
        assert_eq!((completion.status(), completion.result()), (Status::Pending, None));
        assert_eq!(states(&completion), [true, false, false, false]);
        assert!(way(&promise), "{status:?}: the first wins");
        for (again, ..) in ways {
            assert!(!again(&promise), "{status:?}: and no other");
        }
        assert_eq!(states(&completion), flags);
        let refused = [promise.success(8), promise.failure(Error::new(ErrorKind::Io, "late"))];
        for refused in refused.into_iter().chain([promise.cancel()]) {
            let error = refused.expect_err("settled before");
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
            assert!(error.message().contains(&format!("{status:?}")), "{error}");
        }
        drop(promise); // which would cancel one that is pending
        assert_eq!(completion.status(), status);
        let result = completion.blocking_wait();
        assert_eq!(completion.result(), Some(result.clone()));
        assert_eq!(result.as_ref().map_err(Error::kind), kind.map_or(Ok(&7), Err));
    }
}

#[test]
fn a_promise_that_goes_away_cancels_and_a_wait_may_end_before() {
    let promise = Promise::<u64>::new();
    let completion = promise.completion();
    let error = completion.blocking_wait_timeout(Duration::ZERO).expect_err("pending");
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    assert!(completion.is_pending(), "who waits settles nothing");
    drop(promise);
    let error = completion.blocking_wait().expect_err("cancelled");
    assert_eq!((completion.status(), error.kind()), (Status::Cancelled, ErrorKind::Cancelled));
}

/// A callback that throws is contained: the others run, and who settles has won all the same.
#[test]
fn a_callback_runs_once_whenever_it_is_registered_and_its_panic_is_contained() {
    let promise = Promise::new();
    let completion = promise.completion();
    let (tell, told) = mpsc::channel();
    let register = |what: &'static str| {
        let tell = tell.clone();
        completion.on_settled(move |settled: &Completion<u64>| {
            tell.send((what, settled.result())).expect("the test listens");
        });
    };
    register("before");
    completion.on_settled(|_| panic!("a callback that throws"));
    register("behind it");
    assert!(told.try_recv().is_err(), "nothing is settled");
    assert!(promise.try_success(7));
    register("late");
    assert!(!promise.try_cancel());
    drop(tell);
    let told: Vec<_> = told.iter().collect();
    assert_eq!(told, ["before", "behind it", "late"].map(|what| (what, Some(Ok(7)))));
}

/// A wait by hand rings once its answer is there, and its waker stands in line until then.
#[test]
fn a_wait_by_hand_rings_when_it_is_settled() {
    within(SOON, "a bell", || {
        let promise = Promise::<u64>::new();
        let completion = promise.completion();
        let mut wait = completion.wait_op();
        let (ring, rings) = mpsc::channel();
        let bell = |ring: &mpsc::Sender<()>| {
            let ring = ring.clone();
            move || ring.send(()).expect("the test listens")
        };
        assert_eq!(wait.poll(bell(&ring)), None);
        assert!(rings.try_recv().is_err() && wait.try_now().is_none() && !wait.is_done());
        assert_eq!(wait.poll(bell(&ring)), None, "the last bell counts");
        let mut withdrawn = completion.wait_op();
        assert_eq!(withdrawn.poll(|| panic!("rings although it was withdrawn")), None);
        withdrawn.withdraw();
        let (waits, is_waiting) = mpsc::channel();
        let waiting = {
            let completion = completion.clone();
            thread::spawn(move || {
                tells_waits(completion.wait(), || waits.send(()).expect("the test listens"))
            })
        };
        is_waiting.recv().expect("it waits");
        assert!(promise.try_failure(Error::new(ErrorKind::Io, "gone")));
        rings.recv().expect("it rings");
        let error = wait.try_now().expect("settled").expect_err("failed");
        assert_eq!(error.message(), "gone");
        assert!(wait.is_done());
        assert_eq!(waiting.join().expect("no panic"), Err(error));
    });
}
