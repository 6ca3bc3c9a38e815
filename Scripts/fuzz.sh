#!/bin/sh
# Fuzzes a parser: Scripts/fuzz.sh TARGET [RUNS], or `all`. Targets: the files of small letters in Tests/Fuzz. FUZZ_SECONDS ends
# a run earlier; FUZZ_NICE is how far it gives way to others (10).
#
# libFuzzer and the address sanitizer must be in every file of the modules under test and in nothing else, and a fuzzer has no
# main of its own, which a package's executable must have. So the modules are compiled here with swiftc and
# linked with what the optimised build made of their dependencies; a target in Package.swift for each fuzzer would burden every
# build. Each fuzzer is linked with the modules that it tests alone: the counters of all code in it are gone through for each input.
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

# The modules that a target tests, the files that it shares with others, and how long its inputs get: long enough for every rule of
# its format, for a longer one takes longer and says nothing more.
shared=FuzzSupport
case $target in
    timestamp) modules="Platform StrictText" length=48 ;;
    json) modules="Platform StrictText" length=1024 shared="$shared FuzzMutation FuzzJSONMutation" ;;
    dataset) modules="Platform StrictText SnapshotModel" length=1024 shared="$shared FuzzMutation FuzzJSONMutation" ;;
    gzip) modules="Platform StrictText Sealing SnapshotModel SnapshotFormat" length=1024 shared="$shared FuzzMutation FuzzGzipMutation" ;;
    index) modules="Platform StrictText Sealing SnapshotModel SnapshotFormat" length=2048 shared="$shared FuzzMutation FuzzIndexMutation" ;;
    changes | container) modules="Platform StrictText Sealing SnapshotModel SnapshotFormat" length=2048 shared="$shared FuzzSchema FuzzMutation FuzzJSONMutation" ;;
    block) modules="Platform StrictText Sealing SnapshotModel SnapshotFormat" length=1024 shared="$shared FuzzSchema FuzzBlock FuzzMutation FuzzJSONMutation" ;;
    asset | rebuild) modules="Platform StrictText Sealing SnapshotModel SnapshotFormat" length=2048 shared="$shared ../SnapshotFormatTests/Support/ReadAsset FuzzSchema FuzzBlock FuzzAsset FuzzMutation FuzzJSONMutation" ;;
    marker) modules="Platform StrictText Sealing CloudStore" length=512 shared="$shared FuzzMutation FuzzJSONMutation" ;;
    commit | checkpoint) modules="Platform StrictText Sealing CloudStore" length=2048 shared="$shared FuzzHistory FuzzMutation FuzzJSONMutation" ;;
    message) modules="Platform StrictText Sealing SnapshotModel CloudStore" length=1024 shared="$shared FuzzHistory FuzzMutation FuzzJSONMutation" ;;
    box) modules="Platform StrictText Sealing" length=1024 shared="$shared FuzzKeys" ;;
    words) modules="Platform StrictText Sealing CloudStore" length=256 ;;
    keyfile) modules="Platform StrictText Sealing CloudStore" length=1024 shared="$shared FuzzMutation FuzzJSONMutation" ;;
    keyring) modules="Platform StrictText Sealing CloudStore" length=12288 shared="$shared FuzzSealed FuzzKeys FuzzMutation FuzzJSONMutation" ;;
    sealed) modules="Platform StrictText Sealing CloudStore" length=2048 shared="$shared FuzzSealed FuzzKeys FuzzMutation FuzzJSONMutation" ;;
    members) modules="Platform StrictText Sealing CloudStore" length=4096 shared="$shared FuzzSealed FuzzKeys FuzzMutation FuzzJSONMutation" ;;
    signed) modules="Platform StrictText Sealing CloudStore" length=2048 shared="$shared FuzzHistory FuzzSealed FuzzKeys FuzzMutation FuzzJSONMutation" ;;
    history) modules="Platform StrictText Sealing SnapshotModel CloudStore DirectoryCloud" length=49 shared="$shared FuzzCloud" ;;
    *) echo "fuzz.sh: say here what $target tests" >&2; exit 70 ;;
esac
sources="Tests/Fuzz/$target.swift"
for file in $shared; do sources="$sources Tests/Fuzz/$file.swift"; done
# The simulated disk that the tests of power cuts use.
[ $target != history ] || for file in SimulatedFileSystem DiskImage DiskOperation CloudScript; do sources="$sources Tests/CloudStoreTests/PowerCut/$file.swift"; done

