"""Power, memory and utilization of GPUs."""
import os
from collections.abc import Iterable
from typing import Any

from . import _curves, _recording

__all__ = ["is_nvidia_compatible", "get_nvidia_gpu_power", "get_gpu_use_pmon"]


def is_nvidia_compatible() -> tuple[bool, str]:
    """Return whether GPU power can be measured, and a description."""
    return _curves.sources_of("gpu_power", None)


def get_nvidia_gpu_power(pid_list: Iterable[int] | None = None, nsample: int = 1) -> dict[str, Any]:
    """Measure each GPU for ``nsample`` seconds. Values are by the number of the GPU.

    Args:
        pid_list: Processes to measure, with their descendants. Default: all processes that use the GPUs.
        nsample: Duration in seconds.
    """
    pids = [os.getpid()] if pid_list is None else [int(pid) for pid in pid_list]
    metrics = _recording.measure(pids, float(nsample), None, pid_list is None)
    figures: dict[str, Any] = metrics.get("gpu", {})
    return figures


def get_gpu_use_pmon(nsample: int = 1) -> dict[int, dict[int, float]]:
    """Measure the share of each process in the SM time of each GPU for ``nsample`` seconds: ``{gpu: {pid: 0.5}}``."""
    uses: dict[int, dict[int, float]] = get_nvidia_gpu_power(None, nsample).get("per_gpu_per_pid_utilization_absolute", {})
    return uses
