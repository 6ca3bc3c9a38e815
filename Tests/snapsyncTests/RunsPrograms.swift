import Foundation
import Platform
import SnapshotVersions
import Testing

/// The tests of a suite run programs and wait for them: each on a thread of its own, a few at a time.
///
/// All other tests share a thread for each processor. On one of those, a test that waits leaves a processor without work. A suite whose programs
/// run for a minute does without it and calls ``ProgramRun/long(_:_:in:)``, so that it begins with the first tests.
struct RunsPrograms: SuiteTrait, TestTrait, TestScoping {
    let isRecursive = true

    private static let turns = Turns(limit: ProcessInfo.processInfo.activeProcessorCount + 2)

    func provideScope(for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void) async throws {
        try await Self.turns.take()
        defer { Self.turns.give() }
        try await WorkerThreads.host(function)
    }
}

extension Trait where Self == RunsPrograms {
    static var runsPrograms: Self { Self() }
}
