"""What each cell of a notebook used: memory, GPU memory, time, energy.

    from gpu_tracker.notebook import IPyGPULogger
    IPyGPULogger().start()

or ``%load_ext gpu_tracker``, then ``%gpu_tracker start``, ``%gpu_tracker report``, ``%gpu_tracker stop``, and
``%%track`` for a single cell.

Processes that a cell starts count with it, memory that they share once. Peaks of memory are the kernel's high-water mark
of this process, which is set back before each cell (that changes the VmHWM that others read of this process, and
nothing else), and what a `Tracker` finds of the processes below it. GPU memory is read every 5 ms by a sampler in another
process. PyTorch is used for its own counters and its cache only when the notebook has imported it.
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

__all__ = ["Data", "IPyGPULogger", "load_ipython_extension", "unload_ipython_extension"]

_GPU_PERIOD, _HISTORY_PERIOD, _CELL_PERIOD = 0.005, 0.5, 0.1
_NO_GPUS = [f"{library}=/dev/null" for library in ("nvml", "amdsmi", "rocm_smi")]  # of a sampler that need not ask them
_MEGABYTE = 10**6


class Memory(NamedTuple):
    """Of one kind of memory, in MB (10**6 bytes); None: not measured."""

    used_delta: int | None
    peaked_delta: int | None
    used_total: int | None


class Data(NamedTuple):
    """What a cell used, this process and all below it together. Memory is in MB (10**6 bytes), None where it is not
    measured; time in seconds.

    Attributes:
        gen_mem_used_delta: RAM in use after the cell less that before it.
        gen_mem_peaked: RAM that the cell needed for a while on top of what is in use after it.
        gen_mem_used: RAM in use after the cell.
        gpu_mem_used_delta: The same of GPU memory.
        gpu_mem_peaked: The same of GPU memory.
        gpu_mem_used: The same of GPU memory.
        time_delta: How long the cell ran.
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
        """The three figures of RAM."""
        return Memory(*self[:3])

    @property
    def gpu(self) -> Memory:
        """The three figures of GPU memory."""
        return Memory(*self[3:6])


