import CloudStore
import CommitLog

extension CloudMarker {
    /// Reads the marker of a directory; nil if there is none.
    static func read(in root: CloudFolder, _ parsed: ParsedMarker<CloudIdentity> = ParsedMarker()) throws(CloudError) -> CloudIdentity? {
        guard let bytes = try root.bytes(of: fileName, limit: byteLimit) else { return nil }
        return try parsed.content(of: bytes, at: fileName) { bytes throws(CloudError) in try identity(from: bytes) }
    }
}

extension ZoneMarker {
    /// Reads the marker of a zone's folder; nil if there is none.
    static func read(_ zone: ZoneID, in folder: CloudFolder, _ parsed: ParsedMarker<ZoneInfo> = ParsedMarker()) throws(CloudError) -> ZoneInfo? {
        guard let bytes = try folder.bytes(of: fileName, limit: CloudMarker.byteLimit) else { return nil }
        let place = folder.place(fileName)
        return try parsed.content(of: bytes, at: place) { bytes throws(CloudError) in try info(of: zone, from: bytes, at: place) }
    }
}
