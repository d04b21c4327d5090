"""A slow rank is named where computation hides the waits in the first reductions of a step."""
import json
import resource
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


def late_ranks(folder, ranks, steps=20):
    """Two allreduces a step; other ranks are late in each step."""
    folder.mkdir()
    for rank in range(ranks):
        events = []
        for number in range(2 * steps):
            begin, wait = 1000 * number, 300 if (7 * rank + number // 2) % (ranks // 10) == 0 else 0
            for call, name, stream, start, end in ((2 * number, "gemm", 7, 10, 400 + wait),
                                                   (2 * number + 1, "ncclDevKernel_AllReduce", 20, 401 + wait, 900)):
                events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 100, "tid": 1,
                               "ts": begin + call % 2 * 4, "dur": 3, "args": {"correlation": call}})
                events.append({"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": stream, "ts": begin + start, "dur": end - start,
                               "args": {"correlation": call, "stream": stream, "device": 0, "Process Group Name": "0", "Seq": number,
                                        "Group size": ranks, "Collective name": "allreduce"}})
            if number % 2:
                events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{number // 2}", "pid": 100, "tid": 1,
                               "ts": begin - 1000, "dur": 1990})
        trace = {"distributedInfo": {"rank": rank, "world_size": ranks}, "traceEvents": events}
        (folder / f"rank{rank}.json").write_text(json.dumps(trace))
    return folder


def test_many_late_ranks_cost_their_number(gpu_tracker, tmp_path):
    """Four times the ranks take no more than eight times the CPU time: sorting, and some lists of ranks."""
    folders = [late_ranks(tmp_path / str(ranks), ranks) for ranks in (200, 800)]

    def seconds(folder):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([gpu_tracker, "profile", folder], check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime - before.ru_utime

    few, many = (min(seconds(folder) for _ in range(3)) for folder in folders)
    assert many < 8 * few
