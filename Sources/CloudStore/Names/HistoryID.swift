/// Which history a commit belongs to: a cloud's UUID and a zone in it.
package struct HistoryID: Hashable, Sendable {
    package let cloud: String
    package let zone: ZoneID

    package init(cloud: String, zone: ZoneID) {
        self.cloud = cloud
        self.zone = zone
    }

    /// The place of a commit in messages, which is its path where there are files.
    package func place(ofCommit number: Int) -> String {
        "\(zone)/\(CloudNames.commits)/\(CloudNames.digits(number)).json"
    }

    /// The place of a checkpoint in messages.
    package func place(ofCheckpoint number: Int) -> String {
        "\(zone)/\(CloudNames.checkpoints)/\(CloudNames.digits(number)).json"
    }
}
