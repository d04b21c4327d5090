"""Track a process with whichever gpu_tracker is imported, until it ends: side_by_side_attach.py PID PERIOD. For side_by_side.py."""
import json
import os
import select
import sys
import tempfile
import time

if __name__ == "__main__":
    from gpu_tracker import Tracker

    pid, period = int(sys.argv[1]), float(sys.argv[2])
    os.chdir(tempfile.mkdtemp())  # for the file of interrupted results
    end = os.pidfd_open(pid)
    with Tracker(process_id=pid, sleep_time=period, ram_unit="bytes", time_unit="seconds", disable_logs=True) as tracker:
        began = time.monotonic()
        print("ready", flush=True)
        select.select([end], [], [])
    tree = tracker.to_json()
    seconds = tree["compute_time"]["time"]
    # The original tells CPU time as a percentage of the time only.
    cpu = tree.get("cpu_time", {}).get("combined", tree["cpu_utilization"]["combined"]["mean_sum_percent"] / 100 * seconds)
    print(json.dumps({"peak": tree["max_ram"]["combined"]["total_rss"], "cpu": cpu, "time": seconds, "began": began}))
