import CloudStore
import Foundation
import StrictText
import Testing

// What devices do in the tests, in a word each.
extension CloudUnderTest {
    /// Makes the standard zone for the device `writer`.
    @discardableResult
    func zone(publishers: PublisherRule = .one) async throws -> ZoneInfo {
        try await cloud.createZone(.standard, creator: "writer", publishers: publishers)
    }

    /// Publishes one commit that saves a record `item` with a count.
    @discardableResult
    func save(
        _ count: Int, record: String = "item", after token: ChangeToken?, by device: String = "writer", clock: Instant = .now
    ) async throws -> ChangeToken {
        let record = CloudRecord(type: "Item", name: record, fields: ["count": .integer(Int64(count))])
        return try await publish(CommitDraft(device: device, saving: [record], clock: clock), after: token)
    }

    @discardableResult
    func publish(_ draft: CommitDraft, after token: ChangeToken?) async throws -> ChangeToken {
        try await cloud.publish(try await cloud.prepare(draft, after: token, in: .standard))
    }

    /// Publishes so many commits and returns their tokens.
    func history(of count: Int) async throws -> [ChangeToken] {
        var tokens: [ChangeToken] = []
        for number in 1...count {
            tokens.append(try await save(number, record: "item\(number % 5)", after: tokens.last))
        }
        return tokens
    }

    /// Writes an asset whole.
    func asset(_ content: [UInt8], index: [UInt8]? = nil, record: String = "item", number: Int = 1, kind: AssetKind = .snapshot) async throws -> CloudAsset {
        let writer = try await cloud.newAsset(for: record, number: number, kind: kind, in: .standard)
        if let index { try writer.setIndex(Data(index)) }
        let half = content.count / 2
        try content[..<half].withUnsafeBytes { try writer.write($0) }
        try content[half...].withUnsafeBytes { try writer.write($0) }
        return try writer.finish(rawByteCount: content.count * 3)
    }

    /// Publishes a record `item` that names an asset.
    @discardableResult
    func save(_ asset: CloudAsset, after token: ChangeToken? = nil) async throws -> ChangeToken {
        let record = CloudRecord(type: "Item", name: "item", fields: ["dataFile": .asset(asset)])
        return try await publish(CommitDraft(device: "writer", saving: [record], clock: .now), after: token)
    }
}

extension AssetReader {
    /// All bytes of the asset, in two reads.
    func all() throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: byteCount)
        let half = byteCount / 2
        try bytes[..<half].withUnsafeMutableBytes { try read(into: $0, at: 0) }
        try bytes[half...].withUnsafeMutableBytes { try read(into: $0, at: half) }
        return bytes
    }
}

/// Expects a cloud error of this code and returns it.
@discardableResult
func expectCloudError<T>(
    _ code: CloudError.Code, sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> T
) async -> CloudError? {
    let error = await #expect(throws: CloudError.self, sourceLocation: sourceLocation) { _ = try await body() }
    #expect(error?.code == code, "\(error?.description ?? "no error")", sourceLocation: sourceLocation)
    return error
}

extension Instant {
    static func at(_ text: String) throws -> Instant { try Instant(parsing: text) }
}
