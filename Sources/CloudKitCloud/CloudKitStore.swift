import CloudStore
import Foundation
import StrictText
import Synchronization

/// CloudKit as a store of objects: each object is a record that is saved only once, and only if no record has its name.
///
/// Requests that may be repeated are retried, with growing pauses or after the time that CloudKit asks for. If the outcome of a save is
/// unknown, the store fetches the record.
final class CloudKitStore: ObjectStore {
    let place = "iCloud"
    private let privateDatabase: any CloudKitDatabase
    private let publicDatabase: (any CloudKitDatabase)?
    private let retry: RetryPolicy
    /// How often a request is retried, and after which pauses.
    static let standardRetry = RetryPolicy(attempts: 6, firstDelay: .milliseconds(200), longestDelay: .seconds(10))
    private let nonces: NonceSource
    private let now: @Sendable () -> Instant
    private let listings = CloudKitListings()
    let pushes = ZonePushes()
    /// The server's clock minus this machine's, in microseconds; nil before the server has saved a record.
    private let clockOffset = Mutex<Int64?>(nil)
    private let listsByQuery: Bool

    /// - Parameter listsByQuery: whether private zones are listed by queries too, as public ones are.
    init(
        _ database: any CloudKitDatabase, public publicDatabase: (any CloudKitDatabase)?, retry: RetryPolicy, nonces: NonceSource,
        now: @escaping @Sendable () -> Instant, listsByQuery: Bool = false
    ) {
        privateDatabase = database
        self.publicDatabase = publicDatabase
        self.retry = retry
        self.nonces = nonces
        self.now = now
        self.listsByQuery = listsByQuery
    }

    func markerPath(of scope: CloudScope) -> String { scope == .public ? "\(scope.rawValue)/\(CloudMarker.fileName)" : CloudMarker.fileName }

    private func database(_ scope: CloudScope) throws(CloudError) -> any CloudKitDatabase {
        guard scope == .public else { return privateDatabase }
        guard let publicDatabase else {
            throw CloudError(
                .invalidArguments, at: scope.rawValue, "this location was opened without a public database", hint: "pass the container's public database, too")
        }
        return publicDatabase
    }

    // MARK: account and events

    /// The state of the user's account, as CloudKit reports it.
    func accountStatus() async -> AccountStatus? {
        do { return try await privateDatabase.accountStatus() } catch { return .couldNotDetermine }
    }

    /// Reports the pushes that the application passes on. Apple does not guarantee pushes, so callers must poll as well.
    func events(in zone: ZoneID, _ handler: @escaping @Sendable (ZoneHint) -> Void) -> (any ZoneEventSource)? { pushes.listen(to: zone, handler) }

    // MARK: reading

    func get(_ path: String, limit: Int) throws(CloudError) -> [UInt8]? { try content(path, limit: limit).map { [UInt8]($0) } }

    /// Returns the bytes of an object; nil if there is no such object.
    func content(_ path: String, limit: Int) throws(CloudError) -> Data? {
        guard let record = try record(path, nil) else { return nil }
        let size = try record.byteCount(at: path)
        guard size <= limit else {
            throw CloudError(.limitExceeded, at: path, "\(size) bytes, of which at most \(limit) are read", hint: "the record is none of this location")
        }
        return try record.content(at: path)
    }

    func size(of path: String) throws(CloudError) -> Int? { try record(path, [CloudKitFile.size])?.byteCount(at: path) }

    private func record(_ path: String, _ keys: [String]?) throws(CloudError) -> CloudKitRecord? {
        let place = CloudKitPlace(path), database = try database(place.scope)
        do throws(CloudKitError) {
            return try repeating { () async throws(CloudKitError) in try await database.records([place.name], in: place.zone, desiredKeys: keys) }
                .first { $0.name == place.name }
        } catch {
            let error = error.cause(of: place.name)
            if [.unknownItem, .zoneNotFound].contains(error.code) { return nil }
            throw error.cloudError(at: path)
        }
    }

