package import CloudStore
import Foundation
import StrictText

/// What a device stores about a zone between runs, to save requests to a remote store.
///
/// None of it decides what a zone contains. Markers are written only once. The newest commit's bytes are verified by their hash, and used
/// only where the device reads the commit again after placing its own. Indexes are verified by the hashes that commits name. Everything else
/// is requested again once a day.
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
        /// In a signed zone: the keys that signed the report.
        let keys: DevicePublicKeys?
        /// When the store was last asked for the device's reports.
        let seen: Int64

        init(_ report: DeviceReport, counter: Int, seen: Int64) { (text, keys, self.counter, self.seen) = (report, report.keys, counter, seen) }

        var report: DeviceReport {
            var report = text
            report.keys = keys
            return report
        }
    }

    /// The bytes of `zone.json`.
    var marker: Data?
    /// The state of the object `zone.json` in a listing (its time, size and tag) when `cloud.json` was last compared.
    var place: String?
    var head: Head?
    var report: Report?
    /// When the assets of earlier versions that a commit names were last checked.
    var assetsSeen: Int64?
    /// The block index of each record's newest snapshot asset, if it is small, by the asset's path.
    var indexes: [String: Data] = [:]

    /// How many new commits recent reads have found.
    var found = 0

    /// The UUID of the cloud, and the zone.
    package internal(set) var cloud: String
    package let zone: String

    package init(cloud: String, zone: ZoneID) { (self.cloud, self.zone) = (cloud, zone.description) }

    /// Whether the zone's markers are known. An idle publisher then requests only commits and messages.
    package var knowsMarkers: Bool { marker != nil && place != nil }

    /// How long something that was seen need not be checked again, in microseconds: half of the time for which no commit is pruned.
    static let age: Int64 = 12 * 3_600_000_000
    /// The largest commit that is stored.
    static let headBytes = 64 << 10
    /// The largest index that is stored, and the most bytes of all of them.
    static let indexBytes = 64 << 10, indexBytesInAll = 512 << 10
}
