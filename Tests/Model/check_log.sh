#!/bin/bash
# Checks the model of the log, log.pml, with spin (Debian package `spin`) and gcc: every interleaving, in at most 2 GB of memory.
# The last run must find a fault: it shows what a rule is for.
set -euo pipefail
cd "$(dirname "$0")"
models=$PWD dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

# check MODEL EXPECTED-ERRORS OPTIONS…
check() {
    local model=$1 expected=$2 output
    shift 2
    spin -a "$@" "$models/$model" > /dev/null
    gcc -O2 -w -DSAFETY -DCOLLAPSE -DMEMLIM=2000 -o pan pan.c
    output=$(./pan -m200000 -n)
    echo "$model $*: $(sed -n 's/^ *\([0-9.e+]*\) states, stored$/\1/p' <<< "$output") states, $(grep -o 'errors: [0-9]*' <<< "$output") ($expected expected)"
    grep -q "errors: $expected\$" <<< "$output"
    [ "$expected" = 1 ] || ! grep -q 'Search not completed\|max search depth too small' <<< "$output"
}

check log.pml 0 -DNUMBERS=2 -DKILLS=2 -DPRUNES=1
check log.pml 0 -DNUMBERS=3 -DKILLS=1 -DPRUNES=1
check log.pml 1 -DNUMBERS=3 -DKILLS=0 -DPRUNES=1 -DPARENT_ALONE
