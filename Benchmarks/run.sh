#!/usr/bin/env bash
# Builds the command and measures it against its competitors. SIZES, ROUNDS and DIRECTORY change what is measured and where.
set -euo pipefail
cd "$(dirname "$0")/.."
bin="$(${SWIFT:-swift} build -c release --show-bin-path)/snapsync"
exec python3 Benchmarks/bench.py "$bin" --sizes "${SIZES:-150,100000,1000000}" --rounds "${ROUNDS:-3}" ${DIRECTORY:+--directory "$DIRECTORY"}
