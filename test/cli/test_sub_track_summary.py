"""sub-track analyze for people: a table of the blocks, and pictures of the recording with the calls in them."""
import json
import re
import sqlite3

import pytest
from browser import Browser, needs_browser

from test_sub_track import files  # noqa: F401

WORDS = ["sub-track", "analyze", "--tf=tracking-A.sqlite", "--stf=blocks-A.csv"]


def test_counters_reach_from_the_start_to_the_end(cli, gpu_tracker, tmp_path):
    """The job is shorter than the period: the one sample says nothing, start and end say all."""
    burn = "import time\nwhile time.process_time() < 0.3: pass"
    done = cli("run", "--blocks", "--sleep-time", 5, "--tracking-file", "short.sqlite", "--", gpu_tracker, "block", "burn", "--",
               "/usr/bin/python3", "-c", burn)
    assert done.returncode == 0, done.stderr
    results = json.loads(cli("sub-track", "analyze", "--tf=short.sqlite", "-f", "json").stdout)
    with sqlite3.connect(tmp_path / "short.sqlite") as recording:
        final, = recording.execute("SELECT value FROM final WHERE scope = 'combined' AND metric = 'cpu_time'").fetchone()
        elapsed, = recording.execute("SELECT value FROM outcome WHERE key = 'elapsed'").fetchone()
    assert results["overall_counters"]["combined_cpu_time"]["total"] == pytest.approx(final)
    assert results["duration"] == pytest.approx(float(elapsed))
    block, = results["code_block_results"]
    assert block["counters"]["combined_cpu_time"]["total"] == pytest.approx(0.3, abs=0.1)


def titles(text):
    return [line for line in text.splitlines() if line and not line[0].isspace()]


def test_the_summary_has_the_longest_blocks(cli, files):  # noqa: F811
    """At most 25 lines, which text begins with unless it is that of the original; a report without a summary stays whole."""
    alone, whole = cli(*WORDS, "-f", "summary").stdout, cli(*WORDS).stdout
    assert len(alone.splitlines()) <= 25 and len(titles(whole)) > 3 and "gpu-tracker  " not in whole
    assert re.search(r"^  \S.* \d[\d.]* (s|min|h) .*\(\d+ calls?", alone, re.MULTILINE), alone
    ours = cli("analyze", *WORDS[2:]).stdout
    assert ours == alone + "\n" + whole
    assert cli(*WORDS, "-f", "json", "-o", "a.json").returncode == 0
    done = cli("compare", "a=a.json", "b=a.json", "--fail-if=time>1h", "-f", "summary")
    assert "all rules pass" in done.stdout.splitlines()[0] and done.returncode == 0
    assert len(cli("profile", "utilization", "tracking-A.sqlite", "-f", "summary").stdout.splitlines()) > 10


def named(files, name):  # noqa: F811
    rows = "".join(f"1,{name},{position},{1700000000 + call + position / 2}\n" for call in range(3) for position in (0, 1))
    (files / "named.csv").write_text("process_id,code_block_name,position,timestamp\n" + rows)
    return ["analyze", "--tf=tracking-A.sqlite", "--stf=named.csv", "-o", "page.html"]


@needs_browser
@pytest.mark.parametrize("width", [400, 1200])
def test_a_long_name_does_not_widen_the_page(cli, files, tmp_path, width):  # noqa: F811
    assert cli(*named(files, "x" * 1000)).returncode == 0
    with Browser(tmp_path / "page.html", width=width) as page:
        assert page.value("document.documentElement.scrollWidth") <= width


def test_names_in_lanes_end_with_their_boxes(cli, files, tmp_path):  # noqa: F811
    """Of wide letters fewer fit: the picture in which a name stands is no wider than the box."""
    assert cli(*named(files, "W" * 4)).returncode == 0
    page = (tmp_path / "page.html").read_text()
    found = re.findall(r'<rect class="fill\d+" x="([\d.]+)" y="1" height="16" width="([\d.]+)"', page)
    boxes = [(float(x), float(width)) for x, width in found]
    names = re.findall(r'<svg x="([\d.]+)" y="1" height="16" width="([\d.]+)"><text class="in"[^>]*>W{4}<', page)
    assert [float(x) for x, _ in names] == [x for x, _ in boxes] != [] and page.count('class="in"') == len(boxes)
    assert all(float(name) <= box for (_, name), (_, box) in zip(names, boxes))
