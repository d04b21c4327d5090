"""Help, man page and completion: made from the tables, and accepted by those who read them."""
import fcntl
import os
import pty
import re
import select
import shutil
import struct
import subprocess
import termios
import time

import pytest

COMMANDS = ["run", "attach", "report", "plot", "analyze", "compare", "runs", "top", "block", "profile", "push", "serve", "energy-relay",
            "doctor", "schema", "completion", "man", "help"]
ORIGINAL = ["execute", "output", "format", "tconfig", "st", "ru", "gru", "tu", "nec", "guuids", "disable-logs", "gb", "tf",
            "overwrite", "help", "version"]


def test_the_overview_names_every_command(cli):
    done = cli("--help")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert len(lines) <= 25 and max(map(len, lines)) <= 100
    groups = re.findall(r"^  (measure|look|compare|offer)\b.*?  +(.*)$", done.stdout, re.MULTILINE)
    assert [title for title, _ in groups] == ["measure", "look", "compare", "offer"]
    assert sorted({*COMMANDS, "sub-track", "timeline"}) == sorted({name for _, names in groups for name in names.split(", ")})
    assert cli("-h").stdout == cli("help").stdout == done.stdout
    alone = cli()
    assert (alone.returncode, alone.stdout, alone.stderr) == (2, "", done.stdout)