    func list(_ prefix: String, first: Int?) throws(CloudError) -> [StoredObject] {
        let place = CloudKitPlace(prefix), whole = prefix.dropLast(place.name.count), database = try database(place.scope)
        var found: [StoredObject]
        do throws(CloudKitError) {
            let records: [CloudKitListings.Listed]
            if let zone = place.zone, !listsByQuery {
                records = try listings.records(of: zone) { (token) throws(CloudKitError) in
                    try repeating { () async throws(CloudKitError) in try await database.changes(in: zone, since: token, desiredKeys: [CloudKitFile.size]) }
                }
            } else {
                records = try queried(place, place.name, in: database)
            }
            found = records.filter { $0.name.exact.hasPrefix(place.name) }.map {
                StoredObject(path: whole + $0.name, byteCount: $0.byteCount, modified: $0.modified)
            }
        } catch {
            if error.code == .zoneNotFound { return [] }
            throw error.cloudError(at: prefix)
        }
        if place.zone == nil || listsByQuery, prefix.exact.hasSuffix("/\(CloudNames.commits)/") { try probe(prefix, &found) }
        found.sort { $0.path.utf8.lexicographicallyPrecedes($1.path.utf8) }
        return first.map { Array(found.prefix($0)) } ?? found
    }

    private func queried(_ place: CloudKitPlace, _ folder: String, in database: any CloudKitDatabase) throws(CloudKitError) -> [CloudKitListings.Listed] {
        let query = CloudKitQuery(type: CloudKitFile.type, field: CloudKitFile.folder, prefix: folder)
        var found: [CloudKitListings.Listed] = [], cursor: Data?
        repeat {
            let begin = cursor
            let page = try repeating { () async throws(CloudKitError) in
                try await database.records(matching: query, in: place.zone, after: begin, desiredKeys: [CloudKitFile.size])
            }
            found += page.records.compactMap(CloudKitListings.Listed.init)
            cursor = page.cursor
        } while cursor != nil
        return found
    }

    /// Adds commits that are missing in the listing because CloudKit's indexes lag behind. Commits have consecutive numbers, so the
    /// following ones are fetched by name.
    private func probe(_ folder: String, _ found: inout [StoredObject]) throws(CloudError) {
        var number = found.compactMap { CloudNames.number(ofFile: String($0.path.dropFirst(folder.count))) }.max() ?? 0
        while true {
            number += 1
            let path = "\(folder)\(CloudNames.digits(number)).json"
            guard let record = try record(path, [CloudKitFile.size]), let listed = CloudKitListings.Listed(record) else { return }
            found.append(StoredObject(path: path, byteCount: listed.byteCount, modified: listed.modified))
        }
    }

    func zoneNames(in scope: CloudScope) throws(CloudError) -> [String] {
        guard scope == .public else { return try privateZoneNames() }
        guard let publicDatabase else { return [] }
        let markers = CloudKitPlace("\(scope.rawValue)/\(CloudKitPlace.markers)")
        do throws(CloudKitError) {
            return try queried(markers, CloudKitPlace.markers, in: publicDatabase).compactMap { $0.name.exact.split(separator: "/").first }
        } catch {
            throw error.cloudError(at: scope.rawValue)
        }
    }

    private func privateZoneNames() throws(CloudError) -> [String] {
        let database = privateDatabase
        do throws(CloudKitError) {
            return try repeating { () async throws(CloudKitError) in try await database.zones() }
        } catch {
            throw error.cloudError(at: place)
        }
    }

    // MARK: writing

    func put(_ bytes: [UInt8], as path: String) throws(CloudError) -> Placement {
        guard bytes.count > CloudKitFile.inlineLimit else {
            let content = Data(bytes)
            return try place(CloudKitFile.record(at: CloudKitPlace(path), byteCount: bytes.count, .bytes(content)), at: path, content: content)
        }
        let file = try StagedFile()
        defer { file.remove() }
        do { try Data(bytes).write(to: file.url) } catch { throw StagedFile.failure(error) }
        return try place(CloudKitFile.record(at: CloudKitPlace(path), byteCount: bytes.count, .asset(file.url)), at: path, content: Data(bytes))
    }

    /// Stores an asset's file. Its name contains eight random digits, so a record of this name and size is this one.
    func put(_ file: URL, byteCount: Int, as path: String) throws(CloudError) -> Placement {
        try place(CloudKitFile.record(at: CloudKitPlace(path), byteCount: byteCount, .asset(file)), at: path, content: nil)
    }

