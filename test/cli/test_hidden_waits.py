"""A slow rank is named where computation hides the waits in the first reductions of a step."""
import json
import subprocess

import pytest
import traced_job


@pytest.mark.parametrize("slow, steps", [(range(1, 20, 2), "in 10 of 20 steps"), ([*range(4), *range(5, 11), *range(12, 20)], ""),
                                         (range(20), "")])
def test_slowness_is_that_of_the_slow_steps(gpu_tracker, tmp_path, monkeypatch, slow, steps):
    """Kernels of the end of a step run in the next one."""
    for name in ("LONG_STEP", "LONG_RANK", "STARVED_RANK"):
        monkeypatch.setattr(traced_job, name, -1)
    job = traced_job.Job(tmp_path / "job", ranks=4, launches=48)
    for step in range(20):
        monkeypatch.setattr(traced_job, "SLOWER", 1.4 if step in slow else 1)
        job.step(step)
    for rank in job.rank:
        rank.close()
    found = json.loads(subprocess.check_output([gpu_tracker, "profile", "advice", "--format", "json", tmp_path / "job"]))
    first = found["advice"][0]["advice"]
    assert first.startswith("rank 3 makes the others wait")
    assert f"; {steps}{' ' if steps else ''}its kernels are 40 % slower" in first


@pytest.mark.parametrize("launches, buckets, slower", [(24, 4, 1.3), (48, 8, 1.6)])
def test_cost_is_what_its_removal_saves(gpu_tracker, tmp_path, monkeypatch, launches, buckets, slower):
    end = {}
    for name, factor in (("slow", slower), ("even", 1)):
        monkeypatch.setattr(traced_job, "SLOWER", factor)
        monkeypatch.setattr(traced_job, "LONG_STEP", -1)
        job = traced_job.Job(tmp_path / name, ranks=4, steps=8, launches=launches, buckets=buckets)
        begin = job.rank[0].now
        job.write()
        end[name] = job.rank[0].now - begin
    saving = 100 * (1 - end["even"] / end["slow"])
    found = json.loads(subprocess.check_output([gpu_tracker, "profile", "advice", "--format", "json", tmp_path / "slow"]))
    text = json.dumps(found)
    first = found["advice"][0] if "advice" in found else pytest.fail(text[:300])
    assert first["advice"].startswith("rank 3 makes the others wait")
    assert first["cost_percent"] == pytest.approx(saving, abs=1.5)
