import CloudStore
import CommitLog

extension CloudMarker {
    /// Reads the marker of a directory; nil if there is none.
    static func read(in root: CloudFolder) throws(CloudError) -> CloudIdentity? {
        guard let bytes = try root.bytes(of: fileName, limit: byteLimit) else { return nil }
        return try identity(from: bytes)
    }
}

extension ZoneMarker {
    /// Reads the marker of a zone's folder; nil if there is none.
    static func read(_ zone: ZoneID, in folder: CloudFolder) throws(CloudError) -> ZoneInfo? {
        guard let bytes = try folder.bytes(of: fileName, limit: CloudMarker.byteLimit) else { return nil }
        return try info(of: zone, from: bytes, at: folder.place(fileName))
    }
}
