import Foundation
import SnapshotVersions
import Testing

/// The tests of a suite run programs and wait for them: each on a thread of its own, a few at a time.
///
/// All other tests share a thread for each processor. On one of those, a test that waits leaves a processor without work. A suite whose programs
/// run for a minute does without it and calls ``ProgramRun/long(_:_:in:)``, so that it begins with the first tests.
struct RunsPrograms: SuiteTrait, TestTrait, TestScoping {
    let isRecursive = true

    private static let places = Places()

    func provideScope(for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void) async throws {
        await Self.places.take()
        let result: Result<Void, any Error>
        do { result = .success(try await WorkerThreads.host(function)) } catch { result = .failure(error) }
        await Self.places.send()
        try result.get()
    }
}

/// The places for tests that run programs. A test without one waits.
private actor Places {
    private var freeCount = ProcessInfo.processInfo.activeProcessorCount + 2
    private var waiting: [CheckedContinuation<Void, Never>] = []

    func take() async {
        guard freeCount == 0 else { return freeCount -= 1 }
        await withCheckedContinuation { waiting.append($0) }
    }

    func send() { if waiting.isEmpty { freeCount += 1 } else { waiting.removeFirst().resume() } }
}

extension Trait where Self == RunsPrograms {
    static var runsPrograms: Self { Self() }
}
