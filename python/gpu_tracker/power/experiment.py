"""Recording an experiment, and reading what was recorded."""
import json
import logging
import math
import os
import subprocess
import time
from typing import Any

from .. import _core, _program
from . import gpu_power, parsers, prometheus_client, rapl_power

STOP_MESSAGE = "Stop"

_READY_SECONDS = 60.0
_logger = logging.getLogger("gpu_tracker")

Segments = list[list[dict[str, float]]]


class Recording:
    """The process that records, and its queue: ``put(STOP_MESSAGE)`` ends it and returns when all is written."""

    def __init__(self, words: list[str]) -> None:
        self._owner = os.getpid()
        self._sampler: _core.Sampler | None = _core.Sampler(_program.find(), ["experiment", *words])
        message = self._receive(_READY_SECONDS)
        if message is None or message[0] != "ready":
            raise RuntimeError("the recorder did not start")
        self.pid = message[1]

    def _receive(self, seconds: float) -> Any:
        """The next message that is no warning; None when there is none in time."""
        end = time.monotonic() + seconds
        while self._sampler and (message := self._sampler.receive(max(0.0, end - time.monotonic()))):
            if message[0] != "warning":
                return message
            _logger.warning("%s", message[1])
        return None

    def put(self, message: object) -> None:
        """End the recording when told so."""
        if message != STOP_MESSAGE or self._sampler is None or os.getpid() != self._owner:
            return
        try:
            self._sampler.stop()
        except EOFError:
            pass  # all processes had ended: it has said how that went
        self.join()

    def join(self, timeout: float = 60.0) -> None:
        """Wait until it has ended."""
        if self._receive(timeout) is not None and self._sampler:
            self._sampler.close()
            self._sampler = None

    def is_alive(self) -> bool:
        """Whether it still records."""
        return self._sampler is not None and self._receive(0.0) is None


class _Server:
    """``gpu-tracker serve`` in the place of a recorder."""

    def __init__(self, address: str, pids: list[int]) -> None:
        words = [_program.find(), "serve", "--compat=aipowermeter", f"--listen={address}"]
        self._process = subprocess.Popen([*words, *(f"--pid={pid}" for pid in pids)], stderr=subprocess.PIPE, text=True)
        self.pid = self._process.pid
        time.sleep(0.3)
        if self._process.poll() is not None:
            _, trouble = self._process.communicate()
            raise RuntimeError(trouble.strip())

    def put(self, message: object) -> None:
        """End it when told so."""
        if message == STOP_MESSAGE:
            self._process.terminate()
            self.join()

    def join(self, timeout: float = 60.0) -> None:
        """Wait until it has ended."""
        self._process.communicate(timeout=timeout)

    def is_alive(self) -> bool:
        """Whether it still answers."""
        return self._process.poll() is None


class Experiment:
    """Record what processes draw. A process of gpu-tracker's own does the measuring.

    Args:
        driver: Where to: a `parsers.JsonParser` or a `prometheus_client.PrometheusClient`.
        model: A PyTorch model whose summary is kept, by torchinfo.
        input_size: What goes into the model, the batch included.
        cont: Add to the recordings there are; they are removed otherwise.
    """

    def __init__(self, driver: Any, model: Any = None, input_size: Any = None, cont: bool = False) -> None:
        if not isinstance(driver, (parsers.JsonParser, prometheus_client.PrometheusClient)):
            raise TypeError("recordings go to a JsonParser or a PrometheusClient")
        if model is not None and input_size is None:
            raise ValueError("a model was given, and no input_size, without which there is no summary of it")
        self.db_driver = driver
        if not cont:
            driver.erase()
        if model is not None and isinstance(driver, parsers.JsonParser):
            driver.save_model_card(_summary_of(model, input_size))
        self.rapl_available, rapl = rapl_power.is_rapl_compatible()
        self.nvidia_available, nvidia = gpu_power.is_nvidia_compatible()
        for available, device, sentence in ((self.rapl_available, "processors", rapl),
                                            (self.nvidia_available, "GPUs", nvidia)):
            if not available:
                _logger.warning("power of the %s will not be measured: %s", device, sentence)

    def _record(self, pids: list[int], period: float, measurement_period: float) -> tuple[Any, Any]:
        driver = self.db_driver
        if isinstance(driver, prometheus_client.PrometheusClient):
            server = _Server(driver.address, pids)
            return server, server
        description = driver.meta_data if isinstance(driver.meta_data, str) else json.dumps(driver.meta_data or "")
        recording = Recording([driver.folder, description, repr(float(period)), repr(float(measurement_period)),
                               *map(str, pids)])
        return recording, recording

    def measure_yourself(self, period: float = 1, measurement_period: float = 2) -> tuple[Any, Any]:
        """Record this process and all below it: the process that does it, and the queue that ends it.

        Args:
            period: Seconds between readings.
            measurement_period: Seconds between records.
        """
        return self._record([os.getpid()], period, measurement_period)

    def measure_from_pid_list(self, pid_list: list[int], period: float = 1,
                              measurement_period: float = 2) -> tuple[Any, Any]:
        """The same for these processes and all below them."""
        return self._record([int(pid) for pid in pid_list], period, measurement_period)

    def monitor_machine(self, pid_args: list[int] | None = None, parent_pid: int = 1, period: float = 1) -> None:
        """Record until interrupted: these processes, or all below ``parent_pid``. Does not return before that."""
        process, queue = self._record(pid_args or [parent_pid], period, period)
        try:
            while process.is_alive():
                time.sleep(0.5)
        except KeyboardInterrupt:
            pass
        finally:
            queue.put(STOP_MESSAGE)


