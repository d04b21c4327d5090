"""The notebook logger, in a real kernel and in plain IPython."""
import nbclient
import nbformat
import pytest
from gpu_tracker import _core
from gpu_tracker._notebook_view import CellReport, CellTable, RunPlot
from gpu_tracker.notebook import Cell, Data, IPyGPULogger


@pytest.fixture
def notebook(tmp_path, monkeypatch):
    """notebook("a cell", ...): for each cell, its outputs as {type or mime type: text}."""
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))

    def run(*sources, allow_errors=False):
        document = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
        document.metadata["kernelspec"] = {"name": "python3", "display_name": "x", "language": "python"}
        nbclient.NotebookClient(document, timeout=60, allow_errors=allow_errors, kernel_name="python3",
                                resources={"metadata": {"path": str(tmp_path)}}).execute()
        return [flatten(cell.outputs) for cell in document.cells]

    def flatten(outputs):
        found = {}
        for output in outputs:
            kind = output.get("name", output.output_type)
            parts = output.get("data") or {kind: output.get("text", output.get("ename"))}
            for kind, text in parts.items():
                found[kind] = found.get(kind, "") + text
        return found

    return run


def figures(report):
    """(consumed, peaked, used) of RAM in a printed report."""
    line = next(line for line in report["text/plain"].splitlines() if line.startswith("Gen:"))
    return [int(word) for word in line.split()[1:4]]


START = "from gpu_tracker.notebook import IPyGPULogger\nlogger = IPyGPULogger()\nlogger.start()\nNone"


def test_cells_are_reported(notebook):
    started, kept, peaked, failed, after, data, table, plot, stopped, silent = notebook(
        START,
        "block = bytearray(b'1') * (100 * 2**20)",
        "other = bytearray(b'1') * (200 * 2**20); del other; 'value'",
        "1 / 0",
        "pass",
        "used, peaked, total, _, _, _, seconds = logger.data\nprint(type(logger.data).__name__, total)",
        "logger.table()",
        "import time; time.sleep(1.2); logger.plot()",
        "logger.stop()",
        "pass",
        allow_errors=True)
    assert started == {}
    first, second = kept["text/plain"].splitlines()[:2]
    assert first.startswith("RAM: Consumed Peaked  Used Total  in 0.") and first.endswith("s (In [2])")
    assert second.startswith("Gen: ") and second.endswith(" MB")
    consumed, transient, total = figures(kept)
    assert 98 <= consumed <= 105 and 0 <= transient <= 5 and total > 100
    assert "<table>" in kept["text/html"]
    consumed, transient, _ = figures(peaked)
    assert -2 <= consumed <= 5 and 195 <= transient <= 205
    assert "'value'" in peaked["text/plain"]
    assert failed["error"] == "ZeroDivisionError" and figures(failed)
    assert figures(after)[1] <= 3
    assert data["stdout"].startswith("Data ")
    assert table["text/plain"].splitlines()[0].split()[:2] == ["cell", "seconds"]
    assert "<rect" in plot["image/svg+xml"] and "<polyline" in plot["image/svg+xml"]
    assert silent == {}


def test_magics(notebook):
    _, tracked, bad, _, cell, report, _, unknown = notebook(
        "%load_ext gpu_tracker",
        "%%track\nblock = bytearray(b'1') * (50 * 2**20)\n6 * 7",
        "%%track\nraise KeyError",
        "%gpu_tracker start compact",
        "pass",
        "%gpu_tracker report",
        "%gpu_tracker stop",
        "%gpu_tracker dance",
        allow_errors=True)
    assert tracked["text/plain"].endswith("42") and 48 <= figures(tracked)[0] <= 55
    assert bad["error"] == "KeyError" and figures(bad)
    assert cell["text/plain"].startswith("Gen: 0/0/") and len(cell["text/plain"].splitlines()) == 1
    assert report["text/plain"].splitlines()[1].split()[0] == "5"
    assert unknown["error"] == "ValueError"


def test_a_sampler_that_dies_leaves_the_notebook_alone(notebook):
    _, killed, after, again = notebook(
        START,
        "import os, pathlib, signal\n"
        "for child in pathlib.Path('/proc').glob('[0-9]*/cmdline'):\n"
        "    try:\n"
        "        words = child.read_text().split('\\0')\n"
        "    except OSError:\n"
        "        continue\n"
        "    if 'agent' in words and str(os.getpid()) in words:\n"
        "        os.kill(int(child.parent.name), signal.SIGKILL)",
        "block = bytearray(b'1') * (30 * 2**20)",
        "logger.stop(); logger.start(); None")
    assert figures(killed) and 28 <= figures(after)[0] <= 35
    assert again == {}


