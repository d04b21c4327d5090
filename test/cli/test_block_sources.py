"""Ranges of ITT, Kokkos, roctx and MPI as code blocks; those of NVTX are in test_nvtx.py."""
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys

import pytest
from mpi import mpirun

BUILD = pathlib.Path(__file__).parents[2] / "build"
LIBRARY = BUILD / "lib" / "gpu-tracker" / "libgputracker-blocks.so"
RANGES = str(BUILD / "test" / "truth" / "ranges")


@pytest.fixture
def ranges(cli, tmp_path):
    """ranges("itt", [program, ...]): the completed run, and (process, name, calls, seconds) of each block."""

    def run(source, command, *options, **keywords):
        done = cli("run", "--quiet", "--no-history", "--overwrite", "--st=1", "--tf=run.sqlite", f"--blocks-from={source}", *options,
                   "--", *command, **keywords)
        done.stderr = re.sub("^  !.*\n", "", done.stderr, flags=re.MULTILINE)  # of the machine, of the summary
        with sqlite3.connect(tmp_path / "run.sqlite") as file:
            is_any = file.execute("SELECT 1 FROM sqlite_master WHERE name = 'blocks'").fetchone()
            summed = ("SELECT process_id, code_block_name, sum(position), sum(iif(position = 1, monotonic, -monotonic)) FROM blocks "
                      "GROUP BY 1, 2 ORDER BY 1, 2")
            return done, file.execute(summed).fetchall() if is_any else []

    return run


def is_library(name):
    return os.path.isabs(subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=True).stdout)


def names(found):
    return {name: count for _, name, count, _ in found}


def test_kokkos(ranges):
    done, found = ranges("kokkos", [RANGES, "kokkos"])
    assert (done.returncode, done.stdout, done.stderr) == (0, "0\n", "")
    assert names(found) == {"solve": 1, "Axpy": 1, "Dot": 1, "section": 2}


def test_kokkos_of_before_2022_wants_another_variable(ranges):
    done, found = ranges("kokkos", ["true"])
    assert not found and done.stderr.rstrip(")\n").endswith("; Kokkos before 3.7 takes KOKKOS_PROFILE_LIBRARY=" + str(LIBRARY))


def test_itt(ranges):
    done, found = ranges("itt", [RANGES, "itt"])
    assert (done.returncode, done.stdout, done.stderr) == (0, "1 1 1 1\n1\n", "")
    assert names(found) == {"app:step": 1, "made before:step": 1, "app:(unnamed)": 1}
    done, found = ranges("itt", [RANGES, "itt"], "--blocks-domains=app")
    assert done.stdout.startswith("1 0 1 1\n") and names(found) == {"app:step": 1, "app:(unnamed)": 1}


def test_roctx(ranges, fake):
    """Beside the library of ROCm, whose numbers the program gets; and where there is none."""
    done, found = ranges("roctx", [RANGES, "roctx", fake("roctx64")])
    assert (done.returncode, done.stdout, done.stderr) == (0, "0 1 1 0 1001\n2 2002\n", "")
    assert names(found) == {"forward": 1, "inner": 1, "anywhere": 1}
    done, found = ranges("roctx", [RANGES, "roctx"])
    assert done.stdout.startswith("0 1 1 0 ") and names(found) == {"forward": 1, "inner": 1, "anywhere": 1}
    done, found = ranges("mpi", [RANGES, "roctx", fake("roctx64")])
    assert done.stdout == "0 1 1 0 1001\n2 2002\n" and not found and "no MPI call was seen" in done.stderr


def test_the_list_of_sources(ranges, refused):
    assert names(ranges(" nvtx, kokkos ", [RANGES, "kokkos"])[1])["solve"] == 1
    refused(2, "'kokko' is not a source", "run", "--blocks-from=kokko", "--", "touch", "started")


def test_of_all_sources_any_is_enough(ranges):
    done, found = ranges("all", ["true"])
    assert not found and done.stderr.startswith("gpu-tracker: --blocks-from all: nothing ") and done.stderr.count("\n") == 1
    done, found = ranges("all", [RANGES, "kokkos"])
    assert found and done.stderr == ""
    assert "no MPI call was seen" in ranges("all,mpi", [RANGES, "kokkos"])[0].stderr
    assert ranges("all", ["true"], "--python-blocks=x")[0].stderr.count("no Python process took part") == 1


