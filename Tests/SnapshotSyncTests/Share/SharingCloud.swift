import CloudStore
import RecordZones
import Synchronization
import TestSupport

/// A memory cloud that takes only so many records at once, and lets a test look, wait or break in at any publication or read.
final class SharingCloud: CloudDatabase, @unchecked Sendable {
    /// The cloud without the script.
    let wrapped: CloudDatabase
    private let script: Script

    init(itemsPerRequest: Int? = nil) {
        wrapped = MemoryCloudDatabase().limited(to: CloudLimits(itemsPerRequest: itemsPerRequest))
        script = Script()
        super.init(wrapped, adding: script)
    }

    private final class Script: CloudLayer {
        let beforePublish = Mutex<(@Sendable (_ number: Int) async throws -> Void)?>(nil)
        let beforeRead = Mutex<(@Sendable () async throws -> Void)?>(nil)
        let published = Counter()

        func willCall(_ call: CloudCall, in zone: ZoneID?) async throws {
            switch call {
            case .publish:
                let number = published.next()
                try await beforePublish.withLock(\.self)?(number)
            case .records, .changes: try await beforeRead.withLock(\.self)?()
            default: break
            }
        }
    }

    /// What happens before each commit is put in place; its number counts from 1, with each call anew.
    func beforeEachPublish(_ body: (@Sendable (_ number: Int) async throws -> Void)?) {
        script.published.reset()
        script.beforePublish.withLock { $0 = body }
    }

    /// What happens before each look at the zone.
    func beforeEachRead(_ body: (@Sendable () async throws -> Void)?) { script.beforeRead.withLock { $0 = body } }

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
