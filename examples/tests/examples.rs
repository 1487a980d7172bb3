//! The Rust examples do what they say.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

fn prints(program: &str, expected: &str) {
    let output = Command::new(program).output().expect("starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8(output.stdout).expect("text"), expected);
}

#[test]
fn basic() {
    prints(env!("CARGO_BIN_EXE_example-basic"), include_str!("../basic/expected.txt"));
}

#[test]
fn showcase() {
    prints(env!("CARGO_BIN_EXE_example-showcase"), include_str!("../showcase/expected.txt"));
}

#[test]
fn ledger() {
    prints(env!("CARGO_BIN_EXE_example-ledger"), include_str!("../ledger/expected.txt"));
}

/// The example's server, stopped when the test is over.
struct Server {
    child: Child,
    said: BufReader<std::process::ChildStdout>,
    port: u16,
}

impl Server {
    fn start() -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_example-http"))
            .arg("0")
            .stdout(Stdio::piped())
            .spawn()
            .expect("starts");
        let mut said = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut line = String::new();
        said.read_line(&mut line).expect("says where it listens");
        let port = line.trim().strip_prefix("listening on ").expect("the port").parse();
        Server { child, said, port: port.expect("a number") }
    }

    fn get(&self, path: &str) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("connects");
        write!(stream, "GET {path} HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n")
            .expect("asks");
        stream
    }

    fn made(&self) -> u64 {
        let mut answer = String::new();
        self.get("/made").read_to_string(&mut answer).expect("answers");
        answer.rsplit("\r\n").next().and_then(|n| n.parse().ok()).expect("a count")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}

#[test]
fn http_with_curl() {
    let server = Server::start();
    let url = format!("http://127.0.0.1:{}/stream?n=5", server.port);
    let output = Command::new("curl").args(["-sN", &url]).output().expect("curl is here");
    let lines: String = (0..5).map(|n| format!("{{\"value\":{}}}\n", n * 2)).collect();
    assert_eq!(String::from_utf8(output.stdout).expect("text"), lines);
}

#[test]
fn http_with_a_reader_that_stops_and_then_leaves() {
    let mut server = Server::start();
    let mut lines = BufReader::new(server.get("/stream?n=1000000000")).lines();
    let wanted = lines.by_ref().map(|line| line.expect("text")).filter(|l| l.contains("value"));
    assert_eq!(wanted.take(10).count(), 10);
    // The reader has stopped. Once every buffer on the way is full, the source stands still.
    let limit = Instant::now() + Duration::from_secs(60);
    let mut before = server.made();
    loop {
        std::thread::sleep(Duration::from_millis(300));
        let now = server.made();
        if now == before {
            break;
        }
        before = now;
        assert!(Instant::now() < limit, "the source runs on: it has made {now}");
    }
    assert!(before < 100_000_000, "it was held up long before the end");
    drop(lines);
    let mut said = String::new();
    server.said.read_line(&mut said).expect("the server lives");
    assert!(said.starts_with("cancelled after "), "{said}");
}
