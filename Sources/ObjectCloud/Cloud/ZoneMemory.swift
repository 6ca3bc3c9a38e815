package import CloudStore
import CommitLog
import Foundation
import StrictText

/// What a device keeps of a zone between runs, so that it need not ask a store that is far away again.
///
/// None of it decides what a zone has. Markers are written once. The newest commit's bytes count by their hash, only where a look follows once the
/// device's own commit is in place. Indexes count by the hashes that commits name. The rest is asked for again once a day.
package struct ZoneMemory: Hashable, Sendable, Codable {
    /// The newest commit that this device has read or published.
    struct Head: Hashable, Sendable, Codable {
        let number: Int
        let bytes: Data
        /// When it was last seen in the store, in microseconds since 1970 by the store's clock.
        let seen: Int64
    }

    /// This device's last report.
    struct Report: Hashable, Sendable, Codable {
        let counter: Int
        let text: DeviceReport
        /// In a signed zone: the keys that the report is signed with.
        let keys: DevicePublicKeys?
        /// When the store was last asked which reports there are.
        let seen: Int64

        init(_ report: DeviceReport, counter: Int, seen: Int64) { (text, keys, self.counter, self.seen) = (report, report.keys, counter, seen) }

        var report: DeviceReport {
            var report = text
            report.keys = keys
            return report
        }
    }

    /// `zone.json`.
    var marker: Data?
    /// What a listing says of the object `zone.json` (its time, size and tag), as it was when `cloud.json` was last compared.
    var place: String?
    var head: Head?
    var report: Report?
    /// When the assets of earlier versions that a commit names were last looked at.
    var assetsSeen: Int64?
    /// The block index of each record's newest snapshot asset, if it is small, by the asset's path.
    var indexes: [String: Data] = [:]

    /// How many new commits looks have found of late.
    var found = 0

    /// The UUID of the cloud, and the zone.
    package let cloud: String
    package let zone: String

    package init(cloud: String, zone: ZoneID) { (self.cloud, self.zone) = (cloud, zone.description) }

    /// Whether the zone's markers are known: what an idle publisher asks for besides commits and messages.
    package var knowsMarkers: Bool { marker != nil && place != nil }

    /// How long what was seen needs no second look, in microseconds: half of the time for which no commit is pruned.
    static let age: Int64 = 12 * 3_600_000_000
    /// The largest commit that is kept.
    static let headBytes = 64 << 10
    /// The largest index that is kept, and the most bytes of all.
    static let indexBytes = 64 << 10, indexBytesInAll = 512 << 10
}
