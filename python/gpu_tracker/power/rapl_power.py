"""CPU use, memory and power of processes; processes are given as psutil has them, as PIDs, or as anything with a ``pid``.

``root`` is a folder that holds ``proc`` and ``sys``, in the place of /: where a container sees its host's.
"""
import os
from collections.abc import Iterable
from typing import Any

from .. import _core
from . import _curves, _points, rapl

__all__ = ["is_rapl_compatible", "get_metrics", "get_power", "get_rel_power", "get_cpu_uses", "get_mem_uses",
           "get_relative_mem_use", "get_processes", "Process"]

_NAMES = ("intel_power", "psys_power", "cpu_power", "dram_power", "uncore_power")
_RECORDED = {"cpu_power": "total_cpu_power", "dram_power": "total_dram_power"}  # under other names in records


class Process:
    """A process by its number, for the functions here."""

    def __init__(self, pid: int) -> None:
        self.pid = pid


def get_processes(pid_list: Iterable[int]) -> list[Process]:
    """Those of the processes that exist."""
    return [Process(int(pid)) for pid in pid_list if os.path.exists(f"/proc/{int(pid)}")]


def is_rapl_compatible(root: str | os.PathLike[str] | None = None) -> tuple[bool, str]:
    """Whether the processors' energy can be measured, and a sentence about it."""
    return _core.power_source("cpu", None if root is None else os.fspath(root))


def get_metrics(pid_list: Iterable[Any], period: float = 2.0, root: str | os.PathLike[str] | None = None) -> dict[str, Any]:
    """What a record has in its part "cpu", measured for so many seconds from now. Power that is not measured is left out."""
    pids = [int(getattr(process, "pid", process)) for process in pid_list]
    folder = None if root is None else os.fspath(root)
    cpu: dict[str, Any] = _curves.keyed(_core.measure_power(pids, period, folder, False))["cpu"]
    return cpu


def get_cpu_uses(process_list: Iterable[Any], period: float = 2.0) -> dict[int, float]:
    """The part of the machine's CPU time, in so many seconds from now, that each process used, and those below it."""
    uses: dict[int, float] = get_metrics(process_list, period)["per_process_cpu_uses"]
    return uses


def get_mem_uses(process_list: Iterable[Any]) -> tuple[dict[int, float], dict[int, float]]:
    """Bytes of memory by process: shared pages divided among those who share them (PSS), and the unshared ones (USS)."""
    metrics = get_metrics(process_list, 0.0)
    return metrics["per_process_mem_use_abs"], metrics["per_process_mem_use_uss"]


def get_relative_mem_use(mem_info_per_process: dict[int, float]) -> dict[int, float]:
    """Bytes by process as parts of the memory in use on the machine."""
    used: float = get_metrics([os.getpid()], 0.0)["total_mem_use"]
    parts: dict[int, float] = _points.scaled(mem_info_per_process, 1, used)
    return parts


def get_rel_power(rel_uses: dict[int, float], power: float) -> dict[int, float]:
    """What of ``power`` is each process's, given the part that each has of what draws it."""
    watts: dict[int, float] = _points.scaled(rel_uses, power, 1)
    return watts


def get_power(diff: rapl.RAPLDifference | float = 1.0, root: str | os.PathLike[str] | None = None) -> dict[str, float | None]:
    """Watts of the machine: intel_power (all packages), psys_power, and where there are such counters cpu_power (the cores),
    dram_power and uncore_power. psys_power is None where there is none.

    Args:
        diff: The difference of two samples, ``later - earlier`` of `rapl.RAPLSample`; or for how many seconds from now to measure,
            by whatever counts energy here.
        root: For a number of seconds.
    """
    if isinstance(diff, rapl.RAPLDifference):
        found = {name: watts for name in _NAMES if (watts := diff.watts(name)) == watts}  # NaN is unequal to itself
    else:
        metrics = get_metrics([os.getpid()], float(diff), root)
        found = {name: metrics[recorded] for name in _NAMES if (recorded := _RECORDED.get(name, name)) in metrics}
    return {"intel_power": None, "psys_power": None, **found}
