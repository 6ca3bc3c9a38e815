#!/usr/bin/env bash
# The command with Swift's library inside, as `make install` makes it: behind a preloaded library that sets a variable before the program
# starts, it must find the arguments that it was started with. Then the main job with this program.
#
# SNAPSYNC: the command that `swift build` made; its object files are linked again, statically. WORK: an empty directory.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
objects=$(dirname "$SNAPSYNC")/snapsync.product/Objects.LinkFileList
[ -f "$objects" ] || { echo "the command's object files are not beside it"; exit 77; }
command -v swiftc clang >/dev/null || { echo "swiftc or clang is missing"; exit 77; }
library=$(dirname "$(dirname "$(readlink -f "$(command -v swiftc)")")")/lib/swift_static/linux
[ -d "$library" ] || { echo "Swift's static library is missing"; exit 77; }
"$here/install.sh" sqlite3 || exit $?
fail() { echo "FAILED: $*"; exit 1; }

cd "$WORK"
libraries=(-lFoundation -lFoundationInternationalization -lFoundationEssentials -lCoreFoundation -l_FoundationICU -l_FoundationCShims -l_FoundationCollections)
libraries+=(-lswiftSynchronization -lswiftDispatch -ldispatch -lBlocksRuntime)
swiftc -static-stdlib -emit-executable -o snapsync -module-name snapsync -Xlinker --defsym -Xlinker main=snapsync_main "@$objects" \
    -Xlinker --start-group "${libraries[@]}" -Xlinker --end-group -lstdc++ >link.log 2>&1 || { tail -n 5 link.log; fail "it cannot be linked"; }
! ldd snapsync | grep -qE 'libswift|libFoundation' || fail "Swift's library is not inside"

# A name that is not there yet: only a new variable moves the environment.
cat >early.c <<'END'
#include <stdio.h>
#include <stdlib.h>
__attribute__((constructor)) static void begin(void) {
    char name[32];
    int number = 0;
    do snprintf(name, sizeof name, "EARLY%d", number++); while (getenv(name));
    setenv(name, "1", 1);
}
END
clang -shared -fPIC -o early.so early.c
expect() { # expect STATUS TEXT WORD...: what the program does behind the preloaded library
    local status=$1 text=$2 output code=0
    shift 2
    output=$(LD_PRELOAD=$WORK/early.so ./snapsync "$@" 2>&1 </dev/null) || code=$?
    [ "$code" = "$status" ] && [[ $output == *"$text"* ]] || fail "snapsync $*: ended with $code, not $status: $(head -n 2 <<<"$output")"
}
expect 66 "/nonexistent: there is no such database" sync /nonexistent --quiet
expect 0 "snapsync copies tables"
expect 0 "is a writer of zone" init "a phone.db" cloud --built-in
expect 0 "published version 1" sync "a phone.db"
expect 0 "is a reader of zone" join watch.db cloud
expect 0 "imported version 1" sync watch.db
[ "$(sqlite3 watch.db 'SELECT * FROM notifications ORDER BY id')" = "$(sqlite3 "a phone.db" 'SELECT * FROM notifications ORDER BY id')" ] || fail "the reader does not have the writer's rows"
echo "static: all arguments are found behind a preloaded library that calls setenv; no arguments and no terminal: 64; writer and reader equal"
