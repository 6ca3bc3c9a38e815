#!/usr/bin/env bash
# Links the tests' programs again, with Swift's library inside and at a fixed address: a start takes half the time, and the tests start it thousands of
# times. The tests' own program cannot be static, so `swift build` does not do this. Where the toolchain has other archives, the command stays as it
# is, with a note.
#
#   Scripts/link_static.sh SWIFTC FOLDER      FOLDER is where the command was built
set -euo pipefail

swiftc=$1 folder=$2
archives=(-lswiftCore -lFoundation -lFoundationInternationalization -lFoundationEssentials -lCoreFoundation -l_FoundationICU -l_FoundationCShims
    -l_FoundationCollections -lswiftSynchronization -lswiftDispatch -ldispatch -lBlocksRuntime -lswiftGlibc -lstdc++)
for program in snapsync snapsync-examples; do
    main=${program//-/_}
    if "$swiftc" -static-stdlib -emit-executable -o "$folder/$program.static" -module-name "$main" -use-ld=lld -Xlinker --defsym -Xlinker "main=${main}_main" \
        "@$folder/$program.product/Objects.LinkFileList" -Xlinker --gc-sections -Xlinker --no-export-dynamic \
        -Xclang-linker -no-pie \
        -Xlinker --start-group "${archives[@]}" -Xlinker --end-group 2>"$folder/$program.static.log"; then
        mv -f "$folder/$program.static" "$folder/$program"
    else
        echo "the tests' $program is not static, which costs a minute; the linker's words are in $folder/$program.static.log" >&2
    fi
done
