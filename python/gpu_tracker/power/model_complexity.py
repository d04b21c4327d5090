"""Summaries of models by torchinfo."""
from typing import Any

from . import _curves

__all__ = ["get_summary", "to_bytes"]


def to_bytes(num: int) -> float:
    """Return the megabytes of a number of parameters of 4 bytes."""
    megabytes: float = _curves.scaled(num, 4, 1e6)
    return megabytes


def get_summary(model: Any, input_size: Any, device: Any = None) -> dict[str, Any]:
    """Count parameters of a PyTorch model, and multiplications and additions of a forward pass.

    Args:
        model: PyTorch model.
        input_size: Shape of the input, including the batch.
        device: Device of the computation. Default: torchinfo chooses.
    """
    try:
        import torchinfo
    except ImportError:
        raise ImportError("the summary of a model needs torchinfo: pip install torchinfo") from None
    found = torchinfo.summary(model, input_size=input_size, device=device, verbose=0)
    return {"input_size": input_size, "total_input": found.total_input, "total_params": found.total_params,
            "trainable_params": found.trainable_params, "total_mult_adds": found.total_mult_adds}
