"""--execute splits as a shell does, and starts none."""
import json
import shlex
import sys

import pytest

SHOW = f"{sys.executable} -c 'import json, sys; json.dump(sys.argv[1:], sys.stdout)' "


@pytest.mark.parametrize("text, words", [
    ("a b", ["a", "b"]),
    ("  a\t b\n c ", ["a", "b", "c"]),
    ("'a b'", ["a b"]),
    ('"a b"', ["a b"]),
    ("a' 'b", ["a b"]),
    (r"a\ b", ["a b"]),
    (r"'a\ b'", [r"a\ b"]),
    (r'"a\ b"', [r"a\ b"]),
    (r'"\"\\\$\`"', ['"\\$`']),
    (r"\'\"\\", ["'\"\\"]),
    ("'' \"\"", ["", ""]),
    ("'it'\\''s'", ["it's"]),
    ('"it\'s"', ["it's"]),
    ("a\\\nb", ["ab"]),
    ('"a\\\nb"', ["ab"]),
    ("a \\\n b", ["a", "b"]),
    ("'a\nb'", ["a\nb"]),
    ("$HOME `id` $(id) * ? ~ {a,b} | & ; < > # !", ["$HOME", "`id`", "$(id)", "*", "?", "~", "{a,b}", "|", "&", ";", "<", ">", "#", "!"]),
    ("--flag=x -- -e", ["--flag=x", "--", "-e"]),
    ("Grüße 漢字", ["Grüße", "漢字"]),
])
def test_split(cli, text, words):
    done = cli("-e", SHOW + text, "--disable-logs", "-o", "/dev/null")
    shown, sentence = done.stdout.split("Resource tracking", 1)
    assert json.loads(shown) == words
    assert sentence.endswith("status code: 0\n")


def test_a_hard_word_survives(cli):
    word = "".join(map(chr, range(1, 127))) + "é"
    done = cli("-e", SHOW + shlex.quote(word), "--disable-logs", "-o", "/dev/null")
    assert json.loads(done.stdout.split("Resource tracking", 1)[0]) == [word]


@pytest.mark.parametrize("text, cause", [
    ("echo 'a", "a single quote is not closed"),
    ('echo "a', "a double quote is not closed"),
    ('echo "a\\"', "a double quote is not closed"),
    ("echo a\\", "a backslash at the end escapes nothing"),
    ("\\\n", "it is empty"),
])
def test_what_cannot_be_split(refused, text, cause):
    refused(2, cause, "-e", text)
