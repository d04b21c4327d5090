"""The replay of outputs: its short form, and that it notices a changed digit in an output of each kind."""
import importlib.util
import pathlib
import re
import stat

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]

spec = importlib.util.spec_from_file_location("replay", ROOT / "test/replay/replay.py")
replay = importlib.util.module_from_spec(spec)
spec.loader.exec_module(replay)


@pytest.fixture(scope="module")
def prepared(gpu_tracker, tmp_path_factory):
    made = replay.Replay(gpu_tracker, tmp_path_factory.mktemp("replay"))
    made.prepare()
    return made


def test_outputs_are_those_of_before(prepared, capsys):
    changed = replay.check(prepared, True)
    assert not changed, capsys.readouterr().out[-5000:]


def test_a_changed_digit_is_noticed(prepared, gpu_tracker, tmp_path):
    program = tmp_path / "program"
    program.write_text(f"""#!/bin/bash
set -o pipefail
'{gpu_tracker}' "$@" | sed '0,/[0-8]/s/[0-8]/9/'
status=$?
for word; do
    case $word in *@*.*) [ -f "$word" ] && python3 - "$word" <<'END'
import re, sys
text = open(sys.argv[1], "rb").read()
at = re.search(rb"[0-8](?=\\D{{0,40}}$)", text, re.DOTALL)
open(sys.argv[1], "wb").write(text[:at.start()] + b"9" + text[at.end():])
END
    esac
done
exit $status
""")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    kinds, cases = {}, list(prepared.cases(True))
    prepared.run_all(cases)
    for name, words in cases:
        output = (prepared.now / f"{name}.out").read_text().partition("\n")[2].partition("---- standard error")[0]
        if "OUT.sqlite" not in words and (re.search("[0-8]", output) or "OUT" in " ".join(words)):
            kinds.setdefault(name.split("/")[0] + name.rpartition(".")[1] + name.rpartition(".")[2], (name, words))
    cases = list(kinds.values())
    assert len(cases) > 20
    prepared.program = str(program)
    try:
        now = prepared.run_all(cases)
    finally:
        prepared.program = gpu_tracker
    known = replay.read_hashes()
    assert not [name for name in now if known[name] == now[name]]
