"""The parts that are C: the library, the extension module and the gpu-tracker program, both made of it."""
import concurrent.futures
import glob
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig

if sys.version_info < (3, 10):  # Pythons before 3.10 read this file, too: what only later ones know would be all that they say
    sys.exit("libgputracker needs Python 3.10 or later, and this is Python %d.%d" % sys.version_info[:2])

import setuptools
from setuptools import Extension, setup
from setuptools.command.build_clib import build_clib
from setuptools.errors import LinkError, PlatformError

from distutils.command.build_scripts import build_scripts  # setuptools' own copy

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:
    sys.exit(f"libgputracker is built with setuptools 77 or later, and this is {setuptools.__version__}: pip install -U setuptools")

HERE = pathlib.Path(__file__).parent
LIBRARY = "gputracker"
LOADED = "libexec/gpu-tracker"  # not lib/gpu-tracker: pip install --target leaves out what a wheel has in lib
BLOCKS = "lib/gpu-tracker/libgputracker-blocks.so"
HOOK = "lib/gpu-tracker/gpu_tracker_hook.abi3.so"
HOOK_SOURCES = ["python/hook/hook.c", "python/entries.c", "lib/base/map.c", "lib/base/grow.c"]
SYSTEM_LIBRARIES = ["sqlite3", "jansson", "utf8proc", "z", "m", "dl", "pthread"]
STATIC_WHERE_POSSIBLE = ["-Wl,-Bstatic", "-lsqlite3", "-ljansson", "-lutf8proc", "-lz", "-Wl,-Bdynamic", "-lm", "-ldl", "-lpthread"]
DYNAMIC = [f"-l{name}" for name in SYSTEM_LIBRARIES]
COMPILE = ["-std=gnu17", "-O2", "-fPIC", "-fvisibility=hidden", "-pthread"]
LINK = ["-Wl,--as-needed", "-Wl,--strip-debug", "-Wl,--exclude-libs,ALL"]
MACROS = [("_GNU_SOURCE", None), ("GT_VERSION", f'"{(HERE / "VERSION").read_text().strip()}"')]
INCLUDE = ["include", "lib", "cli"]
SYSTEMS = {"Debian": "apt-get", "RHEL": "dnf", "conda-forge": "conda"}
BROUGHT = []  # folders of libraries that are compiled here, with their licences
LIMITED = sys.version_info >= (3, 11)  # the limited API of 3.10 lacks buffers
HEADERS = {words[0]: words[1:] for words in map(str.split, (HERE / "tools/headers").read_text().splitlines()) if words[0] != "#"}


def missing_headers(compiler):
    asked = "".join(f"#if !__has_include(<{header}>)\nmissing {header}\n#endif\n" for header in HEADERS)
    words = [*compiler.compiler_so, f"-I{sysconfig.get_path('include')}", "-E", "-P", "-xc", "-"]
    try:
        done = subprocess.run(words, input=asked, stdout=subprocess.PIPE, text=True, check=False)
    except FileNotFoundError:
        raise PlatformError(f"there is no C compiler {words[0]}: install gcc (Debian, RHEL) or c-compiler (conda-forge)") from None
    return [line.split()[1] for line in done.stdout.splitlines() if line.startswith("missing ")]


def complain(missing):
    """Say what to install rather than what the compiler says of each file."""
    lines = [f"{tool} install {' '.join(HEADERS[header][column] for header in missing)} ({system})"
             for column, (system, tool) in enumerate(SYSTEMS.items())]
    raise PlatformError(f"missing {', '.join(missing)}: {', '.join(lines)}")


def brought(header):
    """The folder with the sources of a header's library, which a source distribution of `make dist` has, or None."""
    folder = HERE / "libraries" / {"zlib.h": "z"}.get(header, header.removesuffix(".h"))
    return folder if (folder / "build").exists() else None


