"""Loading a 600 MB trace laid out as PyTorch's profiler does, into columns, beside json.load of the same file.

With a number of gigabytes (make bench-large: 10) the file is that large, and there is no json.load: it would need five
times as much memory.
"""
import gzip
import os
import subprocess
import sys
import tempfile
import time

from measure import BUILD, machine, table

SIZE = 600e6
MOST_FOR_PYTHON = 2e9
HEAD = """{
  "schemaVersion": 1,
  "deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3", "totalGlobalMem": 85045411840}],
  "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 8},
  "displayTimeUnit": "ms",
  "baseTimeNanoseconds": 1759999990000000000,
  "traceEvents": [
"""
# An operator, the call that launches its kernel, the kernel, and the arrow between them: the layout of one launch.
LAUNCH = """  {{
    "ph": "X", "cat": "cpu_op", "name": "{operator}", "pid": 4021, "tid": 4021,
    "ts": {time:.3f}, "dur": 21.204,
    "args": {{
      "External id": {id},"Record function id": 0, "Concrete Inputs": ["", "[64, 1024]"],
      "Input type": ["float", "ScalarList"], "Input Strides": [[1024, 1], []],
      "Input Dims": [[64, 1024], []], "Ev Idx": {id}
    }}
  }},
  {{
    "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 4021, "tid": 4021,
    "ts": {launch:.3f}, "dur": 5.112,
    "args": {{
      "External id": {id}, "cbid": 211, "correlation": {id}
    }}
  }},
  {{
    "ph": "s", "id": {id}, "pid": 4021, "tid": 4021, "ts": {launch:.3f},
    "cat": "ac2g", "name": "ac2g"
  }},
  {{
    "ph": "X", "cat": "kernel", "name": "{kernel}", "pid": 0, "tid": 7,
    "ts": {start:.3f}, "dur": 11.904,
    "args": {{
      "External id": {id},
      "queued": 0, "device": 0, "context": 1,
      "stream": 7, "correlation": {id},
      "registers per thread": 32,
      "shared memory": 0,
      "blocks per SM": 0.592593,
      "warps per SM": 2.37037,
      "grid": [64, 1, 1],
      "block": [128, 1, 1],
      "est. achieved occupancy %": 4
    }}
  }},
  {{
    "ph": "f", "id": {id}, "pid": 0, "tid": 7, "ts": {start:.3f},
    "cat": "ac2g", "name": "ac2g", "bp": "e"
  }},
"""
OPERATORS = ["aten::mm", "aten::add_", "aten::copy_", "autograd::engine::evaluate_function: AddmmBackward0"]
KERNELS = ["ampere_sgemm_128x64_nn",
           "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
           "at::detail::Array<char*, 3> >(int, at::native::CUDAFunctor_add<float>, at::detail::Array<char*, 3>)"]
TAIL = """  {"name": "process_name", "ph": "M", "ts": 0, "pid": 4021, "tid": 0, "args": {"name": "python"}}
]}
"""


def generate(path, size):
    with open(path, "w") as file:
        file.write(HEAD)
        number = 0
        while file.tell() < size:
            parts = []
            for _ in range(1000):
                number += 1
                begin = 5000000 + number * 31.125
                parts.append(LAUNCH.format(operator=OPERATORS[number % 4], kernel=KERNELS[number % 2], id=number,
                                           time=begin, launch=begin + 9.25, start=begin + 27.5))
            file.write("".join(parts))
        file.write(TAIL)


def load(path, threads):
    command = [BUILD / "bench/bench_trace_load", path, str(threads)]
    events, seconds, memory = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    return int(events), float(seconds), int(memory)


def load_with_python(path):
    """In a process of its own, for its memory."""
    program = f"import json; d = json.load(open({path!r})); print(len(d['traceEvents']))"
    begin = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    events = int(process.stdout.read())
    _, _, usage = os.wait4(process.pid, 0)
    return events, time.perf_counter() - begin, usage.ru_maxrss // 1024


def info(path):
    """Seconds of the command that keeps no events, on one thread."""
    begin = time.perf_counter()
    subprocess.run([BUILD / "gpu-tracker", "timeline", "info", "--threads", "1", path], check=True,
                   stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin


def compress(path):
    with open(path, "rb") as plain, gzip.open(path + ".gz", "wb", compresslevel=1) as packed:
        while block := plain.read(1 << 20):
            packed.write(block)


def fastest(function, *arguments):
    return min((function(*arguments) for _ in range(3)), key=lambda run: run[1])


def inflate(path, size):
    command = [BUILD / "bench/bench_trace_load", path]
    out = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    for name, seconds in (line.rsplit(" ", 1) for line in out.splitlines()):
        print(f"Inflating it with {name}: {float(seconds):.2f} s, {size / 1e6 / float(seconds):.0f} MB/s.")


def main():
    wanted = float(sys.argv[1]) * 1e9 if len(sys.argv) > 1 else SIZE
    print(f"Loading a trace. {machine()}\n")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        generate(path, wanted)
        size = os.path.getsize(path)
        runs = {"gpu-tracker, 1 thread": fastest(load, path, 1)}
        if os.cpu_count() > 1:
            runs[f"gpu-tracker, {os.cpu_count()} threads"] = fastest(load, path, os.cpu_count())
        slowest = None
        if wanted <= MOST_FOR_PYTHON:
            compress(path)
            runs["gpu-tracker, gzip, 1 thread"] = fastest(load, path + ".gz", 1)
            slowest = runs["json.load"] = load_with_python(path)
        table(["reader", "events", "s", "MB/s", "RSS, MB", "times faster", "times less memory"],
              [[name, events, f"{seconds:.2f}", f"{size / 1e6 / seconds:.0f}", memory,
                f"{slowest[1] / seconds:.1f}" if slowest else "-", f"{slowest[2] / memory:.1f}" if slowest else "-"]
               for name, (events, seconds, memory) in runs.items()])
        print(f"\nThe file has {size / 1e6:.0f} MB. timeline info, 1 thread: {info(path):.2f} s.")
        if slowest:
            inflate(path + ".gz", size)


main()
