"""Recording an experiment, and reading what was recorded."""
import datetime
import logging
import os
import time
from collections.abc import Iterable
from typing import Any

from .. import _core
from . import _curves, _points, gpu_power, model_complexity, parsers, prometheus_client, rapl_power
from ._recording import STOP_MESSAGE, Recording, Server

__all__ = ["STOP_MESSAGE", "EXP_DONE", "Experiment", "ExpResults", "integrate", "total", "interpolate", "cumsum",
           "humanize_bytes", "joules_to_wh", "joules_to_kwh", "time_to_sec"]

EXP_DONE = "Done"

_logger = logging.getLogger("gpu_tracker")

Points = list[dict[str, float]]


def integrate(metric: Points, start: float | None = None, end: float | None = None, allow_None: bool = False) -> Any:
    """The integral over time up to each point of a segment, joules of watts; the last is that of the whole.

    Args:
        metric: Points ``{"date": seconds, "value": v}``, straight between them.
        start: Points before it are left out.
        end: Points after it are left out.
        allow_None: Tell None where a value is None, and go on, instead of returning None for the whole.

    Raises:
        ValueError: No point lies between the bounds.
    """
    sums = _points.integrate(metric, start, end)
    if not sums and metric:
        raise ValueError(f"no point lies between {start} and {end}: "
                         f"they go from {metric[0]['date']} to {metric[-1]['date']}")
    return None if None in sums and not allow_None else sums or [0.0]


def total(metric: Any, start: float | None = None, end: float | None = None) -> Any:
    """The integral over time of segments, or by card of such, as `ExpResults.get_curve` returns them; None when there is nothing."""
    if isinstance(metric, dict):
        return _curves.Cards((device, total(segments, start, end)) for device, segments in metric.items())
    if not metric or not any(metric):
        return None
    return _points.known(_core.Experiment([("CPU", "", None, metric)]).figures(0, start, end)[3])


def interpolate(metric1: Points, metric2: Points) -> tuple[Points, Points]:
    """Both curves at the dates of both. Outside its own dates a curve stays as it was first or last.

    `ExpResults.interpolate` has the values of a recorded curve, or its totals, at any moments.
    """
    return _points.align(metric1, metric2)


def cumsum(metric: Points) -> list[float]:
    """Sums of the values up to each point."""
    return _points.running_sums(metric)


def humanize_bytes(num: float, suffix: str = "B") -> str:
    """Bytes for people, "4.6GiB"."""
    return _points.bytes_text(num, suffix)


def joules_to_wh(n: Any) -> Any:
    """Watt-hours of joules, or of each of several."""
    return _points.scaled(n, 1, 3600)


def joules_to_kwh(n: Any) -> Any:
    """Kilowatt-hours of joules, or of each of several."""
    return _points.scaled(n, 1, 3.6e6)


def time_to_sec(t: datetime.datetime) -> float:
    """Seconds since the epoch."""
    return _curves.seconds_of(t)


def _is_overridden(driver: Any, method: str) -> bool:
    return getattr(type(driver), method) is not getattr(parsers.JsonParser, method)


def _has_meter(driver: Any) -> bool:
    program = getattr(driver, "wattemeter_exec", None)
    return program is not None and os.path.isfile(program)


