"""How much longer `gpu-tracker -e true` takes than `true` alone: start, one sample, report, exit."""
import subprocess
import tempfile
import time

from measure import GPU_TRACKER, ORIGINAL, machine, spread, table


def milliseconds(command, folder):
    begin = time.perf_counter()
    subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return (time.perf_counter() - begin) * 1e3


def main():
    commands = {"true": (["/bin/true"], 100), "gpu-tracker -e true": ([str(GPU_TRACKER), "-e", "true"], 100)}
    if (ORIGINAL / "gpu-tracker").exists():
        commands["gpu_tracker 5.0.1 -e true"] = ([str(ORIGINAL / "gpu-tracker"), "-e", "true"], 3)
    taken = {name: [] for name in commands}
    print(f"Start and exit. {machine()}\n")
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(100):
            for name, (command, turns) in commands.items():
                if turn < turns:
                    taken[name].append(milliseconds(command, folder))
    alone = spread(taken["true"])[1]
    table(["command", "min ms", "median ms", "max ms", "beyond true, ms", "runs"],
          [[name, *(f"{value:.2f}" for value in spread(values)), f"{spread(values)[1] - alone:.2f}", len(values)]
           for name, values in taken.items()])


main()
