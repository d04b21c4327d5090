"""The pytest plugin, in a pytest of its own."""
import pathlib
import re

import gpu_tracker.pytest_plugin
import pytest

pytest_plugins = "pytester"

TESTS = """
    import subprocess, sys, time
    import pytest

    def use(megabytes):
        block = bytearray(b"1") * (megabytes * 10**6)
        time.sleep(0.05)

    @pytest.mark.gpu_tracker(max_ram="50 MB", max_gpu_ram="1 GB", max_time=30)
    def test_modest(): use(10)

    @pytest.mark.gpu_tracker(max_ram="50 MB")
    def test_greedy(): use(120)

    @pytest.mark.gpu_tracker(max_ram=50_000_000)
    def test_greedy_child():
        subprocess.run([sys.executable, "-c", "b = bytearray(b'1') * 120_000_000; import time; time.sleep(0.1)"])

    @pytest.mark.gpu_tracker(max_time=0.1)
    def test_slow(): time.sleep(0.3)

    @pytest.fixture
    def greedy(): use(120)

    @pytest.mark.gpu_tracker(max_ram="50MiB")
    def test_modest_with_a_greedy_fixture(greedy): pass

    @pytest.mark.gpu_tracker(max_time=0.1)
    def test_wrong_anyway():
        time.sleep(0.2)
        assert 0

    def test_free(): use(120)
"""


def test_limits(pytester):
    pytester.makepyfile(TESTS)
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    outcomes = done.parseoutcomes()
    assert outcomes.pop("warnings", 1) == 1 and outcomes == {"failed": 4, "passed": 3}  # without a GPU its limit is not checked
    done.stdout.fnmatch_lines_random([
        "*the test exceeded its limits: RAM: 1[12]?.? MB exceeds 50.0 MB*",
        "*the test exceeded its limits: time: * s exceeds 0.100 s*"])
    failed = {line.split("::")[1].split()[0] for line in done.stdout.lines if line.startswith("FAILED")}
    assert failed == {"test_greedy", "test_greedy_child", "test_slow", "test_wrong_anyway"}


def test_the_table(pytester):
    pytester.makepyfile("def test_one(): pass\ndef test_two(): b = bytearray(b'1') * 90_000_000")
    done = pytester.runpytest_subprocess("--gpu-tracker", "-p", "no:cacheprovider")
    assert done.ret == 0
    done.stdout.fnmatch_lines(["*= gpu-tracker =*", "*RAM*GPU RAM*time*test", "*MB*s*::test_one", "*MB*s*:test_two"])
    [line] = [line for line in done.stdout.lines if line.endswith("::test_two")]
    assert 85 < float(line.split()[0]) < 110


NO_GPU = """
    import dataclasses
    from gpu_tracker import Tracker
    stop = Tracker.stop

    def without_gpu(self):  # whatever the machine of this test has
        stop(self)
        self.resource_usage.gpu_utilization.system_gpu_count = {count}
        self.resource_usage.max_gpu_ram.combined = {ram}

    Tracker.stop = without_gpu
"""


@pytest.mark.parametrize("count, ram, shown", [(0, "0.0", "n/a"), (1, "0.0", "0.0 MB"), (1, "float('nan')", "n/a")])
def test_gpu_memory_that_was_not_measured(pytester, count, ram, shown):
    pytester.makeconftest(NO_GPU.format(count=count, ram=ram))
    pytester.makepyfile("import pytest\n@pytest.mark.gpu_tracker(max_gpu_ram='1 GB')\ndef test_one(): pass")
    done = pytester.runpytest_subprocess("--gpu-tracker", "-p", "no:cacheprovider")
    assert done.parseoutcomes() == {"passed": 1, **({"warnings": 1} if shown == "n/a" else {})}
    done.stdout.fnmatch_lines([f"*MB   *{shown}   *s  *::test_one"])
    if shown == "n/a":
        done.stdout.fnmatch_lines(["*GPU RAM was not checked: no GPU was found*"])


