"""gpu-tracker report of several recordings: one document in every format."""
import csv
import html.parser
import io
import json
import pickle
import sqlite3
import sys

import pytest


@pytest.fixture
def recordings(cli, tmp_path):
    for name in ("a.sqlite", "b.csv", "c <d>.csv"):
        assert cli("run", "--disable-logs", "--st=0.05", f"--tf={name}", "--", "sleep", "0.2").returncode == 0
    return ["a.sqlite", "b.csv", "c <d>.csv"]


def test_json_is_one_list(cli, recordings):
    several = json.loads(cli("report", "-f", "json", *recordings).stdout)
    assert [report.pop("recording") for report in several] == recordings
    assert several == [json.loads(cli("report", "-f", "json", name).stdout) for name in recordings]


def test_one_is_an_object(cli, recordings):
    assert "recording" not in json.loads(cli("report", "-f", "json", recordings[0]).stdout)


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.ids, self.headings = [], [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.ids += [value for name, value in attributes if name == "id"]

    def handle_data(self, data):
        if self.tags and self.tags[-1] == "h2" and data.strip():
            self.headings.append(data)


def test_html_is_one_page(cli, recordings):
    page = Page()
    page.feed(cli("report", "-f", "html", *recordings).stdout)
    assert [page.tags.count(tag) for tag in ("html", "body", "h1", "h2")] == [1, 1, 1, 3]
    assert page.headings == recordings
    assert len(page.ids) == len(set(page.ids)), "of pictures"


def test_csv_of_moments_is_one_table(cli, recordings, tmp_path):
    (tmp_path / "at.csv").write_text("seconds\n0.01\n0.1\n")
    rows = list(csv.DictReader(io.StringIO(cli("report", "--at=at.csv", "-f", "csv", *recordings).stdout)))
    assert [row["recording"] for row in rows] == [name for name in recordings for _ in range(2)]
    assert [row["seconds"] for row in rows] == ["0.01", "0.1"] * 3


def test_csv_of_moments_has_what_any_recording_knows(cli, recordings, tmp_path):
    """Of moments before it begins a recording knows nothing, and then it has no columns of figures."""
    with sqlite3.connect(tmp_path / "a.sqlite") as database:
        begin, = database.execute("SELECT min(timestamp) FROM data").fetchone()
    (tmp_path / "at.csv").write_text(f"timestamp,note\n{begin!r},first\n")
    alone = [list(csv.DictReader(io.StringIO(cli("report", "--at=at.csv", "-f", "csv", name).stdout)))[0] for name in recordings]
    assert "combined_ram" in alone[0] and "combined_ram" not in alone[1], alone
    rows = list(csv.DictReader(io.StringIO(cli("report", "--at=at.csv", "-f", "csv", *reversed(recordings)).stdout)))
    assert [{key: text for key, text in row.items() if text} for row in rows] == [
        {"recording": name, **{key: text for key, text in row.items() if text}} for name, row in zip(recordings, alone)][::-1]


def test_pickle_is_a_list(cli, recordings, tmp_path):
    tracker = pytest.importorskip("gpu_tracker", reason=sys.executable)
    assert cli("report", "-o", "all.pkl", *recordings).returncode == 0
    several = pickle.loads((tmp_path / "all.pkl").read_bytes())
    assert len(several) == 3 and all(type(usage).__module__.startswith(tracker.__name__) for usage in several)
    assert [usage.max_ram.unit for usage in several] == ["gigabytes"] * 3


def test_one_that_is_not_there_fails_all(refused, cli, recordings):
    refused(2, "no.csv", "report", recordings[0], "no.csv")
