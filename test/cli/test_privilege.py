"""A program with file capabilities or setuid: it opens the counters, gives up all it has, and reads nothing that its user may not."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
from patience import wait_until

NOBODY = 65534
POWERFUL = "cap_dac_read_search,cap_perfmon,cap_net_admin,cap_sys_ptrace,cap_sys_admin,cap_setpcap+ep"
EVIL = r"""
#include <fcntl.h>
#include <unistd.h>
__attribute__((constructor)) static void ran(void) { close(open("%s", O_CREAT | O_WRONLY, 0666)); }
"""


def as_nobody(*words, **keywords):
    drop = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    return subprocess.run([*drop, *map(str, words)], capture_output=True, text=True, check=False, timeout=120, cwd="/", **keywords)


@pytest.fixture
def folder():
    made = pathlib.Path(subprocess.run(["mktemp", "-d", "/tmp/privilege-XXXXXX"], stdout=subprocess.PIPE, text=True,
                                       check=True).stdout.strip())
    made.chmod(0o777)
    yield made
    shutil.rmtree(made)


@pytest.fixture(params=["capabilities", "setuid"])
def program(request, folder, gpu_tracker):
    """A copy of the program that has more rights than its user."""
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("only root can give a program privileges")
    copy = folder / "gpu-tracker"
    shutil.copy(gpu_tracker, copy)
    copy.chmod(0o4755 if request.param == "setuid" else 0o755)
    if request.param == "capabilities" and (
            not shutil.which("setcap") or subprocess.run(["setcap", POWERFUL, copy], capture_output=True, check=False).returncode):
        pytest.skip("file capabilities cannot be set here")
    seen = as_nobody("sh", "-c", f"'{copy}' run --disable-logs -- true && '{copy}' schema >/dev/null")
    if "Operation not permitted" in seen.stderr:
        pytest.skip("such programs do not run here")
    return copy


@pytest.fixture
def secret(folder):
    path = folder / "secret.csv"
    path.write_text("hidden-figure 4711\n")
    path.chmod(0o600)
    return path


def statuses(text):
    return dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)


def is_bare(status):
    return all(int(status[name], 16) == 0 for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")) and \
        status["NoNewPrivs"] == "1" and status["Uid"].split() == [str(NOBODY)] * 4 == status["Gid"].split()


@pytest.mark.parametrize("command", ["attach", "serve"])
def test_nothing_is_left_of_the_privileges(program, command):
    target = ["attach", "--disable-logs", str(os.getpid())] if command == "attach" else ["serve", "--listen", "127.0.0.1:0"]
    drop = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    if command == "attach":
        sleeper = subprocess.Popen([*drop, "sleep", "20"])
        target[-1] = str(sleeper.pid)
    process = subprocess.Popen([*drop, program, *target], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd="/", text=True)
    try:
        wait_until(lambda: is_bare(statuses(pathlib.Path(f"/proc/{process.pid}/status").read_text())))
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()
        if command == "attach":
            sleeper.kill()
            sleeper.wait()


def test_a_job_has_what_its_user_has_and_no_more(program):
    plain = statuses(as_nobody("cat", "/proc/self/status").stdout)
    for words in (["run", "--disable-logs", "-o", "/dev/null", "--"], ["block", "name", "--"]):
        job = statuses(as_nobody(program, *words, "cat", "/proc/self/status").stdout)
        for name in ("Uid", "Gid", "Groups", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp"):
            assert job[name] == plain[name], name


def test_a_job_can_become_another_user_as_without(program, folder):
    """What sudo does: it executes a program that is setuid."""
    sudo = folder / "id"
    shutil.copy(shutil.which("id"), sudo)
    sudo.chmod(0o4755)
    assert as_nobody(sudo, "-u").stdout == "0\n"
    assert as_nobody(program, "run", "--disable-logs", "--", sudo, "-u").stdout == "0\n"


def test_the_tracker_of_a_job_is_sealed_when_the_job_runs(program):
    done = as_nobody(program, "run", "--disable-logs", "--", "sh", "-c", "cat /proc/$PPID/status")
    status = statuses(done.stdout)
    assert status["Name"].startswith("gpu-tracker")
    assert {int(status[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")} == {0}
    assert status["NoNewPrivs"] == "1"


@pytest.mark.parametrize("words", [
    ["run", "--library", "nvml={evil}", "--", "true"], ["doctor", "--library", "nvml={evil}"], ["serve", "--library", "nvml={evil}"]])
def test_no_library_is_loaded_by_path(program, folder, words):
    source, library, mark = folder / "evil.c", folder / "evil.so", folder / "ran"
    source.write_text(EVIL % mark)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    words = [word.format(evil=library) for word in words]
    done = as_nobody(program, *words)
    assert done.returncode == 2 and "loads no library by path" in done.stderr and len(done.stderr.splitlines()) == 1
    assert not mark.exists()
    for name in "LIBRARY", "LIBRARIES":
        done = as_nobody("env", f"GPU_TRACKER_{name}=nvml={library}", f"LD_PRELOAD={library}", program, "doctor")
    assert not mark.exists()
    config = folder / "config.json"
    config.write_text('{"library": ["nvml=%s"]}' % library)
    mark.unlink(missing_ok=True)
    done = as_nobody(program, "run", "--tconfig", config, "--", "true")
    assert done.returncode == 2 and "loads no library by path" in done.stderr and not mark.exists()


def test_no_environment_of_ours_is_read(program):
    done = as_nobody("env", "GPU_TRACKER_RAM_UNIT=nonsense", program, "run", "--disable-logs", "--", "true")
    assert done.returncode == 0, done.stderr
    done = as_nobody("env", "GPU_TRACKER_RAM_UNIT=nonsense", program, "run", "--disable-logs", "--", "printenv", "GPU_TRACKER_RAM_UNIT")
    assert done.stdout == "nonsense\n"  # it is the job's


@pytest.mark.parametrize("words", [
    ["run", "--power-model", "{secret}", "--", "true"],
    ["run", "--power-meter", "{secret}", "--", "true"],
    ["report", "{secret}"],
    ["timeline", "info", "{secret}"],
    ["serve", "--token-file", "{secret}"],
    ["run", "--tconfig", "{secret}", "--", "true"],
])
def test_files_that_the_user_may_not_read_are_not_read(program, secret, gpu_tracker, folder, words):
    subprocess.run([gpu_tracker, "run", "--disable-logs", "-o", "/dev/null", "--tf", folder / "a.csv", "--", "true"], check=True)
    (folder / "a.csv").chmod(0o644)
    done = as_nobody(program, *[word.format(secret=secret, recording=folder / "a.csv") for word in words])
    assert done.returncode != 0
    assert "Permission denied" in done.stderr and "hidden-figure" not in done.stderr + done.stdout


def test_a_tracking_file_is_the_user_s_own(program, folder):
    done = as_nobody(program, "run", "--disable-logs", "--tf", folder / "mine.csv", "--", "true")
    assert done.returncode == 0 and (folder / "mine.csv").stat().st_uid == NOBODY
    (folder / "closed").mkdir(mode=0o700)
    done = as_nobody(program, "run", "--disable-logs", "--tf", folder / "closed" / "a.csv", "--", "true")
    assert done.returncode != 0 and not list((folder / "closed").iterdir())


# A counter of 50 W that only root may read, in a mount namespace of its own; then the words as another user.
COUNTER = r"""
import os, subprocess, sys, threading, time
zones = "/sys/class/powercap"
if subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "none", "/sys/class"]).returncode:
    sys.exit(77)
