"""`Tracker`, and the classes of its results."""
from __future__ import annotations

import contextlib
import dataclasses
import enum
import os
import threading
import time

from . import _arguments, _core, _names, _tree

TYPE_CHECKING = False  # importing typing would take longer than all of this
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from types import TracebackType
    from typing import Any, Literal, ParamSpec, Protocol, TypeVar

    from pandas import DataFrame

    from ._core import Table
    from .live import Current
    from ._views import Picture

    _MemoryUnit = Literal["bytes", "kilobytes", "megabytes", "gigabytes", "terabytes", "kibibytes", "mebibytes", "gibibytes", "tebibytes",
                         "B", "kB", "KB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB"]
    _TimeUnit = Literal["milliseconds", "seconds", "minutes", "hours", "days", "ms", "s", "min", "h", "d"]
    _AtLimit = Literal["warn", "raise", "kill"]
    _Parameters = ParamSpec("_Parameters")
    _Result = TypeVar("_Result", covariant=True)

    class _Tracked(Protocol[_Parameters, _Result]):
        """A function whose calls are tracked, or a method, which its object gives."""

        tracker: Tracker

        def __call__(self, *args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result: ...
        def __get__(self, instance: object, owner: Any = None) -> _Tracked[..., _Result]: ...


__all__ = ["ComputeTime", "CPUUtilization", "GPUUtilization", "MaxGPURAM", "MaxRAM", "ProcessingUnitPercentages",
           "ResourceUsage", "RSSValues", "Tracker"]


@dataclasses.dataclass
class RSSValues:
    """Resident memory of one or more processes; pages that several of them map count once.

    Attributes:
        total_rss: The whole of it.
        private_rss: What one process alone has.
        shared_rss: What at least two processes have in common.
    """

    total_rss: float = 0.0
    private_rss: float = 0.0
    shared_rss: float = 0.0


@dataclasses.dataclass
class MaxRAM:
    """The most memory that was in use.

    Attributes:
        unit: Unit of all figures here.
        system_capacity: What the machine, or the control group that limits it, has.
        system: In use on the whole machine.
        main: Of the tracked process alone.
        descendants: Of its children, their children and so on, together.
        combined: Of all of them together.
    """

    unit: str
    system_capacity: float
    system: float = 0.0
    main: RSSValues = dataclasses.field(default_factory=RSSValues)
    descendants: RSSValues = dataclasses.field(default_factory=RSSValues)
    combined: RSSValues = dataclasses.field(default_factory=RSSValues)


@dataclasses.dataclass
class MaxGPURAM:
    """The most GPU memory that was in use. NaN: not measured; 0.0 on a machine without a GPU, as the original has it.

    Attributes:
        unit: Unit of all figures here.
        system_capacity: What all GPUs of the machine have.
        system: In use on all GPUs of the machine.
        main: Of the tracked process alone.
        descendants: Of its children, their children and so on, together.
        combined: Of all of them together.
    """

    unit: str
    system_capacity: float
    system: float = 0.0
    main: float = 0.0
    descendants: float = 0.0
    combined: float = 0.0


@dataclasses.dataclass
class ProcessingUnitPercentages:
    """How busy cores or GPUs were; 100 is one of them, wholly busy.

    Attributes:
        max_sum_percent: Highest sum over the units in an interval between two samples.
        max_hardware_percent: The same, divided by the number of units; at most 100.
        mean_sum_percent: Mean of the sum over the whole time.
        mean_hardware_percent: The same, divided by the number of units; at most 100.
    """

    max_sum_percent: float = 0.0
    max_hardware_percent: float = 0.0
    mean_sum_percent: float = 0.0
    mean_hardware_percent: float = 0.0


@dataclasses.dataclass
class CPUUtilization:
    """How busy the CPU was.

    Attributes:
        system_core_count: Cores of the machine.
        n_expected_cores: What hardware percentages of the processes are divided by.
        system: Of the whole machine.
        main: Of the tracked process alone.
        descendants: Of its children, their children and so on, together.
        combined: Of all of them together.
        main_n_threads: Most threads of the tracked process.
        descendants_n_threads: Most threads of its descendants.
        combined_n_threads: Most threads of all of them.
    """

    system_core_count: int
    n_expected_cores: int
    system: ProcessingUnitPercentages = dataclasses.field(default_factory=ProcessingUnitPercentages)
    main: ProcessingUnitPercentages = dataclasses.field(default_factory=ProcessingUnitPercentages)
    descendants: ProcessingUnitPercentages = dataclasses.field(default_factory=ProcessingUnitPercentages)
    combined: ProcessingUnitPercentages = dataclasses.field(default_factory=ProcessingUnitPercentages)
    main_n_threads: int = 0
    descendants_n_threads: int = 0
    combined_n_threads: int = 0


@dataclasses.dataclass
class GPUUtilization:
    """How busy the GPUs were.

    Attributes:
        system_gpu_count: GPUs of the machine.
        n_expected_gpus: What hardware percentages are divided by: the GPUs that count.
        gpu_percentages: Of these GPUs. NaN: not measured; 0.0 on a machine without a GPU.
    """

    system_gpu_count: int
    n_expected_gpus: int
    gpu_percentages: ProcessingUnitPercentages = dataclasses.field(default_factory=ProcessingUnitPercentages)


@dataclasses.dataclass
class ComputeTime:
    """How long it took, by the clock on the wall.

    Attributes:
        unit: Unit of the time.
        time: From the start of tracking to its end.
    """

    unit: str
    time: float = 0.0


@dataclasses.dataclass
class ResourceUsage:
    """The results of a `Tracker`.

    Attributes:
        max_ram: Memory.
        max_gpu_ram: GPU memory.
        cpu_utilization: How busy the CPU was, and threads.
        gpu_utilization: How busy the GPUs were.
        compute_time: How long it took.
    """

    max_ram: MaxRAM
    max_gpu_ram: MaxGPURAM
    cpu_utilization: CPUUtilization
    gpu_utilization: GPUUtilization
    compute_time: ComputeTime


class Tracker:
    """Measure what this process, or another one, and all processes below it use from `start` to `stop`.

    A sampler in a process of its own does the measuring. Use it as a context manager (also with ``async with``), as a
    decorator, which tracks each call with a tracker of its own (the latest is the function's attribute ``tracker``) and
    records all calls in one tracking file, or with `start` and `stop`. Results are there once it has stopped. A tracker tracks once.

    After ``os.fork`` the child's copy does nothing: the tracking is its parent's.

    Attributes:
        resource_usage: The results, a `ResourceUsage`; None before `stop`.
        state: A `Tracker.State`.
        n_join_attempts: As given.
        join_timeout: As given.
    """

    class State(enum.Enum):
        """What a tracker is doing."""

        NEW = 0
        STARTED = 1
        STOPPED = 2

    _has_warned = False  # of GPUs that are not there

    def __init__(self, sleep_time: float = 1.0, ram_unit: _MemoryUnit = "gigabytes", gpu_ram_unit: _MemoryUnit = "gigabytes",
                 time_unit: _TimeUnit = "hours", n_expected_cores: int | None = None, gpu_uuids: Iterable[str] | None = None,
                 disable_logs: bool = False, process_id: int | None = None,
                 resource_usage_file: str | os.PathLike[str] | None = None, n_join_attempts: int = 5, join_timeout: float = 10.0,
                 gpu_brand: str | None = None, tracking_file: str | os.PathLike[str] | None = None, overwrite: bool = False, *,
                 detail: bool = False, memory: str | None = None, libraries: Iterable[str] = (), keep_high_water_mark: bool = False,
                 max_ram: float | str | None = None, max_gpu_ram: float | str | None = None, at_limit: _AtLimit = "warn",
                 on_sample: Callable[[Current], object] | None = None,
                 idle: str | None = None, carbon_intensity: float | str | None = None,
                 carbon_file: str | os.PathLike[str] | None = None, price: float | str | None = None,
                 power_meter: str | os.PathLike[str] | None = None, power_model: str | os.PathLike[str] | None = None,
                 cpu_tdp: float | None = None) -> None:
        """A tracker that has not started.

        Args (basics):
            sleep_time: Seconds between two samples, from 0.001.
            ram_unit: 'bytes', 'kilobytes', 'megabytes', 'gigabytes' or 'terabytes', powers of 1000, or a symbol: 'GB', 'MiB', ...
            gpu_ram_unit: The same for GPU memory.
            time_unit: 'seconds', 'minutes', 'hours' or 'days', or a symbol: 'ms', 's', 'min', 'h'.
            n_expected_cores: What hardware percentages of the CPU are divided by; all cores when None.
            gpu_uuids: GPUs whose utilisation counts: UUIDs, or what CUDA_VISIBLE_DEVICES accepts; all when None.
            disable_logs: Log no warnings. Otherwise they go to the logger "gpu_tracker".
            process_id: The process to track; this one when None.
            resource_usage_file: Where the results so far are kept as a pickle of `ResourceUsage`, once a second, in case
                the tracking is interrupted; `stop` removes it. When None, .gpu-tracker_<random UUID>.pkl in the current
                folder.
            n_join_attempts: How often to wait for the sampler's results before it is ended by force.
            join_timeout: How long to wait each time, in seconds.
            gpu_brand: 'nvidia', 'amd' or 'intel'; all brands when None.
            tracking_file: Where to record every sample: a .csv or .sqlite file.
            overwrite: Replace the tracking file when there is one.
            detail: Record every process and every GPU, too.
            memory: How memory that processes share is counted: 'auto', 'pss' or 'rss'.
            libraries: Driver libraries to use instead of the installed ones: ["nvml=/path/to/libnvidia-ml.so.1"].
            keep_high_water_mark: Leave the kernel's high-water mark of this process alone. Otherwise it is set back at the start of each
                tracker that tracks this process, so that the peak is exactly that of the time in between, also of trackers inside
                each other; ``resource.getrusage(...).ru_maxrss`` begins anew with it.

        Args (limits):
            max_ram: A limit of memory: a number of bytes, or '2 GB', '512 MiB'. It is looked at every `sleep_time`, and acts once.
            max_gpu_ram: The same for GPU memory.
            at_limit: Action above a limit: 'warn' logs, 'raise' raises `LimitExceeded` in the thread that called `start`, at its
                next step of Python, 'kill' ends the process `process_id`, which must be another one.
            on_sample: Called with a `Current` every `sleep_time`, from a thread of its own.

        Args (energy):
            idle: What becomes of energy that devices draw while idle: 'share', 'exclude' or 'all'; 'share' when None.
            carbon_intensity: Grams of CO2 equivalent for each kWh, or a region of the file of regions: 'FR', 'US'.
            carbon_file: The file of regions; the installed one when None.
            price: Of a kWh, with or without a currency: 0.3, '0.30 EUR'.
            power_meter: A CSV file that an external power meter writes, or 'FILE:COLUMN,...'.
            power_model: A file that says what the processors draw by their use, where nothing counts their energy.
            cpu_tdp: Instead of such a file: the thermal design power of the processors in watts.

        Raises:
            ValueError: An argument is wrong, or a GPU is not there.
            TypeError: An argument has a wrong type.
            FileExistsError: The tracking file exists, and `overwrite` is not set.
            FileNotFoundError: The folder of the tracking file does not exist.
        """
        self._arguments = {name: value for name, value in locals().items() if name not in ("self", "__class__")}
        uuids = None if gpu_uuids is None else sorted(_arguments.texts("gpu_uuids", gpu_uuids))
        if uuids == []:
            raise ValueError("gpu_uuids is empty: name at least one GPU, or leave it out for all of them")
        if _arguments.integer("n_join_attempts", n_join_attempts) < 1 or not _arguments.number("join_timeout", join_timeout) > 0:
            raise ValueError("n_join_attempts and join_timeout must be positive")
        if on_sample is not None and not callable(on_sample):
            raise TypeError(f"on_sample must be callable, not {type(on_sample).__name__}")
        self._options = {name: self._arguments.get(name) for name in _core.tracker_options()}
        self._options["sleep_time"] = _arguments.number("sleep_time", sleep_time)
        self._arguments["gpu_uuids"] = uuids  # an iterator has them once
        self._options["gpu_uuids"] = None if uuids is None else ",".join(uuids)
        self._options["tracking_file"] = _file_option(tracking_file)
        self._options["library"] = self._arguments["libraries"] = _arguments.texts("libraries", libraries)
        self._options["carbon_intensity"] = None if carbon_intensity is None else str(carbon_intensity)
        self._options["price"] = None if price is None else str(price)
        try:
            _check(self._options)
        except FileExistsError:
            if not _names.is_worker():
                raise  # else a worker that imports what its parent has decorated: `start` refuses
        self.resource_usage: ResourceUsage | None = None
        self.state = Tracker.State.NEW
        self.n_join_attempts = n_join_attempts
        self.join_timeout = join_timeout
        self._process_id = _process_option(process_id)
        self._tracking_file = tracking_file
        self._limits: dict[str, float] = {}
        self._at_limit, self._on_sample = at_limit, on_sample
        if max_ram is not None or max_gpu_ram is not None or at_limit != "warn":
            from . import live

            self._limits = live.check(at_limit, {"ram": max_ram, "gpu_ram": max_gpu_ram}, self._process_id)
        self._watch: Any = None
        self._lock: Any = None
        self._begin = 0.0
        self._resource_usage_file = None if resource_usage_file is None else _arguments.path("resource_usage_file", resource_usage_file)
        self._disable_logs = disable_logs
        self._keep_mark = keep_high_water_mark
        self._window = 0
        self._sampling: Any = None
        self._calls: Any = None
        self._json = self._text = self._summary = ""
        if gpu_uuids is not None:
            self._check_gpus()

    def _check_gpus(self) -> None:
        """A sampler that ends at once tells whether the GPUs are there."""
        from ._sampling import Sampling

        Sampling(os.getpid(), {**self._options, "tracking_file": None}, lambda sentence: None).close()

    # ---- tracking ----

    def start(self) -> None:
        """Begin to track; the same as entering the context manager.

        Raises:
            RuntimeError: It has started before.
            ProcessLookupError: The process to track does not exist.
        """
        if self.state is not Tracker.State.NEW:
            raise RuntimeError(f"cannot start: the tracker has {self.state.name.lower()} already")
        from ._sampling import Sampling

        process_id = os.getpid() if self._process_id is None else self._process_id
        self._resource_usage_file = os.path.abspath(self._resource_usage_file or _random_file())
        if process_id == os.getpid() and not self._keep_mark:
            self._window = _core.own_peak_begin()
        try:
            self._sampling = Sampling(process_id, self._options, self._warn, self._resource_usage_file)
        except BaseException:
            _core.own_peak_end(self._window)
            raise
        self._begin = time.monotonic()
        self._lock = threading.Lock()
        self.state = Tracker.State.STARTED
        if self._limits or self._on_sample:
            from .live import Watch

            self._watch = Watch(self.current, float(self._arguments["sleep_time"]), dict(self._limits), self._at_limit,
                                self._on_sample, self._warn, process_id)
            self._watch.start()

    def stop(self) -> None:
        """End the tracking and fetch the results; the same as leaving the context manager.

        Raises:
            RuntimeError: It has not started, has stopped before, or its sampler was killed and left no results.
        """
        if self.state is not Tracker.State.STARTED:
            never = self.state is Tracker.State.NEW
            raise RuntimeError(f"cannot stop: the tracker has {'not started' if never else 'stopped already'}")
        if self._watch is not None and self._sampling.owner == os.getpid():
            self._watch.end()
        self._watch = None
        self.state = Tracker.State.STOPPED
        sampling, self._sampling = self._sampling, None
        self._lock = None
        try:
            if sampling.owner == os.getpid():
                self._fetch(sampling)
        finally:
            sampling.close()

    def _fetch(self, sampling: Any) -> None:
        import json

        peak = _core.own_peak_end(self._window)
        try:
            if peak > 0:
                sampling.own_peak(peak)
            self._json, self._summary, self._text = sampling.finish(self.n_join_attempts, self.join_timeout)
            self.resource_usage = _tree.instance(ResourceUsage, json.loads(self._json))
            self._warn_without_gpu()
        except EOFError:
            self._warn("the sampler was killed: the results end up to a second before that")
            self._load_backup()
        if os.path.exists(self._resource_usage_file or ""):
            os.unlink(self._resource_usage_file or "")

    def _load_backup(self) -> None:
        import pickle

        try:
            with open(self._resource_usage_file or "", "rb") as file:
                self.resource_usage = pickle.load(file)
        except (OSError, EOFError) as error:
            raise RuntimeError("the sampler was killed and left no results") from error

    def _warn_without_gpu(self) -> None:
        """Once in a process. If a GPU was asked for, the sampler has said so."""
        asked = self._options["gpu_brand"] or self._options["gpu_uuids"]
        if not asked and not Tracker._has_warned and not self.gpu_utilization.system_gpu_count and not self._disable_logs:
            Tracker._has_warned = True
            self._warn("No GPU was found: GPU figures are not measured")

    def _warn(self, sentence: str) -> None:
        if not self._disable_logs:
            import logging

            logging.getLogger("gpu_tracker").warning("%s", sentence)

    def __enter__(self) -> Tracker:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, exception: BaseException | None,
                 traceback: TracebackType | None) -> None:
        try:
            self.stop()
        except (OSError, RuntimeError) as error:
            if exception is None:
                raise
            self._warn(str(error))  # the block's own exception matters more

    async def __aenter__(self) -> Tracker:
        return self.__enter__()

    async def __aexit__(self, kind: type[BaseException] | None, exception: BaseException | None,
                        traceback: TracebackType | None) -> None:
        self.__exit__(kind, exception, traceback)

    def __call__(self, function: Callable[_Parameters, _Result]) -> _Tracked[_Parameters, _Result]:
        """Decorate a function, also a coroutine function or a generator function: each call is tracked.

        With a tracking file, one recording has all calls: it begins with the first call and ends with the program. Each call is a
        block of it, named after the function and marked in NAME.blocks.csv or NAME.blocks.sqlite beside the tracking file.

        Trouble in a call is logged and never raised into the function.

        Raises:
            FileExistsError: The file of the marks exists, and `overwrite` is not set.
        """
        from ._calls import Call
        from ._wrap import wrap

        if not callable(function):
            raise TypeError(f"a Tracker decorates functions, not {function!r}")

        arguments = {**self._arguments, "tracking_file": None}
        recording = None if self._tracking_file is None else self._record(function)

        def enter_tracker() -> Tracker:
            tracker = Tracker(**arguments)
            tracker._tracking_file = self._tracking_file  # its charts are those of the recording
            wrapper.tracker = tracker  # type: ignore[attr-defined]
            return tracker

        around = [enter_tracker] if recording is None else [recording.begin, enter_tracker, recording.block(_name(function))]
        wrapper = wrap(function, lambda: Call(self._warn, *around))
        return wrapper  # type: ignore[return-value]

    def _record(self, function: Callable[..., Any]) -> Any:
        """The recording of all calls of the functions that this tracker decorates."""
        from ._calls import Recording

        overwrite = bool(self._arguments["overwrite"])

        def make() -> Tracker:
            own: dict[str, Any] = {"resource_usage_file": None, "max_ram": None, "max_gpu_ram": None, "at_limit": "warn", "on_sample": None}
            own["overwrite"] = overwrite and not _names.is_worker()  # a worker leaves the recording of its parent alone
            return Tracker(**{**self._arguments, **own})

        if self._calls is None:
            self._calls = Recording(make, self._recorded(), overwrite)
        if not self._disable_logs:
            import logging

            sentence = "%s records from the first call of %s to the end of the program; each call is a block in %s"
            logging.getLogger("gpu_tracker").info(sentence, self._recorded(), _name(function), self._calls.marks)
        return self._calls

    def _end(self) -> None:
        """End the recording of all calls with the program."""
        try:
            self.stop()
        except (OSError, RuntimeError) as error:
            self._warn(str(error))

    def current(self) -> Current:
        """What the job uses now.

        Raises:
            RuntimeError: The tracker does not run.
            EOFError: Its sampler was killed.
        """
        lock, sampling = self._lock, self._sampling
        if self.state is not Tracker.State.STARTED or sampling is None or sampling.owner != os.getpid():
            raise RuntimeError("there are no current figures: the tracker does not run")
        from .live import Current

        with lock:
            return Current(time.monotonic() - self._begin, *sampling.now())

    # ---- results ----

    @property
    def max_ram(self) -> MaxRAM:
        """`ResourceUsage.max_ram` of the results."""
        return self._results().max_ram

    @property
    def max_gpu_ram(self) -> MaxGPURAM:
        """`ResourceUsage.max_gpu_ram` of the results."""
        return self._results().max_gpu_ram

    @property
    def cpu_utilization(self) -> CPUUtilization:
        """`ResourceUsage.cpu_utilization` of the results."""
        return self._results().cpu_utilization

    @property
    def gpu_utilization(self) -> GPUUtilization:
        """`ResourceUsage.gpu_utilization` of the results."""
        return self._results().gpu_utilization

    @property
    def compute_time(self) -> ComputeTime:
        """`ResourceUsage.compute_time` of the results."""
        return self._results().compute_time

    def _results(self) -> ResourceUsage:
        if self.resource_usage is None:
            raise RuntimeError("there are no results: they come when the tracking has stopped")
        return self.resource_usage

    def to_json(self) -> dict[str, dict[str, Any]]:
        """The results as `json` takes them: the sections of `ResourceUsage`, then what else was measured.

        Numbers that were not measured are None. The section "provenance" tells where each figure comes from.

        Raises:
            RuntimeError: There are no results yet.
        """
        tree: dict[str, dict[str, Any]] = _tree.with_null(dataclasses.asdict(self._results()))
        if self._json:
            import json

            tree = json.loads(self._json)
        return tree

    def metrics(self, prefix: str = "gpu_tracker") -> dict[str, float]:
        """The figures that were measured, flat, as loggers of metrics take them: "gpu_tracker/max_ram/combined/total_rss_bytes".

        Values are in base units, whatever the units of the results, and names end in them: bytes, seconds, joules, watts, percent; those
        of counts have none. What was not measured is left out, and all of GPUs where there is none.

        ``mlflow.log_metrics(tracker.metrics())``, ``wandb.log(tracker.metrics())``, and for TensorBoard
        ``for name, value in tracker.metrics().items(): writer.add_scalar(name, value)``.

        Raises:
            RuntimeError: There are no results yet.
        """
        from ._views import measured

        about_us = ("provenance", "missing", "tracker", "run")
        figures = measured(self.to_json())
        return {f"{prefix}/{name}" if prefix else name: value for name, value in figures.items() if name.split("/")[0] not in about_us}

    def _recorded(self) -> str:
        if self._tracking_file is None:
            raise RuntimeError("nothing was recorded: give the tracker a tracking_file")
        return os.fspath(self._tracking_file)

    def timepoints(self) -> DataFrame:
        """Every sample of the tracking file, also while the tracker runs.

        Raises:
            RuntimeError: There is no tracking file.
        """
        from . import _frames

        return _frames.frame(self.timepoints_table())

    def timepoints_table(self) -> Table:
        """`timepoints` as a `Table`.

        Raises:
            RuntimeError: There is no tracking file.
        """
        return _core.timepoints(self._recorded(), None)

    def plot(self, charts: str | None = None, width: float | None = None, font: str | None = None) -> Picture:
        """Charts of the tracking file, which notebooks show: "memory,cpu,gpu"; all there are for None.

        Args:
            charts: Names of charts, separated by commas.
            width: Width in centimetres, 6 to 100; 20.7 for None. The text keeps 8 to 12 points.
            font: "sans" (default) or "serif".

        Raises:
            RuntimeError: There is no tracking file.
            ValueError: There is no such chart, width or font; it says which there are.
        """
        from ._views import Picture

        return Picture(self._recorded(), charts, width, font)

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """The page of the tracking file, with charts that zoom; written to `path` if that is given.

        Raises:
            RuntimeError: There is no tracking file.
        """
        page = _core.recording_page(self._recorded())
        if path is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(page)
        return page

    def _repr_html_(self) -> str:
        """The summary; with a tracking file also charts of memory and CPU, if they have less than 50 kB. `to_html` has all charts."""
        import html

        if self.state is Tracker.State.NEW:
            return html.escape(repr(self))
        summary = self._summary or (str(self) if self.resource_usage is not None else repr(self))
        chart = ""
        if self._tracking_file is not None and self.state is Tracker.State.STOPPED:
            with contextlib.suppress(ValueError, OSError):
                chart = self.plot("memory,cpu").svg
        return f"<pre>{html.escape(summary)}</pre>{chart if len(chart) < 50_000 else ''}"

    def __str__(self) -> str:
        """The results for people; while it tracks, its state.

        Raises:
            RuntimeError: It has not begun.
        """
        if self.state is Tracker.State.STARTED:
            return repr(self)
        return self._text.rstrip("\n") or str(self._results())

    def __repr__(self) -> str:
        return f"State: {self.state.name}"

    def __getstate__(self) -> Mapping[str, Any]:
        """Trackers with a running sampler cannot be copied."""
        if self.state is Tracker.State.STARTED:
            raise TypeError("a tracker that has started cannot be pickled")
        return self.__dict__