class Experiment:
    """Record what processes draw. A process of gpu-tracker's own does the measuring.

    Args:
        driver: Where to: a `parsers.JsonParser`, a `parsers.TrackingFile`, a `prometheus_client.PrometheusClient`, or anything with a
            method ``save_power_metrics(metrics)``, which gets each record. It may have ``erase()``, called first; ``close_driver()``,
            called last; and what `ExpResults` reads.
        model: A PyTorch model whose summary is kept, by torchinfo.
        input_size: What goes into the model, the batch included.
        cont: Add to the recordings there are; they are removed otherwise. A tracking file holds one recording.
        root: A folder that holds ``proc`` and ``sys``, in the place of /: where a container sees its host's.
    """

    def __init__(self, driver: Any, model: Any = None, input_size: Any = None, cont: bool = False,
                 root: str | os.PathLike[str] | None = None) -> None:
        if not isinstance(driver, (parsers.TrackingFile, prometheus_client.PrometheusClient)) and not callable(
                getattr(driver, "save_power_metrics", None)):
            raise TypeError(f"nothing is recorded to a {type(driver).__name__}: it has no method save_power_metrics(metrics)")
        if model is not None and input_size is None:
            raise ValueError("a model was given, and no input_size, without which there is no summary of it")
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
        """Keep the summary of a PyTorch model with the recording, where its driver keeps such."""
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
            options["memory"] = "rss"  # shared pages are asked for only when a record is made
        root = [] if self._root is None else [f"--root={self._root}"]
        words = ["experiment", repr(seconds), *_core.command_line(options), *root, *map(str, pids)]
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
        """Record this process and all below it: the process that does it, and the queue that ends it.

        Args:
            period: Seconds between readings. A tracking file has them all.
            measurement_period: Seconds between records, which tell of the readings since the last one.
        """
        return self._record([os.getpid()], period, measurement_period)

    def measure_from_pid_list(self, pid_list: Iterable[int], period: float = 1,
                              measurement_period: float = 2) -> tuple[Any, Any]:
        """The same for these processes and all below them."""
        return self._record(pid_list, period, measurement_period)

    def monitor_machine(self, pid_args: Iterable[int] | None = None, parent_pid: int = 1, period: float = 1) -> None:
        """Record until interrupted, or until they end: these processes, or all below ``parent_pid``."""
        process, queue = self._record([parent_pid] if pid_args is None else pid_args, period, period)
        try:
            while process.is_alive():
                time.sleep(0.5)
        except KeyboardInterrupt:
            pass
        finally:
            queue.put(STOP_MESSAGE)


