//! What one run is made of, until it is sure that all of it could be made.

use super::island::{Drive, Interrupt, NewIsland};
use super::meter::{Meter, StageView};
use super::scope::{Join, Scope, ScopeCore};
use crate::error::Error;
use crate::model::demand::Stage;
use crate::sync::Arc;

/// One attempt to run a blueprint. Dropped before it is committed, it takes everything back that the
/// attempt made.
pub struct Build {
    scope: Arc<ScopeCore>,
    islands: Vec<NewIsland>,
    views: Vec<Arc<StageView>>,
    /// Given by users, and what stages call themselves; each the outermost first.
    names: Vec<String>,
    kinds: Vec<String>,
    joins: Vec<Join>,
}

impl Build {
    pub(super) fn new(scope: &Scope) -> Result<Self, Error> {
        Self::later(scope.core())
    }

    /// A run that is started by a stage of another one.
    ///
    /// # Errors
    /// `ScopeShutDown`.
    pub(super) fn later(scope: &Arc<ScopeCore>) -> Result<Self, Error> {
        match scope.over() {
            Some(why) => Err(why),
            None => Ok(Build {
                scope: Arc::clone(scope),
                islands: Vec::new(),
                views: Vec::new(),
                names: Vec::new(),
                kinds: Vec::new(),
                joins: Vec::new(),
            }),
        }
    }

    /// A meter for a stage of kind `kind`, or of the name that was given for it.
    pub(super) fn meter(&mut self, kind: &str, stage: Stage) -> Meter {
        let given = self.names.last().or(self.kinds.first());
        let name = given.cloned().unwrap_or_else(|| kind.to_owned());
        let meter = Meter::new(name, stage);
        self.views.push(Arc::clone(meter.view()));
        meter
    }

    /// Builds with `name` instead of the stages' own.
    pub(super) fn named<R>(&mut self, name: &str, build: impl FnOnce(&mut Build) -> R) -> R {
        self.names.push(name.to_owned());
        let result = build(self);
        self.names.pop();
        result
    }

    /// Builds what calls itself `kind`, unless a name was given or it is part of what calls itself
    /// something else.
    pub(super) fn called<R>(&mut self, kind: &str, build: impl FnOnce(&mut Build) -> R) -> R {
        self.kinds.push(kind.to_owned());
        let result = build(self);
        self.kinds.pop();
        result
    }

    /// One island more.
    pub(super) fn island(&mut self, name: impl Into<String>, drive: impl Drive + 'static) {
        let drive = Box::new(drive);
        self.islands.push(NewIsland { name: name.into(), drive, interrupt: None });
    }

    /// One island more that may wait for something that is no part of this crate: `interrupt` ends
    /// that wait, and is called, once or more often, when the island is to stop.
    pub(super) fn island_with(
        &mut self,
        name: impl Into<String>,
        drive: impl Drive + 'static,
        interrupt: Interrupt,
    ) {
        let (drive, interrupt) = (Box::new(drive), Some(interrupt));
        self.islands.push(NewIsland { name: name.into(), drive, interrupt });
    }

    /// Called once all of the run exists, before any of it begins; not at all if it is refused.
    pub(super) fn join(&mut self, join: impl FnOnce() + 'static) {
        self.joins.push(Box::new(join));
    }

    /// Runs another blueprint's stages later, from within a stage: on the same scope.
    pub(super) fn scope(&self) -> Arc<ScopeCore> {
        Arc::clone(&self.scope)
    }

    pub(super) fn commit(self) -> Result<(), Error> {
        self.scope.spawn(self.islands, &self.views, self.joins)
    }
}
