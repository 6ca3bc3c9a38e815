package import Foundation
package import SnapshotModel
package import StrictText

/// The state of one tracked change on its way to the publisher.
package struct OutboxEntry: Sendable, Hashable {
    package enum State: String, Sendable {
        /// The message is recorded here; its file may or may not be in the mailbox.
        case stored
        /// Its file is in the mailbox.
        case sent
        /// It may have been sent, and its answer may have been missed, because the commits since then were pruned.
        case doubtful
        /// A commit says that it was applied. The part of the change that it does not carry stays on this device.
        case applied
        /// A commit says that it was refused. It is not sent again until the entity is edited again.
        case refused
        /// No message type carries the change.
        case local
        /// The row equals that of the version that it was compared with.
        case same
    }

    /// The beginning of ``reason``, as it is stored, for a row that no version can have as it is.
    package static let unfit = "the row cannot travel"

    /// Values of ``reason``, as they are stored, for a row that is another one than the version's row of its key, if that has one: only columns that are edited here from
    /// then on may be patched.
    package enum OtherRow {
        package static let new = "no message adds a row to this dataset"
        package static let newNotification = "no message type creates a notification"
        package static let sameKey = "the version has another row with this key"
        package static let outlived = "the version has another state of the row, and messages would undo it"
        static let all = [new, newNotification, sameKey, outlived]
    }

    /// The order in which entries were created.
    package let number: Int64
    /// The message's id; nil if there is no message.
    package let id: String?
    /// The dataset's name; nil for a message without a dataset.
    package let dataset: String?
    package let key: EntityKey?
    /// The tracked change's sequence number; 0 for a message without a change.
    package let sequence: Int64
    package let state: State
    /// Whether the message carries all of the change.
    package let coversAll: Bool
    /// The message's JSON.
    package let body: Data?
    /// Why no message carries the change, or why it was refused.
    package let reason: String?
    /// Whether the message may have left this device: its file may be in the mailbox, or an application may have sent it.
    package let mayBeOut: Bool
}

/// A tracked change that has no message yet.
package struct UnsentChange: Sendable, Hashable {
    package let key: EntityKey
    package let sequence: Int64
    package let instant: Instant
    package let isDeletion: Bool
    /// Whether the change touched at most columns that a message changes by themselves.
    package let isMark: Bool
    /// Whether nothing was edited, but the row has values in columns that the version does not describe.
    package let isCarried: Bool
    /// The instant of what the change replaced; nil if there was nothing, or if it is not known.
    package let base: Instant?

    init(_ change: TrackedChange, sequence: Int64) {
        key = change.key
        self.sequence = sequence
        instant = change.instant
        isDeletion = change.isDeletion
        isMark = change.isMark
        isCarried = change.isCarried
        base = change.base
    }
}

/// An outbox entry about an entity that has a tracked change: an unanswered message, or the entry of the change itself.
package struct SentChange: Sendable, Hashable {
    package let key: EntityKey
    /// Whether the entry belongs to the tracked change itself, not to an earlier one.
    package let isCurrent: Bool
    package let state: OutboxEntry.State
    package let coversAll: Bool
    package let body: Data?
}
