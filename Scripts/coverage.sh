#!/usr/bin/env bash
# Line coverage of the library by its tests: every module and the whole, without the command. Fails below MINIMUM percent.
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
# Swift's own: another LLVM's may not know the format of the profiles.
tools=$(dirname "$(readlink -f "$(command -v "$swift")")")
[ -x "$tools/llvm-profdata" ] && [ -x "$tools/llvm-cov" ] || tools=/usr/bin
"$swift" build --build-tests --enable-code-coverage --scratch-path "$scratch"
bin=$("$swift" build --show-bin-path --scratch-path "$scratch")
profiles=$(mktemp -d)
merger=""
trap '[ -z "$merger" ] || kill "$merger"; rm -rf "$profiles"' EXIT
# Each process writes a file of its own of some 2 MB, into the folder that `swift test` names, and there are thousands: those that
# have ended are merged as it goes. One that was killed as it wrote is left out.
merge() {
    find "$bin/codecov" -name '*.profraw' -size +0 "$@" > "$profiles/list" 2>/dev/null || true
    [ -s "$profiles/list" ] || return 0
    cp "$profiles/list" "$profiles/inputs"
    [ ! -e "$profiles/all.profdata" ] || echo "$profiles/all.profdata" >> "$profiles/inputs"
    "$tools/llvm-profdata" merge -sparse --failure-mode=all -f "$profiles/inputs" -o "$profiles/new.profdata" 2> "$profiles/warnings" || { cat "$profiles/warnings" >&2; return 1; }
    mv "$profiles/new.profdata" "$profiles/all.profdata"
    while read -r file; do rm -f "$file"; done < "$profiles/list"
}
rm -rf "$bin/codecov"
(while sleep 60; do merge -mmin +1; done) &
merger=$!
status=0
# Not the tests that no run with nothing to do writes a file: each run writes its profile here.
"$swift" test --skip IdleSyncTests --skip-build --enable-code-coverage --scratch-path "$scratch" "$@" || status=$?
kill "$merger"
wait "$merger" 2>/dev/null || true
merger=""
if [ "$status" != 0 ]; then
    echo "coverage: the tests failed" >&2
    exit "$status"
fi
merge
"$tools/llvm-cov" export -summary-only -instr-profile "$profiles/all.profdata" "$bin"/*.xctest -object "$bin/snapsync" > "$profiles/coverage.json"
python3 - "$profiles/coverage.json" "$PWD/Sources/" "$minimum" <<'PYTHON'
import json
import sys

path, sources, minimum = sys.argv[1], sys.argv[2], float(sys.argv[3])
modules, files = {}, []
for file in json.load(open(path))["data"][0]["files"]:
    if not file["filename"].startswith(sources): continue
    name = file["filename"][len(sources):]
    module = name.split("/")[0]
    if module == "snapsync": continue
    lines = file["summary"]["lines"]
    count, covered = modules.get(module, (0, 0))
    modules[module] = (count + lines["count"], covered + lines["covered"])
    files.append((lines["count"] - lines["covered"], lines["count"], name))
if not modules: sys.exit("coverage: nothing was measured")
def show(name, count, covered): print(f"{name:24}{count:8} lines{100 * covered / count if count else 100:8.2f} %")
for module, (count, covered) in sorted(modules.items()): show(module, count, covered)
count, covered = (sum(one[index] for one in modules.values()) for index in (0, 1))
show("all modules", count, covered)
print("most lines that no test reaches:")
for missed, count, name in sorted(files, reverse=True)[:10]: print(f"{missed:8} of {count:5}  {name}")
if 100 * covered < minimum * count: sys.exit(f"coverage: below {minimum:g} %")
PYTHON
