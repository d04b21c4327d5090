"""tools/run-tests: what keeps tests from running is told whole, at the end, and counts."""
import importlib.machinery
import importlib.util
import pathlib

import pytest

PATH = pathlib.Path(__file__).resolve().parent.parent.parent / "tools" / "run-tests"


@pytest.fixture
def runner(monkeypatch):
    loader = importlib.machinery.SourceFileLoader("run_tests", str(PATH))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("run_tests", loader))
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    loader.exec_module(module)
    return module


def test_a_file_that_cannot_be_read(runner, tmp_path, monkeypatch, capsys):
    (tmp_path / "test_good.py").write_text("def test_good(): pass\n")
    (tmp_path / "test_bad.py").write_text("import of_nothing_that_is_there\n")
    outcome = runner.pytest(str(tmp_path), workers=1)
    monkeypatch.setattr(runner, "outcomes", lambda arguments: [runner.Outcome("before", 5, 0, [], ""), outcome])
    monkeypatch.setattr("sys.argv", ["run-tests", "all"])
    assert runner.main() == 1
    printed = capsys.readouterr().out
    assert printed.endswith("test_bad.py\n6 passed, 1 failed, 0 skipped\n")
    _, _, end = printed.partition("could not run what it should:")
    assert "No module named 'of_nothing_that_is_there'" in end
