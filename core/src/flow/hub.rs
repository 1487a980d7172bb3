//! [`Hub`]: one running source, subscribers that come and go.

use std::task::Poll;
use std::time::Duration;

use super::blueprint::{NotUsed, Sink, Source};
use super::context::{Context, Signal, Up, Upstream};
use super::edge::{Overflow, positive};
use super::guard::guarded;
use super::hub_core::{HubCore, HubDrive, HubSubscriber, Taken};
use super::meter::Meter;
use super::plan::{Lines, Origin};
use crate::error::{Error, ErrorKind};
use crate::model::demand::Stage;
use crate::model::hub::Policy;
use crate::sync::{Arc, AtomicBool, Ordering};

/// How a hub is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HubOptions {
    capacity: u64,
    replay: u64,
}

impl Default for HubOptions {
    /// 16 elements before they are shared, no replay.
    fn default() -> Self {
        HubOptions { capacity: 16, replay: 0 }
    }
}

impl HubOptions {
    /// A hub that holds at most `capacity` elements that it has not shared yet.
    ///
    /// # Errors
    /// `InvalidArgument` for 0.
    pub fn capacity(capacity: u64) -> Result<Self, Error> {
        positive("hub capacity", "elements", capacity)?;
        Ok(HubOptions { capacity, ..Self::default() })
    }

    /// Keeps the last `n` elements that were shared, and puts them into the buffer of each newcomer, as
    /// many of the latest as its buffer holds.
    #[must_use]
    pub fn replay(self, n: u64) -> Self {
        HubOptions { replay: n, ..self }
    }
}

/// What a hub does about a subscriber that has not asked and whose buffer is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum HubPolicy {
    /// It waits: nothing is lost, and everybody goes at this subscriber's pace.
    #[default]
    Wait,
    /// It waits so long at most for each element; then the subscription ends with `BufferOverflow`, once
    /// what its buffer holds was taken.
    WaitAtMost(Duration),
    /// This subscriber loses elements, counted, and holds nobody up. `Backpressure` is
    /// [`Wait`](Self::Wait), and `Fail` is [`Disconnect`](Self::Disconnect).
    Drop(Overflow),
    /// The subscription ends at once with `BufferOverflow`, once what its buffer holds was taken.
    Disconnect,
}

impl HubPolicy {
    fn parts(self) -> (Policy, Option<Duration>) {
        match self {
            HubPolicy::Wait | HubPolicy::Drop(Overflow::Backpressure) => (Policy::HoldUp, None),
            HubPolicy::WaitAtMost(limit) => (Policy::HoldUp, Some(limit)),
            HubPolicy::Disconnect | HubPolicy::Drop(Overflow::Fail) => (Policy::Disconnect, None),
            HubPolicy::Drop(how) => (Policy::DropElements(how.strategy()), None),
        }
    }
}

/// The control of a source that many may listen to. Cheap to clone; safe from any thread.
///
/// The hub asks for as much as the largest demand of any subscriber, and never for more than it can
/// hold. While nobody listens it asks for nothing and holds the source. What is shared before somebody
/// subscribes is not seen by him, but for the replay. Once the last handle and the last subscriber are
/// gone, the source is cancelled.
pub struct Hub<T>(Arc<Owner<T>>);

struct Owner<T>(Arc<HubCore<T>>);

impl<T> Drop for Owner<T> {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

impl<T> Clone for Hub<T> {
    fn clone(&self) -> Self {
        Hub(Arc::clone(&self.0))
    }
}

/// Elements a subscriber asks for and buffers unless told otherwise.
const CAPACITY: u64 = 16;

impl<T: Clone + Send + Sync + 'static> Hub<T> {
    /// A source of what is shared once it runs. It runs once, another run fails with
    /// `AlreadySubscribed`: whoever wants to listen twice subscribes twice. A run that is refused is
    /// none. It asks the hub for at most
    /// 16 elements at a time, and buffers as many that it has not asked for.
    #[must_use]
    pub fn subscribe(&self, policy: HubPolicy) -> Source<T> {
        self.subscription(policy, CAPACITY)
    }

