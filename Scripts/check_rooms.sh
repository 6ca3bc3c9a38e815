#!/usr/bin/env bash
# The rooms have one direction. The compiler checks what is declared in Package.swift; this finds what it lets through.
set -euo pipefail
cd "$(dirname "$0")/.."
status=0
refuse() { # refuse TEXT MATCHES
    if [ -n "$2" ]; then
        printf 'check_rooms: %s\n%s\n' "$1" "$2" >&2
        status=1
    fi
}
refuse "only LocalStore imports GRDB" \
    "$(grep -rnE '^ *(package |internal |public |private )?import GRDB' Sources --include='*.swift' | grep -v '^Sources/LocalStore/' || true)"
refuse "SnapshotFormat knows neither database nor cloud" \
    "$(grep -rnE 'import (LocalStore|CloudStore|SnapshotSync)' Sources/SnapshotFormat || true)"
refuse "CloudStore knows no snapshots" \
    "$(grep -rnE 'import (SnapshotModel|SnapshotFormat|LocalStore|SnapshotSync)' Sources/CloudStore || true)"
refuse "no rooms for leftovers" "$(find Sources -type d \( -name Utils -o -name Helpers -o -name Common \))"
exit $status
