"""A slow rank is named where computation hides the waits in the first reductions of a step."""
import json
import subprocess

import pytest
import traced_job


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
