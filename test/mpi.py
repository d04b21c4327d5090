"""The libraries of MPI that are installed here."""
import shutil

import pytest

# By the name that recordings have of who numbered the ranks: programs that start them, the first that is there counts.
STARTERS = {"OpenMPI": (["mpirun.openmpi", "mpirun"], ["--allow-run-as-root", "--oversubscribe"], "Open MPI"),
            "PMI": (["mpirun.mpich", "mpiexec.hydra"], [], "MPICH")}


def mpirun(launcher, ranks):
    """The words before a program that is to run as so many ranks."""
    names, options, library = STARTERS[launcher]
    found = next(filter(None, map(shutil.which, names)), None)
    if not found:
        pytest.skip(f"{library} is not installed")
    return [found, *options, "-np", str(ranks)]
