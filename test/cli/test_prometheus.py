"""gpu-tracker serve, scraped by a real Prometheus server and checked by its own promtool (make test-prometheus installs it)."""
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time
import urllib.parse
import urllib.request

import pytest

pytestmark = pytest.mark.skipif(not (shutil.which("prometheus") and shutil.which("promtool")),
                                reason="prometheus is not installed")
TOKEN = "a-token-of-enough-characters"


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@pytest.fixture
def served(gpu_tracker, tmp_path):
    (tmp_path / "token").write_text(TOKEN)
    (tmp_path / "token").chmod(0o600)
    process = subprocess.Popen([gpu_tracker, "serve", "--all", "--listen", "127.0.0.1:0", "--disable-logs",
                                "--sleep-time", "0.2", "--compat", "aipowermeter", "--token-file", tmp_path / "token"],
                               stdout=subprocess.PIPE, text=True)
    yield process.stdout.readline().strip()
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=120) == 0


def test_promtool_has_nothing_to_say(served):
    request = urllib.request.Request(served, headers={"Authorization": "Bearer " + TOKEN})
    with urllib.request.urlopen(request, timeout=120) as answer:
        text = answer.read()
    done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, check=False, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


class Prometheus:
    def __init__(self, port):
        self.port = port

    def get(self, path, **query):
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(query)}"
        with urllib.request.urlopen(url, timeout=120) as answer:
            return json.load(answer)["data"]


@pytest.fixture
def prometheus(served, tmp_path):
    port = free_port()
    config = tmp_path / "prometheus.yml"
    config.write_text(f"""
global: {{scrape_interval: 500ms, scrape_timeout: 500ms}}
scrape_configs:
  - job_name: gpu-tracker
    authorization: {{credentials_file: {tmp_path / "token"}}}
    static_configs: [{{targets: ["{served.split('/')[2]}"]}}]
""")
    assert subprocess.run(["promtool", "check", "config", config], capture_output=True, check=False).returncode == 0
    process = subprocess.Popen(["prometheus", f"--config.file={config}", f"--storage.tsdb.path={tmp_path / 'data'}",
                                f"--web.listen-address=127.0.0.1:{port}", "--log.level=warn"],
                               stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    server = Prometheus(port)
    for _ in range(150):
        time.sleep(0.2)
        try:
            if any(target["lastScrape"] > "0001-01-02" for target in server.get("targets")["activeTargets"]):
                break
        except OSError:
            assert process.poll() is None, process.stderr.read()
    yield server
    process.terminate()
    _, complaints = process.communicate(timeout=120)
    assert "Error" not in complaints and "out-of-order" not in complaints and "invalid" not in complaints, complaints


def test_a_real_server_scrapes_it(prometheus):
    with subprocess.Popen(["python3", "-c", "while True: sum(range(1000))"]) as burner:
        try:
            time.sleep(4)
        finally:
            burner.kill()
            _, _, usage = os.wait4(burner.pid, 0)
            burner.returncode = -signal.SIGKILL
    cores = (usage.ru_utime + usage.ru_stime) / 4  # as many as the machine let it have
    [target] = prometheus.get("targets")["activeTargets"]
    assert target["health"] == "up" and target["lastError"] == "", target
    [up] = prometheus.get("query", query="up")["result"]
    assert up["value"][1] == "1"
    [ram] = prometheus.get("query", query="gpu_tracker_system_ram_bytes")["result"]
    assert float(ram["value"][1]) > 1e6
    assert ram["metric"]["host"] == os.uname().nodename and ram["metric"]["job"] == "gpu-tracker"
    [most] = prometheus.get("query", query='sum(max_over_time(rate(gpu_tracker_job_cpu_time_seconds_total'
                                           '{command="python3"}[2s])[5s:500ms]))')["result"]
    assert 0.4 * cores < float(most["value"][1]) < 2 + cores
    metadata = prometheus.get("targets/metadata", match_target="{}", metric="gpu_tracker_system_ram_bytes")
    assert metadata[0]["type"] == "gauge" and metadata[0]["unit"] == "bytes" and metadata[0]["help"]
    metadata = prometheus.get("targets/metadata", match_target="{}", metric="gpu_tracker_job_cpu_time_seconds")
    assert metadata[0]["type"] == "counter" and metadata[0]["unit"] == "seconds"
    series = prometheus.get("series", **{"match[]": '{job="gpu-tracker"}'})
    assert len(series) > 50 and not any("exported_job" in one for one in series)


def test_it_answers_every_panel_of_the_dashboard(prometheus):
    dashboard = json.loads((pathlib.Path(__file__).parents[2] / "share/gpu-tracker/grafana-dashboard.json").read_text())
    time.sleep(3)
    shown = {}
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            expression = target["expr"].replace("$__rate_interval", "2s").replace("$host", ".*")
            result = prometheus.get("query", query=expression)["result"]
            shown.setdefault(panel["title"], []).extend(float(one["value"][1]) for one in result)
    assert 0 < shown["Memory in use"][0] < 100 and 0 <= shown["Processors in use"][0] < 120
    for title in "Memory of the ten largest jobs", "Processors of the ten busiest jobs", "Network", "Time a sample takes":
        assert shown[title], title
