#!/usr/bin/env bash
# Links the built command again, with Swift's library inside: the tests start it some 20,000 times, and that takes 2.6 ms of processor time instead of 8.6.
#
#   Scripts/link_static.sh SWIFTC FOLDER OPTION...      FOLDER is where the command was built, OPTION what else the linker gets
#
# Everything else was built without -static-stdlib, for the tests' own program cannot be static. Where the toolchain has other archives, the command stays
# as it is, with a note.
set -euo pipefail

swiftc=$1 folder=$2
shift 2
archives=(-lswiftCore -lFoundation -lFoundationInternationalization -lFoundationEssentials -lCoreFoundation -l_FoundationICU -l_FoundationCShims
    -l_FoundationCollections -lswiftSynchronization -lswiftDispatch -ldispatch -lBlocksRuntime -lswiftGlibc -lstdc++)
if "$swiftc" -static-stdlib -emit-executable -o "$folder/snapsync.static" -module-name snapsync -Xlinker --defsym -Xlinker main=snapsync_main \
    "@$folder/snapsync.product/Objects.LinkFileList" -Xlinker --gc-sections "$@" -Xlinker --start-group "${archives[@]}" -Xlinker --end-group 2>"$folder/snapsync.static.log"; then
    mv -f "$folder/snapsync.static" "$folder/snapsync"
else
    echo "the command of the tests is not static, which costs a minute; the linker's words are in $folder/snapsync.static.log" >&2
fi