os.makedirs(zones + "/intel-rapl:0")
for name, text in ("name", "package-0"), ("max_energy_range_uj", "262143328850"), ("energy_uj", "0" * 15):
    with open(f"{zones}/intel-rapl:0/{name}", "w") as file:
        file.write(text)
os.chmod(zones + "/intel-rapl:0/energy_uj", 0o400)
counter = os.open(zones + "/intel-rapl:0/energy_uj", os.O_WRONLY)
def count():
    while True:
        os.pwrite(counter, b"%015d" % (time.monotonic() * 50e6 % 262143328850), 0)
        time.sleep(0.001)
threading.Thread(target=count, daemon=True).start()
sys.exit(subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *sys.argv[1:]]).returncode)
"""


def beside_a_counter(*words):
    done = subprocess.run(["unshare", "-m", sys.executable, "-c", COUNTER, *map(str, words)], capture_output=True, text=True,
                          check=False, timeout=120, cwd="/")
    if done.returncode == 77 or "unshare" in done.stderr:
        pytest.skip("nothing can be mounted here")
    return done


def test_the_counters_were_opened_before(program, gpu_tracker, folder):
    """What only privileges open is measured, with none left; and doctor does not advise what is there."""
    words = ["run", "--disable-logs", "--st", "0.2", "-f", "json", "-o", "-", "--", "sleep", "1.5"]
    plain = folder / "plain"
    shutil.copy(gpu_tracker, plain)
    assert json.loads(beside_a_counter(plain, *words).stdout)["energy"]["cpu"]["total"] is None
    assert "energy by powercap" in beside_a_counter(plain, "doctor", "--fix").stdout
    done = beside_a_counter(program, *words)
    report = json.loads(done.stdout)
    elapsed = report["compute_time"]["time"] * 3600
    assert 50 * (elapsed - 0.4) < report["energy"]["cpu"]["total"] < 50 * (elapsed + 0.4), done
    fix = beside_a_counter(program, "doctor", "--fix").stdout
    assert "energy by powercap" not in fix and "energy-relay" not in fix
    # A counter that waits for a processor stands still.
    wait_until(lambda: re.search(r"rapl: powercap +ready", beside_a_counter(program, "doctor").stdout))


@pytest.mark.parametrize("words", [["run", "--", "echo", "ran"], ["attach"], ["attach", "4194303"]])
def test_a_process_that_proc_hides_is_no_missing_one(folder, gpu_tracker, words):
    """In a namespace of mounts of its own, by a program that its user may not look into."""
    copy = folder / "gpu-tracker"
    shutil.copy(gpu_tracker, copy)
    copy.chmod(0o4755)
    script = 'mount -t proc -o hidepid=2 proc /proc || exit 77; sleep 100 >&- 2>&- & '
    script += 'drop="setpriv --reuid=65534 --regid=65534 --clear-groups"'
    script += "; cd /; " + " ".join(["$drop", str(copy), *words]) + (" $!" if words == ["attach"] else "") + "; s=$?; kill $!; exit $s"
    done = subprocess.run(["unshare", "--mount", "sh", "-c", script], capture_output=True, text=True, timeout=120, check=False)
    if done.returncode == 77 or "unshare" in done.stderr or "setpriv" in done.stderr:
        pytest.skip("this user may not mount")
    [line] = done.stderr.splitlines()
    if words[-1] == "4194303":
        assert done.returncode == 125 and line.endswith("process 4194303 does not exist")
        return
    assert re.search(r"process \d+ is there, but /proc does not show it to this user: it is mounted with hidepid$", line)
    assert (done.returncode, done.stdout) == ((0, "ran\n") if words[0] == "run" else (125, ""))
