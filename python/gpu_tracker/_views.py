"""Results as pages, pictures and plain figures. What they look like comes from the library."""
from __future__ import annotations

import html
import os
from collections.abc import Mapping
from typing import Any

from . import _core


def frame(page: str, height: int = 600) -> str:
    """A page inside a notebook, where its styles and scripts stay by themselves."""
    return f'<iframe srcdoc="{html.escape(page)}" width="100%" height="{height}" style="border:0"></iframe>'


class Picture:
    """Charts of a recording. A notebook shows it; `save` writes it."""

    def __init__(self, tracking_file: str, charts: str | None) -> None:
        self._file, self._charts = tracking_file, charts
        self.svg = _core.recording_picture(tracking_file, charts, "svg").decode()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it; the name ends in .svg, .png or .pdf. PNG and PDF need librsvg."""
        name = os.fspath(path)
        data = _core.recording_picture(self._file, self._charts, os.path.splitext(name)[1].lstrip("."))
        with open(name, "wb") as file:
            file.write(data)

    def _repr_svg_(self) -> str:
        return self.svg


def flat(tree: Mapping[str, Any], prefix: str) -> dict[str, float]:
    """The numbers of a tree that were measured, by their path."""
    found: dict[str, float] = {}
    for key, value in tree.items():
        path = f"{prefix}/{key}" if prefix else str(key)
        if isinstance(value, Mapping):
            found.update(flat(value, path))
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            found[path] = float(value)
    return found
