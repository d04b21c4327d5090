"""Power, memory and use of GPUs."""
import os
from collections.abc import Iterable
from typing import Any

from .. import _core
from . import _curves

__all__ = ["is_nvidia_compatible", "get_nvidia_gpu_power", "get_gpu_use_pmon"]


def is_nvidia_compatible() -> tuple[bool, str]:
    """Whether power of GPUs can be measured, and a sentence about it."""
    return _core.power_source("gpu", None)


def get_nvidia_gpu_power(pid_list: Iterable[int] | None = None, nsample: int = 1) -> dict[str, Any]:
    """The figures of each GPU over ``nsample`` seconds, by the number of the card.

    Args:
        pid_list: The processes whose part is told, and all below them; None: all who use the GPUs.
        nsample: How long to measure.
    """
    pids = [os.getpid()] if pid_list is None else [int(pid) for pid in pid_list]
    metrics = _curves.keyed(_core.measure_power(pids, float(nsample), None, pid_list is None))
    figures: dict[str, Any] = metrics.get("gpu", {})
    return figures


def get_gpu_use_pmon(nsample: int = 1) -> dict[int, dict[int, float]]:
    """The part of each GPU's SM time, over ``nsample`` seconds, that each process used: ``{card: {pid: 0.5}}``."""
    uses: dict[int, dict[int, float]] = get_nvidia_gpu_power(None, nsample).get("per_gpu_per_pid_utilization_absolute", {})
    return uses