class ExpResults:
    """What was recorded.

    Args:
        db_driver: A `parsers.JsonParser` or `parsers.TrackingFile`, or anything with a method ``load_metrics()`` that returns what theirs
            does; it may have ``get_segments()`` and ``get_model_card()``.

    Raises:
        ValueError: There is no recording.
    """

    def __init__(self, db_driver: Any) -> None:
        self.db_driver = db_driver
        is_ours = isinstance(db_driver, parsers.TrackingFile) or (
            isinstance(db_driver, parsers.JsonParser) and not _is_overridden(db_driver, "load_metrics"))
        self._experiment = db_driver.load() if is_ours else _curves.of_driver(db_driver)
        self._curves = self._experiment.curves()
        self.model_card = db_driver.get_model_card() if hasattr(db_driver, "get_model_card") else None
        if self.model_card is not None:
            self._experiment.set_model(_curves.text_of(self.model_card))

    @property
    def cpu_metrics(self) -> dict[str, Any] | None:
        """The curves of the processors, as drivers load them; None without any."""
        return _curves.as_metrics(self._experiment, "CPU")

    @property
    def gpu_metrics(self) -> dict[str, Any] | None:
        """The same of the GPUs."""
        return _curves.as_metrics(self._experiment, "GPU")

    @property
    def exp_metrics(self) -> dict[str, Any] | None:
        """The same of what the program wrote down itself."""
        return _curves.as_metrics(self._experiment, "Experiment")

    @property
    def wattmeter_metrics(self) -> dict[str, Any] | None:
        """The same of an external power meter."""
        return _curves.as_metrics(self._experiment, "wattmeter")

    def _by_device(self, name: str, figure: Any) -> Any:
        """figure(curve), or {device: figure(curve)}; None for a curve there is not."""
        found = _curves.Cards((_curves.card(device), figure(i)) for i, (_, curve, device) in enumerate(self._curves)
                              if curve == name)
        if not found:
            return None
        return found[None] if None in found else found

    def _figure(self, name: str, number: int, start: float | None, end: float | None) -> Any:
        return self._by_device(name, lambda curve: _points.known(self._experiment.figures(curve, start, end)[number]))

    def list_metrics(self) -> dict[str, list[str]]:
        """The names of the curves by group: CPU, GPU, Experiment, wattmeter."""
        groups: dict[str, list[str]] = {"CPU": [], "GPU": [], "Experiment": [], "wattmeter": []}
        for group, name, _ in self._curves:
            if name not in groups[group]:
                groups[group].append(name)
        return groups

    def print_metrics(self) -> None:
        """Print the names of the curves."""
        print(self._experiment.listing(), end="")

    def get_curve(self, name: str) -> Any:
        """Segments, each a list of ``{"date": s, "value": v}``; by card for figures of GPUs; None for what was not recorded."""
        return self._by_device(name, self._experiment.points)

    def total_(self, metric_name: str, start: float | None = None, end: float | None = None) -> Any:
        """Integral over time: joules of a power. Between two moments in seconds since the epoch, where given."""
        return self._figure(metric_name, 3, start, end)

    def average_(self, metric_name: str, start: float | None = None, end: float | None = None) -> Any:
        """Mean over time."""
        return self._figure(metric_name, 4, start, end)

    def max_(self, metric_name: str, start: float | None = None, end: float | None = None) -> Any:
        """The largest value."""
        return self._figure(metric_name, 5, start, end)

    def total_power_draw(self, start: float | None = None, end: float | None = None) -> float | None:
        """Joules of the processors and the GPUs of the machine, those that were measured; None without any."""
        return _points.known(self._experiment.total_power(start, end))

    def get_duration_metric(self, metric_name: str, start: float | None = None, end: float | None = None) -> Any:
        """(seconds, start, end) of a curve; by card for figures of GPUs."""
        return self._by_device(metric_name, lambda curve: self._experiment.figures(curve, start, end)[:3])

    def get_exp_duration(self, start: float | None = None, end: float | None = None) -> tuple[float, float, float]:
        """(seconds, start, end) of the recording; pauses between segments are left out of the seconds."""
        return self._experiment.span(start, end)[:3]

    @property
    def segments(self) -> list[tuple[float, float]]:
        """First and last date of each stretch of recording."""
        longest = max((self._experiment.points(i) for i in range(len(self._curves))), key=len)
        return [(points[0]["date"], points[-1]["date"]) for points in longest]

    def interpolate(self, metric_name: str, times: list[float] | str, cumulative: bool = False) -> Any:
        """The values at other moments, or with ``cumulative`` the totals up to them: joules up to the end of each epoch.

        NaN before the first and after the last moment of the recording.

        Args:
            metric_name: A curve.
            times: Seconds since the epoch; or the name of a curve, "accuracy", whose dates they are.
            cumulative: Totals instead of values.
        """
        if isinstance(times, str):
            curve = self.get_curve(times)
            if not isinstance(curve, list):
                raise ValueError(f"{times} was not recorded" if curve is None else f"{times} has several curves")
            times = [point["date"] for segment in curve for point in segment]
        moments = [float(moment) for moment in times]
        return self._by_device(metric_name, lambda curve: self._experiment.interpolate(curve, moments, cumulative))

    def get_summary(self, start: float | None = None, end: float | None = None) -> dict[str, Any]:
        """Totals, averages and maxima under AIPowerMeter's names; None for what was not measured. Start and end are dates as text."""
        summary: dict[str, Any] = _curves.keyed(self._experiment.summary(start, end)[0])["experiment"]
        return summary

    def __str__(self) -> str:
        return f"Available metrics:\n{self._experiment.listing()}\nprint() tells what was consumed."

    def print(self) -> None:
        """Print the summary."""
        print(self._experiment.summary(None, None)[1], end="")

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
        """Draw curves with matplotlib, on the screen or into a file."""
        plot = _matplotlib()
        figure, axes = plot.subplots()
        for name in metric_names:
            self._plot(axes, name)
        axes.legend()
        _show(plot, figure, saveto)

    def display_2_curves(self, metric_name1: str, metric_name2: str, saveto: str | None = None) -> None:
        """Draw two curves over one time, each with an axis of its own."""
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
