"""``python -m gpu_tracker.power --cmd "python train.py" --output_folder results``: measure a command."""
import argparse
import os
import subprocess
import sys

from . import experiment, parsers


def main() -> int:
    """Returns the exit status: the command's, 128 + the number of the signal that ended it."""
    parser = argparse.ArgumentParser(prog="python -m gpu_tracker.power", description="Measure what a command draws.")
    parser.add_argument("--cmd", required=True, help="the command, for the shell")
    parser.add_argument("--output_folder", default="power_measure", help="where the recording goes")
    parser.add_argument("--period", type=float, default=0.1, help="seconds between readings")
    parser.add_argument("--measurement_period", type=float, default=2.0, help="seconds between records")
    parser.add_argument("--cont", action="store_true", help="add to the folder's recordings instead of replacing them")
    words = parser.parse_args()
    # The command waits, stopped, until it is measured.
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
    except BrokenPipeError:  # as of "| head"; Python flushes once more at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main())
