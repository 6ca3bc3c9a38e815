#!/bin/sh
# Fuzzes a parser: Scripts/fuzz.sh TARGET [RUNS], or `all`. Targets: the files of small letters in Tests/Fuzz. FUZZ_SECONDS ends
# a run earlier.
#
# libFuzzer and the address sanitizer must be in every file of the rooms under test and in nothing else, and a fuzzer has no
# main of its own, which a package's executable must have. So the four rooms are compiled here with swiftc, a module each, and
# linked with what the usual build made of their dependencies; a target in Package.swift for each fuzzer would burden every build.
set -eu
cd "$(dirname "$0")/.."
[ $# -ge 1 ] || { echo "usage: Scripts/fuzz.sh TARGET|all [RUNS]; targets: $(ls Tests/Fuzz | sed -n 's/^\([a-z]*\)\.swift$/\1/p' | tr '\n' ' ')" >&2; exit 64; }
runs=${2:-1000000}
if [ "$1" = all ]; then
    for file in Tests/Fuzz/[a-z]*.swift; do "$0" "$(basename "$file" .swift)" "$runs"; done
    exit 0
fi
target=$1
[ -f "Tests/Fuzz/$target.swift" ] || { echo "fuzz.sh: there is no target $target" >&2; exit 64; }

# What the usual build made: Crypto and its C parts. FUZZ_BUILD names another build's directory.
built=${FUZZ_BUILD:-$(swift build --show-bin-path)}
[ -e "$built/Modules/Crypto.swiftmodule" ] || swift build --target CloudStore
out=.build/fuzz
mkdir -p "$out" "$out/finds" "$out/corpus/$target"

house="-swift-version 6 -enable-upcoming-feature ExistentialAny -enable-upcoming-feature InternalImportsByDefault -enable-upcoming-feature MemberImportVisibility"
flags="-O -g -use-ld=lld -sanitize=fuzzer,address -parse-as-library -enable-testing -package-name snapshotsync -I $out -I $built/Modules -I Sources/CZlib"
for map in "$built"/*.build/module.modulemap; do flags="$flags -Xcc -fmodule-map-file=$map"; done
for folder in .build/checkouts/swift-crypto/Sources/*/include; do flags="$flags -Xcc -I$folder"; done

# A room is compiled anew when a file of it, or of one below it, is newer than the last time.
stale=0
for room in StrictText SnapshotModel SnapshotFormat CloudStore; do
    if [ $stale = 1 ] || [ ! -e "$out/$room.o" ] || [ -n "$(find "Sources/$room" -name '*.swift' -newer "$out/$room.o")" ]; then
        [ $room = CloudStore ] || stale=1
        # shellcheck disable=SC2086,SC2046 -- lists of words; no file here has a space in its name
        swiftc $house $flags -D_GNU_SOURCE -Xcc -D_GNU_SOURCE -whole-module-optimization -module-name $room -emit-module -emit-module-path "$out/$room.swiftmodule" \
            -c $(find "Sources/$room" -name '*.swift') -o "$out/$room.o"
        rm -f "$out"/fuzz-*
    fi
done
if [ ! -e "$out/dependencies.a" ]; then
    find "$built"/Crypto.build "$built"/CryptoBoringWrapper.build "$built"/CCrypto*.build "$built"/CXKCP*.build "$built"/CLinux.build \
        -name '*.o' 2>/dev/null | xargs ar rcs "$out/dependencies.a"
fi
if [ ! -e "$out/fuzz-$target" ] || [ -n "$(find Tests/Fuzz -name '*.swift' -newer "$out/fuzz-$target")" ]; then
    shared=Tests/Fuzz/FuzzSupport.swift
    case $target in
        commit | checkpoint | message) shared="$shared Tests/Fuzz/FuzzHistory.swift" ;;
        asset | block) shared="$shared Tests/Fuzz/FuzzBlock.swift" ;;
    esac
    # shellcheck disable=SC2086
    swiftc -swift-version 5 $flags -module-name "fuzz_$target" "Tests/Fuzz/$target.swift" $shared \
        "$out/StrictText.o" "$out/SnapshotModel.o" "$out/SnapshotFormat.o" "$out/CloudStore.o" "$out/dependencies.a" -lz -lstdc++ -o "$out/fuzz-$target"
fi
python3 Tests/Fuzz/seeds.py Fixtures "$out/corpus"

case $target in
    timestamp) length=64 ;;
    json | message | marker | dataset) length=4096 ;;
    *) length=16384 ;;
esac
# The targets find what takes a second of the processor; the minute by the clock is for what does not end. More than a gigabyte,
# the sanitizer's own memory included, is a find, too.
echo "fuzz $target: $runs runs, finds go to $out/finds"
exec nice -n 10 "$out/fuzz-$target" -runs="$runs" -max_len=$length -timeout=60 -rss_limit_mb=1024 -malloc_limit_mb=512 \
    -artifact_prefix="$out/finds/$target-" -print_final_stats=1 -verbosity="${FUZZ_VERBOSITY:-0}" \
    -max_total_time="${FUZZ_SECONDS:-0}" "$out/corpus/$target"
