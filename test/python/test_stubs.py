"""The type stubs say what the extension module has."""
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[2]


# Names that only the type checker sees, and a function whose signature functools.cache hides.
ALLOWED = r"""
gpu_tracker\..*\.(DataFrame|Series|Figure)
gpu_tracker\._names\.block_name
"""


def test_stubs_match_the_module(tmp_path):
    (tmp_path / "allowed").write_text(ALLOWED)
    command = [sys.executable, "-m", "mypy.stubtest", "gpu_tracker", "--allowlist", "allowed",
               "--mypy-config-file", str(ROOT / "pyproject.toml")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
