import CloudStore
import Foundation
import StrictText

/// A cloud that does what the one behind it does, until a fault is set.
final class FaultyCloudDatabase: CloudDatabase {
    /// Where something goes wrong.
    enum Fault: Sendable {
        /// The process ends, or the cloud is gone, before the commit is put in place.
        case beforePublish(any Error & Sendable)
        /// The commit is in place, and then the process ends.
        case afterPublish(any Error & Sendable)
        /// Something happens between the look at the zone and the opening of an asset.
        case atOpenAsset(@Sendable () throws -> Void)
        case atWrite(any Error & Sendable)
        case atRead(any Error & Sendable)
        /// A message is written down, and then the process ends; or its file is there, and then.
        case beforeSend(any Error & Sendable)
        case afterSend(any Error & Sendable)
        /// A message was answered, and the process ends before its file is gone, or after.
        case beforeRemove(any Error & Sendable)
        case afterRemove(any Error & Sendable)
    }

    struct Crash: Error {}

    private let cloud: any CloudDatabase
    private let fault: Fault

    init(wrapping cloud: any CloudDatabase, _ fault: Fault) {
        self.cloud = cloud
        self.fault = fault
    }

    func publish(_ commit: PreparedCommit) async throws -> ChangeToken {
        if case .beforePublish(let error) = fault { throw error }
        let token = try await cloud.publish(commit)
        if case .afterPublish(let error) = fault { throw error }
        return token
    }

    func openAsset(_ asset: CloudAsset, in zone: ZoneID) async throws -> any AssetReader {
        if case .atOpenAsset(let body) = fault { try body() }
        let reader = try await cloud.openAsset(asset, in: zone)
        if case .atRead(let error) = fault { return FaultyReader(reader, error) }
        return reader
    }

    func newAsset(for record: String, number: Int, kind: AssetKind, in zone: ZoneID) async throws -> sending any AssetWriter {
        let writer = try await cloud.newAsset(for: record, number: number, kind: kind, in: zone)
        if case .atWrite(let error) = fault { return FaultyWriter(writer, error) }
        return writer
    }

    func identity() async throws -> CloudIdentity { try await cloud.identity() }
    func createZone(_ zone: ZoneID, creator: String, publishers: PublisherRule) async throws -> ZoneInfo {
        try await cloud.createZone(zone, creator: creator, publishers: publishers)
    }
    func zone(_ zone: ZoneID) async throws -> ZoneInfo { try await cloud.zone(zone) }
    func zones() async throws -> [ZoneInfo] { try await cloud.zones() }
    func changes(since token: ChangeToken?, in zone: ZoneID) async throws -> ZoneChanges { try await cloud.changes(since: token, in: zone) }
    func records(in zone: ZoneID, at number: Int?, notBefore token: ChangeToken?) async throws -> ZoneState {
        try await cloud.records(in: zone, at: number, notBefore: token)
    }
    func history(in zone: ZoneID) async throws -> [Commit] { try await cloud.history(in: zone) }
    func prepare(_ draft: CommitDraft, after token: ChangeToken?, in zone: ZoneID) async throws -> PreparedCommit {
        try await cloud.prepare(draft, after: token, in: zone)
    }
    func discard(_ assets: [CloudAsset], in zone: ZoneID) async { await cloud.discard(assets, in: zone) }
    func report(_ report: DeviceReport, in zone: ZoneID) async throws { try await cloud.report(report, in: zone) }
    func deviceReports(in zone: ZoneID) async throws -> [DeviceReport] { try await cloud.deviceReports(in: zone) }
    func send(_ message: CloudMessage, clock: Instant, in zone: ZoneID) async throws {
        if case .beforeSend(let error) = fault { throw error }
        try await cloud.send(message, clock: clock, in: zone)
        if case .afterSend(let error) = fault { throw error }
    }
    func mailbox(_ request: MailboxRequest, in zone: ZoneID) async throws -> CloudMailbox { try await cloud.mailbox(request, in: zone) }
    func removeMessage(_ message: CloudMessageName, in zone: ZoneID) async throws {
        if case .beforeRemove(let error) = fault { throw error }
        try await cloud.removeMessage(message, in: zone)
        if case .afterRemove(let error) = fault { throw error }
    }
}

/// Writes the head of an asset and fails at its second piece.
private final class FaultyWriter: AssetWriter {
    private let writer: any AssetWriter
    private let error: any Error
    private var pieces = 0

    init(_ writer: any AssetWriter, _ error: any Error) {
        self.writer = writer
        self.error = error
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws {
        pieces += 1
        if pieces > 1 { throw error }
        try writer.write(bytes)
    }
    func setIndex(_ index: Data) throws { try writer.setIndex(index) }
    func finish(rawByteCount: Int) throws -> CloudAsset { try writer.finish(rawByteCount: rawByteCount) }
    func abandon() { writer.abandon() }
}

/// Reads the head of an asset and fails behind it.
private final class FaultyReader: AssetReader {
    private let reader: any AssetReader
    private let error: any Error & Sendable

    init(_ reader: any AssetReader, _ error: any Error & Sendable) {
        self.reader = reader
        self.error = error
    }

    var byteCount: Int { reader.byteCount }
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws {
        if offset > 0 { throw error }
        try reader.read(into: buffer, at: offset)
    }
    func index() throws -> Data? { try reader.index() }
}
