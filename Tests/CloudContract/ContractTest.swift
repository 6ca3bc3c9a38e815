import CloudStore
import RecordZones
import Foundation
import StrictText

/// The error of a check whose promise is broken.
struct BrokenPromise: Error, CustomStringConvertible {
    let reason: String
    let line: Int
    var description: String { "\(reason) (line \(line))" }
}

/// The cloud of one check, with short forms of what devices do there.
struct ContractTest: Sendable {
    var cloud: CloudDatabase { damageable.cloud }
    private let damageable: any DamageableCloud
    static let zone = ZoneID("ConformanceZone")

    init(_ damageable: any DamageableCloud) { self.damageable = damageable }

    /// The distance between two places of a file that a check damages.
    var damageStride: Int { damageable.damageStride }

    /// Changes the bytes of a file of the zone, named by its path beneath the zone. nil stands for a file that does not exist.
    func damage(_ path: String, in zone: ZoneID = zone, _ change: (inout [UInt8]?) -> Void) throws { try damageable.damage(path, in: zone, change) }

    func damageCommit(_ number: Int, in zone: ZoneID = zone, _ change: (inout [UInt8]?) -> Void) throws {
        try damage("commits/\(ContractTest.digits(number)).json", in: zone, change)
    }

    func damageCheckpoint(_ number: Int, _ change: (inout [UInt8]?) -> Void) throws { try damage("checkpoints/\(ContractTest.digits(number)).json", change) }

    /// A number as in a file's name: 20 digits. Computed here again, so that the checks do not rely on the code's own names.
    static func digits(_ number: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: 20 - text.utf8.count) + text
    }

    /// Fails the check unless the condition holds.
    func expect(_ condition: Bool, _ reason: String, line: Int = #line) throws { guard condition else { throw BrokenPromise(reason: reason, line: line) } }

    /// Fails the check unless both are equal.
    func expect<T: Equatable>(_ found: T, is expected: T, _ what: String, line: Int = #line) throws {
        try expect(found == expected, "\(what): \(expected) was expected, \(found) came", line: line)
    }

    /// Fails the check unless the body throws a ``CloudError`` of this code.
    @discardableResult
    func expect(_ code: CloudError.Code, _ what: String, line: Int = #line, _ body: () async throws -> Void) async throws -> CloudError {
        do {
            try await body()
        } catch let error as CloudError {
            try expect(error.code == code, "\(what): \(code) was expected, \(error.code) came: \(error)", line: line)
            return error
        } catch {
            throw BrokenPromise(reason: "\(what): \(code) was expected, another error came: \(error)", line: line)
        }
        throw BrokenPromise(reason: "\(what): \(code) was expected, nothing was thrown", line: line)
    }

    /// Creates the zone, by default with any number of publishers, and returns the handle of its creator.
    @discardableResult
    func makeZone(_ publishers: PublisherRule = .many) async throws -> CloudZone {
        _ = try await cloud.createZone(ContractTest.zone, creator: "writer", publishers: publishers)
        return device("writer")
    }

    /// Returns a device's handle of the zone.
    func device(_ name: String) -> CloudZone {
        CloudZone(
            ContractTest.zone, of: cloud, as: name,
            retry: RetryPolicy(attempts: 60, firstDelay: .milliseconds(1), longestDelay: .milliseconds(10)))
    }

    /// Makes a record with a count.
    func item(_ count: Int64, name: String = "item") -> CloudRecord { CloudRecord(type: "Item", name: name, fields: ["count": .integer(count)]) }

    /// Publishes one commit with the calls of the cloud.
    @discardableResult
    func publish(
        _ records: [CloudRecord], deleting: [String] = [], after token: ChangeToken?, by device: String = "writer", clock: Instant = .now
    ) async throws -> ChangeToken {
        try await publish(CommitDraft(device: device, saving: records, deleting: deleting, clock: clock), after: token)
    }

    @discardableResult
    func publish(_ draft: CommitDraft, after token: ChangeToken?) async throws -> ChangeToken {
        try await cloud.publish(try await cloud.prepare(draft, after: token, in: ContractTest.zone))
    }

    /// Returns the commits after a token.
    func changes(since token: ChangeToken?) async throws -> ZoneChanges { try await cloud.changes(since: token, in: ContractTest.zone) }

    /// Returns the zone's newest records.
    func state() async throws -> ZoneState { try await cloud.records(in: ContractTest.zone) }

    /// Publishes a number of commits, each of which saves one of five records, and returns their tokens.
    func history(of count: Int) async throws -> [ChangeToken] {
        var tokens: [ChangeToken] = []
        for number in 1...count {
            tokens.append(try await publish([item(Int64(number), name: "item\(number % 5)")], after: tokens.last))
        }
        return tokens
    }

    /// Writes a complete asset in two pieces.
    func asset(
        _ content: [UInt8], record: String = "item", number: Int = 1, index: [UInt8]? = nil, kind: AssetKind = .snapshot, rawByteCount: Int? = nil
    ) async throws -> CloudAsset {
        let writer = try await cloud.newAsset(for: record, number: number, kind: kind, in: ContractTest.zone)
        if let index { try writer.setIndex(Data(index)) }
        let half = content.count / 2
        // SAFETY: the buffers are used only within the closures.
        try content[..<half].withUnsafeBytes { try writer.write($0) }
        try content[half...].withUnsafeBytes { try writer.write($0) }
        return try writer.finish(rawByteCount: rawByteCount ?? content.count)
    }

    /// Makes a record that names an asset.
    func item(_ asset: CloudAsset) -> CloudRecord { CloudRecord(type: "Item", name: "item", fields: ["dataFile": .asset(asset)]) }

    func open(_ asset: CloudAsset) async throws -> any AssetReader { try await cloud.openAsset(asset, in: ContractTest.zone) }

    /// Reads a complete asset in two pieces.
    func content(of asset: CloudAsset) async throws -> [UInt8] {
        let reader = try await open(asset)
        var bytes = [UInt8](repeating: 0, count: reader.byteCount)
        let half = bytes.count / 2
        // SAFETY: the buffers are used only within the closures.
        try bytes[..<half].withUnsafeMutableBytes { try reader.read(into: $0, at: 0) }
        try bytes[half...].withUnsafeMutableBytes { try reader.read(into: $0, at: half) }
        return bytes
    }
}
