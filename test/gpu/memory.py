"""Programs that hold so much GPU memory for so long, one or several, and what is told of them."""
import contextlib
import shutil
import subprocess
import tempfile
import time

from kit import Skip

GIB = 2 ** 30
PERCENT = 2


def hold(kit, gibibytes, seconds):
    """Words of a program that holds that much."""
    return kit.program("hold", gibibytes * GIB / 1e6, seconds * 1000)


def held(kit):
    """What a context takes, and 2 GiB for two seconds beside it."""
    seconds = min(2, kit.seconds)
    _, report = kit.track("context", hold(kit, 0, seconds))
    kit.context = report["max_gpu_ram"]["main"]
    kit.check("memory: a context", 0 < kit.context < 2 * GIB, "more than 0 and less than 2048 MiB", f"{kit.context / 2**20:.1f} MiB")
    _, report = kit.track("hold", hold(kit, 2, seconds))
    kit.near("memory: 2 GiB", 2 * GIB + kit.context, report["max_gpu_ram"]["main"], PERCENT, "MiB", 2**20)


def short_peak(kit):
    """2 GiB for 50 ms, sampled once a second: only the driver's own mark can tell."""
    if kit.sources.get("nvml: accounting") != "ready":
        raise Skip("the driver keeps no accounts; sudo nvidia-smi -am 1 makes it")
    _, report = kit.track("peak", hold(kit, 2, 0.05), period=1)
    for bound in "at_least", "at_most":
        kit.near(f"memory: peak of 2 GiB for 50 ms, {bound.replace('_', ' ')}", 2 * GIB + kit.context,
                 report["gpu_memory_peak"]["main"][bound], PERCENT, "MiB", 2**20)


def two(kit, name, context, **environment):
    words = " ".join(hold(kit, 1, min(2, kit.seconds)))
    _, report = kit.track(name, ["sh", "-c", f"{words} & {words}; wait"], **environment)
    kit.near(f"memory: two processes of 1 GiB, {name}", 2 * (GIB + context), report["max_gpu_ram"]["combined"], PERCENT, "MiB", 2**20)


def processes(kit):
    two(kit, "processes", kit.context)


@contextlib.contextmanager
def mps_daemon(kit):
    """One of our own, in a folder of its own; the variables by which programs find it."""
    control = shutil.which("nvidia-cuda-mps-control")
    if not control:
        raise Skip("there is no nvidia-cuda-mps-control")
    with tempfile.TemporaryDirectory() as folder:  # a socket's path has to be short
        variables = {"CUDA_MPS_PIPE_DIRECTORY": folder, "CUDA_MPS_LOG_DIRECTORY": str(kit.folder)}
        environment = dict(kit.environment, **variables)
        started = subprocess.run([control, "-d"], env=environment, capture_output=True, text=True, timeout=60, check=False)
        if started.returncode:
            raise Skip(f"MPS does not start: {(started.stderr or started.stdout).strip()[:200]}")
        try:
            yield variables
        finally:
            subprocess.run([control], env=environment, input="quit\n", capture_output=True, text=True, timeout=60, check=False)


def mps(kit):
    """Clients of one server have contexts of another size: each is measured alone first."""
    with mps_daemon(kit) as variables:
        if kit.run(hold(kit, 0, 0), **variables).returncode:
            raise Skip("no program gets a context from MPS here")
        _, report = kit.track("mps-context", hold(kit, 0, min(2, kit.seconds)), **variables)
        two(kit, "mps", report["max_gpu_ram"]["main"], **variables)


def nvidia_smi(kit, *arguments):
    if not shutil.which("nvidia-smi"):
        raise Skip("there is no nvidia-smi")
    return kit.run(["nvidia-smi", *arguments]).stdout


def first_slice(kit):
    """Its name, or nothing where no GPU is cut into slices."""
    listed = nvidia_smi(kit, "-L")
    return "MIG-" + listed.split("UUID: MIG-")[1].split(")")[0] if "UUID: MIG-" in listed else ""


def mig(kit):
    uuid = first_slice(kit)
    if not uuid:
        raise Skip("no GPU is cut into slices")
    _, context = kit.track("mig-context", hold(kit, 0, min(2, kit.seconds)), CUDA_VISIBLE_DEVICES=uuid)
    _, report = kit.track("mig", hold(kit, 1, min(2, kit.seconds)), CUDA_VISIBLE_DEVICES=uuid)
    kit.near("memory: 1 GiB on a slice", GIB + context["max_gpu_ram"]["main"], report["max_gpu_ram"]["main"], PERCENT, "MiB", 2**20)


def rows_of(text):
    """{process: MiB} of nvidia-smi's list, without those whose memory it does not tell."""
    rows = [line.split(",") for line in text.splitlines() if line.count(",") == 1]
    return {int(pid): int(mebibytes) for pid, mebibytes in rows if mebibytes.strip().isdigit() and pid.strip().isdigit()}


def as_nvidia_smi(kit):
    """Of a process that both see at once. In a container its number may be another there; it is the one that was not there before."""
    query = ("--query-compute-apps=pid,used_memory", "--format=csv,noheader,nounits")
    before = rows_of(nvidia_smi(kit, *query))
    seen = {}

    def look():
        end = time.monotonic() + min(2, kit.seconds) + 3
        while time.monotonic() < end and not any(value * 2**20 > GIB for value in seen.values()):
            seen.update({pid: value for pid, value in rows_of(nvidia_smi(kit, *query)).items() if pid not in before})
            time.sleep(0.05)

    facts, report = kit.track("nvidia-smi", hold(kit, 1, min(2, kit.seconds) + 1), during=look)
    (kit.folder / "nvidia-smi.txt").write_text(nvidia_smi(kit, "-q"))
    pid = facts[0]["pid"]
    if pid not in seen and len(seen) != 1:
        raise Skip(f"nvidia-smi tells {len(seen)} new processes, none with the number {pid}")
    mebibytes = seen.get(pid, next(iter(seen.values())))
    kit.near("memory: as nvidia-smi says", mebibytes * 2**20, report["max_gpu_ram"]["main"], 1, "MiB", 2**20)
