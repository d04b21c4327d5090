"""pytest --gpu-tracker examples/pytest: times by pytest-benchmark, memory by gpu-tracker, of the same tests.

Both go together: limits and the table of gpu-tracker are of the whole test with all rounds of the benchmark. What a tracker of one's own
measures may stand in the benchmark's file (--benchmark-json), beside its times.
"""
import random

import pytest

import gpu_tracker

NUMBERS = [random.random() for _ in range(100_000)]


@pytest.mark.gpu_tracker(max_ram="200 MB")
def test_sorting_is_quick_and_small(benchmark):
    assert benchmark(sorted, NUMBERS)[0] == min(NUMBERS)


def test_memory_of_one_call_stands_beside_its_time(benchmark):
    benchmark.pedantic(sorted, (NUMBERS,), rounds=3)
    with gpu_tracker.Tracker(ram_unit="megabytes", disable_logs=True) as tracker:
        sorted(NUMBERS)
    benchmark.extra_info["memory_mb"] = tracker.max_ram.main.total_rss
    benchmark.extra_info["cpu_energy_joules"] = tracker.to_json()["energy"]["cpu"]["job"]
