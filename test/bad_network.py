"""A proxy before a server that does to requests what networks do."""
import http.client
import http.server
import socketserver
import threading


class BadNetwork:
    """`plan(number, body)` says what becomes of request `number`: "pass"; a status, which is answered; ("cut", n), the server gets n
    bytes of the body; "swallow", the server gets it and the answer is lost; "behead", the answer ends in its headers; "halve", it
    ends in its body, whose length nothing tells; "hang", nobody gets anything, until `close`."""

    def __init__(self, port, plan):
        self.requests, self.lock, self.closing = 0, threading.Lock(), threading.Event()
        bad = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                with bad.lock:
                    number = bad.requests
                    bad.requests += 1
                what = plan(number, body)
                if what == "hang":
                    bad.closing.wait(100)
                    self.close_connection = True
                elif isinstance(what, int):
                    self.answer(what, b"<html>busy</html>")
                else:
                    self.forward(what, body)

            def forward(self, what, body):
                upstream = http.client.HTTPConnection("127.0.0.1", port, timeout=100)
                upstream.putrequest("POST", self.path, skip_accept_encoding=True)
                for name, value in self.headers.items():
                    if name != "Host":
                        upstream.putheader(name, value)
                upstream.endheaders()
                if isinstance(what, tuple):
                    upstream.send(body[: what[1]])
                    upstream.close()
                    self.close_connection = True
                    return
                upstream.send(body)
                answer = upstream.getresponse()
                text = answer.read()
                parts = {"swallow": b"", "behead": b"HTTP/1.1 200 OK\r\n", "halve": b"HTTP/1.1 200 OK\r\n\r\n" + text[: len(text) // 2]}
                if what in parts:
                    self.wfile.write(parts[what])
                    self.close_connection = True
                else:
                    self.answer(answer.status, text)
                upstream.close()

            def answer(self, status, text):
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                pass

        class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        self.url = f"clickhouse://127.0.0.1:{self.port}/default"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def close(self):
        self.closing.set()
        self.server.shutdown()
        self.server.server_close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
