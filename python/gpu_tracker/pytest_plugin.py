"""pytest plugin: limits on the resource use of tests, and a table of their use.

    @pytest.mark.gpu_tracker(max_ram="500 MB", max_gpu_ram="2 GB", max_time=10)
    def test_something(): ...

The test fails if it exceeds a limit. Fixtures do not count.

``max_ram`` limits the memory of pytest and its descendants, minus pytest's memory at the start of the test function.
``max_gpu_ram`` limits their total GPU memory. ``max_time`` is in seconds. A size is a number of bytes, or a text with a unit:
B, kB, MB, GB, TB (powers of 1000), KiB, MiB, GiB, TiB (powers of 1024).

``fail_if`` is a rule of ``gpu-tracker run --fail-if``, or a list of rules: ``fail_if="gpu<50%"``. ``memory`` in a rule is the
value that ``max_ram`` limits.

``pytest --gpu-tracker`` prints a table of all tests at the end, with pytest-xdist for all workers.
"""
import math
import re
from collections.abc import Generator
from typing import Any

import pytest

_UNITS: dict[str, int] = {
    "B": 1, **{prefix.replace("K", "k") + "B": 1000**power for power, prefix in enumerate("KMGT", 1)},
    **{prefix + "iB": 1024**power for power, prefix in enumerate("KMGT", 1)}}
_MEASURES = {"max_ram": "RAM", "max_gpu_ram": "GPU RAM", "max_time": "time"}
_FIGURES: pytest.StashKey[dict[str, float]] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """--gpu-tracker"""
    parser.getgroup("gpu_tracker").addoption(
        "--gpu-tracker", action="store_true", help="Print RAM, GPU RAM and time of each test.")


