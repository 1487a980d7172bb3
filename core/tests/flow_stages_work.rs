//! Parallel maps, failures that something stands in for, readers, writers, channels.

use std::io::{Cursor, Read, Write};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use sluicegate::flow::{EdgeOptions, Flow, Manual, Ops, Scope, Sink, Source, Status};
use sluicegate::{Error, ErrorKind};

const SOON: Duration = Duration::from_secs(180);

fn scope() -> Scope {
    Scope::new("test").expect("a scope")
}

fn collected<T: Clone + Send + Sync + 'static>(source: &Source<T>) -> Result<Vec<T>, Error> {
    let scope = scope();
    let result = source.to(Sink::collect()).run(&scope).expect("runs");
    let result = result.blocking_wait_timeout(SOON);
    scope.shutdown(SOON).expect("no thread is left");
    result
}

fn broken() -> Error {
    Error::new(ErrorKind::Io, "the disk is gone")
}

/// Futures that a test finishes by hand.
#[derive(Clone, Default)]
struct Desk(Arc<Mutex<Vec<Paper>>>);

/// A future's number, who waits for it, and its outcome.
type Paper = (u64, Option<Waker>, Option<Result<u64, Error>>);

struct Work(Desk, u64);

impl Desk {
    fn open(&self, id: u64) -> Work {
        self.0.lock().expect("sound").push((id, None, None));
        Work(self.clone(), id)
    }

    fn running(&self) -> Vec<u64> {
        self.0.lock().expect("sound").iter().map(|(id, ..)| *id).collect()
    }

    fn finish(&self, id: u64, outcome: Result<u64, Error>) {
        let mut desk = self.0.lock().expect("sound");
        let work = desk.iter_mut().find(|(it, ..)| *it == id).expect("on the desk");
        work.2 = Some(outcome);
        let waker = work.1.take();
        drop(desk);
        waker.expect("was asked").wake();
    }
}

impl Future for Work {
    type Output = Result<u64, Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut desk = self.0.0.lock().expect("sound");
        let work = desk.iter_mut().find(|(it, ..)| *it == self.1).expect("on the desk");
        work.1 = Some(context.waker().clone());
        work.2.take().map_or(Poll::Pending, Poll::Ready)
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        self.0.0.lock().expect("sound").retain(|(it, ..)| *it != self.1);
    }
}

#[test]
fn futures_run_three_at_once_and_leave_in_order() {
    let (scope, desk) = (Scope::stepped("test", 5), Desk::default());
    let open = desk.clone();
    let source = Source::range(0..6).map_async(3, move |n| open.open(n)).expect("positive");
    let end = source.to(Sink::probe()).run(&scope).expect("runs");
    end.request(2);
    scope.settle();
    assert_eq!(desk.running(), [0, 1], "no more than is asked for");
    end.request(10);
    scope.settle();
    assert_eq!(desk.running(), [0, 1, 2], "no more than three");
    desk.finish(2, Ok(20));
    desk.finish(1, Ok(10));
    scope.settle();
    end.expect_no_message(Duration::ZERO);
    desk.finish(0, Ok(0));
    scope.settle();
    end.expect_next(0_u64).expect_next(10).expect_next(20);
    assert_eq!(desk.running(), [3, 4, 5]);
    // An error fails the stream at its place.
    desk.finish(4, Err(broken()));
    scope.settle();
    end.expect_no_message(Duration::ZERO);
    desk.finish(3, Ok(30));
    scope.settle();
    end.expect_next(30);
    let error = end.expect_error();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(error.message().contains("map_async"));
    assert!(desk.running().is_empty(), "the others are dropped");
    assert_eq!(scope.running(), 0);
}

#[test]
fn futures_without_an_order_leave_as_they_come() {
    let (scope, desk) = (Scope::stepped("test", 5), Desk::default());
    let open = desk.clone();
    let source = Source::range(0..3).map_async_unordered(3, move |n| open.open(n));
    let end = source.expect("positive").to(Sink::probe()).run(&scope).expect("runs");
    end.request(9);
    scope.settle();
    for id in [2, 0, 1] {
        desk.finish(id, Ok(id));
        scope.settle();
        end.expect_next(id);
    }
    end.expect_complete();
}

