"""The documents: their examples run, and a page of all public names can be written from the docstrings."""
import importlib
import pathlib
import re
import subprocess
import sys

import original_data
import pytest

ROOT = pathlib.Path(__file__).parents[2]


def examples(document):
    return re.findall(r"^```python\n(.*?)^```", (ROOT / "docs" / document).read_text(), re.MULTILINE | re.DOTALL)


def test_the_tutorial_runs(python):
    code = examples("python.md")
    assert len(code) >= 9
    done = python("\n".join(code))
    lines = done.stdout.splitlines()
    assert lines[:2] == ["Max RAM:", "   Unit: gigabytes"]
    assert any(re.fullmatch(r"megabytes \d+\.\d+", line) for line in lines)
    assert any(line.startswith("RSSValues(total_rss=") for line in lines)
    assert any(line.startswith("ComputeTime(unit='seconds', time=") for line in lines)
    [mean] = [float(line.split()[2]) for line in lines if re.match(r"train 3 ", line)]
    assert 0.05 <= mean < 5
    assert "['prepare', 'train'] 3" in lines
    assert any(re.fullmatch(r"\d+ double", line) for line in lines)


def test_the_example_of_epochs_runs(python):
    [code] = examples("coming-from.md")
    done = python(code)
    assert "Experiment" in done.stdout and "Duration" in done.stdout
    [line] = [line for line in done.stdout.splitlines() if line.startswith("absolute_cpu_time_per_pid ")]
    first, second, third = (float(number) for number in line.partition("[")[2].rstrip("]").split(","))
    assert 0 < first < second < third
    assert re.search(r"^rel_intel_power (None|\[.+\])$", done.stdout, re.MULTILINE)


@pytest.mark.parametrize("page", ["python.md", "coming-from.md", "profile.md"])
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#:]+)\)", (ROOT / "docs" / page).read_text()):
        assert (ROOT / "docs" / target).exists(), target


def test_each_difference_from_the_original_is_documented():
    page = (ROOT / "docs" / "coming-from.md").read_text()
    checks = "".join(path.read_text() for path in ROOT.glob("test/python/test_original_*.py"))
    for key, difference in original_data.DIFFERENCES.items():
        assert f"\n| {difference} |" in page and f'differs("{key}")' in checks, key


def test_nothing_tells_how_to_install_the_original():
    """An index has it under the name of our package, so a line that installs that name brings the original."""
    texts = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("python/**/*.py*"), *ROOT.glob("cli/**/*.[chd]*"),
             *ROOT.glob("lib/*/*.[chd]*"), *ROOT.glob("bench/*.py"), *ROOT.glob("examples/*"), *ROOT.glob("tools/*"), ROOT / "setup.py",
             ROOT / "pyproject.toml", ROOT / "Makefile"]
    wrong = re.compile(r"\binstall\b[^\n`]*(?<![\w./-])gpu[-_]tracker\b(?!/)|\b(uvx|pipx run|uv add)\b[^\n]*gpu[-_]tracker")
    assert wrong.search("pip install -U gpu-tracker") and wrong.search("pip install gpu_tracker[pandas]")
    told = [path for path in texts if path.is_file() and path.suffix not in (".pyc", ".so")
            for line in path.read_text(errors="replace").splitlines() if wrong.search(line)]
    assert not told


def test_the_api_page_has_every_public_name():
    written = subprocess.run([sys.executable, str(ROOT / "tools" / "write-python-api")], capture_output=True, text=True,
                             check=True).stdout
    headings = re.findall(r"^#{2,4} (?:class )?`?([\w.]+)|^`(\w+)` =", written, re.MULTILINE)
    found = {name.removeprefix("gpu_tracker.") for pair in headings for name in pair}
    modules = re.findall(r"^## .*: `(gpu_tracker\.[\w.]+)`$", written, re.MULTILINE)
    modules.remove("gpu_tracker.Table")
    assert len(modules) >= 12
    names = [name for path in ["gpu_tracker", *modules] for name in getattr(importlib.import_module(path), "__all__", [])]
    assert len(names) > 80
    assert not {name for name in names if not name.startswith("__")} - found
    for name in "Tracker", "sub_track", "SubTracker", "SubTrackingAnalyzer", "load", "Experiment":
        section = re.search(rf"^### (?:class )?{name}\b.*?(?=^### |\Z)", written, re.MULTILINE | re.DOTALL)
        assert section and re.search(r"^    \S", section[0], re.MULTILINE), f"{name} has no example"
