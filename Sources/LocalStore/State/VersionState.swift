package import StrictText

/// What `undo` would bring back: the state of the data before they were replaced on purpose.
package struct UndoPoint: Hashable, Sendable, Codable {
    /// What was done, in words: `restore of version 4`.
    package let act: String
    package let at: Instant
    /// The number of the copy beside the database that holds the state; nil if it is exactly a version.
    package let copy: Int?
    /// The version that is the state, or that it was based on; nil if there was none.
    package let version: Int?

    package init(act: String, at: Instant, copy: Int?, version: Int?) {
        self.act = act
        self.at = at
        self.copy = copy
        self.version = version
    }
}

/// A version that the next commit of this device is to pin.
package struct PendingPin: Hashable, Sendable, Codable {
    package let version: Int
    package let name: String
    /// The SHA-256 of the version's commit.
    package let commit: String
    /// The SHA-256 of the checkpoint at that version.
    package let checkpoint: String
    /// The version's own timestamp.
    package let timestamp: Instant

    package init(version: Int, name: String, commit: String, checkpoint: String, timestamp: Instant) {
        self.version = version
        self.name = name
        self.commit = commit
        self.checkpoint = checkpoint
        self.timestamp = timestamp
    }
}
