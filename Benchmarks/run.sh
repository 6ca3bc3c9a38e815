#!/usr/bin/env bash
# Builds the command as `make install` does and measures it against its competitors, then runs of milliseconds and two watches, signed and sealed zones beside a plain one, and a cloud directory beside SQLite.
# SIZES, SEALED (rows of the zones), REWRITTEN (sizes of the tables that are written whole; 1000000 takes minutes), ROUNDS and DIRECTORY change what is measured and where; ONLY=datasets, ONLY=small, ONLY=sealed or ONLY=cloud leaves the others out; ONLY=scale simulates many PEERS, SIMULATED_READERS, ZONES and VERSIONS, ONLY=bucket measures a bucket, ONLY=readers a directory with READERS readers;
# LINK are options of the linker (make bench gives those of make install).
set -euo pipefail
cd "$(dirname "$0")/.."
Benchmarks/setup.sh
built() { # built SCRATCH PRODUCT OPTION...: builds, and prints where the program is
    local scratch=$1 product=$2
    shift 2
    ${SWIFT:-swift} build -c release --static-swift-stdlib --disable-local-rpath --scratch-path "$scratch" ${LINK:-} --product "$product" "$@" >&2
    echo "$(${SWIFT:-swift} build -c release --static-swift-stdlib --disable-local-rpath --scratch-path "$scratch" ${LINK:-} --show-bin-path "$@")/$product"
}
rounds="${ROUNDS:-3}"
if [ "${ONLY:-datasets}" = datasets ]; then
    options=()
    if [ -x .build-bench/python/bin/python ]; then options+=(--python "$PWD/.build-bench/python/bin/python"); fi
    if [ -n "${DIRECTORY:-}" ]; then options+=(--directory "$DIRECTORY"); fi
    python3 Benchmarks/bench.py "$(built .build-static snapsync)" --sizes "${SIZES-100,150,1000,10000,100000,1000000}" --rewritten "${REWRITTEN-100000}" --rounds "$rounds" \
        --json .build-bench/figures.json "${options[@]}"
    if .build-bench/python/bin/python Benchmarks/plot.py .build-bench/figures.json .build-bench/performance.svg; then echo "plot: .build-bench/performance.svg"; fi
fi
if [ "${ONLY:-small}" = small ]; then
    python3 Benchmarks/small_bench.py "$(built .build-static snapsync)" ${DIRECTORY:+--directory "$DIRECTORY"}
fi
if [ "${ONLY:-sealed}" = sealed ]; then
    python3 Benchmarks/sealed_bench.py "$(built .build-static snapsync)" --rows "${SEALED-100000}" --rounds "$rounds" ${DIRECTORY:+--directory "$DIRECTORY"}
fi
if [ "${ONLY:-cloud}" = cloud ]; then
    python3 Benchmarks/cloud_bench.py "$(built .build-static cloudbench)" --rounds "$rounds" ${DIRECTORY:+--directory "$DIRECTORY/cloud-bench"}
fi
# These run only when they are asked for.
if [ "${ONLY:-}" = readers ]; then
    python3 Benchmarks/readers_bench.py "$(built .build-static snapsync)" --readers "${READERS:-2000}" ${DIRECTORY:+--directory "$DIRECTORY"}
fi
if [ "${ONLY:-}" = scale ]; then
    scalebench=$(built .build-static scalebench)
    for latency in 20 100 300; do "$scalebench" peers --peers "${PEERS:-2,5,10,20,50}" --latencies "$latency"; done
    "$scalebench" readers --readers "1,${SIMULATED_READERS:-100000}"
    "$scalebench" zones --zones "1,${ZONES:-10000}"
    "$scalebench" versions --versions "${VERSIONS:-20000}"
fi
if [ "${ONLY:-}" = bucket ]; then
    python3 Benchmarks/bucket_bench.py "$(built .build-static snapsync)" --rows "${ROWS:-1000000}" --rounds "$rounds"
fi