#[test]
fn workers_are_at_work_at_once_and_their_outputs_keep_the_order() {
    // Nobody passes the barrier before four are there: so four work at once.
    let barrier = Arc::new(Barrier::new(4));
    let at_once = Arc::new(AtomicU64::new(0));
    let most = Arc::new(AtomicU64::new(0));
    let (here, top) = (Arc::clone(&at_once), Arc::clone(&most));
    let source = Source::range(0..40).map_parallel(4, move |n| {
        top.fetch_max(here.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        barrier.wait();
        here.fetch_sub(1, Ordering::SeqCst);
        Ok(n * n)
    });
    let source = source.expect("positive");
    assert_eq!(collected(&source), Ok((0..40).map(|n| n * n).collect()));
    assert_eq!(most.load(Ordering::SeqCst), 4);
    let unordered = Source::range(0..100).map_parallel_unordered(4, Ok).expect("positive");
    let mut all = collected(&unordered).expect("all of them");
    all.sort_unstable();
    assert_eq!(all, (0..100).collect::<Vec<_>>());
}

#[test]
fn a_worker_that_fails_ends_all_of_them() {
    for seed in 0..20 {
        let scope = Scope::stepped("test", seed);
        let source = Source::range(0..100).map_parallel(3, |n| match n {
            7 => Err(broken()),
            n => Ok(n),
        });
        let end = source.expect("positive").to(Sink::collect()).run(&scope).expect("runs");
        scope.settle();
        assert_eq!(end.result().expect("settled").expect_err("failed").kind(), ErrorKind::Io);
        assert_eq!(scope.running(), 0, "no worker is left");
    }
}

#[test]
fn a_source_is_run_again_after_growing_waits_and_only_so_often() {
    let scope = Scope::stepped("test", 5);
    let runs = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&runs);
    let source = Source::try_iter(move || {
        let run = count.fetch_add(1, Ordering::SeqCst);
        Ok([Ok(run * 10), Err(broken())].into_iter())
    });
    let ms = Duration::from_millis;
    let graph = source.retry(4, ms(10), ms(30)).expect("positive").to(Sink::probe());
    let end = graph.run(&scope).expect("runs");
    end.request(9);
    scope.settle();
    end.expect_next(0_u64);
    for (run, wait) in [(1, 10), (2, 20), (3, 30)] {
        scope.advance(ms(wait - 1));
        assert_eq!(runs.load(Ordering::SeqCst), run, "it waits");
        scope.advance(ms(1));
        end.expect_next(run * 10);
    }
    assert_eq!(end.expect_error().message(), broken().context("stage \"iter\"").message());
    assert_eq!(runs.load(Ordering::SeqCst), 4);
}

#[test]
fn a_run_that_is_begun_again_is_asked_for_what_is_still_wanted() {
    let scope = Scope::stepped("test", 5);
    let kept: Arc<Mutex<Vec<Manual<u64>>>> = Arc::default();
    let keep = Arc::clone(&kept);
    let source = Source::manual(EdgeOptions::default()).map_mat(move |control| {
        keep.lock().expect("sound").push(control);
        sluicegate::flow::NotUsed
    });
    let retried = source.retry(3, Duration::ZERO, Duration::ZERO).expect("positive");
    let end = retried.to(Sink::probe()).run(&scope).expect("runs");
    end.request(3);
    scope.settle();
    for (run, n) in [(0, 1), (1, 2), (2, 3)] {
        let control = kept.lock().expect("sound")[run].clone();
        control.try_offer(n).expect("room");
        control.fail(broken());
        scope.settle();
        end.expect_next(n);
    }
    assert_eq!(end.expect_error().kind(), ErrorKind::Io);
    assert_eq!(kept.lock().expect("sound").len(), 3);
}

#[test]
fn something_stands_in_for_a_failure() {
    let failing = Source::try_iter(|| Ok([Ok(1_u64), Err(broken())].into_iter()));
    assert_eq!(collected(&failing.recover(|_| Some(9))), Ok(vec![1, 9]));
    let passed = failing.recover(|e| (e.kind() == ErrorKind::TimedOut).then_some(9));
    assert_eq!(collected(&passed).expect_err("passes").kind(), ErrorKind::Io);
    assert_eq!(collected(&Source::range(0..2).recover(|_| Some(9))), Ok(vec![0, 1]));
    let other = Source::iter(vec![5, 6]).buffer(EdgeOptions::default());
    assert_eq!(collected(&failing.recover_with(other)), Ok(vec![1, 5, 6]));
    assert_eq!(
        collected(&failing.recover_with(failing.clone())).expect_err("passes").kind(),
        ErrorKind::Io
    );
    // The last element waits for demand, and the end does not.
    let scope = Scope::stepped("test", 5);
    let end = failing.recover(|_| Some(9)).to(Sink::probe()).run(&scope).expect("runs");
    end.request(1);
    scope.settle();
    end.expect_next(1).expect_no_message(Duration::ZERO);
    end.request(1);
    scope.settle();
    end.expect_next(9);
    end.expect_complete();
}

