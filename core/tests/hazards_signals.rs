//! HZ-C17: signals at 1 kHz, with a handler that restarts nothing, fail no wait and shift no limit.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use sluicegate::{Cap, CreditGate, Deadline, TimedOut, Value};
use support::{ECHO, PROMPT, attach, attach_echo, engine, limits, within};

const LIMIT: Duration = Duration::from_secs(180);

static TAKEN: AtomicU64 = AtomicU64::new(0);

extern "C" fn count(_: nix::libc::c_int) {
    TAKEN.fetch_add(1, Ordering::Relaxed);
}

#[test]
fn hz_c17_interrupted_waits_go_on() {
    let action = SigAction::new(SigHandler::Handler(count), SaFlags::empty(), SigSet::empty());
    // Sound: the handler does nothing but count.
    unsafe { sigaction(Signal::SIGUSR1, &action) }.expect("installed");
    within(LIMIT, "signals", || {
        let (targets, done) =
            (Arc::new(std::sync::Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let enrol = {
            let targets = Arc::clone(&targets);
            // Sound: asks for the calling thread's own handle.
            move || targets.lock().expect("no panic").push(unsafe { nix::libc::pthread_self() })
        };
        let storm = thread::spawn({
            let (targets, done) = (Arc::clone(&targets), Arc::clone(&done));
            move || {
                while !done.load(Ordering::Relaxed) {
                    for thread in targets.lock().expect("no panic").iter() {
                        // Sound: a thread leaves the list before it ends.
                        unsafe { nix::libc::pthread_kill(*thread, nix::libc::SIGUSR1) };
                    }
                    thread::sleep(Duration::from_millis(1));
                }
            }
        });
        let resign = {
            let targets = Arc::clone(&targets);
            move || {
                let this = unsafe { nix::libc::pthread_self() };
                targets.lock().expect("no panic").retain(|thread| *thread != this);
            }
        };

        let engine = engine(limits(1, 64));
        let slow = attach(&engine, Cap::new(ECHO), ECHO, |request| {
            let input = request.blocking_input()?;
            for item in &input {
                thread::sleep(Duration::from_millis(2));
                request.output().blocking_emit(item?.value)?;
            }
            Ok(())
        });
        let quick = attach_echo(&engine);
        let gate = CreditGate::new(0);
        thread::scope(|scope| {
            let acquirer = scope.spawn(|| {
                enrol();
                let mut got = 0;
                // On a busy machine the storm takes its time to reach somebody.
                while got < 200 || TAKEN.load(Ordering::Relaxed) <= 500 {
                    gate.blocking_acquire(1).expect("open");
                    got += 1;
                }
                resign();
            });
            let timed = scope.spawn(|| {
                enrol();
                let begun = Instant::now();
                let limit = Deadline::after(Duration::from_millis(500));
                let answer = CreditGate::new(0).blocking_acquire_timeout(1, limit);
                let took = begun.elapsed();
                resign();
                (answer, took)
            });
            let callers: Vec<_> = [slow, quick]
                .into_iter()
                .map(|peer| {
                    let (enrol, resign) = (&enrol, &resign);
                    scope.spawn(move || {
                        let call = peer.call(ECHO).expect("live");
                        let input = call.input("media:blob").expect("open");
                        thread::scope(|scope| {
                            scope.spawn(|| {
                                enrol();
                                for n in 0..300 {
                                    input.blocking_emit(Value::Uint(n)).expect("sent");
                                }
                                call.blocking_finish_input().expect("sent");
                                resign();
                            });
                            enrol();
                            let items =
                                call.blocking_output().expect("a result").blocking_collect_items();
                            resign();
                            assert_eq!(items.expect("all").len(), 300);
                        });
                    })
                })
                .collect();
            while !acquirer.is_finished() {
                gate.grant(1);
                thread::sleep(Duration::from_millis(2));
            }
            acquirer.join().expect("no panic");
            // The storm goes on until it has returned: a limit that each signal begins anew never passes.
            let (answer, took) = timed.join().expect("no panic");
            assert_eq!(answer, Err(TimedOut));
            assert!(took >= Duration::from_millis(500) && took < PROMPT, "{took:?}");
            for caller in callers {
                caller.join().expect("no panic");
            }
        });
        done.store(true, Ordering::Relaxed);
        storm.join().expect("no panic");
        assert!(TAKEN.load(Ordering::Relaxed) > 500, "the storm has to reach somebody");
    });
}
