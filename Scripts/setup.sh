#!/usr/bin/env bash
# Installs the system packages that building and testing need and that are missing, and says so.
set -euo pipefail

if ! command -v swift >/dev/null; then
    echo "setup: Swift 6.2 or newer is needed and is not installed; see https://www.swift.org/install/linux/" >&2
    exit 1
fi

missing=()
need() { # need PACKAGE TEST...: the package, and a command that succeeds where it is not needed
    local package=$1
    shift
    "$@" >/dev/null 2>&1 || missing+=("$package")
}
need zlib1g-dev test -e /usr/include/zlib.h
need libisal-dev test -e /usr/include/isa-l.h
need libcurl4-openssl-dev command -v curl-config
need libexpat1-dev test -e /usr/include/expat.h
need libsqlite3-dev test -e /usr/include/sqlite3.h
# The tests read assets and databases with programs that are not ours.
need sqlite3 command -v sqlite3
need python3 command -v python3
# The server of the tests with a bucket is installed into a virtual environment.
need python3-venv python3 -c 'import ensurepip'
need gzip command -v zcat
need jq command -v jq
# The tests of the page open it in a browser, where there is one.
if [ -n "${BROWSER:-}" ]; then
    need chromium command -v chromium
    need chromium-driver command -v chromedriver
    need fonts-dejavu-core test -d /usr/share/fonts/truetype/dejavu
fi
# And make the system refuse what it seldom refuses.
need strace command -v strace

if [ "${#missing[@]}" -gt 0 ]; then
    echo "setup: installing ${missing[*]}"
    run=()
    if [ "$(id -u)" != 0 ]; then run=(sudo); fi
    "${run[@]}" apt-get update -qq
    DEBIAN_FRONTEND=noninteractive "${run[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi
