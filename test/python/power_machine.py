"""A machine whose processors draw known power."""
import os
import time


class Machine:
    """A root with the real processes and energy counters of known power: a package that begins again at 262 J, and its parts."""

    WATTS = {"intel-rapl:0": 50, "intel-rapl:0:0": 30, "intel-rapl:0:1": 5, "intel-rapl:1": 80}
    NAMES = {"intel-rapl:0": "package-0", "intel-rapl:0:0": "core", "intel-rapl:0:1": "dram", "intel-rapl:1": "psys"}
    RANGE = 262_143_328

    def __init__(self, root):
        self.root = root
        (root / "sys/class/powercap").mkdir(parents=True)
        (root / "proc").symlink_to("/proc")
        for zone, name in self.NAMES.items():
            (root / "sys/class/powercap" / zone).mkdir()
            self.put(zone, "name", name)
            self.put(zone, "max_energy_range_uj", self.RANGE)
        self.set(1)

    def put(self, zone, file, value):
        with open(self.root / "sys/class/powercap" / zone / file, "w") as out:
            out.write(f"{value}\n")

    def set(self, seconds):
        """The counters as they are then."""
        for zone, watts in self.WATTS.items():
            file = self.root / "sys/class/powercap" / zone / "energy_uj"
            descriptor = os.open(file, os.O_WRONLY | os.O_CREAT)
            os.pwrite(descriptor, b"%020d\n" % (int(watts * seconds * 1e6) % self.RANGE), 0)
            os.close(descriptor)

    def run(self, stopped):
        begin = time.monotonic()
        while not stopped.wait(0.005):
            self.set(1 + time.monotonic() - begin)
