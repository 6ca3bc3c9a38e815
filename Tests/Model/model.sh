#!/bin/bash
# Checks the rules of merging and the log (docs/internals/merge.md).
# usage: model.sh sample | quick | STEPS: all histories of so many steps, 20,000 random ones, every interleaving of the log, and mutants
set -euo pipefail
cd "$(dirname "$0")"
export PYTHONDONTWRITEBYTECODE=1
python3 scenarios.py
case ${1:-quick} in
sample)
    python3 histories.py 0 500
    python3 exhaustive.py 3
    ;;
quick)
    python3 histories.py "${SEED:-$RANDOM}" 2000
    python3 exhaustive.py 4
    ;;
*)
    python3 histories.py "${SEED:-$((RANDOM * 1000))}" 20000
    python3 exhaustive.py "$1" 3600
    ./check_log.sh
    python3 mutants.py
    ;;
esac
echo "the model holds (${1:-quick})"
