"""Classes that record and read experiments."""
import array
import datetime
import itertools
import logging
import os
import time
from collections.abc import Iterable
from typing import Any

from .. import _arguments, _core
from . import _curves, gpu_power, model_complexity, parsers, prometheus_client, rapl_power
from ._recording import STOP_MESSAGE, Recording, Server

__all__ = ["STOP_MESSAGE", "EXP_DONE", "Experiment", "ExpResults", "integrate", "total", "interpolate", "cumsum",
           "humanize_bytes", "joules_to_wh", "joules_to_kwh", "time_to_sec"]

EXP_DONE = "Done"

_logger = logging.getLogger("gpu_tracker")

_UNITS = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "Zi", "Yi")

Points = list[dict[str, Any]]


def integrate(metric: Points, start: float | None = None, end: float | None = None, allow_None: bool = False) -> Any:
    """Integrate a segment over time up to each point: joules from watts. The last value is the total.

    Args:
        metric: Points ``{"date": seconds, "value": v}``, linear between them.
        start: Ignore points before this date.
        end: Ignore points after this date.
        allow_None: Return None at missing values only. By default, any missing value makes the whole result None.

    Raises:
        ValueError: The bounds contain no point.
    """
    sums = _curves.integrate(metric, start, end)
    if not sums and metric:
        raise ValueError(f"no points between {start} and {end}: "
                         f"the curve is from {metric[0]['date']} to {metric[-1]['date']}")
    return None if None in sums and not allow_None else sums or [0.0]


def total(metric: Any, start: float | None = None, end: float | None = None) -> Any:
    """Integrate segments over time, for GPU curves by GPU, as `ExpResults.get_curve` returns them; None if empty."""
    if isinstance(metric, dict):
        return _curves.Cards((device, total(segments, start, end)) for device, segments in metric.items())
    if not metric or not any(metric):
        return None
    return _curves.known(_core.experiment_figures(_curves.of_curves([("CPU", "", None, metric)]), 0, start, end)[3])


def interpolate(metric1: Points, metric2: Points) -> tuple[Points, Points]:
    """Interpolate both curves at the dates of both. Outside its dates, a curve keeps its first or last value.

    `ExpResults.interpolate` returns values or totals of a recorded curve at given moments.
    """
    curves = [sorted(_curves.pairs_of(points)) for points in (metric1, metric2)]
    if not all(curves):
        raise ValueError("cannot interpolate a curve without points")
    moments = sorted({date for pairs in curves for date, _ in pairs})
    aligned = []
    for pairs in curves:
        dates = [date for date, _ in pairs]
        aligned.append([{"date": moment, "value": _curves.known(_curves.value_at(pairs, dates, moment))} for moment in moments])
    return aligned[0], aligned[1]


def cumsum(metric: Points) -> list[Any]:
    """Return the sum of the values up to each point; None from the first missing value on."""
    return [_curves.known(total) for total in itertools.accumulate(value for _, value in _curves.pairs_of(metric))]


def humanize_bytes(num: float, suffix: str = "B") -> str:
    """Return bytes as text: "4.6GiB"."""
    unit = 0
    while abs(num) >= 1024 and unit + 1 < len(_UNITS):
        num /= 1024
        unit += 1
    return f"{num:.1f}{_UNITS[unit]}{suffix}"


def joules_to_wh(n: Any) -> Any:
    """Convert joules, or a sequence of joules, to watt-hours."""
    return _curves.scaled(n, 1, 3600)


def joules_to_kwh(n: Any) -> Any:
    """Convert joules, or a sequence of joules, to kilowatt-hours."""
    return _curves.scaled(n, 1, 3.6e6)


def time_to_sec(t: datetime.datetime) -> float:
    """Convert a datetime to seconds since the epoch."""
    return _curves.seconds_of(t)


def _is_overridden(driver: Any, method: str) -> bool:
    return getattr(type(driver), method) is not getattr(parsers.JsonParser, method)


def _has_meter(driver: Any) -> bool:
    program = getattr(driver, "wattemeter_exec", None)
    return program is not None and os.path.isfile(program)


