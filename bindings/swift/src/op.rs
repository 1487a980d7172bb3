//! Operations that Swift waits for.

use std::future::Future;
use std::sync::Arc;

use sluicegate::wait::Op;
use sluicegate::{Error, ErrorKind};

use crate::bell::{Bell, ringer};
use crate::error::Failure;
use crate::guard::{guard, quiet};
use crate::sync::Mutex;

/// One operation of core and, once it has answered, its answer.
pub(crate) struct Slot<T>(Mutex<Phase<T>>);

enum Phase<T> {
    Asking(Op<Result<T, Error>>),
    Answered(T),
    Over,
}

impl<T: Send + 'static> Slot<T> {
    /// An operation that is `future`.
    pub(crate) fn new<E: Into<Error>>(
        future: impl Future<Output = Result<T, E>> + Send + 'static,
    ) -> Self {
        let future = async move { future.await.map_err(Into::into) };
        Slot(Mutex::new(Phase::Asking(Op::new(future))))
    }

    /// Asks once, without a bell. True if the operation has answered.
    pub(crate) fn attempt(&self) -> Result<bool, Failure> {
        self.ask(|op| op.try_now())
    }

    /// Asks once; if there is no answer yet, `bell` will ring when asking again is worth while.
    pub(crate) fn poll(&self, bell: Arc<dyn Bell>) -> Result<bool, Failure> {
        self.ask(|op| op.poll(ringer(bell)))
    }

    fn ask(
        &self,
        ask: impl FnOnce(&mut Op<Result<T, Error>>) -> Option<Result<T, Error>>,
    ) -> Result<bool, Failure> {
        guard(|| {
            let mut phase = self.0.lock();
            // Over while it is asked, and for good if asking panics.
            let (answered, next) = match std::mem::replace(&mut *phase, Phase::Over) {
                Phase::Asking(mut op) => match ask(&mut op) {
                    None => (false, Phase::Asking(op)),
                    Some(answer) => (true, Phase::Answered(answer?)),
                },
                answered @ Phase::Answered(_) => (true, answered),
                Phase::Over => return Err(over()),
            };
            *phase = next;
            Ok(answered)
        })
    }

    /// The answer, once.
    pub(crate) fn take(&self) -> Result<T, Failure> {
        guard(|| {
            let mut phase = self.0.lock();
            match std::mem::replace(&mut *phase, Phase::Over) {
                Phase::Answered(answer) => Ok(answer),
                asking @ Phase::Asking(_) => {
                    *phase = asking;
                    Err(Error::new(
                        ErrorKind::InvalidArgument,
                        "the operation has not answered yet",
                    ))
                }
                Phase::Over => Err(over()),
            }
        })
    }

    /// Looks at the answer without taking it.
    pub(crate) fn look<R>(&self, look: impl FnOnce(&T) -> R) -> Option<R> {
        match &*self.0.lock() {
            Phase::Answered(answer) => Some(look(answer)),
            Phase::Asking(_) | Phase::Over => None,
        }
    }

    /// Gives the operation up: it leaves every line, takes nothing, and its bell is neither ringing
    /// nor going to once this returns.
    pub(crate) fn cancel(&self) {
        quiet((), || {
            let phase = std::mem::replace(&mut *self.0.lock(), Phase::Over);
            drop(phase); // may wake whoever stood behind: never under the lock
        });
    }
}

fn over() -> Error {
    Error::new(ErrorKind::InvalidArgument, "the operation has ended: it answers once")
}

/// An exported operation: the three verbs that all of them have.
macro_rules! operation {
    ($(#[doc = $doc:literal])+ $name:ident -> $answer:ty) => {
        $(#[doc = $doc])+
        #[derive(uniffi::Object)]
        pub struct $name(pub(crate) $crate::op::Slot<$answer>);

        impl $name {
            pub(crate) fn start<E: Into<sluicegate::Error>>(
                future: impl std::future::Future<Output = Result<$answer, E>> + Send + 'static,
            ) -> std::sync::Arc<Self> {
                std::sync::Arc::new($name($crate::op::Slot::new(future)))
            }
        }

        #[uniffi::export]
        impl $name {
            /// Asks once, without a bell. True if it has answered.
            ///
            /// # Errors
            /// What the operation failed with, once.
            pub fn attempt(&self) -> Result<bool, $crate::error::Failure> {
                self.0.attempt()
            }

            /// Asks once. False: the bell rings, once, when asking again is worth while.
            ///
            /// # Errors
            /// What the operation failed with, once.
            pub fn poll(
                &self,
                bell: std::sync::Arc<dyn $crate::bell::Bell>,
            ) -> Result<bool, $crate::error::Failure> {
                self.0.poll(bell)
            }

            /// Gives the operation up: it takes nothing, and its bell does not ring any more.
            pub fn cancel(&self) {
                self.0.cancel();
            }
        }
    };
}
pub(crate) use operation;

/// An exported operation that hands its answer over.
macro_rules! taking {
    ($(#[doc = $doc:literal])+ $name:ident -> $answer:ty) => {
        $crate::op::operation! { $(#[doc = $doc])+ $name -> $answer }

        #[uniffi::export]
        impl $name {
            /// The answer, once.
            ///
            /// # Errors
            /// `InvalidArgument` before the operation has answered and after it was taken.
            pub fn take(&self) -> Result<$answer, $crate::error::Failure> {
                self.0.take()
            }
        }
    };
}
pub(crate) use taking;

operation! {
    /// An operation whose answer is that it is done: an acquire, a write, a close.
    UnitOp -> ()
}

taking! {
    /// An operation that answers a number.
    CountOp -> u64
}
