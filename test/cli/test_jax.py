"""Folders that JAX's profiler writes: nodes by their folders, and each event once."""
import json
import pathlib
import shutil
import subprocess

import pytest

FIXTURE = pathlib.Path(__file__).parent.parent / "fixture" / "traces"


def test_hosts_of_one_name_are_nodes_by_their_folders(gpu_tracker, tmp_path):
    for folder in ("a/plugins/profile/1", "a/plugins/profile/2", "b/plugins/profile/1"):
        (tmp_path / folder).mkdir(parents=True)
        shutil.copy(FIXTURE / "jax.trace.json.gz", tmp_path / folder / "vm.trace.json.gz")
    done = subprocess.run([gpu_tracker, "profile", tmp_path, "--format=json"], capture_output=True, text=True, check=True)
    assert [row["node"] for row in json.loads(done.stdout)["sources"]] == ["a vm", "a vm", "b vm"]


@pytest.mark.parametrize("folder", ["", "plugins/profile/2026_01_01"])
def test_what_jax_wrote_twice_is_read_once(gpu_tracker, tmp_path, folder):
    below = tmp_path / folder
    below.mkdir(parents=True, exist_ok=True)
    for name in ("vm.trace.json.gz", "perfetto_trace.json.gz"):
        (below / name).write_bytes((FIXTURE / "jax.trace.json.gz").read_bytes())

    def sources(path):
        done = subprocess.run([gpu_tracker, "profile", path, "--format=json"], capture_output=True, text=True, check=True)
        return [pathlib.Path(row["file"]).name for row in json.loads(done.stdout)["sources"]]

    assert sources(tmp_path) == ["vm.trace.json.gz"]
    assert sources(below / "perfetto_trace.json.gz") == ["perfetto_trace.json.gz"]
