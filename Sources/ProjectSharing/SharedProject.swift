public import SnapshotModel
public import StrictText

/// A project as everybody sees it in a list, without its items.
public struct SharedProject: Hashable, Sendable, Identifiable {
    public let id: String
    public let title: String
    /// Empty if there is nothing to say.
    public let detail: String
    public let isClosed: Bool
    /// The name under which its owner shared it.
    public let owner: String
    /// The device that shared it first, and that alone may replace or remove it; nil if the cloud no longer knows.
    public let device: String?
    /// When it was shared first, by the commits' clock: lists go by it.
    public let sharedAt: Instant?
    /// When it was last replaced.
    public let changedAt: Instant?
    public let itemCount: Int
    /// Which of the project's publications its items belong to.
    let generation: String
}

/// A project with its items, all of one publication.
public struct SharedProjectContents: Hashable, Sendable {
    public let project: SharedProject
    /// In the order in which their owner has them.
    public let items: [SharedItem]
}
