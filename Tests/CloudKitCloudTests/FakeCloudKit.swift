import CloudStore
import Foundation
import Synchronization

@testable import CloudKitCloud

/// One database of CloudKit in this process, with CloudKit's limits and errors: record zones, records with change tags, assets that become files, changes
/// since a token, queries of an index that may lag.
///
/// `fault` is asked before each request and may change what happens.
final class FakeCloudKit: CloudKitDatabase {
    enum Request: String, Sendable { case account, createZone, zones, records, modify, changes, query }

    /// What goes wrong with one request.
    enum Fault: Sendable {
        /// The request is not done.
        case refused(CloudKitError)
        /// The request is done, and this is the answer all the same.
        case doneBut(CloudKitError)
    }

    struct Limits: Sendable {
        var records = 400, requestBytes = 2_000_000, recordBytes = 1_000_000, assetBytes = 250_000_000
        /// How many records a batch of changes or of a query has.
        var page = 200
    }

    /// A record as the server keeps it; an asset is its bytes.
    struct Stored: Sendable {
        var record: CloudKitRecord
        var asset: Data?
        /// The number of the change that saved it.
        var change: Int
    }

    struct Zone: Sendable {
        var records: [String: Stored] = [:]
        /// The numbers of the changes that deleted records, by name.
        var deleted: [String: Int] = [:]
        /// Tokens of other histories are expired.
        var id = UUID().uuidString
    }

    struct State: Sendable {
        var zones: [String: Zone] = ["": Zone()]
        var change = 0
        var requests: [Request] = []
        var status = AccountStatus.available
        /// Whether the user has deleted the app's data.
        var isPurged = false
        /// How many of the last changes the index for queries does not know yet.
        var indexLag = 0
        var downloads: [URL] = []
        /// How many records each modification had.
        var modified: [Int] = []
    }

    let state = Mutex(State())
    private let isPublic: Bool
    private let limits: Limits
    private let now: @Sendable () -> Date
    private let fault: @Sendable (Request) -> Fault?

    init(
        isPublic: Bool = false, limits: Limits = Limits(), fault: @escaping @Sendable (Request) -> Fault? = { _ in nil },
        now: @escaping @Sendable () -> Date = { Date() }
    ) {
        (self.isPublic, self.limits, self.now, self.fault) = (isPublic, limits, now, fault)
    }

    deinit { for file in state.withLock({ $0.downloads }) { try? FileManager.default.removeItem(at: file) } }

    private func serve<T: Sendable>(_ request: Request, _ body: (inout State) throws(CloudKitError) -> T) throws(CloudKitError) -> T {
        state.withLock { $0.requests.append(request) }
        let fault = fault(request)
        if case .refused(let error) = fault { throw error }
        let result = try state.withLock { (state) throws(CloudKitError) in
            guard state.status == .available || isPublic && request != .modify else { throw CloudKitError(.notAuthenticated, "sign in") }
            guard !state.isPurged || request == .zones || isPublic else { throw CloudKitError(.userDeletedZone, "purged") }
            return try body(&state)
        }
        if case .doneBut(let error) = fault { throw error }
        return result
    }

    func accountStatus() async throws(CloudKitError) -> AccountStatus { state.withLock { $0.status } }

    func createZone(_ zone: String) async throws(CloudKitError) {
        try serve(.createZone) { (state) throws(CloudKitError) in
            guard !isPublic else { throw CloudKitError(.badDatabase, "the public database has no record zones") }
            guard isName(zone), zone != "_defaultZone" else { throw CloudKitError(.invalidArguments, "bad zone name") }
            if state.zones[zone] == nil { state.zones[zone] = Zone() }
        }
    }

    func zones() async throws(CloudKitError) -> [String] { try serve(.zones) { (state) throws(CloudKitError) in state.zones.keys.filter { !$0.isEmpty } } }

    func records(_ names: [String], in zone: String?, desiredKeys keys: [String]?) async throws(CloudKitError) -> [CloudKitRecord] {
        try serve(.records) { (state) throws(CloudKitError) in
            guard names.count <= limits.records else { throw CloudKitError(.limitExceeded, "too many records") }
            return try found(zone, &state).records.filter { names.contains($0.key) }.map { (_, stored) throws(CloudKitError) in
                try fetched(stored, keys, &state)
            }
        }
    }

    func modify(
        saving: [CloudKitRecord], deleting: [String], in zone: String?, atomically isAtomic: Bool
    ) async throws(CloudKitError) -> [CloudKitRecord] {
        try serve(.modify) { (state) throws(CloudKitError) in
            guard saving.count + deleting.count <= limits.records else { throw CloudKitError(.limitExceeded, "too many records") }
            guard !isAtomic || !isPublic && zone != nil else { throw CloudKitError(.invalidArguments, "atomic changes need a custom zone") }
            guard saving.map(Self.byteCount).reduce(0, +) <= limits.requestBytes else { throw CloudKitError(.limitExceeded, "the request is too large") }
            state.modified.append(saving.count + deleting.count)
            var zoneNow = try found(zone, &state), change = state.change, saved: [CloudKitRecord] = []
            var errors: [String: CloudKitError] = [:]
            for record in saving {
                do throws(CloudKitError) {
                    let stored = try accepted(record, zoneNow.records[record.name], change + 1)
                    change += 1
                    zoneNow.records[record.name] = stored
                    zoneNow.deleted[record.name] = nil
                    saved.append(stored.record)
                } catch {
                    errors[record.name] = error
                }
            }
            for name in deleting where zoneNow.records[name] != nil {
                change += 1
                zoneNow.records[name] = nil
                zoneNow.deleted[name] = change
            }
            if errors.isEmpty || !isAtomic {
                state.zones[zone ?? ""] = zoneNow
                state.change = change
            } else {
                for name in saving.map(\.name) + deleting where errors[name] == nil { errors[name] = CloudKitError(.batchRequestFailed) }
            }
            if !errors.isEmpty { throw CloudKitError(.partialFailure, "some records failed", partialErrors: errors) }
            return saved
        }
    }

