"""The processors' energy counters (RAPL) as samples, whose difference tells what was drawn between them."""
import datetime
import os

from .. import _core

__all__ = ["UJOULES", "JOULES", "WATT_HOURS", "RAPLDomain", "RAPLSample", "RAPLDifference", "RAPLMonitor"]

UJOULES = 1
JOULES = 2
WATT_HOURS = 3


class RAPLDomain:
    """A counter: a package, or with ``parent`` a part of one; ``values["energy_uj"]`` is what it shows, or counted."""

    def __init__(self, sample: _core.EnergySample, zone: str) -> None:
        above, _, self.name = zone.rpartition("/")
        self.id = zone
        self.values = {"energy_uj": sample.energy(zone, UJOULES)}
        self.subdomains: dict[str, RAPLDomain] = {}
        self.parent: str | None = above or None

    def is_subdomain(self) -> bool:
        """Whether it is a part of a package."""
        return self.parent is not None

    def parent_id(self) -> str:
        """The ``id`` of the package it is a part of, or is."""
        return self.id if self.parent is None else self.parent

    def __repr__(self) -> str:
        return f"{self.id}: {self.values}"


class RAPLSample:
    """The counters at one moment. NaN stands for one that could not be read.

    Args:
        root: A folder that holds ``sys``, in the place of /: where a container sees its host's.

    Raises:
        ValueError: There are no counters.
        PermissionError: They may not be read; it says what would help.
    """

    def __init__(self, root: str | os.PathLike[str] | None = None) -> None:
        self._fill(_core.EnergySample(None if root is None else os.fspath(root)))

    @classmethod
    def take_sample(cls, root: str | os.PathLike[str] | None = None) -> "RAPLSample":
        """The counters now."""
        return RAPLSample(root)

    def _fill(self, sample: _core.EnergySample) -> None:
        self._sample = sample
        self.domains: dict[str, RAPLDomain] = {}
        self.domains_by_id = {zone: RAPLDomain(sample, zone) for zone in sample.zones()}
        self.timestamp = datetime.datetime.fromtimestamp(sample.times()[0])
        for domain in self.domains_by_id.values():
            if domain.parent is None:
                self.domains[domain.name] = domain
            elif domain.parent in self.domains_by_id:
                self.domains_by_id[domain.parent].subdomains[domain.name] = domain

    def energy(self, package: str, domain: str | None = None, unit: int = UJOULES) -> float:
        """Of a package, or of its part ``domain``, in ``UJOULES``, ``JOULES`` or ``WATT_HOURS``."""
        return self._sample.energy(package if domain is None else f"{package}/{domain}", unit)

    def __sub__(self, earlier: "RAPLSample") -> "RAPLDifference":
        return RAPLDifference(self._sample.since(earlier._sample))


class RAPLDifference(RAPLSample):
    """What was drawn between two samples, ``later - earlier``, also when a counter began again at 0; ``duration`` is in seconds."""

    def __init__(self, difference: _core.EnergySample) -> None:
        self._fill(difference)
        self.duration = difference.times()[1]

    def average_power(self, package: str, domain: str | None = None, unit: int = JOULES) -> float:
        """Energy for each second: watts, with ``JOULES``."""
        return self._sample.average_power(package if domain is None else f"{package}/{domain}", unit)

    def watts(self, name: str) -> float:
        """Of all packages: "intel_power", "psys_power", "cpu_power", "dram_power" or "uncore_power"; NaN without such a counter."""
        return self._sample.watts(name)


class RAPLMonitor:
    """Samples, by the name that AIPowerMeter has for it."""

    @classmethod
    def sample(cls, root: str | os.PathLike[str] | None = None) -> RAPLSample:
        """The counters now."""
        return RAPLSample(root)
