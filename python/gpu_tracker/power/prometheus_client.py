"""AIPowerMeter's five Prometheus gauges, served by ``gpu-tracker serve``."""

__all__ = ["PrometheusClient"]


class PrometheusClient:
    """Serve ``power_draw_cpu``, ``intel_power``, ``mem_used_cpu``, ``mem_used_gpu`` and ``power_draw_gpu`` at /metrics.

    Args:
        port: Port on this machine, or an address as text: "0.0.0.0:5001". Default: 5001.
    """

    def __init__(self, port: int | str | None = None) -> None:
        port = 5001 if port is None else port
        self.address = port if isinstance(port, str) and ":" in port else f"127.0.0.1:{port}"

    def erase(self) -> None:
        """Do nothing: this driver does not store recordings."""
