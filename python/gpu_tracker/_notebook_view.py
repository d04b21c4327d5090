"""Display of cells in a notebook: text in a terminal, HTML in Jupyter."""
import html
import math
import time
from typing import Any

from . import _tables

_KINDS = (("Gen", "gen"), ("GPU", "gpu"))
_STYLE = "text-align:right;padding:1px 8px;font-family:monospace"


def _number(value: Any, style: str = "d") -> str:
    return "n/a" if value is None else format(value, style)


def _where(cell: Any) -> str:
    return f" (In [{cell.number}])" if cell.number is not None else ""


def _bar(parts: list[tuple[float, str]], whole: float) -> str:
    """Return a bar of 200 pixels with coloured parts."""
    spans = "".join(f'<span style="display:inline-block;height:10px;width:{max(0, part) / whole * 200:.0f}px;'
                    f'background:{colour}"></span>' for part, colour in parts if whole)
    return f'<span style="display:inline-block;width:200px;text-align:left;white-space:nowrap">{spans}</span>'


def _row(cells: list[str], tag: str = "td") -> str:
    return "<tr>" + "".join(f'<{tag} style="{_STYLE}">{cell}</{tag}>' for cell in cells) + "</tr>"


def _joules(value: float, error: float = math.nan) -> str:
    def digits(number: float) -> str:
        return format(number, ".0f" if abs(number) >= 100 else ".3g")

    return f"{digits(value)} J" if math.isnan(error) else f"{digits(value)} J +- {digits(error)} J"


def _energy(cell: Any) -> str:
    """Return energy and its error as text."""
    if cell.shares is None:
        return ""
    return _joules(cell.energy, cell.shares.error) + (" (estimated)" if cell.shares.estimated else "")


def _shares(cell: Any) -> str:
    """Return the shares of the energy as text."""
    shares = cell.shares
    return (f" = {_joules(shares.job, shares.job_error)} this tree + {_joules(shares.other)} other processes + "
            f"{_joules(shares.idle)} idle + {_joules(shares.unattributed)} unattributed")


class CellReport:
    """Display of one cell."""

    def __init__(self, cell: Any, compact: bool) -> None:
        self._cell = cell
        self._compact = compact

    def __repr__(self) -> str:
        cell, seconds = self._cell, f"{self._cell.data.time_delta:.3f}s"
        memory = [(title, [_number(value) for value in getattr(cell.data, kind)]) for title, kind in _KINDS]
        energy = _energy(cell)
        if self._compact:
            parts = [f"{title}: {'/'.join(values)} MB" for title, values in memory]
            return " | ".join([*parts, *([energy] if energy else []), seconds]) + _where(cell)
        lines = [f"RAM: Consumed Peaked  Used Total  in {seconds}{_where(cell)}"]
        lines += [f"{title}: {values[0]:>8} {values[1]:>6} {values[2]:>6} MB" for title, values in memory]
        return "\n".join(lines + ([f"Energy: {energy}{_shares(cell)}"] if energy else []))

    def _repr_html_(self) -> str:
        data = self._cell.data
        if self._compact:
            return f"<pre>{html.escape(repr(self))}</pre>"
        rows = [_row(["RAM", "Consumed", "Peaked", "Used total", ""], "th")]
        for title, kind in _KINDS:
            consumed, peaked, used = getattr(data, kind)
            used_now, on_top = used or 0, peaked or 0
            new = min(max(0, consumed or 0), used_now)
            bar = _bar([(used_now - new, "#bbb"), (new, "#4a7"), (on_top, "#e94")], used_now + on_top)
            rows.append(_row([title, *(_number(value) for value in (consumed, peaked)), f"{_number(used)} MB", bar]))
        energy = "" if self._cell.energy is None else f", {_energy(self._cell)}{_shares(self._cell)}"
        caption = f"{data.time_delta:.3f} s{energy}{_where(self._cell)}"
        return f'<table>{"".join(rows)}<caption style="text-align:left">{caption}</caption></table>'


