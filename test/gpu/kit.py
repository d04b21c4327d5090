"""What the checks share: running programs tracked and not, and telling what was expected and found."""
import json
import os
import subprocess
import time

SECONDS = 450  # all of it ends by then


class Skip(Exception):
    """This check cannot be made here; the text says why."""


class Kit:
    """Where everything is, and what the checks came to."""

    def __init__(self, options):
        self.build = options.build.resolve()
        self.gpu_tracker = str((options.program or self.build / "gpu-tracker").resolve())
        self.folder = options.output.resolve()
        self.seconds = options.seconds
        self.end = time.monotonic() + SECONDS
        self.python = options.python
        self.nvml = options.nvml
        self.libraries = [f"--library=nvml={options.nvml}"] if options.nvml else []
        self.environment = dict(os.environ, **({"GT_CUDA_LIBRARY": options.cuda} if options.cuda else {}))
        self.results = []
        self.context = 0  # bytes that a process takes before it allocates any
        self.sources = {}  # state of each source, of doctor

    def program(self, name, *arguments):
        """One of the programs of this folder, as words of a command."""
        return [str(self.build / "test" / "gpu" / name), *map(str, arguments)]

    def left(self):
        """Seconds until all has to have ended."""
        return max(1, self.end - time.monotonic())

    def run(self, words, **environment):
        return subprocess.run(words, env=dict(self.environment, **environment), cwd=self.folder, capture_output=True, text=True,
                              timeout=self.left(), check=False)

    def track(self, name, words, *options, period=0.1, suffix="csv", during=None, **environment):
        """Track a command; what its programs printed, a list, and the report. `during` is called while it runs."""
        report = self.folder / f"{name}.json"
        line = [self.gpu_tracker, "run", "--no-history", "--quiet", f"--sleep-time={period}", "--gpu-ram-unit=bytes", "--detail",
                f"--tracking-file={self.folder / name}.{suffix}", f"--output={report}", *self.libraries, *options, "--", *words]
        with subprocess.Popen(line, env=dict(self.environment, **environment), cwd=self.folder, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as tracker:
            try:
                if during:
                    during()
                printed, complaints = tracker.communicate(timeout=self.left())
            except BaseException:
                tracker.terminate()  # and with it the program
                raise
        if tracker.returncode:
            raise RuntimeError(f"{' '.join(words)} ended with status {tracker.returncode}: {complaints.strip()[-300:]}")
        facts = [json.loads(line) for line in printed.splitlines() if line.startswith("{")]
        return facts, json.loads(report.read_text())

    def tell(self, outcome, name, text):
        self.results.append({"check": name, "outcome": outcome, "text": text})
        print(f"{outcome:7} {name}: {text}", flush=True)

    def check(self, name, is_so, expected, found):
        self.tell("passed" if is_so else "failed", name, f"expected {expected}, found {found}")

    def near(self, name, expected, found, percent, unit, scale=1.0):
        """Whether a figure is within so many percent of another."""
        is_so = found is not None and abs(found - expected) <= abs(expected) * percent / 100
        self.check(name, is_so, f"{expected / scale:.1f} {unit} within {percent:g} %",
                   "nothing" if found is None else f"{found / scale:.1f} {unit}")

    def make(self, name, function):
        """One group of checks; what goes wrong in it is a failure of its own, and the others follow."""
        try:
            if time.monotonic() > self.end:
                raise Skip("no time is left")
            function(self)
        except Skip as why:
            self.tell("skipped", name, str(why))
        except Exception as trouble:  # whatever it is, the other checks are made
            self.tell("failed", name, f"expected figures, found {type(trouble).__name__}: {trouble}")

    def count(self, outcome):
        return sum(result["outcome"] == outcome for result in self.results)