def _name(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__qualname__", repr(function)))


def _check(options: dict[str, Any]) -> None:
    """Raise what is wrong with the options, under the name of the one that is wrong by itself."""
    try:
        _core.check(options)
    except (TypeError, ValueError, OverflowError):
        for name, value in options.items():
            try:
                _core.check({name: value})
            except (TypeError, ValueError, OverflowError) as error:
                kind = TypeError if isinstance(error, TypeError) else ValueError
                raise kind(f"{name}={value!r}: {error}") from None
        raise


def _process_option(process_id: int | None) -> int | None:
    if process_id is None:
        return None
    number = _arguments.integer("process_id", process_id)
    if not 0 < number < 2**31:
        raise ValueError(f"process_id={number} is the ID of no process: they begin at 1; leave it out for this process")
    return number


def _file_option(path: str | os.PathLike[str] | None) -> str | None:
    """The command line's way to say a name as it is, without a suffix that is added and without placeholders."""
    if path is None:
        return None
    name = _arguments.path("tracking_file", path)
    if name.startswith(("clickhouse://", "clickhouses://")):
        raise ValueError(f"{name}: a Tracker records into a file, which `gpu-tracker push FILE ADDRESS` sends to a server")
    if not name.endswith((".csv", ".sqlite")):
        raise ValueError(f"{name!r}: the name of a tracking file ends in .csv or .sqlite")
    folder = os.path.dirname(name)
    if folder and not os.path.exists(folder):
        import errno

        raise FileNotFoundError(errno.ENOENT, f"folder {folder} does not exist", name)
    return name.replace("%", "%%")


def _random_file() -> str:
    from uuid import uuid4

    return f".gpu-tracker_{uuid4()}.pkl"
