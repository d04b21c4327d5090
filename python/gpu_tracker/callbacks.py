"""Epochs and steps of training frameworks as blocks of code.

    Trainer(callbacks=[gpu_tracker.callbacks.lightning()])            # Lightning
    model.fit(..., callbacks=[gpu_tracker.callbacks.keras()])          # Keras
    Trainer(..., callbacks=[gpu_tracker.callbacks.hugging_face()])     # Hugging Face transformers

Each function imports its framework when it is called, and returns a callback that marks the blocks "epoch" and "step",
and "validation" where the framework has it, as `SubTracker` does.
"""
from typing import Any

from .sub_tracker import SubTracker

__all__ = ["Blocks", "hugging_face", "keras", "lightning"]


class Blocks:
    """Blocks that begin and end in different functions. Ending what has not begun does nothing.

    Args:
        sub_tracking_file: As for `SubTracker`.
        overwrite: As for `SubTracker`.
    """

    def __init__(self, sub_tracking_file: str | None = None, overwrite: bool = False) -> None:
        self._arguments = (None, sub_tracking_file, overwrite)
        self._trackers: dict[str, SubTracker] = {}
        self._open: list[str] = []

    def begin(self, name: str) -> None:
        """A block begins; one of that name that never ended ends now."""
        self.end(name)
        if name not in self._trackers:
            self._trackers[name] = SubTracker(name, *self._arguments)
        self._trackers[name].__enter__()
        self._open.append(name)

    def end(self, name: str) -> None:
        """A block ends, and with it what began inside."""
        while name in self._open:
            self._trackers[self._open.pop()].__exit__(None, None, None)

    def end_all(self) -> None:
        """Everything ends: training is over, or was interrupted."""
        while self._open:
            self.end(self._open[0])


def lightning(sub_tracking_file: str | None = None, overwrite: bool = False) -> Any:
    """A callback for Lightning's Trainer.

    Args:
        sub_tracking_file: As for `SubTracker`.
        overwrite: As for `SubTracker`.
    """
    try:
        from lightning.pytorch import Callback
    except ImportError:
        from pytorch_lightning import Callback
    blocks = Blocks(sub_tracking_file, overwrite)

    class LightningBlocks(Callback):  # type: ignore[misc]
        def on_train_epoch_start(self, *_: Any) -> None:
            blocks.begin("epoch")

        def on_train_epoch_end(self, *_: Any) -> None:
            blocks.end("epoch")

        def on_train_batch_start(self, *_: Any) -> None:
            blocks.begin("step")

        def on_train_batch_end(self, *_: Any) -> None:
            blocks.end("step")

        def on_validation_start(self, *_: Any) -> None:
            blocks.begin("validation")

        def on_validation_end(self, *_: Any) -> None:
            blocks.end("validation")

        def on_train_end(self, *_: Any) -> None:
            blocks.end_all()

        def on_exception(self, *_: Any) -> None:
            blocks.end_all()

    return LightningBlocks()


def keras(sub_tracking_file: str | None = None, overwrite: bool = False) -> Any:
    """A callback for Keras's fit and evaluate.

    Args:
        sub_tracking_file: As for `SubTracker`.
        overwrite: As for `SubTracker`.
    """
    from keras.callbacks import Callback

    blocks = Blocks(sub_tracking_file, overwrite)

    class KerasBlocks(Callback):  # type: ignore[misc]
        def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
            blocks.begin("epoch")

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            blocks.end("epoch")

        def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
            blocks.begin("step")

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            blocks.end("step")

        def on_test_begin(self, logs: Any = None) -> None:
            blocks.begin("validation")

        def on_test_end(self, logs: Any = None) -> None:
            blocks.end("validation")

        def on_train_end(self, logs: Any = None) -> None:
            blocks.end_all()

    return KerasBlocks()


def hugging_face(sub_tracking_file: str | None = None, overwrite: bool = False) -> Any:
    """A callback for the Trainer of Hugging Face's transformers.

    Args:
        sub_tracking_file: As for `SubTracker`.
        overwrite: As for `SubTracker`.
    """
    from transformers import TrainerCallback

    blocks = Blocks(sub_tracking_file, overwrite)

    class HuggingFaceBlocks(TrainerCallback):  # type: ignore[misc]
        def on_epoch_begin(self, *_: Any, **__: Any) -> None:
            blocks.begin("epoch")

        def on_epoch_end(self, *_: Any, **__: Any) -> None:
            blocks.end("epoch")

        def on_step_begin(self, *_: Any, **__: Any) -> None:
            blocks.begin("step")

        def on_step_end(self, *_: Any, **__: Any) -> None:
            blocks.end("step")

        def on_train_end(self, *_: Any, **__: Any) -> None:
            blocks.end_all()

    return HuggingFaceBlocks()
