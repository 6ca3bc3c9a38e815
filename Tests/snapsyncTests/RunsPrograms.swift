import Foundation
import SnapshotVersions
import Synchronization
import Testing

/// The tests of a suite run programs and wait for them: each on a thread of its own, a few at a time.
///
/// All other tests share a thread for each processor. On one of those, a test that waits leaves a processor without work. A suite whose programs
/// run for a minute does without it and calls ``ProgramRun/long(_:_:in:)``, so that it begins with the first tests.
struct RunsPrograms: SuiteTrait, TestTrait, TestScoping {
    let isRecursive = true

    private struct Turns {
        var free = ProcessInfo.processInfo.activeProcessorCount + 2
        /// The tests that wait for their turn, in order of arrival.
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private static let turns = Mutex(Turns())

    func provideScope(for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void) async throws {
        await withCheckedContinuation { turn in
            let isFree = Self.turns.withLock { turns in
                guard turns.free > 0 else {
                    turns.waiting.append(turn)
                    return false
                }
                turns.free -= 1
                return true
            }
            if isFree { turn.resume() }
        }
        defer {
            let next = Self.turns.withLock { turns -> CheckedContinuation<Void, Never>? in
                guard turns.waiting.isEmpty else { return turns.waiting.removeFirst() }
                turns.free += 1
                return nil
            }
            next?.resume()
        }
        try await WorkerThreads.host(function)
    }
}

extension Trait where Self == RunsPrograms {
    static var runsPrograms: Self { Self() }
}
