//! What was lost is told: a warning for a drop, a debug line for a straggler.

use std::io::Write;
use std::time::{Duration, Instant};

use super::Alarm;
use crate::account::{Counters, Loss, OnLoss, Severity, Snapshot};
use crate::sync::{Arc, AtomicBool, Mutex, Ordering};
use crate::time::now;

/// The time between two notices of one reason, at least.
const PAUSE: Duration = Duration::from_secs(1);

/// Says how much is written to stderr: `off`, `warning`, which is the default, or `debug`.
const LOG: &str = "SLUICEGATE_LOG";

/// Has `on_loss` hear of all that `counters` count from now on. Whoever counts only rings, and waits for
/// nothing; a thread tells, at once and then not for a second, however much is lost meanwhile. It is
/// there for as long as there is something to tell.
pub(crate) fn tell_losses(counters: &Arc<Counters>, party: impl Into<String>, on_loss: &OnLoss) {
    let (party, on_loss) = (party.into(), Arc::clone(on_loss));
    let told = Arc::new(Told::default());
    let (telling, of) = (Arc::clone(&told), Arc::downgrade(counters));
    let alarm = Alarm::new(move |at| {
        let counters = of.upgrade()?;
        telling.begin(at);
        telling.tell(&counters, &party, &on_loss);
        None
    });
    counters.rings(move || {
        if let Some(at) = told.ring()
            && alarm.set(at).is_err()
        {
            told.missed(); // without a thread; the next loss tries again
        }
    });
}

/// What was told already.
#[derive(Default)]
struct Told {
    /// Somebody has rung, and is heard soon.
    rung: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    before: Snapshot,
    /// Nothing is told before.
    next: Option<Instant>,
}

impl Told {
    /// Something was lost. When it may be told, unless that is on its way.
    fn ring(&self) -> Option<Instant> {
        if self.rung.swap(true, Ordering::AcqRel) {
            return None;
        }
        let at = now();
        Some(self.state.lock().next.map_or(at, |next| next.max(at)))
    }

    fn missed(&self) {
        self.rung.store(false, Ordering::Release);
    }

    /// What is counted from here on rings anew.
    fn begin(&self, at: Instant) {
        self.state.lock().next = Some(at + PAUSE);
        self.rung.store(false, Ordering::Release);
    }

    fn tell(&self, counters: &Counters, party: &str, on_loss: &OnLoss) {
        let after = counters.snapshot();
        let before = std::mem::replace(&mut self.state.lock().before, after.clone());
        for loss in Loss::between(&before, &after, party) {
            on_loss(&loss);
        }
    }
}

/// Writes warnings to stderr, a line each; with `SLUICEGATE_LOG=debug` also what is benign, with `off`
/// nothing.
pub(crate) fn losses_to_stderr() -> OnLoss {
    let least = match std::env::var(LOG).as_deref() {
        Ok("off") => return Arc::new(|_| {}),
        Ok("debug") => Severity::Debug,
        _ => Severity::Warning,
    };
    Arc::new(move |loss| {
        if loss.severity >= least {
            let line = format!("sluicegate: {}: {loss}\n", loss.severity.name());
            // Who has closed stderr does not want to know.
            let _ = std::io::stderr().write_all(line.as_bytes());
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::accounting::DropReason;
    use std::sync::mpsc;

    const LIMIT: Duration = Duration::from_secs(120);

    fn heard(counters: &Arc<Counters>) -> mpsc::Receiver<(Loss, Instant)> {
        let (tell, told) = mpsc::channel();
        let tell = std::sync::Mutex::new(tell);
        let on_loss: OnLoss = Arc::new(move |loss| {
            let _over = tell.lock().expect("no panic").send((loss.clone(), now()));
        });
        tell_losses(counters, "test", &on_loss);
        told
    }

    #[test]
    fn a_flood_is_told_whole_and_at_most_once_a_second() {
        let counters = Arc::<Counters>::default();
        let told = heard(&counters);
        let (began, mut lost) = (now(), 0_u64);
        let mut sums = [0_u64; 2];
        let mut moments = [Vec::new(), Vec::new()];
        let mut take = |(loss, at): (Loss, Instant)| {
            let which = usize::from(loss.severity == Severity::Debug);
            sums[which] += loss.count;
            assert_eq!(loss.total, sums[which], "{loss}");
            moments[which].push(at);
            (sums, moments[1].len())
        };
        // Until three notices have come while it lasts.
        let (mut told_of, mut notices) = ([0; 2], 0);
        while notices < 3 {
            for _ in 0..1000 {
                counters.drop_frame(DropReason::NoRoute, "chunk");
                counters.straggler("credit");
            }
            lost += 1000;
            while let Ok(loss) = told.try_recv() {
                (told_of, notices) = take(loss);
            }
        }
        while told_of != [lost; 2] {
            (told_of, _) = take(told.recv_timeout(LIMIT).expect("all of it is told"));
        }
        for moments in moments {
            // The nth look is n seconds after the first at the earliest, and its notice no earlier.
            let span = moments[moments.len() - 1].duration_since(began);
            assert!(moments.len() as u64 <= span.as_secs() + 1, "{} in {span:?}", moments.len());
        }
    }

    #[test]
    fn nothing_is_told_twice_and_nothing_keeps_the_counters() {
        let counters = Arc::<Counters>::default();
        let told = heard(&counters);
        counters.straggler("log");
        let (first, _) = told.recv_timeout(LIMIT).expect("a notice");
        assert_eq!((first.count, first.total, first.reason), (1, 1, "straggler"));
        counters.drop_frame(DropReason::NoRoute, "credit");
        let (second, _) = told.recv_timeout(LIMIT).expect("another");
        assert_eq!(
            (second.reason, second.frame_type, second.party.as_str()),
            ("no_route", "credit", "test")
        );
        let gone = Arc::downgrade(&counters);
        drop(counters);
        let over = told.recv_timeout(LIMIT).expect_err("nothing is left to tell");
        assert_eq!(over, mpsc::RecvTimeoutError::Disconnected, "the ear goes with the counters");
        assert!(gone.upgrade().is_none());
    }
}
