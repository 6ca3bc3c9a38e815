#!/usr/bin/env bash
# Installs the competitors that are missing, and says so. One that cannot be had is skipped by the benchmark, by name.
set -uo pipefail
cd "$(dirname "$0")/.."

missing=()
for program in zstd rsync restic age strace; do
    command -v "$program" >/dev/null || missing+=("$program")
done
if [ "${#missing[@]}" -gt 0 ]; then
    echo "bench: installing ${missing[*]}"
    run=()
    if [ "$(id -u)" != 0 ]; then run=(sudo); fi
    "${run[@]}" apt-get update -qq
    DEBIAN_FRONTEND=noninteractive "${run[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null \
        || echo "bench: not all of ${missing[*]} could be installed"
fi

# Python's fastest libraries, newer than Debian's, in an environment of their own.
libraries=.build-bench/python
if ! "$libraries/bin/python" -c 'import isal, matplotlib, orjson; orjson.Fragment' 2>/dev/null; then
    echo "bench: installing orjson, isal and matplotlib into $libraries"
    { python3 -m venv "$libraries" && "$libraries/bin/pip" install --quiet orjson isal matplotlib; } \
        || echo "bench: orjson, isal and matplotlib could not be installed"
fi
