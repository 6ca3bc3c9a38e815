/// Identifies the history that a commit belongs to: a cloud's UUID and a zone in it, and how the zone is protected.
package struct HistoryID: Hashable, Sendable {
    package let cloud: String
    package let zone: ZoneID
    /// The protection that `zone.json` names.
    package let protection: ZoneProtection
    /// Whether commits, reports and messages are signed.
    package var isSigned: Bool { protection.contains(.signed) }
    /// Whether records, assets and messages are encrypted for the members.
    package var isSealed: Bool { protection.contains(.sealed) }

    package init(cloud: String, zone: ZoneID, protection: ZoneProtection = []) {
        (self.cloud, self.zone, self.protection) = (cloud, zone, protection)
    }

    /// The features that each commit names in `requires`, in order.
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
