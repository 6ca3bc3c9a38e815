/// Which history a commit belongs to: a cloud's UUID and a zone in it, and how the zone is protected.
package struct HistoryID: Hashable, Sendable {
    package let cloud: String
    package let zone: ZoneID
    /// What `zone.json` says of signatures and encryption.
    package let protection: ZoneProtection
    /// Whether commits, reports and messages are signed.
    package var isSigned: Bool { protection.contains(.signed) }
    /// Whether records, assets and messages are encrypted for the members.
    package var isSealed: Bool { protection.contains(.sealed) }

    package init(cloud: String, zone: ZoneID, protection: ZoneProtection = []) {
        self.cloud = cloud
        self.zone = zone
        self.protection = protection
    }

    /// What each commit names under `requires`, in order.
    package var requirements: [String] { protection.features }

    /// The place of a commit in error messages; in a directory cloud, its path.
    package func place(ofCommit number: Int) -> String {
        "\(zone)/\(CloudNames.commits)/\(CloudNames.digits(number)).json"
    }

    /// The place of a checkpoint in error messages.
    package func place(ofCheckpoint number: Int) -> String {
        "\(zone)/\(CloudNames.checkpoints)/\(CloudNames.digits(number)).json"
    }
}
