"""gpu-tracker report of several recordings: one document in every format."""
import html.parser
import json
import pickle
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


def test_pickle_is_a_list(cli, recordings, tmp_path):
    tracker = pytest.importorskip("gpu_tracker", reason=sys.executable)
    assert cli("report", "-o", "all.pkl", *recordings).returncode == 0
    several = pickle.loads((tmp_path / "all.pkl").read_bytes())
    assert len(several) == 3 and all(type(usage).__module__.startswith(tracker.__name__) for usage in several)
    assert [usage.max_ram.unit for usage in several] == ["gigabytes"] * 3


def test_one_that_is_not_there_fails_all(refused, cli, recordings):
    refused(2, "no.csv", "report", recordings[0], "no.csv")
