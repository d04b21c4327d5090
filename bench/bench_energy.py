"""What energy counters add to a sample: CPU time of samples with and without a powercap tree, 10 ms apart."""
import measure

PROCESSES = (1, 100)
PACKAGES = (0, 1, 2, 8)
SAMPLES = 200
ROUNDS = 3


def cost(processes, packages):
    """Microseconds; the cheapest of some rounds."""
    program = measure.BUILD / "bench" / "bench_energy"
    return min(float(measure.subprocess.run([program, str(processes), str(packages), str(SAMPLES)], check=True,
                                            capture_output=True, text=True).stdout) for _ in range(ROUNDS))


def main():
    rows = []
    for processes in PROCESSES:
        plain = cost(processes, 0)
        for packages in PACKAGES:
            spent = plain if packages == 0 else cost(processes, packages)
            rows.append([str(processes), str(packages), f"{spent:.0f}", f"{spent - plain:.0f}" if packages else ""])
    measure.table(["processes", "packages with memory", "CPU us per sample", "more than without, us"], rows)


if __name__ == "__main__":
    main()