def _overwritten() -> str:
    """Return an error if another project's files have replaced all other files of the package."""
    import gpu_tracker

    return "" if hasattr(gpu_tracker, "_warn_of_the_original") else (
        "files of another project, gpu-tracker, have replaced files of libgputracker: pip uninstall both, then install "
        "libgputracker alone")


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker and the table."""
    if config.getoption("gpu_tracker"):
        if sentence := _overwritten():
            raise pytest.UsageError(sentence)
        config.pluginmanager.register(_Table())
    config.addinivalue_line("markers", "gpu_tracker(max_ram=None, max_gpu_ram=None, max_time=None, fail_if=None): fail the test "
                            "above a limit ('500 MB', bytes; seconds) or by rules ('gpu<50%'). max_ram and the rule memory limit what the "
                            "test adds to the memory of pytest, not the whole")


def _limit(name: str, value: object) -> float:
    if name not in _MEASURES:
        raise pytest.UsageError(f"the marker gpu_tracker accepts {', '.join(_MEASURES)} and fail_if, not {name}")
    if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
        return float(value)
    match = re.fullmatch(r"([0-9.]+) ?(\w+)", value) if isinstance(value, str) and name != "max_time" else None
    if match and match[2] in _UNITS:
        return float(match[1]) * _UNITS[match[2]]
    raise pytest.UsageError(f"{name}={value!r} is not a limit: give a positive number, or for memory a text like '500 MB'")


def _rules(value: object) -> list[str]:
    from . import _core

    rules = [value] if isinstance(value, str) else value
    if not isinstance(rules, list | tuple) or not all(isinstance(rule, str) for rule in rules):
        raise pytest.UsageError(f"fail_if={value!r} is not a rule: give a text like 'gpu<50%' or a list of rules")
    for rule in rules:
        try:
            _core.rule(rule)
        except ValueError as error:
            raise pytest.UsageError(f"fail_if: {error}") from None
    return list(rules)


def _measured(tracker: Any, figures: dict[str, float]) -> dict[str, float]:
    """Return the values for rules in base units. Missing values are NaN."""
    tree = tracker.to_json()
    energy, gpu = tree.get("energy", {}), tracker.gpu_utilization
    covered = energy.get("covered")
    joules = energy.get("job") if covered is None or covered >= 100 else None
    return {"memory": figures["max_ram"], "gpu-memory": figures["max_gpu_ram"], "time": figures["max_time"],
            "cpu": tracker.cpu_utilization.combined.mean_sum_percent / 100, "cpu-time": tree["cpu_time"]["combined"],
            "gpu": gpu.gpu_percentages.mean_hardware_percent / 100 if gpu.system_gpu_count else math.nan,
            "energy": math.nan if joules is None else joules,
            "power": math.nan if joules is None else joules / figures["max_time"]}


def _broken(rules: list[str], measured: dict[str, float]) -> Generator[str, None, None]:
    from . import _core

    for rule in rules:
        name, above, limit = _core.rule(rule)
        value = measured[name]
        if value is None or math.isnan(value):
            yield f"'{rule}': {name} was not measured"
        elif value > limit if above else value < limit:
            yield f"'{rule}': {name} is {_amount(name, value)}"


def _amount(name: str, value: float) -> str:
    unit = {"energy": "J", "power": "W", "cpu": "cores"}.get(name)
    if unit:
        return f"{value:.4g} {unit}"
    return f"{value:.1%}" if name == "gpu" else _text("max_ram" if "memory" in name else "max_time", value)


def _limits(item: pytest.Item) -> dict[str, Any]:
    """Return the limits. For each measure, the nearest marker applies."""
    found: dict[str, Any] = {}
    for marker in item.iter_markers("gpu_tracker"):
        if marker.args:
            raise pytest.UsageError("the marker gpu_tracker accepts keywords only: max_ram='500 MB'")
        for name, value in marker.kwargs.items():
            found.setdefault(name, _rules(value) if name == "fail_if" else _limit(name, value))
    return found


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Measure the test function. Its own failure has priority over a limit."""
    limits, wrong = {}, ""
    try:
        limits = _limits(item)
    except pytest.UsageError as error:
        wrong = str(error)
    if wrong:
        pytest.fail(wrong, pytrace=False)
    if not limits and not item.config.getoption("gpu_tracker"):
        return (yield)
    if sentence := _overwritten():
        pytest.fail(sentence, pytrace=False)
    from . import _core
    from .tracker import Tracker

    rules = limits.pop("fail_if", [])
    before = _core.own_memory()[0]
    tracker = Tracker(0.01, "bytes", "bytes", "seconds", disable_logs=True)
    try:
        with tracker:
            result = yield
    finally:
        if tracker.resource_usage is not None:
            has_gpu = tracker.gpu_utilization.system_gpu_count > 0
            figures = {"max_ram": max(0.0, tracker.max_ram.combined.total_rss - before),
                       "max_gpu_ram": tracker.max_gpu_ram.combined if has_gpu else math.nan,
                       "max_time": tracker.compute_time.time}
            item.stash[_FIGURES] = figures
            measured = _measured(tracker, figures) if rules else {}
    broken = [f"{_MEASURES[name]}: {_text(name, figures[name])} exceeds {_text(name, limit)}"
              for name, limit in limits.items() if figures[name] > limit] + list(_broken(rules, measured))
    if "max_gpu_ram" in limits and math.isnan(figures["max_gpu_ram"]):
        item.warn(pytest.PytestWarning(f"{_MEASURES['max_gpu_ram']} was not checked: no GPU was found"))
    if broken:
        pytest.fail("the test exceeded its limits: " + "; ".join(broken), pytrace=False)
    return result


def _text(name: str, value: float) -> str:
    if math.isnan(value):
        return "n/a"
    return f"{value:.3f} s" if name == "max_time" else f"{value / 1e6:.1f} MB"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """Add the values to the report, which carries them from a worker of pytest-xdist to the printing process."""
    report = yield
    if call.when == "call":
        report.gpu_tracker = item.stash.get(_FIGURES, None)
    return report


class _Table:
    """Table of the tests in order of their end."""

    def __init__(self) -> None:
        self._results: list[tuple[str, dict[str, float]]] = []

    def pytest_runtest_logreport(self, report: Any) -> None:
        if figures := getattr(report, "gpu_tracker", None):
            self._results.append((report.nodeid, figures))

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if not self._results:
            return
        terminalreporter.section("gpu-tracker")
        terminalreporter.write_line(f"{'RAM':>12} {'GPU RAM':>12} {'time':>10}  test")
        for name, figures in self._results:
            terminalreporter.write_line(f"{_text('max_ram', figures['max_ram']):>12} "
                                        f"{_text('max_gpu_ram', figures['max_gpu_ram']):>12} "
                                        f"{_text('max_time', figures['max_time']):>10}  {name}")