# What the optimised build made: Crypto and the parts in C. FUZZ_BUILD names another build's directory.
built=${FUZZ_BUILD:-$(swift build -c release --show-bin-path)}
{ [ -e "$built/Modules/CryptoExtras.swiftmodule" ] &&
    [ "$built/CLinux.build/CLinux.c.o" -nt Sources/CLinux/CLinux.c ]; } ||
    for target_of_build in SnapshotFormat DirectoryCloud; do swift build -c release --target "$target_of_build"; done
out=.build/fuzz
mkdir -p "$out" "$out/finds" "$out/corpus/$target"

house="-swift-version 6 -enable-upcoming-feature ExistentialAny -enable-upcoming-feature InternalImportsByDefault -enable-upcoming-feature MemberImportVisibility"
flags="-O -g -use-ld=lld -sanitize=fuzzer,address -parse-as-library -enable-testing -package-name snapshotsync -I $out -I $built/Modules -I Sources/CZlib -I Sources/CIsal"
for map in "$built"/*.build/module.modulemap; do flags="$flags -Xcc -fmodule-map-file=$map"; done
for folder in .build/checkouts/swift-crypto/Sources/*/include; do flags="$flags -Xcc -I$folder"; done

# A module is compiled again when a file of it, or one of the modules before it, is newer than the last time; another target's run may
# have compiled those.
objects=""
for module in $modules; do
    stale=0
    for below in $objects; do [ ! "$below" -nt "$out/$module.o" ] || stale=1; done
    objects="$objects $out/$module.o"
    if [ $stale = 1 ] || [ ! -e "$out/$module.o" ] || [ -n "$(find "Sources/$module" -name '*.swift' -newer "$out/$module.o")" ]; then
        begun=$(date +%Y%m%d%H%M.%S)
        # shellcheck disable=SC2086,SC2046 -- lists of words; no file here has a space in its name
        swiftc $house $flags -D_GNU_SOURCE -Xcc -D_GNU_SOURCE -whole-module-optimization -module-name $module -emit-module -emit-module-path "$out/$module.swiftmodule" \
            -c $(find "Sources/$module" -name '*.swift') -o "$out/$module.o"
        # What was changed while it was compiled is newer.
        touch -t "$begun" "$out/$module.o"
    fi
done
if [ ! -e "$out/dependencies.a" ] || [ Scripts/fuzz.sh -nt "$out/dependencies.a" ] || [ "$built/CLinux.build/CLinux.c.o" -nt "$out/dependencies.a" ]; then
    rm -f "$out/dependencies.a"
    find "$built"/Crypto.build "$built"/CryptoExtras.build "$built"/SwiftASN1.build "$built"/CryptoBoringWrapper.build "$built"/CCrypto*.build "$built"/CXKCP*.build "$built"/CLinux.build \
        -name '*.o' -print0 2>/dev/null | xargs -0 ar rcs "$out/dependencies.a"
fi
stale=0
# shellcheck disable=SC2086
for file in $sources $objects; do [ ! "$file" -nt "$out/fuzz-$target" ] || stale=1; done
if [ $stale = 1 ] || [ ! -e "$out/fuzz-$target" ]; then
    # shellcheck disable=SC2086
    swiftc -swift-version 5 $flags -module-name "fuzz_$target" $sources $objects "$out/dependencies.a" -lz -lisal -lstdc++ -o "$out/fuzz-$target"
fi
python3 Tests/Fuzz/seeds.py Fixtures "$out/corpus"

# The sanitizer keeps fewer freed blocks and shorter stacks than usual: a find is run again with its usual options to see more.
export ASAN_OPTIONS="${ASAN_OPTIONS:-malloc_context_size=3:quarantine_size_mb=8:thread_local_quarantine_size_kb=64:max_malloc_fill_size=64}"
# Nobody else adds to the corpus, so that it need not be listed again each second.
# The targets find what takes a second of the processor; the minute by the clock is for what does not end. More than a gigabyte,
# the sanitizer's own memory included, is a find, too.
echo "fuzz $target: $runs runs, finds go to $out/finds"
exec nice -n "${FUZZ_NICE:-10}" "$out/fuzz-$target" -runs="$runs" -max_len=$length -timeout=60 -report_slow_units=60 -rss_limit_mb=1024 -malloc_limit_mb=512 \
    -artifact_prefix="$out/finds/$target-" -dict=Tests/Fuzz/tokens.dict -print_final_stats=1 -verbosity="${FUZZ_VERBOSITY:-0}" \
    -reload=0 -max_total_time="${FUZZ_SECONDS:-0}" "$out/corpus/$target"
