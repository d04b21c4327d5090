"""The original gpu_tracker, attached: original_attach.py PID PERIOD FILE. For comparison in bench_sampling.py."""
import sys
import time

from gpu_tracker.tracker import Tracker

with Tracker(process_id=int(sys.argv[1]), sleep_time=float(sys.argv[2]), disable_logs=True, tracking_file=sys.argv[3]):
    time.sleep(600)
