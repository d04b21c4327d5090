"""The five gauges of AIPowerMeter for Prometheus, served by ``gpu-tracker serve``."""


class PrometheusClient:
    """Serve ``power_draw_cpu``, ``intel_power``, ``mem_used_cpu``, ``mem_used_gpu`` and ``power_draw_gpu`` at /metrics.

    Args:
        address: Where to answer.
    """

    def __init__(self, address: str = "127.0.0.1:5001") -> None:
        self.address = address

    def erase(self) -> None:
        """Nothing is kept that could be removed."""