def in_terminal(gpu_tracker, columns, *words):
    """What the program prints on a terminal of so many columns."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, columns))
    child = subprocess.Popen([gpu_tracker, *words], stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    printed = b""
    try:
        while piece := os.read(ours, 65536):
            printed += piece
    except OSError:  # all of it was read
        pass
    os.close(ours)
    assert child.wait() == 0
    return printed.decode().replace("\r\n", "\n").splitlines()


@pytest.mark.parametrize("columns, most", [(60, 29), (78, 25), (80, 25), (100, 25), (200, 25)])
def test_help_is_as_wide_as_the_terminal(gpu_tracker, columns, most):
    lines = in_terminal(gpu_tracker, columns, "--help")
    assert len(lines) <= most and max(map(len, lines)) <= min(columns, 100)
    longest = max(columns, 70)  # a path cannot be broken
    assert max(map(len, in_terminal(gpu_tracker, columns, "run", "--help"))) <= min(longest, 100)


@pytest.mark.parametrize("words", [["help", "execute"], ["--execute", "--help"], ["-e", "true", "--help"]])
def test_the_options_of_execute_are_explained(cli, words):
    done = cli(*words)
    assert done.returncode == 0 and done.stdout.startswith("Usage: gpu-tracker --execute=COMMAND [options]\n")
    for word in ORIGINAL:
        assert f"--{word}" in done.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command(cli, command):
    done = cli(command, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"Usage: gpu-tracker {command} [options]")
    assert max(map(len, done.stdout.splitlines())) <= 100
    assert cli("help", command).stdout == done.stdout


def test_help_wins_over_what_is_missing(cli):
    assert cli("run", "--help").returncode == 0
    assert cli("attach", "-h").stdout.startswith("Usage: gpu-tracker attach")


def test_version(cli):
    done = cli("--version")
    assert re.fullmatch(r"gpu-tracker \d+\.\d+\.\d+\S*\n", done.stdout)
    assert cli("-v").stdout == cli("run", "-v").stdout == done.stdout


@pytest.mark.skipif(not shutil.which("groff"), reason="no groff")
def test_man_page_formats_without_a_warning(cli):
    page = cli("man").stdout
    done = subprocess.run(["groff", "-man", "-ww", "-Tascii", "-P-cbou"], input=page, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    for section in ("NAME", "SYNOPSIS", "COMMANDS", "OPTIONS", "CONFIGURATION", "FORMATS", "METRICS", "SIGNALS", "EXIT STATUS"):
        assert re.search(rf"^{section}$", done.stdout, re.MULTILINE)
    for word in ORIGINAL:
        assert f"--{word}" in done.stdout
    assert "GPU_TRACKER_SLEEP_TIME" in done.stdout
    assert re.search(r"^ +cpu_utilization$", done.stdout, re.MULTILINE)


def bash_completions(cli, tmp_path, line):
    """What bash offers at the end of `line`, split into words as readline does."""
    script = tmp_path / "completion.bash"
    script.write_text(cli("completion", "bash").stdout)
    words = re.findall(r"=|[^\s=]+", line) + ([""] if line.endswith(" ") else [])
    quoted = " ".join(f"'{word}'" for word in words)
    program = f"""source '{script}'; COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}
        _gpu_tracker; printf '%s\\n' "${{COMPREPLY[@]}}" """
    done = subprocess.run(["bash", "--norc", "-c", program], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize("line, offered", [
    ("gpu-tracker ", COMMANDS),
    ("gpu-tracker r", ["run", "report", "runs"]),
    ("gpu-tracker --ex", ["--execute="]),
    ("gpu-tracker --format ", ["text", "json", "csv", "markdown"]),
    ("gpu-tracker --format=", ["text", "json", "csv", "markdown"]),
    ("gpu-tracker -f j", ["json"]),
    ("gpu-tracker run --tu=s", ["seconds"]),
    ("gpu-tracker run --sleep-t", ["--sleep-time="]),
    ("gpu-tracker run --wait ", ["main", "all"]),
    ("gpu-tracker plot --charts ", ["memory", "gpu-memory", "all"]),
    ("gpu-tracker report --plot netw", ["network"]),
    ("gpu-tracker run --fail-if ", ["memory>", "memory<", "time>", "energy>", "cpu<"]),
    ("gpu-tracker report --fail-if=ti", ["time>", "time<"]),
    ("gpu-tracker compare --fail-if mem", ["memory>", "memory<"]),
    ("gpu-tracker top @", ["@1", "@2", "@3", "@4", "@5", "@6", "@7", "@8", "@9"]),
    ("gpu-tracker report @2", ["@2"]),
    ("gpu-tracker top --against @3", ["@3"]),
    ("gpu-tracker top --against=da", ["data.txt"]),
    ("gpu-tracker plot --charts memory,gpu-m", ["memory,gpu-memory"]),
    ("gpu-tracker run -- gpu_tracker_test_no_such", []),
    ("gpu-tracker run --st 1 cat da", ["data.txt"]),
    ("gpu-tracker run -- cat da", ["data.txt"]),
    ("gpu-tracker report da", ["data.txt"]),
    ("gpu-tracker analyze da", ["data.txt"]),
    ("gpu-tracker compare da", ["data.txt"]),
    ("gpu-tracker report --st", []),
    ("gpu-tracker -o da", ["data.txt"]),
    ("gpu-tracker completion ", ["bash", "zsh", "fish"]),
    ("gpu-tracker help sch", ["schema"]),
    ("gpu-tracker --overwrite ", []),
    ("gpu-tracker profile ", ["job", "kernels", "advice"]),
    ("gpu-tracker profile ker", ["kernels"]),
    ("gpu-tracker profile kernels da", ["data.txt"]),
    ("gpu-tracker profile kernels --ke", ["--key="]),
    ("gpu-tracker profile job --ke", []),
    ("gpu-tracker profile job --al", []),
    ("gpu-tracker profile kernels --al", ["--all"]),
    ("gpu-tracker sub-track ", ["analyze", "combine", "compare"]),
    ("gpu-tracker sub-track ana", ["analyze"]),
    ("gpu-tracker sub-track analyze --cal", ["--calls"]),
    ("gpu-tracker timeline ", ["merge", "info"]),
    ("gpu-tracker sub-track combine -p da", ["data.txt"]),
])
def test_bash_completion(cli, tmp_path, line, offered):
    (tmp_path / "data.txt").touch()
    given = bash_completions(cli, tmp_path, line)
    assert set(offered) <= set(given) if line.endswith((" ", "=")) and offered else given == offered


def test_bash_completes_runs_behind_names(cli, tmp_path):
    """Bash takes "=@" for one word."""
    script = tmp_path / "completion.bash"
    script.write_text(cli("completion", "bash").stdout)
    program = f"source '{script}'; COMP_WORDS=(gpu-tracker compare before =@4); COMP_CWORD=3; _gpu_tracker; echo \"${{COMPREPLY[@]}}\""
    done = subprocess.run(["bash", "--norc", "-c", program], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("@4\n", "")


def test_bash_completion_offers_programs(cli, tmp_path):
    assert "gunzip" in bash_completions(cli, tmp_path, "gpu-tracker run -- gunz")
    assert "gunzip" in bash_completions(cli, tmp_path, "gpu-tracker run gunz")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_valid(cli, tmp_path, shell):
    if not shutil.which(shell):
        pytest.skip(f"no {shell}")
    script = tmp_path / "script"
    script.write_text(cli("completion", shell).stdout)
    done = subprocess.run([shell, "-n", str(script)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not shutil.which("fish"), reason="no fish")
def test_fish_completion(cli, tmp_path):
    script = tmp_path / "script.fish"
    script.write_text(cli("completion", "fish").stdout)

    def offered(line):
        program = f"source {script}; complete -C '{line}'"
        done = subprocess.run(["fish", "-N", "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path,
                              env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"})
        assert not done.stderr
        return [text.split("\t")[0] for text in done.stdout.splitlines()]

    assert "report" in offered("gpu-tracker r") and "run" in offered("gpu-tracker r")
    assert offered("gpu-tracker run --wait ") == ["all", "main"]
    assert "--sleep-time" in offered("gpu-tracker run --sl")[0]
    assert offered("gpu-tracker sub-track ") == ["analyze", "combine", "compare"]
    assert offered("gpu-tracker timeline ") == ["export", "info", "merge"]
    assert {"job", "kernels", "advice"} < set(offered("gpu-tracker profile ")) and offered("gpu-tracker profile kern") == ["kernels"]
    assert offered("gpu-tracker profile kernels --ke") == ["--key"] and offered("gpu-tracker profile job --ke") == []
    assert offered("gpu-tracker schema --sleep") == []
    assert offered("gpu-tracker run --fail-if mem") == ["memory<", "memory>"]
    assert {"@1", "@9"} < set(offered("gpu-tracker top @"))


def read_until(terminal, pattern, seconds=60):
    text, end = "", time.monotonic() + seconds
    while not re.search(pattern, text):
        assert time.monotonic() < end, text
        if select.select([terminal], [], [], 0.2)[0]:
            text += os.read(terminal, 65536).decode(errors="replace")
    return text


@pytest.mark.skipif(not shutil.which("zsh"), reason="no zsh")
@pytest.mark.parametrize("line, offered, others", [
    ("gpu-tracker profile ", ["kernels", "operators", "advice"], ["--key"]),
    ("gpu-tracker profile kernels --", ["--key", "--top", "--output"], ["--by", "--ranges"]),
    ("gpu-tracker profile job --", ["--output", "--node"], ["--key", "--top"]),
    ("gpu-tracker sub-track ", ["analyze", "combine", "compare"], ["schema"]),
    ("gpu-tracker run --wait ", ["main", "all"], ["schema"]),
    ("gpu-tracker run --fail-if ", ["memory\\>", "time\\<"], ["schema"]),
    ("gpu-tracker top @", ["@1", "@9"], ["schema"]),
    ("gpu-tracker run -- gunzi", ["gunzip"], ["schema"]),
])
def test_zsh_completion(cli, tmp_path, line, offered, others):
    (tmp_path / "_gpu-tracker").write_text(cli("completion", "zsh").stdout)
    terminal, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 60, 200, 0, 0))
    shell = subprocess.Popen(["zsh", "-f", "-i"], stdin=slave, stdout=slave, stderr=slave, cwd=tmp_path, start_new_session=True,
                             env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "TERM": "dumb"})
    os.close(slave)
    try:
        os.write(terminal, f"fpath=({tmp_path} $fpath); autoload -Uz compinit; compinit -u -d dump; LISTMAX=1000; setopt no_auto_menu;"
                           " PS1=ready; bindkey '^I' complete-word; print be''gun\n".encode())
        read_until(terminal, r"\nbegun[\s\S]*ready")
        os.write(terminal, f"{line}\t\t\x15print en''ded\n".encode())
        text = read_until(terminal, r"\nended")
    finally:
        shell.kill()
        shell.wait()
        os.close(terminal)
    words = set(re.split(r"[\s=]+", text))
    assert set(offered) <= words and not set(others) & words
