# What the cases share. A case is a function that runs in an empty folder; it ends, and has failed, at the first command that fails.
set -eEuo pipefail
trap 'echo "${BASH_SOURCE[0]-}:$LINENO: $BASH_COMMAND" >&2' ERR
export HOME=$PWD
HERE=$(dirname "${BASH_SOURCE[0]}")

snapsync() { "$SNAPSYNC" "$@"; }
sql() { sqlite3 -bail "$1.db" "$2"; }

# Statements of another device that come later.
later() {
    sleep 0.01
    sql "$@"
}

sync() {
    local name
    for name; do snapsync sync "$name.db" --quiet; done
}

# Two devices with the same tables, `a` and `b`, of which `a` has published them: peers, a writer and a reader, and a writer that takes the edits of a reader.
peers() { pair "$1" --peers --peer; }
reader() { pair "$1" "" ""; }
editor() { pair "$1" "--reader-edits all" ""; }
pair() {
    sql a "$1"
    snapsync init a.db cloud $2 --name a >setup
    sync a
    join b $3
}
join() {
    snapsync join "$1.db" cloud "${@:2}" --name "$1" >setup
    sync "$1"
}

# is DEVICE SQL VALUE...: one value for each row.
is() {
    local rows
    rows=$(sql "$1" "$2")
    [ "$rows" = "$(printf '%s\n' "${@:3}")" ] || {
        echo "$1: $2: $rows" >&2
        return 1
    }
}
# The same on all devices.
all() {
    local file
    for file in *.db; do is "${file%.db}" "$@"; done
}

# Runs a command that must end with a status; its output is in the file `told`.
ends() {
    local code=0
    "${@:2}" >told 2>&1 || code=$?
    [ $code = "$1" ] || {
        echo "ended with $code: ${*:2}" >&2
        cat told >&2
        return 1
    }
}

# The journals of all devices have a text in a line about a loss; no loss but of one text.
lost() {
    local file
    for file in *.db; do snapsync conflicts "$file"; done >journal
    grep -F -- "$1" journal | grep lost >/dev/null || {
        cat journal >&2
        return 1
    }
}
lost_only() {
    local file
    for file in *.db; do snapsync conflicts "$file"; done >journal
    ! grep -E '" lost|: a deletion' journal | grep -vF -- "$1" >&2
}

# Runs a command with a clock that is an hour ahead, and stands still.
ahead() {
    [ -e clock.so ] || "$(command -v cc clang gcc | head -1)" -shared -fPIC -o clock.so "$HERE/../Model/clock.c"
    LD_PRELOAD=$PWD/clock.so ORACLE_CLOCK=$(($(date +%s%6N) + 3600000000)) "$@"
}
