"""make install: what it puts where, and that C and C++ programs build against it through pkg-config."""
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]

PROGRAM = """
#include <gpu_tracker.h>
#include <stdio.h>
int main(void)
{
    struct gt_error error;
    error.code = 0;
    struct gt_tracker_options options = GT_INIT(struct gt_tracker_options);
    struct gt_tracker *tracker;
    if (gt_tracker_open(&tracker, 0, &options, &error) < 0 || gt_tracker_sample(tracker, &error) != 1)
        return fprintf(stderr, "%s\\n", error.text), 1;
    printf("%s %.0f\\n", gt_version(), gt_tracker_value(tracker, GT_SCOPE_MAIN, gt_metric_find("threads")));
    gt_tracker_close(tracker);
    gt_exporter_close(NULL); /* and something of each other part of the header */
    const char *name, *help;
    if (gt_analysis_info(0, &name, &help) < 0)
        return 1;
    return gt_block_trouble() != NULL;
}
"""


def output(*command, **keywords):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    environment.update(keywords.pop("env", {}))
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment, **keywords)
    return done.stdout.strip()


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    place = tmp_path_factory.mktemp("prefix")
    output("make", "-s", "install", f"PREFIX={place}", cwd=ROOT)
    return place


def test_a_moved_installation_is_found_by_pkg_config(prefix, tmp_path):
    (tmp_path / "moved").symlink_to(prefix)
    where = {"PKG_CONFIG_PATH": str(tmp_path / "moved/lib/pkgconfig")}
    flags = output("pkg-config", "--define-prefix", "--cflags", "--libs", "gpu-tracker", env=where)
    assert flags == f"-I{tmp_path}/moved/include -L{tmp_path}/moved/lib -lgputracker"


def test_missing_headers_are_one_sentence(tmp_path):
    (tmp_path / "sqlite3.h").touch()
    (tmp_path / "zlib.h").touch()
    command = ["make", "-s", f"BUILD={tmp_path}/build", f"CC=gcc -nostdinc -isystem {tmp_path}", "objects"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    done = subprocess.run(command, cwd=ROOT, text=True, capture_output=True, check=False, env=environment)
    first, *rest = done.stderr.splitlines()
    assert done.returncode == 2 and all(line.startswith("make: ***") for line in rest)
    assert first == ("missing jansson.h utf8proc.h: apt-get install libjansson-dev libutf8proc-dev (Debian), dnf install jansson-devel "
                     "utf8proc-devel (RHEL), conda install jansson libutf8proc (conda-forge)")


def test_what_is_built_without_is_one_line(tmp_path):
    for name in ("sqlite3", "jansson", "utf8proc", "zlib", "curses"):
        (tmp_path / f"{name}.h").touch()
    told = output(ROOT / "tools/check-headers", "gcc", "-nostdinc", "-isystem", tmp_path)
    assert told.startswith("built without serve (libmicrohttpd-dev)") and "top" not in told and len(told.splitlines()) == 1


@pytest.mark.parametrize("is_in_path", [False, True])
def test_where_it_lies_and_how_it_is_found_is_told(tmp_path, is_in_path):
    path = f"{tmp_path}/bin:{os.environ['PATH']}" if is_in_path else os.environ["PATH"]
    told = output("make", "-s", "install", f"PREFIX={tmp_path}", cwd=ROOT, env={"PATH": path}).splitlines()
    hint = [] if is_in_path else [f"for this shell: export PATH={tmp_path}/bin:$PATH"]
    assert told[-1 - len(hint):] == [f"gpu-tracker is in {tmp_path}/bin", *hint]


APT = """#!/bin/sh
echo "$@" >>calls
case "$*" in *install*libncurses-dev*) echo "E: Unable to locate package libncurses-dev"; exit 100 ;; esac
"""


def test_a_package_that_is_only_wished_for_may_be_missing(tmp_path):
    (tmp_path / "tools").mkdir()
    shutil.copy(ROOT / "tools/install-dependencies", tmp_path / "tools")
    programs = {"apt-get": APT, "dpkg-query": "#!/bin/sh\n", "id": "#!/bin/sh\necho 0\n"}
    (tmp_path / "bin").mkdir()
    for name, text in programs.items():
        (tmp_path / "bin" / name).write_text(text)
        (tmp_path / "bin" / name).chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}/bin:{os.environ['PATH']}"}
    for time in range(2):
        done = subprocess.run(["tools/install-dependencies", "build"], cwd=tmp_path, env=environment,
                              capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert ("apt-get has no libncurses-dev: what is built does without" in done.stderr) == (time == 0)
    calls = (tmp_path / "calls").read_text()
    assert calls.count("libncurses-dev") == 1 and calls.count("libmicrohttpd-dev") == 2 and calls.count("libsqlite3-dev") == 2


def test_units_for_systemd(prefix, tmp_path):
    units = sorted((prefix / "lib/systemd/system").iterdir())
    assert [unit.name for unit in units] == ["gpu-tracker-energy-relay.service", "gpu-tracker-serve.service"]
    for unit in units:
        [start] = [line for line in unit.read_text().splitlines() if line.startswith("ExecStart=")]
        words = start.removeprefix("ExecStart=").split()
        assert words[0] == str(prefix / "bin/gpu-tracker")
        assert "--help" in output(words[0], words[1], "--help")
    if shutil.which("systemd-analyze"):
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", *units], capture_output=True, text=True,
                              check=False)
        assert not [line for line in done.stderr.splitlines() if "gpu-tracker-" in line], done.stderr


