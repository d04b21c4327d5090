"""The documents: their examples run, and the page made from the docstrings is up to date."""
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
    [code] = examples("coming-from-aipowermeter.md")
    done = python(code)
    assert "Experiment" in done.stdout and "Duration" in done.stdout
    [line] = [line for line in done.stdout.splitlines() if line.startswith("absolute_cpu_time_per_pid ")]
    first, second, third = (float(number) for number in line.partition("[")[2].rstrip("]").split(","))
    assert 0 < first < second < third
    assert re.search(r"^rel_intel_power (None|\[.+\])$", done.stdout, re.MULTILINE)


@pytest.mark.parametrize("page", ["python.md", "coming-from-gpu_tracker.md", "coming-from-ipygpulogger.md",
                                  "coming-from-aipowermeter.md",
                                  "coming-from-smdebug.md", "profile.md"])
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#:]+)\)", (ROOT / "docs" / page).read_text()):
        assert (ROOT / "docs" / target).exists(), target


def test_each_difference_from_the_original_is_documented():
    page = (ROOT / "docs" / "coming-from-gpu_tracker.md").read_text()
    checks = "".join(path.read_text() for path in ROOT.glob("test/python/test_original_*.py"))
    for key, difference in original_data.DIFFERENCES.items():
        assert f"\n| {difference} |" in page and f'differs("{key}")' in checks, key


def test_nothing_tells_how_to_install_the_original():
    """An index has it under the name of our package, so a line that installs that name brings the original."""
    texts = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("python/**/*.py*"), *ROOT.glob("cli/*.[chd]*"),
             *ROOT.glob("lib/*/*.[chd]*"), *ROOT.glob("bench/*.py"), *ROOT.glob("examples/*"), *ROOT.glob("tools/*"), ROOT / "setup.py",
             ROOT / "pyproject.toml", ROOT / "Makefile"]
    wrong = re.compile(r"\binstall\b[^\n`]*(?<![\w./-])gpu[-_]tracker\b(?!/)|\b(uvx|pipx run|uv add)\b[^\n]*gpu[-_]tracker")
    assert wrong.search("pip install -U gpu-tracker") and wrong.search("pip install gpu_tracker[pandas]")
    told = [path for path in texts if path.is_file() and path.suffix not in (".pyc", ".so")
            for line in path.read_text(errors="replace").splitlines() if wrong.search(line)]
    assert not told


def test_the_api_page_is_up_to_date():
    written = subprocess.run([sys.executable, str(ROOT / "tools" / "write-python-api")], capture_output=True, text=True,
                             check=True).stdout
    assert (ROOT / "docs" / "python-api.md").read_text() == written, "run: make docs/python-api.md"
