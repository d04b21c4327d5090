"""``python -m gpu_tracker.power.results --output_folder results --curve intel_power,nvidia_power``: show a recording."""
import argparse
import os
import sys

from . import experiment, parsers


def main() -> int:
    """Return the exit status: 1 if the recording or a curve is missing."""
    parser = argparse.ArgumentParser(prog="python -m gpu_tracker.power.results", description="Show a recording.")
    parser.add_argument("--output_folder", default="power_measure", help="folder or tracking file")
    parser.add_argument("--curve", help="curves to draw: NAME,NAME")
    parser.add_argument("--saveto", help="write the picture to this file instead of the screen")
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
    except BrokenPipeError:  # as with "| head"; Python flushes again at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError, ImportError) as error:
        sys.stderr.write(f"gpu_tracker.power.results: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
