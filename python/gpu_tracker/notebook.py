"""Logger of memory, GPU memory, time and energy of each cell of a notebook.

    from gpu_tracker.notebook import IPyGPULogger
    IPyGPULogger().start()

or ``%load_ext gpu_tracker``, then ``%gpu_tracker start``, ``%gpu_tracker report``, ``%gpu_tracker stop``, and
``%%track`` for a single cell.

Values include processes that the cell starts. Shared memory counts once. The memory peak comes from the kernel's high-water mark
of this process, and from a sampler for its descendants. The logger resets the high-water mark (VmHWM) before each cell. A
sampler in another process reads GPU memory every 5 ms. If the notebook has imported PyTorch, the logger also reads PyTorch's
counters and empties its cache.
"""
import gc
import json
import math
import os
import shutil
import sys
import tempfile
import time
import weakref
from typing import Any, NamedTuple

from . import _core
from ._notebook_view import CellReport, CellTable, RunPlot
from ._sampling import Sampling
from .tracker import check

__all__ = ["Data", "IPyGPULogger", "load_ipython_extension", "unload_ipython_extension"]

_GPU_PERIOD, _HISTORY_PERIOD, _CELL_PERIOD = 0.005, 0.5, 0.1
_NO_GPUS = [f"{library}=/dev/null" for library in ("nvml", "amdsmi")]  # for a sampler without GPU values
_MEGABYTE = 10**6


class Memory(NamedTuple):
    """Values of one kind of memory in MB (10**6 bytes). Missing values are None."""

    used_delta: int | None
    peaked_delta: int | None
    used_total: int | None


class Data(NamedTuple):
    """Resource use of a cell by this process and its descendants. Memory is in MB (10**6 bytes). Missing values are None.

    Attributes:
        gen_mem_used_delta: RAM in use after the cell minus RAM in use before it.
        gen_mem_peaked: Peak RAM minus RAM in use after the cell.
        gen_mem_used: RAM in use after the cell.
        gpu_mem_used_delta: GPU memory in use after the cell minus GPU memory in use before it.
        gpu_mem_peaked: Peak GPU memory minus GPU memory in use after the cell.
        gpu_mem_used: GPU memory in use after the cell.
        time_delta: Duration of the cell in seconds.
    """

    gen_mem_used_delta: int | None
    gen_mem_peaked: int | None
    gen_mem_used: int | None
    gpu_mem_used_delta: int | None
    gpu_mem_peaked: int | None
    gpu_mem_used: int | None
    time_delta: float

    @property
    def gen(self) -> Memory:
        """Return the three values of RAM."""
        return Memory(*self[:3])

    @property
    def gpu(self) -> Memory:
        """Return the three values of GPU memory."""
        return Memory(*self[3:6])


class Energy(NamedTuple):
    """Energy in joules and its shares. `total` is the sum of the next four values.

    Attributes:
        total: Energy of all measured devices of the machine: processors, memory and GPUs.
        job: Share of this process and its descendants.
        other: Share of other processes.
        idle: Idle energy that is not assigned to processes.
        unattributed: Energy of times without values of device use.
        error: Error of `total` (+-), NaN if unknown. See docs/energy.md.
        job_error: Error of `job` (+-), NaN if unknown.
        estimated: True if a part comes from a model instead of a counter.
    """

    total: float
    job: float
    other: float
    idle: float
    unattributed: float
    error: float = math.nan
    job_error: float = math.nan
    estimated: bool = False


class Cell(NamedTuple):
    """One executed cell.

    Attributes:
        number: Number of the input, as in "In [4]". None if the cell is not in the history.
        start: Start in seconds since the epoch.
        data: Resource use, a `Data`.
        energy: Joules of all measured devices of the machine during the cell. None without a source.
        shares: Shares of the energy, an `Energy`.
    """

    number: int | None
    start: float
    data: Data
    energy: float | None
    shares: Energy | None = None


class _Window(NamedTuple):
    """Values of a sampler: GPU memory, its peak since the last window, memory of the descendants, energy."""

    gpu: float
    gpu_peak: float
    below: float
    energy: Energy


class _Moment(NamedTuple):
    """Values at the start or end of a cell in bytes, seconds and joules. Missing values are NaN."""

    ram: float
    ram_peak: float
    gpu: float
    gpu_peak: float
    energy: Energy  # since the previous moment
    clock: float
    start: float


def _torch() -> Any:
    """Return PyTorch if the notebook has imported it and uses a GPU."""
    torch = sys.modules.get("torch")
    try:
        return torch if torch is not None and torch.cuda.is_initialized() else None
    except AttributeError:
        return None  # partly imported, or another module of this name


