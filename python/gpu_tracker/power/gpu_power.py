"""Power, memory and use of GPUs."""
import json
import os
from collections.abc import Iterable
from typing import Any

from .. import _core


def is_nvidia_compatible() -> tuple[bool, str]:
    """Whether power of GPUs can be measured, and a sentence about it."""
    return _core.power_source("gpu")


def _with_numbers(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {int(key) if key.isdigit() else key: _with_numbers(item) for key, item in value.items()}


def get_nvidia_gpu_power(pid_list: Iterable[int] | None = None, nsample: int = 1) -> dict[str, Any]:
    """The figures of each GPU over ``nsample`` seconds, by the number of the card.

    Args:
        pid_list: The processes whose part is told; this one when None.
        nsample: How long to measure.
    """
    pids = [os.getpid()] if pid_list is None else [int(pid) for pid in pid_list]
    metrics = json.loads(_core.measure_power(pids, float(nsample)))
    return {name: _with_numbers(value) for name, value in metrics.get("gpu", {}).items()}
