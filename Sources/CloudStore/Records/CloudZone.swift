public import StrictText

/// One zone of a cloud as one device uses it: records saved, fetched, queried and watched by CloudKit's rules.
///
///     let zone = CloudZone(.standard, of: cloud, as: "phone")
///     var food = try await zone.record("food-7")
///     food.fields["name"] = .string("Rye bread")
///     food = try await zone.save(food)
///
/// Works on every ``RecordDatabase``. It keeps what it has read in memory and reads on from there, each time anew: nothing that it
/// answers is older than the call, and a zone that was put back to an older state is refused (`rolledBack`). Throws ``CloudError``, or `CancellationError` when its task is cancelled.
public actor CloudZone {
    /// Which zone.
    public nonisolated let id: ZoneID
    /// Under whose name commits are made, and whose changes its subscriptions leave out.
    public nonisolated let device: String
    nonisolated let cloud: any RecordDatabase
    nonisolated let now: @Sendable () -> Instant
    nonisolated let clock: any Clock<Duration>
    nonisolated let retry: RetryPolicy
    private var view: ZoneView?
    private var isModifying = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    /// A handle; nothing is read or written yet.
    ///
    /// - Parameter now: the device's wall clock, for the commits' times.
    /// - Parameter clock: what waits between attempts.
    public init(
        _ id: ZoneID, of cloud: any RecordDatabase, as device: String, retry: RetryPolicy = RetryPolicy(),
        now: @escaping @Sendable () -> Instant = { .now }, clock: any Clock<Duration> = ContinuousClock()
    ) {
        self.id = id
        self.device = device
        self.cloud = cloud
        self.retry = retry
        self.now = now
        self.clock = clock
    }

    /// The zone as it is now: reads on from what was read before, whole where that was pruned.
    func refreshed() async throws -> ZoneView {
        try await advanced().view
    }

    /// The zone as it is now, and the commits that were new, with the records' creation; none after reading it whole.
    func advanced() async throws -> (view: ZoneView, saved: [Int: [CloudRecord]]) {
        while true {
            guard let before = view, let token = before.token else {
                return (keepNewer(ZoneView(try await cloud.records(in: id))), [:])
            }
            do {
                let changes = try await cloud.changes(since: token, in: id)
                // Another call may have read on while this one waited; its view must not be set back.
                guard view?.token == token else { continue }
                var next = before, saved: [Int: [CloudRecord]] = [:]
                for commit in changes.commits { saved[commit.token.number] = next.apply(commit) }
                view = next
                return (next, saved)
            } catch let error as CloudError where error.code == .changeTokenExpired {
                let state = try await cloud.records(in: id, at: nil, notBefore: token)
                return (keepNewer(ZoneView(state)), [:])
            } catch let error as CloudError where error.code == .userDeletedZone || error.code == .zoneNotFound {
                view = nil
                throw error
            }
        }
    }

    private func keepNewer(_ read: ZoneView) -> ZoneView {
        if let view, view.nextNumber > read.nextNumber { return view }
        view = read
        return read
    }

    /// Runs one modification after the other: two of one handle would only race each other.
    func inTurn<T: Sendable>(_ body: () async throws -> T) async throws -> T {
        if isModifying {
            await withCheckedContinuation { waiting.append($0) }
        } else {
            isModifying = true
        }
        defer {
            if waiting.isEmpty { isModifying = false } else { waiting.removeFirst().resume() }
        }
        return try await body()
    }
}
