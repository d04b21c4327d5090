"""The scanner against Python's json: random events, laid out at random, whole and cut off, merged and read back."""
import decimal
import gzip
import json
import os
import re
import subprocess

import pytest
from hypothesis import assume, HealthCheck, given, settings
from hypothesis import strategies as st

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
NUMBER = st.one_of(st.integers(-2**70, 2**70), st.floats(allow_nan=False, allow_infinity=False))
VALUE = st.recursive(st.one_of(st.none(), st.booleans(), NUMBER, TEXT),
                     lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXT, inner, max_size=3)),
                     max_leaves=8)
TIME = st.decimals(0, 10**12, places=3)


@st.composite
def event(draw):
    result = {"name": draw(TEXT.filter(bool)), "ph": draw(st.sampled_from("XiCbnest")), "pid": draw(st.integers(0, 3)),
              "tid": draw(st.integers(0, 3)), "ts": draw(TIME)}
    if result["ph"] == "X":
        result["dur"] = draw(TIME)
    if draw(st.booleans()):
        result["args"] = draw(st.dictionaries(TEXT, VALUE, max_size=4))
    if draw(st.booleans()):
        result["other"] = draw(VALUE)
    return dict(draw(st.permutations(list(result.items()))))


def write(value, indent, ascii_only, separators):
    """JSON with decimals written as they stand."""
    def convert(item):
        if isinstance(item, dict):
            return {key: convert(inner) for key, inner in item.items()}
        if isinstance(item, list):
            return [convert(inner) for inner in item]
        if isinstance(item, decimal.Decimal):
            return f"@{item}@"
        return item

    text = json.dumps(convert(value), indent=indent, ensure_ascii=ascii_only, separators=separators)
    return re.sub(r'"@([-0-9.]+)@"', r"\1", text)


def merge(gpu_tracker, folder, path, *options):
    merged = folder / "merged.out"
    merged.unlink(missing_ok=True)
    done = subprocess.run([gpu_tracker, "timeline", "merge", *options, "--overwrite", "-o", merged, path], check=False,
                          stdout=subprocess.PIPE)
    assert done.returncode in (0, 4)
    if done.returncode == 4:  # nothing is left of the file
        assert not merged.exists()
        return []
    return json.loads(merged.read_text(errors="surrogateescape"), parse_float=decimal.Decimal)


def plain(events):
    """What a merge must keep of events, in the order of time; times from the first one on, to the nanosecond."""
    begin = None
    result = []
    for item in sorted(events, key=lambda item: item.get("ts", 0)):
        if item["ph"] == "M":
            continue
        begin = item["ts"] if begin is None else min(begin, item["ts"])
        result.append(item)
    return [(item["name"], item["ph"], item["ts"] - begin, item.get("dur"), item.get("args"), item.get("other"))
            for item in result]


SETTINGS = settings(max_examples=600 if os.environ.get("TEST_LONG") else 75,
                    deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@SETTINGS
@given(events=st.lists(event(), min_size=1, max_size=6), indent=st.sampled_from([None, 1]), ascii_only=st.booleans(),
       tight=st.booleans(), as_object=st.booleans(), compressed=st.booleans())
def test_events_survive(gpu_tracker, tmp_path, events, indent, ascii_only, tight, as_object, compressed):
    document = {"before": {"traceEvents": [1, "]}"]}, "traceEvents": events, "after": "}"} if as_object else events
    text = write(document, indent, ascii_only, (",", ":") if tight else None)
    path = tmp_path / "trace.json"
    path.write_bytes(gzip.compress(text.encode()) if compressed else text.encode())
    expected = json.loads(text, parse_float=decimal.Decimal)
    expected = expected["traceEvents"] if as_object else expected
    assert plain(merge(gpu_tracker, tmp_path, path)) == plain(expected)


def whole_events(text):
    """The events before the first damage, by Python's own decoder."""
    decoder = json.JSONDecoder(parse_float=decimal.Decimal)
    at, found = 1, []
    while True:
        while at < len(text) and text[at] in " ,\n":
            at += 1
        try:
            item, at = decoder.raw_decode(text, at)
        except ValueError:
            return found
        found.append(item)


@SETTINGS
@given(events=st.lists(event(), min_size=1, max_size=6), data=st.data())
def test_a_cut_file_gives_its_whole_events(gpu_tracker, tmp_path, events, data):
    text = write(events, None, True, None)
    text = text[: data.draw(st.integers(text.index("}") if "}" in text else 0, len(text)))]
    path = tmp_path / "trace.json"
    path.write_text(text)
    assume('"ph"' in text)  # or it may be any list of objects
    expected = whole_events(text)
    assert plain(merge(gpu_tracker, tmp_path, path))[: len(expected)] == plain(expected)


@pytest.mark.parametrize("bad", ['{"ph":"X","ts":01}', '{"ph":"X","ts":1,}', '{"ph":"X" "ts":1}', '{"ph":"X","ts":1.}',
                                 '{"ph":"X","ts":1,"args":[1,]}', '{"ph":"X","ts":1,"args":tru}', '{"ph":"XX","ts":1}',
                                 '{"ph":"X","ts":1,"a":"\\x"}', '{"ph":"X","ts":"soon"}', '{"name":"no phase"}',
                                 '{"ph":"X","ts":1,"args":' + "[" * 600 + "]" * 600 + "}"])
def test_bad_events_are_left_out_and_counted(gpu_tracker, tmp_path, bad):
    path = tmp_path / "trace.json"
    path.write_text('[{"ph":"i","name":"a","ts":1},%s,{"ph":"i","name":"b","ts":2}]' % bad)
    assert [item[0] for item in plain(merge(gpu_tracker, tmp_path, path))] == ["a", "b"]
    command = [gpu_tracker, "timeline", "info", "--format", "json", path]
    out = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    assert json.loads(out.stdout)["lost"] == 1
