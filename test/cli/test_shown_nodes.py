"""--node says what is shown: what ranks do to one another is found among all of them before."""
import json
import subprocess

import pytest
from traced_job import Job


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    folder = tmp_path_factory.mktemp("node") / "job"
    Job(folder, 5, 4, 96, 2).write()
    return folder


@pytest.fixture
def profile(gpu_tracker, job):
    def run(*words, form="json"):
        done = subprocess.run([gpu_tracker, "profile", *words, job, f"--format={form}"], capture_output=True, text=True, check=True)
        return json.loads(done.stdout) if form == "json" else done.stdout
    return run


@pytest.mark.parametrize("node", ["rank 0", "0"])
def test_a_straggler_is_named_to_those_who_wait(profile, node):
    whole, shown = profile(), profile("--node", node)
    named = [row for row in whole["findings"] if row["advice"].startswith("rank 3 makes the others wait")]
    assert named and [row for row in shown["findings"] if "makes" in row["advice"]] == [
        row for row in whole["findings"] if "makes" in row["advice"]]
    assert "not here" not in json.dumps(shown) and " of 5 ranks" not in json.dumps(shown)
    assert all(row["advice"].startswith(("rank 0: ", "rank 3 makes", "a ")) for row in shown["findings"]), shown["findings"]
    assert shown["ranks"] == whole["ranks"][:1] and shown["steps"][0]["steps"] == 4
    assert whole["ranks"][3]["worst"] and profile("--node", "3")["ranks"] == whole["ranks"][3:4]


def test_what_is_matched_over_ranks_is_that_of_all(profile):
    for analysis, tables in {"collectives": ["arrivals"], "stragglers": ["stragglers"], "steps": ["steps"], "kernels": ["kernels"],
            "critical_path": ["critical_path", "what_if", "names", "steps", "ranks"]}.items():
        whole, shown = profile(analysis), profile(analysis, "--node=rank 1")
        for name in tables:
            assert shown[name] == [row for row in whole[name] if row["node"] in ("rank 1", "all ranks")], name
        assert shown[tables[0]] and all(shown[name] == whole[name] for name in whole if name not in (*tables, "not_shown"))


def test_the_page_shows_the_node(profile):
    page = profile("--node=rank 0", form="html")
    assert "rank 3 makes the others wait" in page and page.count(">rank 1<") == 1 < page.count(">rank 0<")  # one of the sources


@pytest.mark.parametrize("analysis", ["kernels", "breakdown", "idle", "roles", "sequences"])
def test_shares_of_what_was_selected_are_told_as_such(profile, analysis):
    told = profile(analysis, "--select=gemm|aten::mm")["selected"]
    assert told.startswith('names that match "gemm|aten::mm": ') and "of these alone" in told
    assert "selected" not in profile(analysis) and "selected" not in profile("api", "--select=Launch")


@pytest.mark.parametrize("analysis", [[], ["advice"], ["collectives"], ["stragglers"]])
def test_what_judges_all_that_ran_takes_no_part_of_it(cli, job, analysis):
    done = cli("profile", *analysis, job, "--select=gemm")
    assert done.returncode == 2 and not done.stdout
    assert f"profile {(analysis or ['overview'])[0]} does not take 'select': it judges all that ran" in done.stderr
