"""Configuration files and environment variables, and who wins."""
import json

import pytest


@pytest.fixture
def unit(cli):
    """The time unit that a run ends up with."""

    def run(*words):
        done = cli("run", "-f", "json", "-o", "-", *words, "--", "true")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["compute_time"]["unit"]

    return run


@pytest.fixture
def user_file(tmp_path):
    path = tmp_path / "xdg" / "gpu-tracker" / "config.json"
    path.parent.mkdir(parents=True)
    return path


def test_precedence(unit, user_file, tmp_path, monkeypatch):
    assert unit() == "hours"
    user_file.write_text('{"time_unit": "seconds"}')
    assert unit() == "seconds"
    (tmp_path / "project.json").write_text('{"time_unit": "minutes"}')
    monkeypatch.setenv("GPU_TRACKER_CONFIG", "project.json")
    assert unit() == "minutes"
    monkeypatch.setenv("GPU_TRACKER_TIME_UNIT", "hours")
    assert unit() == "hours"
    (tmp_path / "tracker.json").write_text('{"time_unit": "days"}')
    assert unit("--tconfig", "tracker.json") == "days"
    assert unit("--tconfig", "tracker.json", "--tu", "seconds") == "seconds"


def test_home_when_there_is_no_xdg(unit, tmp_path, monkeypatch):
    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".config" / "gpu-tracker").mkdir(parents=True)
    (tmp_path / ".config" / "gpu-tracker" / "config.json").write_text('{"time_unit": "days"}')
    assert unit() == "days"


def test_every_keyword_of_the_original(cli, tmp_path):
    settings = {"sleep_time": 0.5, "ram_unit": "megabytes", "gpu_ram_unit": "bytes", "time_unit": "seconds",
                "n_expected_cores": 3, "gpu_uuids": None, "disable_logs": True, "gpu_brand": None,
                "tracking_file": "track.csv", "overwrite": True}
    (tmp_path / "tracker.json").write_text(json.dumps(settings))
    (tmp_path / "track.csv").write_text("old")
    done = cli("-e", "true", "--tconfig=tracker.json", "-f", "json", "-o", "out.json")
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads((tmp_path / "out.json").read_text())
    assert report["max_ram"]["unit"] == "megabytes"
    assert report["max_gpu_ram"]["unit"] == "bytes"
    assert report["compute_time"]["unit"] == "seconds"
    assert report["cpu_utilization"]["n_expected_cores"] == 3
    assert (tmp_path / "track.csv").read_text() != "old"


def test_the_command_line_can_unset_a_flag(refused, tmp_path):
    (tmp_path / "tracker.json").write_text('{"overwrite": true}')
    (tmp_path / "track.csv").write_text("old")
    refused(125, "track.csv", "-e", "true", "--tconfig=tracker.json", "--tf=track.csv", "--overwrite=false")


def test_settings_of_other_commands_are_left_alone(cli, user_file):
    user_file.write_text('{"sleep_time": 2, "time_unit": "days"}')
    assert cli("schema").returncode == 0


@pytest.mark.parametrize("text, naming", [
    ('{"sleep_tim": 1}', "unknown key 'sleep_tim': did you mean 'sleep_time'?"),
    ('{"x": 1}', "unknown key 'x'"),
    ('{"process_id": 5}', "'process_id' has no meaning"),
    ('{"execute": "true"}', "unknown key 'execute'"),
    ('{"sleep_time": "1"}', "sleep_time: must be a number"),
    ('{"sleep_time": 0}', "sleep_time: 0 is too small"),
    ('{"sleep_time": true}', "sleep_time: must be a number"),
    ('{"n_expected_cores": 1.5}', "n_expected_cores: must be a whole number"),
    ('{"n_expected_cores": 0}', "n_expected_cores: 0 is too small"),
    ('{"overwrite": 1}', "overwrite: must be true or false"),
    ('{"ram_unit": 7}', "ram_unit: must be a string"),
    ('{"ram_unit": "gigabyte"}', "'gigabyte' is not one of"),
    ('{"gpu_uuids": [1]}', "gpu_uuids: must be a list of strings"),
    ('{"gpu_uuids": 1}', "gpu_uuids: must be a list of strings"),
    ('{"library": [1]}', "library: must be a list of strings"),
    ('{"sleep_time": 1, "sleep_time": 2}', "duplicate"),
    ('{"sleep_time": 1', "settings.json:1: not valid JSON"),
    ('[1]', "must be one JSON object"),
    ('', "not valid JSON"),
    ('\n\n{"a": nan}', "settings.json:3: not valid JSON"),
])
def test_wrong_files(refused, tmp_path, monkeypatch, text, naming):
    (tmp_path / "settings.json").write_text(text)
    line = refused(2, naming, "-e", "touch started", "--tconfig=settings.json")
    assert "settings.json" in line
    monkeypatch.setenv("GPU_TRACKER_CONFIG", "settings.json")
    assert refused(2, naming, "-e", "touch started") == line


def test_files_that_are_not_there(refused, monkeypatch):
    refused(2, "no.json", "-e", "touch started", "--tconfig=no.json")
    monkeypatch.setenv("GPU_TRACKER_CONFIG", "none.json")
    refused(2, "none.json", "-e", "touch started")


@pytest.mark.parametrize("name, value, naming", [
    ("GPU_TRACKER_SLEEP_TIME", "fast", "GPU_TRACKER_SLEEP_TIME: 'fast' is not a number"),
    ("GPU_TRACKER_OVERWRITE", "2", "GPU_TRACKER_OVERWRITE: '2' is neither true nor false"),
    ("GPU_TRACKER_RAM_UNIT", "x", "GPU_TRACKER_RAM_UNIT: 'x'"),
])
def test_wrong_environment(refused, monkeypatch, name, value, naming):
    monkeypatch.setenv(name, value)
    refused(2, naming, "-e", "touch started")


def test_an_empty_variable_is_no_setting(unit, monkeypatch):
    monkeypatch.setenv("GPU_TRACKER_TIME_UNIT", "")
    assert unit() == "hours"


def test_files_of_the_original_serve(cli, tmp_path):
    """What set up its measuring process has nothing to set up here."""
    (tmp_path / "old.json").write_text('{"n_join_attempts": 3, "join_timeout": 5, "resource_usage_file": "ru.pkl", "ram_unit": "bytes"}')
    done = cli("-e", "echo hi", "--tconfig=old.json", "--disable-logs", "-f", "json")
    assert done.returncode == 0 and done.stdout.startswith("hi\n") and '"unit": "bytes"' in done.stdout
    assert [line.split("'")[1] for line in done.stderr.splitlines() if "has no meaning" in line] == [
        "n_join_attempts", "join_timeout", "resource_usage_file"]


def test_an_endless_file_is_refused(refused, tmp_path):
    (tmp_path / "settings.json").write_text('{"ram_unit": "' + "x" * (5 << 20))
    refused(2, "longer than", "-e", "touch started", "--tconfig=settings.json")
