//! What a server of the example `http` is asked, in any language.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

/// How long anything may take. The machine may be busy.
const LIMIT: Duration = Duration::from_secs(300);

/// A running server, killed when it goes.
struct Server {
    child: Child,
    said: BufReader<ChildStdout>,
    port: u16,
}

/// Starts the server and asks it everything.
pub fn test(command: &mut Command) -> Result<()> {
    let mut child = command.arg("0").stdout(Stdio::piped()).spawn()?;
    let said = BufReader::new(child.stdout.take().context("it was piped")?);
    let mut server = Server { child, said, port: 0 };
    let line = server.line()?;
    let port = line.strip_prefix("listening on ").and_then(|port| port.parse().ok());
    server.port = port.with_context(|| format!("it said {line:?}, not where it listens"))?;
    server.answers_curl()?;
    server.refuses_what_is_no_count()?;
    server.is_held_up_by_a_reader_that_stops()
}

impl Server {
    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        ensure!(self.said.read_line(&mut line)? != 0, "the server ended");
        Ok(line.trim_end().to_owned())
    }

    fn get(&self, path: &str) -> Result<TcpStream> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(LIMIT))?;
        // In pieces, as a network may deliver it.
        write!(stream, "GET {path} HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n")?;
        Ok(stream)
    }

    /// How many numbers the last pipeline has made.
    fn made(&self) -> Result<u64> {
        let mut answer = String::new();
        self.get("/made")?.read_to_string(&mut answer)?;
        let digits = answer.split("\r\n").filter(|line| !line.is_empty());
        // The count is the last line that is a number; a chunked answer ends with the number 0.
        let numbers: Vec<u64> = digits.filter_map(|line| line.trim().parse().ok()).collect();
        let chunked = answer.to_ascii_lowercase().contains("transfer-encoding: chunked");
        let at = numbers.len().checked_sub(if chunked { 2 } else { 1 });
        at.map(|at| numbers[at]).with_context(|| format!("no count in {answer:?}"))
    }

    fn answers_curl(&self) -> Result<()> {
        let url = format!("http://127.0.0.1:{}/stream?n=5", self.port);
        let output = Command::new("curl").args(["-sN", "-D", "-", &url]).output()?;
        let said = String::from_utf8(output.stdout)?;
        let (head, body) = said.split_once("\r\n\r\n").context("no head in the answer")?;
        let head = head.to_ascii_lowercase();
        ensure!(head.contains("application/x-ndjson"), "the type is not said: {head:?}");
        ensure!(head.contains("transfer-encoding: chunked"), "the answer has no chunks: {head:?}");
        let wanted: String = (0..5).map(|n| format!("{{\"value\":{}}}\n", n * 2)).collect();
        ensure!(body == wanted, "curl read {body:?}, not {wanted:?}");
        Ok(())
    }

    fn refuses_what_is_no_count(&self) -> Result<()> {
        let allowed = format!("n must be a whole number from 0 to {}\n", u64::MAX);
        for n in ["?n=abc", "?n=-1", "?n=+1", "?n=18446744073709551616", "?n=1x", "?n=", ""] {
            let mut answer = String::new();
            self.get(&format!("/stream{n}"))?.read_to_string(&mut answer)?;
            let refused = answer.starts_with("HTTP/1.1 400 ") && answer.contains(&allowed);
            ensure!(refused, "the answer to {n:?} is {answer:?}");
        }
        Ok(())
    }

    fn is_held_up_by_a_reader_that_stops(&mut self) -> Result<()> {
        let mut lines = BufReader::new(self.get("/stream?n=1000000000")?).lines();
        let mut read = 0;
        while read < 10 {
            let line = lines.next().context("the stream ended")??;
            read += u32::from(line.contains("\"value\""));
        }
        // Once every buffer on the way is full, the source stands still.
        let limit = Instant::now() + LIMIT;
        let mut before = self.made()?;
        loop {
            std::thread::sleep(Duration::from_millis(500)); // what runs on would make more by then
            let now = self.made()?;
            if now == before {
                break;
            }
            before = now;
            if Instant::now() > limit {
                bail!("the source runs on while nobody reads: it has made {now}");
            }
        }
        ensure!(before < 100_000_000, "the source was not held up: it has made {before}");
        drop(lines);
        let said = self.line()?;
        ensure!(said.starts_with("cancelled after "), "it said {said:?} when its reader had left");
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ended_before = self.child.kill();
        let _reaped = self.child.wait();
    }
}
