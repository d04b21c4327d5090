"""`Tracker`, and the classes of its results."""
from __future__ import annotations

import contextlib
import dataclasses
import enum
import math
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, Literal, ParamSpec, Protocol, TypeVar

from . import _arguments, _core, _names
from . import _pandas as pandas
from ._tables import Table
from ._views import Picture, with_null
from .live import Current

_MemoryUnit = Literal["bytes", "kilobytes", "megabytes", "gigabytes", "terabytes", "kibibytes", "mebibytes", "gibibytes", "tebibytes",
                     "B", "kB", "KB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB"]
_TimeUnit = Literal["milliseconds", "seconds", "minutes", "hours", "days", "ms", "s", "min", "h", "d"]
_AtLimit = Literal["warn", "raise", "kill"]
_Class = TypeVar("_Class")
_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result", covariant=True)


class _Tracked(Protocol[_Parameters, _Result]):
    """A decorated function or method."""

    tracker: Tracker

    def __call__(self, *args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result: ...
    def __get__(self, instance: object, owner: Any = None) -> _Tracked[..., _Result]: ...


__all__ = ["ComputeTime", "CPUUtilization", "GPUUtilization", "MaxGPURAM", "MaxRAM", "ProcessingUnitPercentages",
           "ResourceUsage", "RSSValues", "Tracker"]


@dataclasses.dataclass
class RSSValues:
    """Resident memory of one or more processes. Shared pages count once.

    Attributes:
        total_rss: All resident memory.
        private_rss: Memory that only one process maps.
        shared_rss: Memory that at least two processes map.
    """

    total_rss: float = 0.0
    private_rss: float = 0.0
    shared_rss: float = 0.0


@dataclasses.dataclass
class MaxRAM:
    """Peak memory use.

    Attributes:
        unit: Unit of all values.
        system_capacity: Memory of the machine, or the limit of its control group.
        system: Memory in use on the machine.
        main: Memory of the tracked process.
        descendants: Memory of its descendants together.
        combined: Memory of all tracked processes together.
    """

    unit: str
    system_capacity: float
    system: float = 0.0
    main: RSSValues = dataclasses.field(default_factory=RSSValues)
    descendants: RSSValues = dataclasses.field(default_factory=RSSValues)
    combined: RSSValues = dataclasses.field(default_factory=RSSValues)


@dataclasses.dataclass
class MaxGPURAM:
    """Peak GPU memory use. A missing value is NaN; without a GPU all values are 0.0.

    Attributes:
        unit: Unit of all values.
        system_capacity: Memory of all GPUs.
        system: Memory in use on all GPUs.
        main: GPU memory of the tracked process.
        descendants: GPU memory of its descendants together.
        combined: GPU memory of all tracked processes together.
    """

    unit: str
    system_capacity: float
    system: float = 0.0
    main: float = 0.0
    descendants: float = 0.0
    combined: float = 0.0


@dataclasses.dataclass
class ProcessingUnitPercentages:
    """Utilization of cores or GPUs. One busy unit is 100.

    Attributes:
        max_sum_percent: Maximum sum over all units between two samples.
        max_hardware_percent: Maximum sum divided by the number of units, up to 100.
        mean_sum_percent: Mean sum over the whole time.
        mean_hardware_percent: Mean sum divided by the number of units, up to 100.
    """

    max_sum_percent: float = 0.0
    max_hardware_percent: float = 0.0
    mean_sum_percent: float = 0.0
    mean_hardware_percent: float = 0.0


@dataclasses.dataclass
class CPUUtilization:
    """CPU utilization.

    Attributes:
        system_core_count: Number of cores of the machine.
        n_expected_cores: Divisor of the hardware percentages of processes.
        system: Utilization by the whole machine.
        main: Utilization by the tracked process.
        descendants: Utilization by its descendants together.
        combined: Utilization by all tracked processes together.
        main_n_threads: Maximum number of threads of the tracked process.
        descendants_n_threads: Maximum number of threads of its descendants.
        combined_n_threads: Maximum number of threads of all tracked processes.
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
    """GPU utilization.

    Attributes:
        system_gpu_count: Number of GPUs of the machine.
        n_expected_gpus: Number of selected GPUs, the divisor of hardware percentages.
        gpu_percentages: Utilization of the selected GPUs. A missing value is NaN; without a GPU all values are 0.0.
    """

    system_gpu_count: int
    n_expected_gpus: int
    gpu_percentages: ProcessingUnitPercentages = dataclasses.field(default_factory=ProcessingUnitPercentages)


@dataclasses.dataclass
class ComputeTime:
    """Elapsed time.

    Attributes:
        unit: Unit of the time.
        time: Time from the start to the end of tracking.
    """

    unit: str
    time: float = 0.0


@dataclasses.dataclass
class ResourceUsage:
    """The results of a `Tracker`.

    Attributes:
        max_ram: Peak memory.
        max_gpu_ram: Peak GPU memory.
        cpu_utilization: CPU utilization and threads.
        gpu_utilization: GPU utilization.
        compute_time: Elapsed time.
    """

    max_ram: MaxRAM
    max_gpu_ram: MaxGPURAM
    cpu_utilization: CPUUtilization
    gpu_utilization: GPUUtilization
    compute_time: ComputeTime


class Tracker:
    """Measure a process and all its descendants from `start` to `stop`. A sampler in another process reads the values.

    Use a tracker with `start` and `stop`, as a context manager (also with ``async with``), or as a decorator. A tracker
    can be used once; results are available after `stop`. After ``os.fork``, the copy in the child does nothing.

    As a decorator, it tracks each call separately. The attribute ``tracker`` of the function is the tracker of the latest
    call. With a tracking file, one recording contains all calls.

    Example:

        with gpu_tracker.Tracker(ram_unit="megabytes", tracking_file="run.sqlite") as tracker:
            train()
        print(tracker.max_ram.combined.total_rss, tracker.compute_time.time)

    Attributes:
        resource_usage: The results, a `ResourceUsage`; None before `stop`.
        state: A `Tracker.State`.
        n_join_attempts: The argument.
        join_timeout: The argument.
    """

    class State(enum.Enum):
        """State of a tracker."""

        NEW = 0
        STARTED = 1
        STOPPED = 2

    _has_warned = False  # about missing GPUs

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
        """Check the arguments. Tracking starts with `start`.

        Args (basics):
            sleep_time: Seconds between two samples, at least 0.001.
            ram_unit: Unit of memory: 'bytes', 'kilobytes', 'megabytes', 'gigabytes', 'terabytes' (powers of 1000), or a symbol:
                'GB', 'MiB'.
            gpu_ram_unit: Unit of GPU memory.
            time_unit: Unit of time: 'seconds', 'minutes', 'hours', 'days', or a symbol: 'ms', 's', 'min', 'h'.
            n_expected_cores: Divisor of hardware percentages of the CPU. Default: all cores.
            gpu_uuids: GPUs to measure: UUIDs, or values that CUDA_VISIBLE_DEVICES accepts. Default: all.
            disable_logs: Do not log warnings to the logger "gpu_tracker".
            process_id: ID of the process to track. Default: this process.
            resource_usage_file: Pickle of a `ResourceUsage`, written once a second, for the case that tracking is interrupted. `stop`
                removes it. Default: .gpu-tracker_<random UUID>.pkl in the current folder.
            n_join_attempts: Number of waits for the sampler's results before the sampler is killed.
            join_timeout: Seconds of each wait.
            gpu_brand: 'nvidia', 'amd' or 'intel'. Default: all.
            tracking_file: Record every sample in this .csv or .sqlite file.
            overwrite: Replace an existing tracking file.
            detail: Also record every process and every GPU.
            memory: Method of counting shared memory: 'auto', 'pss' or 'rss'.
            libraries: Driver libraries to use instead of the installed ones: ["nvml=/path/to/libnvidia-ml.so.1"].
            keep_high_water_mark: Do not reset the kernel's high-water mark of this process. By default, each tracker of this process
                resets it at its start, so that the peak is exact, also for nested trackers. ``resource.getrusage(...).ru_maxrss``
                is reset with it.

        Args (limits):
            max_ram: Limit of memory: a number of bytes, or '2 GB', '512 MiB'. It is checked every `sleep_time` and acts once.
            max_gpu_ram: Limit of GPU memory.
            at_limit: Action above a limit: 'warn' logs a warning; 'raise' raises `LimitExceeded` in the thread that called `start`, at
                its next Python instruction; 'kill' ends the process `process_id`, which must be another process.
            on_sample: Function that a separate thread calls with a `Current` every `sleep_time`.

        Args (energy):
            idle: Assignment of idle energy: 'share', 'exclude' or 'all'. Default: 'share'.
            carbon_intensity: Grams of CO2 equivalent per kWh, or a region of the file of regions: 'FR', 'US'.
            carbon_file: File of regions. Default: the installed file.
            price: Price of a kWh, with or without a currency: 0.3, '0.30 EUR'.
            power_meter: CSV file that an external power meter writes, or 'FILE:COLUMN,...'.
            power_model: File with the power of the processors by utilization, for machines without an energy counter.
            cpu_tdp: Thermal design power of the processors in watts, instead of `power_model`.

        Raises:
            ValueError: An argument is invalid, or a GPU does not exist.
            TypeError: An argument has a wrong type.
            FileExistsError: The tracking file exists and `overwrite` is False.
            FileNotFoundError: The folder of the tracking file or of `resource_usage_file` does not exist.
        """
        self._arguments = {name: value for name, value in locals().items() if name not in ("self", "__class__")}
        if _is_function(sleep_time):
            raise TypeError("Tracker needs parentheses: @Tracker()")
        for name in ("disable_logs", "overwrite", "detail", "keep_high_water_mark"):
            _arguments.flag(name, self._arguments[name])
        uuids = None if gpu_uuids is None else sorted(_arguments.texts("gpu_uuids", gpu_uuids))
        if uuids == []:
            raise ValueError("gpu_uuids is empty: name at least one GPU, or omit gpu_uuids to measure all")
        if _arguments.integer("n_join_attempts", n_join_attempts) < 1 or not _arguments.number("join_timeout", join_timeout) > 0:
            raise ValueError("n_join_attempts and join_timeout must be positive")
        if on_sample is not None and not callable(on_sample):
            raise TypeError(f"on_sample must be callable, not {type(on_sample).__name__}")
        self._options = {name: self._arguments.get(name) for name in _core.tracker_options()}
        self._options["sleep_time"] = _arguments.number("sleep_time", sleep_time)
        self._arguments["gpu_uuids"] = uuids  # an iterator can be read only once
        self._options["gpu_uuids"] = None if uuids is None else ",".join(uuids)
        self._options["tracking_file"] = _file_option(tracking_file)
        self._options["library"] = self._arguments["libraries"] = _arguments.texts("libraries", libraries)
        self._options["carbon_intensity"] = None if carbon_intensity is None else str(carbon_intensity)
        self._options["price"] = None if price is None else str(price)
        try:
            check(self._options)
        except FileExistsError:
            if not _names.is_worker():
                raise  # a worker imports the decorated functions of its parent: `start` raises the error
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
        _check_folder(self._resource_usage_file or "")
        self._disable_logs = disable_logs
        self._keep_mark = keep_high_water_mark
        self._window = 0
        self._sampling: Any = None
        self._calls: Any = None
        self._json = self._text = self._summary = ""
        if gpu_uuids is not None:
            self._check_gpus()

    def _check_gpus(self) -> None:
        """Start and stop a sampler, which fails if a GPU does not exist."""
        from ._sampling import Sampling

        try:
            Sampling(os.getpid(), {**self._options, "tracking_file": None}, lambda sentence: None).close()
        except ValueError as error:
            raise ValueError(f"gpu_uuids={self._arguments['gpu_uuids']!r}: {error}") from None

    # ---- tracking ----

    def start(self) -> None:
        """Start tracking, as at the start of a ``with`` block.

        Raises:
            RuntimeError: The tracker has already started.
            ProcessLookupError: The process to track does not exist.
        """
        if self.state is not Tracker.State.NEW:
            raise RuntimeError(f"cannot start: the tracker has already {self.state.name.lower()}")
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
        """Stop tracking and fetch the results, as at the end of a ``with`` block.

        Raises:
            RuntimeError: The tracker is not running, or its sampler was killed and left no results.
        """
        if self.state is not Tracker.State.STARTED:
            never = self.state is Tracker.State.NEW
            raise RuntimeError(f"cannot stop: the tracker has {'not started' if never else 'already stopped'}")
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
            self.resource_usage = _instance(ResourceUsage, json.loads(self._json))
            self._warn_without_gpu()
        except EOFError:
            self._warn("the sampler was killed: the last second of the results may be missing")
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
        """Warn once in each process. If the user selected a GPU, the sampler has already failed."""
        asked = self._options["gpu_brand"] or self._options["gpu_uuids"]
        if not asked and not Tracker._has_warned and not self.gpu_utilization.system_gpu_count and not self._disable_logs:
            Tracker._has_warned = True
            self._warn("No GPU was found: GPU values are not measured")

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
            self._warn(str(error))  # the exception of the block has priority

    async def __aenter__(self) -> Tracker:
        return self.__enter__()

    async def __aexit__(self, kind: type[BaseException] | None, exception: BaseException | None,
                        traceback: TracebackType | None) -> None:
        self.__exit__(kind, exception, traceback)

    def __call__(self, function: Callable[_Parameters, _Result]) -> _Tracked[_Parameters, _Result]:
        """Track each call of a function, a coroutine function or a generator function.

        With a tracking file, one recording contains all calls. It starts with the first call and ends with the program. Each
        call is a block with the name of the function, in NAME.blocks.csv or NAME.blocks.sqlite beside the tracking file.

        To record several functions in one file, decorate them with the same `Tracker` object. If tracking fails in a call, a warning
        with the name of the function is logged, and the function runs. Tracking adds about 20 ms to a call.

        Raises:
            FileExistsError: The file of blocks exists and `overwrite` is False.
        """
        from ._decorate import Call, wrap

        if not callable(function):
            raise TypeError(f"a Tracker decorates functions, not {function!r}")

        arguments = {**self._arguments, "tracking_file": None}
        recording = None if self._tracking_file is None else self._record(function)

        def enter_tracker() -> Tracker:
            tracker = Tracker(**arguments)
            tracker._tracking_file = self._tracking_file  # for charts of the recording
            wrapper.tracker = tracker  # type: ignore[attr-defined]
            return tracker

        around = [enter_tracker] if recording is None else [recording.begin, enter_tracker, recording.block(_name(function))]
        wrapper = wrap(function, lambda: Call(lambda sentence: self._warn(f"{_name(function)}: {sentence}"), *around))
        return wrapper  # type: ignore[return-value]

    def _record(self, function: Callable[..., Any]) -> Any:
        """Return the recording of all calls of the decorated functions."""
        from ._decorate import Recording

        overwrite = bool(self._arguments["overwrite"])

        def make() -> Tracker:
            own: dict[str, Any] = {"resource_usage_file": None, "max_ram": None, "max_gpu_ram": None, "at_limit": "warn", "on_sample": None}
            own["overwrite"] = overwrite and not _names.is_worker()  # a worker must keep the recording of its parent
            return Tracker(**{**self._arguments, **own})

        if self._calls is None:
            self._calls = Recording(make, self._recorded(), overwrite)
        if not self._disable_logs:
            import logging

            sentence = "%s records from the first call of %s to the end of the program; each call is a block in %s"
            logging.getLogger("gpu_tracker").info(sentence, self._recorded(), _name(function), self._calls.marks)
        return self._calls

    def _end(self) -> None:
        """Stop the recording of all calls at the end of the program."""
        try:
            self.stop()
        except (OSError, RuntimeError) as error:
            self._warn(str(error))

    def current(self) -> Current:
        """Return the present values of the job.

        Raises:
            RuntimeError: The tracker is not running.
            EOFError: The sampler was killed.
        """
        lock, sampling = self._lock, self._sampling
        if self.state is not Tracker.State.STARTED or sampling is None or sampling.owner != os.getpid():
            raise RuntimeError("cannot read current values: the tracker is not running")
        with lock:
            return Current(time.monotonic() - self._begin, *sampling.now())

    # ---- results ----

    @property
    def max_ram(self) -> MaxRAM:
        """Return `ResourceUsage.max_ram` of the results."""
        return self._results().max_ram

    @property
    def max_gpu_ram(self) -> MaxGPURAM:
        """Return `ResourceUsage.max_gpu_ram` of the results."""
        return self._results().max_gpu_ram

    @property
    def cpu_utilization(self) -> CPUUtilization:
        """Return `ResourceUsage.cpu_utilization` of the results."""
        return self._results().cpu_utilization

    @property
    def gpu_utilization(self) -> GPUUtilization:
        """Return `ResourceUsage.gpu_utilization` of the results."""
        return self._results().gpu_utilization

    @property
    def compute_time(self) -> ComputeTime:
        """Return `ResourceUsage.compute_time` of the results."""
        return self._results().compute_time

    def _results(self) -> ResourceUsage:
        if self.resource_usage is None:
            raise RuntimeError("results are not available: stop the tracker first")
        return self.resource_usage

    def to_json(self) -> dict[str, dict[str, Any]]:
        """Return the results for `json`: the sections of `ResourceUsage`, then all other values.

        Missing values are None. The section "provenance" contains the source of each value.

        Raises:
            RuntimeError: The tracker has not stopped.
        """
        tree: dict[str, dict[str, Any]] = with_null(dataclasses.asdict(self._results()))
        if self._json:
            import json

            tree = json.loads(self._json)
        return tree

    def metrics(self, prefix: str = "gpu_tracker") -> dict[str, float]:
        """Return the measured values as a flat dictionary for loggers: "gpu_tracker/max_ram/combined/total_rss_bytes".

        Values are in base units, independent of the units of the results. Names end in the unit: bytes, seconds, joules, watts or
        percent; counts have no unit. Missing values are left out, and without a GPU all GPU values.

        Example:

            mlflow.log_metrics(tracker.metrics())
            wandb.log(tracker.metrics())
            for name, value in tracker.metrics().items():
                tensorboard_writer.add_scalar(name, value)

        Raises:
            RuntimeError: The tracker has not stopped.
        """
        from ._views import measured

        about_us = ("provenance", "missing", "tracker", "run")
        figures = measured(self.to_json())
        return {f"{prefix}/{name}" if prefix else name: value for name, value in figures.items() if name.split("/")[0] not in about_us}

    def _recorded(self) -> str:
        if self._tracking_file is None:
            raise RuntimeError("the tracker has no recording: set tracking_file")
        return os.fspath(self._tracking_file)

    def timepoints(self) -> pandas.DataFrame:
        """Return every sample of the tracking file, also during the run.

        Raises:
            RuntimeError: The tracker has no tracking file.
        """
        from . import _tables

        return _tables.frame(self.timepoints_table())

    def timepoints_table(self) -> Table:
        """Return `timepoints` as a `Table`.

        Raises:
            RuntimeError: The tracker has no tracking file.
        """
        return _core.timepoints(self._recorded(), None)

    def plot(self, charts: str | None = None, width: float | None = None, font: str | None = None) -> Picture:
        """Draw charts of the tracking file, which notebooks display.

        Args:
            charts: Names of charts, separated by commas: "memory,cpu,gpu". Default: all.
            width: Width in centimetres, 6 to 100; 20.7 for None. The text keeps 8 to 12 points.
            font: "sans" (default) or "serif".

        Raises:
            RuntimeError: The tracker has no tracking file.
            ValueError: A chart, width or font does not exist. The message lists the choices.
        """
        return Picture(self._recorded(), charts, width, font)

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the page of the tracking file, with charts that zoom. With `path`, also write it to this file.

        Raises:
            RuntimeError: The tracker has no tracking file.
        """
        page = _core.report_text(_core.recording(self._recorded()), "html")
        if path is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(page)
        return page

    def _repr_html_(self) -> str:
        """Return the summary, with charts of memory and CPU of the tracking file below 50 kB; `to_html` has all charts."""
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
        """Return the results as text, or the state during the run.

        Raises:
            RuntimeError: The tracker has not started.
        """
        if self.state is Tracker.State.STARTED:
            return repr(self)
        return self._text.rstrip("\n") or str(self._results())

    def __repr__(self) -> str:
        return f"State: {self.state.name}"

    def __getstate__(self) -> Mapping[str, Any]:
        """Refuse to copy a tracker with a running sampler."""
        if self.state is Tracker.State.STARTED:
            raise TypeError("cannot pickle a running tracker")
        return self.__dict__


def _instance(cls: type[_Class], tree: dict[str, Any]) -> _Class:
    """Return a dataclass of this module from a section of a result. Missing values become NaN."""
    values: dict[str, Any] = {}
    for field in dataclasses.fields(cls):  # type: ignore[arg-type]
        value = tree[field.name]
        if isinstance(value, dict):
            value = _instance(globals()[str(field.type)], value)
        values[field.name] = math.nan if value is None else value
    return cls(**values)


def _is_function(value: object) -> bool:
    return callable(value)


def _name(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__qualname__", repr(function)))


def check(options: dict[str, Any]) -> None:
    """Raise the error of invalid options. The message names the option if it is invalid on its own."""
    try:
        _core.check(options)
    except (ValueError, OverflowError):
        for name, value in options.items():
            try:
                _core.check({name: value})
            except (ValueError, OverflowError) as error:
                raise ValueError(f"{'libraries' if name == 'library' else name}={value!r}: {error}") from None
        raise


def _process_option(process_id: int | None) -> int | None:
    if process_id is None:
        return None
    number = _arguments.integer("process_id", process_id)
    if not 0 < number < 2**31:
        raise ValueError(f"process_id={number} is not a process ID: IDs begin at 1; omit process_id to track this process")
    return number


def _file_option(path: str | os.PathLike[str] | None) -> str | None:
    """Return the name for the command line, with percent signs doubled because they begin placeholders."""
    if path is None:
        return None
    name = _arguments.path("tracking_file", path)
    if name.startswith(("clickhouse://", "clickhouses://")):
        raise ValueError(f"tracking_file={name!r}: a Tracker records to a file; use `gpu-tracker push FILE ADDRESS` to send it to a server")
    if not name.endswith((".csv", ".sqlite")):
        raise ValueError(f"tracking_file={name!r}: the name of a tracking file must end in .csv or .sqlite")
    _check_folder(name)
    return name.replace("%", "%%")


def _check_folder(name: str) -> None:
    folder = os.path.dirname(name)
    if folder and not os.path.exists(folder):
        import errno

        raise FileNotFoundError(errno.ENOENT, f"folder {folder} does not exist", name)


def _random_file() -> str:
    from uuid import uuid4

    return f".gpu-tracker_{uuid4()}.pkl"