class Experiment:
    """Record power and resource use of processes. A separate gpu-tracker process measures.

    Example:

        driver = parsers.JsonParser("results")
        exp = experiment.Experiment(driver)
        process, queue = exp.measure_yourself(period=0.1)
        train()
        queue.put(experiment.STOP_MESSAGE)
        experiment.ExpResults(driver).print()

    Args:
        driver: A `parsers.JsonParser`, `parsers.TrackingFile`, `prometheus_client.PrometheusClient`, or an object with a method
            ``save_power_metrics(metrics)``, which receives each record. Optional methods are ``erase()``, called first,
            ``close_driver()``, called last, and those that `ExpResults` reads.
        model: PyTorch model. torchinfo makes its summary.
        input_size: Shape of the input of the model, including the batch.
        cont: Keep existing recordings and add to them. A tracking file contains only one recording.
        root: Folder that contains ``proc`` and ``sys``, instead of /. Use it in a container with the host's files.
    """

    def __init__(self, driver: Any, model: Any = None, input_size: Any = None, cont: bool = False,
                 root: str | os.PathLike[str] | None = None) -> None:
        if not isinstance(driver, (parsers.TrackingFile, prometheus_client.PrometheusClient)) and not callable(
                getattr(driver, "save_power_metrics", None)):
            raise TypeError(f"cannot record to a {type(driver).__name__}: it has no method save_power_metrics(metrics)")
        if model is not None and input_size is None:
            raise ValueError("a model needs input_size for its summary")
        self.db_driver = driver
        self._root = None if root is None else os.fspath(root)
        if not cont and hasattr(driver, "erase"):
            driver.erase()
        if isinstance(driver, parsers.JsonParser):
            os.makedirs(driver.folder, exist_ok=True)
        if model is not None:
            self.save_model_card(model, input_size, next((part.device for part in model.parameters()), None))
        self.rapl_available, rapl = rapl_power.is_rapl_compatible(self._root)
        self.nvidia_available, nvidia = gpu_power.is_nvidia_compatible()
        self.wattmeter_available = _has_meter(driver)
        for available, device, sentence in ((self.rapl_available, "processors", rapl),
                                            (self.nvidia_available, "GPUs", nvidia)):
            if not available:
                _logger.warning("power of the %s will not be measured: %s", device, sentence)

    def save_model_card(self, model: Any, input_size: Any, device: Any = None) -> None:
        """Save the summary of a PyTorch model, if the driver supports it."""
        if model is None or input_size is None:
            raise ValueError("the summary of a model needs the model and its input_size")
        if hasattr(self.db_driver, "save_model_card"):
            self.db_driver.save_model_card(model_complexity.get_summary(model, input_size, device))

    def _recorder(self, pids: list[int], period: float, measurement_period: float) -> Recording:
        driver = self.db_driver
        options: dict[str, Any] = {"sleep_time": float(period)}
        seconds, takes_records = float(measurement_period) or 2.0, False
        if isinstance(driver, parsers.TrackingFile):
            options["tracking_file"], seconds = driver.folder, 0.0
        elif isinstance(driver, parsers.JsonParser) and not _is_overridden(driver, "save_power_metrics"):
            driver._save_metadata()
            options["tracking_file"] = driver.folder
        else:
            takes_records = True
        if seconds:
            options["memory"] = "rss"  # only records need shared pages
        root = [] if self._root is None else [f"--root={self._root}"]
        words = ["experiment", repr(seconds), *_arguments.command_line(options), *root, *map(str, pids)]
        return Recording(words, _logger.warning, driver if takes_records else None)

    def _record(self, pids: Iterable[int], period: float, measurement_period: float) -> tuple[Any, Any]:
        numbers = [int(pid) for pid in pids]
        if isinstance(self.db_driver, prometheus_client.PrometheusClient):
            server = Server(self.db_driver.address, numbers, self._root)
            return server, server
        recording = self._recorder(numbers, period, measurement_period)
        if self.wattmeter_available:
            recording.keep(self.db_driver.save_wattmeter_metrics())
        return recording, recording

    def measure_yourself(self, period: float = 1, measurement_period: float = 2) -> tuple[Any, Any]:
        """Record this process and its descendants. Return the recording process and the queue that stops it.

        Args:
            period: Seconds between readings. A tracking file contains all readings.
            measurement_period: Seconds between records. A record summarizes the readings since the last record.
        """
        return self._record([os.getpid()], period, measurement_period)

    def measure_from_pid_list(self, pid_list: Iterable[int], period: float = 1,
                              measurement_period: float = 2) -> tuple[Any, Any]:
        """Record these processes and their descendants, like `measure_yourself`."""
        return self._record(pid_list, period, measurement_period)

    def monitor_machine(self, pid_args: Iterable[int] | None = None, parent_pid: int = 1, period: float = 1) -> None:
        """Record these processes, or ``parent_pid`` and its descendants, until Ctrl-C or their end."""
        process, queue = self._record([parent_pid] if pid_args is None else pid_args, period, period)
        try:
            while process.is_alive():
                time.sleep(0.5)
        except KeyboardInterrupt:
            pass
        finally:
            queue.put(STOP_MESSAGE)


