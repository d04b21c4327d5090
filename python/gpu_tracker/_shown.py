"""Tables as people see them: the first and last rows, and as many columns as there is room for."""
from __future__ import annotations

import html
import shutil

from . import _core

TYPE_CHECKING = False  # importing typing would take longer than all of this
if TYPE_CHECKING:
    from typing import Any

_ENDS = 5  # rows at the begin and at the end
_WIDEST = 32


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    text = " ".join(text.split())
    return text if len(text) <= _WIDEST else text[:_WIDEST - 3] + "..."


def _shown(table: _core.Table) -> list[tuple[Any, ...] | None]:
    """None stands for what is left out."""
    count = len(table)
    if count <= 2 * _ENDS:
        return list(table._rows(0, count))
    return [*table._rows(0, _ENDS), None, *table._rows(count - _ENDS, count)]


def _fitting(columns: list[list[str]], room: int) -> list[int]:
    """Which columns are shown: those that differ most from row to row go first."""
    kept: list[int] = []
    different = [len(set(column[1:])) for column in columns]
    for number in sorted(range(len(columns)), key=lambda number: -different[number]):
        width = len(columns[number][0]) + 2
        if room + 2 >= width or not kept:
            kept.append(number)
            room -= width
    return sorted(kept)


def text(table: _core.Table) -> str:
    """The table for a terminal, with its size as the last line."""
    rows = _shown(table)
    lines = [[_cell(value) for value in row] if row else ["..."] * len(table.column_names) for row in rows]
    room = shutil.get_terminal_size((100, 24)).columns
    columns = []
    for number, name in enumerate(table.column_names):
        cells = [name, *(line[number] for line in lines)]
        width = max(map(len, cells))
        is_number = all(isinstance(row[number], (int, float)) or row[number] is None for row in rows if row)
        columns.append([cell.rjust(width) if is_number else cell.ljust(width) for cell in cells])
    kept = _fitting(columns, room)
    left = [name for number, name in enumerate(table.column_names) if number not in kept]
    body = ["  ".join(columns[number][line] for number in kept).rstrip() for line in range(len(lines) + 1)]
    size = f"[{len(table)} rows x {len(columns)} columns" + (f"; not shown: {', '.join(left)}]" if left else "]")
    return "\n".join([*(body if kept else []), size])


def page(table: _core.Table) -> str:
    """The table for a notebook."""
    head = "".join(f"<th>{html.escape(name)}</th>" for name in table.column_names)
    body = []
    for row in _shown(table):
        cells = [_cell(value) for value in row] if row else ["..."] * len(table.column_names)
        body.append("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells) + "</tr>")
    return (f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"
            f"<p>{len(table)} rows x {len(table.column_names)} columns</p>")
