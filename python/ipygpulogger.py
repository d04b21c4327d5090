"""The notebook logger under the name of ipygpulogger; see `gpu_tracker.notebook`."""
from gpu_tracker import __version__
from gpu_tracker.notebook import Data, IPyGPULogger

__all__ = ["Data", "IPyGPULogger", "__version__"]