class ExpResults:
    """Read a recording.

    Args:
        db_driver: A `parsers.JsonParser` or `parsers.TrackingFile`, or an object with the same method ``load_metrics()``. Optional
            methods are ``get_segments()`` and ``get_model_card()``.

    Raises:
        ValueError: The recording is missing.
    """

    def __init__(self, db_driver: Any) -> None:
        self.db_driver = db_driver
        is_ours = isinstance(db_driver, parsers.TrackingFile) or (
            isinstance(db_driver, parsers.JsonParser) and not _is_overridden(db_driver, "load_metrics"))
        self._experiment = db_driver.load() if is_ours else _curves.of_driver(db_driver)
        self._curves = _core.experiment_curves(self._experiment)
        self.model_card = db_driver.get_model_card() if hasattr(db_driver, "get_model_card") else None
        if self.model_card is not None:
            _core.experiment_set_model(self._experiment, _curves.text_of(self.model_card))

    @property
    def cpu_metrics(self) -> dict[str, Any] | None:
        """Return the curves of the processors, as drivers load them; None if empty."""
        return _curves.as_metrics(self._experiment, "CPU")

    @property
    def gpu_metrics(self) -> dict[str, Any] | None:
        """Return the curves of the GPUs."""
        return _curves.as_metrics(self._experiment, "GPU")

    @property
    def exp_metrics(self) -> dict[str, Any] | None:
        """Return the curves that the program saved."""
        return _curves.as_metrics(self._experiment, "Experiment")

    @property
    def wattmeter_metrics(self) -> dict[str, Any] | None:
        """Return the curves of an external power meter."""
        return _curves.as_metrics(self._experiment, "wattmeter")

    def _by_device(self, name: str, figure: Any) -> Any:
        """Return figure(curve), or {device: figure(curve)}; None if the curve is missing."""
        found = _curves.Cards((_curves.card(device), figure(i)) for i, (_, curve, device) in enumerate(self._curves)
                              if curve == name)
        if not found:
            return None
        return found[None] if None in found else found

    def _figure(self, name: str, number: int, start: float | None, end: float | None) -> Any:
        return self._by_device(name, lambda curve: _curves.known(_core.experiment_figures(self._experiment, curve, start, end)[number]))

    def list_metrics(self) -> dict[str, list[str]]:
        """Return the names of the curves by group: CPU, GPU, Experiment, wattmeter."""
        groups: dict[str, list[str]] = {"CPU": [], "GPU": [], "Experiment": [], "wattmeter": []}
        for group, name, _ in self._curves:
            if name not in groups[group]:
                groups[group].append(name)
        return groups

    def print_metrics(self) -> None:
        """Print the names of the curves."""
        print(_core.experiment_listing(self._experiment), end="")

    def get_curve(self, name: str) -> Any:
        """Return segments, each a list of ``{"date": s, "value": v}``, for GPU curves by GPU; None if the curve is missing."""
        return self._by_device(name, lambda curve: _core.experiment_points(self._experiment, curve))

    def total_(self, metric_name: str, start: float | None = None, end: float | None = None) -> Any:
        """Return the integral over time: joules of a power. Bounds are in seconds since the epoch."""
        return self._figure(metric_name, 3, start, end)

    def average_(self, metric_name: str, start: float | None = None, end: float | None = None) -> Any:
        """Return the mean over time."""
        return self._figure(metric_name, 4, start, end)

    def max_(self, metric_name: str, start: float | None = None, end: float | None = None) -> Any:
        """Return the largest value."""
        return self._figure(metric_name, 5, start, end)

    def total_power_draw(self, start: float | None = None, end: float | None = None) -> float | None:
        """Return the joules of all measured processors and GPUs of the machine; None if missing."""
        return _curves.known(_core.experiment_total_power(self._experiment, start, end))

    def get_duration_metric(self, metric_name: str, start: float | None = None, end: float | None = None) -> Any:
        """Return (seconds, start, end) of a curve, for GPU curves by GPU."""
        return self._by_device(metric_name, lambda curve: _core.experiment_figures(self._experiment, curve, start, end)[:3])

    def get_exp_duration(self, start: float | None = None, end: float | None = None) -> tuple[float, float, float]:
        """Return (seconds, start, end) of the recording. The seconds exclude pauses between segments."""
        return _core.experiment_span(self._experiment, start, end)[:3]

    @property
    def segments(self) -> list[tuple[float, float]]:
        """Return the first and last date of each segment."""
        longest = max((_core.experiment_points(self._experiment, i) for i in range(len(self._curves))), key=len)
        return [(points[0]["date"], points[-1]["date"]) for points in longest]

    def interpolate(self, metric_name: str, times: list[float] | str, cumulative: bool = False) -> Any:
        """Return values at given moments, or with ``cumulative`` totals up to them, such as joules up to each epoch's end.

        Values before the start and after the end of the recording are NaN.

        Args:
            metric_name: Name of a curve.
            times: Seconds since the epoch, or the name of a curve such as "accuracy" to use its dates.
            cumulative: Return totals instead of values.
        """
        if isinstance(times, str):
            curve = self.get_curve(times)
            if not isinstance(curve, list):
                raise ValueError(f"{times} was not recorded" if curve is None else f"{times} has several curves")
            times = [point["date"] for segment in curve for point in segment]
        moments = array.array("d", times).tobytes()
        return self._by_device(metric_name, lambda curve: memoryview(
            _core.experiment_interpolate(self._experiment, curve, moments, cumulative)).cast("d").tolist())

    def get_summary(self, start: float | None = None, end: float | None = None) -> dict[str, Any]:
        """Return totals, averages and maxima under AIPowerMeter's names. Missing values are None. Start and end are dates as text."""
        summary: dict[str, Any] = _curves.keyed(self._summary("json", start, end))["experiment"]
        return summary

    def _summary(self, format: str, start: float | None = None, end: float | None = None) -> str:
        return _core.report_text(_core.experiment_summary(self._experiment, start, end), format)

    def __str__(self) -> str:
        return f"Available metrics:\n{_core.experiment_listing(self._experiment)}\nprint() prints the consumption."

    def print(self) -> None:
        """Print the summary."""
        print(self._summary("text"), end="")

    def _plot(self, axes: Any, name: str, **style: Any) -> None:
        curve = self.get_curve(name)
        if curve is None:
            raise ValueError(f"{name} was not recorded")
        for device, segments in curve.items() if isinstance(curve, dict) else [(None, curve)]:
            label: str | None = name if device is None else f"{name}:{device}"
            for points in segments:
                axes.plot([datetime.datetime.fromtimestamp(point["date"]) for point in points],
                          [point["value"] for point in points], label=label, **style)
                label = None  # one entry in the legend

    def display_curves(self, metric_names: list[str], saveto: str | None = None) -> None:
        """Draw curves with matplotlib on the screen or to a file."""
        plot = _matplotlib()
        figure, axes = plot.subplots()
        for name in metric_names:
            self._plot(axes, name)
        axes.legend()
        _show(plot, figure, saveto)

    def display_2_curves(self, metric_name1: str, metric_name2: str, saveto: str | None = None) -> None:
        """Draw two curves over time, each with its own axis."""
        plot = _matplotlib()
        figure, axes = plot.subplots()
        for name, own, color in ((metric_name1, axes, "tab:blue"), (metric_name2, axes.twinx(), "tab:red")):
            self._plot(own, name, color=color)
            own.set_ylabel(name, color=color)
        _show(plot, figure, saveto)


def _matplotlib() -> Any:
    try:
        import matplotlib.pyplot as plot
    except ImportError:
        raise ImportError("drawing needs matplotlib: pip install matplotlib") from None
    return plot


def _show(plot: Any, figure: Any, saveto: str | None) -> None:
    figure.autofmt_xdate()
    if saveto is None:
        plot.show()
    else:
        figure.savefig(saveto)
        plot.close(figure)
