"""The management library's answers as it gives them, byte by byte, while a known program runs: what becomes fixtures."""
import ctypes
import json
import subprocess
import time

UNTOUCHED = 0xA5  # what is in a buffer before the driver writes
ROWS, WIDEST = 64, 64
ROW_SIZES = (16, 24, 32)
LISTS = ["nvmlDeviceGetComputeRunningProcesses", "nvmlDeviceGetGraphicsRunningProcesses", "nvmlDeviceGetMPSComputeRunningProcesses"]
# Functions that fill one block of memory, with its size or a version word, and what is asked.
BLOCKS = {"nvmlDeviceGetMemoryInfo": (24, 0), "nvmlDeviceGetMemoryInfo_v2": (40, 2), "nvmlDeviceGetUtilizationRates": (8, 0),
          "nvmlDeviceGetPowerUsage": (4, 0), "nvmlDeviceGetTotalEnergyConsumption": (8, 0), "nvmlDeviceGetPciInfo_v3": (68, 0),
          "nvmlDeviceGetAccountingMode": (4, 0), "nvmlDeviceGetMinorNumber": (4, 0)}
FIELDS = ((185, 0), (186, 0), (186, 1), (186, 2), (94, 0), (142, 0), (143, 0))


def written(buffer):
    """As text, up to the last byte that is not as it was."""
    data = bytes(buffer)
    return data.rstrip(bytes([UNTOUCHED])).hex()


def new_buffer(size):
    return (ctypes.c_ubyte * size)(*[UNTOUCHED] * size)


class Library:
    """Every function by name; what it lacks answers None."""

    def __init__(self, path):
        self.library = ctypes.CDLL(path or "libnvidia-ml.so.1")
        self.answers = {}

    def call(self, name, *arguments):
        try:
            return getattr(self.library, name)(*arguments)
        except AttributeError:
            return None

    def keep(self, name, result, **rest):
        self.answers[name] = {"result": result, **rest}

    def text(self, name, *arguments):
        buffer = ctypes.create_string_buffer(128)
        self.keep(name, self.call(name, *arguments, buffer, 128), text=buffer.value.decode(errors="replace"))

    def process_list(self, name, device):
        count, buffer = ctypes.c_uint(ROWS), new_buffer(ROWS * WIDEST)
        self.keep(name, self.call(name, device, ctypes.byref(count), buffer), count=count.value, bytes=written(buffer))

    def detail_list(self, device):
        rows = new_buffer(ROWS * WIDEST)
        name = "nvmlDeviceGetRunningProcessDetailList"
        head = (ctypes.c_uint64 * 3)(0x01000018, ROWS, ctypes.addressof(rows))  # version and mode 0, count, rows
        self.keep(name, self.call(name, device, head), count=head[1] & 0xFFFFFFFF, bytes=written(rows))

    def block(self, name, device, size, version):
        buffer = new_buffer(size)
        if version:
            buffer[:4] = (size | version << 24).to_bytes(4, "little")
        self.keep(name, self.call(name, device, buffer), bytes=written(buffer))

    def fields(self, device):
        buffer = new_buffer(40 * len(FIELDS))
        for i, (field, scope) in enumerate(FIELDS):
            buffer[40 * i:40 * i + 8] = field.to_bytes(4, "little") + scope.to_bytes(4, "little")
        name = "nvmlDeviceGetFieldValues"
        self.keep(name, self.call(name, device, len(FIELDS), buffer), fields=FIELDS, bytes=bytes(buffer).hex())

    def samples(self, device, which):
        kind, count, buffer = ctypes.c_int(-1), ctypes.c_uint(1024), new_buffer(1024 * 16)
        name = "nvmlDeviceGetSamples"
        result = self.call(name, device, which, ctypes.c_ulonglong(0), ctypes.byref(kind), ctypes.byref(count), buffer)
        self.keep(f"{name} {which}", result, type=kind.value, count=count.value, bytes=written(buffer))

    def utilization(self, device):
        count, buffer = ctypes.c_uint(ROWS), new_buffer(ROWS * 32)
        name = "nvmlDeviceGetProcessUtilization"
        result = self.call(name, device, buffer, ctypes.byref(count), ctypes.c_ulonglong(0))
        self.keep(name, result, count=count.value, bytes=written(buffer))

    def accounts(self, device, pid):
        count, pids, buffer = ctypes.c_uint(ROWS), new_buffer(ROWS * 4), new_buffer(56)
        name = "nvmlDeviceGetAccountingPids"
        self.keep(name, self.call(name, device, ctypes.byref(count), pids), count=count.value, bytes=written(pids))
        name = "nvmlDeviceGetAccountingStats"
        self.keep(name, self.call(name, device, pid, buffer), bytes=written(buffer))


def ask(path, pid):
    """{function: answer} of the first GPU."""
    library, device = Library(path), ctypes.c_void_p()
    started = library.call("nvmlInit_v2")
    found = library.call("nvmlDeviceGetHandleByIndex_v2", 0, ctypes.byref(device)) if started == 0 else started
    if found != 0:
        raise RuntimeError(f"the management library answers {found}")
    library.text("nvmlSystemGetDriverVersion")
    library.text("nvmlSystemGetNVMLVersion")
    library.text("nvmlDeviceGetName", device)
    for name, (size, version) in BLOCKS.items():
        library.block(name, device, size, version)
    for name in LISTS:
        for version in "", "_v2", "_v3":
            library.process_list(name + version, device)
    library.detail_list(device)
    library.fields(device)
    for which in 0, 1:
        library.samples(device, which)
    library.utilization(device)
    library.accounts(device, pid)
    library.call("nvmlShutdown")
    return library.answers


def row_size(answer):
    """Bytes of a row, of what was written in all; None where there is none."""
    size = len(answer["bytes"]) // 2
    fitting = [width for width in ROW_SIZES if answer["count"] and (answer["count"] - 1) * width < size <= answer["count"] * width]
    return fitting[0] if fitting else None


def layouts(kit):
    """That the rows of each list are of a size that we know, while one process is on the GPU."""
    with subprocess.Popen(kit.program("load", "spin", 50, 20, min(2, kit.seconds) + 1), env=kit.environment, stdout=subprocess.PIPE,
                          text=True) as program:
        time.sleep(min(2, kit.seconds) / 2 + 0.3)
        answers = ask(kit.nvml, program.pid)
        program.communicate(timeout=60)
    (kit.folder / "nvml.json").write_text(json.dumps({"pid": program.pid, "answers": answers}, indent=1))
    lists = {name: answer for name, answer in answers.items() if "RunningProcess" in name and answer["result"] == 0 and answer["count"]}
    for name, answer in lists.items():
        size = row_size(answer)
        kit.check(f"rows of {name}", size is not None, f"{answer['count']} of 16, 24 or 32 bytes",
                  f"{size} bytes each" if size else f"{len(answer['bytes']) // 2} bytes in all")
    kit.check("lists of processes", bool(lists), "a row of the program that runs", f"rows in {len(lists)} lists")