def _torch_memory(torch: Any) -> tuple[float, float]:
    """Return (bytes reserved by PyTorch on all GPUs, their peak), including its cache."""
    devices = range(torch.cuda.device_count())
    return (sum(torch.cuda.memory_reserved(device) for device in devices),
            sum(torch.cuda.max_memory_reserved(device) for device in devices))


def _remove_folder(folder: str, owner: int) -> None:
    if os.getpid() == owner:  # a forked child must keep the folder
        shutil.rmtree(folder, ignore_errors=True)


class _Meter:
    """Reader of values at the start and end of a cell."""

    def __init__(self, gc_collect: bool, options: dict[str, Any]) -> None:
        self._gc_collect = gc_collect
        self._options = options
        self._window_number = 0
        folder = tempfile.mkdtemp(prefix="gpu-tracker-")
        self._remove = weakref.finalize(self, _remove_folder, folder, os.getpid())
        self.recording = os.path.join(folder, "notebook.sqlite")
        self._history: Sampling | None = self._sampling(_HISTORY_PERIOD, tracking_file=self.recording)
        self._fast: Sampling | None = self._history  # or a sampler with a short period if GPU memory is measured
        self._cell: Sampling | None = None  # starts again at each cell
        self._is_watching = False
        if not math.isnan(self._window(self._history).gpu):
            self._fast = self._sampling(_GPU_PERIOD, memory="rss")

    def _sampling(self, period: float, again: bool = False, **options: Any) -> Sampling:
        return Sampling(os.getpid(), {"sleep_time": period, **self._options, **options}, lambda sentence: None, again=again)

    def _window(self, sampling: Sampling | None) -> _Window:
        """Return the values of a sampler, NaN if it has ended."""
        try:
            if sampling is not None and sampling.owner == os.getpid():
                gpu, peak, below, energy = sampling.window()
                return _Window(gpu, peak, below, Energy(*energy))
        except (EOFError, TimeoutError):
            pass
        return _Window(math.nan, math.nan, math.nan, Energy(math.nan, math.nan, math.nan, math.nan, math.nan))

    def _watch_cell(self) -> None:
        """Track the peak memory of the descendants until `_cell_peak`."""
        if self._is_watching:
            self._cell_peak()  # of a cell without an end event
        try:
            if self._cell is not None and self._cell.owner == os.getpid():
                self._cell.begin()
            else:
                self._cell = self._sampling(_CELL_PERIOD, ram_unit="bytes", library=_NO_GPUS, again=True)
            self._is_watching = True
        except (EOFError, OSError, RuntimeError):
            self._drop_cell()

    def _drop_cell(self) -> None:
        if self._cell is not None:
            self._cell.close()
        self._cell = None

    def _cell_peak(self) -> float:
        cell, was_watching, self._is_watching = self._cell, self._is_watching, False
        if cell is None or not was_watching or cell.owner != os.getpid():
            return math.nan
        try:
            peak = json.loads(cell.finish(1, 5.0)[0])["max_ram"]["combined"]["total_rss"]
            return math.nan if peak is None else float(peak)
        except EOFError:
            self._drop_cell()
            return math.nan

    def _clean(self) -> None:
        if self._gc_collect:
            gc.collect()
            if (torch := _torch()) is not None:
                torch.cuda.empty_cache()

    def _read(self) -> _Window:
        """Read a window. PyTorch's counters raise GPU values, and replace missing values of the driver."""
        gpu, peak, below, energy = self._window(self._fast)
        if self._fast is not self._history:
            below = self._window(self._history).below
        if (torch := _torch()) is not None:
            reserved, most_reserved = _torch_memory(torch)
            gpu = reserved if math.isnan(gpu) else gpu
            peak = max(gpu + most_reserved - reserved, gpu if math.isnan(peak) else peak)
        return _Window(gpu, peak, 0.0 if math.isnan(below) else max(0.0, below), energy)

    def begin(self) -> _Moment:
        """Reset the peaks and read the start of a cell."""
        self._clean()
        if (torch := _torch()) is not None:
            for device in range(torch.cuda.device_count()):
                torch.cuda.reset_peak_memory_stats(device)
        gpu, _, below, energy = self._read()
        self._window_number = _core.own_peak_begin()
        self._watch_cell()
        ram = _core.own_memory()[0] + below
        return _Moment(ram, ram, gpu, gpu, energy, time.perf_counter(), time.time())

    def end(self) -> _Moment:
        """Read the end of a cell: the clocks first, and the peaks before the cleanup, which is not part of the cell."""
        clock, now = time.perf_counter(), time.time()
        own_peak = _core.own_peak_end(self._window_number)
        if self._cell is not None and own_peak > 0:
            self._cell.own_peak(own_peak)
        gpu, gpu_peak, below, energy = self._read()
        ram_peak = _largest(own_peak, self._cell_peak())
        self._clean()
        if self._gc_collect and _torch() is not None:
            gpu = self._read().gpu
        return _Moment(_core.own_memory()[0] + below, ram_peak, gpu, gpu_peak, energy, clock, now)

    def close(self) -> None:
        """Stop the samplers."""
        for sampling in (self._fast, self._history, self._cell):
            if sampling is not None:
                sampling.close()
        self._fast = self._history = self._cell = None
        self._remove()


