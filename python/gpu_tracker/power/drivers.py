"""Everything that an experiment can be recorded to."""
from .parsers import JsonParser, TrackingFile
from .prometheus_client import PrometheusClient

__all__ = ["JsonParser", "PrometheusClient", "TrackingFile"]
