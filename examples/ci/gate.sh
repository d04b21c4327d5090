#!/bin/sh
# Copy it to the folder ci of your project. gate.sh BEFORE AFTER COMMAND...: run COMMAND four times in the folder BEFORE and four times in AFTER (two checkouts that are built), in turn.
# comment.md is the comparison, for a comment on the change; the exit status is 3 if a rule of RULES is true.
set -eu
[ $# -ge 3 ] || { echo "usage: gate.sh BEFORE AFTER COMMAND..." >&2; exit 2; }
before=$1 after=$2
shift 2
rules=$(printf '%s' "${RULES:-memory>+10% cpu_time>+20%}" | sed 's/ *\([<>]\) */\1/g')
here=$PWD
mkdir -p measured
for run in 1 2 3 4; do
    (cd "$before" && gpu-tracker run -q --blocks --sleep-time 0.1 --overwrite --tf "$here/measured/before-$run.sqlite" -- "$@")
    (cd "$after" && gpu-tracker run -q --blocks --sleep-time 0.1 --overwrite --tf "$here/measured/after-$run.sqlite" -- "$@")
done
options=
for rule in $rules; do options="$options --fail-if $rule"; done
sessions=
for run in 1 2 3 4; do sessions="$sessions before=measured/before-$run.sqlite after=measured/after-$run.sqlite"; done
# shellcheck disable=SC2086  # words
gpu-tracker compare $options -f markdown -o comment.md $sessions