def test_installed_program_and_documents(prefix):
    version = (ROOT / "VERSION").read_text().strip()
    assert version in output(prefix / "bin/gpu-tracker", "--version")
    assert {"carbon-intensity.csv", "grafana-dashboard.json"} <= {path.name for path in (prefix / "share/gpu-tracker").iterdir()}
    assert (prefix / "share/man/man1/gpu-tracker.1").read_text().startswith(".TH ")
    output("bash", "-n", prefix / "share/bash-completion/completions/gpu-tracker")
    assert (prefix / "share/zsh/site-functions/_gpu-tracker").read_text().startswith("#compdef gpu-tracker")
    assert "complete" in (prefix / "share/fish/vendor_completions.d/gpu-tracker.fish").read_text()
    assert os.readlink(prefix / "lib/libgputracker.so.0") == f"libgputracker.so.{version}"


@pytest.mark.parametrize("compiler, suffix", [("gcc", "c"), ("g++", "cc")])
@pytest.mark.parametrize("static", [False, True])
def test_programs_build_against_it(prefix, tmp_path, compiler, suffix, static):
    source = tmp_path / f"program.{suffix}"
    source.write_text(PROGRAM)
    flags = output("pkg-config", "--cflags", "--libs", *(["--static"] if static else []), "gpu-tracker",
                   env={"PKG_CONFIG_PATH": str(prefix / "lib/pkgconfig")}).split()
    if static:
        flags = [str(prefix / "lib/libgputracker.a") if flag == "-lgputracker" else flag for flag in flags]
    output(compiler, "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-o", tmp_path / "program", source, *flags)
    printed = output(tmp_path / "program", env={"LD_LIBRARY_PATH": str(prefix / "lib")})
    assert printed == (ROOT / "VERSION").read_text().strip() + " 1"


CMAKE = """
cmake_minimum_required(VERSION 3.13)
project(tracked C)
find_package(gpu-tracker 0.1 REQUIRED CONFIG)
add_executable(program program.c)
target_link_libraries(program gpu-tracker::gputracker)
"""


@pytest.mark.skipif(not shutil.which("cmake"), reason="cmake is not installed")
def test_programs_build_against_it_with_cmake(prefix, tmp_path):
    """Also where it has been moved to."""
    prefix = shutil.copytree(prefix, tmp_path / "moved", symlinks=True)
    (tmp_path / "CMakeLists.txt").write_text(CMAKE)
    (tmp_path / "program.c").write_text(PROGRAM)
    output("cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
    output("cmake", "--build", tmp_path / "build")
    assert output(tmp_path / "build/program") == (ROOT / "VERSION").read_text().strip() + " 1"


def test_the_library_has_its_symbols_in_a_version_of_their_own(prefix):
    symbols = output("nm", "-D", "--defined-only", "--with-symbol-versions", prefix / "lib/libgputracker.so").splitlines()
    names = [line.split()[-1] for line in symbols if " A " not in line]
    assert len(names) > 50 and all(name.startswith("gt_") and name.endswith("@@GPUTRACKER_0") for name in names), names


def test_recipes_are_of_this_version():
    version = (ROOT / "VERSION").read_text().strip()
    assert f"\nVersion:        {version}\n" in (ROOT / "packaging/rpm/gpu-tracker.spec").read_text()
    assert f'version("{version}")' in (ROOT / "packaging/spack/package.py").read_text()
    [easyconfig] = (ROOT / "packaging/easybuild").iterdir()
    assert f"gpu-tracker-{version}-" in easyconfig.name and f"version = '{version}'" in easyconfig.read_text()


def test_staged_installation(tmp_path):
    output("make", "-s", "install", f"DESTDIR={tmp_path}", "PREFIX=/opt/gpu-tracker", cwd=ROOT)
    text = (tmp_path / "opt/gpu-tracker/lib/pkgconfig/gpu-tracker.pc").read_text()
    assert "prefix=/opt/gpu-tracker\n" in text and str(tmp_path) not in text
    assert os.access(tmp_path / "opt/gpu-tracker/bin/gpu-tracker", os.X_OK)


def test_the_library_of_blocks_is_found_from_the_program(prefix, tmp_path):
    program = [prefix / "bin/gpu-tracker", "run", "--quiet", "--no-history", "--blocks-from=nvtx", "--tf=run.csv", "--"]
    found = output(*program, "sh", "-c", "echo $NVTX_INJECTION64_PATH", cwd=tmp_path)
    assert found == str(prefix / "lib/gpu-tracker/libgputracker-blocks.so")


def test_functions_of_python_by_what_is_installed(prefix, tmp_path):
    program = tmp_path / "train.py"
    program.write_text("def step(): pass\nstep()\n")
    command = str(prefix / "bin/gpu-tracker"), "run", "-q", "--no-history", "--python-blocks=step", "--tf=run.csv", "--"
    output(*command, sys.executable, "train.py", cwd=tmp_path)
    assert (tmp_path / "run.blocks.csv").read_text().count("train.step") == 2
