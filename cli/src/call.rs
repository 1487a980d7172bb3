//! `sluicegate call`: one cap of one cartridge.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::thread;

use clap::Args;
use sluicegate::link::Address;
use sluicegate::relay::call_through;
use sluicegate::{
    AttributionClass, Call, Deadline, Engine, Error, ErrorKind, Event, InputStream, OutputStream,
    Peer, Value, wait::block_on,
};

use crate::cartridge::{command, declared_arguments};
use crate::io_error;
use crate::limits::LimitArguments;
use crate::values::{from_json, to_json};

#[derive(Args)]
pub struct Arguments {
    /// The cartridge's command line, one shell word list: "python3 cartridge.py"; and the cap to
    /// call, as `sluicegate caps` lists it. With --via, the cap alone.
    #[arg(num_args = 1..=2, required = true, value_names = ["CARTRIDGE", "CAP"])]
    target: Vec<String>,
    /// Call through the switch that listens there, instead of starting a cartridge: `unix:PATH`,
    /// `tcp:HOST:PORT` or a path with a `/`.
    #[arg(long, value_name = "ADDRESS")]
    via: Option<Address>,
    /// The argument is a sequence. Known of a cartridge that is started; a switch does not tell.
    #[arg(long)]
    sequence: bool,
    /// An argument stream of bytes from a file, `-` for stdin. For a sequence argument, a JSON value
    /// a line.
    #[arg(long = "arg", value_name = "MEDIA=FILE")]
    args: Vec<String>,
    /// An argument stream of one text, sent as bytes.
    #[arg(long = "text", value_name = "MEDIA=TEXT")]
    texts: Vec<String>,
    /// Where the main output goes; stdout by default. Byte strings are written as they are, other
    /// values as JSON, one a line.
    #[arg(long)]
    out: Option<PathBuf>,
    /// Where another output goes; without it, its values are counted and said on stderr.
    #[arg(long = "output", value_name = "MEDIA=FILE")]
    outputs: Vec<String>,
    #[command(flatten)]
    limits: LimitArguments,
}

pub fn run(arguments: &Arguments) -> Result<(), Error> {
    let engine = arguments.limits.engine();
    let (peer, cap) = reach(arguments, &engine)?;
    let sequence = arguments.sequence
        || peer.caps().iter().any(|declared| declared.urn == cap && declared.in_sequence);
    check_arguments(arguments, &peer, cap)?;
    let call = peer.call(cap)?;
    let mut feeds = Vec::new();
    for arg in &arguments.args {
        let (media, file) = pair(arg)?;
        let source = open(file)?;
        let stream = call.input(media)?;
        feeds.push(thread::spawn(move || feed(&stream, source, sequence)));
    }
    for text in &arguments.texts {
        let (media, text) = pair(text)?;
        let (stream, text) = (call.input(media)?, text.to_owned());
        feeds.push(thread::spawn(move || stream.blocking_write(text.as_bytes())));
    }
    let body = call.clone();
    let feeder = thread::spawn(move || {
        let fed = feeds
            .into_iter()
            .try_for_each(|feed| feed.join().unwrap_or_else(|_| Err(ErrorKind::Panic.into())))
            .and_then(|()| body.blocking_finish_input());
        // An argument that cannot be read ends the call; it would wait for the rest of it for ever.
        fed.inspect_err(|error| body.cancel(error))
    });
    let listening = call.clone();
    let listener = thread::spawn(move || {
        while let Some(event) = listening.blocking_next_event() {
            eprintln!("{}", describe(&event));
        }
    });
    let read = read_outputs(arguments, &call);
    let ended = call.blocking_wait();
    let fed = feeder.join().unwrap_or_else(|_| Err(ErrorKind::Panic.into()));
    let _ = listener.join();
    // The call's own outcome explains best; what was read or fed may only show its consequence.
    let outcome = match fed {
        Err(error) if matches!(error.kind(), ErrorKind::Io | ErrorKind::InvalidArgument) => {
            Err(error)
        }
        Err(error) if error.code() != "END" => ended.and(Err(error)),
        _ => ended.and_then(|end| read.map(|()| end)),
    };
    let _ = block_on(engine.close(), Deadline::NEVER);
    if let Some(message) = outcome?.message {
        eprintln!("{message}");
    }
    Ok(())
}

/// Whom to call, and the cap.
fn reach<'a>(arguments: &'a Arguments, engine: &Engine) -> Result<(Peer, &'a str), Error> {
    match (&arguments.via, &arguments.target[..]) {
        (None, [cartridge, cap]) => Ok((engine.spawn(&command(cartridge)?)?, cap)),
        (Some(address), [cap]) => Ok((call_through(engine, address)?, cap)),
        (None, _) => {
            Err(Error::new(ErrorKind::InvalidArgument, "name a cartridge and a cap of it"))
        }
        (Some(_), _) => {
            Err(Error::new(ErrorKind::InvalidArgument, "with --via, name a cap and nothing else"))
        }
    }
}

