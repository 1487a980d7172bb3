//! What a user's function throws, in every stage, on first and on later use. // HZ-S16

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use sluicegate::flow::{
    Completion, EdgeOptions, Flow, Offer, Ops, Page, Scope, Sink, Source, Status, SubscriberEvent,
};
use sluicegate::{Error, ErrorKind};

const SOON: Duration = Duration::from_secs(180);

/// An element that is counted while it lives.
#[derive(Clone, Debug)]
struct Token(u64, #[expect(dead_code, reason = "counted, never read")] Arc<()>);

/// Throws when it is touched for the `at`th time.
#[derive(Clone)]
struct Bomb {
    touched: Arc<AtomicU64>,
    at: u64,
}

impl Bomb {
    fn new(at: u64) -> Self {
        Bomb { touched: Arc::default(), at }
    }

    fn touch(&self) {
        assert!(self.touched.fetch_add(1, Ordering::SeqCst) + 1 != self.at, "the bomb went off");
    }

    fn try_touch(&self) -> Result<(), Error> {
        if self.touched.fetch_add(1, Ordering::SeqCst) + 1 == self.at {
            return Err(Error::new(ErrorKind::StageFailed, "the bomb went off"));
        }
        Ok(())
    }

    /// The same function for any argument and answer.
    fn then<T, R>(self, answer: impl Fn(T) -> R + Send + Sync) -> impl Fn(T) -> R + Send + Sync {
        move |argument| {
            self.touch();
            answer(argument)
        }
    }
}

type Case = (&'static str, u64, Flow<Token, Token>);

/// Every stage that calls something of the user's, and how much is asked of it. What makes tokens of
/// their outputs again stands behind them.
fn cases(at: u64) -> Vec<Case> {
    let bomb = || Bomb::new(at);
    let first = |group: Vec<Token>| group.into_iter().next();
    let many = 100;
    let (a, b, c, d, e) = (bomb(), bomb(), bomb(), bomb(), bomb());
    let positive = "positive";
    vec![
        ("map", many, Flow::map(bomb().then(|t| t))),
        ("try_map", many, Flow::try_map(bomb().then(Ok))),
        ("try_map error", many, Flow::try_map(move |t| a.try_touch().map(|()| t))),
        ("filter_map", many, Flow::filter_map(bomb().then(Some))),
        ("filter", many, {
            let bomb = bomb();
            Flow::filter(move |_: &Token| {
                bomb.touch();
                true
            })
        }),
        ("tap", many, {
            let bomb = bomb();
            Flow::tap(move |_: &Token| bomb.touch())
        }),
        ("take_while", many, {
            let bomb = bomb();
            Flow::take_while(move |_: &Token| {
                bomb.touch();
                true
            })
        }),
        ("drop_while", many, {
            let bomb = bomb();
            Flow::drop_while(move |_: &Token| {
                bomb.touch();
                true
            })
        }),
        ("scan", many, {
            let bomb = bomb();
            Flow::scan(None, move |_: Option<Token>, t| {
                bomb.touch();
                Some(t)
            })
            .filter_map(|t| t)
        }),
        ("fold", many, {
            let bomb = bomb();
            Flow::fold(None, move |_: Option<Token>, t| {
                bomb.touch();
                Some(t)
            })
            .filter_map(|t| t)
        }),
        ("expand", many, Flow::expand(bomb().then(|t: Token| [t.clone(), t]))),
        ("expand iterator", many, {
            Flow::expand(move |t: Token| {
                let b = b.clone();
                std::iter::repeat_with(move || {
                    b.touch();
                    t.clone()
                })
            })
        }),
        ("batch_bytes", many, {
            let bomb = bomb();
            let size = move |_: &Token| {
                bomb.touch();
                1
            };
            Flow::batch_bytes(2, size).expect(positive).filter_map(first)
        }),
        ("conflate seed", many, Flow::conflate(bomb().then(|t| t), |_, t| t)),
        ("conflate aggregate", 1, {
            Flow::conflate(
                |t: Token| t,
                move |_, t| {
                    c.touch();
                    t
                },
            )
        }),
        ("map_async", many, {
            Flow::map_async(3, move |t: Token| {
                d.touch();
                async { Ok(t) }
            })
            .expect(positive)
        }),
        ("map_async future", many, {
            Flow::map_async_unordered(3, move |t: Token| {
                let e = e.clone();
                async move {
                    e.touch();
                    Ok(t)
                }
            })
            .expect(positive)
        }),
        ("map_parallel", many, Flow::map_parallel(2, bomb().then(Ok)).expect(positive)),
        ("map_parallel_unordered", many, {
            Flow::map_parallel_unordered(2, bomb().then(Ok)).expect(positive)
        }),
        ("buffer size", many, {
            let bomb = bomb();
            let edge = EdgeOptions::default().bytes(1000).expect(positive);
            Flow::buffer_sized(edge, move |_: &Token| {
                bomb.touch();
                1
            })
        }),
    ]
}

/// The stages whose function may answer an error.
fn trying(at: u64) -> Vec<Case> {
    let bomb = || Bomb::new(at);
    let pass = |answer: bool| {
        let bomb = Bomb::new(at);
        move |_: &Token| bomb.try_touch().map(|()| answer)
    };
    let (a, b, c, d, e) = (bomb(), bomb(), bomb(), bomb(), bomb());
    let flow = Flow::map(|t: Token| t);
    vec![
        ("try_filter_map", 100, flow.try_filter_map(move |t| a.try_touch().map(|()| Some(t)))),
        ("try_filter", 100, flow.try_filter(pass(true))),
        ("try_take_while", 100, flow.try_take_while(pass(true))),
        ("try_drop_while", 100, flow.try_drop_while(pass(true))),
        ("try_scan", 100, {
            let last = flow.try_scan(None, move |_, t| b.try_touch().map(|()| Some(t)));
            last.filter_map(|t| t)
        }),
        ("try_fold", 100, {
            let last = flow.try_fold(None, move |_, t| c.try_touch().map(|()| Some(t)));
            last.filter_map(|t| t)
        }),
        ("try_expand", 100, flow.try_expand(move |t| d.try_touch().map(|()| [t.clone(), t]))),
        ("map_parallel error", 100, {
            flow.map_parallel(2, move |t| e.try_touch().map(|()| t)).expect("positive")
        }),
    ]
}

/// Every stage passes its failure through what holds elements: none is left behind.
fn holders() -> Flow<Token, Token> {
    Flow::map(|t: Token| t)
        .page(3)
        .expect("positive")
        .buffer(EdgeOptions::default())
        .map_parallel(2, Ok)
        .expect("positive")
}

fn is_the_bomb(name: &str, error: &Error) {
    assert_eq!(error.kind(), ErrorKind::StageFailed, "{name}: {error}");
    assert!(error.message().contains("the bomb went off"), "{name}: {error}");
}

#[test]
fn a_throw_in_any_stage_is_told_once_below_and_cancels_above() {
    for at in [1, 3] {
        for (name, demand, flow) in cases(at).into_iter().chain(trying(at)) {
            let (scope, kept) = (Scope::stepped("test", at), Arc::new(()));
            let graph =
                Source::strict_probe().via(flow).to_mat(Sink::probe(), |source, end| (source, end));
            let (source, end) = graph.run(&scope).expect("runs");
            end.request(demand);
            scope.settle();
            for n in 0..20 {
                if let Ok(Offer::Enqueued) = source.control().try_offer(Token(n, Arc::clone(&kept)))
                {
                    scope.settle();
                }
            }
            let error = loop {
                match end.event_within(Duration::ZERO) {
                    Some(SubscriberEvent::Next(_)) => _ = scope.settle(),
                    Some(SubscriberEvent::Error(error)) => break error,
                    other => panic!("{name} at {at}: came: {other:?}"),
                }
            };
            is_the_bomb(name, &error);
            assert!(end.event_within(Duration::ZERO).is_none(), "{name}: told once");
            assert!(source.control().is_over(), "{name}: the upstream was cancelled");
            assert_eq!(scope.running(), 0, "{name}: nothing runs on");
            drop(graph);
            assert_eq!(Arc::strong_count(&kept), 1, "{name} at {at}: no element is left");
        }
    }
}

#[test]
fn a_throw_fails_the_completion_and_leaves_neither_thread_nor_element() {
    let scope = Scope::new("test").expect("a scope");
    for at in [1, 3] {
        for (name, _, flow) in
            cases(at).into_iter().filter(|(name, ..)| *name != "conflate aggregate")
        {
            let kept = Arc::new(());
            let token = Arc::clone(&kept);
            let source = Source::range(0..1000).map(move |n| Token(n, Arc::clone(&token)));
            let graph = source.via(flow).via(holders()).map(|t| t.0).to(Sink::collect());
            let result = graph.run(&scope).expect("runs");
            let error = result.blocking_wait_timeout(SOON).expect_err("failed");
            is_the_bomb(name, &error);
            assert_eq!(result.status(), Status::Failure, "{name}");
            drop((graph, source));
            let deadline = std::time::Instant::now() + SOON;
            while scope.running() != 0 || Arc::strong_count(&kept) != 1 {
                assert!(std::time::Instant::now() < deadline, "{name}: something is left");
                std::thread::yield_now();
            }
        }
    }
    scope.shutdown(SOON).expect("no thread is left");
}

#[test]
fn a_throw_in_a_source_fails_the_stream() {
    for at in [1, 3] {
        let (a, b, c, d) = (Bomb::new(at), Bomb::new(at), Bomb::new(at), Bomb::new(at));
        let sources = vec![
            (
                "unfold",
                Source::unfold(0_u64, move |n| {
                    a.touch();
                    Ok(Some((n + 1, n)))
                }),
            ),
            (
                "try_iter",
                Source::try_iter(move || {
                    let b = b.clone();
                    Ok((0..).map(move |n| {
                        b.touch();
                        Ok(n)
                    }))
                }),
            ),
            (
                "pages",
                Source::pages(0_u64, move |n| {
                    c.touch();
                    Ok(Page { rows: vec![n], next: Some(n + 1) })
                }),
            ),
            (
                "pages_ahead",
                Source::pages_ahead(0_u64, 1, move |n| {
                    d.touch();
                    Ok(Page { rows: vec![n], next: Some(n + 1) })
                }),
            ),
        ];
        for (name, source) in sources {
            let scope = Scope::stepped("test", at);
            let result = source.to(Sink::collect()).run(&scope).expect("runs");
            scope.settle();
            is_the_bomb(name, &result.result().expect("settled").expect_err("failed"));
            assert_eq!(scope.running(), 0);
        }
    }
}

#[test]
fn a_throw_in_a_sink_fails_its_completion_and_cancels_above() {
    for at in [1, 3] {
        let (a, b, c) = (Bomb::new(at), Bomb::new(at), Bomb::new(at));
        let sinks: Vec<(&str, Sink<u64, Completion<()>>)> = vec![
            ("foreach", Sink::foreach(move |_| a.touch())),
            ("try_foreach", Sink::try_foreach(move |_| b.try_touch())),
            ("fold", Sink::fold((), move |(), _| c.touch())),
        ];
        for (name, sink) in sinks {
            let scope = Scope::stepped("test", at);
            let graph = Source::strict_probe().to_mat(sink, |source, end| (source, end));
            let (source, end) = graph.run(&scope).expect("runs");
            for n in 0..9 {
                scope.settle();
                let _closed_at_the_end = source.control().try_offer(n);
            }
            scope.settle();
            is_the_bomb(name, &end.result().expect("settled").expect_err("failed"));
            assert!(source.control().is_over(), "{name}");
            assert_eq!(scope.running(), 0, "{name}");
        }
    }
}

#[test]
fn a_throw_of_what_stands_in_for_a_failure_is_the_failure() {
    let failing = Source::<u64>::failed(Error::new(ErrorKind::Io, "gone"));
    let recover = failing.recover(|_| panic!("the bomb went off"));
    let again = Source::try_iter(|| -> Result<std::iter::Empty<Result<u64, Error>>, Error> {
        panic!("the bomb went off")
    });
    for (name, source) in [("recover", recover), ("recover_with", failing.recover_with(again))] {
        let scope = Scope::stepped("test", 1);
        let result = source.to(Sink::collect()).run(&scope).expect("runs");
        scope.settle();
        is_the_bomb(name, &result.result().expect("settled").expect_err("failed"));
    }
}

#[test]
fn a_cancel_at_any_point_leaves_neither_stage_nor_element() {
    let edge = EdgeOptions::capacity(2).expect("positive");
    let ms = Duration::from_millis;
    for (seed, k) in
        (0..40).map(|seed| (seed, [0, 1, 7, 50][usize::try_from(seed % 4).expect("small")]))
    {
        let kept = Arc::new(());
        let token = Arc::clone(&kept);
        let line = Source::range(0..200)
            .map(move |n| Token(n, Arc::clone(&token)))
            .page(7)
            .and_then(|line| line.map_parallel(3, Ok))
            .and_then(|line| line.buffer(edge).batch(5))
            .and_then(|line| line.flatten().map_async(2, async |t| Ok(t)))
            .and_then(|line| line.batch_within(3, ms(1)))
            .and_then(|line| line.flatten().group_by(1, 1, |_| 0, Flow::map(|t: Token| t)))
            .and_then(|line| line.idle_timeout(ms(1)).retry(2, ms(1), ms(1)))
            .expect("positive");
        let scope = Scope::stepped("test", seed);
        let graph = line.take(k).map(|t| t.0).to(Sink::collect());
        let result = graph.run(&scope).expect("runs");
        scope.settle();
        assert_eq!(result.result().expect("settled"), Ok((0..k).collect()), "seed {seed}");
        assert_eq!(scope.running(), 0, "seed {seed}");
        drop((graph, line));
        assert_eq!(Arc::strong_count(&kept), 1, "seed {seed}: no element is left");
    }
}