    /// Saves a new record if its name is free.
    ///
    /// - Parameter content: the bytes that identify the record if the name is taken; nil compares only the sizes.
    private func place(_ record: CloudKitRecord, at path: String, content: Data?) throws(CloudError) -> Placement {
        let place = CloudKitPlace(path), database = try database(place.scope)
        var mayBeDone = false, last = CloudKitError(.internalError, "no attempt was made")
        for attempt in 1...retry.attempts {
            do throws(CloudKitError) {
                let saved = try AsyncBridge.shared.wait { () async throws(CloudKitError) in
                    try await database.modify(saving: [record], deleting: [], in: place.zone, atomically: false)
                }
                self.record(saved)
                return .placed
            } catch {
                last = error.cause(of: place.name)
            }
            switch last.code {
            case .serverRecordChanged:
                if let found = try standing(record, at: path, content, mayCome: mayBeDone) { return found && !mayBeDone ? .wasThere : found ? .placed : .taken }
                // The record was there and is gone again, so try once more.
                continue
            case .zoneNotFound where place.name == ZoneMarker.fileName && place.zone != nil: try createZone(place)
            case _ where last.isPassing:
                if last.mayHaveBeenDone {
                    mayBeDone = true
                    if let found = try standing(record, at: path, content, mayCome: true) { return found ? .placed : .taken }
                }
                if attempt < retry.attempts { retry.pause(after: attempt, last.retryAfter) }
            default: throw mayBeDone ? .unknownOutcome(at: path, last.description) : last.cloudError(at: path)
            }
        }
        throw mayBeDone ? .unknownOutcome(at: path, last.description) : last.cloudError(at: path)
    }

    /// Whether the existing record is this one; nil if there is none.
    private func standing(_ record: CloudKitRecord, at path: String, _ content: Data?, mayCome: Bool) throws(CloudError) -> Bool? {
        do throws(CloudError) {
            guard let size = try size(of: path) else { return nil }
            guard size == (try record.byteCount(at: path)) else { return false }
            guard let content else { return true }
            return try self.content(path, limit: size).map { $0 == content }
        } catch {
            throw error.isRetryable || mayCome ? .unknownOutcome(at: path, error.reason) : error
        }
    }

    private func createZone(_ place: CloudKitPlace) throws(CloudError) {
        guard let zone = place.zone else { return }
        let database = try database(place.scope)
        do throws(CloudKitError) {
            try repeating { () async throws(CloudKitError) in try await database.createZone(zone) }
        } catch {
            throw error.cloudError(at: zone)
        }
    }

    /// Removes records, up to 400 in one request. In a private zone each request is atomic.
    func remove(_ paths: [String]) throws(CloudError) {
        var rest = paths[...]
        while let first = rest.first {
            let place = CloudKitPlace(first), database = try database(place.scope)
            let part = rest.prefix { CloudKitPlace($0).zone == place.zone && CloudKitPlace($0).scope == place.scope }.prefix(Self.itemsPerRequest)
            var names = part.map { CloudKitPlace($0).name }
            while !names.isEmpty {
                do throws(CloudKitError) {
                    _ = try repeating { [names] () async throws(CloudKitError) in
                        try await database.modify(saving: [], deleting: names, in: place.zone, atomically: place.zone != nil)
                    }
                    break
                } catch {
                    guard ![.unknownItem, .zoneNotFound].contains(error.code) else { break }
                    // One record that is gone already makes an atomic request fail for the others, which are removed without it.
                    let gone = Set(error.partialErrors.filter { $0.value.code == .unknownItem }.keys)
                    let failed = error.partialErrors.filter { ![.unknownItem, .batchRequestFailed].contains($0.value.code) }
                    guard failed.isEmpty, !gone.isDisjoint(with: names) else { throw error.cause(of: failed.keys.min()).cloudError(at: first) }
                    names.removeAll(where: gone.contains)
                }
            }
            rest = rest.dropFirst(part.count)
        }
    }

    private static let itemsPerRequest = 400

    // MARK: assets

    func reader(of asset: CloudAsset, in zone: ZoneID) throws(CloudError) -> any AssetReader { try CloudKitAssetReader(asset, in: zone, of: self) }

    func writer(at path: AssetPath, in zone: ZoneID) -> any AssetWriter { CloudKitAssetWriter(path, in: zone, of: self) }

    // MARK: the clock

    /// The server's clock: known from a record that was saved since the cloud was opened, or else from one that is saved now and deleted
    /// again.
    func clock(in zone: ZoneID) throws(CloudError) -> Instant {
        if clockOffset.withLock({ $0 }) == nil {
            let path = "clock-\(nonces.hex(16))"
            guard try put([], as: path) != .taken else { throw CloudError(.inputOutput, at: path, "a random name is taken", isRetryable: true) }
            if clockOffset.withLock({ $0 }) == nil, let saved = try record(path, [CloudKitFile.size]) { record([saved]) }
            try remove([path])
        }
        return now().advanced(byMicroseconds: clockOffset.withLock { $0 } ?? 0)
    }

    private func record(_ saved: [CloudKitRecord]) {
        guard let time = saved.first?.savedAt else { return }
        clockOffset.withLock { $0 = time.microseconds - now().microseconds }
    }

