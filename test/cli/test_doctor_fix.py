"""gpu-tracker doctor --fix: the lines for what is denied on a stored machine, nothing for what is not, nothing done."""
import os
import pathlib
import re
import shutil
import subprocess

import pytest

PERFMON, NET_ADMIN, SYS_PTRACE = 1 << 38, 1 << 12, 1 << 19
EVERYTHING = (1 << 41) - 1


@pytest.fixture
def machine(gpu_tracker):
    """A folder that every user may enter, with a program in it; machine.fix() runs it as a user without rights."""
    folder = pathlib.Path(subprocess.run(["mktemp", "-d", "/tmp/fix-XXXXXX"], stdout=subprocess.PIPE, text=True,
                                         check=True).stdout.strip())
    folder.chmod(0o755)

    class Machine:
        def put(self, path, text, mode=0o444):
            file = folder / "root" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
            file.chmod(mode)

        def capabilities(self, bits):
            self.put("proc/self/status", f"Name:\tx\nCapEff:\t{bits:016x}\nCapBnd:\t000001ffffffffff\n", 0o644)

        def fix(self, *options):
            before = sorted(folder.rglob("*"))
            text = self.doctor("--fix", *options)
            assert set(folder.rglob("*")) - set(before) <= {folder / "gpu-tracker"}
            assert subprocess.run(["bash", "-n"], input=text, text=True, check=False).returncode == 0
            return text

        def doctor(self, *options):
            program = folder / "gpu-tracker"
            shutil.copy(gpu_tracker, program)
            program.chmod(0o755)
            drop = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []
            done = subprocess.run([*drop, program, "doctor", "--root", folder / "root", *options], cwd="/",
                                  capture_output=True, text=True, check=False, timeout=120)
            assert done.returncode == 0 and done.stderr == "", done
            return done.stdout

    made = Machine()
    made.capabilities(0)
    yield made
    shutil.rmtree(folder)


def commands(text):
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def test_nothing_is_denied(machine):
    machine.capabilities(EVERYTHING)
    assert commands(machine.fix()) == []


def test_capabilities_come_in_one_line(machine):
    machine.put("sys/bus/event_source/devices/power/type", "9\n")
    machine.put("proc/sys/kernel/perf_event_paranoid", "2\n", 0o644)
    [line] = [line for line in commands(machine.fix()) if "setcap" in line]
    assert line == 'sudo setcap cap_perfmon,cap_net_admin+ep "$(command -v gpu-tracker)"'
    machine.capabilities(PERFMON | SYS_PTRACE)
    assert [line for line in commands(machine.fix())] == ['sudo setcap cap_net_admin+ep "$(command -v gpu-tracker)"']
    machine.capabilities(NET_ADMIN | SYS_PTRACE)
    machine.put("proc/sys/kernel/perf_event_paranoid", "0\n", 0o644)
    assert commands(machine.fix()) == []


def test_energy_files(machine):
    machine.capabilities(NET_ADMIN | SYS_PTRACE)
    machine.put("sys/class/powercap/intel-rapl:0/energy_uj", "5\n", 0o400)
    if os.geteuid() != 0:
        pytest.skip("the files would be this user's own")
    text = machine.fix()
    assert "CVE-2020-8694" in text and "PLATYPUS" in text
    lines = commands(text)
    assert any("systemd-tmpfiles --create" in line for line in lines)
    assert any("gpu-tracker-energy-relay.service" in line for line in lines)
    [rule] = [line for line in lines if line.startswith("printf")]
    shown = subprocess.run(["bash", "-c", rule.split("|")[0]], stdout=subprocess.PIPE, text=True, check=True).stdout
    assert shown.splitlines() == ["z /sys/devices/virtual/powercap/*/*/energy_uj 0440 root energy - -",
                                  "z /sys/devices/virtual/powercap/*/*/*/energy_uj 0440 root energy - -"]
    machine.put("sys/class/powercap/intel-rapl:0/energy_uj", "5\n", 0o444)
    assert commands(machine.fix()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="the files would be this user's own")
@pytest.mark.parametrize("options, group, hidden", [
    ("rw,nosuid", None, False), ("rw,hidepid=0", None, False), ("rw,hidepid=off", None, False),
    ("rw,hidepid=2", "proc", True), ("rw,hidepid=invisible", "proc", True), ("rw,hidepid=noaccess", "proc", True),
    ("rw,gid=4711,hidepid=invisible", "4711", True), ("rw,gid=4711,hidepid=ptraceable", "proc", True)])
