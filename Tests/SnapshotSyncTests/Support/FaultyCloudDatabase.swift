import CloudStore
import Foundation

/// A cloud that does what the one behind it does, until a fault is set.
final class FaultyCloudDatabase: CloudDatabase, @unchecked Sendable {
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

    init(wrapping cloud: CloudDatabase, _ fault: Fault) { super.init(cloud, adding: Layer(fault: fault)) }

    private struct Layer: CloudLayer {
        let fault: Fault

        func willCall(_ call: CloudCall, in zone: ZoneID?) async throws {
            switch (call, fault) {
            case (.publish, .beforePublish(let error)), (.send, .beforeSend(let error)), (.removeMessage, .beforeRemove(let error)): throw error
            case (.openAsset, .atOpenAsset(let body)): try body()
            default: break
            }
        }

        func didCall(_ call: CloudCall, in zone: ZoneID?) async throws {
            switch (call, fault) {
            case (.publish, .afterPublish(let error)), (.send, .afterSend(let error)), (.removeMessage, .afterRemove(let error)): throw error
            default: break
            }
        }

        func reader(_ reader: any AssetReader, of asset: CloudAsset, in zone: ZoneID) async throws -> any AssetReader {
            if case .atRead(let error) = fault { FaultyReader(reader, error) } else { reader }
        }

        func writer(_ writer: any AssetWriter, for record: String, in zone: ZoneID) throws -> any AssetWriter {
            if case .atWrite(let error) = fault { return FaultyWriter(writer, error) }
            return writer
        }
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
