"""A ClickHouse server of a test's own: Debian's clickhouse-server, on loopback, with its files in a folder of the test."""
import hashlib
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request

SERVER = shutil.which("clickhouse-server", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/bin")

CONFIG = """<yandex>
  <logger><level>warning</level><log>{folder}/log</log><errorlog>{folder}/errors</errorlog></logger>
  <http_port>{port}</http_port><tcp_port>{tcp}</tcp_port><listen_host>127.0.0.1</listen_host>
  <path>{folder}/data/</path><tmp_path>{folder}/tmp/</tmp_path><user_files_path>{folder}/files/</user_files_path>
  <users_config>{folder}/users.xml</users_config><default_profile>default</default_profile>
  <default_database>default</default_database><timezone>UTC</timezone>
  <mark_cache_size>67108864</mark_cache_size><uncompressed_cache_size>8388608</uncompressed_cache_size>
</yandex>
"""
USERS = """<yandex>
  <profiles><default><max_memory_usage>4000000000</max_memory_usage></default><reader><readonly>1</readonly></reader>
    <sender><allow_ddl>0</allow_ddl></sender></profiles>
  <users>
    <default><password></password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default>
    <tracker><password_sha256_hex>{hash}</password_sha256_hex><networks><ip>127.0.0.1</ip></networks><profile>default</profile>
      <quota>default</quota></tracker>
    <sender><password></password><networks><ip>127.0.0.1</ip></networks><profile>sender</profile><quota>default</quota></sender>
    <looker><password></password><networks><ip>127.0.0.1</ip></networks><profile>reader</profile><quota>default</quota></looker>
  </users>
  <quotas><default><interval><duration>3600</duration><queries>0</queries></interval></default></quotas>
</yandex>
"""
PASSWORD = "correct-horse"


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Server:
    """Starts at once; `stop` and `start` may be called again and again."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.port = free_port()
        self.url = f"clickhouse://127.0.0.1:{self.port}/default"
        for name in ("data", "tmp", "files"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        (self.folder / "config.xml").write_text(CONFIG.format(folder=self.folder, port=self.port, tcp=free_port()))
        (self.folder / "users.xml").write_text(USERS.format(hash=hashlib.sha256(PASSWORD.encode()).hexdigest()))
        self.process = None
        self.start()

    def start(self):
        with open(self.folder / "said", "ab") as said:
            self.process = subprocess.Popen([SERVER, "--config-file", str(self.folder / "config.xml")], cwd=self.folder,
                                            stdin=subprocess.DEVNULL, stdout=said, stderr=said)
        end = time.monotonic() + 120
        while time.monotonic() < end:
            try:
                if self.ask("SELECT 1") == "1\n":
                    return
            except OSError:
                if self.process.poll() is not None:
                    break
                time.sleep(0.05)
        raise AssertionError(f"clickhouse-server does not start: {(self.folder / 'said').read_text()[-2000:]}")

    def ask(self, sql):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/", data=sql.encode())
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return answer.read().decode()
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{sql}: {error.read().decode()}") from error

    def number(self, sql):
        return int(self.ask(sql))

    def stop(self, how=signal.SIGKILL):
        if self.process and self.process.poll() is None:
            self.process.send_signal(how)
            self.process.wait()