def test_each_source_has_its_variable(ranges):
    """And no other's: nothing is preloaded unless it is asked for."""
    variables = ["NVTX_INJECTION64_PATH", "INTEL_LIBITTNOTIFY64", "KOKKOS_TOOLS_LIBS", "LD_PRELOAD"]
    show = ["sh", "-c", "".join(f'echo "${name}"; ' for name in variables)]
    environment = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
    for source, expected in (("nvtx", [1, 0, 0, 0]), ("itt", [0, 1, 0, 0]), ("kokkos", [0, 0, 1, 0]), ("roctx,mpi", [0, 0, 0, 1]),
                             ("all", [1, 1, 1, 0])):
        printed = ranges(source, show, env=environment)[0].stdout.splitlines()
        assert printed == [str(LIBRARY) if is_set else "" for is_set in expected], source
    kept = {**environment, "LD_PRELOAD": "libc.so.6"}
    assert ranges("mpi", show, env=kept)[0].stdout == f"\n\n\nlibc.so.6:{LIBRARY}\n"


def compiled(tmp_path, *command):
    """A program that prints a line, by a compiler that may be missing here."""
    source = tmp_path / "hello.c"
    source.write_text('#include <stdio.h>\nint main(void) { return puts("hello") < 0; }\n')
    if not shutil.which(command[0]) or subprocess.run([*command, source, "-o", tmp_path / "hello"], check=False).returncode:
        pytest.skip(f"{' '.join(command)} does not compile here")
    return tmp_path / "hello"


def test_nothing_is_preloaded_into_programs_of_musl(ranges, tmp_path):
    program = compiled(tmp_path, "musl-gcc")
    script = tmp_path / "script"
    script.write_text(f"#! {program} x\n")
    script.chmod(0o755)
    for command in program, script:
        done, _ = ranges("mpi,roctx", [command])
        sentence = f"{command} is linked with musl, which cannot load the library of roctx and mpi: --blocks-from leaves them out"
        assert (done.returncode, done.stdout, done.stderr) == (0, "hello\n", f"gpu-tracker: {sentence}\n")


def test_what_a_preloaded_library_stops_has_a_remedy(ranges, tmp_path):
    done, _ = ranges("mpi", ["sh", "-c", "exit 127"])
    assert done.returncode == 127 and "try it without roctx and mpi in --blocks-from" in done.stderr
    remedy = "ASAN_OPTIONS=verify_asan_link_order=0"
    assert remedy not in done.stderr and remedy not in ranges("kokkos", ["false"])[0].stderr
    program = compiled(tmp_path, "gcc", "-fsanitize=address")
    done, _ = ranges("mpi", [program])
    assert done.returncode == 1 and f"try {remedy}" in done.stderr
    done, _ = ranges("mpi", [program], env={**os.environ, **dict([remedy.split("=", 1)])})
    assert (done.returncode, done.stdout) == (0, "hello\n") and remedy not in done.stderr


