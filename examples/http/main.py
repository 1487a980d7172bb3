"""``GET /stream?n=5`` answers numbers, one JSON line each: one pipeline a request.

A reader that is slow makes the pipeline wait, one that leaves cancels it.
"""

import itertools
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from sluicegate.flow import Scope, Source

SCOPE = Scope("http")
MOST = 2**64 - 1


def count(text: str) -> int | None:
    """The number that a text of digits is, if it is one and not too great."""
    digits = text.isascii() and text.isdigit() and len(text) <= len(str(MOST))
    return int(text) if digits and int(text) <= MOST else None


class Count:
    """How many numbers a pipeline has made."""

    value = 0

    def add(self, _: int) -> None:
        self.value += 1


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    last = Count()

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        if url.path == "/stream":
            n = count(parse_qs(url.query).get("n", [""])[0])
            if n is None:
                self.text(400, f"n must be a whole number from 0 to {MOST}\n")
            else:
                self.stream(n)
        elif url.path == "/made":
            self.text(200, str(Handler.last.value))
        else:
            self.text(404, "GET /stream?n=5 or /made\n")

    def stream(self, n: int) -> None:
        """One pipeline, read as fast as the client reads, in chunks."""
        made = Handler.last = Count()
        numbers = Source.make(itertools.count).tap(made.add).map(lambda n: n * 2).take(n)
        self.send_response(200)
        self.send_header("Content-Type", "application/x-ndjson")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            with numbers.open(SCOPE) as items:  # leaving the block cancels the pipeline
                for number in items:
                    line = b'{"value":%d}\n' % number
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
            self.wfile.write(b"0\r\n\r\n")
        except ConnectionError:
            print(f"cancelled after {made.value}", flush=True)
            self.close_connection = True

    def text(self, status: int, text: str) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: object) -> None:
        """Says nothing of each request."""


def main() -> None:
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 9292
    with ThreadingHTTPServer(("127.0.0.1", port), Handler) as server, SCOPE:
        print(f"listening on {server.server_port}", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
