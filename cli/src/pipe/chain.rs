//! The chain at work: one thread a hop, credit end to end.

use std::fs::File;
use std::io::Read;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded};
use sluicegate::control::Control;
use sluicegate::{
    Call, Deadline, Error, ErrorKind, InputStream, Memory, OutputStream, Peer, blocking_forward,
    wait::block_on,
};

use super::hop::{Hop, start};
use super::sink::Sink;
use super::summary::{HopFigures, Summary};
use super::view::View;
use super::{Arguments, Stage};
use crate::call::{describe, pour};
use crate::io_error;

/// How often the live view is drawn and memory is looked at.
const TICK: Duration = Duration::from_millis(200);

/// What a thread of the chain tells the main one.
enum News {
    /// A thread is done, or failed at the hop with this number.
    Done(usize, Result<(), Error>),
    /// The result stream of a hop is open.
    Output(usize, InputStream),
    /// A line of a cartridge.
    Line(usize, String),
}

pub fn run(arguments: &Arguments, stages: &[Stage]) -> Result<(), Error> {
    let started = Instant::now();
    let engine = arguments.limits.engine();
    // For `sluicegate top` and `explain`; without a place for it the job runs all the same.
    let _control = Control::serve_here(Arc::new(engine.clone())).ok();
    let source = source(arguments)?;
    let total = source.length;
    let hops = start(&engine, stages)?;
    let sink = Sink::open(arguments.output.as_deref())?;
    let running: Vec<_> = hops.iter().map(|hop| hop.peer.clone()).collect();
    sink.note_at_interrupt(move || running.iter().for_each(Peer::kill));
    let mut view = View::new(arguments.quiet, total, &hops);
    let (news, inbox) = bounded(64);
    let threads = spawn_all(arguments, &hops, source, sink, &news);
    let mut watch =
        Watch { outputs: hops.iter().map(|_| None).collect(), peaks: vec![0; hops.len()] };
    let outcome = attend(&hops, threads, &inbox, &mut view, &mut watch);
    watch.look(&hops);
    view.finish();
    let summary = Summary {
        seconds: started.elapsed().as_secs_f64(),
        hops: hops.iter().enumerate().map(|(n, hop)| watch.figures(n, hop)).collect(),
        own: Memory::of_process(std::process::id()),
        error: outcome.as_ref().err().cloned(),
    };
    drop(inbox); // releases whoever still wants to tell something
    let _ = block_on(engine.close(), Deadline::NEVER);
    if arguments.json {
        summary.print_json(arguments.output.is_some());
    } else if !arguments.quiet {
        summary.print_text();
    }
    outcome
}

struct Source {
    reader: Box<dyn Read + Send>,
    length: Option<u64>,
}

fn source(arguments: &Arguments) -> Result<Source, Error> {
    let Some(path) = &arguments.input else {
        return Ok(Source { reader: Box::new(std::io::stdin()), length: None });
    };
    let failed = |e: std::io::Error| io_error(&format!("reading {}", path.display()), &e);
    let file = File::open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if metadata.is_dir() {
        return Err(failed(std::io::ErrorKind::IsADirectory.into()));
    }
    let length = metadata.is_file().then_some(metadata.len());
    Ok(Source { reader: Box::new(file), length })
}

/// One thread for the feed, one for each hand-over, one for the end, one a hop for what it logs.
/// Answers how many `Done` to expect.
fn spawn_all(
    arguments: &Arguments,
    hops: &[Hop],
    source: Source,
    sink: Sink,
    news: &Sender<News>,
) -> usize {
    let slow = |hop: usize| {
        let wait = Duration::from_millis(arguments.slow_ms);
        (arguments.slow == Some(hop + 1)).then_some(wait)
    };
    let (first, tell) = (hops[0].input.clone(), news.clone());
    let first_call = hops[0].call.clone();
    thread::spawn(move || {
        let fed = pour(source.reader, &first).and_then(|_| first_call.blocking_finish_input());
        let _ = tell.send(News::Done(0, fed));
    });
    for (n, hop) in hops.iter().enumerate() {
        let (call, tell, pace) = (hop.call.clone(), news.clone(), slow(n));
        match hops.get(n + 1) {
            Some(next) => {
                let (input, next) = (next.input.clone(), next.call.clone());
                thread::spawn(move || {
                    let moved = hand_over(n, &call, input, &next, pace, &tell);
                    let _ = tell.send(News::Done(n + 1, moved));
                });
            }
            None => {
                let mut sink = sink.clone_handle();
                thread::spawn(move || {
                    let written = finish(n, &call, &mut sink, pace, &tell);
                    let _ = tell.send(News::Done(n, written));
                });
            }
        }
        let (call, tell) = (hop.call.clone(), news.clone());
        thread::spawn(move || {
            while let Some(event) = call.blocking_next_event() {
                if tell.send(News::Line(n, describe(&event))).is_err() {
                    return;
                }
            }
        });
    }
    hops.len() + 1
}

