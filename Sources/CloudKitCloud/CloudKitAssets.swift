import CloudStore
public import Foundation
import Synchronization

/// Writes one asset to a temporary file on this machine, which is uploaded when it is complete. Memory: the bytes of one write.
final class CloudKitAssetWriter: AssetWriter {
    private let zone: ZoneID
    private let store: CloudKitStore
    private var draft: AssetDraft
    private var file: (staged: StagedFile, handle: FileHandle)?

    init(_ path: AssetPath, in zone: ZoneID, of store: CloudKitStore) { (draft, self.zone, self.store) = (AssetDraft(path), zone, store) }

    deinit { abandon() }

    private var place: String { "\(zone)/\(draft.path.path)" }

    func write(_ bytes: UnsafeRawBufferPointer) throws {
        let file = try opened()
        guard draft.byteCount + bytes.count <= Self.byteLimit else {
            abandon()
            throw CloudError(
                .limitExceeded, at: place, "the asset has more than \(Self.byteLimit) bytes, which CloudKit does not take",
                hint: "split the dataset into several")
        }
        do { try file.handle.write(contentsOf: Data(bytes)) } catch { throw StagedFile.failure(error) }
        try draft.add(bytes)
    }

    /// CloudKit's limit for one asset, in bytes.
    private static let byteLimit = 250_000_000

    func setIndex(_ index: Data) throws { try draft.setIndex(index) }

    func finish(rawByteCount: Int) throws -> CloudAsset {
        let file = try opened()
        do { try file.handle.close() } catch { throw StagedFile.failure(error) }
        // Store the index before the asset, so that a device that finds the asset also finds its index.
        let indexIsTaken = try draft.index.map { try store.put([UInt8]($0), as: "\(zone)/\(draft.path.indexPath)") == .taken } ?? false
        guard try !indexIsTaken && upload(file.staged.url) != .taken else { throw AssetDraft.isTaken(at: place, kind: "a record") }
        abandon()
        return draft.asset(rawByteCount: rawByteCount)
    }

    /// Uploads the file. The bytes of a small asset are stored in the record itself.
    private func upload(_ file: URL) throws -> Placement {
        guard draft.byteCount <= CloudKitFile.inlineLimit else { return try store.put(file, byteCount: draft.byteCount, as: place) }
        do { return try store.put([UInt8](try Data(contentsOf: file)), as: place) } catch let error as CloudError { throw error } catch {
            throw StagedFile.failure(error)
        }
    }

    func abandon() {
        draft.end()
        guard let file = file.take() else { return }
        try? file.handle.close()
        file.staged.remove()
    }

    private func opened() throws -> (staged: StagedFile, handle: FileHandle) {
        try draft.verifyOpen()
        if let file { return file }
        let staged = try StagedFile()
        do {
            let opened = (staged, try FileHandle(forWritingTo: staged.url))
            file = opened
            return opened
        } catch {
            staged.remove()
            throw StagedFile.failure(error)
        }
    }
}

/// Reads one asset. CloudKit cannot read ranges, so the whole asset is downloaded: at the first read, or on opening if it is small.
final class CloudKitAssetReader: AssetReader {
    let byteCount: Int
    private let asset: CloudAsset
    private let path: AssetPath
    private let zone: ZoneID
    private let store: CloudKitStore
    private let content = Mutex<Data?>(nil)

    /// Opens the asset that a commit names. It must have the size that the commit states.
    init(_ asset: CloudAsset, in zone: ZoneID, of store: CloudKitStore) throws(CloudError) {
        guard let path = AssetPath(asset.path) else { throw .badAssetPath(in: zone) }
        self.asset = asset
        self.path = path
        self.zone = zone
        self.store = store
        byteCount = asset.byteCount
        if byteCount <= CloudKitFile.inlineLimit {
            _ = try downloaded()
        } else {
            guard let size = try store.size(of: place) else { throw .objectPending(place) }
            guard size == byteCount else { throw .otherSize(size, insteadOf: byteCount, at: place) }
        }
    }

    private var place: String { "\(zone)/\(path.path)" }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws {
        try verifyRange(of: buffer.count, at: offset, in: place)
        guard !buffer.isEmpty else { return }
        let content = try downloaded()
        let begin = content.startIndex + offset
        content.copyBytes(to: buffer, from: begin..<begin + buffer.count)
    }

    /// Returns the asset's bytes. The lock is held during the download, so that other threads wait for the same bytes.
    private func downloaded() throws(CloudError) -> Data {
        let result: Result<Data, CloudError> = content.withLock { content in
            if let content { return .success(content) }
            do throws(CloudError) {
                let found = try download()
                content = found
                return .success(found)
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    private func download() throws(CloudError) -> Data {
        guard let found = try store.content(place, limit: .max) else { throw .objectPending(place) }
        guard found.count == byteCount else { throw .otherSize(found.count, insteadOf: byteCount, at: place) }
        return found
    }

    func index() throws -> Data? { try store.index(of: asset, at: "\(zone)/\(path.indexPath)") }
}

/// A temporary file on this machine that is to be uploaded to CloudKit.
struct StagedFile: Sendable {
    let url: URL

    /// Makes an empty file that only this user can read.
    init() throws(CloudError) {
        url = FileManager.default.temporaryDirectory.appendingPathComponent("snapsync-\(UUID().uuidString)")
        guard FileManager.default.createFile(atPath: url.path, contents: nil, attributes: [.posixPermissions: 0o600]) else {
            throw CloudError(.inputOutput, at: url.path, "the temporary file cannot be made", hint: "check the room and the rights in the temporary directory")
        }
    }

    func remove() { try? FileManager.default.removeItem(at: url) }

    /// The error for a file that could not be written.
    static func failure(_ error: any Error) -> CloudError {
        CloudError(
            .inputOutput, at: "the temporary directory", "the asset cannot be written (\((error as NSError).localizedDescription))",
            hint: "make room in the temporary directory, then try again")
    }
}

/// A record as the backend stores it: a `CKRecord` with few fields.
public struct CloudKitRecord: Hashable, Sendable {
    /// The value of a field.
    public enum Value: Hashable, Sendable {
        case string(String)
        case integer(Int64)
        case bytes(Data)
        /// A file: the one to upload, or the one that was downloaded.
        case asset(URL)
    }

    /// `CKRecord.ID.recordName`: at most 255 ASCII characters.
    public var name: String
    public var type: String
    public var fields: [String: Value]
    /// The server's change tag; nil for a new record. An application may store the system fields of its `CKRecord` here, or only the tag:
    /// the backend never saves a record again.
    public var changeTag: String?
    /// When the server last saved the record: `modificationDate`; nil for a new record.
    public var modified: Date?

    public init(name: String, type: String, fields: [String: Value], changeTag: String? = nil, modified: Date? = nil) {
        (self.name, self.type, self.fields, self.changeTag, self.modified) = (name, type, fields, changeTag, modified)
    }
}
