import CloudStore
import CommitLog
import Synchronization

/// A memory cloud that takes only so many records at once, and lets a test look, wait or break in at any publication or read.
final class SharingCloud: CloudDatabaseDecorator {
    let wrapped: any CloudDatabase
    private let beforePublish = Mutex<(@Sendable (_ number: Int) async throws -> Void)?>(nil)
    private let beforeRead = Mutex<(@Sendable () async throws -> Void)?>(nil)
    private let published = Mutex(0)

    init(itemsPerRequest: Int? = nil) {
        wrapped = LimitedCloudDatabase(wrapping: MemoryCloudDatabase(), limits: CloudLimits(itemsPerRequest: itemsPerRequest))
    }

    /// What happens before each commit is put in place; its number counts from 1, with each call anew.
    func beforeEachPublish(_ body: (@Sendable (_ number: Int) async throws -> Void)?) {
        published.withLock { $0 = 0 }
        beforePublish.withLock { $0 = body }
    }

    /// What happens before each look at the zone.
    func beforeEachRead(_ body: (@Sendable () async throws -> Void)?) { beforeRead.withLock { $0 = body } }

    func publish(_ commit: PreparedCommit) async throws -> ChangeToken {
        let number = published.withLock { count in
            count += 1
            return count
        }
        try await beforePublish.withLock(\.self)?(number)
        return try await wrapped.publish(commit)
    }

    func records(in zone: ZoneID, at number: Int?, notBefore token: ChangeToken?) async throws -> ZoneState {
        try await beforeRead.withLock(\.self)?()
        return try await wrapped.records(in: zone, at: number, notBefore: token)
    }

    func changes(since token: ChangeToken?, in zone: ZoneID) async throws -> ZoneChanges {
        try await beforeRead.withLock(\.self)?()
        return try await wrapped.changes(since: token, in: zone)
    }

    /// The names of all records, by type.
    func names() async throws -> [String: [String]] {
        Dictionary(grouping: try await wrapped.records(in: ZoneID("Shared", scope: .public)).records, by: \.type).mapValues { $0.map(\.name) }
    }

    /// How many commits there are.
    func commitCount() async throws -> Int { try await wrapped.history(in: ZoneID("Shared", scope: .public)).count }
}

/// Holds those who wait until it is opened.
final class Gate: Sendable {
    private let state = Mutex<(isOpen: Bool, waiting: [CheckedContinuation<Void, Never>])>((false, []))

    func wait() async {
        await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state in
                if !state.isOpen { state.waiting.append(continuation) }
                return state.isOpen
            }
            if isOpen { continuation.resume() }
        }
    }

    func open() {
        let waiting = state.withLock { state in
            state.isOpen = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }
}
