"""Where experiments are recorded, and read from."""
import json
import os
from typing import Any

from .. import _core

_FILES = ("power_metrics.json", "results_exp.json", "model_summary.json", "metadata.json", "omegawatt.csv")


class JsonParser:
    """A folder laid out as AIPowerMeter's, whose recordings load.

    Args:
        location: The folder; it is made when it is not there.
        meta_data: What the experiment is, kept in metadata.json.
    """

    def __init__(self, location: str, meta_data: Any = None) -> None:
        self.folder = os.fspath(location)
        self.meta_data = meta_data

    def erase(self) -> None:
        """Remove the recording. Other files in the folder stay."""
        for name in _FILES:
            if os.path.exists(path := os.path.join(self.folder, name)):
                os.unlink(path)

    def load(self) -> _core.Experiment:
        """The recording as curves."""
        return _core.Experiment(self.folder)

    def save_model_card(self, model_card: dict[str, Any]) -> None:
        """Keep a model's summary."""
        os.makedirs(self.folder, exist_ok=True)
        with open(os.path.join(self.folder, "model_summary.json"), "w", encoding="utf-8") as file:
            json.dump(model_card, file)

    def get_model_card(self) -> dict[str, Any] | None:
        """A model's summary as it was kept; None without."""
        try:
            with open(os.path.join(self.folder, "model_summary.json"), encoding="utf-8") as file:
                card: dict[str, Any] = json.load(file)
        except FileNotFoundError:
            return None
        return card


class TrackingFile:
    """A recording of ``gpu-tracker run --tracking-file`` or `gpu_tracker.Tracker`, for reading.

    Args:
        location: The .csv or .sqlite file.
    """

    def __init__(self, location: str) -> None:
        self.folder = os.fspath(location)

    def load(self) -> _core.Experiment:
        """The recording as curves."""
        return _core.Experiment(self.folder)

    def get_model_card(self) -> None:
        """Tracking files have none."""
        return None
