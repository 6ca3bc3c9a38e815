import CloudStore
import DirectoryCloud
import SnapshotModel
import StrictText
import TestSupport
import Testing

@testable import SnapshotTools
@testable import SnapshotVersions

/// What the doctor's checks make of facts that no test can provoke on the disk at hand.
@Suite struct DoctorTests {
    private func probe(nameless: Bool = true, links: Bool = true, rename: Bool = true, failure: String? = nil, sensitive: Bool = true) -> DirectoryProbe {
        DirectoryProbe(
            hasNamelessFiles: nameless, hasHardLinks: links, hasExclusiveRename: rename, synchronizeFailure: failure, isCaseSensitive: sensitive,
            clock: Instant(microseconds: 0))
    }

    @Test func oneWayOfPlacingIsEnoughAndNoneIsAnError() {
        #expect(DirectoryChecks.placement(probe()).severity == .ok)
        for one in [probe(nameless: false), probe(nameless: false, links: false), probe(nameless: false, rename: false)] {
            #expect(DirectoryChecks.placement(one).severity == .notice)
        }
        #expect(DirectoryChecks.placement(probe(nameless: false, links: false)).found.contains("lacks files without a name, hard links"))
        let none = DirectoryChecks.placement(probe(nameless: false, links: false, rename: false))
        #expect(none.severity == .error && none.code == SyncError.Code.inputOutput.name)
    }

    @Test func failedFsyncIsAnErrorAndOneCaseANotice() {
        #expect(DirectoryChecks.durability(probe()).severity == .ok && DirectoryChecks.letterCase(probe()).severity == .ok)
        let failed = DirectoryChecks.durability(probe(failure: "Input/output error"))
        #expect(failed.severity == .error && failed.found == "fsync fails: Input/output error")
        #expect(DirectoryChecks.letterCase(probe(sensitive: false)).severity == .notice)
    }

    @Test(arguments: [(0, "ok"), (59, "ok"), (60, "warning"), (86_399, "warning"), (86_400, "error")])
    func clockMayBeAMinuteOff(seconds: Int64, severity: String) {
        let clock = Instant(microseconds: 1_700_000_000_000_000)
        for sign in [1, -1] as [Int64] {
            let finding = DirectoryChecks.clock(clock, now: clock.advanced(byMicroseconds: sign * seconds * 1_000_000))
            #expect(finding.severity.rawValue == severity)
            if severity != "ok" { #expect(finding.found.contains(sign > 0 ? "ahead of" : "behind") && finding.code == SyncError.Code.refused.name) }
        }
    }

    @Test func worstFindingDecides() {
        func report(_ codes: SyncError.Code...) -> DoctorReport {
            DoctorReport(
                database: nil, cloud: "c", zone: "z",
                findings: [.ok("a", "b"), .notice("a", "b", means: "c")] + codes.map { .warning("a", code: $0, "b", means: "c", do: nil) })
        }
        #expect(report().worst == nil)
        #expect(report(.tryAgainLater).worstCode == .tryAgainLater)
        #expect(report(.tryAgainLater, .refused).worstCode == .refused)
        #expect(report(.refused, .inputOutput, .tryAgainLater).worstCode == .inputOutput)
        #expect(report(.cloudUnavailable, .dataRefused, .nothingThere).worstCode == .dataRefused)
        #expect(report(.permissionDenied, .nothingThere, .cloudUnavailable).worstCode == .cloudUnavailable)
    }

    /// A device counts as lost where it is behind and has said nothing for more than seven days; a quiet one that is not behind does not.
    @Test func silenceCountsOnlyWhereADeviceIsBehind() async throws {
        let scene = try await DeviceScene()
        try await scene.add("one", .peer, DeviceScene.bucket("a"), madeZone: true)
        try await scene.add("two", .reader)
        try await scene.export("one")
        try await scene.importNewest("two")
        func finding(after days: Int64) async throws -> DoctorReport.Finding? {
            let now = scene.clock.now().advanced(byMicroseconds: days * 86_400_000_000)
            return ZoneChecks.devices(try await ZoneSurvey(scene.cloud, scene.zone, context: nil, applied: nil, now: now), own: "one", now: now).first
        }
        #expect(try await finding(after: 100)?.severity == .ok)
        try scene.run("one", "UPDATE buckets SET name = 'x'")
        try await scene.export("one")
        #expect(try await finding(after: 6)?.severity == .notice)
        #expect(try await finding(after: 8)?.severity == .warning)
    }

    /// A backend that is no directory is looked at as far as it can be.
    @Test func cloudInMemoryHasNoDirectoryToLookAt() async throws {
        let scene = try await DeviceScene()
        try await scene.publish("one", .peer, DeviceScene.bucket("a"), madeZone: true)
        let report = try await scene.engine("one").doctor()
        #expect(report.findings.allSatisfy { $0.severity <= .notice }, "\(report.findings)")
        #expect(!report.findings.contains { $0.id == "fileSystem" } && report.findings.contains { $0.id == "assets" })
    }
}
