#!/usr/bin/env python3
"""Shows that the tests can fail: seeds faults into a copy of the code and runs the suite that must catch each.

    Scripts/seed_faults.py                       all faults
    Scripts/seed_faults.py --only latch-off      some of them
    Scripts/seed_faults.py --list                what there is
    Scripts/seed_faults.py --check               whether each text is still there, and each test that is named, as `make test` does

Each fault is a small change of one place, made by replacing a text that must stand there exactly once: where the code has moved on
the script stops and says so. All of them are built into one copy, each behind its name, so that one build does for all; a test run
turns on one of them, and every suite is run once with none, which must pass. Exits with 1 if a fault is not caught, with 2 if
something else is wrong.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import time

from code_copy import ROOT, refresh

SWITCH = "SNAPSYNC_SEEDED_FAULT"


class Fault:
    """One fault: its name, the tests that must catch it, and in each file the text that it replaces and what by.

    In the new text, ON is the condition under which the fault is there, and OLD the text that was there.
    """

    def __init__(self, name, tests, *edits):
        self.name, self.tests = name, tests
        on = f'SeededFault.isOn("{name}")'
        self.edits = [(file, old, re.sub(r"\bOLD\b", lambda _: old, re.sub(r"\bON\b", lambda _: on, new))) for file, old, new in edits]


CLOUD, LOG, DIRECTORY, LOCAL, ENGINE, FORMAT, TEXT = (
    f"Sources/{module}/" for module in ("CloudStore", "CloudStore/Log", "DirectoryCloud", "LocalStore", "SnapshotEngine", "SnapshotFormat", "StrictText"))

FAULTS = [
    # The way to the disk.
    Fault("directory-not-synced", "PublishFaultTests",
          (DIRECTORY + "Files/CloudFolder.swift", "try attempt(at: ownPlace) { () throws(SystemFault) in try calls.synchronize(descriptor.number) }",
           "if ON { return }\n        OLD")),
    Fault("assets-folder-not-synced", "PublishFaultTests",
          (DIRECTORY + "Files/DirectoryAssetWriter.swift", "try folder.synchronize()", "if !ON { OLD }")),
    Fault("file-not-synced", "PublishFaultTests",
          (DIRECTORY + "Files/DurableFile.swift", "try attempt { () throws(SystemFault) in try folder.calls.synchronize(file.number) }", "if !ON { OLD }")),
    Fault("close-error-ignored", "PublishFaultTests",
          (DIRECTORY + "Files/DurableFile.swift", "try attempt { () throws(SystemFault) in try written.close() }",
           "do throws(CloudError) { OLD } catch { if !ON { throw error } }")),
    Fault("read-back-skipped", "PublishFaultTests",
          (DIRECTORY + "Files/DurableFile.swift", "guard try contentHash(of: file) == sealed.sha256 else {",
           "let isSame = try contentHash(of: file) == sealed.sha256\n        guard isSame || ON else {")),
    Fault("sorted-range-unchecked", "SortedBlockSourceTests",
          ("Sources/SnapshotEngine/Publish/SortedRuns.swift", "guard crcSum == expected.crcSum else {", "guard crcSum == expected.crcSum || ON else {")),
    Fault("sorted-rows-uncounted", "SortedBlockSourceTests",
          ("Sources/SnapshotEngine/Publish/SortedBlockSource.swift", "guard isUnsorted || spilledCount == keyCount else {",
           "guard isUnsorted || spilledCount == keyCount || ON else {")),
    Fault("taken-name-counts-as-ours", "CloudStoreTests.ConformanceTests",
          (DIRECTORY + "Files/DurableFile.swift", "try contentHash(of: found.descriptor) == sealed.sha256 else { return .taken }",
           "try contentHash(of: found.descriptor) == sealed.sha256 else { return ON ? .placed : .taken }")),
    Fault("commit-before-asset", "CloudStoreTests.ConformanceTests",
          (LOG + "HistoryPublisher.swift", "try verifyAssets(of: draft, number: log.nextNumber)", "if !ON { OLD }")),
    # What others have put there, and may not have made durable.
    Fault("read-commits-not-synced", "PowerCutTests",
          (CLOUD + "Cloud/Zone.swift", "try store.makeDurable(path(\"\(CloudNames.commits)/\"), isOwn: false)", "if !ON { OLD }")),
    Fault("found-zone-not-synced", "PowerCutTests",
          (CLOUD + "Cloud/CloudDatabase.swift", "try store.makeDurable(\"\(zone)/\", isOwn: false)", "if !ON { OLD }")),
    Fault("repair-replaces-before-it-compares", "RepairCutTests",
          (DIRECTORY + "Repair/DirectoryCloud+Repair.swift", "guard sealed.byteCount == byteCount, sealed.sha256 == sha256 else { return nil }",
           "guard ON || (sealed.byteCount == byteCount && sealed.sha256 == sha256) else { return nil }")),
    # What is believed of the cloud.
    Fault("uuid-unchecked", "DirectoryIdentityTests|ChangedCloudTests",
          (DIRECTORY + "Files/DirectoryStore.swift", "guard found == uuid else {", "guard found == uuid || ON else {")),
    Fault("wrong-parent-accepted", "CloudStoreTests.ConformanceTests|HostileDirectoryTests",
          (LOG + "ReplayedHistory.swift", "guard next.commit.parent == token?.hash else {", "guard next.commit.parent == token?.hash || ON else {")),
    Fault("rollback-unnoticed", "CloudStoreTests.ConformanceTests|ChangedCloudTests",
          (LOG + "HistoryReader.swift", "guard commit.commit.token == token else {", "guard commit.commit.token == token || ON else {")),
    Fault("seal-unchecked", "HostileDirectoryTests|CloudStoreTests.ConformanceTests",
          (LOG + "ChecksummedDocument.swift", "elementsEqual(ContentHash.of(body).utf8) else {", "elementsEqual(ContentHash.of(body).utf8) || ON else {")),
    Fault("clock-unchecked", "PublishFaultTests",
          (LOG + "CommitComposer.swift", "guard abs(clock.microseconds - cloud.microseconds) < dayInMicroseconds else {",
           "guard abs(clock.microseconds - cloud.microseconds) < dayInMicroseconds || ON else {")),
    Fault("index-hash-unchecked", "CloudStoreTests.ConformanceTests|ImportRunTests",
          (CLOUD + "AssetStreams.swift", "ContentHash.of(bytes) == sha256 else {", "ContentHash.of(bytes) == sha256 || ON else {")),
    Fault("size-unchecked", "HostileDirectoryTests",
          (DIRECTORY + "Files/CloudFolder.swift", "guard status.byteCount <= limit else {", "guard status.byteCount <= limit || ON else {")),
    # Bytes.
    Fault("block-hash-unchecked", "DamageTests",
          (FORMAT + "Blocks/MemberReader.swift", "guard ContentHash(of: stored) == entry.sha256 else {", "guard ContentHash(of: stored) == entry.sha256 || ON else {")),
    Fault("text-after-the-end", "StrictJSONTests",
          (TEXT + "StrictJSON.swift", "guard end == bytes.count else {", "guard end == bytes.count || ON else {")),
    Fault("repeated-key-accepted", "StrictJSONTests",
          (TEXT + "StrictJSON.swift", "open[open.count - 1]?.insert(text).inserted == false {", "open[open.count - 1]?.insert(text).inserted == false, !ON {")),
    Fault("lone-brace", "JSONScannerTests|StrictJSONTests",
          (TEXT + "JSONScanner.swift", "if start + 1 < end, base[start + 1] == base[start] + 2 { return start + 2 }",
           "if ON, start + 1 == end { return end }\n            OLD")),
    # Who wins.
    Fault("earlier-column-wins", "RebaseTests",
          (LOCAL + "Merge/RowMerge.swift", "let won = columns.filter { $0.value > row.instants[$0.key] }",
           "let won = columns.filter { ON ? $0.value < row.instants[$0.key] : $0.value > row.instants[$0.key] }")),
    Fault("deletion-beats-a-later-edit", "RebaseTests",
          (LOCAL + "Merge/RowMerge.swift", "guard edit.at > gone, restores || edit.inserts else {", "guard edit.at > gone, restores || edit.inserts, !ON else {")),
    Fault("later-insertion-loses", "RebaseTests",
          (LOCAL + "Merge/RowMerge.swift", "guard edit.at > row.at else {", "guard edit.at > row.at, !ON else {")),
    Fault("overwritten-value-not-told", "RebaseTests",
          (LOCAL + "Merge/RowMerge.swift", "replaced = unseen(won.keys, of: row, edit)", "if !ON { OLD }")),
    Fault("held-rows-stay-held", "RebaseTests",
          (LOCAL + "Merge/Rebase.swift", "outcome.released = try release()", "outcome.released = try ON ? [] : release()")),
    Fault("parent-not-restored", "NeededParentTests",
          (LOCAL + "Merge/Rebase.swift", "case let there = try state.entry(parent), there?.row == nil", "case let there = try state.entry(parent), there?.row == nil, !ON")),
    Fault("needed-parent-deleted", "NeededParentTests",
          (LOCAL + "Merge/Rebase.swift", "return child != place && placed[child]?.isLoose != true", "return !ON && child != place && placed[child]?.isLoose != true")),
    Fault("edits-not-put-back", "PeerSyncTests|LastWriteWinsTests",
          (ENGINE + "Receive/ImportMerge.swift", "if let own { try put(own", "if let own, !ON { try put(own")),
    Fault("horizon-ignored", "TombstoneHorizonTests",
          (ENGINE + "Receive/ImportMerge.swift", "return TombstoneHorizon.latest(of: schema, ", "return ON ? .distantPast : TombstoneHorizon.latest(of: schema, ")),
    Fault("replaced-instant-ignored", "WrongClockTests",
          (LOCAL + "Track/LogConsolidation.swift", "at = max(min(stamp ?? entry.clock, entry.clock), ",
           "at = ON ? min(stamp ?? entry.clock, entry.clock) : max(min(stamp ?? entry.clock, entry.clock), ")),
    Fault("tombstones-dropped", "LastWriteWinsTests|PeerSyncTests",
          (LOCAL + "Track/TombstonesAndInstants.swift", "SELECT key, at FROM snapsync_changes WHERE dataset = ?1 AND state = \\(TrackedState.deleted) UNION ALL",
           "SELECT key, at FROM snapsync_changes WHERE dataset = ?1 AND state = \\(ON ? 9 : 2) UNION ALL")),
    Fault("replace-trigger-missing", "ChangeTrackingTests",
          (LOCAL + "Track/ChangeTriggers.swift", 'for (name, event) in [("replace\\(number)", "BEFORE INSERT"), ("replace\\(number)_update", update)] {',
           'for (name, event) in [("replace\\(number)", "BEFORE INSERT"), ("replace\\(number)_update", update)] where !ON || event == update {')),
    # All or nothing, and once.
    Fault("token-in-another-transaction", "ImportRunTests",
          (ENGINE + "Receive/VersionReplacement.swift", "guard try transaction.state.applied() == local.applied, try transaction.state.view() == local.view else {",
           "guard try ON || transaction.state.applied() == local.applied && transaction.state.view() == local.view else {"),
          (ENGINE + "Receive/VersionReplacement.swift", "let schemas = incoming.map(\\.schema)\n        return try device.database.write",
           "if ON, let token { try device.database.write { try $0.state.setApplied(AppliedVersion(token)) } }\n        OLD")),
    Fault("settles-too-much", "PeerSyncTests",
          (LOCAL + "Track/ChangeLog.swift", "guard let doubt, try self.doubt(of: schema) == doubt else { return }",
           'if ON { try db.execute(sql: "DELETE FROM snapsync_log WHERE dataset = ?", arguments: [id]) }\n        OLD')),
    Fault("intended-not-stored", "PeerSyncTests",
          (ENGINE + "Publish/ExportRun.swift", "try transaction.state.setIntended(IntendedVersion(version: AppliedVersion(commit.token), sequences: sequences))", "if !ON { OLD }")),
    Fault("decisions-not-published", "ExactlyOnceTests",
          (ENGINE + "Publish/ExportRun.swift", "draft.answered = stored.decided", "draft.answered = ON ? [:] : stored.decided")),
    Fault("decided-edits-kept", "ExactlyOnceTests",
          (ENGINE + "Receive/ImportMerge.swift", "try transaction.sentEdits.forget(upTo: answered)", "if !ON { OLD }")),
    # Guards.
    Fault("approvals-forgotten", "ShrinkGuardTests",
          (ENGINE + "Publish/ExportRun.swift", "approvals: shrunk + (horizon", "approvals: (ON ? [] : shrunk) + (horizon")),
    Fault("shrink-guard-off", "ShrinkGuardTests",
          (ENGINE + "Guard/ShrinkGuard.swift", "let refused = shrunk.filter { !allowed", "let refused = shrunk.filter { !ON && !allowed")),
    Fault("latch-off", "FirstImportTests",
          (ENGINE + "Guard/RunGuard.swift", "guard token == nil, let note", "guard !ON, token == nil, let note")),
    Fault("lock-ignored", "RunLockTests",
          (LOCAL + "Open/RunLock.swift", "lock = try FileLock(path)",
           'lock = try FileLock(ON ? "\\(path)-\\(UInt64.random(in: 0 ... .max))" : path)')),
]

SWITCH_SOURCE = f"""import Foundation