class CellTable:
    """Display of all cells as a table."""

    _COLUMNS = ("cell", "seconds", "RAM consumed", "RAM peaked", "RAM used", "GPU consumed", "GPU peaked", "GPU used",
                "joules", "joules error", "job joules", "job joules error", "estimated")

    def __init__(self, cells: list[Any]) -> None:
        self._rows = [[cell.number, cell.data.time_delta, *cell.data[:6], *self._energy(cell)] for cell in cells]

    @staticmethod
    def _energy(cell: Any) -> list[Any]:
        shares = cell.shares
        if shares is None:
            return [None] * 5
        figures = (shares.total, shares.error, shares.job, shares.job_error)
        return [*(None if math.isnan(value) else value for value in figures), int(shares.estimated)]

    def to_table(self) -> _tables.Table:
        """Return a `gpu_tracker.Table` with memory in MB (10**6 bytes)."""
        names = [name.replace(" ", "_").lower() for name in self._COLUMNS]
        return _tables.Table({name: [row[i] for row in self._rows] for i, name in enumerate(names)})

    def _shown(self) -> list[int]:
        """Return the indexes of columns with at least one value."""
        return [i for i in range(len(self._COLUMNS)) if i < 2 or any(row[i] is not None for row in self._rows)]

    def _titles(self) -> list[str]:
        titles = [f"{name} MB" if name.startswith(("RAM", "GPU")) else name for name in self._COLUMNS]
        return [titles[i] for i in self._shown()]

    def _note(self) -> str:
        shown = {self._COLUMNS[i].split()[0] for i in self._shown()}
        missing = [what for name, what in (("RAM", "RAM"), ("GPU", "GPU memory"), ("joules", "energy")) if name not in shown]
        return f"not measured: {', '.join(missing)}" if missing and self._rows else ""

    def _texts(self) -> list[list[str]]:
        return [[_number(row[i], ".3f" if isinstance(row[i], float) else "d") for i in self._shown()] for row in self._rows]

    def __repr__(self) -> str:
        lines = [self._titles(), *self._texts()]
        widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
        rows = ["  ".join(text.rjust(width) for text, width in zip(line, widths)) for line in lines]
        return "\n".join([*rows, *filter(None, [self._note()])])

    def _repr_html_(self) -> str:
        longest = max((row[1] for row in self._rows), default=0)
        rows = [_row([*self._titles(), ""], "th")]
        for row, texts in zip(self._rows, self._texts()):
            rows.append(_row([*texts, _bar([(row[1], "#4a7")], longest)]))
        return f'<table>{"".join(rows)}<caption style="text-align:left">{self._note()}</caption></table>'


class RunPlot:
    """Display of memory over time as SVG, with the cells as bands."""

    _WIDTH, _HEIGHT, _MARGIN = 720, 200, 60

    def __init__(self, history: tuple[Any, ...], cells: list[Any]) -> None:
        self._history = history
        self._cells = cells
        moments = [*(history[0] if history else []), *(cell.start + cell.data.time_delta for cell in cells)]
        self._begin = min([*moments, *(cell.start for cell in cells)], default=time.time())
        self._length = max(max(moments, default=self._begin) - self._begin, 1e-9)

    def __repr__(self) -> str:
        samples = len(self._history[0]) if self._history else 0
        return f"<{len(self._cells)} cells and {samples} samples in {self._length:.1f} s: shown as a plot in Jupyter>"

    def _x(self, moment: float) -> float:
        return self._MARGIN + (moment - self._begin) / self._length * (self._WIDTH - self._MARGIN)

    def _bands(self) -> str:
        bands = []
        for i, cell in enumerate(self._cells):
            left, right = self._x(cell.start), self._x(cell.start + cell.data.time_delta)
            title = html.escape(f"In [{cell.number}]: {cell.data.time_delta:.3f} s")
            bands.append(f'<rect x="{left:.1f}" width="{max(1, right - left):.1f}" y="10" height="{self._HEIGHT - 30}" '
                         f'fill="{("#4a7", "#47a")[i % 2]}" opacity="0.25"><title>{title}</title></rect>')
            if right - left > 30 and cell.number is not None:
                bands.append(f'<text x="{left + 3:.1f}" y="{self._HEIGHT - 25}" fill="#777">[{cell.number}]</text>')
        return "".join(bands)

    def _line(self, values: list[float | None], top: float, colour: str) -> str:
        points = [f"{self._x(moment):.1f},{self._HEIGHT - 20 - value / top * (self._HEIGHT - 30):.1f}"
                  for moment, value in zip(self._history[0], values) if value is not None]
        if not points:
            return ""
        return f'<polyline points="{" ".join(points)}" fill="none" stroke="{colour}" stroke-width="1.5"/>'

    def _repr_svg_(self) -> str:
        ram, gpu = self._history[1:] if self._history else ([], [])
        top = max((value for value in (*ram, *gpu) if value is not None), default=0) or 1
        unknown = "" if any(value is not None for value in gpu) else " n/a"
        lines = self._line(ram, top, "#333") + self._line(gpu, top, "#d33") if self._history else ""
        return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{self._WIDTH}" height="{self._HEIGHT}" '
                f'font-family="sans-serif" font-size="11">{self._bands()}{lines}'
                f'<text x="0" y="16">{top:.2f} GB</text><text x="0" y="{self._HEIGHT - 20}">0 GB</text>'
                f'<text x="{self._MARGIN}" y="{self._HEIGHT - 4}">0 s</text>'
                f'<text x="{self._WIDTH - 50}" y="{self._HEIGHT - 4}">{self._length:.1f} s</text>'
                f'<text x="{self._MARGIN + 60}" y="{self._HEIGHT - 4}">RAM '
                f'<tspan fill="#d33">GPU memory{unknown}</tspan></text></svg>')
