import CloudStore
import Foundation
import StrictText

/// What a check throws where a promise is broken.
struct BrokenPromise: Error {
    let reason: String
    let line: Int
}

/// One check's cloud, and what devices do there, in a word each.
struct ConformanceContext: Sendable {
    let cloud: any CloudDatabase
    static let zone = ZoneID("ConformanceZone")

    /// Says that a promise is broken unless the condition holds.
    func expect(_ condition: Bool, _ reason: String, line: Int = #line) throws {
        guard condition else { throw BrokenPromise(reason: reason, line: line) }
    }

    /// Says that a promise is broken unless both are equal.
    func expect<T: Equatable>(_ found: T, is expected: T, _ what: String, line: Int = #line) throws {
        try expect(found == expected, "\(what): \(expected) was expected, \(found) came", line: line)
    }

    /// Says that a promise is broken unless the body throws a ``CloudError`` of this code.
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

    /// Makes the zone, by default for any publisher, and returns the handle of its creator.
    @discardableResult
    func makeZone(_ publishers: PublisherRule = .many) async throws -> CloudZone {
        _ = try await cloud.createZone(ConformanceContext.zone, creator: "writer", publishers: publishers)
        return device("writer")
    }

    /// A handle of a device.
    func device(_ name: String) -> CloudZone {
        CloudZone(
            ConformanceContext.zone, of: cloud, as: name,
            retry: RetryPolicy(attempts: 60, firstDelay: .milliseconds(1), longestDelay: .milliseconds(10)))
    }

    /// A record that counts.
    func item(_ count: Int64, name: String = "item") -> CloudRecord {
        CloudRecord(type: "Item", name: name, fields: ["count": .integer(count)])
    }

    /// Publishes one commit by the protocol's own means.
    @discardableResult
    func publish(
        _ records: [CloudRecord], deleting: [String] = [], after token: ChangeToken?, by device: String = "writer"
    ) async throws -> ChangeToken {
        let draft = CommitDraft(device: device, saving: records, deleting: deleting, clock: .now)
        return try await cloud.publish(try await cloud.prepare(draft, after: token, in: ConformanceContext.zone))
    }

    /// Publishes so many commits that each save one of five records, and returns their tokens.
    func history(of count: Int) async throws -> [ChangeToken] {
        var tokens: [ChangeToken] = []
        for number in 1...count {
            tokens.append(try await publish([item(Int64(number), name: "item\(number % 5)")], after: tokens.last))
        }
        return tokens
    }

    /// Writes an asset whole.
    func asset(_ content: [UInt8], record: String = "item", number: Int = 1, index: [UInt8]? = nil) async throws -> CloudAsset {
        let writer = try await cloud.newAsset(for: record, number: number, kind: .snapshot, in: ConformanceContext.zone)
        // SAFETY: the buffer is used only within the closure.
        try content.withUnsafeBytes { try writer.write($0) }
        if let index { try writer.setIndex(Data(index)) }
        return try writer.finish(rawByteCount: content.count)
    }

    /// Reads an asset whole.
    func content(of asset: CloudAsset) async throws -> [UInt8] {
        let reader = try await cloud.openAsset(asset, in: ConformanceContext.zone)
        var bytes = [UInt8](repeating: 0, count: reader.byteCount)
        // SAFETY: the buffer is used only within the closure.
        try bytes.withUnsafeMutableBytes { try reader.read(into: $0, at: 0) }
        return bytes
    }
}
