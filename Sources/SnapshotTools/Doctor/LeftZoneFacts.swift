import CloudStore
import SnapshotEngine
import SnapshotVersions
import StrictText

/// The remaining data of a zone that a database has left because it was signed or sealed.
struct LeftZoneFacts: Sendable {
    private let zone: ZoneID
    private let next: ZoneID
    /// The number and total size of the assets that remain; nil if they cannot be listed.
    private let data: (count: Int, byteCount: Int)?
    /// The zone's successor, as the zone states it; nil if it states none.
    private let successor: ZoneSuccessor?
    private let isThere: Bool

    /// Reads a zone. Changes nothing.
    init(_ zone: ZoneID, before next: ZoneID, in cloud: CloudDatabase) async {
        (self.zone, self.next) = (zone, next)
        let files = try? await cloud.storedFiles(in: zone).filter { $0.assetPath != nil }
        data = files.map { ($0.count, $0.reduce(0) { $0 + $1.byteCount }) }
        do {
            _ = try await cloud.records(in: zone)
            (successor, isThere) = (nil, true)
        } catch let error as CloudError {
            (successor, isThere) = (error.successor, error.code != .zoneNotFound)
        } catch {
            (successor, isThere) = (nil, true)
        }
    }

    /// The facts as a finding.
    func finding(isSealed: Bool) -> DoctorReport.Finding {
        let id = "earlier"
        guard isThere else { return .ok(id, "zone \(zone.name), which this one goes on from, is gone") }
        guard successor != nil else {
            return .warning(
                id, .dataRefused, "zone \(zone.name) does not say any more that it goes on as zone \(next.name)",
                means:
                    "somebody has removed or replaced its last version: devices that are still there do not follow, and what is published there counts for nobody here",
                do: "bring its commits/ back from a copy, or move the devices by hand: snapsync detach, then snapsync init --zone \(next.name)")
        }
        guard let data, data.count > 0 else { return .ok(id, "zone \(zone.name), which this one goes on from, says so, and has no data") }
        return .notice(
            id,
            "zone \(zone.name), which this one goes on from, has \(Format.count(data.count, "file")) with data (\(Format.bytes(data.byteCount)))",
            means: isSealed ? "whoever can read the store can read them" : "they are not signed",
            do: "snapsync \(isSealed ? "seal" : "sign") --prune-old removes them, on a device that publishes and has left that zone")
    }
}