def test_processes_that_proc_hides(machine, options, group, hidden):
    machine.put("proc/mounts", f"sysfs /sys sysfs rw 0 0\nproc /proc proc {options} 0 0\ntmpfs /tmp tmpfs rw,hidepid=2 0 0\n")
    machine.capabilities(NET_ADMIN)
    text = machine.fix()
    assert ("hidepid; for serve --all" in text) == hidden
    if group == "proc":
        assert "sudo usermod -aG proc" in text and "mount -o remount,hidepid=invisible,gid=" in text
    if group == "4711":
        assert "groupadd" not in text and "grep -o 'gid=[0-9]*'" in text
    machine.capabilities(EVERYTHING)
    assert commands(machine.fix()) == []


def test_the_group_that_sees_processes_needs_nothing(machine):
    machine.put("proc/mounts", "proc /proc proc rw,gid=65534,hidepid=2 0 0\n")
    if os.geteuid() == 0:  # else fix() does not become a member of the group
        assert "hidepid" not in machine.fix()


def test_devices_and_a_relay_that_runs(machine):
    machine.capabilities(NET_ADMIN | SYS_PTRACE)
    machine.put("etc/group", "root:x:0:\nrender:x:105:a,b\nvideo:x:44:\n")
    machine.put("dev/kfd", "", 0o660)
    machine.put("run/gpu-tracker/energy.sock", "", 0o660)
    lines = commands(machine.fix())
    assert 'sudo usermod -aG root "$USER"' in lines
    assert 'sudo usermod -aG "$(stat -c %G /run/gpu-tracker/energy.sock)" "$USER"' in lines


def test_each_has_what_it_opens_and_its_risk(machine):
    machine.put("sys/bus/event_source/devices/power/type", "9\n")
    machine.put("proc/sys/kernel/perf_event_paranoid", "4\n", 0o644)
    text = machine.fix()
    titles = re.findall(r"^# (?!For|Leave)(\S.*)$", text, re.MULTILINE)
    assert len(titles) >= 4
    assert len(re.findall(r"^#   opens: \S", text, re.MULTILINE)) == len(titles)
    assert len(re.findall(r"^#   risk: \S", text, re.MULTILINE)) == len(titles)


def test_on_this_machine_and_into_a_file(cli, refused, tmp_path):
    done = cli("doctor", "--fix")
    assert done.returncode == 0 and done.stdout.startswith("# ")
    assert cli("doctor", "--fix", "--output", "fixes.sh").returncode == 0
    assert (tmp_path / "fixes.sh").read_text() == done.stdout
    refused(2, "--format", "doctor", "--fix", "--format", "json")
    refused(125, "no-such-root", "doctor", "--fix", "--root", "no-such-root")
    refused(2, "there is neither proc nor sys in it", "doctor", "--root", tmp_path)


def test_no_capability_is_advised_that_opens_more_than_it_is_needed_for(machine):
    """Other users' processes by a service with one ambient capability; nobody is told to let everybody read every file."""
    machine.put("sys/bus/event_source/devices/power/type", "9\n")
    machine.put("proc/sys/kernel/perf_event_paranoid", "2\n", 0o644)
    machine.put("sys/class/powercap/intel-rapl:0/energy_uj", "5\n", 0o400)
    text = machine.fix()
    assert not re.search("dac_read_search|cap_sys_admin|setcap.*ptrace", text)
    assert text.index("energy-relay.service") < text.index("by: cap_perfmon")
    [drop_in] = [line for line in commands(text) if "AmbientCapabilities" in line]
    shown = subprocess.run(["bash", "-c", drop_in.split("|")[0]], stdout=subprocess.PIPE, text=True, check=True).stdout
    assert shown == "[Service]\nAmbientCapabilities=CAP_SYS_PTRACE\nCapabilityBoundingSet=CAP_SYS_PTRACE\n"
    wholes = re.split(r"\n\n", text)
    assert all("opens:" in part and "risk:" in part for part in wholes if "sudo" in part and "setcap" not in part)


def test_the_first_sentence_names_what_is_denied(machine):
    machine.put("sys/class/powercap/intel-rapl:0/name", "package-0\n")
    machine.put("sys/class/powercap/intel-rapl:0/max_energy_range_uj", "262143328850\n")
    machine.put("sys/class/powercap/intel-rapl:0/energy_uj", "1\n", 0o400)
    first = machine.doctor().splitlines()[0]
    assert re.match(r"This machine: .* measured; .*energy of the CPU (is|are) there, but denied to you \(gpu-tracker doctor --fix\)", first)
    machine.put("sys/class/powercap/intel-rapl:0/energy_uj", "1\n", 0o444)
    assert "energy of the CPU are measured" in machine.doctor().splitlines()[0]
