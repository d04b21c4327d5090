"""`SubTracker`. Its calls are marked in C."""
from __future__ import annotations

import errno
import os
import sys

from . import _core, _names

TYPE_CHECKING = False  # avoids the import of typing, which takes longer than the rest of the package
if TYPE_CHECKING:
    from typing import Any
else:
    Any = object

_told: set[bytes | None] = set()  # files that a warning was about


class SubTracker(_core.Block):
    """Mark a block of code. Each use as a context manager is one call of the block.

    `SubTrackingAnalyzer` joins the calls with the tracking file of a `Tracker`. An object can be entered again before it is
    left, by recursion, threads and asyncio tasks. Copies record to the same file. If another process uses the file, an unpickled
    object records to NAME-<pid> beside it.

    Example:

        with gpu_tracker.SubTracker("train", sub_tracking_file="blocks.csv"):
            train()

    Args:
        code_block_name: Name of the block. Values of other types are converted by str(). Default: "FILE:ATTRIBUTE" with the file that
            creates the object, relative to the current folder.
        code_block_attribute: Part after the colon of the default name. Default: the line number.
        sub_tracking_file: A .csv or .sqlite file. All processes of a run share it, including forked processes and those of
            multiprocessing. Default: <pid>.csv in the folder of the environment variable GPU_TRACKER_BLOCKS, or in the current
            folder. If this file exists, <pid>-2.csv is used.
        overwrite: Replace a file of an earlier run. A file of this run is never replaced.
        total: Number of calls of this block. `gpu-tracker top` and `run --status` then show progress and remaining time. None if
            unknown.

    Raises:
        ValueError: The name of the file does not end in .csv or .sqlite, or `total` is less than 1.
        FileExistsError: The file exists and `overwrite` is False.
        FileNotFoundError: The file was removed (at the start or stop of a call).

    Attributes:
        code_block_name: Name of the block. A new name applies to later calls.
        process_id: ID of the process that created the object.
        sub_tracking_file: File that records the block.
    """

    __module__ = "gpu_tracker.sub_tracker"
    _name: object
    _total: int
    process_id: int

    def __init__(self, code_block_name: object = None, code_block_attribute: object = None,
                 sub_tracking_file: str | os.PathLike[str] | None = None, overwrite: bool = False, *,
                 total: int | None = None) -> None:
        if overwrite not in (True, False):
            raise TypeError(f"overwrite={overwrite!r} is neither True nor False")
        if self._is_open():
            raise RuntimeError("the block is running")
        if code_block_name is None:
            frame = sys._getframe(1)
            attribute = frame.f_lineno if code_block_attribute is None else code_block_attribute
            code_block_name = _names.block_name(frame.f_code.co_filename, attribute)
        self.process_id = os.getpid()
        self._total, self._file = 0 if total is None else _count(total), sub_tracking_file
        self.code_block_name = code_block_name
        if sub_tracking_file is None and overwrite:
            sub_tracking_file = os.path.join(os.environ.get("GPU_TRACKER_BLOCKS") or "", f"{os.getpid()}.csv")
        try:
            path = None if sub_tracking_file is None else os.fsencode(sub_tracking_file)
        except TypeError:
            raise TypeError(f"sub_tracking_file must be a str or a path, not {sub_tracking_file!r}") from None
        self._record(path, bool(overwrite), _names.parent_process())

    @property
    def code_block_name(self) -> Any:
        return self.__dict__.get("_name")

    @code_block_name.setter
    def code_block_name(self, name: object) -> None:
        text = "" if name is None else str(name)
        self._set(text.encode("utf-8", "backslashreplace"), self._total)
        self._name = name

    @property
    def sub_tracking_file(self) -> Any:
        path = self._path()[0]
        return self._file if self._file is not None else path if path is None else os.fsdecode(path)

    def _judge(self, code: int, sentence: bytes) -> None:
        """Raise or warn after a call that could not be recorded.

        A full disk must not end the program, so it is one warning for each file. If a surrounding run has ended and removed the
        files of its processes, nothing is reported.
        """
        path, is_own = self._path()
        if code == errno.ENOENT and (is_own or not os.environ.get("GPU_TRACKER_BLOCKS")):
            raise FileNotFoundError(code, sentence.decode(errors="replace"), os.fsdecode(path or b""))
        if code != errno.ENOENT and path not in _told:
            import warnings

            _told.add(path)
            warnings.warn(f"code blocks are no longer recorded: {sentence.decode(errors='replace')}", RuntimeWarning, stacklevel=2)

    # ---- copies and pickles use the same file, and in another process a file beside it ----

    def __getstate__(self) -> dict[str, Any]:
        if "_name" not in self.__dict__:
            raise RuntimeError("SubTracker.__init__ has not been called")
        path, is_own = self._path()
        return {**self.__dict__, "_path": path if is_own else None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "_name" in self.__dict__:
            raise TypeError("the SubTracker is already initialized")
        if not isinstance(state, dict) or "_path" not in state:
            raise TypeError(f"{state!r} is not the state of a SubTracker")
        self.__dict__.update({key: value for key, value in state.items() if key != "_path"})
        self.code_block_name = state["_name"]
        path = state["_path"]
        if path is not None and (self._file is not None or self.process_id == os.getpid()):  # each process has its own default file
            try:
                self._record(path, False, _names.parent_process())
            except FileExistsError:
                stem, suffix = os.path.splitext(path)
                self._record(b"%s-%d%s" % (stem, os.getpid(), suffix), False, _names.parent_process())

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the parts for copies and pickles of every protocol."""
        import copyreg

        return copyreg.__newobj__, (type(self),), self.__getstate__()  # type: ignore[attr-defined]


def _count(total: int) -> int:
    try:
        if 0 < total.__index__() < 2**63:
            return total.__index__()
    except AttributeError:
        raise TypeError(f"total must be the number of calls, an integer of at least 1, not {total!r}") from None
    raise ValueError(f"total must be the number of calls, an integer of at least 1, not {total!r}")