def _largest(*values: float) -> float:
    return max((value for value in values if not math.isnan(value)), default=math.nan)


def _megabytes(value: float) -> int | None:
    return None if math.isnan(value) else round(value / _MEGABYTE)


def _data(before: _Moment, after: _Moment) -> Data:
    def memory(used_before: float, used_after: float, peak: float) -> Memory:
        peaked = math.nan if math.isnan(peak - used_after) else max(0.0, peak - used_after, used_before - used_after)
        return Memory(_megabytes(used_after - used_before), _megabytes(peaked), _megabytes(used_after))

    ram, gpu = memory(before.ram, after.ram, after.ram_peak), memory(before.gpu, after.gpu, after.gpu_peak)
    return Data(ram.used_delta, ram.peaked_delta, ram.used_total, gpu.used_delta, gpu.peaked_delta, gpu.used_total,
                after.clock - before.clock)


class IPyGPULogger:
    """Print the resource use of each cell.

    Args:
        compact: Print one line for each cell.
        gc_collect: Before each reading, collect garbage and empty PyTorch's cache, so that only memory in use counts. Use False to
            look for leaks.
        backend: 'torch' imports PyTorch and uses the GPU once at the start, so that the first cell does not include this
            cost. None imports nothing.
        power_model: See `Tracker`.
        cpu_tdp: See `Tracker`.

    Attributes:
        data: Resource use of the last cell, a `Data`; None before the first cell.
        cells: All cells, a list of `Cell`.
    """

    def __init__(self, compact: bool = False, gc_collect: bool = True, *, backend: str | None = None,
                 power_model: str | os.PathLike[str] | None = None, cpu_tdp: float | None = None) -> None:
        if backend not in (None, "torch"):
            raise ValueError(f"{backend!r} is not a backend: choose 'torch' or None")
        self._options = {"power_model": power_model, "cpu_tdp": cpu_tdp}
        check(self._options)
        self.compact = compact
        self.gc_collect = gc_collect
        self.backend = backend
        self.data: Data | None = None
        self.cells: list[Cell] = []
        self._meter: _Meter | None = None
        self._before: _Moment | None = None
        self._shell: Any = None
        self._history: tuple[Any, ...] = ()

    @property
    def running(self) -> bool:
        """True while cells are logged."""
        return self._meter is not None

    def __repr__(self) -> str:
        return f"<IPyGPULogger: {'logs cells' if self.running else 'logs nothing'}, {len(self.cells)} so far>"

    def start(self) -> "IPyGPULogger":
        """Log from the next cell on. A second call has no effect. `%gpu_tracker` uses the last started logger."""
        global _logger
        _logger = self
        if self._meter is not None:
            return self
        from IPython import get_ipython

        shell = get_ipython()
        if shell is None:
            raise RuntimeError("IPython is not running: start the logger in a notebook or in ipython")
        self._preload()
        self._meter = _Meter(self.gc_collect, self._options)
        self._shell = shell
        shell.events.register("pre_run_cell", self._begin)
        shell.events.register("post_run_cell", self._end)
        return self

    def stop(self) -> None:
        """Stop logging. The values remain; `start` continues. A second call has no effect."""
        if self._meter is None:
            return
        self._shell.events.unregister("pre_run_cell", self._begin)
        self._shell.events.unregister("post_run_cell", self._end)
        self._history = self._read_history()
        self._meter.close()
        self._meter = self._before = None

    def _preload(self) -> None:
        if self.backend == "torch":
            import torch

            if torch.cuda.is_available():
                torch.ones((1, 1)).cuda()

    # ---- IPython's events ----

    def _begin(self, info: object = None) -> None:
        if self._meter is not None:
            self._before = self._meter.begin()

    def _end(self, result: Any = None) -> None:
        before, self._before = self._before, None
        if self._meter is None or before is None:
            return  # the cell that started the logger
        number = result.execution_count if result is not None and result.info.store_history else None
        cell = self._add(before, self._meter.end(), number)
        self._show(cell)

    def _add(self, before: _Moment, after: _Moment, number: int | None) -> Cell:
        energy = after.energy
        self.data = _data(before, after)
        measured = not math.isnan(energy.total)
        cell = Cell(number, before.start, self.data, energy.total if measured else None, energy if measured else None)
        self.cells.append(cell)
        return cell

    def _show(self, cell: Cell) -> None:
        from IPython.display import display

        display(CellReport(cell, self.compact))

    # ---- all cells ----

    def table(self) -> CellTable:
        """Return all cells for display. `table().to_table()` is a `gpu_tracker.Table`."""
        return CellTable(list(self.cells))

    def plot(self) -> RunPlot:
        """Return a plot of RAM and GPU memory of this process and its descendants, with the cells as bands."""
        return RunPlot(self._read_history() or self._history, list(self.cells))

    def _read_history(self) -> tuple[Any, ...]:
        if self._meter is None or not os.path.exists(self._meter.recording):
            return ()
        table = _core.timepoints(self._meter.recording, None)
        gpu = table["combined_gpu_ram"]
        if _core.static_data(self._meter.recording)["system_gpu_count"] == [0]:  # recordings contain 0.0 without a GPU
            gpu = [None] * len(gpu)
        return table["timestamp"], table["combined_ram"], gpu


