#!/usr/bin/env bash
# Builds the command and measures it against its competitors, then a cloud directory beside SQLite.
# SIZES, ROUNDS and DIRECTORY change what is measured and where; ONLY=datasets or ONLY=cloud leaves the other half out.
set -euo pipefail
cd "$(dirname "$0")/.."
release="$(${SWIFT:-swift} build -c release --show-bin-path)"
rounds="${ROUNDS:-3}"
if [ "${ONLY:-datasets}" = datasets ]; then
    python3 Benchmarks/bench.py "$release/snapsync" --sizes "${SIZES:-150,100000,1000000}" --rounds "$rounds" ${DIRECTORY:+--directory "$DIRECTORY"}
fi
if [ "${ONLY:-cloud}" = cloud ]; then
    ${SWIFT:-swift} build -c release --product cloudbench
    python3 Benchmarks/cloud_bench.py "$release/cloudbench" --rounds "$rounds" ${DIRECTORY:+--directory "$DIRECTORY/cloud-bench"}
fi
