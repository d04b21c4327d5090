"""Pages: their data is the recording's, nothing else runs or is loaded, and in a browser the charts move together."""
import base64
import contextlib
import hashlib
import html.parser
import json
import random
import re
import sqlite3
import subprocess
import sys
import zlib

import pytest
from browser import Browser, needs_browser, wait_for
from page_syntax import check_page
from patience import least

HOSTILE = "</script><img src=x onerror=alert(1)>"
STATIC = ("ram_unit,gpu_ram_unit,time_unit,ram_system_capacity,gpu_ram_system_capacity,system_core_count,n_expected_cores,"
          "system_gpu_count,n_expected_gpus\ngigabytes,gigabytes,seconds,64,0,16,16,0,0")
COLUMNS = ("combined_ram", "main_ram", "cpu_combined_sum_utilization_percent", "timestamp", "monotonic")


def record(path, rows):
    lines = [STATIC, ",".join(COLUMNS), *(",".join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n")


def rows_of(count, period=0.1, peak=None):
    noise = random.Random(1).random
    return [(9.5 if i == peak else 1 + i % 100 / 100, 0.5, 100 + 50 * noise(), 1.7e9 + i * period, 5 + i * period) for i in range(count)]


@pytest.fixture
def page_of(cli, tmp_path):
    """page_of(rows): the text of the page."""

    def make(rows, *options):
        record(tmp_path / "run.csv", rows)
        done = cli("report", "run.csv", "-o", "page.html", *options)
        assert done.returncode == 0, done.stderr
        return (tmp_path / "page.html").read_text()

    return make


class Scripts(html.parser.HTMLParser):
    """The scripts of a page, as a browser cuts them out."""

    def __init__(self, page):
        super().__init__(convert_charrefs=False)
        self.found, self.tags, self.policy = [], [], ""
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        attributes = dict(attributes)
        if tag == "script":
            self.found.append([attributes.get("id"), ""])
        if attributes.get("http-equiv") == "Content-Security-Policy":
            self.policy = attributes["content"]

    def handle_data(self, data):
        if self.tags and self.tags[-1] == "script" and self.cdata_elem:
            self.found[-1][1] += data


def data_of(page):
    check_page(page)
    scripts = Scripts(page).found
    assert scripts[0][0] == "data"
    return json.loads(scripts[0][1])


def words(text, width):
    plane = zlib.decompress(base64.b64decode(text))
    count, before, result = len(plane) // width, 0, []
    for i in range(count):
        folded = sum(plane[k * count + i] << 8 * k for k in range(width))
        before += (folded >> 1) ^ -(folded & 1)
        result.append(before)
    return result


def values(line, numbers):
    return [None if number == 4095 else line["least"] + number * line["step"] for number in numbers]


def test_few_samples_are_all_in_the_page(page_of):
    rows = rows_of(300)
    data = data_of(page_of(rows))
    [ram] = [chart for chart in data["charts"] if chart["key"] == "memory_over_time"]
    line = ram["lines"][0]
    assert "spans" not in line
    told = values(line, words(line["samples"], 2))
    assert len(told) == 300
    assert all(abs(got - row[0]) <= line["step"] / 2 + 1e-9 for got, row in zip(told, rows))
    course = data["courses"][line["course"]]
    time, at = 0, []
    for difference in words(course["time"], 4):
        time += difference
        at.append(time * course["quantum"])
    assert all(abs(got - i * 0.1) <= course["quantum"] for i, got in enumerate(at))


def test_of_many_samples_there_are_spans_and_what_fits(page_of):
    rows = rows_of(40000, peak=12345)
    page = page_of(rows)
    data = data_of(page)
    [ram] = [chart for chart in data["charts"] if chart["key"] == "memory_over_time"]
    line, course = ram["lines"][0], data["courses"][0]
    told, count = values(line, words(line["spans"], 2)), course["spans"]
    assert len(told) == 3 * count and 4096 < count <= 16384
    least, mean, most = told[:count], told[count:2 * count], told[2 * count:]
    assert all(a <= b <= c for a, b, c in zip(least, mean, most))
    assert abs(max(most) - 9.5) < 1e-6 and sum(value > 9 for value in most) == 1
    assert abs(most.index(max(most)) * course["span"] - 1234.5) <= course["span"]
    assert {(chart, number) for chart, number, _ in data["samples"]} >= {(data["charts"].index(ram), 0)}
    small = data_of(page_of(rows, "--html-size", "0.09"))
    assert len(small["samples"]) < len(data["samples"]) == 3


def test_nothing_but_our_scripts_runs_and_nothing_is_loaded(page_of):
    page = page_of(rows_of(50))
    scripts = Scripts(page)
    data_of(page)
    assert "default-src 'none'" in scripts.policy and "unsafe" not in scripts.policy.split("script-src")[1]
    for _, text in scripts.found[1:]:
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in scripts.policy
    assert not re.search(r'<(link|img|iframe)\b|\bsrc=', page.split('<script type="application/json"')[0])


def test_what_was_not_measured_is_missing(page_of):
    rows = [("" if 20 <= i < 30 else row[0], *row[1:]) for i, row in enumerate(rows_of(60))]
    [ram] = [chart for chart in data_of(page_of(rows))["charts"] if chart["key"] == "memory_over_time"]
    told = values(ram["lines"][0], words(ram["lines"][0]["samples"], 2))
    assert [i for i, value in enumerate(told) if value is None] == list(range(20, 30))
    assert ram["limit"]["value"] == 64


def blocks_of(path, calls):
    lines = ["process_id,code_block_name,position,timestamp"]
    for name, start, stop in calls:
        lines += [f'7,"{name}",0,{start}', f'7,"{name}",1,{stop}']
    path.write_text("\n".join(lines) + "\n")


@pytest.fixture
def blocks_page(cli, tmp_path):
    record(tmp_path / "run.csv", rows_of(600))
    calls = [("outer", 5, 50), (HOSTILE, 10, 20), ("other", 30, 40)]
    blocks_of(tmp_path / "run.blocks.csv", [(name, 1.7e9 + start, 1.7e9 + stop) for name, start, stop in calls])
    done = cli("sub-track", "analyze", "--tf=run.csv", "--stf=run.blocks.csv", "-o", "page.html")
    assert done.returncode == 0, done.stderr
    return tmp_path / "page.html"


def test_nested_calls_have_lanes(blocks_page):
    page = blocks_page.read_text()
    data = data_of(page)
    lanes = data["charts"][0]
    assert lanes["kind"] == "lanes" and len(lanes["lines"]) == 2
    assert [(band[0], band[3]) for band in lanes["bands"]] == [("outer", 0), (HOSTILE, 1), ("other", 1)]
    assert lanes["bands"][1][1] == pytest.approx(10) and lanes["bands"][1][2] == pytest.approx(20)
    assert HOSTILE not in page and "<img" not in page.split('<script type="application/json"')[0]


READY = "document.documentElement.dataset.charts === 'ready'"


@needs_browser
def test_charts_share_one_axis_and_move_together(blocks_page):
    data_of(blocks_page.read_text())
    with Browser(blocks_page) as page:
        page.wait(READY)
        assert page.said == [] and [url for url in page.requests if not url.startswith(("file:", "blob:"))] == []
        assert page.value("document.querySelectorAll('img').length") == 0
        boxes = page.value("[...document.querySelectorAll('.track')].map(track => track.getBoundingClientRect())"
                           ".map(box => [box.left, box.width, box.top, box.height])")
        assert len({(left, width) for left, width, *_ in boxes}) == 1 and len(boxes) >= 3
        left, width, top, height = boxes[1]
        page.mouse("mouseMoved", left + width * 0.5, top + height / 2)
        readout = page.value("document.querySelector('.readout').textContent")
        assert "mem" in readout and "cpu" in readout and "outer" in readout
        page.drag((left + width * 0.4, top + 40), (left + width * 0.6, top + 40))
        page.wait("location.hash.startsWith('#t=')")
        begin, end = map(float, page.value("location.hash")[3:].split(","))
        assert 15 < begin < 28 and 30 < end < 42
        page.value("document.querySelectorAll('.track')[1].focus()")
        page.key("ArrowRight")
        wait_for(lambda: float(page.value("location.hash")[3:].split(",")[0]) > begin)
        page.key("Home")
        page.wait("location.hash === ''")


@pytest.fixture
def comparison(cli, tmp_path):
    """Two sessions of four runs each; the second has half a gigabyte more."""
    words = []
    for name, more in ("before", 0), ("after", 0.5):
        for run in range(4):
            record(tmp_path / f"{name}{run}.csv", [(row[0] + more + run / 1000, *row[1:]) for row in rows_of(100)])
            words += ["-m", f"{name}={name}{run}.csv"]
    return lambda *rules: cli("sub-track", "compare", *words, *rules, "-o", "page.html")


def test_a_comparison_begins_with_the_verdict(comparison, tmp_path):
    assert comparison("--fail-if", "combined_ram.max>+5%").returncode == 3
    page = (tmp_path / "page.html").read_text()
    head = page[:page.index("<h2>")]
    assert "<h1>after against before</h1>" in head and "fails 1 rule" in head and "combined_ram.max&gt;+5%" in head
    assert comparison("--fail-if", "combined_ram.max>+90%").returncode == 0
    page = (tmp_path / "page.html").read_text()
    assert "all rules pass" in page and 'class="alarm"' not in page
    check_page(page)
    forest = page[page.index('class="rows forest"'):page.index("</figure>")]
    assert forest.count('class="dot') >= 1 and " %" in forest


@pytest.mark.parametrize("after, marks", [(0.3, [-100, -50, 0, 50, 100, 150]), (30, [0, 1000, 2000, 3000, 4000, 5000])])
def test_changes_have_round_marks(cli, tmp_path, after, marks):
    for name, size in ("before", 1), ("after", after):
        record(tmp_path / f"{name}.csv", [(size, *row[1:]) for row in rows_of(50)])
    assert cli("sub-track", "compare", "-m", "b=before.csv", "-m", "a=after.csv", "-o", "page.html").returncode == 0
    page = (tmp_path / "page.html").read_text()
    forest = page[page.index('class="rows forest"'):page.index("</figure>")]
    shown = [int(text) for text in re.findall(r'<i style="[^>]*>(-?\d+)', forest)]
    assert shown == marks


@needs_browser
def test_curves_of_sessions_lie_on_each_other(comparison, tmp_path):
    assert comparison().returncode == 0
    data_of((tmp_path / "page.html").read_text())
    with Browser(tmp_path / "page.html") as page:
        page.wait(READY)
        assert page.said == []
        assert page.value("[...document.querySelectorAll('.track.lines')].length") == 2
        legend = page.value("document.querySelector('.moves figcaption').textContent")
        assert "before (before0.csv, 1 of 4 runs)" in legend and "after (after0.csv, 1 of 4 runs)" in legend


@needs_browser
@pytest.mark.parametrize("dark", [False, True])
def test_a_phone_scrolls_one_way(blocks_page, dark):
    data_of(blocks_page.read_text())
    with Browser(blocks_page, width=400, dark=dark) as page:
        page.wait(READY)
        assert page.value("document.documentElement.scrollWidth") <= 400
        assert page.value("getComputedStyle(document.body).backgroundColor") == ("rgb(13, 17, 23)" if dark else "rgb(255, 255, 255)")


@needs_browser
def test_a_page_opens_where_its_address_says(blocks_page):
    data_of(blocks_page.read_text())
    with Browser(blocks_page, fragment="#t=12,14") as page:
        page.wait(READY)
        page.wait("location.hash.startsWith('#t=12')")
        page.value("window.saved = []; URL.createObjectURL = blob => { blob.text().then(text => window.saved.push(text)); return '#' }; 0")
        page.value("[...document.querySelectorAll('figcaption button')].filter(made => made.textContent === 'CSV')[1].click()")
        page.wait("window.saved.length")
        rows = [row.split(",") for row in page.value("window.saved[0]").splitlines()]
        assert rows[0][0] == "seconds" and "Combined" in rows[0][1]
        assert all(11.8 <= float(row[0]) <= 14.2 for row in rows[1:]) and len(rows) > 15


@needs_browser
def test_a_saved_picture_names_its_lines(comparison, tmp_path):
    assert comparison().returncode == 0
    with Browser(tmp_path / "page.html") as page:
        page.wait(READY)
        page.value("""window.told = []; window.saved = 0; URL.createObjectURL = () => { window.saved++; return '#' };
            const write = CanvasRenderingContext2D.prototype.fillText;
            CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
                window.told.push(text);
                write.call(this, text, ...place);
            }; 0""")
        page.value("[...document.querySelectorAll('figcaption button')].find(made => made.textContent === 'PNG').click()")
        page.wait("window.saved")
        told = page.value("window.told")
        assert told[0] == "Memory" and [name.split()[0] for name in told[1:]] == ["before", "after"]


@needs_browser
def test_without_scripts_there_are_pictures(blocks_page):
    with Browser(blocks_page, scripts=False) as page:
        nodes = page.call("DOM.getDocument", depth=-1)["root"]
        text = json.dumps(nodes)
        assert text.count('"svg"') >= 3 and "track" not in re.findall(r'"class", "([^"]*)"', text)


@needs_browser
def test_print_shows_the_still_pictures(blocks_page):
    data_of(blocks_page.read_text())
    with Browser(blocks_page) as page:
        page.wait(READY)
        page.call("Emulation.setEmulatedMedia", media="print")
        seen = page.value("[...document.querySelectorAll('.moves > svg')].map(s => getComputedStyle(s).display)")
        assert seen and set(seen) == {"block"}
        assert page.value("getComputedStyle(document.querySelector('.track')).display") == "none"
        page.call("Page.printToPDF")


@needs_browser
def test_a_recording_is_printed_on_two_pages(cli, tmp_path):
    command = sys.executable, "-c", "import time; data = bytearray(50_000_000); time.sleep(1); del data"
    options = "--quiet", "--disable-logs", "--detail", "--st=0.1", "--cpu-tdp=65", "--tf=run.sqlite"
    assert cli("run", *options, "--", *command).returncode == 0
    assert cli("report", "run.sqlite", "-o", "page.html").returncode == 0
    data_of((tmp_path / "page.html").read_text())
    with Browser(tmp_path / "page.html") as page:
        page.wait(READY)
        document = base64.b64decode(page.call("Page.printToPDF", paperWidth=8.27, paperHeight=11.69)["data"])
        assert page.value("[...document.querySelectorAll('details')].every(fold => fold.open)")
    assert len(re.findall(rb"/Type\s*/Page\b", document)) == 2


@needs_browser
def test_the_readout_begins_at_the_peak(cli, tmp_path):
    record(tmp_path / "run.csv", rows_of(200, peak=50))
    assert cli("report", "run.csv", "-o", "page.html").returncode == 0
    data_of((tmp_path / "page.html").read_text())
    with Browser(tmp_path / "page.html") as page:
        page.wait(READY)
        assert "mem 9.5 GB" in page.value("document.querySelector('.readout').textContent")


@needs_browser
def test_a_dot_is_a_sample_and_a_greater_peak_stands_beside_it(cli, tmp_path):
    # Where samples fall is up to the machine, so none has the spike: they are written anew.
    spike = "import time\nmore = b'x' * 300_000_000\ndel more\ntime.sleep(1)"
    assert cli("run", "--quiet", "--disable-logs", "--st=0.2", "--tf=run.sqlite", "--", sys.executable, "-c", spike).returncode == 0
    with contextlib.closing(sqlite3.connect(tmp_path / "run.sqlite")) as recording, recording:
        recording.execute("UPDATE data SET combined_ram = CASE WHEN rowid = (SELECT max(rowid) FROM data) THEN 0.11 ELSE 0.01 END")
    assert cli("report", "run.sqlite", "-o", "page.html").returncode == 0
    memory = next(chart for chart in data_of((tmp_path / "page.html").read_text())["charts"] if chart["key"] == "memory_over_time")
    assert 0.29 < memory["peak"] < 0.4
    with Browser(tmp_path / "page.html") as page:
        (dot, _), (words, _) = labels_of(page, 1)
    assert dot == "dot" and re.fullmatch(r"largest sample 1\d\d MB, peak 3\d\d MB", words), words


MANY = ("main_ram", "combined_ram", "descendants_ram", "combined_gpu_ram", "gpu_sum_utilization_percent",
        "cpu_combined_sum_utilization_percent", "cpu_system_sum_utilization_percent", "system_gpu_power",
        "combined_read_bytes", "combined_written_bytes", "timestamp", "monotonic")


@pytest.fixture
def many(cli, tmp_path):
    """The page of many samples that never rest."""
    noise = random.Random(1).random
    rows = []
    for i in range(40000):
        more = i * 1000 + int(900 * noise())
        rows.append((0.5 + noise() / 9, 2 + noise(), 1 + noise(), 8 * noise(), 60 + 40 * noise(), 100 + 50 * noise(), 300 + 200 * noise(),
                     200 + 100 * noise(), more * 99, more * 33, 1.7e9 + i * 0.1, 5 + i * 0.1))
    static = STATIC.replace("64,0,16,16,0,0", "64,80,16,16,1,1")
    (tmp_path / "run.csv").write_text("\n".join([static, ",".join(MANY), *(",".join(map(str, row)) for row in rows)]) + "\n")
    assert cli("report", "run.csv", "-o", "page.html").returncode == 0
    data_of((tmp_path / "page.html").read_text())
    return tmp_path / "page.html"


@needs_browser
def test_charts_of_many_samples_are_soon_drawn(many):
    """By CPU time of the browser, which another program's does not lengthen much. With each band as a path it was 3 s."""
    def seconds():
        with Browser(many) as page:
            page.wait(READY)
            return page.cpu_seconds() - page.cpu_before
    assert least(seconds, 2) < 2


# How much of a chart's height its highest band takes.
PAINTED = """(title => { const figures = [...document.querySelectorAll('figure.moves')];
    const figure = figures.find(one => one.querySelector('figcaption').textContent.startsWith(title));
    const bands = [...figure.querySelectorAll('.range')].map(band => band.getBoundingClientRect().height);
    return bands.length ? Math.max(...bands) / figure.querySelector('.drawn').clientHeight : 0 })"""


@needs_browser
def test_a_chart_is_drawn_when_it_comes_near_and_has_its_band(many):
    with Browser(many, height=450) as page:
        page.wait(READY)
        assert page.said == [] and page.value(PAINTED + "('CPU in use')") > 0.3
        assert page.value(PAINTED + "('Storage')") == 0
        page.value("document.getElementById('figure' + document.querySelectorAll('figure.moves').length).scrollIntoView()")
        page.wait(PAINTED + "('Storage') > 0.3")
        tops = "[...document.querySelectorAll('figure.moves')].map(one => one.getBoundingClientRect().height)"
        assert min(page.value(tops)) > 150 and page.said == []


@needs_browser
def test_the_overview_ends_where_its_line_ends(cli, tmp_path):
    for name, count in ("before", 40), ("after", 200):
        record(tmp_path / f"{name}.csv", rows_of(count))
    assert cli("sub-track", "compare", "-m", "b=before.csv", "-m", "a=after.csv", "-o", "page.html").returncode == 0
    with Browser(tmp_path / "page.html") as page:
        page.wait(READY)
        shorter, longer = page.value("[...document.querySelectorAll('.overview path')].map(path => path.getBBox().width)")
    assert 0 < shorter < longer / 3, "the shorter run ends, and the longer one is drawn, too"


@needs_browser
def test_peaks_of_both_sessions_are_told_above_their_curves(cli, tmp_path):
    for name, peak in ("before", 2.5), ("after", 9):
        record(tmp_path / f"{name}.csv", [(peak if i == 50 else 1, *row[1:]) for i, row in enumerate(rows_of(100))])
    assert cli("sub-track", "compare", "-m", "b=before.csv", "-m", "a=after.csv", "-o", "page.html").returncode == 0
    with Browser(tmp_path / "page.html") as page:
        said = labels_of(page, 2)
    assert [text for text, _ in said] == ["dot", "b: largest sample 2.5 GB", "dot", "a: largest sample 9 GB"], said
    assert all(words[1] < dot[1] - 5 for dot, words in zip(said[::2], said[1::2], strict=True)), said


def labels_of(page, count):
    """The dots of the first chart and what is told of them, each with its height."""
    page.wait(READY)
    page.wait("document.querySelectorAll('.drawn .label').length >= %d" % count)
    said = page.value("""[...document.querySelectorAll('.drawn circle.peak, .drawn .label')].map(made =>
        made.tagName === 'circle' ? ['dot', +made.getAttribute('cy')] : [made.textContent, +made.getAttribute('y')])""")
    return said[:2 * count]


@needs_browser
def test_labels_of_dots_lie_on_no_other_curve(cli, tmp_path):
    for name, high, usual in ("before", 9, 1), ("after", 9.5, 9.4):
        peak = 50 if usual == 1 else 98
        record(tmp_path / f"{name}.csv", [(high if i == peak else usual, *row[1:]) for i, row in enumerate(rows_of(100))])
    assert cli("sub-track", "compare", "-m", "b=before.csv", "-m", "a=after.csv", "-o", "page.html").returncode == 0
    with Browser(tmp_path / "page.html") as page:
        (_, _), (text, base), (_, curve), (_, _) = labels_of(page, 2)
    assert text.startswith("b: largest") and not base - 9 < curve < base + 2, (base, curve)


@needs_browser
def test_a_plateau_has_its_dot(page_of, tmp_path):
    page_of([(1, *row[1:]) for row in rows_of(100)])
    with Browser(tmp_path / "page.html") as page:
        (dot, _), (words, _) = labels_of(page, 1)
    assert dot == "dot" and words in ("largest sample 1 GB", "largest sample 1.00 GB")


@needs_browser
def test_a_run_that_has_ended_has_no_value(cli, tmp_path):
    for name, count in ("before", 40), ("after", 200):
        record(tmp_path / f"{name}.csv", rows_of(count))
    assert cli("sub-track", "compare", "-m", "b=before.csv", "-m", "a=after.csv", "-o", "page.html").returncode == 0
    with Browser(tmp_path / "page.html") as page:
        page.wait(READY)
        legend = "[...document.querySelectorAll('.values')].slice(0, 2).map(one => one.textContent)"
        assert not any("ended" in text for text in page.value(legend))
        page.value("location.hash = '#t=10,19'")
        wait_for(lambda: all(re.match(r"b has endeda \d", text) for text in page.value(legend)))
        readout = page.value("document.querySelector('.readout').textContent")
        assert re.search(r"mem b has ended, a [\d.]+ GB", readout), readout
        page.value("location.hash = '#t=1,2'")
        page.wait("location.hash === '#t=1.0000000,2.0000000'")
        wait_for(lambda: "ended" not in page.value("document.querySelector('.values').textContent"))


def test_values_beyond_all_bounds_stay_in_the_picture(cli, tmp_path):
    assert cli("run", "--disable-logs", "--st=0.1", "--tf=run.sqlite", "--", "sleep", "0.6").returncode == 0
    with contextlib.closing(sqlite3.connect(tmp_path / "run.sqlite")) as recording, recording:
        recording.execute("UPDATE data SET combined_ram = 5.6e16")
    assert cli("report", "run.sqlite", "-o", "page.html").returncode == 0
    page = (tmp_path / "page.html").read_text()
    bars = [(int(y), int(height)) for y, height in re.findall(r'<rect class="bar" x="\d+" y="(-?\d+)" width="\d+" height="(-?\d+)"', page)]
    assert bars and all(y >= 0 and height > 0 for y, height in bars), bars


def test_a_job_that_has_marked_no_block_yet_has_a_page(cli, gpu_tracker, tmp_path):
    with subprocess.Popen([gpu_tracker, "run", "--quiet", "--disable-logs", "--blocks", "--st=0.1", "--tf=run.sqlite", "--", "cat"],
                          stdin=subprocess.PIPE, cwd=tmp_path) as process:
        wait_for(lambda: (tmp_path / "run.sqlite").exists() and cli("report", "run.sqlite").returncode == 0)
        done = cli("report", "run.sqlite", "-o", "page.html")
        process.stdin.close()
    assert done.returncode == 0, done.stderr
    assert "so far" in (tmp_path / "page.html").read_text()


OPERATORS = ("aten::mm", 70), ("aten::add", 20), ("</script><img src=x onerror=alert(1)>\n\u202eevil " + "x" * 4000, 10)


@pytest.fixture
def operators(cli, tmp_path):
    """operators(count): the page of operators of so many traces."""

    def make(count, analysis="operators"):
        names = [f"some/where/{letter}/trace.json" for letter in "ab"[:count]]
        for name in names:
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            events = [{"ph": "X", "cat": "cpu_op", "name": operator, "pid": 1, "tid": 1, "ts": i * 100, "dur": time}
                      for i, (operator, time) in enumerate(OPERATORS * 2)]
            events.append({"ph": "X", "cat": "kernel", "name": "of none of them", "pid": 0, "tid": 7, "ts": 0, "dur": 1})
            (tmp_path / name).write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
        done = cli("profile", analysis, *names, "-o", "page.html")
        assert done.returncode == 0, done.stderr
        return (tmp_path / "page.html").read_text()

    return make


def test_a_page_of_one_trace_does_not_name_it_in_each_row(operators, cli):
    page = operators(1)
    assert page.count("trace.json") == 1 and "The same in all rows: node trace.json" in page and "some/where" not in page
    assert re.search(r'data-l="bar" style="--p:100%"[^>]*>140', page) and re.search(r'--p:29%"[^>]*>40', page)
    assert "<img" not in page.split('<script type="application/json"')[0] and "\u202e" not in page
    assert "gpu (us)</th>" not in page and "gpu (us) 0.0" in page
    assert "some/where/a/trace.json" in cli("profile", "operators", "some/where/a/trace.json", "-f", "csv").stdout


def test_pages_of_several_traces_name_what_differs(operators):
    page = operators(2)
    assert ">a/trace.json<" in page and ">b/trace.json<" in page and "some/where" not in page


BOXES = "[...document.querySelectorAll('%s')].map(cell => cell.getBoundingClientRect())"


@needs_browser
@pytest.mark.parametrize("width", [400, 800, 1280, 1400])
def test_tables_fit_the_screen(operators, comparison, cli, tmp_path, width):
    fits = "[...document.querySelectorAll('.scroll')].every(box => box.scrollWidth <= box.clientWidth)"
    operators(2)
    with Browser(tmp_path / "page.html", width=width) as page:
        assert page.value("document.documentElement.scrollWidth") <= width and page.value(fits)
        numbers = page.value(BOXES % "td[data-l]" + ".map(box => [box.left, box.right])")
        assert len(numbers) == 6 and all(0 <= left < right <= width for left, right in numbers)
        assert page.value("document.querySelector('.long').getBoundingClientRect().height") < 200
    comparison()
    with Browser(tmp_path / "page.html", width=width) as page:
        assert page.value("document.documentElement.scrollWidth") <= width and page.value(fits)
        names = page.value(BOXES % ".forest .row > span" + ".map(box => [box.top, box.bottom])")
        assert names and all(before[1] <= after[0] + 1 for before, after in zip(names, names[1:])), names
    command = "sh", "-c", "sleep 0.5; true", OPERATORS[2][0]
    assert cli("run", "--quiet", "--disable-logs", "--detail", "--st=0.1", "--tf=own.sqlite", "--", *command).returncode == 0
    assert cli("report", "own.sqlite", "-o", "page.html").returncode == 0
    with Browser(tmp_path / "page.html", width=width) as page:
        assert page.value("document.documentElement.scrollWidth") <= width and page.value(fits)


@needs_browser
def test_titles_stand_before_the_cells_of_cards(cli, tmp_path):
    """Once for each column, and a name in one ends neither its string nor the style."""
    command = "for i in $(seq 300); do env true; done"
    assert cli("run", "--quiet", "--disable-logs", "--detail", "--st=0.1", "--tf=run.sqlite", "--", "sh", "-c", command).returncode == 0
    assert cli("report", "run.sqlite", "-o", "page.html").returncode == 0
    page = (tmp_path / "page.html").read_text()
    assert ">Begin (seconds)<" not in page and page.count('{--t:"Begin"}') == 1
    with Browser(tmp_path / "page.html", width=400) as shown:
        cells = "[...document.querySelectorAll('.scroll')].filter(box => box.textContent.includes('CPU time')).pop()"
        cells += ".querySelectorAll('tbody tr:last-child td')"
        said = shown.value(f"[...{cells}].map(cell => getComputedStyle(cell, '::before').content)")
        assert '"Begin"' in said and shown.said == []


@needs_browser
def test_titles_of_columns_cannot_leave_the_style(cli, tmp_path):
    name = 'a"}</style><img/src/onerror>\\'
    for session in "b", "a":
        record(tmp_path / f"{session}.csv", rows_of(20))
    words = [word for number in range(3) for word in ("-m", f"{name}{number}=b.csv")]
    assert cli("sub-track", "compare", *words, "-o", "page.html").returncode == 0
    page = (tmp_path / "page.html").read_text()
    assert "<img" not in page.split('<script type="application/json"')[0]
    with Browser(tmp_path / "page.html", width=400) as shown:
        assert shown.value("document.querySelectorAll('img').length") == 0 and shown.said == []
        cells = "[...document.querySelectorAll('.c1 td, .c2 td, .c3 td')]"
        contents = shown.value(cells + ".map(cell => getComputedStyle(cell, '::before').content)")
        assert any("</style>" in content for content in contents), contents


def test_limits_are_told_in_still_pictures(page_of, cli):
    page = page_of(rows_of(50, peak=20))
    still = page.split('<script type="application/json"')[0]
    assert still.count("limit 64 GB</li>") == 1 and still.count("16 cores</li>") == 1
    page_of([(row[0] + 40, *row[1:]) for row in rows_of(50)])
    assert cli("plot", "run.csv", "--charts", "memory", "-o", "-").stdout.count("limit 64 GB</text>") == 1


@needs_browser
def test_rows_are_sorted_and_copied_by_the_exact_figure(blocks_page):
    with Browser(blocks_page) as page:
        page.wait("document.querySelector('.sorts') !== null")
        table = "document.querySelector('.parts table:has(thead td, thead th)')"
        heads = page.value(f"[...{table}.tHead.rows[0].cells].map(cell => cell.textContent)")
        column = heads.index("Mean")
        page.value(f"{table}.tHead.rows[0].cells[{column}].click()")
        seen = page.value(f"[...{table}.tBodies[0].rows].map(row => parseFloat(row.cells[{column}].dataset.v))")
        assert len(seen) > 1 and seen in (sorted(seen), sorted(seen, reverse=True))


def lanes_of(page):
    lanes = data_of(page)["charts"][0]
    return [line["name"] for line in lanes["lines"]], [band[3] for band in lanes["bands"]]


def test_processes_that_follow_each_other_share_a_lane(cli, tmp_path):
    """A moment that was marked has a lane of its own, with a name."""
    record(tmp_path / "run.csv", rows_of(600))
    calls = [(7, "step", 1, 10), (8, "step", 10, 20), (9, "step", 25, 30), (11, "a look", 12, 12), (12, "another", 13, 13)]
    lines = ["process_id,code_block_name,position,timestamp"]
    for pid, name, start, stop in calls:
        lines += [f'{pid},"{name}",0,{1.7e9 + start}', f'{pid},"{name}",1,{1.7e9 + stop}']
    (tmp_path / "run.blocks.csv").write_text("\n".join(lines) + "\n")
    words = "sub-track", "analyze", "--tf=run.csv", "--stf=run.blocks.csv", "-o", "page.html"
    assert cli(*words).returncode == 0
    assert lanes_of((tmp_path / "page.html").read_text()) == (["3 in turn", "marks"], [0, 0, 0, 1, 1])
    lines += [f'13,"beside",{position},{1.7e9 + 5 + position}' for position in (0, 1)]
    (tmp_path / "run.blocks.csv").write_text("\n".join(lines) + "\n")
    assert cli(*words).returncode == 0
    assert lanes_of((tmp_path / "page.html").read_text()) == (["3 in turn", "marks", "pid 13"], [0, 0, 0, 1, 1, 2])


HEIGHT = "document.documentElement.scrollHeight"


@needs_browser
def test_long_tables_show_ten_rows_and_the_worst_until_asked(cli, tmp_path):
    command = "for i in $(seq 60); do env true; done; /usr/bin/env python3 -c 'bytearray(60000000)'; for i in 1 2 3; do env true; done"
    assert cli("run", "--quiet", "--disable-logs", "--detail", "--st=0.1", "--tf=run.sqlite", "--", "sh", "-c", command).returncode == 0
    assert cli("report", "run.sqlite", "-o", "page.html").returncode == 0
    rows = "[...document.querySelectorAll('tbody tr')].filter(row => row.cells.length > 7 && row.getClientRects().length)"
    with Browser(tmp_path / "page.html", width=400) as page:
        shown = page.value(rows + ".map(row => row.textContent)")
        assert 10 < len(shown) <= 15 and any("python3" in row for row in shown), shown
        assert page.value(HEIGHT) < 6000
        assert page.value("getComputedStyle(document.querySelector('details.all')).display !== 'none'")
        assert not page.value("document.querySelector('details.all').open")
        page.value("document.querySelector('.more ~ label').click()")
        assert page.value(rows + ".length") > 60
        page.call("Emulation.setEmulatedMedia", media="print")
        page.value("document.querySelector('.more ~ label').click()")
        assert page.value(rows + ".length") == len(shown)


@needs_browser
def test_branches_of_a_folded_tree_are_shown_with_what_they_grow_from(cli, tmp_path):
    """The greatest is at the end, two levels below a process that is folded away."""
    leaf = "python3 -c 'bytearray(60000000)'"
    command = f"for i in $(seq 20); do env true; done; sh -c \"sh -c \\\"{leaf}; true\\\"; true\"; true"
    assert cli("run", "--quiet", "--disable-logs", "--detail", "--st=0.1", "--tf=run.sqlite", "--", "sh", "-c", command).returncode == 0
    assert cli("report", "run.sqlite", "-o", "page.html").returncode == 0
    rows = "[...document.querySelectorAll('tbody tr')].filter(row => row.querySelector('.branch') || row.cells.length > 7)"
    tell = ".map(row => [[...row.cells].map(cell => cell.textContent).find(text => /[a-z]/.test(text)), row.getClientRects().length > 0])"
    with Browser(tmp_path / "page.html", width=1400) as page:
        tree = page.value(rows + tell)
    depths = [len(re.match("[ │├└]*", name)[0]) // 2 for name, _ in tree]
    assert max(depths) >= 3 and not all(seen for _, seen in tree), tree
    for at, (_, seen) in enumerate(tree):
        above = [i for i in range(at) if depths[i] < depths[at]]
        assert not seen or not above or tree[above[-1]][1], tree


@needs_browser
def test_results_of_many_blocks_are_folded(cli, tmp_path):
    record(tmp_path / "run.csv", rows_of(600))
    blocks_of(tmp_path / "run.blocks.csv", [(f"epoch {i}", 1.7e9 + i, 1.7e9 + i + 0.9) for i in range(58)])
    assert cli("sub-track", "analyze", "--tf=run.csv", "--stf=run.blocks.csv", "-o", "page.html").returncode == 0
    with Browser(tmp_path / "page.html", width=800) as page:
        assert page.value(HEIGHT) < 6000
        assert page.value("document.querySelectorAll('details.fold').length") == 58


@needs_browser
def test_comparisons_are_tables_down_to_700_pixels(comparison, tmp_path):
    comparison()
    for width, is_table in (1000, True), (720, True), (600, False):
        with Browser(tmp_path / "page.html", width=width) as page:
            heads = "[...document.querySelectorAll('.scroll thead')].every(head => head.getClientRects().length %s)"
            assert page.value(heads % ("> 0" if is_table else "=== 0" if width < 600 else ">= 0"))
            assert page.value("document.documentElement.scrollWidth") <= width


def test_rows_without_figures_come_last_in_long_tables(cli, gpu_tracker, tmp_path):
    job = str(gpu_tracker), "block", "a", "--", "sleep", "0.3"
    assert cli("run", "--quiet", "--disable-logs", "--blocks", "--st=0.1", "--tf=own.sqlite", "--", *job).returncode == 0
    assert cli("analyze", "own.sqlite", "-o", "page.html").returncode == 0
    table = (tmp_path / "page.html").read_text().split("<h2>Overall</h2>")[1].split("</table>")[0]
    empty = [set(re.findall(r"<td[^>]*>([^<]*)</td>", row)) == {"n/a"} for row in table.split("<tr")[2:]]
    assert len(empty) > 12 and empty == sorted(empty) and not any(empty[:10])


@needs_browser
def test_names_of_changes_are_whole_on_a_phone(cli, tmp_path):
    for name in "first", "second", "a third session":
        record(tmp_path / f"{name}.csv", rows_of(40))
    assert cli("compare", "first.csv", "second.csv", "a third session.csv", "-o", "page.html").returncode == 0
    names = "[...document.querySelectorAll('.forest .row > span')].filter(one => one.textContent).map(one => one.getBoundingClientRect())"
    for width in 400, 1000:
        with Browser(tmp_path / "page.html", width=width) as page:
            places = page.value(names + ".map(box => [box.left, box.right, box.height])")
            assert places and not [place for place in places if place[0] < 0 or place[1] > width or place[2] <= 5]
