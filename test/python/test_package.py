"""The wheel and the source archive: what is in them, and the wheel in environments without a compiler."""
import ast
import glob
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import textwrap
import zipfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
EPOCH = "1700000000"


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    """(wheel, source archive): the archive of the working tree, and the wheel of the archive.

    Of the library and of the program one file each is compiled for it, all with TEST_LONG; the other objects are those of make.
    """
    folder = tmp_path_factory.mktemp("dist")
    objects = folder / "objects"
    if not os.environ.get("TEST_LONG"):
        for top in "lib", "cli":
            for made in sorted((ROOT / "build" / top).glob("**/*.o"))[1:]:
                link = objects / made.relative_to(ROOT / "build")
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(made)
    build(folder, "--sdist", ROOT)
    [source] = folder.glob("*.tar.gz")
    subprocess.run(["tar", "-xf", source, "-C", folder], check=True)
    build(folder, "--wheel", folder / source.name.removesuffix(".tar.gz"), GPU_TRACKER_OBJECTS=str(objects), SOURCE_DATE_EPOCH=EPOCH)
    [wheel] = folder.glob("*.whl")
    return wheel, source


def build(folder, kind, tree, **environment):
    command = [sys.executable, "-m", "build", "--no-isolation", kind, "--outdir", str(folder), str(tree)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **environment})
    assert done.returncode == 0, done.stdout + done.stderr


