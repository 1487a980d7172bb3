//! expand, flatten: one element into many.

use std::task::Poll;

use super::Inlet;
use crate::error::Error;
use crate::flow::context::{Context, Signal, Upstream};
use crate::flow::guard::guarded;
use crate::flow::held::{Kept, own};
use crate::flow::{Flow, NotUsed};
use crate::model::demand::Stage;
use crate::sync::Arc;

impl<I: Send + 'static, O: Send + 'static> Flow<I, O> {
    /// Each element into as many as `function` makes of it, in order. The next element is asked for
    /// once the last of these has left and more is wanted: nothing piles up here. One output at most
    /// is made ahead of demand, to know whether there is one.
    #[must_use]
    pub fn expand<F, C>(function: F) -> Self
    where
        F: Fn(I) -> C + Send + Sync + 'static,
        C: IntoIterator<Item = O> + 'static,
        C::IntoIter: Send + 'static,
    {
        Self::expanded("expand", move |input| Ok(function(input)))
    }

    /// The same with a function whose error fails the stream.
    #[must_use]
    pub fn try_expand<F, C>(function: F) -> Self
    where
        F: Fn(I) -> Result<C, Error> + Send + Sync + 'static,
        C: IntoIterator<Item = O> + 'static,
        C::IntoIter: Send + 'static,
    {
        Self::expanded("expand", function)
    }

    /// The elements of each list that comes, one by one; as [`expand`](Self::expand).
    #[must_use]
    pub fn flatten() -> Self
    where
        I: IntoIterator<Item = O>,
        I::IntoIter: Send + 'static,
    {
        Self::expanded("flatten", |list: I| Ok(list))
    }

    fn expanded<F, C>(kind: &'static str, function: F) -> Self
    where
        F: Fn(I) -> Result<C, Error> + Send + Sync + 'static,
        C: IntoIterator<Item = O> + 'static,
        C::IntoIter: Send + 'static,
    {
        let function = own(function);
        Flow::from_make(move |build, up| {
            let meter = build.meter(kind, Stage::whole(1).expect("not 0"));
            let function = Arc::clone(&function);
            let make = move |input| Ok(function(input)?.into_iter());
            let inlet = Inlet::new(up, meter);
            Ok((
                Box::new(Expand { inlet, make, current: Kept::default(), next: Kept::default() }),
                NotUsed,
            ))
        })
    }
}

struct Expand<I, O, F, C> {
    inlet: Inlet<I>,
    make: F,
    current: Kept<Option<C>>,
    /// The output that leaves next.
    next: Kept<Option<O>>,
}

impl<I, O, F, C> Upstream<O> for Expand<I, O, F, C>
where
    I: Send,
    O: Send,
    F: Fn(I) -> Result<C, Error> + Send,
    C: Iterator<Item = O> + Send,
{
    fn request(&mut self, n: u64) {
        self.inlet.request(n);
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Signal<O>> {
        loop {
            if self.next.is_none()
                && let Some(current) = &mut *self.current
            {
                match guarded(self.inlet.name(), || Ok(current.next())) {
                    Ok(Some(output)) => *self.next = Some(output),
                    Ok(None) => {
                        drop(self.current.all());
                        self.inlet.discard();
                    }
                    Err(error) => return self.inlet.fail(error),
                }
            }
            if self.next.is_some() {
                if self.inlet.wanted() {
                    self.inlet.emit(0);
                    let next = self.next.take();
                    return Poll::Ready(next.map_or(Signal::Complete, Signal::Next));
                }
                if self.inlet.ended() {
                    return Poll::Pending;
                }
            } else if self.inlet.ended() {
                return self.inlet.end();
            }
            if context.stopping() {
                return Poll::Pending;
            }
            match self.inlet.pull(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(None) => {}
                Poll::Ready(Some(input)) => {
                    match guarded(self.inlet.name(), || (self.make)(input)) {
                        Ok(outputs) => *self.current = Some(outputs),
                        Err(error) => return self.inlet.fail(error),
                    }
                }
            }
        }
    }
}