#[test]
fn lines_and_chunks_are_read_and_bytes_written() {
    let text = "one\r\ntwo\n\nfour";
    let lines = Source::lines(4, move || Ok(Cursor::new(text))).expect("positive");
    assert_eq!(collected(&lines), Ok(["one", "two", "", "four"].map(str::to_owned).to_vec()));
    let long = Source::lines(3, move || Ok(Cursor::new(text))).expect("positive");
    let error = collected(&long).expect_err("line 4");
    assert_eq!(error.kind(), ErrorKind::LimitReached);
    assert!(error.message().contains("line 4"));
    let bad = Source::lines(9, || Ok(Cursor::new(b"a\n\xff\n"))).expect("positive");
    assert_eq!(collected(&bad).expect_err("line 2").kind(), ErrorKind::Malformed);
    let refused = Source::lines(9, || Err::<Cursor<&str>, _>(std::io::ErrorKind::NotFound.into()));
    let refused = refused.expect("positive").to(Sink::ignore()).run(&scope());
    assert_eq!(refused.expect_err("no such file").kind(), ErrorKind::Io);

    let out: Arc<Mutex<Vec<u8>>> = Arc::default();
    let to = Arc::clone(&out);
    let scope = scope();
    let copy = Source::chunks(5, move || Ok(Cursor::new(text).take(12)))
        .expect("positive")
        .to(Sink::writer(move || Ok(Shared(Arc::clone(&to)))));
    let copied = copy.run(&scope).expect("runs").blocking_wait_timeout(SOON);
    assert_eq!(copied.expect("written"), 12);
    assert_eq!(&out.lock().expect("sound")[..], &text.as_bytes()[..12]);
    let full = Source::iter([b"x"]).to(Sink::writer(|| Ok(Cursor::new([0_u8; 0]))));
    let error = full.run(&scope).expect("runs").blocking_wait_timeout(SOON);
    assert_eq!(error.expect_err("no room").kind(), ErrorKind::Io);
}

struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("sound").write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn channels_are_sources_and_sinks_that_read_nothing_ahead_and_stop_at_once() {
    let scope = scope();
    let (send, receive) = crossbeam_channel::bounded(8);
    let (out, results) = crossbeam_channel::bounded(1);
    let graph = Source::channel(receive.clone()).map(|n: u64| n * 2).take(3).to(Sink::channel(out));
    let done = graph.run(&scope).expect("runs");
    for n in 0..5 {
        send.send(n).expect("room");
    }
    for n in 0..3 {
        assert_eq!(results.recv_timeout(SOON).expect("comes"), n * 2);
    }
    done.blocking_wait_timeout(SOON).expect("took three");
    assert_eq!(receive.len(), 2, "nothing was read ahead");

    // A reader that waits at an empty channel, and a writer at a full one, stop with the scope.
    let (_keep, nothing) = crossbeam_channel::bounded::<u64>(1);
    let reader = Source::channel(nothing).to(Sink::collect()).run(&scope).expect("runs");
    let (full, kept) = crossbeam_channel::bounded(1);
    let writer = Source::repeat(1).to(Sink::channel(full)).run(&scope).expect("runs");
    scope.shutdown(SOON).expect("both stop");
    assert_eq!((reader.status(), writer.status()), (Status::Cancelled, Status::Cancelled));
    drop(kept);

    let scope = Scope::new("test").expect("a scope");
    let (gone, _) = crossbeam_channel::bounded(1);
    let writer = Source::repeat(1).to(Sink::channel(gone)).run(&scope).expect("runs");
    let error = writer.blocking_wait_timeout(SOON).expect_err("nobody receives");
    assert_eq!(error.kind(), ErrorKind::Closed);
    drop(send);
    let rest = collected(&Source::channel(receive)).expect("its last sender is gone");
    assert_eq!(rest, [3, 4]);
}

#[test]
fn a_reader_of_a_channel_that_is_cancelled_while_it_waits_stops() {
    let scope = scope();
    let (_keep, nothing) = crossbeam_channel::bounded::<u64>(1);
    let end = Source::channel(nothing).via(Flow::map(|n| n)).to(Sink::probe()).run(&scope);
    let end = end.expect("runs");
    end.request(1);
    end.cancel();
    let deadline = std::time::Instant::now() + SOON;
    while scope.running() != 0 {
        assert!(std::time::Instant::now() < deadline, "it waits still");
        std::thread::yield_now();
    }
}
