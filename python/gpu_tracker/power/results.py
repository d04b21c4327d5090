"""``python -m gpu_tracker.power.results --output_folder results --curve intel_power,nvidia_power``: what was recorded."""
import argparse
import os
import sys

from . import experiment, parsers


def main() -> int:
    """Returns the exit status: 1 when there is no recording, or no such curve."""
    parser = argparse.ArgumentParser(prog="python -m gpu_tracker.power.results", description="Tell what was recorded.")
    parser.add_argument("--output_folder", default="power_measure", help="the folder, or the tracking file")
    parser.add_argument("--curve", help="curves to draw: name,name")
    parser.add_argument("--saveto", help="the file to draw them into, instead of the screen")
    words = parser.parse_args()
    try:
        driver_type = parsers.TrackingFile if os.path.isfile(words.output_folder) else parsers.JsonParser
        results = experiment.ExpResults(driver_type(words.output_folder))
        results.print()
        if words.curve:
            results.display_curves(words.curve.split(","), words.saveto)
        else:
            print(results)
        sys.stdout.flush()
    except BrokenPipeError:  # as of "| head"; Python flushes once more at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError, ImportError) as error:
        sys.stderr.write(f"gpu_tracker.power.results: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