def interpreters():
    """One Python of each version that the package is for."""
    found = {sys.version_info[:2]: sys.executable}
    places = [*glob.glob("/usr/bin/python3.*[0-9]"), *glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python"))]
    for path in places:
        code = "import sys, venv; print(*sys.version_info[:2], sys.implementation.name)"
        done = subprocess.run([path, "-S", "-c", code], capture_output=True, text=True, check=False)
        words = done.stdout.split()
        if words and words[2] == "cpython" and (version := (int(words[0]), int(words[1]))) >= (3, 11):
            found.setdefault(version, path)
    return [pytest.param(path, id=".".join(map(str, version))) for version, path in sorted(found.items())]


def test_the_wheel_has_everything(archives):
    wheel, _ = archives
    assert "-cp311-abi3-linux_" in wheel.name
    names = zipfile.ZipFile(wheel).namelist()
    wanted = {f"gpu_tracker/{path.name}" for path in (ROOT / "python" / "gpu_tracker").glob("*.py*")}
    assert wanted | {"ipygpulogger.py", "gpu_tracker/_core.abi3.so", "gpu_tracker/py.typed", "gpu_tracker/_core.pyi"} <= set(names)
    assert any(name.endswith(".data/scripts/gpu-tracker") for name in names)
    for placed in ("libexec/gpu-tracker/libgputracker-blocks.so", "libexec/gpu-tracker/gpu_tracker_hook.abi3.so",
                   "share/gpu-tracker/python/sitecustomize.py", "share/gpu-tracker/carbon-intensity.csv",
                   "share/gpu-tracker/grafana-dashboard.json"):
        assert any(name.endswith(f".data/data/{placed}") for name in names), placed
    assert any(name.endswith("entry_points.txt") for name in names)


def test_wheels_of_one_commit_are_equal(archives, tmp_path):
    """In another folder, at another time, with another umask."""
    wheel, source = archives
    subprocess.run(["tar", "-xmf", source, "-C", tmp_path], check=True)
    subprocess.run(["chmod", "-R", "go=", tmp_path], check=True)
    build(tmp_path, "--wheel", tmp_path / source.name.removesuffix(".tar.gz"), GPU_TRACKER_OBJECTS=str(wheel.parent / "objects"),
          SOURCE_DATE_EPOCH=EPOCH)
    assert (tmp_path / wheel.name).read_bytes() == wheel.read_bytes()


def test_the_methods_of_the_original_need_nothing_else(archives):
    [name] = [name for name in zipfile.ZipFile(archives[0]).namelist() if name.endswith(".dist-info/METADATA")]
    metadata = zipfile.ZipFile(archives[0]).read(name).decode()
    assert re.findall("^Name: (.*)$", metadata, re.MULTILINE) == ["libgputracker"]
    assert re.findall("^Requires-Dist: (.*)$", metadata, re.MULTILINE) == ["pandas"]


def test_the_wheel_keeps_to_the_limited_api(archives):
    pytest.importorskip("abi3audit")
    done = subprocess.run([sys.executable, "-m", "abi3audit", "--strict", str(archives[0])], capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_source_archive_has_everything(archives):
    with tarfile.open(archives[1]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {"VERSION", "LICENSE", "README.md", "setup.py", "pyproject.toml"}
    for pattern in ("lib/*/*.[chd]*", "cli/*.[chd]*", "cli/*/*.[ch]*", "inject/*", "include/*.h", "include/*/*.h", "python/*.[ch]",
                    "python/gpu_tracker/*.p*"):
        wanted.update(os.path.relpath(path, ROOT) for path in ROOT.glob(pattern))
    assert wanted <= names


USE = """
    import shutil, subprocess, sys
    import gpu_tracker
    assert not any(map(shutil.which, ("cc", "gcc", "clang")))
    with gpu_tracker.Tracker(sleep_time=0.02, tracking_file="t.csv", ram_unit="megabytes") as tracker:
        with gpu_tracker.SubTracker("block", sub_tracking_file="b.csv"):
            data = bytearray(b"1") * 50_000_000
    assert tracker.max_ram.main.total_rss > 50
    analyzer = gpu_tracker.SubTrackingAnalyzer("t.csv", "b.csv")
    assert analyzer.load_code_block_names() == ["block"] and len(analyzer.timepoints_table()) >= 1
    assert str(analyzer.sub_tracking_results())
    try:
        analyzer.read_static_data()
    except ImportError as error:
        print(error)
    print(subprocess.check_output(["gpu-tracker", "--version"], text=True), end="")
"""


@pytest.fixture(scope="module")
def site(archives, tmp_path_factory):
    """What pip install --target makes of the wheel."""
    folder = tmp_path_factory.mktemp("site")
    words = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check", "install", "--no-index", "--no-deps"]
    subprocess.run([*words, "--target", str(folder), str(archives[0])], check=True)
    return folder


def test_a_folder_has_what_programs_load(site, tmp_path):
    (tmp_path / "train.py").write_text("def step(): pass\nstep()\n")
    words = "run", "-q", "--no-history", "--blocks-from=nvtx", "--python-blocks=step", "--tf=run.csv", "--", sys.executable, "train.py"
    done = subprocess.run([site / "bin/gpu-tracker", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run.blocks.csv").read_text().count("train.step") == 2


def test_the_original_in_the_same_environment_is_told(site):
    def said():
        command = [sys.executable, "-c", "import gpu_tracker; print(gpu_tracker.__file__)"]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": str(site)})
        assert done.stdout.startswith(str(site))
        return done.stderr

    assert not said()
    (site / "gpu_tracker-5.0.1.dist-info").mkdir()
    assert ("<string>:1: UserWarning: gpu-tracker 5.0.1, another project, and libgputracker overwrite each other's files in this "
            "environment: pip uninstall both, then install libgputracker alone\n") in said()


@pytest.mark.parametrize("found,said", [
    (["sqlite3.h", "utf8proc.h", "zlib.h"],
     "missing jansson.h: apt-get install libjansson-dev (Debian), dnf install jansson-devel (RHEL), conda install jansson (conda-forge)"),
    (["sqlite3.h", "zlib.h"],
     "missing jansson.h, utf8proc.h: apt-get install libjansson-dev libutf8proc-dev (Debian), "
     "dnf install jansson-devel utf8proc-devel (RHEL), conda install jansson libutf8proc (conda-forge)"),
])
def test_a_missing_header_names_its_package(found, said, tmp_path):
    for name in found:
        (tmp_path / name).touch()
    done = build_library(tmp_path, CPPFLAGS=f"-nostdinc -isystem {tmp_path}")
    assert done.returncode == 1 and done.stderr == f"error: {said}\n"


def test_a_missing_compiler_is_told(tmp_path):
    done = build_library(tmp_path, CC="/absent/cc")
    assert done.returncode == 1
    assert done.stderr == "error: there is no C compiler /absent/cc: install gcc (Debian, RHEL) or c-compiler (conda-forge)\n"


def build_library(folder, **environment):
    return subprocess.run([sys.executable, "setup.py", "-q", "build_clib", "-b", str(folder), "-t", str(folder)], cwd=ROOT,
                          capture_output=True, text=True, check=False, env={**os.environ, **environment})


@pytest.mark.parametrize("interpreter", interpreters())
def test_without_a_compiler_and_without_pandas(archives, interpreter, tmp_path):
    subprocess.run([interpreter, "-m", "venv", "--without-pip", "venv"], check=True)
    subprocess.run([sys.executable, "-m", "pip", "-q", "--disable-pip-version-check", "--python", "venv/bin/python",
                    "install", "--no-index", "--no-deps", str(archives[0])], check=True)
    (tmp_path / "use.py").write_text(textwrap.dedent(USE))
    done = subprocess.run([str(tmp_path / "venv/bin/python"), "use.py"], capture_output=True, text=True, check=False,
                          env={"PATH": str(tmp_path / "venv/bin"), "HOME": str(tmp_path)})
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "this method needs pandas: pip install pandas, or use the methods that return a Table",
        f"gpu-tracker {(ROOT / 'VERSION').read_text().strip()}"]


def test_a_python_that_is_too_old_is_told():
    """Before pip looks for a setuptools that there is not for it, and in a grammar that it reads."""
    text = (ROOT / "setup.py").read_text()
    ast.parse(text, feature_version=(3, 6))
    code = f"import sys; sys.version_info = (3, 9, 18); sys.modules['setuptools'] = None; exec({text!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "libgputracker needs Python 3.10 or later, and this is Python 3.9\n")
    wanted = re.search(r"^requires = (\[.*\])$", (ROOT / "pyproject.toml").read_text(), re.MULTILINE)[1]
    assert [word for word in ast.literal_eval(wanted) if "< '3.10'" in word] == ["setuptools; python_version < '3.10'"]
