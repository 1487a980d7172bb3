//! A session on its way to whoever asked for it.

/// A session that an operation has made. It is closed unless somebody takes it.
pub(crate) struct Served(Option<sluicegate::Session>);

impl Served {
    pub(crate) fn new(session: sluicegate::Session) -> Self {
        Served(Some(session))
    }

    pub(crate) fn take(mut self) -> sluicegate::Session {
        self.0.take().expect("taken once")
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if let Some(session) = &self.0 {
            session.close();
        }
    }
}
