//! Why a pipeline stands still: each stage of a scope, and whom it waits for.

use std::fmt;
use std::sync::Weak;

use serde_json::{Value as Json, json};

use super::meter::{Demand, StageView};
use super::scope::{Scope, ScopeCore};
use crate::account::TellsOfStages;
use crate::engine::Engine;
use crate::sync::Arc;

/// Whom a stage waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WaitsFor {
    /// Nothing is asked of it.
    Consumer,
    /// It has demand, has asked above, and nothing has come yet.
    Source,
    /// It has demand and has asked for nothing: it works on what it holds, or holds it for another
    /// input, a link or a time to come.
    Itself,
}

impl WaitsFor {
    fn of(demand: Demand) -> Self {
        match demand {
            Demand { downstream: 0, .. } => WaitsFor::Consumer,
            Demand { upstream: 1.., .. } => WaitsFor::Source,
            Demand { .. } => WaitsFor::Itself,
        }
    }

    /// The word for it in JSON: `consumer`, `source` or `itself`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            WaitsFor::Consumer => "consumer",
            WaitsFor::Source => "source",
            WaitsFor::Itself => "itself",
        }
    }
}

/// How one stage stands. A reading, as that of a [`StageView`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StageStanding {
    /// The stage's name.
    pub stage: String,
    /// Its counters, in elements.
    pub demand: Demand,
    /// Elements handed down so far.
    pub passed: u64,
    /// Signals that came after the end and were dropped.
    pub late: u64,
    /// Elements that an overflow strategy discarded.
    pub lost: u64,
    /// Whom it waits for.
    pub waits_for: WaitsFor,
}

impl StageStanding {
    fn of(view: &StageView) -> Self {
        let demand = view.demand();
        StageStanding {
            stage: view.name().to_owned(),
            demand,
            passed: view.passed(),
            late: view.late(),
            lost: view.lost(),
            waits_for: WaitsFor::of(demand),
        }
    }

    fn to_json(&self) -> Json {
        json!({
            "stage": self.stage,
            "downstream": self.demand.downstream,
            "upstream": self.demand.upstream,
            "held": self.demand.held,
            "passed": self.passed,
            "late": self.late,
            "lost": self.lost,
            "waits_for": self.waits_for.word(),
        })
    }
}

/// Every stage that runs in a scope, and whom it waits for. `Display` says it in words, a stage a
/// line, sources before what reads from them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScopeExplanation {
    scope: String,
    islands: usize,
    stages: Vec<StageStanding>,
}

impl ScopeExplanation {
    /// Every running stage, in the order they were made.
    #[must_use]
    pub fn stages(&self) -> &[StageStanding] {
        &self.stages
    }

    /// As JSON: `scope`, `islands` (how many threads run), and `stages`, an array with `stage`,
    /// `downstream`, `upstream`, `held`, `passed`, `late`, `lost` (all elements) and `waits_for`
    /// (`consumer`, `source` or `itself`).
    #[must_use]
    pub fn to_json(&self) -> Json {
        let stages: Vec<_> = self.stages.iter().map(StageStanding::to_json).collect();
        json!({ "scope": self.scope, "islands": self.islands, "stages": stages })
    }
}

/// Elements in words; the largest demand has no number.
struct Count(u64);

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("nothing"),
            u64::MAX => f.write_str("all there is"),
            n => write!(f, "{n}"),
        }
    }
}

impl fmt::Display for StageStanding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Demand { downstream, upstream, held } = self.demand;
        let (asked, awaited, held) = (Count(downstream), Count(upstream), Count(held));
        write!(f, "stage {:?} ", self.stage)?;
        match self.waits_for {
            WaitsFor::Consumer => {
                write!(f, "waits for its consumer, who asks for nothing; it holds {held}")?;
            }
            WaitsFor::Source => write!(
                f,
                "has demand for {asked} and waits for its source, which it asked for {awaited}; it \
                 holds {held}"
            )?,
            WaitsFor::Itself => {
                write!(f, "has demand for {asked} and works on what it holds, which is {held}")?;
            }
        }
        write!(f, "; {} passed", Count(self.passed))?;
        if self.lost != 0 {
            write!(f, ", {} lost", self.lost)?;
        }
        if self.late != 0 {
            write!(f, ", {} came too late", self.late)?;
        }
        Ok(())
    }
}

impl fmt::Display for ScopeExplanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "scope {:?}: ", self.scope)?;
        if self.stages.is_empty() {
            return f.write_str("nothing runs");
        }
        write!(f, "{} stages on {} islands", self.stages.len(), self.islands)?;
        self.stages.iter().try_for_each(|stage| write!(f, "\n  {stage}"))
    }
}

impl Scope {
    /// Who waits for whom, now. Never waits and disturbs nothing.
    #[must_use]
    pub fn explain(&self) -> ScopeExplanation {
        let stages = self.stages().iter().map(|view| StageStanding::of(view)).collect();
        ScopeExplanation { scope: self.name().to_owned(), islands: self.running(), stages }
    }

    /// Has [`Engine::explain`] tell of this scope's stages too, for as long as the scope lives. Again
    /// for the same engine, it changes nothing. Safe from any thread.
    pub fn tell(&self, engine: &Engine) {
        let core: Weak<dyn TellsOfStages> = Arc::downgrade(self.core()) as _;
        engine.hear(core);
    }
}

impl TellsOfStages for ScopeCore {
    fn stages(&self) -> Vec<Json> {
        let stages = self.views();
        let told = stages.iter().map(|view| {
            let standing = StageStanding::of(view);
            let mut json = standing.to_json();
            json["scope"] = self.name().into();
            json["says"] = standing.to_string().into();
            json
        });
        told.collect()
    }
}
