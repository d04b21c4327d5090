"""What PyTorch's allocator holds on the current GPU. Nothing is imported or begun for it: before the program uses a GPU it is nothing."""
import sys


def read():
    """(what lives in it, what it has from the driver, the most that has lived in it), in bytes. The peak is the program's to set back."""
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    if cuda is None or not hasattr(cuda, "is_initialized") or not cuda.is_initialized():
        return 0, 0, 0
    found = cuda.memory_stats()
    return found["allocated_bytes.all.current"], found["reserved_bytes.all.current"], found["allocated_bytes.all.peak"]
