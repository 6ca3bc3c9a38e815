import CloudStore
import CommitLog
import Platform
import StrictText

/// `zone.json`: made once, last of all when a zone is made, so that a zone that has it is whole.
struct ZoneMarker: Codable {
    let creator: String
    let features: [String]
    let formatVersion: Int
    let publishers: String

    static let fileName = "zone.json"
    /// What a reader of this version understands beyond the format itself.
    static let knownFeatures: Set<String> = []

    init(creator: String, publishers: PublisherRule) {
        self.creator = creator
        self.features = []
        self.formatVersion = CloudMarker.formatVersion
        self.publishers = publishers.rawValue
    }

    /// Reads a zone's marker; nil if there is none.
    ///
    /// - Throws: ``CloudError`` with `.damaged`, or `.incompatibleVersion` for features and rules that are not known here.
    static func read(_ zone: ZoneID, in folder: CloudFolder) throws(CloudError) -> ZoneInfo? {
        guard let bytes = try folder.bytes(of: fileName, limit: CloudMarker.byteLimit) else { return nil }
        let place = folder.place(fileName)
        let marker = try CloudMarker.decode(ZoneMarker.self, from: bytes, at: place)
        guard CloudNames.isName(marker.creator) else {
            throw CloudError(.damaged, at: place, "the creator's name is not allowed", hint: CloudError.damageHint)
        }
        guard let publishers = PublisherRule(rawValue: marker.publishers), knownFeatures.isSuperset(of: marker.features) else {
            throw CloudError(
                .incompatibleVersion, at: place, "the zone needs what this version does not know", hint: "update snapsync on this device")
        }
        return ZoneInfo(
            id: zone, formatVersion: marker.formatVersion, features: marker.features, creator: marker.creator, publishers: publishers)
    }
}

extension ZoneMarker: PlainReadable {
    init(_ node: JSONNode) throws(JSONNode.Misfit) {
        let members = try node.object()
        creator = try members.member("creator").text()
        features = try [String](members.member("features"))
        formatVersion = try members.member("formatVersion").count()
        publishers = try members.member("publishers").text()
    }
}
