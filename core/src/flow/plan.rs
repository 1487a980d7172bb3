//! What a plan says of itself before it runs, so that one that can lock up is refused.
//!
//! A hub whose subscribers wait goes at the pace of the slowest. If two subscriptions of one hub are
//! paired again, and one of them needs more elements for an output than the other, then the other holds
//! the hub up with what it cannot hand on, and the one waits for elements that never come.

use crate::error::{Error, ErrorKind};

/// How many inputs go into an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    /// Always so many.
    Every(u64),
    /// That depends on the elements.
    Free,
}

impl Pace {
    fn then(self, next: Pace) -> Pace {
        match (self, next) {
            (Pace::Every(first), Pace::Every(second)) => {
                first.checked_mul(second).map_or(Pace::Free, Pace::Every)
            }
            _ => Pace::Free,
        }
    }
}

impl std::fmt::Display for Pace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Pace::Every(n) => write!(f, "{n} elements for an output"),
            Pace::Free => f.write_str("a number of elements for an output that nobody knows"),
        }
    }
}

/// What stages in a row do to those above them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tempo {
    pub(super) pace: Pace,
    /// While nothing is asked for below, nothing is taken from above.
    pub(super) holds: bool,
}

impl Tempo {
    /// One output for each input, in the time of those below.
    pub(super) const EACH: Tempo = Tempo { pace: Pace::Every(1), holds: true };
    /// As many outputs as there happen to be.
    pub(super) const FREE: Tempo = Tempo { pace: Pace::Free, holds: true };
    /// Never holds the upstream back.
    pub(super) const LOOSE: Tempo = Tempo { pace: Pace::Free, holds: false };

    pub(super) const fn every(n: u64) -> Tempo {
        Tempo { pace: Pace::Every(n), holds: true }
    }

    fn then(self, next: Tempo) -> Tempo {
        Tempo { pace: self.pace.then(next.pace), holds: self.holds && next.holds }
    }
}

/// A line of stages that begins at a subscription of a hub.
#[derive(Clone, Copy, Debug)]
struct Line {
    hub: usize,
    tempo: Tempo,
}

/// The lines that come together in a source.
#[derive(Clone, Debug, Default)]
pub(super) struct Lines(Vec<Line>);

impl Lines {
    /// A subscription of the hub of this number, which holds the hub up or does not.
    pub(super) fn of_hub(hub: usize, holds: bool) -> Self {
        Lines(vec![Line { hub, tempo: Tempo { holds, ..Tempo::EACH } }])
    }

    pub(super) fn through(&self, tempo: Tempo) -> Self {
        Lines(self.0.iter().map(|line| Line { tempo: line.tempo.then(tempo), ..*line }).collect())
    }

    pub(super) fn with(mut self, others: &Lines) -> Self {
        self.0.extend_from_slice(&others.0);
        self
    }

    /// Refuses a pair of outputs of these lines and of `others`, if it could lock up.
    ///
    /// # Errors
    /// `PlanRefused`, with the reason.
    pub(super) fn pair(&self, others: &Lines) -> Result<(), Error> {
        for left in &self.0 {
            for right in others.0.iter().filter(|right| right.hub == left.hub) {
                let stuck = match (left.tempo.pace, right.tempo.pace) {
                    (Pace::Every(a), Pace::Every(b)) if a == b => false,
                    // The one that needs fewer is ahead, and must not hold the hub up.
                    (Pace::Every(a), Pace::Every(b)) if a < b => left.tempo.holds,
                    (Pace::Every(_), Pace::Every(_)) => right.tempo.holds,
                    _ => left.tempo.holds || right.tempo.holds,
                };
                if stuck {
                    return Err(Error::new(
                        ErrorKind::PlanRefused,
                        format!(
                            "two subscriptions of one hub, paired again, can lock up: one side takes \
                             {}, the other {}, and the hub waits for the one that is ahead while that \
                             waits for the other; subscribe with a policy that drops or disconnects, \
                             or give both sides the same stages",
                            left.tempo.pace, right.tempo.pace
                        ),
                    ));
                }
            }
        }
        Ok(())
    }
}

/// What a flow says of itself.
#[derive(Clone, Debug)]
pub(super) struct Through {
    pub(super) tempo: Tempo,
    /// What is paired with what comes, behind which of its own stages.
    pairs: Vec<(Tempo, Lines)>,
    /// The lines that it adds to those that come.
    adds: Lines,
}

impl Through {
    pub(super) fn of(tempo: Tempo) -> Self {
        Through { tempo, pairs: Vec::new(), adds: Lines::default() }
    }

    /// Pairs what comes with `others`.
    pub(super) fn pairing(others: &Lines) -> Self {
        Through {
            tempo: Tempo::EACH,
            pairs: vec![(Tempo::EACH, others.clone())],
            adds: others.clone(),
        }
    }

    /// Puts `others` among what comes.
    pub(super) fn mixing(others: &Lines) -> Self {
        Through { adds: others.through(Tempo::FREE), ..Self::of(Tempo::FREE) }
    }

    pub(super) fn then(&self, next: &Through) -> Self {
        let mut pairs = self.pairs.clone();
        pairs.extend(
            next.pairs.iter().map(|(tempo, others)| (self.tempo.then(*tempo), others.clone())),
        );
        let adds = self.adds.through(next.tempo).with(&next.adds);
        Through { tempo: self.tempo.then(next.tempo), pairs, adds }
    }
}

/// What a source says of itself.
#[derive(Clone, Debug, Default)]
pub(super) struct Origin {
    pub(super) lines: Lines,
    /// Why it cannot be run.
    refused: Option<Error>,
}

impl Origin {
    pub(super) fn of(lines: Lines) -> Self {
        Origin { lines, refused: None }
    }

    /// Several sources, an output of each in turn or all at once.
    pub(super) fn all<'a>(sources: impl Iterator<Item = &'a Origin>, paired: bool) -> Self {
        let mut all = Origin::default();
        for source in sources {
            let clash = if paired { all.lines.pair(&source.lines).err() } else { None };
            all.refused = all.refused.or_else(|| source.refused.clone()).or(clash);
            let tempo = if paired { Tempo::EACH } else { Tempo::FREE };
            all.lines = all.lines.with(&source.lines.through(tempo));
        }
        all
    }

    pub(super) fn then(&self, flow: &Through) -> Self {
        let clash = || {
            let pairs = flow.pairs.iter();
            pairs.filter_map(|(tempo, others)| self.lines.through(*tempo).pair(others).err()).next()
        };
        Origin {
            lines: self.lines.through(flow.tempo).with(&flow.adds),
            refused: self.refused.clone().or_else(clash),
        }
    }

    /// # Errors
    /// `PlanRefused`, with the reason.
    pub(super) fn check(&self) -> Result<(), Error> {
        self.refused.clone().map_or(Ok(()), Err)
    }
}
