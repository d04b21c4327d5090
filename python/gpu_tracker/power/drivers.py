"""All drivers that store an experiment."""
from .parsers import JsonParser, TrackingFile
from .prometheus_client import PrometheusClient

__all__ = ["JsonParser", "PrometheusClient", "TrackingFile"]
