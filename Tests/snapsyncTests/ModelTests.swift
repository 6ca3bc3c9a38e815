import Foundation
import TestSupport
import Testing

#if os(Linux)
    /// A sample of the random histories of `make model`: the model of the merge (`Tests/Model`) and the built command do the same steps, and every
    /// device has what the model says after each of them.
    @Suite(.serialized) struct ModelTests {
        /// Histories of writers, peers and readers beside the model of the merge.
        @Test func aFewHistoriesMergeAsTheModelDoes() async throws {
            let seed = ProcessInfo.processInfo.environment["SNAPSYNC_TORTURE_SEED"] ?? "1"
            let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            let run = try await ProgramRun.long("python3", ["-B", tests.appendingPathComponent("Model/command.py").path, BuiltCommand.path(), seed, "6"])
            #expect(run.status == 0, "\(run.text)\(run.errorText)")
            #expect(run.text.contains("6 histories"), "\(run.text)")
        }
    }
#endif
