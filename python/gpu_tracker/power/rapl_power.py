"""CPU use, memory and power of processes; processes are given as psutil has them, as PIDs, or as anything with a ``pid``."""
import json
from collections.abc import Iterable
from typing import Any

from .. import _core


def _pids(process_list: Iterable[Any]) -> list[int]:
    return [int(getattr(process, "pid", process)) for process in process_list]


def _figure(metrics: dict[str, Any], name: str) -> dict[int, float]:
    return {int(pid): value for pid, value in metrics.get(name, {}).items()}


def is_rapl_compatible() -> tuple[bool, str]:
    """Whether the processors' energy can be measured, and a sentence about it."""
    return _core.power_source("cpu")


def get_metrics(pid_list: Iterable[Any], period: float = 2.0) -> dict[str, Any]:
    """What a record has in its part "cpu", measured for so many seconds from now. Power that is not measured is left out."""
    cpu: dict[str, Any] = json.loads(_core.measure_power(_pids(pid_list), period))["cpu"]
    return {name: _figure(cpu, name) if isinstance(value, dict) else value for name, value in cpu.items()}


def get_cpu_uses(process_list: Iterable[Any], period: float = 2.0) -> dict[int, float]:
    """The part of the machine's CPU time, in so many seconds from now, that each process used, and those below it."""
    return _figure(get_metrics(process_list, period), "per_process_cpu_uses")


def get_mem_uses(process_list: Iterable[Any]) -> tuple[dict[int, float], dict[int, float]]:
    """Bytes of memory by process: shared pages divided among those who share them (PSS), and the unshared ones (USS)."""
    metrics = get_metrics(process_list, 0.0)
    return _figure(metrics, "per_process_mem_use_abs"), _figure(metrics, "per_process_mem_use_uss")


def get_power(period: float = 1.0) -> dict[str, float]:
    """Watts of the machine over so many seconds from now: intel_power, cpu_power, uncore_power, dram_power, psys_power, those
    that are measured."""
    import os

    metrics = get_metrics([os.getpid()], period)
    names = {"intel_power": "intel_power", "psys_power": "psys_power", "uncore_power": "uncore_power",
             "total_cpu_power": "cpu_power", "total_dram_power": "dram_power"}
    return {name: metrics[recorded] for recorded, name in names.items() if recorded in metrics}
