import CloudStore
import CommitLog
import StrictText
import Synchronization

/// A memory cloud whose publishing is interfered with, attempt by attempt.
final class InterferingCloud: CloudDatabaseDecorator {
    enum Interference { case none, otherPublishesFirst, answerLost, failsBefore }

    let memory = MemoryCloudDatabase(container: "iCloud.org.example.test")
    var wrapped: any CloudDatabase { memory }
    private let script: Mutex<[Interference]>
    private let attempts = Mutex(0)
    private let lostAnswer: CloudError.Code

    /// - Parameters:
    ///   - script: what happens at each call of `publish`; nothing after its end.
    ///   - lostAnswer: how the backend names an unknown outcome.
    init(_ script: [Interference], lostAnswer: CloudError.Code = .inputOutput) {
        self.script = Mutex(script)
        self.lostAnswer = lostAnswer
    }

    var publishCount: Int { attempts.withLock { $0 } }

    func publish(_ commit: PreparedCommit) async throws -> ChangeToken {
        attempts.withLock { $0 += 1 }
        switch script.withLock({ $0.isEmpty ? .none : $0.removeFirst() }) {
        case .none: break
        case .otherPublishesFirst:
            let token = try await memory.records(in: commit.zone).token
            let other = CloudRecord(type: "Item", name: "other", fields: ["at": .integer(Int64(commit.token.number))])
            let draft = CommitDraft(device: "writer", saving: [other], clock: .now)
            _ = try await memory.publish(try await memory.prepare(draft, after: token, in: commit.zone))
        case .answerLost:
            _ = try await memory.publish(commit)
            throw CloudError(lostAnswer, at: "cloud", "the answer was lost", isRetryable: true)
        case .failsBefore: throw CloudError(.inputOutput, at: "cloud", "the request was lost", isRetryable: true)
        }
        return try await memory.publish(commit)
    }
}

/// A clock that waits no time and adds up how long it was asked to.
final class CountingClock: Clock, Sendable {
    typealias Instant = ContinuousClock.Instant
    private let state = Mutex<(waits: [Duration], now: Instant)>(([], .now))

    var waits: [Duration] { state.withLock { $0.waits } }
    var now: Instant { state.withLock { $0.now } }
    var minimumResolution: Duration { .nanoseconds(1) }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        try Task.checkCancellation()
        state.withLock { state in
            state.waits.append(state.now.duration(to: deadline))
            state.now = max(state.now, deadline)
        }
    }
}