def test_the_table_of_all_workers(pytester):
    pytester.makepyfile("""
        import pytest
        @pytest.mark.parametrize("number", range(8))
        def test_some(number):
            block = bytearray(b'1') * (number * 20_000_000)
            assert number != 3
        @pytest.mark.gpu_tracker(max_ram="50 MB")
        def test_greedy(): b = bytearray(b'1') * 90_000_000
    """)
    done = pytester.runpytest_subprocess("--gpu-tracker", "-n", "2", "-p", "no:cacheprovider")
    assert done.parseoutcomes() == {"failed": 2, "passed": 7}
    lines = done.stdout.lines[done.stdout.lines.index(next(line for line in done.stdout.lines if "= gpu-tracker =" in line)):]
    table = [line.split() for line in lines if "::" in line and " MB " in line and not line.startswith("FAILED")]
    used = {line[-1].partition("::")[2]: float(line[0]) for line in table}
    assert used.keys() == {"test_greedy", *(f"test_some[{number}]" for number in range(8))} and len(table) == 9
    assert all(20 * number - 5 < used[f"test_some[{number}]"] < 20 * number + 20 for number in range(8))
    assert 85 < used["test_greedy"] < 110


def test_untracked_without_being_asked(pytester):
    pytester.makepyfile("def test_one(): pass")
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    assert done.parseoutcomes() == {"passed": 1}
    assert "RAM" not in done.stdout.str()


WRONG = [
    ("max_ram='lots'", "max_ram='lots' is not a limit"), ("max_rm=1", "accepts max_ram, max_gpu_ram, max_time and fail_if, not max_rm"),
    ("'1 MB'", "accepts keywords only"), ("max_ram='5 bananas'", "5 bananas"), ("max_time='3 s'", "max_time"),
    ("max_ram=0", "max_ram"), ("max_disk=3", "max_disk"),
    ("fail_if='gpu>5GB'", "fail_if: rule 'gpu>5GB': gpu is not measured in 'GB'"), ("fail_if=3", "fail_if=3 is not a rule")]


def test_rules(pytester):
    """The rules of run --fail-if, in both spellings."""
    pytester.makepyfile("""
        import time, pytest
        @pytest.mark.gpu_tracker(fail_if=["memory>1GB", "duration>1h", "cpu>64cores", "cpu-time>1h"])
        def test_kept(): time.sleep(0.05)
        @pytest.mark.gpu_tracker(fail_if=["combined_ram_peak>50MB", "time<1h"])
        def test_broken():
            block = bytearray(b"1") * 120_000_000
            time.sleep(0.05)
        @pytest.mark.gpu_tracker(fail_if="gpu<50%")
        def test_gpu(): time.sleep(0.1)
    """)
    pytester.makeconftest(NO_GPU.format(count=0, ram=0.0))
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    assert done.parseoutcomes() == {"failed": 2, "passed": 1}
    done.stdout.fnmatch_lines_random([
        "*the test exceeded its limits: 'combined_ram_peak>50MB': memory is 1[12]?.? MB; 'time<1h': time is *",
        "*'gpu<50%': gpu was not measured*"])


def test_the_help_of_the_marker_says_what_memory_is(pytester):
    done = pytester.runpytest("--markers")
    done.stdout.fnmatch_lines(["*gpu_tracker(max_ram=*the rule memory limit what the test adds*"])


def test_a_wrong_marker_is_one_line(pytester):
    """Of its test alone: each is told in the part of the output that is of its test."""
    pytester.makepyfile("import pytest\n" + "".join(
        f"@pytest.mark.gpu_tracker({marker})\ndef test_{number}(): pass\n" for number, (marker, _) in enumerate(WRONG)))
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    assert done.parseoutcomes() == {"failed": len(WRONG)} and "Traceback" not in done.stdout.str()
    assert not [line for line in done.stdout.lines if line.startswith(">")]
    parts = re.split(r"^_+ test_\d+ _+$", done.stdout.str().partition("short test summary")[0], flags=re.MULTILINE)[1:]
    assert len(parts) == len(WRONG)
    for part, (_, naming) in zip(parts, WRONG):
        assert naming in part


def test_the_original_over_our_files(pytester, monkeypatch):
    """Installed after ours it replaces the package, and this plugin is still registered."""
    package = pytester.mkpydir("gpu_tracker")
    (package / "pytest_plugin.py").write_text(pathlib.Path(gpu_tracker.pytest_plugin.__file__).read_text())
    pytester.makepyfile("import pytest\n@pytest.mark.gpu_tracker(max_ram=1)\ndef test_limited(): pass\ndef test_free(): pass")
    monkeypatch.setenv("PYTHONPATH", str(pytester.path))
    sentence = "*files of another project, gpu-tracker, have replaced files of libgputracker: pip uninstall both*"
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    done.assert_outcomes(failed=1, passed=1)
    done.stdout.fnmatch_lines([sentence])
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider", "--gpu-tracker")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines([sentence])