    /// The same with `capacity` instead of 16 elements.
    ///
    /// # Errors
    /// `InvalidArgument` for 0.
    pub fn subscribe_with(&self, policy: HubPolicy, capacity: u64) -> Result<Source<T>, Error> {
        positive("subscriber capacity", "elements", capacity)?;
        Ok(self.subscription(policy, capacity))
    }

    fn subscription(&self, policy: HubPolicy, capacity: u64) -> Source<T> {
        let (hub, used) = (self.clone(), Arc::new(AtomicBool::new(false)));
        let (policy, limit) = policy.parts();
        let holds = policy == Policy::HoldUp && limit.is_none();
        let number = Arc::as_ptr(&self.0.0).addr(); // the source keeps the hub, so it stays its own
        Source::from_make(move |build| {
            if used.swap(true, Ordering::AcqRel) {
                return Err(Error::new(
                    ErrorKind::AlreadySubscribed,
                    "a subscription of a hub runs once: subscribe again for another",
                ));
            }
            let meter = build.meter("subscribe", Stage::each(capacity).expect("checked before"));
            let core = Arc::clone(&hub.0.0);
            let subscriber = policy.subscribed(capacity, u64::MAX).expect("checked before");
            let id = core.subscribe(meter.name(), subscriber, limit);
            let used = Arc::clone(&used);
            Ok((Box::new(Subscription { core, id, meter, used, begun: false }) as Up<T>, NotUsed))
        })
        .from(Origin::of(Lines::of_hub(number, holds)))
    }

    /// Everybody who listens now, in the order they came.
    #[must_use]
    pub fn subscribers(&self) -> Vec<HubSubscriber> {
        self.0.0.subscribers()
    }

    /// True once the source has ended and everything was shared.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.0.0.is_over()
    }
}

/// The first stage of a subscriber. Dropping it unsubscribes.
struct Subscription<T> {
    core: Arc<HubCore<T>>,
    id: u64,
    meter: Meter,
    used: Arc<AtomicBool>,
    begun: bool,
}

impl<T: Clone + Send + Sync> Upstream<T> for Subscription<T> {
    fn request(&mut self, n: u64) {
        let ask = self.meter.request(n);
        self.core.request(self.id, ask);
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Signal<T>> {
        self.begun = true;
        let (taken, held, lost) = self.core.take(self.id, context.waker());
        let signal = match taken {
            Taken::Nothing => Poll::Pending,
            Taken::End(None) => Poll::Ready(Signal::Complete),
            Taken::End(Some(error)) => Poll::Ready(Signal::Fail(error)),
            Taken::Element(element) => {
                let accepted = self.meter.arrive();
                debug_assert!(accepted, "a subscriber is handed what it asked for");
                let ask = self.meter.emit(1);
                self.core.request(self.id, ask);
                // The last one to take it has it for himself.
                let own = Arc::try_unwrap(element)
                    .or_else(|shared| guarded(self.meter.name(), || Ok((*shared).clone())));
                Poll::Ready(own.map_or_else(Signal::Fail, Signal::Next))
            }
        };
        self.meter.view().set_held(held);
        self.meter.view().set_lost(lost);
        signal
    }
}

impl<T> Drop for Subscription<T> {
    fn drop(&mut self) {
        self.core.leave(self.id);
        if !self.begun {
            self.used.store(false, Ordering::Release); // the run was refused, and was none
        }
    }
}

impl<T: Clone + Send + Sync + 'static> Sink<T, Hub<T>> {
    /// Shares what comes with everybody who subscribes at the [`Hub`]. Elements are cloned by each
    /// subscriber, on its own thread.
    #[must_use]
    pub fn broadcast_hub(options: HubOptions) -> Self {
        Sink::from_make(move |build, up| {
            let meter = build.meter("broadcast_hub", Stage::each(u64::MAX).expect("not 0"));
            let core = HubCore::open(options.capacity, options.replay);
            let name = meter.name().to_owned();
            build.island(name, HubDrive::new(up, Arc::clone(&core), meter));
            Ok(Hub(Arc::new(Owner(core))))
        })
    }
}

impl<T> std::fmt::Debug for Hub<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hub").field("over", &self.0.0.is_over()).finish_non_exhaustive()
    }
}
