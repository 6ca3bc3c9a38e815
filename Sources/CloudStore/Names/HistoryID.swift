/// Identifies the history that a commit belongs to: a cloud's UUID and a zone in it, and whether the zone is signed and sealed.
package struct HistoryID: Hashable, Sendable {
    package let cloud: String
    package let zone: ZoneID
    /// Whether `zone.json` says that commits, reports and messages are signed.
    package let isSigned: Bool
    /// Whether `zone.json` says that records, assets and messages are encrypted for the members.
    package let isSealed: Bool

    package init(cloud: String, zone: ZoneID, isSigned: Bool = false, isSealed: Bool = false) {
        self.cloud = cloud
        self.zone = zone
        self.isSigned = isSigned
        self.isSealed = isSealed
    }

    /// The features that each commit names in `requires`, in order.
    package var requirements: [String] { (isSealed ? [ZoneInfo.sealedFeature] : []) + (isSigned ? [ZoneInfo.signedFeature] : []) }

    /// The place of a commit in error messages; in a directory cloud, its path.
    package func place(ofCommit number: Int) -> String {
        "\(zone)/\(CloudNames.commits)/\(CloudNames.digits(number)).json"
    }

    /// The place of a checkpoint in error messages.
    package func place(ofCheckpoint number: Int) -> String {
        "\(zone)/\(CloudNames.checkpoints)/\(CloudNames.digits(number)).json"
    }
}