class Energy(NamedTuple):
    """Joules, and whose they were: `total` is the sum of the next four.

    Attributes:
        total: Of the whole machine: its processors, memory and GPUs, those that tell.
        job: The share of this process and its children.
        other: That of other processes.
        idle: What nobody is charged with, because nothing ran.
        unattributed: What was drawn while it was not known who used the device.
        error: How far `total` may be off (+-), NaN where nobody knows. See docs/energy.md.
        job_error: How far `job` may be off.
        estimated: Does any of it rest on a model instead of a counter?
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
    """One cell that ran.

    Attributes:
        number: Of the input, as in "In [4]"; None outside.
        start: When it began, in seconds since the epoch.
        data: What it used.
        energy: Joules of the whole machine meanwhile: its processors, memory and GPUs, those that tell; None where none
            does.
        shares: Whose joules these were, an `Energy`.
    """

    number: int | None
    start: float
    data: Data
    energy: float | None
    shares: Energy | None = None


class _Window(NamedTuple):
    """What a sampler tells: GPU memory now, its peak since the last time, what processes below this one need, joules."""

    gpu: float
    gpu_peak: float
    below: float
    energy: Energy


class _Moment(NamedTuple):
    """Figures at one end of a cell, in bytes, seconds and joules; NaN: not measured."""

    ram: float
    ram_peak: float
    gpu: float
    gpu_peak: float
    energy: Energy  # drawn since the moment before
    clock: float
    start: float


def _torch() -> Any:
    """PyTorch, when the notebook has imported it and it uses a GPU."""
    torch = sys.modules.get("torch")
    try:
        return torch if torch is not None and torch.cuda.is_initialized() else None
    except AttributeError:
        return None  # half imported, or something else of that name


def _torch_memory(torch: Any) -> tuple[float, float]:
    """(bytes that PyTorch has from its GPUs now, its own peak of that), cache included."""
    devices = range(torch.cuda.device_count())
    return (sum(torch.cuda.memory_reserved(device) for device in devices),
            sum(torch.cuda.max_memory_reserved(device) for device in devices))


def _remove_folder(folder: str, owner: int) -> None:
    if os.getpid() == owner:  # not in a child that was forked
        shutil.rmtree(folder, ignore_errors=True)


class _Meter:
    """Reads both ends of a cell."""

    def __init__(self, gc_collect: bool) -> None:
        self._gc_collect = gc_collect
        self._window_number = 0
        folder = tempfile.mkdtemp(prefix="gpu-tracker-")
        self._remove = weakref.finalize(self, _remove_folder, folder, os.getpid())
        self.recording = os.path.join(folder, "notebook.sqlite")
        self._history: Sampling | None = self._sampling(_HISTORY_PERIOD, tracking_file=self.recording)
        self._fast: Sampling | None = self._history  # or one with a short period where there is GPU memory to watch
        self._cell: Sampling | None = None  # begins anew with each cell
        self._is_watching = False
        if not math.isnan(self._window(self._history).gpu):
            self._fast = self._sampling(_GPU_PERIOD, memory="rss")

    @staticmethod
    def _sampling(period: float, again: bool = False, **options: Any) -> Sampling:
        return Sampling(os.getpid(), {"sleep_time": period, **options}, lambda sentence: None, again=again)

    def _window(self, sampling: Sampling | None) -> _Window:
        """NaN when the sampler is gone: the notebook goes on."""
        try:
            if sampling is not None and sampling.owner == os.getpid():
                gpu, peak, below, energy = sampling.window()
                return _Window(gpu, peak, below, Energy(*energy))
        except (EOFError, TimeoutError):
            pass
        return _Window(math.nan, math.nan, math.nan, Energy(math.nan, math.nan, math.nan, math.nan, math.nan))

    def _watch_cell(self) -> None:
        """Find out what processes below this one need at most until `_cell_peak`."""
        if self._is_watching:
            self._cell_peak()  # of a cell whose end nobody told
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
        """What PyTorch knows counts as well, and alone where the driver does not tell."""
        gpu, peak, below, energy = self._window(self._fast)
        if self._fast is not self._history:
            below = self._window(self._history).below
        if (torch := _torch()) is not None:
            reserved, most_reserved = _torch_memory(torch)
            gpu = reserved if math.isnan(gpu) else gpu
            peak = max(gpu + most_reserved - reserved, gpu if math.isnan(peak) else peak)
        return _Window(gpu, peak, 0.0 if math.isnan(below) else max(0.0, below), energy)

    def begin(self) -> _Moment:
        """Set the peaks back."""
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
        """Clocks first and peaks before the cleaning, which is not the cell's."""
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
        """End the samplers."""
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
    """Print after each cell what it used.

    Args:
        compact: Print one line.
        gc_collect: Collect garbage, and empty PyTorch's cache when the notebook uses PyTorch on a GPU, before each
            reading, so that only what is in use counts. Leave it out when you look for leaks.
        backend: 'torch' imports PyTorch and uses the GPU once when logging starts, so that what that costs is not in
            the first cell's figures. None imports nothing.

    Attributes:
        data: What the last cell used, a `Data`; None before the first.
        cells: All cells, a list of `Cell`.
    """

    def __init__(self, compact: bool = False, gc_collect: bool = True, *, backend: str | None = None) -> None:
        if backend not in (None, "torch"):
            raise ValueError(f"{backend!r} is not a backend: choose 'torch' or None")
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
        """Are cells being logged?"""
        return self._meter is not None

    def __repr__(self) -> str:
        return f"<IPyGPULogger: {'logs cells' if self.running else 'logs nothing'}, {len(self.cells)} so far>"

    def start(self) -> "IPyGPULogger":
        """Log from the next cell on. Starting twice is starting once. `%gpu_tracker` is about the logger that was started last."""
        global _logger
        _logger = self
        if self._meter is not None:
            return self
        from IPython import get_ipython

        shell = get_ipython()
        if shell is None:
            raise RuntimeError("there is no IPython here: start the logger in a notebook or in ipython")
        self._preload()
        self._meter = _Meter(self.gc_collect)
        self._shell = shell
        shell.events.register("pre_run_cell", self._begin)
        shell.events.register("post_run_cell", self._end)
        return self

    def stop(self) -> None:
        """Log no more. The figures stay; `start` begins again. Stopping twice is stopping once."""
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
        """All cells, for display; `table().to_table()` is a `gpu_tracker.Table`."""
        return CellTable(list(self.cells))

    def plot(self) -> RunPlot:
        """RAM and GPU memory of this process and all below it over the run, with the cells as bands, for display."""
        return RunPlot(self._read_history() or self._history, list(self.cells))

    def _read_history(self) -> tuple[Any, ...]:
        if self._meter is None or not os.path.exists(self._meter.recording):
            return ()
        table = _core.timepoints(self._meter.recording, None)
        gpu = table["combined_gpu_ram"]
        if _core.static_data(self._meter.recording)["system_gpu_count"] == [0]:  # recordings have 0.0 there
            gpu = [None] * len(gpu)
        return table["timestamp"], table["combined_ram"], gpu


