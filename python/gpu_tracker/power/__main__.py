"""``python -m gpu_tracker.power --cmd "python train.py" --output_folder results``: measure a command."""
import argparse
import os
import subprocess
import sys

from . import experiment, parsers


def main() -> int:
    """Return the exit status of the command, or 128 + the number of the signal that ended it."""
    parser = argparse.ArgumentParser(prog="python -m gpu_tracker.power", description="Measure the power of a command.")
    parser.add_argument("--cmd", required=True, help="shell command to measure")
    parser.add_argument("--output_folder", default="power_measure", help="folder of the recording")
    parser.add_argument("--period", type=float, default=0.1, help="seconds between readings")
    parser.add_argument("--measurement_period", type=float, default=2.0, help="seconds between records")
    parser.add_argument("--cont", action="store_true", help="keep recordings in the folder and add to them")
    words = parser.parse_args()
    # The command stops itself until the measurement has started.
    with subprocess.Popen(["/bin/sh", "-c", 'kill -STOP $$; exec /bin/sh -c "$0"', words.cmd]) as command:
        os.waitid(os.P_PID, command.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        try:
            driver = parsers.JsonParser(words.output_folder, meta_data=words.cmd)
            recording = experiment.Experiment(driver, cont=words.cont)
            _, queue = recording.measure_from_pid_list([command.pid], words.period, words.measurement_period)
        except (OSError, RuntimeError, ValueError) as error:
            command.kill()
            sys.stderr.write(f"gpu_tracker.power: {error}\n")
            return 1
        os.kill(command.pid, 18)  # SIGCONT
        status = command.wait()
    queue.put(experiment.STOP_MESSAGE)
    try:
        experiment.ExpResults(driver).print()
        sys.stdout.flush()
    except BrokenPipeError:  # as with "| head"; Python flushes again at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main())
