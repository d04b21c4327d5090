"""Samples of the processors' energy counters (RAPL). The difference of two samples is the energy between them."""
import datetime
import math
import os

from .. import _core

__all__ = ["UJOULES", "JOULES", "WATT_HOURS", "RAPLDomain", "RAPLSample", "RAPLDifference", "RAPLMonitor"]

UJOULES = 1
JOULES = 2
WATT_HOURS = 3


_JOULES = {UJOULES: 1e-6, JOULES: 1.0, WATT_HOURS: 3600.0}


class RAPLDomain:
    """A counter of a package, or with ``parent`` of a part of a package. ``values["energy_uj"]`` is its value or difference."""

    def __init__(self, zone: str, joules: float) -> None:
        above, _, self.name = zone.rpartition("/")
        self.id = zone
        self.values = {"energy_uj": joules / _JOULES[UJOULES]}
        self.subdomains: dict[str, RAPLDomain] = {}
        self.parent: str | None = above or None

    def is_subdomain(self) -> bool:
        """Return whether the domain is a part of a package."""
        return self.parent is not None

    def parent_id(self) -> str:
        """Return the ``id`` of its package."""
        return self.id if self.parent is None else self.parent

    def __repr__(self) -> str:
        return f"{self.id}: {self.values}"


class RAPLSample:
    """All counters at one moment. Unreadable counters are NaN.

    Args:
        root: Folder that contains ``sys``, instead of /. Use it in a container with the host's files.

    Raises:
        ValueError: The machine has no counters.
        PermissionError: The counters are not readable. The message contains a remedy.
    """

    def __init__(self, root: str | os.PathLike[str] | None = None) -> None:
        self._fill(_core.energy_sample(None if root is None else os.fspath(root)))

    @classmethod
    def take_sample(cls, root: str | os.PathLike[str] | None = None) -> "RAPLSample":
        """Return a sample of the counters."""
        return RAPLSample(root)

    def _fill(self, sample: _core.Handle) -> None:
        self._sample = sample
        time, self._seconds, self._zones, self._watts = _core.energy_values(sample)
        self.domains: dict[str, RAPLDomain] = {}
        self.domains_by_id = {zone: RAPLDomain(zone, joules) for zone, joules in self._zones.items()}
        self.timestamp = datetime.datetime.fromtimestamp(time)
        for domain in self.domains_by_id.values():
            if domain.parent is None:
                self.domains[domain.name] = domain
            elif domain.parent in self.domains_by_id:
                self.domains_by_id[domain.parent].subdomains[domain.name] = domain

    def energy(self, package: str, domain: str | None = None, unit: int = UJOULES) -> float:
        """Return the energy of a package or of its part ``domain`` in ``UJOULES``, ``JOULES`` or ``WATT_HOURS``."""
        if unit not in _JOULES:
            raise ValueError("the unit must be UJOULES, JOULES or WATT_HOURS")
        return self._zones[package if domain is None else f"{package}/{domain}"] / _JOULES[unit]

    def __sub__(self, earlier: "RAPLSample") -> "RAPLDifference":
        return RAPLDifference(_core.energy_between(earlier._sample, self._sample))


class RAPLDifference(RAPLSample):
    """Energy between two samples, ``later - earlier``. It handles overflow of counters. ``duration`` is in seconds."""

    def __init__(self, difference: _core.Handle) -> None:
        self._fill(difference)
        self.duration = self._seconds

    def average_power(self, package: str, domain: str | None = None, unit: int = JOULES) -> float:
        """Return energy per second: watts with ``JOULES``."""
        return self.energy(package, domain, unit) / self.duration

    def watts(self, name: str) -> float:
        """Return the power of all packages: "intel_power", "psys_power", "cpu_power", "dram_power" or "uncore_power". NaN if missing."""
        return self._watts.get(name, math.nan)


class RAPLMonitor:
    """Samples under AIPowerMeter's name."""

    @classmethod
    def sample(cls, root: str | os.PathLike[str] | None = None) -> RAPLSample:
        """Return a sample of the counters."""
        return RAPLSample(root)