def test_plain_ipython(python):
    done = python("""
        from IPython.testing.globalipapp import start_ipython
        shell = start_ipython()
        shell.run_cell("%load_ext gpu_tracker")
        shell.run_cell("%gpu_tracker start")
        shell.run_cell("block = bytearray(b'1') * (40 * 2**20)")
        shell.run_cell("%gpu_tracker stop")
        from gpu_tracker.notebook import _logger
        assert 38 <= _logger.data.gen.used_delta <= 45, _logger.data
    """)
    assert "RAM: Consumed Peaked  Used Total  in 0." in done.stdout


def test_outside_ipython():
    with pytest.raises(RuntimeError, match="no IPython"):
        IPyGPULogger().start()
    with pytest.raises(ValueError, match="tensorflow"):
        IPyGPULogger(backend="tensorflow")


def test_nothing_is_imported(python):
    done = python("""
        import sys
        import gpu_tracker.notebook
        print(sorted({"torch", "pandas", "numpy", "IPython", "matplotlib"} & set(sys.modules)))
    """)
    assert done.stdout == "[]\n"


FAKE_GPU = """
import os, time
import gpu_tracker._sampling as sampling
command_line = sampling._core.command_line
sampling._core.command_line = lambda options: command_line({{**options, "library": ["nvml={library}"]}})
with open(os.environ["GT_FAKE_NVML"], "a") as file:
    for second, megabytes in ((0, 0), (0.5, 300), (0.8, 100)):
        print(f"frame {{second}}\\ndevice 0\\nprocess 0 {{os.getpid()}} {{megabytes * 2**20}}", file=file)
"""


def test_gpu_memory_of_this_process(notebook, fake, one_gpu):
    """Half a second after the driver was opened the process has 300 MB, 0.3 s later 100 MB."""
    one_gpu(0)
    _, cell = notebook(FAKE_GPU.format(library=fake("nvml")) + START, "time.sleep(1.2)")
    line = next(line for line in cell["text/plain"].splitlines() if line.startswith("GPU:"))
    assert [int(word) for word in line.split()[1:4]] == [100, 200, 100]


def cell(**changes):
    values = {"gen_mem_used_delta": 45, "gen_mem_peaked": 0, "gen_mem_used": 170, "gpu_mem_used_delta": 2467,
              "gpu_mem_peaked": 0, "gpu_mem_used": 1465, "time_delta": 0.0, **changes}
    return Cell(4, 1000.0, Data(**values), None)


def test_the_two_printed_forms():
    assert repr(CellReport(cell(), False)) == (
        "RAM: Consumed Peaked  Used Total  in 0.000s (In [4])\n"
        "Gen:       45      0    170 MB\n"
        "GPU:     2467      0   1465 MB")
    assert repr(CellReport(cell(), True)) == "Gen: 45/0/170 MB | GPU: 2467/0/1465 MB | 0.000s (In [4])"


def test_what_is_missing_says_so():
    without = cell(gpu_mem_used_delta=None, gpu_mem_peaked=None, gpu_mem_used=None)
    assert repr(CellReport(without, False)).splitlines()[2].split() == ["GPU:", "n/a", "n/a", "n/a", "MB"]
    assert "n/a" in CellReport(without, False)._repr_html_()
    table = CellTable([without, cell()]).to_table()
    assert table["gpu_used"] == [None, 1465] and table["cell"] == [4, 4]
    assert without.data.gpu == (None, None, None) and without.data.gen.used_total == 170


def test_an_empty_run_has_a_plot():
    assert RunPlot((), [])._repr_svg_().startswith("<svg") and "0 cells" in repr(RunPlot((), []))
    assert repr(CellTable([])).split()[0] == "cell"


def test_the_high_water_mark_is_set_back():
    block = bytearray(b"1") * (64 * 2**20)
    del block
    rss, peak = _core.own_memory()
    assert peak >= rss + 32 * 2**20
    assert _core.reset_own_peak() is True
    rss, peak = _core.own_memory()
    assert abs(peak - rss) < 2**20


