"""A server of gpu-tracker serve, and what is asked of it."""
import contextlib
import http.client
import re

import psutil
from prometheus_client.openmetrics.parser import (
    text_string_to_metric_families as parse_openmetrics,
)

OPENMETRICS = "application/openmetrics-text;version=1.0.0"
TOKEN = "correct-horse-battery-staple"


class Server:
    def __init__(self, process, address):
        self.process = process
        self.port = int(re.search(r":(\d+)/metrics$", address)[1])
        self.address = address

    def ask(self, path="/metrics", accept=OPENMETRICS, method="GET", tls=None, body=None, **headers):
        """(status, headers, text) of one request."""
        if tls:
            connection = http.client.HTTPSConnection("localhost", self.port, timeout=120, context=tls)
        else:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        with contextlib.closing(connection):
            connection.request(method, path, body, {**({"Accept": accept} if accept else {}), **headers})
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read().decode()

    def families(self):
        return {family.name: family for family in parse_openmetrics(self.ask()[2])}


def cpu_seconds(pid):
    times = psutil.Process(pid).cpu_times()
    return times.user + times.system
