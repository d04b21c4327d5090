"""Waiting for what other processes do."""
import os
import pathlib
import socket
import time


def samplers(folder=None):
    """Pids of the samplers that live and whose command line names a file in a folder, the current one when None."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if words[1:2] == [b"agent"] and any(os.fsencode(folder or os.getcwd()) in word for word in words):
            found.append(int(path.parent.name))
    return found


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def wait_until(condition, seconds=120):
    """Fails when the condition does not come true in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)
