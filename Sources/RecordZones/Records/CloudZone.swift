public import CloudStore
public import StrictText

/// One zone of a cloud as one device uses it. Records are saved, fetched and queried by CloudKit's rules.
///
///     let zone = CloudZone(.standard, of: cloud, as: "phone")
///     var food = try await zone.record("food-7")
///     food.fields["name"] = .string("Rye bread")
///     food = try await zone.save(food)
///
/// Works on every ``CloudDatabase``. The actor caches what it has read and reads what is new at each call, so no answer is older than the
/// call. It refuses a zone that was restored to an older state (`rolledBack`). Throws ``CloudError``, or `CancellationError` if its task is
/// cancelled.
public actor CloudZone {
    /// The zone's scope and name.
    public nonisolated let id: ZoneID
    /// The device in whose name commits are made.
    public nonisolated let device: String
    nonisolated let cloud: CloudDatabase
    nonisolated let now: @Sendable () -> Instant
    nonisolated let clock: any Clock<Duration>
    nonisolated let retry: RetryPolicy
    private var view: ZoneView?
    private var isModifying = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    /// Makes a handle. Nothing is read or written yet.
    ///
    /// - Parameter now: the device's wall clock, for the commits' times.
    /// - Parameter clock: the clock for the waits between attempts.
    public init(
        _ id: ZoneID, of cloud: CloudDatabase, as device: String, retry: RetryPolicy = RetryPolicy(),
        now: @escaping @Sendable () -> Instant = { .now }, clock: any Clock<Duration> = ContinuousClock()
    ) {
        self.id = id
        self.device = device
        self.cloud = cloud
        self.retry = retry
        self.now = now
        self.clock = clock
    }

    /// Returns the zone's present state. Reads only what is new, or the whole zone if the last commit read was pruned.
    func refreshed() async throws -> ZoneView {
        try await advanced().view
    }

    /// Returns the zone's present state and the records that each new commit saved, with their creation events. The dictionary is empty
    /// after reading the whole zone.
    func advanced() async throws -> (view: ZoneView, saved: [Int: [CloudRecord]]) {
        while true {
            guard let token = view?.token else {
                return (keepNewer(ZoneView(try await cloud.records(in: id))), [:])
            }
            do {
                let changes = try await cloud.changes(since: token, in: id)
                // Another call may have read further while this one waited. Do not reset its view to an older one.
                guard view?.token == token else { continue }
                var saved: [Int: [CloudRecord]] = [:]
                // In place: another reference to the view would make the first change copy all records.
                for commit in changes.commits { saved[commit.token.number] = view?.apply(commit) }
                guard let view else { continue }
                return (view, saved)
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

    /// Runs modifications one after the other: two concurrent ones on one handle would only lose races to each other.
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

/// A zone's live records as one device has read them, with the metadata that follows from the order of the commits.
struct ZoneView: Sendable {
    private(set) var records: RecordTable
    /// The last commit that was read; nil before the first.
    private(set) var token: ChangeToken?

    /// Makes the view of a zone that was read completely.
    init(_ state: ZoneState) {
        records = RecordTable(state.records)
        token = state.token
    }

    /// Applies the next commit. Returns the records that it saved, with their creation events.
    @discardableResult
    mutating func apply(_ commit: Commit) -> [CloudRecord] {
        for record in commit.saved { records.save(record) }
        let saved = commit.saved.compactMap { records[$0.name] }
        for name in commit.deleted { records[name] = nil }
        token = commit.token
        return saved
    }

    /// The number that the next commit must have.
    var nextNumber: Int { (token?.number ?? 0) + 1 }
}