# ---- %load_ext gpu_tracker ----

_logger = IPyGPULogger()  # that of %gpu_tracker: the last one that was started
_has_number = True  # the cell that runs; those that are not kept in the history have none


def _note_history(info: Any) -> None:
    global _has_number
    _has_number = info.store_history


def _line_magic(line: str) -> Any:
    """%gpu_tracker start [compact] | stop | report | plot, of the logger that was started last."""
    words = line.split()
    if words[:1] == ["start"] and words[1:] in ([], ["compact"]):
        _logger.compact = words[1:] == ["compact"]
        _logger.start()
        return None
    if words in (["stop"], ["report"]) and not (_logger.running or (_logger.cells and words == ["report"])):
        print("no cells are logged: begin with %gpu_tracker start")
        return None
    if words == ["stop"]:
        return _logger.stop()
    if words == ["report"]:
        return _logger.table()
    if words == ["plot"]:
        return _logger.plot()
    raise ValueError("%gpu_tracker takes start, start compact, stop, report or plot")


def _cell_magic(line: str, cell: str) -> Any:
    """%%track: run the cell and print what it used, unless that is done after each cell anyway."""
    from IPython import get_ipython

    logger = IPyGPULogger(compact=line.strip() == "compact")
    if line.strip() not in ("", "compact"):
        raise ValueError("%%track takes nothing, or compact")
    shell = get_ipython()
    number = len(shell.history_manager.input_hist_parsed) - 1  # shell.execution_count may be the next cell's already
    if _logger._before is not None:
        return _execute(shell, cell, number)
    meter = _Meter(logger.gc_collect)
    before = meter.begin()
    try:
        return _execute(shell, cell, number)
    finally:
        logger._show(logger._add(before, meter.end(), number if _has_number else None))
        meter.close()


def _execute(shell: Any, cell: str, number: int) -> Any:
    """The value of the last expression, as a cell without the magic has it."""
    import ast

    source = shell.transform_cell(cell)
    name = shell.compile.cache(source, number)  # where tracebacks find the lines
    tree = shell.compile.ast_parse(source, filename=name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(shell.compile(tree, name, "exec"), shell.user_ns)
    return None if last is None else eval(shell.compile(ast.Expression(last.value), name, "eval"), shell.user_ns)


def load_ipython_extension(shell: Any) -> None:
    """Register %gpu_tracker and %%track."""
    shell.register_magic_function(_line_magic, "line", "gpu_tracker")
    shell.register_magic_function(_cell_magic, "cell", "track")
    shell.events.register("pre_run_cell", _note_history)


def unload_ipython_extension(shell: Any) -> None:
    """Stop logging and remove the magics."""
    _logger.stop()
    shell.events.unregister("pre_run_cell", _note_history)
    for kind, name in (("line", "gpu_tracker"), ("cell", "track")):
        shell.magics_manager.magics[kind].pop(name, None)
