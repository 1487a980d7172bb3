//! `GET /stream?n=5` answers numbers, one JSON line each: one pipeline a request. A reader that is
//! slow makes the pipeline wait, one that leaves cancels it.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sluicegate::flow::{Flow, OutletIter, Scope, Source};
use tiny_http::{Header, Request, Response, Server, StatusCode};

/// How many numbers the last pipeline has made, and whether its reader got all it asked for.
#[derive(Default)]
struct Made {
    count: AtomicU64,
}

/// The lines of one pipeline as bytes, for the server to copy to the client.
struct Body {
    lines: OutletIter<String>,
    rest: Vec<u8>,
    made: Arc<Made>,
    done: bool,
}

impl Read for Body {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.rest.is_empty() {
            match self.lines.next() {
                None => self.done = true,
                Some(line) => self.rest = line.map_err(io::Error::other)?.into_bytes(),
            }
        }
        let n = self.rest.len().min(into.len());
        into[..n].copy_from_slice(&self.rest[..n]);
        self.rest.drain(..n);
        Ok(n)
    }
}

impl Drop for Body {
    fn drop(&mut self) {
        // Dropping the outlet, right after this, is what cancels the pipeline.
        if !self.done {
            println!("cancelled after {}", self.made.count.load(Ordering::Relaxed));
        }
    }
}

fn stream(scope: &Scope, n: u64) -> Result<Body, sluicegate::Error> {
    let made = Arc::new(Made::default());
    *LAST.lock().expect("no panic under the lock") = Arc::clone(&made);
    let counted = Arc::clone(&made);
    let lines = Source::iter(0_u64..)
        .via(Flow::tap(move |_| {
            counted.count.fetch_add(1, Ordering::Relaxed);
        }))
        .via(Flow::map(|n: u64| n * 2))
        .via(Flow::take(n))
        .via(Flow::map(|n: u64| format!("{{\"value\":{n}}}\n")))
        .run_outlet(scope)?
        .into_iter();
    Ok(Body { lines, rest: Vec::new(), made, done: false })
}

static LAST: std::sync::LazyLock<std::sync::Mutex<Arc<Made>>> =
    std::sync::LazyLock::new(Default::default);

fn answer(scope: &Scope, request: Request) -> io::Result<()> {
    let url = request.url().to_owned();
    let (path, query) = url.split_once('?').unwrap_or((&url, ""));
    if path == "/stream" {
        let digits = query.strip_prefix("n=").filter(|n| !n.starts_with('+'));
        let Some(n) = digits.and_then(|n| n.parse().ok()) else {
            let allowed = format!("n must be a whole number from 0 to {}\n", u64::MAX);
            return request.respond(Response::from_string(allowed).with_status_code(400));
        };
        let body = stream(scope, n).map_err(io::Error::other)?;
        let kind = Header::from_bytes("Content-Type", "application/x-ndjson").expect("a header");
        // No length: the answer is chunked, and read from the pipeline as the client reads it.
        let response = Response::new(StatusCode(200), vec![kind], body, None, None);
        return request.respond(response.with_chunked_threshold(0));
    }
    if url == "/made" {
        let last = Arc::clone(&LAST.lock().expect("no panic under the lock"));
        return request
            .respond(Response::from_string(last.count.load(Ordering::Relaxed).to_string()));
    }
    request.respond(Response::from_string("GET /stream?n=5 or /made\n").with_status_code(404))
}

fn main() -> io::Result<()> {
    let port = std::env::args().nth(1).unwrap_or_else(|| "9292".into());
    let server = Server::http(format!("127.0.0.1:{port}")).map_err(io::Error::other)?;
    println!("listening on {}", server.server_addr().to_ip().expect("a port").port());
    let scope = Arc::new(Scope::new("http").map_err(io::Error::other)?);
    for request in server.incoming_requests() {
        let scope = Arc::clone(&scope);
        // A client that leaves is an error of `respond`, and of nobody else.
        std::thread::spawn(move || answer(&scope, request));
    }
    Ok(())
}
