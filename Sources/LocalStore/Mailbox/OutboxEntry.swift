package import Foundation
package import SnapshotModel
package import StrictText

/// What became of one tracked change on its way to the publisher.
package struct OutboxEntry: Sendable, Hashable {
    package enum State: String, Sendable {
        /// The message is written down here; its file may or may not be in the mailbox.
        case stored
        /// Its file is in the mailbox.
        case sent
        /// It may have been sent, and its answer may have been missed, for the commits since were pruned.
        case doubtful
        /// A commit says that it was applied; what it does not carry stays an overlay.
        case applied
        /// A commit says that it was refused: not sent again until the entity is edited again.
        case refused
        /// No message type carries the change.
        case local
        /// The row is as the version that it was compared with.
        case same
    }

    /// The order in which entries were made.
    package let number: Int64
    /// The message's id; nil where there is no message.
    package let id: String?
    /// The dataset's name; nil for a message about none.
    package let dataset: String?
    package let key: EntityKey?
    /// The tracked change's sequence number; 0 for a message about none.
    package let sequence: Int64
    package let state: State
    /// Whether the message carries all of the change.
    package let coversAll: Bool
    /// The message's JSON.
    package let body: Data?
    /// Why no message carries the change, or why it was refused.
    package let reason: String?
    /// Whether the message may have left this device: its file may be in the mailbox, or an application has carried it.
    package let mayBeOut: Bool
}

/// A tracked change that no message was made of yet.
package struct UnsentChange: Sendable, Hashable {
    package let key: EntityKey
    package let sequence: Int64
    package let instant: Instant
    package let isDeletion: Bool
    /// Whether at most the columns were changed since the applied version that a message changes by themselves.
    package let isMark: Bool
    /// Whether nothing was edited, and the row has values in columns that the version does not describe.
    package let isCarried: Bool
    /// The instant of what the change replaced; nil where there was nothing, or it is not known.
    package let base: Instant?
}

/// An entry about an entity that has a tracked change: a message without an answer, or the entry of the very change.
package struct SentChange: Sendable, Hashable {
    package let key: EntityKey
    /// Whether the entry is of the tracked change itself, not of one before it.
    package let isCurrent: Bool
    package let state: OutboxEntry.State
    package let coversAll: Bool
    package let body: Data?
}
