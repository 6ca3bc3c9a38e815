package import StrictText

/// `zone.json`: written once, as the last step of creating a zone. A zone that has this file is complete.
package struct ZoneMarker: Codable {
    package let creator: String
    package let features: [String]
    package let formatVersion: Int
    package let publishers: String

    package static let fileName = "zone.json"

    package init(creator: String, publishers: PublisherRule, protection: ZoneProtection = []) {
        self.creator = creator
        features = protection.features
        self.formatVersion = CloudMarker.formatVersion
        self.publishers = publishers.rawValue
    }

    /// The marker's bytes.
    package func bytes() throws -> [UInt8] { Array(try StrictJSON.encode(self)) }

    /// Reads a marker's bytes.
    ///
    /// - Throws: ``CloudError`` with `.damaged`, or with `.incompatibleVersion` for unknown features and publisher rules.
    package static func info(of zone: ZoneID, from bytes: [UInt8], at place: String) throws(CloudError) -> ZoneInfo {
        let marker = try CloudMarker.decode(ZoneMarker.self, from: bytes, at: place)
        guard CloudNames.isName(marker.creator) else {
            throw CloudError(.damaged, at: place, "the creator's name is not allowed", hint: CloudError.damageHint)
        }
        guard let publishers = PublisherRule(rawValue: marker.publishers), ZoneProtection(features: marker.features) != nil else {
            throw CloudError(
                .incompatibleVersion, at: place, "the zone needs what this version does not know", hint: "update snapsync on this device")
        }
        return ZoneInfo(
            id: zone, formatVersion: marker.formatVersion, features: marker.features, creator: marker.creator, publishers: publishers)
    }
}
