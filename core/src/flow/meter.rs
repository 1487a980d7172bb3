//! The two counters of a stage, kept by the model and shown to whoever asks.

use crate::model::demand::{Emission, Shape, Stage, StageArrival};
use crate::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The two counters of a stage, and what lies between them. All are elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// Asked for below and not handed down yet.
    pub downstream: u64,
    /// Asked for above and not arrived yet.
    pub upstream: u64,
    /// Arrived and not left yet.
    pub held: u64,
}

/// What a queue between two threads says of itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counts {
    pub(super) upstream: u64,
    pub(super) held: u64,
    pub(super) lost: u64,
}

/// Asks a queue, for as long as it is there.
pub(super) type Asked = Box<dyn Fn() -> Option<Counts> + Send + Sync>;

/// What is seen of a running stage. A reading is three counters read one after the other: exact at a
/// quiet point, a close guess while the stage works.
pub struct StageView {
    name: String,
    downstream: AtomicU64,
    upstream: AtomicU64,
    held: AtomicU64,
    /// Held in front of the stage, by whoever waits to hand it over.
    parked: AtomicU64,
    passed: AtomicU64,
    late: AtomicU64,
    lost: AtomicU64,
    /// Of an edge: its producer fills it while its consumer looks away, so it is asked itself.
    queue: OnceLock<Asked>,
}

impl StageView {
    /// The stage's name: its kind, or what [`named`](super::Flow::named) said.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The two counters.
    #[must_use]
    pub fn demand(&self) -> Demand {
        let (upstream, held) = match self.counts() {
            Some(counts) => (counts.upstream, counts.held),
            None => (self.upstream.load(Relaxed), self.held.load(Relaxed)),
        };
        let downstream = self.downstream.load(Relaxed);
        Demand { downstream, upstream, held: held.saturating_add(self.parked.load(Relaxed)) }
    }

    fn counts(&self) -> Option<Counts> {
        self.queue.get().and_then(|ask| ask())
    }

    /// Elements handed down so far.
    #[must_use]
    pub fn passed(&self) -> u64 {
        self.passed.load(Relaxed)
    }

    /// Signals that came after the end and were dropped.
    #[must_use]
    pub fn late(&self) -> u64 {
        self.late.load(Relaxed)
    }

    /// Elements that an overflow strategy discarded.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.counts().map_or_else(|| self.lost.load(Relaxed), |counts| counts.lost)
    }

    /// Has the queue that the stage reads be asked for what it holds, awaits and has lost. Once.
    pub(super) fn reads(&self, queue: Asked) {
        let _the_first_stays = self.queue.set(queue);
    }

    /// The queue is over: this stays of it.
    pub(super) fn keep(&self, counts: Counts) {
        self.set_held(counts.held);
        self.set_lost(counts.lost);
        self.set_upstream(counts.upstream);
    }

    pub(super) fn set_held(&self, held: u64) {
        self.held.store(held, Relaxed);
    }

    /// An element has arrived and waits in front of the stage, or waits no longer. For one writer.
    pub(super) fn set_parked(&self, waits: bool) {
        self.parked.store(waits.into(), Relaxed);
    }

    pub(super) fn set_downstream(&self, owed: u64) {
        self.downstream.store(owed, Relaxed);
    }

    pub(super) fn set_upstream(&self, asked: u64) {
        self.upstream.store(asked, Relaxed);
    }

    pub(super) fn set_lost(&self, lost: u64) {
        self.lost.store(lost, Relaxed);
    }

    pub(super) fn count_passed(&self) {
        self.passed.fetch_add(1, Relaxed);
    }

    pub(super) fn count_late(&self) {
        self.late.fetch_add(1, Relaxed);
    }
}

impl std::fmt::Debug for StageView {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Demand { downstream, upstream, held } = self.demand();
        f.debug_struct("StageView")
            .field("name", &self.name)
            .field("downstream", &downstream)
            .field("upstream", &upstream)
            .field("held", &held)
            .field("passed", &self.passed())
            .finish_non_exhaustive()
    }
}

/// A stage's state, owned by the stage. Each step is the model's.
pub(super) struct Meter {
    stage: Stage,
    passed: u64,
    view: Arc<StageView>,
}

