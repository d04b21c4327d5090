# ruff: noqa: F403 F405 - a package of Spack sees its language so
"""Spack: `spack repo create gpu-tracker-repo`, put this into packages/gpu-tracker/ of it, `spack repo add gpu-tracker-repo`."""
from spack.package import *


class GpuTracker(MakefilePackage):
    """Memory, CPU, GPU, time and energy of a command and all the processes that it starts."""

    homepage = "https://pypi.org/project/libgputracker/"
    # Until there is a release to fetch: spack dev-build gpu-tracker@0.1.0, in the unpacked source.
    version("0.1.0")

    license("Apache-2.0")

    depends_on("c", type="build")
    depends_on("gmake", type="build")
    depends_on("jansson")
    depends_on("sqlite@3.24:")
    depends_on("utf8proc")
    depends_on("zlib-api")
    depends_on("ncurses")
    depends_on("libmicrohttpd")

    def build(self, spec, prefix):
        make("all")

    def install(self, spec, prefix):
        make("install", f"PREFIX={prefix}")

    def check(self):
        Executable("build/gpu-tracker")("run", "-q", "--", "true")
