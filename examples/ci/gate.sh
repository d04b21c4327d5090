#!/bin/sh
# Copy it to the folder ci of your project. gate.sh BEFORE AFTER COMMAND...: run COMMAND in two checkouts that are
# built, the folders BEFORE and AFTER, in turn and four times each. Results: comment.md, for a comment on the change,
# and measured/, with the recordings and the page cost.html. The exit status is 3 if a rule of RULES is broken.
set -eu
[ $# -ge 3 ] || { echo "usage: gate.sh BEFORE AFTER COMMAND..." >&2; exit 2; }
before=$1 after=$2
shift 2
rules=$(printf '%s' "${RULES:-memory>+10% cpu-time>+20%}" | sed 's/ *\([<>]\) */\1/g')
here=$PWD
mkdir -p measured
echo "The cost was not compared: a run of \`$*\` failed. The log of the job has the reason." >comment.md
for run in 1 2 3 4; do
    (cd "$before" && gpu-tracker run -q --blocks --sleep-time 0.1 --overwrite --tf "$here/measured/before-$run.sqlite" -- "$@")
    (cd "$after" && gpu-tracker run -q --blocks --sleep-time 0.1 --overwrite --tf "$here/measured/after-$run.sqlite" -- "$@")
done
options=
for rule in $rules; do options="$options --fail-if $rule"; done
sessions=
for run in 1 2 3 4; do sessions="$sessions before=measured/before-$run.sqlite after=measured/after-$run.sqlite"; done
# shellcheck disable=SC2086  # words
gpu-tracker compare -o measured/cost.html $sessions
# shellcheck disable=SC2086  # words
gpu-tracker compare $options -f markdown -o comment.md $sessions