def _summary_of(model: Any, input_size: Any) -> dict[str, Any]:
    import torchinfo

    summary = torchinfo.summary(model, input_size=input_size, verbose=0)
    return {"total_params": summary.total_params, "trainable_params": summary.trainable_params,
            "total_mult_adds": summary.total_mult_adds}


class ExpResults:
    """What was recorded.

    Args:
        db_driver: A `parsers.JsonParser` or `parsers.TrackingFile`.

    Raises:
        ValueError: There is no recording.
    """

    def __init__(self, db_driver: Any) -> None:
        self.db_driver = db_driver
        self._experiment: _core.Experiment = db_driver.load()
        self._curves = self._experiment.curves()
        self.model_card = db_driver.get_model_card()

    def _by_device(self, name: str, figure: Any) -> Any:
        """figure(curve), or {device: figure(curve)}; None for a curve there is not."""
        found = {device: figure(i) for i, (_, curve, device) in enumerate(self._curves) if curve == name}
        if not found:
            return None
        return found[None] if None in found else found

    def _figure(self, name: str, number: int, start: float | None, end: float | None) -> Any:
        def figure(curve: int) -> float | None:
            value = self._experiment.figures(curve, start, end)[number]
            return None if math.isnan(value) else value

        return self._by_device(name, figure)

    def list_metrics(self) -> dict[str, list[str]]:
        """The names of the curves by group: CPU, GPU, Experiment, wattmeter."""
        groups: dict[str, list[str]] = {"CPU": [], "GPU": [], "Experiment": [], "wattmeter": []}
        for group, name, _ in self._curves:
            if name not in groups[group]:
                groups[group].append(name)
        return groups

    def print_metrics(self) -> None:
        """Print the names of the curves."""
        for group, names in self.list_metrics().items():
            print(group)
            print(names or "      NOT AVAILABLE")

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

    def total_power_draw(self) -> float | None:
        """Joules of the processors and the GPUs of the machine, those that were measured; None without any."""
        measured = [total for name in ("intel_power", "nvidia_power") if (total := self.total_(name)) is not None]
        return math.fsum(measured) if measured else None

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

    def interpolate(self, metric_name: str, times: list[float], cumulative: bool = False) -> Any:
        """The values at other moments, or with ``cumulative`` the totals up to them: accuracy of each epoch against joules.

        NaN before the first and after the last moment of the recording.
        """
        moments = [float(moment) for moment in times]
        return self._by_device(metric_name, lambda curve: self._experiment.interpolate(curve, moments, cumulative))

    def get_summary(self, start: float | None = None, end: float | None = None) -> dict[str, Any]:
        """Totals, averages and maxima under AIPowerMeter's names; None for what was not measured."""
        summary: dict[str, Any] = json.loads(self._experiment.summary(start, end)[0])["experiment"]
        return summary

    def __str__(self) -> str:
        return self._experiment.summary(None, None)[1].rstrip("\n")

    def print(self) -> None:
        """Print the summary."""
        if self.model_card:
            print(f"Model: {self.model_card.get('total_params')} parameters, "
                  f"{self.model_card.get('total_mult_adds')} multiplications and additions")
        print(self)

    def _plot(self, axes: Any, name: str, **style: Any) -> None:
        import datetime

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
