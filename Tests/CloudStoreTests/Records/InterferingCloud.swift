import CloudStore
import StrictText
import Synchronization

/// A memory cloud whose publishing is interfered with, attempt by attempt.
final class InterferingCloud: CloudDatabase, @unchecked Sendable {
    enum Interference { case none, otherPublishesFirst, answerLost, failsBefore }

    let memory: MemoryCloudDatabase
    private let script: Script

    /// - Parameters:
    ///   - script: what happens at each call of `publish`; nothing after its end.
    ///   - lostAnswer: how the backend names an unknown outcome.
    init(_ script: [Interference], lostAnswer: CloudError.Code = .inputOutput) {
        memory = MemoryCloudDatabase(container: "iCloud.org.example.test")
        self.script = Script(memory, script, lostAnswer)
        super.init(memory, adding: self.script)
    }

    var publishCount: Int { script.attempts.withLock { $0 } }

    private final class Script: CloudLayer {
        let attempts = Mutex(0)
        private let memory: MemoryCloudDatabase
        private let script: Mutex<[Interference]>
        private let lostAnswer: CloudError.Code

        init(_ memory: MemoryCloudDatabase, _ script: [Interference], _ lostAnswer: CloudError.Code) {
            (self.memory, self.lostAnswer) = (memory, lostAnswer)
            self.script = Mutex(script)
        }

        func willCall(_ call: CloudCall, in zone: ZoneID?) async throws {
            guard case .publish(let commit) = call else { return }
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
        }
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