    func changes(in zone: String, since token: Data?, desiredKeys keys: [String]) async throws(CloudKitError) -> CloudKitChanges {
        try serve(.changes) { (state) throws(CloudKitError) in
            guard !isPublic else { throw CloudKitError(.badDatabase, "the public database has no change tokens") }
            let zone = try found(zone, &state)
            var since = 0
            if let token {
                let parts = String(decoding: token, as: UTF8.self).split(separator: " ")
                guard parts.count == 2, parts[0] == zone.id, let number = Int(parts[1]) else { throw CloudKitError(.changeTokenExpired) }
                since = number
            }
            let all = (zone.records.map { (number: $0.value.change, name: $0.key) } + zone.deleted.map { (number: $0.value, name: $0.key) })
                .filter { $0.number > since }.sorted { $0.number < $1.number }
            let page = all.prefix(limits.page)
            var changed: [CloudKitRecord] = []
            for entry in page {
                if let stored = zone.records[entry.name] { changed.append(try fetched(stored, keys, &state)) }
            }
            return CloudKitChanges(
                changed: changed, deleted: page.map(\.name).filter { zone.records[$0] == nil },
                token: Data("\(zone.id) \(page.last?.number ?? since)".utf8), isMoreComing: page.count < all.count)
        }
    }

    func records(
        matching query: CloudKitQuery, in zone: String?, after cursor: Data?, desiredKeys keys: [String]
    ) async throws(CloudKitError) -> CloudKitPage {
        try serve(.query) { (state) throws(CloudKitError) in
            guard query.field == "folder" else { throw CloudKitError(.invalidArguments, "Field '\(query.field)' is not marked queryable") }
            let known = state.change - state.indexLag, begin = cursor.map { String(decoding: $0, as: UTF8.self) } ?? ""
            let all = try found(zone, &state).records.values.filter { stored in
                guard case .string(let text) = stored.record.fields[query.field] else { return false }
                return stored.record.type == query.type && text.hasPrefix(query.prefix) && stored.change <= known && stored.record.name > begin
            }.sorted { $0.record.name < $1.record.name }
            let page = all.prefix(limits.page)
            let records = try page.map { (stored) throws(CloudKitError) in try fetched(stored, keys, &state) }
            return CloudKitPage(records: records, cursor: page.count < all.count ? page.last.map { Data($0.record.name.utf8) } : nil)
        }
    }

    private func found(_ zone: String?, _ state: inout State) throws(CloudKitError) -> Zone {
        if isPublic, zone != nil { throw CloudKitError(.badDatabase, "the public database has no record zones") }
        guard let found = state.zones[zone ?? ""] else { throw CloudKitError(.zoneNotFound, "no zone") }
        return found
    }

    private func accepted(_ record: CloudKitRecord, _ known: Stored?, _ change: Int) throws(CloudKitError) -> Stored {
        guard isName(record.name) else { throw CloudKitError(.invalidArguments, "bad record name") }
        guard Self.byteCount(record) <= limits.recordBytes else { throw CloudKitError(.limitExceeded, "record too large") }
        if known == nil, record.changeTag != nil { throw CloudKitError(.unknownItem, "the record was deleted") }
        guard known?.record.changeTag == record.changeTag else { throw CloudKitError(.serverRecordChanged, "record to insert already exists") }
        var asset: Data?
        for case .asset(let file) in record.fields.values {
            guard let bytes = try? Data(contentsOf: file) else { throw CloudKitError(.assetFileNotFound, "no file") }
            guard bytes.count <= limits.assetBytes else { throw CloudKitError(.limitExceeded, "asset too large") }
            asset = bytes
        }
        var saved = record
        saved.changeTag = "tag-\(change)"
        saved.modified = now()
        return Stored(record: saved, asset: asset, change: change)
    }

    /// A record as a client gets it: an asset is a file of the client's.
    private func fetched(_ stored: Stored, _ keys: [String]?, _ state: inout State) throws(CloudKitError) -> CloudKitRecord {
        var record = stored.record
        if let keys { record.fields = record.fields.filter { keys.contains($0.key) } }
        for (key, value) in record.fields {
            guard case .asset = value, let bytes = stored.asset else { continue }
            let file = FileManager.default.temporaryDirectory.appendingPathComponent("fake-cloudkit-\(UUID().uuidString)")
            guard (try? bytes.write(to: file)) != nil else { throw CloudKitError(.internalError, "the download failed") }
            record.fields[key] = .asset(file)
            state.downloads.append(file)
            // CloudKit removes downloaded files as it likes.
            if state.downloads.count > 32 { try? FileManager.default.removeItem(at: state.downloads.removeFirst()) }
        }
        return record
    }

    private func isName(_ text: String) -> Bool {
        (1...255).contains(text.utf8.count) && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F } && !text.hasPrefix("_")
    }

    private static func byteCount(_ record: CloudKitRecord) -> Int {
        record.fields.reduce(record.name.utf8.count) { sum, field in
            switch field.value {
            case .string(let text): sum + text.utf8.count
            case .bytes(let bytes): sum + bytes.count
            case .integer: sum + 8
            case .asset: sum
            }
        }
    }
}

extension RetryPolicy {
    /// Repeats without waiting.
    static func impatient(attempts: Int = CloudKitStore.standardRetry.attempts) -> RetryPolicy {
        var retry = CloudKitStore.standardRetry
        retry.attempts = attempts
        retry.sleep = { _ in }
        return retry
    }
}
