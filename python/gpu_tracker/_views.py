"""Results as pages, pictures and flat dictionaries. The library draws pages and pictures."""
from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import Any

from . import _core


def frame(page: str, height: int = 600) -> str:
    """Return a page in an iframe, so that its styles and scripts do not affect the notebook."""
    import html

    return f'<iframe srcdoc="{html.escape(page)}" width="100%" height="{height}" style="border:0"></iframe>'


class Picture:
    """Charts of a recording. Notebooks display it; `save` writes it."""

    def __init__(self, tracking_file: str, charts: str | None, width: float | None = None, font: str | None = None) -> None:
        if charts is not None and not isinstance(charts, str):
            raise TypeError(f"charts must be a str, not {type(charts).__name__}; use plot().save(path) to write a file")
        if charts and charts.endswith((".svg", ".png", ".pdf")):
            raise ValueError(f'unknown chart "{charts}"; use plot().save("{charts}") to write a file')
        self._file, self._charts, self._style = tracking_file, charts, (width or 0.0, font)
        self.svg = self._draw("svg").decode()

    def _draw(self, kind: str) -> bytes:
        return _core.report_picture(_core.recording(self._file), self._charts, kind, *self._style)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture to a .svg, .png or .pdf file. PNG and PDF need librsvg."""
        name = os.fspath(path)
        data = self._draw(os.path.splitext(name)[1].lstrip("."))
        with open(name, "wb") as file:
            file.write(data)

    def _repr_svg_(self) -> str:
        return self.svg


# Base unit and factor by the unit of a section.
_FACTORS = {
    "bytes": ("bytes", 1.0), "kilobytes": ("bytes", 1e3), "megabytes": ("bytes", 1e6), "gigabytes": ("bytes", 1e9),
    "terabytes": ("bytes", 1e12), "kibibytes": ("bytes", 2.0**10), "mebibytes": ("bytes", 2.0**20),
    "gibibytes": ("bytes", 2.0**30), "tebibytes": ("bytes", 2.0**40), "milliseconds": ("seconds", 1e-3), "seconds": ("seconds", 1.0),
    "minutes": ("seconds", 60.0), "hours": ("seconds", 3600.0), "days": ("seconds", 86400.0)}
_SCOPES = ("system_", "main_", "descendants_", "combined_")
# Units of values that are not metrics.
_UNITS = {"energy": "joules"}
_UNITS_OF = {"memory": "bytes", "memory_limit": "bytes",
             "time": "seconds", "killed_at": "bytes", "refresh": "seconds", "covered": "percent",
             "carbon": "grams", "carbon_intensity": "grams_per_kwh", "price": "", "untold_processes": ""}
_OF_NO_GPU = ("max_gpu_ram", "gpu_utilization", "gpu_totals")


def _is_missing(name: str, missing: Mapping[str, Any]) -> bool:
    return any(name == each or name.startswith(f"{each}.") for each in missing)


def _unit_of_metric(metric: str, units: Mapping[str, str]) -> str | None:
    """Return the unit of a metric: for "system_pressure_memory" the unit of "pressure_memory"."""
    for scope in _SCOPES:
        if metric.startswith(scope) and metric[len(scope):] in units:
            return units[metric[len(scope):]]
    return None


def measured(tree: Mapping[str, Any]) -> dict[str, float]:
    """Return the measured values of a result. Names end in the base unit of the value."""
    missing, behind = tree.get("missing") or {}, tree.get("provenance") or {}
    has_gpu = bool((tree.get("gpu_utilization") or {}).get("system_gpu_count"))
    units = _core.metric_units()
    found = {}
    for section, figures in tree.items():
        if not isinstance(figures, Mapping) or (section in _OF_NO_GPU and not has_gpu):
            continue
        unit, factor = _FACTORS.get(str(figures.get("unit")), (_UNITS.get(section, ""), 1.0))
        for name, value in flat(figures, section).items():
            if _is_missing(path := name.replace("/", "."), missing):
                continue
            leaf = name.rsplit("/", 1)[1]
            own = unit
            if "unit" not in figures or leaf == "untold_processes":
                metric = _unit_of_metric(str((behind.get(path) or {}).get("metric")), units)
                own = metric if metric is not None else _UNITS_OF.get(leaf, unit)
            value *= factor if own == unit else 1.0
            found[f"{name}_{own}" if own else name] = float(round(value)) if own == "bytes" else value
    return found


def flat(tree: Mapping[str, Any], prefix: str) -> dict[str, float]:
    """Return the numbers of a tree by their path, without missing values."""
    found: dict[str, float] = {}
    for key, value in tree.items():
        path = f"{prefix}/{key}" if prefix else str(key)
        if isinstance(value, Mapping):
            found.update(flat(value, path))
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            found[path] = float(value)
    return found


def with_null(value: Any) -> Any:
    """Replace NaN by None, for JSON."""
    if isinstance(value, dict):
        return {key: with_null(part) for key, part in value.items()}
    if isinstance(value, list):
        return [with_null(part) for part in value]
    return None if isinstance(value, float) and math.isnan(value) else value
