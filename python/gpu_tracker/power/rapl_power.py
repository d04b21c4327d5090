"""CPU use, memory and power of processes. A process is a PID, or an object with an attribute ``pid``, as in psutil.

``root`` is a folder that contains ``proc`` and ``sys``, instead of /. Use it in a container with the host's files.
"""
import os
from collections.abc import Iterable
from typing import Any

from . import _curves, _recording, rapl

__all__ = ["is_rapl_compatible", "get_metrics", "get_power", "get_rel_power", "get_cpu_uses", "get_mem_uses",
           "get_relative_mem_use", "get_processes", "Process"]

_NAMES = ("intel_power", "psys_power", "cpu_power", "dram_power", "uncore_power")
_RECORDED = {"cpu_power": "total_cpu_power", "dram_power": "total_dram_power"}  # other names in records


class Process:
    """A process by its ID, for functions of this module."""

    def __init__(self, pid: int) -> None:
        self.pid = pid


def get_processes(pid_list: Iterable[int]) -> list[Process]:
    """Return the existing processes."""
    return [Process(int(pid)) for pid in pid_list if os.path.exists(f"/proc/{int(pid)}")]


def is_rapl_compatible(root: str | os.PathLike[str] | None = None) -> tuple[bool, str]:
    """Return whether the energy of the processors can be measured, and a description."""
    return _curves.sources_of("cpu_energy", None if root is None else os.fspath(root))


def get_metrics(pid_list: Iterable[Any], period: float = 2.0, root: str | os.PathLike[str] | None = None) -> dict[str, Any]:
    """Measure for ``period`` seconds and return the part "cpu" of a record. Missing power is left out."""
    pids = [int(getattr(process, "pid", process)) for process in pid_list]
    folder = None if root is None else os.fspath(root)
    cpu: dict[str, Any] = _recording.measure(pids, period, folder)["cpu"]
    return cpu


def get_cpu_uses(process_list: Iterable[Any], period: float = 2.0) -> dict[int, float]:
    """Measure for ``period`` seconds the share of each process and its descendants in the CPU time of the machine."""
    uses: dict[int, float] = get_metrics(process_list, period)["per_process_cpu_uses"]
    return uses


def get_mem_uses(process_list: Iterable[Any]) -> tuple[dict[int, float], dict[int, float]]:
    """Return memory by process in bytes: proportional (PSS) and unshared (USS)."""
    metrics = get_metrics(process_list, 0.0)
    return metrics["per_process_mem_use_abs"], metrics["per_process_mem_use_uss"]


def get_relative_mem_use(mem_info_per_process: dict[int, float]) -> dict[int, float]:
    """Convert bytes by process to shares of the memory in use on the machine."""
    used: float = get_metrics([os.getpid()], 0.0)["total_mem_use"]
    parts: dict[int, float] = _curves.scaled(mem_info_per_process, 1, used)
    return parts


def get_rel_power(rel_uses: dict[int, float], power: float) -> dict[int, float]:
    """Return the power of each process by its share of the use."""
    watts: dict[int, float] = _curves.scaled(rel_uses, power, 1)
    return watts


def get_power(diff: rapl.RAPLDifference | float = 1.0, root: str | os.PathLike[str] | None = None) -> dict[str, float | None]:
    """Return the power of the machine in watts: intel_power (all packages) and psys_power, None if missing. With counters, also
    cpu_power (cores), dram_power and uncore_power.

    Args:
        diff: Difference of two `rapl.RAPLSample`, or the seconds to measure with any available counter.
        root: See the module; used with a number of seconds.
    """
    if isinstance(diff, rapl.RAPLDifference):
        found = {name: watts for name in _NAMES if (watts := diff.watts(name)) == watts}  # false for NaN
    else:
        metrics = get_metrics([os.getpid()], float(diff), root)
        found = {name: metrics[recorded] for name in _NAMES if (recorded := _RECORDED.get(name, name)) in metrics}
    return {"intel_power": None, "psys_power": None, **found}
