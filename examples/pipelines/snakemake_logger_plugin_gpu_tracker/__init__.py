"""snakemake --logger gpu-tracker: at the end, what the jobs of each rule asked for and what they used.

--logger-gpu-tracker-profile FOLDER also makes a profile of it, with which the next run asks for what is needed: --workflow-profile FOLDER.
The figures are those of benchmark files, in outputs as fields.py writes them or Snakemake's own. Snakemake finds the plugin
where Python does: the folder beside this one in PYTHONPATH is enough.
"""
import csv
import math
import os
import sys
from dataclasses import dataclass, field
from typing import Optional

import yaml
from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent
from snakemake_interface_logger_plugins.settings import LogHandlerSettingsBase

FIRST_LINE = "# Written by --logger gpu-tracker: a fifth more than the most that a job of the rule has used. Delete it to begin anew.\n"
MEGABYTE_IN_MIB = 1.048576


@dataclass
class LogHandlerSettings(LogHandlerSettingsBase):
    profile: Optional[str] = field(default=None, metadata={"help": "Folder of a profile that asks for what the jobs have used"})


def figures_of(job):
    """The rows of the job's benchmark file, one for each repetition. An output's name may be followed by notes of Snakemake's."""
    for name in [job.benchmark, *job.output]:
        for path in (name, name.rpartition(" (")[0]) if name else ():
            if os.path.isfile(path) and os.path.getsize(path) < 1 << 20:
                with open(path, errors="replace", newline="") as file:
                    table = csv.DictReader(file, delimiter="\t")
                    if {"s", "max_rss", "mean_load"} <= set(table.fieldnames or ()):
                        return list(table)
    return []


def number(value):
    try:
        return float(value)
    except (TypeError, ValueError):
        return math.nan


class Rule:
    """The most that a job of it asked for and used, so far."""

    def __init__(self):
        self.jobs = self.measured = 0
        self.asked, self.used = {}, {}

    def add(self, job):
        self.jobs += 1
        resources = {"mem_mb": number(job.resources.get("mem_mb")), "cores": job.threads, "minutes": number(job.resources.get("runtime"))}
        self.raise_to(self.asked, resources)
        rows = figures_of(job)
        self.measured += bool(rows)
        for row in rows:
            self.raise_to(self.used, {"mem_mb": number(row["max_rss"]) * MEGABYTE_IN_MIB, "cores": number(row["mean_load"]) / 100,
                                      "minutes": number(row["s"]) / 60})

    @staticmethod
    def raise_to(most, figures):
        most.update({name: max(value, most.get(name, value)) for name, value in figures.items() if not math.isnan(value)})

    def needs(self):
        """The resources of the next run; how long it may take, where there was a limit, with twice the time."""
        names = {"mem_mb": ("mem_mb", 1.2)} | ({"minutes": ("runtime", 2)} if "minutes" in self.asked else {})
        return {resource: int(self.used[name] * factor) + 1 for name, (resource, factor) in names.items() if name in self.used}

    def cells(self):
        columns = (("mem_mb", "{:.0f}"), ("cores", "{:.2g}"), ("minutes", "{:.2g}"))
        return [layout.format(part[name]) if name in part else "n/a" for name, layout in columns for part in (self.asked, self.used)]


class LogHandler(LogHandlerBase):
    writes_to_stream = writes_to_file = needs_rulegraph = False
    has_filter = has_formatter = True  # nothing is kept from it by --quiet

    def __post_init__(self):
        self.running, self.rules = {}, {}

    def emit(self, record):
        event = getattr(record, "event", None)
        if event == LogEvent.JOB_INFO:
            self.running[record.jobid] = record
        elif event == LogEvent.JOB_FINISHED and (job := self.running.pop(record.job_id, None)):
            self.rules.setdefault(job.rule_name, Rule()).add(job)

    def close(self):
        rules, self.rules = {name: rule for name, rule in self.rules.items() if rule.measured}, {}
        if rules:
            print(table(rules), file=sys.stderr)
            try:
                if self.settings and self.settings.profile:
                    write_profile(self.settings.profile, {name: rule.needs() for name, rule in rules.items()})
            except Exception as error:  # Snakemake would say nothing of it
                print(f"gpu-tracker: no profile in {self.settings.profile}: {error}", file=sys.stderr)
        super().close()


def table(rules):
    head = ["rule", "jobs", "mem_mb asked", "used", "cores asked", "used", "minutes asked", "used"]
    lines = [head, *([name, str(rule.jobs), *rule.cells()] for name, rule in rules.items())]
    widths = [max(map(len, column)) for column in zip(*lines)]
    return "\n".join("  ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])]) for line in lines)


def write_profile(folder, needs):
    """What rules needed before stays where it is more: this run's jobs may have been the small ones."""
    path = os.path.join(folder, "config.yaml")
    known = {}
    if os.path.exists(path):
        with open(path) as file:
            if file.readline() != FIRST_LINE:
                print(f"gpu-tracker: {path} is not replaced: it was written by somebody else", file=sys.stderr)
                return
            known = yaml.safe_load(file)["set-resources"]
    for rule, resources in needs.items():
        before = known.setdefault(rule, {})
        for name, value in resources.items():
            most = max(value, int(str(before.get(name, 0)).split()[0]))
            before[name] = f"{most} * attempt"
    os.makedirs(folder, exist_ok=True)
    with open(path, "w") as file:
        file.write(FIRST_LINE)
        yaml.safe_dump({"set-resources": known}, file)
