import CloudStore
import Foundation
import StrictText

/// The record in which CloudKit stores the object of a path.
///
/// A private zone is a record zone of its own, and its records are named like the files beneath a zone's directory. The public database has
/// only its default zone, so the names of its records begin with the name of the zone. A cloud's marker is in the default zone.
struct CloudKitPlace: Hashable {
    let scope: CloudScope
    /// The record zone; nil stands for the default zone.
    let zone: String?
    /// The record's name.
    let name: String

    /// The record of the object at a path.
    init(_ path: String) {
        let parts = path.exact.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
        switch (parts.first, parts.count) {
        case (CloudScope.private.rawValue, 3): self.init(scope: .private, zone: parts[1], name: parts[2])
        case (CloudScope.public.rawValue, 2...): self.init(scope: .public, zone: nil, name: parts.dropFirst().joined(separator: "/"))
        default: self.init(scope: .private, zone: nil, name: path)
        }
    }

    private init(scope: CloudScope, zone: String?, name: String) { (self.scope, self.zone, self.name) = (scope, zone, name) }

    /// The folder that the record names, by which queries list it: the part of the name before the file's name; ``markers`` for a zone's
    /// marker.
    var folder: String {
        if name.exact.hasSuffix("/" + ZoneMarker.fileName) { return Self.markers }
        return name.lastIndex(of: "/").map { String(name[...$0]) } ?? ""
    }

    /// The folder of the markers of public zones.
    static let markers = "zones/"
}

/// The form of an object's record. All objects are records of one type.
enum CloudKitFile {
    static let type = "SnapshotFile"
    /// The fields: the object's folder, its size, and its bytes, either in the record or in a file.
    static let folder = "folder", size = "size", bytes = "bytes", asset = "asset"
    /// Objects up to this size, in bytes, are stored in the record itself. A record may have 1 MB.
    static let inlineLimit = 512 << 10

    /// Makes a new record.
    static func record(at place: CloudKitPlace, byteCount: Int, _ content: CloudKitRecord.Value) -> CloudKitRecord {
        let field = if case .asset = content { asset } else { bytes }
        return CloudKitRecord(name: place.name, type: type, fields: [folder: .string(place.folder), size: .integer(Int64(byteCount)), field: content])
    }
}

extension CloudKitRecord {
    /// The object's size in bytes, as stated in the record.
    ///
    /// - Throws: ``CloudError`` with `.damaged`.
    func byteCount(at path: String) throws(CloudError) -> Int {
        guard case .integer(let size) = fields[CloudKitFile.size], size >= 0 else {
            throw CloudError(.damaged, at: path, "the record is none of this location: it has no size", hint: CloudError.damageHint)
        }
        return Int(size)
    }

    /// The object's bytes. The bytes of a file are memory-mapped, so they remain readable even if CloudKit removes the file.
    ///
    /// - Throws: ``CloudError`` with `.damaged` if the record has no content or not the stated size, `.pending` if the file does not exist.
    func content(at path: String) throws(CloudError) -> Data {
        let content: Data
        switch (fields[CloudKitFile.bytes], fields[CloudKitFile.asset]) {
        case (.bytes(let bytes), _): content = bytes
        case (_, .asset(let file)):
            do { content = try Data(contentsOf: file, options: .alwaysMapped) } catch {
                throw CloudError(.pending, at: path, "the downloaded file cannot be read", hint: "try again", isRetryable: true)
            }
        default: throw CloudError(.damaged, at: path, "the record is none of this location: it has no content", hint: CloudError.damageHint)
        }
        let size = try byteCount(at: path)
        guard content.count == size else {
            throw CloudError(.damaged, at: path, "\(content.count) bytes long, the record says \(size)", hint: CloudError.damageHint)
        }
        return content
    }

    /// When the server saved the record.
    var savedAt: Instant? { modified.map { Instant(microseconds: Int64(($0.timeIntervalSince1970 * 1_000_000).rounded())) } }
}