impl Meter {
    /// A stage that is connected upwards, and asks for nothing until it is asked. One that reads ahead
    /// of demand is connected by [`start`](Self::start), when it first runs.
    pub(super) fn new(name: String, stage: Stage) -> Self {
        let stage = if stage.kind == Shape::Ahead { stage } else { stage.start().0 };
        let view = Arc::new(StageView {
            name,
            downstream: AtomicU64::new(0),
            upstream: AtomicU64::new(0),
            held: AtomicU64::new(0),
            parked: AtomicU64::new(0),
            passed: AtomicU64::new(0),
            late: AtomicU64::new(0),
            lost: AtomicU64::new(0),
            queue: OnceLock::new(),
        });
        Meter { stage, passed: 0, view }
    }

    pub(super) fn view(&self) -> &Arc<StageView> {
        &self.view
    }

    pub(super) fn name(&self) -> &str {
        &self.view.name
    }

    /// The stage is connected upwards. Answers how many to ask for.
    pub(super) fn start(&mut self) -> u64 {
        self.keep(|stage| stage.start())
    }

    /// Demand from below. Answers how many to ask for above.
    pub(super) fn request(&mut self, n: u64) -> u64 {
        self.keep(|stage| stage.request(n))
    }

    /// May an output be handed down?
    pub(super) fn wanted(&self) -> bool {
        matches!(self.stage.emit(0).1, Emission::Emitted(_))
    }

    /// Inputs that were asked for and have not arrived.
    pub(super) fn asked(&self) -> u64 {
        self.stage.asked
    }

    /// Was anything asked for above that has not arrived?
    pub(super) fn awaits(&self) -> bool {
        self.stage.awaits()
    }

    /// Outputs that were asked for and have not left.
    pub(super) fn owed(&self) -> u64 {
        self.stage.owed
    }

    /// Is there an input that has not left?
    pub(super) fn has_input(&self) -> bool {
        self.stage.has_input()
    }

    /// How many inputs to read at one go, of a stage that makes them itself.
    pub(super) fn page(&self, most: u64) -> u64 {
        self.stage.page(most)
    }

    /// An input arrived. False if it was not asked for, or came after the end: it is dropped and
    /// counted.
    #[must_use = "an input that was not asked for is dropped"]
    pub(super) fn arrive(&mut self) -> bool {
        let answer = self.keep(Stage::arrive);
        if answer != StageArrival::Accepted {
            self.view.count_late();
        }
        answer == StageArrival::Accepted
    }

    /// An output leaves, and `inputs` with it. Answers how many to ask for in their place.
    ///
    /// # Panics
    /// Without demand, or if the inputs are not there: the stage looks first.
    pub(super) fn emit(&mut self, inputs: u64) -> u64 {
        match self.keep(|stage| stage.emit(inputs)) {
            Emission::Emitted(ask) => {
                self.passed = self.passed.saturating_add(1);
                self.view.passed.store(self.passed, Relaxed);
                ask
            }
            refused => panic!("stage {:?} emitted against the model: {refused:?}", self.name()),
        }
    }

    /// The output that was asked for came from another input of the same stage.
    pub(super) fn met_elsewhere(&mut self) {
        let answer = self.keep(|stage| stage.emit(0));
        debug_assert!(matches!(answer, Emission::Emitted(_)), "the inputs of a stage owe the same");
    }

    /// An input leaves without an output. Answers how many to ask for in its place.
    pub(super) fn discard(&mut self) -> u64 {
        self.keep(Stage::discard)
    }

    /// The upstream has ended.
    pub(super) fn finish(&mut self) {
        self.keep(|stage| (stage.finish(), ()));
    }

    /// Nothing is wanted any more: all that was counted is over.
    pub(super) fn close(&mut self) {
        self.keep(|stage| (stage.close().0, ()));
    }

    fn keep<R>(&mut self, step: impl FnOnce(Stage) -> (Stage, R)) -> R {
        let (after, answer) = step(self.stage);
        self.stage = after;
        self.view.downstream.store(after.owed, Relaxed);
        self.view.upstream.store(after.asked, Relaxed);
        self.view.held.store(after.held, Relaxed);
        answer
    }
}
