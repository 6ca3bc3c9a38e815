#!/usr/bin/env bash
# Line coverage of the library by its tests: every module and the whole, without the command. Fails below MINIMUM percent.
#
#     Scripts/coverage.sh                       all tests
#     Scripts/coverage.sh --filter DamageTests  some of them, to try it; say MINIMUM=0
#
# Tests of the command run it as a process of its own; what they cover of the library counts, too (see RunningProgram).
set -euo pipefail
cd "$(dirname "$0")/.."
scratch=${SCRATCH:-.build-coverage}
swift=${SWIFT:-swift}
# Swift's own: another LLVM's may not know the format of the profiles.
tools=$(dirname "$(readlink -f "$(command -v "$swift")")")
[ -x "$tools/llvm-profdata" ] && [ -x "$tools/llvm-cov" ] || tools=/usr/bin
"$swift" build --build-tests --enable-code-coverage --scratch-path "$scratch"
bin=$("$swift" build --show-bin-path --scratch-path "$scratch")
rm -rf "$bin/codecov" "$bin/commands"
# Not the tests that no run with nothing to do writes a file: each run writes its profile.
"$swift" test --skip IdleSyncTests --skip-build --enable-code-coverage --scratch-path "$scratch" "$@"
# A profile that a killed process left half written is left out.
"$tools/llvm-profdata" merge -sparse --failure-mode=all -o "$bin/all.profdata" "$bin"/codecov/*.profdata "$bin"/commands/*.profraw
"$tools/llvm-cov" report -instr-profile "$bin/all.profdata" "$bin"/*.xctest -object "$bin/snapsync" "$PWD/Sources" | awk -v minimum="${MINIMUM:-90}" '
    function show(name, lines, missed) { printf "%-24s%8d lines%8.2f %%\n", name, lines, 100 * (1 - missed / lines) }
    $1 ~ /\.swift$/ && $1 !~ /^snapsync\// { split($1, path, "/"); lines[path[1]] += $8; missed[path[1]] += $9; all += $8; none += $9 }
    END {
        for (module in lines) show(module, lines[module], missed[module])
        if (!all) { print "coverage: nothing was measured"; exit 1 }
        show("all modules", all, none)
        if (100 * (all - none) < minimum * all) { print "coverage: below " minimum " %"; exit 1 }
    }'
