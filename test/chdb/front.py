"""Today's dialect: ClickHouse as PyPI's `chdb` has it, behind as much of HTTP as gpu-tracker asks of a server."""
import gzip
import http.server
import pathlib
import re
import socketserver
import threading

INSERT = re.compile(rb"INSERT INTO (\w+) (\(.*?\)) FORMAT RowBinary\n", re.DOTALL)


class Front:
    """A database `default` in a folder."""

    def __init__(self, folder):
        import chdb.session

        self.rows, self.lock = pathlib.Path(folder) / "rows", threading.Lock()
        self.session = chdb.session.Session(str(pathlib.Path(folder) / "data"))
        front = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                status, text = front.answer(body)
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                pass

        class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
            daemon_threads = True

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"clickhouse://127.0.0.1:{self.server.server_address[1]}/default"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def answer(self, body):
        try:
            with self.lock:
                insert = INSERT.match(body)
                return 200, self.insert(*insert.groups(), body[insert.end() :]) if insert else self.ask(body.decode())
        except RuntimeError as error:
            return 500, str(error).encode()

    def ask(self, sql):
        return self.session.query(sql, "TabSeparated").bytes()

    def insert(self, table, columns, rows):
        """The types of RowBinary are those of the table."""
        table, columns = table.decode(), columns.decode()
        names = re.findall(r"\w+", columns)
        types = dict(line.split("\t") for line in self.ask(f"SELECT name, type FROM system.columns WHERE table = '{table}'"
                                                           " AND default_kind = '' FORMAT TSVRaw").decode().splitlines())
        structure = ", ".join(f"{name} {types[name]}" for name in names).replace("'", "\\'")
        self.rows.write_bytes(rows)
        return self.ask(f"INSERT INTO {table} {columns} SELECT * FROM file('{self.rows}', RowBinary, '{structure}')")

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.session.close()
