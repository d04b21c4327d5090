"""Charts as pictures: report --plot."""
import ctypes
import os
import xml.etree.ElementTree

import pytest
from job_folder import JobFolder
from test_page import HOSTILE, blocks_of, record, rows_of

SVG = "{http://www.w3.org/2000/svg}"


def has_library(name):
    try:
        ctypes.CDLL(name)
    except OSError:
        return False
    return True


needs_rsvg = pytest.mark.skipif(not has_library("librsvg-2.so.2"), reason="librsvg is not installed")


@pytest.fixture
def recording(tmp_path):
    record(tmp_path / "run.csv", rows_of(200, peak=50))
    blocks_of(tmp_path / "run.blocks.csv", [(HOSTILE, 1.7e9 + 5, 1.7e9 + 15)])
    return tmp_path / "run.csv"


def texts(picture):
    return [element.text for element in xml.etree.ElementTree.fromstring(picture).iter(SVG + "text")]


def plotted(cli, tmp_path, rows, *options):
    record(tmp_path / "run.csv", rows)
    done = cli("plot", "run.csv", "--charts=memory", *options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_peak_between_samples_is_marked(gpu_tracker, cli, tmp_path):
    folder = JobFolder(gpu_tracker, tmp_path / "job", 1)
    folder.run(0, "UPDATE data SET combined_ram = 0.3, main_ram = 0.3")
    folder.run(0, "UPDATE final SET value = 900000000 WHERE scope = 'combined' AND metric = 'ram_peak'")
    done = cli("plot", folder.path(0), "--charts=memory")
    assert "peak 900 MB, between samples" in texts(done.stdout), (texts(done.stdout), done.stderr)


@pytest.mark.parametrize(("width", "pixels", "points"), [("8.5", 321, 8), ("20.7", 783, 9), ("40", 1512, 12)])
def test_a_picture_has_the_width_asked_for_and_text_that_can_be_read(cli, tmp_path, width, pixels, points):
    root = xml.etree.ElementTree.fromstring(plotted(cli, tmp_path, rows_of(200), "--width", width))
    scale = float(root.get("width")) / float(root.get("viewBox").split()[2])
    assert abs(float(root.get("width")) - pixels) < 2 and abs(12 * scale * 0.75 - points) < 0.05
    right = float(root.get("viewBox").split()[2]) - 12
    assert all(float(element.get("x")) <= right for element in root.iter(SVG + "text") if element.get("x"))
    assert "font-family:sans-serif" in root.find(SVG + "style").text


def test_a_picture_has_the_font_asked_for(cli, tmp_path):
    assert "font-family:serif" in plotted(cli, tmp_path, rows_of(20), "--font=serif")


def test_plot_draws_all_charts_or_those_that_are_named(cli, recording):
    done = cli("plot", recording)
    assert done.returncode == 0 and done.stdout == cli("report", recording, "--plot", "all").stdout
    named = cli("plot", recording, "--charts", "cpu")
    assert named.returncode == 0 and named.stdout == cli("report", recording, "--plot", "cpu").stdout != done.stdout


def test_a_run_shorter_than_its_samples_says_so(cli, refused):
    assert cli("run", "--disable-logs", "--detail", "--st=60", "--tf=run.sqlite", "--", "true").returncode == 0
    refused(2, "too short for them, a shorter --sleep-time (--st) takes more", "plot", "run.sqlite", "--charts", "memory,cpu")


def test_without_a_file_it_is_svg_with_names_as_text(cli, recording):
    done = cli("report", recording, "--plot", "all")
    assert done.returncode == 0, done.stderr
    picture = xml.etree.ElementTree.fromstring(done.stdout)
    assert not list(picture.iter("img")) and "<img" not in done.stdout
    assert any("Code blocks" in text for text in texts(done.stdout))
    assert HOSTILE in [element.text for element in picture.iter(SVG + "title")]


def test_a_chart_that_is_not_there_names_those_that_are(refused, recording):
    assert refused(2, "memory", "report", recording, "--plot", "wattage").endswith("there are memory, cpu, blocks")


def test_a_picture_is_not_made_by_accident(refused, recording):
    refused(2, "--plot", "report", recording, "-o", "x.png")
    refused(2, ".svg", "report", recording, "--plot", "memory", "-o", "x.txt")
    refused(2, "--format", "report", recording, "--plot", "memory", "-f", "json")
    refused(2, "need --plot", "report", recording, "--width=8")
    refused(2, "6 to 100", "plot", recording, "--width=500")
    refused(2, "serif", "plot", recording, "--font=comic")
    refused(2, "one recording", "report", recording, recording, "--plot", "memory")


@needs_rsvg
def test_png_and_pdf(cli, recording, tmp_path):
    image = pytest.importorskip("PIL.Image")
    for name in "a.png", "a.pdf":
        done = cli("report", recording, "--plot", "memory", "-o", name)
        assert done.returncode == 0, done.stderr
    document = (tmp_path / "a.pdf").read_bytes()
    assert document.startswith(b"%PDF-") and b"/Font" in document
    picture = image.open(tmp_path / "a.png").convert("RGB")
    assert picture.width == 1568
    colours = {colour for _, colour in picture.getcolors(1 << 24)}
    assert (255, 255, 255) in colours and (0, 0x60, 0xA8) in colours


def test_without_the_libraries_a_sentence_says_what_is_missing(cli, recording, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "librsvg-2.so.2").touch()
    done = cli("report", recording, "--plot", "memory", "-o", "a.png", env={**os.environ, "LD_LIBRARY_PATH": str(tmp_path / "empty")})
    assert done.returncode != 0 and not (tmp_path / "a.png").exists()
    assert len(done.stderr.splitlines()) == 1 and "librsvg2-2" in done.stderr and "SVG needs neither" in done.stderr


def test_a_recording_without_samples_has_no_list_of_charts(cli, tmp_path):
    assert cli("run", "--quiet", "--disable-logs", "--tf=run.csv", "--", "true").returncode == 0
    lines = (tmp_path / "run.csv").read_text().splitlines()
    (tmp_path / "run.csv").write_text("\n".join(lines[:3]) + "\n")
    done = cli("plot", "run.csv", "--charts=memory", "-o", "m.svg")
    assert done.returncode == 2 and "fewer than two samples" in done.stderr and "there are" not in done.stderr, done.stderr