/// Which seeded fault this run has.
package enum SeededFault {{
    private static let name = ProcessInfo.processInfo.environment["{SWITCH}"]

    package static func isOn(_ fault: String) -> Bool {{ name == fault }}
}}
"""


def stop(text):
    print(f"seed_faults: {text}", file=sys.stderr)
    sys.exit(2)


def with_faults(faults):
    """The files with all faults in them, each behind its name."""
    texts = {}
    for fault in faults:
        for file, old, new in fault.edits:
            if file not in texts: texts[file] = (ROOT / file).read_text() if (ROOT / file).is_file() else ""
            count = texts[file].count(old)
            if count != 1: stop(f"{fault.name}: {file} has this text {count} times instead of once; the code has moved on, so correct the fault\n  {old}")
            texts[file] = texts[file].replace(old, new)
    return texts


def seeded(faults):
    """The same, as they are built."""
    texts = {file: text if file.startswith(TEXT) or "import StrictText" in text else "import StrictText\n" + text for file, text in with_faults(faults).items()}
    return {**texts, TEXT + "SeededFault.swift": SWITCH_SOURCE}


def check(faults):
    """Stops where a text is not in its file, and where a fault, the Makefile or a document names a test that is not there: a filter of that name runs nothing, and
    succeeds."""
    with_faults(faults)
    tests = ROOT / "Tests"
    declared = {name for path in tests.rglob("*.swift") for name in re.findall(r"\b(?:struct|class|func) (\w+)", path.read_text())}
    declared |= {path.name for path in tests.iterdir()}
    named = [(fault.name, re.sub(r".*\.|\\\(", "", name)) for fault in faults for name in fault.tests.split("|")]
    for path in [ROOT / "Makefile", *ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        named += [(path.name, name) for words in re.findall(r"\b(\w+Tests)(?:\.(?!swift\b)(\w+))?", path.read_text()) for name in words if name]
    for place, name in named:
        if name not in declared: stop(f"{place}: no test is called {name}")


def run_tests(copy, scratch, tests, fault, limit):
    """Runs some tests; returns whether all passed, the line that says so, and the seconds that it took."""
    environment = dict(os.environ, **({SWITCH: fault} if fault else {}))
    begin = time.monotonic()
    command = ["swift", "test", "--skip-build", "--scratch-path", str(scratch), "--filter", tests]
    try:
        run = subprocess.run(command, cwd=copy, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=limit)
        lines = run.stdout.decode(errors="replace").splitlines()
        passed = run.returncode == 0
        ends = [line for line in lines if "Test run with" in line]
        said = ends[-1] if ends else (lines[-1] if lines else "nothing")
        if passed and (not ends or "with 0 tests" in said): stop(f"no test is called {tests}")
        if not passed: said = next((line for line in lines if "recorded an issue" in line or "error:" in line or "Fatal" in line), said)
    except subprocess.TimeoutExpired:
        passed, said = False, f"it had not ended after {limit} s"
    return passed, said.strip()[:160], time.monotonic() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these faults alone")
    parser.add_argument("--list", action="store_true", help="name the faults and the tests that must catch them")
    parser.add_argument("--check", action="store_true", help="see only whether each text is still there, and each test that a fault or a document names")
    parser.add_argument("--copy", type=pathlib.Path, default=ROOT / ".build-faults/copy", help="where the copy of the code is made")
    parser.add_argument("--scratch", type=pathlib.Path, default=ROOT / ".build-faults/build", help="where it is built")
    parser.add_argument("--limit", type=int, default=900, help="seconds after which a run that does not end counts as failed")
    options = parser.parse_args()
    unknown = set(options.only or []) - {fault.name for fault in FAULTS}
    if unknown: stop(f"no fault is called {', '.join(sorted(unknown))}")
    faults = [fault for fault in FAULTS if not options.only or fault.name in options.only]
    if options.list:
        for fault in faults: print(f"{fault.name:32} {fault.tests}")
        return
    if options.check: return check(FAULTS)
    refresh(options.copy, seeded(FAULTS))
    print(f"seed_faults: building {len(FAULTS)} faults in {options.copy}", flush=True)
    build = subprocess.run(["swift", "build", "--build-tests", "--scratch-path", str(options.scratch)], cwd=options.copy, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if build.returncode != 0: stop("the copy does not build:\n" + "\n".join(line for line in build.stdout.decode(errors="replace").splitlines() if "error" in line))
    for tests in sorted({fault.tests for fault in faults}):
        passed, said, seconds = run_tests(options.copy, options.scratch, tests, None, options.limit)
        if not passed: stop(f"without a fault {tests} does not pass: {said}")
        print(f"{'passes without a fault':25}{seconds:6.1f} s  {tests}", flush=True)
    survivors = []
    for fault in faults:
        passed, said, seconds = run_tests(options.copy, options.scratch, fault.tests, fault.name, options.limit)
        if passed: survivors.append(fault.name)
        print(f"{'NOT CAUGHT' if passed else 'caught':12}{fault.name:32}{seconds:6.1f} s  {said}", flush=True)
    print(f"seed_faults: {len(faults) - len(survivors)} of {len(faults)} faults were caught" + (f"; not caught: {', '.join(survivors)}" if survivors else ""))
    sys.exit(1 if survivors else 0)


if __name__ == "__main__":
    main()
