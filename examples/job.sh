#!/bin/sh
# A job of three named parts: numbers are shuffled, sorted and compressed. Run it with
#
#     gpu-tracker run --blocks --tracking-file run.sqlite -- examples/job.sh
#
# It leaves nothing behind and takes a few seconds.
set -e
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
gpu-tracker block shuffle -- shuf --input-range=1-2000000 --output="$folder/shuffled"
gpu-tracker block sort -- sort --numeric-sort --output="$folder/sorted" "$folder/shuffled"
gpu-tracker block compress -- gzip "$folder/sorted"
