package import StrictText

/// What `undo` would restore: the state of the data before a command replaced it.
package struct UndoPoint: Hashable, Sendable, Codable {
    /// What the command did, in words: `restore of version 4`.
    package let act: String
    package let at: Instant
    /// The number of the local backup that holds the state; nil if the state is exactly a version.
    package let copy: Int?
    /// The version that is the state, or that the state was based on; nil if there was none.
    package let version: Int?

    package init(act: String, at: Instant, copy: Int?, version: Int?) {
        self.act = act
        self.at = at
        self.copy = copy
        self.version = version
    }
}

/// A version that this device's next commit will pin.
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