def ncurses(compiler):
    """What the program is linked with for top: nothing where there is no ncurses. As in the Makefile."""
    def find(name):
        words = [compiler.compiler_so[0], f"-print-file-name={name}"]
        return subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()

    archives = [find("libncursesw.a"), find("libtinfo.a")]
    if all(map(os.path.isabs, archives)):
        return archives
    return ["-lncursesw"] if os.path.isabs(find("libncursesw.so")) else []


def sources(pattern):
    return sorted(glob.glob(pattern, root_dir=HERE, recursive=True))


def compile_all(compiler, files, folder, macros=()):
    """Objects of C files, compiled beside each other; those that are newer than the file and all headers stay.

    GPU_TRACKER_OBJECTS is a folder in which make has compiled them.
    """
    ready = os.environ.get("GPU_TRACKER_OBJECTS", "")
    patterns = ("*/*.h", "cli/*/*.h", "include/*/*.h", "lib/**/*.[hd]*", "lib/report/page/page.*s", "share/*/*.csv", "cli/*.def",
                "cli/completion.*", "cli/*.roff", "cli/*/*.html", "setup.py", "VERSION")
    headers = max(os.path.getmtime(path) for pattern in patterns for path in sources(pattern))

    def compile_one(file):
        path = os.path.join(ready, os.path.splitext(file)[0] + ".o")
        if ready and os.path.exists(path):
            return [path]
        [made] = compiler.object_filenames([file], output_dir=folder)
        if os.path.exists(made) and os.path.getmtime(made) > max(headers, os.path.getmtime(file)):
            return [made]
        return compiler.compile([file], folder, [*MACROS, *macros], INCLUDE, extra_postargs=COMPILE)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return [path for paths in pool.map(compile_one, files) for path in paths]


class BuildLibrary(build_clib):
    def build_libraries(self, libraries):
        missing = missing_headers(self.compiler)
        unknown = [header for header in missing if not brought(header)]
        if unknown:
            complain(unknown)
        for header in missing:
            self.build_brought(brought(header))
        blocks = self.build_blocks()
        loaded = [blocks, *([self.build_hook(blocks)] if sys.implementation.name == "cpython" else [])]
        self.distribution.data_files = [*(self.distribution.data_files or []), (LOADED, loaded),
                                        ("share/gpu-tracker/python", sources("share/gpu-tracker/python/*.py"))]
        for name, build in libraries:
            objects = compile_all(self.compiler, build["sources"], self.build_temp)
            archive = pathlib.Path(self.build_clib, self.compiler.library_filename(name))
            archive.unlink(missing_ok=True)  # or objects of files that are gone would stay in it
            self.compiler.create_static_lib(objects, name, self.build_clib)

    def build_blocks(self):
        """The library that programs load for run --blocks-from, as in the Makefile: it goes below the prefix, where the program looks."""
        made = os.path.join(os.environ.get("GPU_TRACKER_OBJECTS", ""), BLOCKS)
        if os.path.exists(made):
            return made
        files = [*sources("inject/*.c"), *(HERE / "inject/sources").read_text().split()]
        folder = os.path.join(self.build_temp, "blocks")
        objects = self.compiler.compile(files, folder, MACROS, INCLUDE, extra_postargs=[*COMPILE, "-ffunction-sections", "-fdata-sections"])
        self.compiler.link_shared_object(objects, os.path.basename(BLOCKS), folder, extra_postargs=[
            "-Wl,-soname,libgputracker-blocks.so,-Bsymbolic,--gc-sections,-z,nodelete,--as-needed,--strip-debug",
            "-Wl,--version-script=inject/exports.map", "-ldl", "-lpthread"])
        return os.path.join(folder, os.path.basename(BLOCKS))

    def build_hook(self, blocks):
        """The module beside it by which functions of Python programs become blocks: run --python-blocks."""
        made = os.path.join(os.environ.get("GPU_TRACKER_OBJECTS", ""), HOOK)
        if os.path.exists(made):
            return made
        folder = os.path.join(self.build_temp, "hook")
        include = [*INCLUDE, "inject", sysconfig.get_path("include")]
        objects = self.compiler.compile(HOOK_SOURCES, folder, MACROS, include, extra_postargs=COMPILE)
        self.compiler.link_shared_object([*objects, blocks], os.path.basename(HOOK), folder,
                                         extra_postargs=["-Wl,--strip-debug,-rpath,$ORIGIN"])
        return os.path.join(folder, os.path.basename(HOOK))

    def build_brought(self, folder):
        """Where a library is not installed, its sources beside ours are compiled: the program and the module have it inside."""
        BROUGHT.append(folder)
        words = (folder / "build").read_text().split()
        files = [str((folder / word).relative_to(HERE)) for word in words if word.endswith(".c")]
        options = [word for word in words if word.startswith("-D")]
        INCLUDE.append(str(folder.relative_to(HERE)))
        objects = self.compiler.compile(files, self.build_temp, MACROS, INCLUDE, extra_postargs=[*COMPILE, "-w", *options])
        self.compiler.create_static_lib(objects, folder.name, self.build_clib)
        self.compiler.add_library_dir(self.build_clib)


