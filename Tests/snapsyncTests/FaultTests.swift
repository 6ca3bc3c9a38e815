import Foundation
import TestSupport
import Testing

#if os(Linux) && arch(x86_64)
    /// The command is killed and its system calls fail at a few points of its runs; `make torture` tries all of them.
    ///
    /// The judges are programs of their own (`Tests/Faults`), which read cloud and databases without this project's code.
    @Suite(.serialized) struct FaultTests {
        private static let scenarios = ["init", "export, snapshot", "import, first", "sync, reader", "sync, peer", "prune"]

        @Test func theJudgesFindWhatIsWrong() async throws {
            try await torture("check_judge.py", [], in: [])
        }

        @Test func aKillAtAnySystemCallLosesNothing() async throws {
            try await torture("kill_everywhere.py", ["--sample", "1"])
        }

        /// In a bucket, and at its requests, too.
        @Test(.enabled(if: BucketServer.isAvailable)) func aKillAtAnySystemCallLosesNothingInABucket() async throws {
            try await torture("kill_bucket.py", ["--sample", "2"], in: ["export, snapshot", "import, chain", "sync, reader", "sync, peer"])
        }

        /// Of the commands that make a sealed zone and change its keys.
        @Test func aKillAtAnySystemCallLeavesASealedZoneItsKeys() async throws {
            try await torture("kill_sealed.py", ["--sample", "1"], in: [])
        }

        /// A bit of any file of a sealed zone.
        @Test func aFlippedBitOfASealedZoneChangesNoRow() async throws {
            try await torture("flip_sealed.py", ["--step", "1999"], in: [])
        }

        /// Of the syncs that carry readers' edits of an application's own tables.
        @Test func aKillAtAnySystemCallBringsEachEditOnce() async throws {
            try await torture("kill_edits.py", ["--sample", "2"], in: [])
        }

        @Test func aFailingSystemCallIsNeverPassedOffAsSuccess() async throws {
            try await torture("fail_everywhere.py", ["--each", "1", "--sample", "1"])
        }

        @Test func aFullDiskIsReportedAndLosesNothing() async throws {
            try await torture("full_disk.py", ["--sample", "2"], in: ["import, first", "sync, writer"])
        }

        private func torture(
            _ script: String, _ sample: [String], in scenarios: [String] = scenarios, at location: SourceLocation = #_sourceLocation
        ) async throws {
            let words = try [Repository.path("Tests/Faults/\(script)"), BuiltCommand.path()] + sample + scenarios.flatMap { ["--only", $0] }
            let run = try await ProgramRun.long("python3", words)
            #expect(run.status == 0, "\(run.text)\(run.errorText)", sourceLocation: location)
        }
    }
#endif
