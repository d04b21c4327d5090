"""The type stubs say what the extension module has."""
import subprocess
import sys

# Names that only the type checker sees, and a function whose signature functools.cache hides.
ALLOWED = r"""
gpu_tracker\..*\.(DataFrame|Series|Figure)
gpu_tracker\._names\.block_name
"""


# What the package's own code is worth to a type checker make lint says; others' packages are not looked at.
CONFIGURATION = """
[mypy]
ignore_missing_imports = True
follow_imports = skip
ignore_errors = True
[mypy-gpu_tracker.*]
follow_imports = normal
"""


def test_stubs_match_the_module(tmp_path):
    (tmp_path / "allowed").write_text(ALLOWED)
    (tmp_path / "configuration").write_text(CONFIGURATION)
    command = [sys.executable, "-m", "mypy.stubtest", "gpu_tracker", "--allowlist", "allowed",
               "--mypy-config-file", "configuration"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