class BuildProgram(build_scripts):
    """The program goes where scripts go."""

    def run(self):
        library = self.get_finalized_command("build_clib")
        self.mkpath(self.build_dir)
        screen = ncurses(library.compiler)
        macros = [("GT_HAVE_NCURSES", None)] if screen else []
        objects = [*compile_all(library.compiler, sources("cli/**/*.c"), library.build_temp, macros),
                   os.path.join(library.build_clib, f"lib{LIBRARY}.a")]
        try:
            self.link(library.compiler, objects, [*screen, *STATIC_WHERE_POSSIBLE])
        except LinkError:
            self.link(library.compiler, objects, [*screen, *DYNAMIC])

    def link(self, compiler, objects, libraries):
        for name in self.scripts:
            compiler.link_executable(objects, name, self.build_dir, extra_postargs=[*LINK, *libraries])

    def get_source_files(self):
        return sources("cli/**/*.c")


class Wheel(bdist_wheel):
    """One wheel for CPython 3.11 and all later; 3.10 has its own."""

    def finalize_options(self):
        self.py_limited_api = "cp311" if LIMITED else False
        super().finalize_options()

    def write_wheelfile(self, wheelfile_base, **words):
        """GPU_TRACKER_LICENCES is a folder with those of the libraries that are linked in."""
        super().write_wheelfile(wheelfile_base, **words)
        folder = os.environ.get("GPU_TRACKER_LICENCES")
        if folder:
            shutil.copytree(folder, os.path.join(wheelfile_base, "licenses", "libraries"), dirs_exist_ok=True)
        for folder in BROUGHT:
            os.makedirs(os.path.join(wheelfile_base, "licenses", "libraries"), exist_ok=True)
            shutil.copy(folder / "LICENCE", os.path.join(wheelfile_base, "licenses", "libraries", folder.name))
        for path in pathlib.Path(wheelfile_base).parent.rglob("*"):  # whatever the umask: wheels of one commit are equal
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)


setup(
    libraries=[(LIBRARY, {"sources": sources("lib/**/*.c")})],
    scripts=["gpu-tracker"],
    ext_modules=[Extension(
        "gpu_tracker._core", sources("python/*.c"), INCLUDE, MACROS, libraries=[LIBRARY, *SYSTEM_LIBRARIES],
        extra_compile_args=COMPILE, extra_link_args=LINK, py_limited_api=LIMITED,
        depends=[path for pattern in ("python/*.h", "include/*.h", "include/*/*.h", "lib/**/*.[chd]*") for path in sources(pattern)],
    )],
    cmdclass={"bdist_wheel": Wheel, "build_clib": BuildLibrary, "build_scripts": BuildProgram},
)