/// What one cartridge sends goes to the next.
fn hand_over(
    n: usize,
    call: &Call,
    input: OutputStream,
    next: &Call,
    pace: Option<Duration>,
    tell: &Sender<News>,
) -> Result<(), Error> {
    let output = call.blocking_output()?;
    let _ = tell.send(News::Output(n, output.clone()));
    match pace {
        None => drop(blocking_forward(output, input)?),
        Some(pace) => {
            for item in &output {
                thread::sleep(pace); // --slow: the time that a slow consumer would take
                input.blocking_emit(item?.value)?;
            }
        }
    }
    call.blocking_wait()?;
    next.blocking_finish_input()
}

/// What the last cartridge sends goes to the file.
fn finish(
    n: usize,
    call: &Call,
    sink: &mut Sink,
    pace: Option<Duration>,
    tell: &Sender<News>,
) -> Result<(), Error> {
    let output = call.blocking_output()?;
    let _ = tell.send(News::Output(n, output.clone()));
    for item in &output {
        if let Some(pace) = pace {
            thread::sleep(pace); // --slow: the time that a slow consumer would take
        }
        sink.write(&item?.value)?;
    }
    call.blocking_wait()?;
    sink.commit()
}

/// Waits for all threads, drawing the view meanwhile. The first failure cancels the rest.
fn attend(
    hops: &[Hop],
    mut expected: usize,
    inbox: &Receiver<News>,
    view: &mut View,
    watch: &mut Watch,
) -> Result<(), Error> {
    let mut failure: Option<Error> = None;
    let mut next_tick = Instant::now() + TICK;
    while expected > 0 {
        match inbox.recv_deadline(next_tick) {
            Ok(News::Output(n, stream)) => watch.outputs[n] = Some(stream),
            Ok(News::Line(n, line)) => view.line(n, &line),
            Ok(News::Done(n, outcome)) => {
                expected -= 1;
                let Err(error) = outcome else { continue };
                if ended_early(hops, n, &error) {
                    // The hop needs no more input: whatever still makes it may stop.
                    for hop in &hops[..n] {
                        hop.call.cancel(&error);
                    }
                } else if failure.is_none() {
                    for hop in hops {
                        hop.call.cancel(&Error::new(
                            ErrorKind::Cancelled,
                            "another link of the chain failed",
                        ));
                    }
                    failure = Some(error);
                }
            }
            Err(_) => {
                next_tick = Instant::now() + TICK;
                watch.look(hops);
                view.draw(hops, &watch.outputs);
            }
        }
    }
    view.draw(hops, &watch.outputs);
    failure.map_or(Ok(()), Err)
}

/// A thread that feeds hop `n` failed because that hop, or one behind it, has all it wants.
fn ended_early(hops: &[Hop], n: usize, error: &Error) -> bool {
    let consequence = error.code() == "END" || error.kind() == ErrorKind::Cancelled;
    consequence && hops[n..].iter().any(|hop| matches!(hop.call.outcome(), Some(Ok(_))))
}

/// What is seen of the chain while it runs.
struct Watch {
    outputs: Vec<Option<InputStream>>,
    peaks: Vec<u64>,
}

impl Watch {
    /// Memory is looked at while the processes live.
    fn look(&mut self, hops: &[Hop]) {
        for (peak, hop) in self.peaks.iter_mut().zip(hops) {
            if let Some(memory) = hop.peer.memory() {
                *peak = memory.peak.max(*peak);
            }
        }
    }

    fn figures(&self, n: usize, hop: &Hop) -> HopFigures {
        HopFigures {
            name: hop.peer.name().to_owned(),
            cap: hop.cap.clone(),
            pid: hop.peer.pid(),
            input: hop.input.stats(),
            output: self.outputs[n].as_ref().map(InputStream::stats).unwrap_or_default(),
            idle: hop.idle,
            peak: self.peaks[n],
        }
    }
}