def test_path_that_cannot_be_preloaded(gpu_tracker, tmp_path):
    prefix = tmp_path / "a folder"
    for path in "bin", "lib/gpu-tracker":
        (prefix / path).mkdir(parents=True)
    shutil.copy(gpu_tracker, prefix / "bin")
    shutil.copy(LIBRARY, prefix / "lib/gpu-tracker")
    words = [prefix / "bin/gpu-tracker", "run", "--quiet", "--no-history", "--tf=run.csv", "--blocks-from=mpi", "--", "touch", "started"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 125 and "its path holds a space" in done.stderr and [path.name for path in tmp_path.iterdir()] == ["a folder"]


# What the headers of each library have, so that they need not be there.
HANDLES = {"OpenMPI": """
typedef void *handle;
extern char ompi_mpi_comm_world[], ompi_mpi_double[], ompi_mpi_int[], ompi_mpi_op_sum[];
#define WORLD ompi_mpi_comm_world
#define DOUBLE ompi_mpi_double
#define INT ompi_mpi_int
#define SUM ompi_mpi_op_sum
#define STATUS_IGNORE NULL
enum { WORLD_OF_FORTRAN = 0 };
""", "PMI": """
typedef int handle;
enum { WORLD = 0x44000000, DOUBLE = 0x4c00080b, INT = 0x4c000405, SUM = 0x58000003, WORLD_OF_FORTRAN = WORLD };
#define STATUS_IGNORE (void *)1
"""}
LIBRARIES = {"OpenMPI": ("libmpi.so.40", "libmpi_mpifh.so.40"), "PMI": ("libmpich.so.12", "libmpichfort.so.12")}
# Rank 1 comes late; rank 0 prints how long it waited for it, and how long it then was in MPI_Test.
MPI = """
#include <stdio.h>
#include <time.h>
int MPI_Init(int *, char ***), MPI_Comm_rank(handle, int *), MPI_Finalize(void);
int MPI_Allreduce(const void *, void *, int, handle, handle, handle), MPI_Send(const void *, int, handle, int, int, handle);
int MPI_Irecv(void *, int, handle, int, int, handle, handle *), MPI_Test(handle *, int *, void *);
double MPI_Wtime(void);
void mpi_barrier_(int *, int *); /* Fortran's, which calls that of C */
static void rest(void) { nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL); }
int main(int count, char **words)
{
    int rank, done = 0, message = 0;
    double sum, waited = 0, polled = 0;
    handle request;
    MPI_Init(&count, &words);
    MPI_Comm_rank(WORLD, &rank);
    for (int i = 0; i < 3; i++) {
        if (rank == 1)
            rest();
        double one = 1, begin = MPI_Wtime();
        MPI_Allreduce(&one, &sum, 1, DOUBLE, SUM, WORLD);
        waited += MPI_Wtime() - begin;
    }
    if (rank == 1) {
        rest();
        MPI_Send(&message, 1, INT, 0, 0, WORLD);
    } else {
        MPI_Irecv(&message, 1, INT, 1, 0, WORLD, &request);
        while (!done) {
            double begin = MPI_Wtime();
            MPI_Test(&request, &done, STATUS_IGNORE);
            polled += MPI_Wtime() - begin;
        }
        printf("%.6f %.6f %g\\n", waited, polled, sum);
    }
    mpi_barrier_(&(int){WORLD_OF_FORTRAN}, &done);
    MPI_Finalize();
    return done;
}
"""


@pytest.fixture(scope="module", params=LIBRARIES)
def mpi(tmp_path_factory, request):
    start, libraries = mpirun(request.param, 2), LIBRARIES[request.param]
    if not all(is_library(name) for name in libraries):
        pytest.skip(f"there is no {libraries[0]} here")
    program = tmp_path_factory.mktemp("mpi") / "wait"
    program.with_suffix(".c").write_text(HANDLES[request.param] + MPI)
    subprocess.run(["gcc", "-o", program, program.with_suffix(".c"), *(f"-l:{name}" for name in libraries)], check=True)
    return [*start, program]


def test_mpi_shows_who_waits(ranges, mpi):
    done, found = ranges("mpi", mpi)
    assert done.returncode == 0 and done.stderr == "", done
    waited, polled, reduced = map(float, done.stdout.split())
    waiting = {name: (count, seconds) for process, name, count, seconds in found if (process, "MPI_Irecv") in [row[:2] for row in found]}
    assert waiting["MPI_Allreduce"] == (3, pytest.approx(waited, rel=0.05)) and reduced == 2
    assert waiting["MPI_Test"][0] <= 3 and 0 < waiting["MPI_Test"][1] < polled  # whose clock is read outside ours
    assert len({process for process, *_ in found}) == 2 and names(found)["MPI_Finalize"] == names(found)["MPI_Barrier"] == 1


PYTHON = {
    "nvtx": """
import nvtx
@nvtx.annotate("decorated", domain="mine")
def f(): pass
for _ in range(3): f()
with nvtx.annotate("context"): pass
nvtx.end_range(nvtx.start_range("anywhere"))
domain = nvtx.get_domain("fast")
named = domain.get_event_attributes(message="named")
domain.push_range(named)
domain.pop_range()
with nvtx.annotate("off", domain="OFF"): pass
""",
    "ittapi": """
import ittapi
with ittapi.task("outer"):
    with ittapi.task("inner", domain="mine"): pass
with ittapi.task("off", domain="OFF"): pass
""",
}


@pytest.mark.parametrize("package, source, expected", [
    ("nvtx", "nvtx", {"mine:decorated": 3, "context": 1, "anywhere": 1, "fast:named": 1}),
    ("ittapi", "itt", {"ittapi:outer": 1, "mine:inner": 1}),
])
def test_packages_of_python(ranges, package, source, expected):
    pytest.importorskip(package, reason=f"PyPI's {package} is not installed")
    done, found = ranges(source, [sys.executable, "-c", PYTHON[package]], "--blocks-domains=^(default|mine|fast|ittapi)$")
    assert (done.returncode, done.stderr) == (0, "") and names(found) == expected


def test_marks_of_our_own_beside_a_preloaded_library(ranges, tmp_path):
    """A program that is linked with libgputracker has its own part of it, whose functions nothing stands before."""
    (tmp_path / "marks.c").write_text('#include <gpu_tracker.h>\nint main(void) { GT_BLOCK("ours"); return gt_block_trouble() != NULL; }')
    subprocess.run(["gcc", "-o", "marks", f"-I{BUILD.parent}/include", "marks.c", f"-L{BUILD}", "-lgputracker", f"-Wl,-rpath,{BUILD}"],
                   cwd=tmp_path, check=True)
    done, found = ranges("mpi", ["./marks"])
    assert done.returncode == 0 and names(found) == {"ours": 1}
