#!/usr/bin/env bash
# Links the tests' command again, with Swift's library inside and at a fixed address: a start takes half the time, and the tests start it thousands of
# times. The tests' own program cannot be static, so `swift build` does not do this. Where the toolchain has other archives, the command stays as it
# is, with a note.
#
#   Scripts/link_static.sh SWIFTC FOLDER      FOLDER is where the command was built
set -euo pipefail

swiftc=$1 folder=$2
archives=(-lswiftCore -lFoundation -lFoundationInternationalization -lFoundationEssentials -lCoreFoundation -l_FoundationICU -l_FoundationCShims
    -l_FoundationCollections -lswiftSynchronization -lswiftDispatch -ldispatch -lBlocksRuntime -lswiftGlibc -lstdc++)
if "$swiftc" -static-stdlib -emit-executable -o "$folder/snapsync.static" -module-name snapsync -use-ld=lld -Xlinker --defsym -Xlinker main=snapsync_main \
    "@$folder/snapsync.product/Objects.LinkFileList" -Xlinker --gc-sections -Xlinker --no-export-dynamic \
    -Xclang-linker -no-pie \
    -Xlinker --start-group "${archives[@]}" -Xlinker --end-group 2>"$folder/snapsync.static.log"; then
    mv -f "$folder/snapsync.static" "$folder/snapsync"
else
    echo "the tests' command is not static, which costs a minute; the linker's words are in $folder/snapsync.static.log" >&2
fi