# ---- %load_ext gpu_tracker ----

_USAGE = """%gpu_tracker start [compact]  log each cell, with compact on one line
%gpu_tracker report           show a table of all cells
%gpu_tracker plot             draw memory over time
%gpu_tracker stop             stop logging; the values remain
%%track [compact]             report this cell only"""
_logger = IPyGPULogger()  # the last started logger, for %gpu_tracker
_has_number = True  # whether the running cell is in the history and has a number


def _note_history(info: Any) -> None:
    global _has_number
    _has_number = info.store_history


def _line_magic(line: str) -> Any:
    """Log cells: %gpu_tracker start [compact] | report | plot | stop. Without a word it prints its commands."""
    words = line.split()
    if not words or words[0] in ("help", "-h", "--help"):
        print(_USAGE)
        return None
    if words[:1] == ["start"] and words[1:] in ([], ["compact"]):
        _logger.compact = words[1:] == ["compact"]
        _logger.start()
        return None
    if words in (["stop"], ["report"]) and not (_logger.running or (_logger.cells and words == ["report"])):
        print("cells are not logged: use %gpu_tracker start")
        return None
    if words == ["stop"]:
        return _logger.stop()
    if words == ["report"]:
        return _logger.table()
    if words == ["plot"]:
        return _logger.plot()
    raise _usage_error("%gpu_tracker accepts start, start compact, stop, report, plot or help")


def _usage_error(sentence: str) -> Exception:
    """Return an error that IPython prints without a traceback."""
    from IPython.core.error import UsageError

    error: Exception = UsageError(sentence)
    return error


def _cell_magic(line: str, cell: str) -> Any:
    """Execute the cell and print its resource use, with "compact" on one line. It has no effect while cells are logged."""
    from IPython import get_ipython

    logger = IPyGPULogger(compact=line.strip() == "compact")
    if line.strip() not in ("", "compact"):
        raise _usage_error("%%track accepts no argument or compact")
    shell = get_ipython()
    number = len(shell.history_manager.input_hist_parsed) - 1  # shell.execution_count can already be that of the next cell
    if _logger._before is not None:
        return _execute(shell, cell, number)
    meter = _Meter(logger.gc_collect, _logger._options)
    before = meter.begin()
    try:
        return _execute(shell, cell, number)
    finally:
        logger._show(logger._add(before, meter.end(), number if _has_number else None))
        meter.close()


def _execute(shell: Any, cell: str, number: int) -> Any:
    """Execute the cell and return the value of its last expression."""
    import ast

    source = shell.transform_cell(cell)
    name = shell.compile.cache(source, number)  # the name under which tracebacks find the lines
    tree = shell.compile.ast_parse(source, filename=name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(shell.compile(tree, name, "exec"), shell.user_ns)
    return None if last is None else eval(shell.compile(ast.Expression(last.value), name, "eval"), shell.user_ns)


def load_ipython_extension(shell: Any) -> None:
    """Register the magics %gpu_tracker and %%track."""
    shell.register_magic_function(_line_magic, "line", "gpu_tracker")
    shell.register_magic_function(_cell_magic, "cell", "track")
    shell.events.register("pre_run_cell", _note_history)


def unload_ipython_extension(shell: Any) -> None:
    """Stop logging and remove the magics."""
    _logger.stop()
    shell.events.unregister("pre_run_cell", _note_history)
    for kind, name in (("line", "gpu_tracker"), ("cell", "track")):
        shell.magics_manager.magics[kind].pop(name, None)