/// A stream of a media that the cap does not declare would be sent and never read.
fn check_arguments(arguments: &Arguments, peer: &Peer, cap: &str) -> Result<(), Error> {
    // A cap that is not declared is for the other end to refuse: it may serve more than it says.
    let Some(declared) = declared_arguments(peer, cap) else { return Ok(()) };
    for argument in arguments.args.iter().chain(&arguments.texts) {
        let (media, _) = pair(argument)?;
        if !declared.iter().any(|known| known == media) {
            let known = match &declared[..] {
                [] => "none".to_owned(),
                declared => declared.join(", "),
            };
            let message = format!("{cap} has no argument {media}; it takes {known}");
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
    }
    Ok(())
}

fn pair(text: &str) -> Result<(&str, &str), Error> {
    text.split_once('=').ok_or_else(|| {
        Error::new(ErrorKind::InvalidArgument, format!("{text:?} is not of the form MEDIA=…"))
    })
}

fn open(file: &str) -> Result<Box<dyn Read + Send>, Error> {
    if file == "-" {
        return Ok(Box::new(std::io::stdin()));
    }
    let opened = File::open(file).map_err(|e| io_error(&format!("reading {file}"), &e))?;
    Ok(Box::new(opened))
}

fn feed(stream: &OutputStream, source: impl Read, sequence: bool) -> Result<(), Error> {
    if sequence {
        for line in BufReader::new(source).lines() {
            let line = line.map_err(|e| io_error("reading an argument", &e))?;
            let json = serde_json::from_str(&line).map_err(|e| {
                let message = format!("a line of a sequence argument is not JSON: {e}");
                Error::with_code(
                    ErrorKind::InvalidArgument,
                    "BAD_ARGUMENT",
                    AttributionClass::Input,
                    message,
                )
            })?;
            stream.blocking_emit_list_item(from_json(&json), None)?;
        }
        return stream.blocking_close();
    }
    pour(source, stream)?;
    stream.blocking_close()
}

/// Writes everything that `source` gives. Answers how many bytes.
pub fn pour(mut source: impl Read, stream: &OutputStream) -> Result<u64, Error> {
    let mut buffer = vec![0; 256 * 1024];
    let mut total = 0_u64;
    loop {
        match source.read(&mut buffer) {
            Ok(0) => return Ok(total),
            Ok(n) => {
                stream.blocking_write(&buffer[..n])?;
                total = total.saturating_add(u64::try_from(n).unwrap_or(0));
            }
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(io_error("reading the input", &e)),
        }
    }
}

fn read_outputs(arguments: &Arguments, call: &Call) -> Result<(), Error> {
    let mut readers = Vec::new();
    while let Some(stream) = call.blocking_next_output()? {
        let info = stream.info().clone();
        let target: Option<PathBuf> = match &info.output {
            None => arguments.out.clone(),
            Some(media) => {
                let wanted = arguments.outputs.iter().filter_map(|o| o.split_once('='));
                wanted.filter(|(m, _)| m == media).map(|(_, file)| file.into()).next()
            }
        };
        let main = info.output.is_none();
        readers.push(thread::spawn(move || match (target, main) {
            (Some(path), _) => {
                let file = File::create(&path)
                    .map_err(|e| io_error(&format!("writing {}", path.display()), &e))?;
                write_values(&stream, file)
            }
            (None, true) => write_values(&stream, std::io::stdout()),
            (None, false) => {
                let count = stream.iter().try_fold(0_u64, |n, item| item.map(|_| n + 1))?;
                eprintln!("output {}: {count} values", info.output.unwrap_or_default());
                Ok(())
            }
        }));
    }
    for reader in readers {
        reader.join().unwrap_or_else(|_| Err(ErrorKind::Panic.into()))?;
    }
    Ok(())
}

fn write_values(stream: &InputStream, mut to: impl Write) -> Result<(), Error> {
    for item in stream {
        let value = item?.value;
        let written = match &value {
            Value::Bytes(bytes) => to.write_all(bytes),
            other => writeln!(to, "{}", to_json(other)),
        };
        written.map_err(|e| io_error("writing the output", &e))?;
    }
    to.flush().map_err(|e| io_error("writing the output", &e))
}

/// An event as one line.
pub fn describe(event: &Event) -> String {
    match event {
        Event::Progress { value, message } => format!("{:3.0} % {message}", value * 100.0),
        Event::Log { level, message, .. } => format!("{level}: {message}"),
    }
}
