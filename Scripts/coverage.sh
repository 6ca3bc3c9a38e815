#!/usr/bin/env bash
# Line coverage of the library by its tests: every room and the whole, without the command. Fails below MINIMUM percent.
#
#     Scripts/coverage.sh                       all tests
#     Scripts/coverage.sh --filter DamageTests  some of them, to try it; say MINIMUM=0
#
# Tests of the command run it as a process of its own; what they cover of the library counts, too.
set -euo pipefail
cd "$(dirname "$0")/.."
minimum=${MINIMUM:-90}
scratch=${SCRATCH:-.build-coverage}
swift=${SWIFT:-swift}
"$swift" build --build-tests --enable-code-coverage --scratch-path "$scratch"
bin=$("$swift" build --show-bin-path --scratch-path "$scratch")
profiles=$(mktemp -d)
trap 'rm -rf "$profiles"' EXIT
# Each process writes a file of its own; they are merged when all have ended.
status=0
LLVM_PROFILE_FILE="$profiles/%m-%p.profraw" "$swift" test --skip-build --enable-code-coverage --scratch-path "$scratch" "$@" || status=$?
if [ "$status" != 0 ]; then
    echo "coverage: the tests failed" >&2
    exit "$status"
fi
find "$profiles" "$bin/codecov" -name '*.profraw' -size +0 2>/dev/null > "$profiles/list"
llvm-profdata merge -sparse -f "$profiles/list" -o "$profiles/all.profdata"
llvm-cov export -summary-only -instr-profile "$profiles/all.profdata" "$bin"/*.xctest -object "$bin/snapsync" > "$profiles/coverage.json"
python3 - "$profiles/coverage.json" "$PWD/Sources/" "$minimum" <<'PYTHON'
import json
import sys

path, sources, minimum = sys.argv[1], sys.argv[2], float(sys.argv[3])
rooms, files = {}, []
for file in json.load(open(path))["data"][0]["files"]:
    if not file["filename"].startswith(sources): continue
    name = file["filename"][len(sources):]
    room = name.split("/")[0]
    if room == "snapsync": continue
    lines = file["summary"]["lines"]
    count, covered = rooms.get(room, (0, 0))
    rooms[room] = (count + lines["count"], covered + lines["covered"])
    files.append((lines["count"] - lines["covered"], lines["count"], name))
if not rooms: sys.exit("coverage: nothing was measured")
def show(name, count, covered): print(f"{name:24}{count:8} lines{100 * covered / count if count else 100:8.2f} %")
for room, (count, covered) in sorted(rooms.items()): show(room, count, covered)
count, covered = (sum(one[index] for one in rooms.values()) for index in (0, 1))
show("all rooms", count, covered)
print("most lines that no test reaches:")
for missed, count, name in sorted(files, reverse=True)[:10]: print(f"{missed:8} of {count:5}  {name}")
if 100 * covered < minimum * count: sys.exit(f"coverage: below {minimum:g} %")
PYTHON
