"""The notebook logger, in a real kernel and in plain IPython."""
import math
import re

import jupyter_client
import nbclient
import nbformat
import pytest
from gpu_tracker import _core
from gpu_tracker._notebook_view import CellReport, CellTable, RunPlot
from gpu_tracker.notebook import Cell, Data, IPyGPULogger
from patience import given_longer
from waiting import samplers, wait_until

pytestmark = pytest.mark.sanitize


@pytest.fixture
def notebook(tmp_path, monkeypatch):
    """notebook("a cell", ...): for each cell, its outputs as {type or mime type: text}."""
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))

    def run(*sources, allow_errors=False):
        document = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
        document.metadata["kernelspec"] = {"name": "python3", "display_name": "x", "language": "python"}
        nbclient.NotebookClient(document, timeout=120, allow_errors=allow_errors, kernel_name="python3",
                                resources={"metadata": {"path": str(tmp_path)}}).execute()
        return [flatten(cell.outputs) for cell in document.cells]

    def flatten(outputs):
        found = {}
        for output in outputs:
            kind = output.get("name", output.output_type)
            if "traceback" in output:
                found["traceback"] = re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(output.traceback))
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


@pytest.mark.plain_heap
def test_cells_are_reported(notebook):
    started, kept, peaked, failed, after, data, table, plot, stopped, silent = notebook(
        START,
        "block = bytearray(b'1') * (100 * 10**6)",
        "other = bytearray(b'1') * (200 * 10**6); del other; 'value'",
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


CHILD = """
import subprocess, sys
subprocess.run([sys.executable, "-c", "b = bytearray(b'1') * (150 * 10**6); import time; time.sleep(0.3)"])
None
"""
POOL = """
import multiprocessing, time
fork = multiprocessing.get_context('fork')
ready = fork.Barrier(4)
shared = bytearray(b'1') * (200 * 10**6)
def hold():
    global own
    own = bytearray(b'1') * (60 * 10**6)
    ready.wait()
    time.sleep(60)
workers = [fork.Process(target=hold, daemon=True) for _ in range(3)]
for worker in workers:
    worker.start()
ready.wait()
time.sleep(0.3)
"""


@pytest.mark.plain_heap
def test_processes_that_a_cell_starts(notebook):
    given_longer(lambda seconds: check_processes_that_a_cell_starts(notebook, seconds), 0.3, 3, 10)


def check_processes_that_a_cell_starts(notebook, seconds):
    _, child, pool, kept, ended, _ = notebook(
        START, CHILD, POOL.replace("sleep(0.3)", f"sleep({seconds})"), "other = bytearray(b'1') * (30 * 10**6)",
        "for worker in workers:\n    worker.kill()\n    worker.join()", "logger.stop()")
    consumed, peaked, _ = figures(child)
    assert abs(consumed) <= 5 and 150 <= peaked <= 175
    consumed, peaked, total = figures(pool)
    assert 375 <= consumed <= 420 and abs(peaked) <= 12  # what they share counts once
    consumed, peaked, total_after = figures(kept)  # between cells the kernel writes to pages that the workers keep
    assert 28 <= consumed <= 56 and abs(peaked) <= 30 and -6 <= total_after - total - consumed <= 25
    consumed, peaked, _ = figures(ended)
    assert -215 <= consumed <= -175 and 175 <= peaked <= 215


@pytest.mark.sanitize_long
def test_magics(notebook):
    _, tracked, bad, _, cell, report, _, unknown, _, again, usage = notebook(
        "%load_ext gpu_tracker",
        "%%track\nblock = bytearray(b'1') * (50 * 10**6)\n6 * 7",
        "%%track\nraise KeyError",
        "%gpu_tracker start compact",
        "pass",
        "%gpu_tracker report",
        "%gpu_tracker stop",
        "%gpu_tracker dance",
        "%reload_ext gpu_tracker",
        "%%track compact\npass",
        "%gpu_tracker",
        allow_errors=True)
    assert tracked["text/plain"].endswith("42") and 48 <= figures(tracked)[0] <= 55
    assert bad["error"] == "KeyError" and figures(bad)
    assert "(In [2])" in tracked["text/plain"] and "(In [3])" in bad["text/plain"] and "(In [10])" in again["text/plain"]
    assert "Cell In[3]" in bad["traceback"]
    assert re.match("Gen: [0-5]/[0-5]/", cell["text/plain"]) and len(cell["text/plain"].splitlines()) == 1
    assert report["text/plain"].splitlines()[1].split()[0] == "5"
    assert unknown["stderr"] == "UsageError: %gpu_tracker accepts start, start compact, stop, report, plot or help\n"
    assert "traceback" not in unknown and usage["stdout"].startswith("%gpu_tracker start [compact]  log each cell")


def test_energy_from_a_power_model(notebook):
    _, cell, wrong = notebook("from gpu_tracker.notebook import IPyGPULogger\nIPyGPULogger(cpu_tdp=65).start()\nNone",
                              "sum(range(10**7))", "IPyGPULogger(cpu_tdp=-1)", allow_errors=True)
    assert re.search(r"^Energy: .* J", cell["text/plain"], re.MULTILINE)
    assert "cpu_tdp=-1: " in wrong["traceback"]


def test_megabytes_are_decimal(notebook):
    _, tracked = notebook("%load_ext gpu_tracker", "%%track\nblock = bytearray(b'1') * 200_000_000")
    assert 198 <= figures(tracked)[0] <= 206


def test_an_extension_that_is_unloaded(notebook):
    outputs = notebook("%load_ext gpu_tracker", "%gpu_tracker start", "%unload_ext gpu_tracker", "pass", "%gpu_tracker report",
                       "%%track\npass", "%load_ext gpu_tracker", "%%track compact\npass", allow_errors=True)
    assert outputs[2] == outputs[3] == {} and outputs[7]["text/plain"].startswith("Gen: ")
    assert all("not found" in str(output) for output in outputs[4:6])


def test_magics_of_a_logger_that_was_started_by_hand(notebook):
    started, _, idle, nothing, _, tracked, report, _, stopped = notebook(
        "from gpu_tracker.notebook import IPyGPULogger", "%load_ext gpu_tracker", "%gpu_tracker stop", "%gpu_tracker report",
        "IPyGPULogger().start()", "%%track\n6 * 7", "%gpu_tracker report", "%gpu_tracker stop", "pass")
    assert idle == nothing == {"stdout": "cells are not logged: use %gpu_tracker start\n"}
    assert tracked["text/plain"].count("Gen:") == 1 and "42" in tracked["text/plain"]
    assert report["text/plain"].splitlines()[1].split()[0] == "6"
    assert stopped == {}


def test_a_sampler_that_dies_leaves_the_notebook_alone(notebook):
    _, killed, after, again = notebook(
        START,
        "import os, pathlib, signal\n"
        "for child in pathlib.Path('/proc').glob('[0-9]*/cmdline'):\n"
        "    try:\n"
        "        words = child.read_text(errors='replace').split('\\0')\n"
        "    except OSError:\n"
        "        continue\n"
        "    if 'agent' in words and str(os.getpid()) in words:\n"
        "        os.kill(int(child.parent.name), signal.SIGKILL)",
        "block = bytearray(b'1') * (30 * 10**6)",
        "logger.stop(); logger.start(); None")
    assert figures(killed) and 28 <= figures(after)[0] <= 35
    assert again == {}


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    """run(source, until=None): the outputs of one cell; `until` is called with each while the cell runs."""
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    manager, client = jupyter_client.manager.start_new_kernel(cwd=str(tmp_path))

    def run(source, during=None):
        found = []

        def keep(message):
            found.append(message)
            if during and message["msg_type"] == "stream":
                during()

        client.execute_interactive(source, timeout=120, output_hook=keep)
        return found

    yield manager, client, run
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def report_of(messages):
    [report] = [message["content"]["data"] for message in messages if message["msg_type"] == "display_data"]
    return report


def test_one_sampler_serves_all_cells(kernel, tmp_path):
    _, _, run = kernel
    run(START)
    seen = []
    for megabytes in (90, 30, 60):
        child = f"import time; b = bytearray(b'1') * ({megabytes} * 10**6); time.sleep(0.3)"
        report = report_of(run(f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"))
        assert megabytes <= figures(report)[1] <= megabytes + 25
        seen.append([pid for pid in samplers("again") if tmp_path.samefile(f"/proc/{pid}/cwd")])
    assert len(seen[0]) == 1 and seen[0] == seen[1] == seen[2]


def test_an_interrupted_cell(kernel):
    manager, _, run = kernel
    run(START)
    outputs = run("block = bytearray(b'1') * (50 * 10**6)\nprint('begun')\nimport time; time.sleep(60)",
                  manager.interrupt_kernel)
    assert [message["content"]["ename"] for message in outputs if message["msg_type"] == "error"] == ["KeyboardInterrupt"]
    assert 48 <= figures(report_of(outputs))[0] <= 60  # with what IPython needs to show the traceback
    assert abs(figures(report_of(run("pass")))[0]) <= 2


def test_a_kernel_that_restarts(kernel, tmp_path):
    manager, client, run = kernel
    run(START)
    [folder] = tmp_path.glob("gpu-tracker-*")
    [first] = samplers(folder)
    run("pass")
    manager.restart_kernel()
    client.wait_for_ready(timeout=120)
    wait_until(lambda: not samplers(folder) and not folder.exists())
    run(START)
    assert 38 <= figures(report_of(run("block = bytearray(b'1') * (40 * 10**6)")))[0] <= 45
    [folder] = tmp_path.glob("gpu-tracker-*")
    [second] = samplers(folder)
    assert second != first
    manager.shutdown_kernel(now=True)
    wait_until(lambda: not samplers(folder))


def test_a_child_leaves_the_logger_to_its_parent(kernel, tmp_path):
    _, _, run = kernel
    run(START)
    run("""
import os, subprocess, sys
pid = os.fork()
if pid == 0:
    logger.stop()
    os._exit(0)
os.waitpid(pid, 0)
""")
    [folder] = tmp_path.glob("gpu-tracker-*")
    assert len(samplers(folder)) == 1
    assert figures(report_of(run("pass")))


@pytest.mark.sanitize_long
def test_plain_ipython(python):
    done = python("""
        from IPython.testing.globalipapp import start_ipython
        shell = start_ipython()
        shell.run_cell("%load_ext gpu_tracker")
        shell.run_cell("%gpu_tracker start")
        shell.run_cell("block = bytearray(b'1') * (40 * 10**6)")
        shell.run_cell("%gpu_tracker stop")
        from gpu_tracker.notebook import _logger
        assert 38 <= _logger.data.gen.used_delta <= 45, _logger.data
    """)
    assert "RAM: Consumed Peaked  Used Total  in 0." in done.stdout


@pytest.mark.sanitize_long
def test_cells_that_are_not_kept_have_no_number(python):
    done = python("""
        from IPython.testing.globalipapp import start_ipython
        shell = start_ipython()
        shell.run_cell("%load_ext gpu_tracker", store_history=True)
        for keep in (True, False, True):
            shell.run_cell("%%track compact\\npass", store_history=keep)
        shell.run_cell("%gpu_tracker start compact", store_history=True)
        for keep in (True, False, True):
            shell.run_cell("%%track compact\\npass", store_history=keep)
    """)
    reports = [line for line in done.stdout.splitlines() if line.startswith("Gen: ")]
    assert [line.partition("s (")[2] for line in reports] == ["In [2])", "", "In [3])", "In [5])", "", "In [6])"]


@pytest.mark.sanitize_long
def test_the_name_of_the_tool_that_it_replaces(notebook):
    start = "from ipygpulogger import IPyGPULogger\nlogger = IPyGPULogger(compact=True, gc_collect=True)\nlogger.start()\nNone"
    _, cell, _ = notebook(start, "pass", "logger.stop()")
    assert cell["text/plain"].startswith("Gen: ")


def test_outside_ipython():
    with pytest.raises(RuntimeError, match="IPython is not running"):
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
command_line = sampling._arguments.command_line
sampling._arguments.command_line = lambda options: command_line({{**options, "library": ["nvml={library}"]}})
with open(os.environ["GT_FAKE_NVML"], "a") as file:
    for begin, megabytes in ((0, 0), ("when " + os.path.abspath("more"), 300), ("when " + os.path.abspath("less"), 100)):
        print(f"frame {{begin}}\\ndevice 0\\nprocess 0 {{os.getpid()}} {{megabytes * 10**6}}", file=file)
"""


def test_gpu_memory_of_this_process(notebook, fake, one_gpu):
    """In the cell it has 300 MB, and then 100 MB, each until both samplers have seen it."""
    one_gpu(0)
    _, cell = notebook(FAKE_GPU.format(library=fake("nvml")) + START, """
import glob
for name in "more", "less":
    open(name, "w").close()
    while len(glob.glob(name + ".*")) < 2:
        time.sleep(0.01)
""")
    assert gpu_figures(cell) == [100, 200, 100]


TORCH = """
import sys, types
class Cuda:
    \"\"\"Stands in for torch.cuda: what PyTorch holds of each of two GPUs.\"\"\"
    def __init__(self): self.initialized, self.now, self.most, self.emptied = True, [0, 0], [0, 0], 0
    def is_initialized(self): return self.initialized
    def device_count(self): return 2
    def memory_reserved(self, device): return self.now[device]
    def max_memory_reserved(self, device): return self.most[device]
    def reset_peak_memory_stats(self, device): self.most[device] = self.now[device]
    def empty_cache(self): self.emptied += 1
    def hold(self, device, megabytes):
        self.now[device] = megabytes * 10**6
        self.most[device] = max(self.most[device], self.now[device])
torch = types.ModuleType("torch")
torch.cuda = cuda = Cuda()
sys.modules["torch"] = torch
"""


def gpu_figures(report):
    """(consumed, peaked, used) of GPU memory in a printed report."""
    line = next(line for line in report["text/plain"].splitlines() if line.startswith("GPU:"))
    return [word if word == "n/a" else int(word) for word in line.split()[1:4]]


@pytest.mark.sanitize_long
def test_pytorchs_own_peak(notebook, fake, one_gpu):
    """The driver says 100 MB all the time; the second cell holds 700 MB more for a moment, on both GPUs."""
    one_gpu(0)
    start = re.sub(r"\(\(0, 0\), .*\)\):", "((0, 100),):", FAKE_GPU).format(library=fake("nvml")) + START
    _, calm, busy, after = notebook(TORCH + start, "pass", """
cuda.hold(0, 400); cuda.hold(1, 300); cuda.hold(0, 0); cuda.hold(1, 0)
""", "pass")
    assert [gpu_figures(cell) for cell in (calm, busy, after)] == [[0, 0, 100], [0, 700, 100], [0, 0, 100]]


@pytest.mark.sanitize_long
def test_pytorch_where_the_driver_tells_nothing(notebook):
    _, kept, emptied, leaks, untouched = notebook(
        TORCH + START,
        "cuda.hold(0, 500); cuda.hold(0, 100)",
        "print(cuda.emptied > 0)",
        "logger.stop(); logger.gc_collect = False; logger.start(); cuda.emptied = 0",
        "cuda.hold(0, 120); print(cuda.emptied)")
    assert gpu_figures(kept) == [100, 400, 100]
    assert emptied["stdout"] == "True\n" and untouched["stdout"] == "0\n"
    assert gpu_figures(untouched) == [20, 0, 120]


@pytest.mark.sanitize_long
def test_pytorch_without_a_gpu_in_use(notebook):
    _, cell, none = notebook(TORCH + "cuda.initialized = False\n" + START, "pass", "print(cuda.emptied, cuda.most)")
    assert gpu_figures(cell) == ["n/a"] * 3 and none["stdout"] == "0 [0, 0]\n"


@pytest.mark.sanitize_long
def test_the_backend_is_imported_when_asked_for(notebook, tmp_path):
    (tmp_path / "torch.py").write_text("""
class cuda:
    used = False
    is_available = is_initialized = lambda: False
class ones:
    def __init__(self, shape): assert shape == (1, 1)
    def cuda(self): cuda.used = True
""")
    start = "import sys\nfrom gpu_tracker.notebook import IPyGPULogger\nlogger = IPyGPULogger({})\nlogger.start()\nNone"
    asked = "print('torch' in sys.modules, 'torch' in sys.modules and sys.modules['torch'].cuda.used)"
    assert notebook(start.format(""), asked)[1]["stdout"] == "False False\n"
    assert notebook(start.format("backend='torch'"), asked)[1]["stdout"] == "True False\n"
    with open(tmp_path / "torch.py", "a") as file:
        file.write("cuda.is_available = lambda: True\n")
    assert notebook(start.format("backend='torch'"), asked)[1]["stdout"] == "True True\n"


FAKE_ROOT = """
import gpu_tracker._sampling as sampling
command_line = sampling._arguments.command_line
sampling._arguments.command_line = lambda options: [*command_line(options), "--root={root}"]
"""


@pytest.fixture
def energy_counter(tmp_path):
    """A machine like this one, whose processor package counts its energy: (its root, the counter's file)."""
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "proc").symlink_to("/proc")
    zone = tmp_path / "root" / "sys" / "class" / "powercap" / "intel-rapl:0"
    zone.mkdir(parents=True)
    for file, content in [("name", "package-0"), ("energy_uj", "5000000"), ("max_energy_range_uj", "262143328850")]:
        (zone / file).write_text(content + "\n")
    return tmp_path / "root", zone / "energy_uj"


# A counter that stands still is none: this one creeps.
COUNTING = """
import threading, time
joules = [5000000]
def count():
    while True:
        joules[0] += 1
        with open("{counter}", "r+") as file:
            file.write(str(joules[0]))
        time.sleep(0.002)
threading.Thread(target=count, daemon=True).start()
"""


def test_energy(notebook, energy_counter):
    root, counter = energy_counter
    _, first, second, table, without = notebook(
        FAKE_ROOT.format(root=root) + COUNTING.format(counter=str(counter)) + START,
        "joules[0] += 3500000; time.sleep(0.1); None",
        "joules[0] += 4000000; time.sleep(0.1); None",
        "logger.table()",
        "logger.stop(); sampling._arguments.command_line = command_line; logger.start(); None")
    energy = first["text/plain"].splitlines()[-1]
    figure, error = re.match(r"Energy: (\S+) J \+- (\S+) J = ", energy).groups()
    assert float(figure) == pytest.approx(3.5, abs=0.2) and 0 < float(error) < 1
    assert f", {figure} J +- {error} J = " in first["text/html"]
    assert re.match(r"Energy: [34]\S* J \+- \S+ J = ", second["text/plain"].splitlines()[-1])
    parts = [float(part.split()[0]) for part in energy.split(" = ")[1].split(" + ")]
    assert " J +- " in energy.split(" = ")[1].split(" + ")[0]
    assert [part.split(" J ")[-1] for part in energy.split(" = ")[1].split(" + ")] == [
        "this tree", "other processes", "idle", "unattributed"]
    assert sum(parts) == pytest.approx(3.5, abs=0.2)
    lines = table["text/plain"].splitlines()
    assert lines[0].split()[-9:] == ["joules", "joules", "error", "job", "joules", "job", "joules", "error", "estimated"]
    rows = [line.split("RAM:")[0].split()[-5:] for line in lines[1:3]]
    assert [float(row[0]) for row in rows] == pytest.approx([3.5, 4], abs=0.2)
    assert all(0 < float(row[1]) < 1 and row[4] == "0" for row in rows)
    assert without == {}


@pytest.mark.sanitize_long
def test_no_energy_where_nothing_counts_it(notebook, energy_counter):
    root, counter = energy_counter
    counter.unlink()
    _, cell = notebook(FAKE_ROOT.format(root=root) + START, "pass")
    assert "Energy" not in cell["text/plain"] and " J" not in cell["text/html"]


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


def test_a_table_has_units_and_what_was_measured():
    without = cell(gpu_mem_used_delta=None, gpu_mem_peaked=None, gpu_mem_used=None)
    head, row, note = repr(CellTable([without])).splitlines()
    assert re.split(r"  +", head.strip()) == ["cell", "seconds", "RAM consumed MB", "RAM peaked MB", "RAM used MB"]
    assert row.split() == ["4", "0.000", "45", "0", "170"]
    assert note == "not measured: GPU memory, energy"
    assert note in CellTable([without])._repr_html_() and "n/a" not in CellTable([without])._repr_html_()
    lines = repr(CellTable([without, cell()])).splitlines()
    assert "GPU used MB" in lines[0] and lines[1].split()[-3:] == ["n/a"] * 3 and lines[3] == "not measured: energy"
    assert CellTable([without]).to_table()["joules"] == [None] and len(repr(CellTable([])).splitlines()) == 1


def test_a_plot_without_a_gpu():
    """Recordings have 0.0 there, as the original's; nothing was measured."""
    ram = [0.1, 0.2]
    without, idle = (RunPlot(((1.0, 2.0), ram, gpu), [])._repr_svg_() for gpu in ([None, None], [0.0, 0.0]))
    assert without.count("<polyline") == 1 and "GPU memory n/a" in without
    assert idle.count("<polyline") == 2 and "n/a" not in idle


@pytest.mark.sanitize_long
def test_the_plot_of_this_process(notebook, fake, one_gpu):
    """One line on a machine without a GPU, two with one."""
    plot = "import time; time.sleep(1.2); print(logger.plot()._repr_svg_().count('<polyline'))"
    no_driver = FAKE_GPU.partition("with open")[0].format(library="/nonexistent")
    _, lines = notebook(no_driver + START, plot)
    assert lines["stdout"].strip() == "1"
    one_gpu(0)
    _, lines = notebook(FAKE_GPU.format(library=fake("nvml")) + START, plot)
    assert lines["stdout"].strip() == "2"


def test_an_empty_run_has_a_plot():
    assert RunPlot((), [])._repr_svg_().startswith("<svg") and "0 cells" in repr(RunPlot((), []))
    assert repr(CellTable([])).split()[0] == "cell"


def test_the_high_water_mark_is_set_back():
    block = bytearray(b"1") * (64 * 10**6)
    del block
    rss, peak = _core.own_memory()
    assert peak >= rss + 32 * 10**6
    window = _core.own_peak_begin()
    rss, peak = _core.own_memory()
    assert abs(peak - rss) < 10**6
    assert abs(_core.own_peak_end(window) - rss) < 10**6
    assert math.isnan(_core.own_peak_end(window))


