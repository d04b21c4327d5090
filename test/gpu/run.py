#!/usr/bin/env python3
"""What gpu-tracker tells of programs whose use of a GPU is known: make test-gpu, on a machine that has one.

Needs what make builds, Python's standard library and a driver, no network. Leaves a folder with the results, all reports and
recordings, and the driver's raw answers. Each check says what was expected and what was found."""
import argparse
import json
import pathlib
import subprocess
import sys
import time

from kit import Kit

sys.dont_write_bytecode = True

NO_GPU = 97  # the status of the programs in this folder


def doctor(kit):
    """What it says of this machine, and that it sees the GPU that CUDA sees."""
    (kit.folder / "doctor.txt").write_text(kit.run([kit.gpu_tracker, "doctor", *kit.libraries]).stdout)
    told = kit.run([kit.gpu_tracker, "doctor", "--format", "json", *kit.libraries])
    kit.sources = {row["source"]: row["state"] for row in json.loads(told.stdout)["sources"]}
    state = kit.sources.get("nvml", "no such source")
    kit.check("doctor", state == "ready", "nvml ready", state)


def options_of(arguments):
    here = pathlib.Path(__file__).resolve().parent.parent.parent
    parser = argparse.ArgumentParser(description="Check gpu-tracker's figures of GPUs on a machine that has one.")
    parser.add_argument("--build", type=pathlib.Path, default=here / "build", help="what make built (build)")
    parser.add_argument("--program", type=pathlib.Path, help="another gpu-tracker than the one built, as that of make static")
    parser.add_argument("--output", type=pathlib.Path, help="a new folder for the results (build/gpu-results/ and the time)")
    parser.add_argument("--only", default="", help="groups of checks, separated by commas (all)")
    parser.add_argument("--seconds", type=float, default=4, help="how long each load lasts (4)")
    parser.add_argument("--python", default=sys.executable, help="the Python that has PyTorch (this one)")
    parser.add_argument("--nvml", help="another management library than libnvidia-ml.so.1")
    parser.add_argument("--cuda", help="another CUDA driver than libcuda.so.1")
    options = parser.parse_args(arguments)
    options.output = options.output or options.build / "gpu-results" / time.strftime("%Y%m%d-%H%M%S")
    return parser, options


def groups():
    """In the order in which they are made: the memory of a context is needed by others."""
    import answers
    import load
    import memory
    import overhead
    import training
    return {"doctor": doctor, "memory": memory.held, "peak": memory.short_peak, "processes": memory.processes, "mps": memory.mps,
            "mig": memory.mig, "nvidia-smi": memory.as_nvidia_smi, "utilisation": load.utilisation, "power": load.power,
            "overhead": overhead.launches, "answers": answers.layouts, "training": training.torch}


def main(arguments):
    parser, options = options_of(arguments)
    chosen = groups()
    only = [name for name in options.only.split(",") if name]
    if unknown := [name for name in only if name not in chosen]:
        parser.error(f"--only: there is no group {', '.join(unknown)}; there are {', '.join(chosen)}")
    kit = Kit(options)
    probe = subprocess.run(kit.program("hold", 0, 0), env=kit.environment, capture_output=True, text=True, check=False)
    if probe.returncode == NO_GPU:
        print(f"make test-gpu: nothing to check here: {probe.stderr.strip()}")
        return 0
    if probe.returncode:
        parser.error(f"the first program ended with status {probe.returncode}: {probe.stderr.strip()}")
    kit.folder.mkdir(parents=True)
    for name, function in chosen.items():
        if not only or name in only or name in ("doctor", "memory"):
            kit.make(name, function)
    last = f"{kit.count('passed')} passed, {kit.count('failed')} failed, {kit.count('skipped')} skipped"
    lines = [f"{result['outcome']} {result['check']}: {result['text']}" for result in kit.results]
    (kit.folder / "results.txt").write_text("\n".join([*lines, last, ""]))
    (kit.folder / "results.json").write_text(json.dumps(kit.results, indent=1))
    print(f"{kit.folder}\n{last}")
    return 1 if kit.count("failed") else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