    /// Sends a request, and repeats it on transient failures. Only for requests that may be repeated.
    private func repeating<T: Sendable>(_ request: @escaping @Sendable () async throws(CloudKitError) -> T) throws(CloudKitError) -> T {
        var attempt = 1
        while true {
            do throws(CloudKitError) {
                return try AsyncBridge.shared.wait(for: request)
            } catch {
                let cause = error.cause(of: nil)
                guard cause.isPassing, attempt < retry.attempts else { throw error }
                retry.pause(after: attempt, cause.retryAfter ?? error.retryAfter)
                attempt += 1
            }
        }
    }
}

/// Caches the content of each private zone and updates it from the zone's changes. The first listing of a zone reads the names of all its
/// records; each later one reads what has changed since.
final class CloudKitListings: Sendable {
    /// An object in a listing.
    struct Listed: Sendable {
        let name: String
        let byteCount: Int
        let modified: Instant

        /// Returns nil for a record that does not belong to this cloud.
        init?(_ record: CloudKitRecord) {
            guard case .integer(let size) = record.fields[CloudKitFile.size], size >= 0, let savedAt = record.savedAt else { return nil }
            name = record.name
            byteCount = Int(size)
            modified = savedAt
        }
    }

    /// A zone's records as of a token.
    private final class Zone: Sendable {
        struct State {
            var records: [String: Listed] = [:]
            var token: Data?
        }

        let state = Mutex(State())
    }

    private let zones = Mutex<[String: Zone]>([:])

    /// Returns the present records of a zone.
    ///
    /// - Parameter changes: fetches the next batch of changes since a token; blocks.
    func records(of name: String, _ changes: (Data?) throws(CloudKitError) -> CloudKitChanges) throws(CloudKitError) -> [Listed] {
        let zone = zones.withLock { zones in
            let zone = zones[name] ?? Zone()
            zones[name] = zone
            return zone
        }
        var state = zone.state.withLock { $0 }, wasReset = false
        while true {
            let batch: CloudKitChanges
            do throws(CloudKitError) { batch = try changes(state.token) } catch {
                // Only an expired token makes the cached records useless. After any other error the next listing continues from them.
                guard error.code == .changeTokenExpired else { throw error }
                state = Zone.State()
                zone.state.withLock { $0 = state }
                guard !wasReset else { throw error }
                wasReset = true
                continue
            }
            for record in batch.changed { state.records[record.name] = Listed(record) }
            for name in batch.deleted { state.records[name] = nil }
            state.token = batch.token
            if !batch.isMoreComing { break }
        }
        // If two listings run at the same time, each result is a state that the zone had, and the next listing continues from its token.
        zone.state.withLock { [state] in $0 = state }
        return Array(state.records.values)
    }
}

/// Lets blocking code wait for asynchronous operations.
///
/// The operations run on two threads of their own. They therefore make progress however many threads wait for them, and need neither the
/// threads of Swift's tasks nor Dispatch's.
final class AsyncBridge: TaskExecutor {
    static let shared = AsyncBridge()

    private let condition = NSCondition()
    // SAFETY: used only under `condition`.
    private nonisolated(unsafe) var jobs: [UnownedJob] = []

    private init() {
        for number in 1...2 {
            let thread = Thread { [unowned self] in while true { next().runSynchronously(on: asUnownedTaskExecutor()) } }
            thread.name = "snapsync.cloudkit.\(number)"
            thread.start()
        }
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        condition.withLock {
            jobs.append(job)
            condition.signal()
        }
    }

    private func next() -> UnownedJob {
        condition.withLock {
            while jobs.isEmpty { condition.wait() }
            return jobs.removeFirst()
        }
    }

    /// Waits for an operation, which must not block itself. The calling thread blocks.
    func wait<T: Sendable>(for operation: @escaping @Sendable () async throws(CloudKitError) -> T) throws(CloudKitError) -> T {
        let done = DispatchSemaphore(value: 0), result = Mutex<Result<T, CloudKitError>?>(nil)
        Task.detached(executorPreference: self) {
            let outcome: Result<T, CloudKitError>
            do throws(CloudKitError) { outcome = .success(try await operation()) } catch { outcome = .failure(error) }
            result.withLock { $0 = outcome }
            done.signal()
        }
        done.wait()
        // The task sets the result before it signals.
        guard let outcome = result.withLock({ $0 }) else { throw CloudKitError(.internalError, "there is no outcome") }
        return try outcome.get()
    }
}
