"""Drivers that store and read experiments."""
import datetime
import json
import os
import subprocess
from typing import Any

from .. import _core
from . import _curves

__all__ = ["SEGMENT_END", "JsonParser", "TrackingFile"]

SEGMENT_END = "END OF RECORDING SEGMENT"

_METADATA = "metadata.json"
_FILES = ("power_metrics.json", "results_exp.json", "model_summary.json", _METADATA, "omegawatt.csv")

Metrics = dict[str, Any] | None


class _Recorded:
    """Methods that read a recording in the form of AIPowerMeter's drivers. Missing parts are None."""

    folder: str

    def load(self) -> _core.Handle:
        """Return the recording as curves."""
        return _core.experiment(self.folder)

    def _exists(self) -> bool:
        return os.path.exists(self.folder)

    def _load(self, group: str) -> Metrics:
        return _curves.as_metrics(self.load(), group) if self._exists() else None

    def load_cpu_metrics(self) -> Metrics:
        """Return curves of the processors: ``{name: {"dates": [...], "values": [...]}}``, summed over processes."""
        return self._load("CPU")

    def load_gpu_metrics(self) -> Metrics:
        """Return curves of the GPUs, by GPU: ``{name: {0: {"dates": [...], "values": [...]}}}``."""
        return self._load("GPU")

    def load_exp_metrics(self) -> Metrics:
        """Return curves that the program saved, such as accuracy and loss."""
        return self._load("Experiment")

    def load_wattmeter_metrics(self) -> Metrics:
        """Return channels of an external power meter. Dates are seconds since the epoch."""
        return self._load("wattmeter")

    def load_metrics(self) -> tuple[Metrics, Metrics, Metrics, Metrics]:
        """Return the curves of the processors, the GPUs, the program and the power meter."""
        if not self._exists():
            return None, None, None, None
        cpu, gpu, results, meter = (_curves.as_metrics(recording, group)
                                    for recording in [self.load()] for group in _curves.GROUPS)
        return cpu, gpu, results, meter

    def get_segments(self) -> list[datetime.datetime]:
        """Return the ends of recordings that were continued later."""
        return _curves.segment_ends(self.load()) if self._exists() else []


class JsonParser(_Recorded):
    """A folder with AIPowerMeter's layout. It also reads AIPowerMeter's recordings.

    Args:
        location: Folder. An experiment creates it if it is missing.
        meta_data: Description of the experiment for metadata.json.
    """

    def __init__(self, location: str, meta_data: Any = None) -> None:
        self.folder = os.fspath(location)
        self.meta_data = meta_data
        #: Program that prints values of an OmegaWatt meter. If it exists, it runs during an experiment.
        self.wattemeter_exec: str | None = None
        self.power_metric_filename = os.path.join(self.folder, "power_metrics.json")
        self.exp_metric_filename = os.path.join(self.folder, "results_exp.json")
        self.model_card_file = os.path.join(self.folder, "model_summary.json")
        self.wattmeter_logfile = os.path.join(self.folder, "omegawatt.csv")

    def _exists(self) -> bool:
        return any(map(os.path.exists, (self.power_metric_filename, self.exp_metric_filename, self.wattmeter_logfile)))

    def erase(self) -> None:
        """Remove the recording. Other files in the folder remain."""
        for name in _FILES:
            if os.path.exists(path := os.path.join(self.folder, name)):
                os.unlink(path)

    def _write(self, path: str, text: str, flag: int = os.O_APPEND) -> None:
        os.makedirs(self.folder, exist_ok=True)
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | flag, 0o666)
        with open(file, "w", encoding="utf-8") as opened:
            opened.write(text)

    def _save_metadata(self) -> None:
        """Write ``meta_data`` and the date to metadata.json, unless it exists."""
        description = self.meta_data or ""
        if not isinstance(description, str):
            description = json.dumps(description)
        date = datetime.datetime.now().isoformat(" ", "microseconds")
        try:
            self._write(os.path.join(self.folder, _METADATA), json.dumps({"description": description, "date": date}) + "\n",
                        os.O_EXCL)
        except FileExistsError:
            pass

    def save_power_metrics(self, metrics: dict[str, Any]) -> None:
        """Append a record with the present date: ``{"cpu": {...}, "gpu": {...}}``. `experiment.Experiment` calls this method."""
        self._write(self.power_metric_filename, _curves.record_of(metrics))

    def close_driver(self) -> None:
        """End the segment of recording."""
        self._write(self.power_metric_filename, json.dumps(SEGMENT_END) + "\n")

    def save_exp_metrics(self, metrics: dict[str, Any]) -> None:
        """Append values of the program with the present date, such as ``{"accuracy": 0.9}``. They become curves."""
        self._write(self.exp_metric_filename, _curves.record_of(metrics))

    def save_model_card(self, model_card: dict[str, Any]) -> None:
        """Save the summary of a model."""
        beside = f"{self.model_card_file}.{os.getpid()}"
        self._write(beside, _curves.text_of(model_card) + "\n", os.O_EXCL)
        os.replace(beside, self.model_card_file)

    def get_model_card(self) -> dict[str, Any] | None:
        """Return the saved summary of a model; None if missing."""
        try:
            with open(self.model_card_file, encoding="utf-8") as file:
                card: dict[str, Any] = json.load(file)
        except FileNotFoundError:
            return None
        return card

    def save_wattmeter_metrics(self) -> subprocess.Popen[bytes]:
        """Start ``wattemeter_exec``. It writes omegawatt.csv until it is terminated."""
        if self.wattemeter_exec is None:
            raise ValueError("wattemeter_exec is not set")
        os.makedirs(self.folder, exist_ok=True)
        with open(self.wattmeter_logfile, "wb") as file:
            return subprocess.Popen([self.wattemeter_exec, "--tty=/dev/ttyUSB0", "--nb=6"], stdout=file,
                                    stderr=subprocess.STDOUT)


class TrackingFile(_Recorded):
    """A tracking file, like those of ``gpu-tracker run --tracking-file`` and `gpu_tracker.Tracker`. It contains one recording.

    Args:
        location: File. Its name ends in .csv or .sqlite.
    """

    def __init__(self, location: str) -> None:
        self.folder = os.fspath(location)

    def erase(self) -> None:
        """Remove the file."""
        if self._exists():
            os.unlink(self.folder)

    def get_model_card(self) -> None:
        """Return None: tracking files do not contain model summaries."""
        return None
