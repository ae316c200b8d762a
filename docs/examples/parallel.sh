#!/usr/bin/env bash
# Generates test credentials in parts with GNU parallel, one device for each part, and merges the parts.
#
# usage: parallel.sh FOLDER PERSONS PARTS SEED
#
# With the same arguments again, it runs only the parts that failed or were killed; each continues where it stopped.
# PROVISION contains further options of `keyshare-provider provision`, JOBS the number of concurrent parts.
set -euo pipefail
export folder=$1 persons=$2 parts=$3 seed=$4
mkdir -p "$folder"

# --joblog records the completed parts, and --resume-failed skips them.
# shellcheck disable=SC2016 # parallel's shell expands the variables of a job.
seq "$parts" | parallel --jobs "${JOBS:-100%}" --joblog "$folder/joblog" --resume-failed --will-cite \
    'exec keyshare-provider provision --count "$persons" --seed "$seed" --at 2026-01-01 ${PROVISION-} \
        --shard "{}/$parts" --device "$folder/part-{}" --quiet'

keyshare-provider merge --device "$folder/whole" "$folder"/part-*
