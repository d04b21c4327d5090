"""A job of 24 seconds for the pictures of README.md. The driver is the fake one of the tests (test/fake): no GPU is needed."""
import multiprocessing
import os
import struct
import time

SECONDS, STEP = 24, 0.4


def load(_):
    return sum(range(3_000_000))


path = os.path.join(os.environ["GT_FAKE_GPU"], str(os.getpid()))
os.makedirs(os.path.dirname(path), exist_ok=True)
held, busy, begin = [], 0.0, time.monotonic()


def announce(gb, until):
    """Write memory and kernels for the fake driver: struct live of test/fake/live.h."""
    with open(path + ".new", "wb") as file:
        file.write(struct.pack("QQQdd", int(gb * 1e9), int(31.2e9), int(time.time() * 1e6), busy, until))
    os.replace(path + ".new", path)


with multiprocessing.Pool(1) as pool:
    step = 0
    while (now := time.monotonic()) - begin < SECONDS:
        pool.apply_async(load, (0,))
        if step % 10 == 9:
            time.sleep(0.5)
            held.clear()
        held.append(bytearray(os.urandom(1) * 120_000_000))
        busy += STEP
        announce(18 + 1.32 * (step % 10 + 1), time.monotonic() + STEP)
        time.sleep(STEP)
        step += 1
