"""Display of tables: the first and last rows, and the columns that fit."""
from __future__ import annotations

import html
import shutil
from typing import Any

from . import _core

_ENDS = 5  # rows at the start and at the end
_WIDEST = 32


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    text = " ".join(text.split())
    return text if len(text) <= _WIDEST else text[:_WIDEST - 3] + "..."


def _shown(table: _core.Table) -> list[tuple[Any, ...] | None]:
    """Return the displayed rows, with None for the omitted rows."""
    count = len(table)
    if count <= 2 * _ENDS:
        return list(table._rows(0, count))
    return [*table._rows(0, _ENDS), None, *table._rows(count - _ENDS, count)]


def _fitting(columns: list[list[str]], room: int) -> list[int]:
    """Return the columns that fit. Columns with more different values have priority."""
    kept: list[int] = []
    different = [len(set(column[1:])) for column in columns]
    for number in sorted(range(len(columns)), key=lambda number: -different[number]):
        width = len(columns[number][0]) + 2
        if room + 2 >= width or not kept:
            kept.append(number)
            room -= width
    return sorted(kept)


def text(table: _core.Table) -> str:
    """Return the table as text. The last line is its size."""
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
    """Return the table as HTML."""
    head = "".join(f"<th>{html.escape(name)}</th>" for name in table.column_names)
    body = []
    for row in _shown(table):
        cells = [_cell(value) for value in row] if row else ["..."] * len(table.column_names)
        body.append("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells) + "</tr>")
    return (f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"
            f"<p>{len(table)} rows x {len(table.column_names)} columns</p>")
