"""Callbacks that mark epochs and steps of training frameworks as blocks.

    Trainer(callbacks=[gpu_tracker.callbacks.lightning()])            # Lightning
    model.fit(..., callbacks=[gpu_tracker.callbacks.keras()])          # Keras
    Trainer(..., callbacks=[gpu_tracker.callbacks.hugging_face()])     # Hugging Face transformers

Each function imports its framework when called, and returns a callback. The callback marks the blocks "epoch" and "step",
with Lightning and Keras also "validation" and "predict", with Lightning also "test" and "sanity check". Transformers does not
report the start of an evaluation. Epochs have a total count, so that `gpu-tracker top` shows the progress of the training.
"""
import math
import os
from collections.abc import Callable
from typing import Any

from .sub_tracker import SubTracker

__all__ = ["Blocks", "hugging_face", "keras", "lightning"]


class Blocks:
    """Blocks that begin and end in different functions. Ending a block that has not begun has no effect.

    Args:
        sub_tracking_file: See `SubTracker`.
        overwrite: See `SubTracker`.
    """

    def __init__(self, sub_tracking_file: str | os.PathLike[str] | None = None, overwrite: bool = False) -> None:
        self._arguments = (None, sub_tracking_file, overwrite)
        self._open: list[tuple[str, SubTracker]] = []
        self._begun: dict[str, int] = {}

    def begin(self, name: str, remaining: int | None = None) -> None:
        """Begin a block. An open block of the same name was interrupted: it and its inner blocks remain without an end.

        Args:
            name: Name of the block.
            remaining: Number of blocks of this name that are still to begin, including this one. None if unknown.
        """
        for depth, (opened, _) in enumerate(self._open):
            if opened == name:
                del self._open[depth:]
                break
        begun = self._begun.get(name, 0)
        total = begun + remaining if remaining is not None and remaining > 0 else None
        self._begun[name] = begun + 1
        self._open.append((name, SubTracker(name, *self._arguments, total=total).__enter__()))

    def end(self, name: str) -> None:
        """End a block and its inner blocks."""
        while any(opened == name for opened, _ in self._open):
            self._open.pop()[1].__exit__(None, None, None)

    def end_all(self) -> None:
        """End all blocks after the end or interruption of the training."""
        if self._open:
            self.end(self._open[0][0])


_BLOCKS_OF_LIGHTNING = {
    "sanity check": ("on_sanity_check_start", "on_sanity_check_end"),
    "epoch": ("on_train_epoch_start", "on_train_epoch_end"),
    "step": ("on_train_batch_start", "on_train_batch_end"),
    "validation": ("on_validation_start", "on_validation_end"),
    "test": ("on_test_start", "on_test_end"),
    "predict": ("on_predict_start", "on_predict_end"),
}
_BLOCKS_OF_KERAS = {
    "epoch": ("on_epoch_begin", "on_epoch_end"),
    "step": ("on_train_batch_begin", "on_train_batch_end"),
    "validation": ("on_test_begin", "on_test_end"),
    "predict": ("on_predict_begin", "on_predict_end"),
}
_BLOCKS_OF_TRANSFORMERS = {
    "epoch": ("on_epoch_begin", "on_epoch_end"),
    "step": ("on_step_begin", "on_step_end"),
}


def _epochs_of_lightning(_: Any, trainer: Any, *__: Any) -> int | None:
    return trainer.max_epochs - trainer.current_epoch if (trainer.max_epochs or 0) > 0 else None


def _epochs_of_keras(callback: Any, epoch: int, *_: Any) -> int | None:
    epochs = (callback.params or {}).get("epochs")
    return epochs - epoch if epochs else None


def _epochs_of_transformers(_: Any, __: Any, state: Any, *___: Any, **____: Any) -> int:
    return int(math.ceil(state.num_train_epochs - (state.epoch or 0)))


def _steps_of_transformers(_: Any, __: Any, state: Any, *___: Any, **____: Any) -> int | None:
    return state.max_steps - state.global_step if state.num_train_epochs <= 1 else None


def _hook(act: Callable[..., None], *name: str) -> Callable[..., None]:
    return lambda self, *_, **__: act(*name)


def _counted(begin: Callable[..., None], name: str, remaining: Callable[..., int | None]) -> Callable[..., None]:
    def hook(self: Any, *given: Any, **named: Any) -> None:
        try:
            count = remaining(self, *given, **named)
        except (AttributeError, TypeError):  # another version of the framework
            count = None
        begin(name, count)

    return hook


def _callback(base: type, table: dict[str, tuple[str, str]], end_all: tuple[str, ...], remake: Callable[..., Any],
              arguments: tuple[str | os.PathLike[str] | None, bool], **counted: Callable[..., int | None]) -> Any:
    """Return a callback for the blocks of a table. Copies and pickles of it mark separate blocks.

    `counted` maps names of blocks to functions that return the number of remaining blocks.
    """
    blocks = Blocks(*arguments)
    methods: dict[str, Callable[..., Any]] = {hook: _hook(blocks.end_all) for hook in end_all}
    for name, (begin, end) in table.items():
        methods[begin], methods[end] = _hook(blocks.begin, name), _hook(blocks.end, name)
    for name, remaining in counted.items():
        methods[table[name][0]] = _counted(blocks.begin, name, remaining)
    methods["__reduce__"] = lambda self: (remake, arguments)
    return type("GPUTrackerBlocks", (base,), methods)()


def lightning(sub_tracking_file: str | os.PathLike[str] | None = None, overwrite: bool = False) -> Any:
    """Return a callback for Lightning's Trainer.

    Args:
        sub_tracking_file: See `SubTracker`.
        overwrite: See `SubTracker`.
    """
    try:
        from lightning.pytorch import Callback
    except ImportError:
        from pytorch_lightning import Callback

    callback = _callback(Callback, _BLOCKS_OF_LIGHTNING, ("on_train_end", "on_exception"), lightning,
                         (sub_tracking_file, overwrite), epoch=_epochs_of_lightning)
    begin_validation = type(callback).on_validation_start

    def on_validation_start(self: Any, trainer: Any, module: Any) -> None:
        if not trainer.sanity_checking:  # the sanity check is a separate block
            begin_validation(self)

    type(callback).on_validation_start = on_validation_start
    return callback


def keras(sub_tracking_file: str | os.PathLike[str] | None = None, overwrite: bool = False) -> Any:
    """Return a callback for Keras's fit, evaluate and predict.

    Args:
        sub_tracking_file: See `SubTracker`.
        overwrite: See `SubTracker`.
    """
    from keras.callbacks import Callback

    return _callback(Callback, _BLOCKS_OF_KERAS, ("on_train_end",), keras, (sub_tracking_file, overwrite),
                     epoch=_epochs_of_keras)


def hugging_face(sub_tracking_file: str | os.PathLike[str] | None = None, overwrite: bool = False) -> Any:
    """Return a callback for the Trainer of Hugging Face's transformers.

    Args:
        sub_tracking_file: See `SubTracker`.
        overwrite: See `SubTracker`.
    """
    from transformers import TrainerCallback

    return _callback(TrainerCallback, _BLOCKS_OF_TRANSFORMERS, ("on_train_end",), hugging_face,
                     (sub_tracking_file, overwrite), epoch=_epochs_of_transformers, step=_steps_of_transformers)
