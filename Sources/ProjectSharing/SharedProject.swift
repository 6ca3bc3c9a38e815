import CloudStore
public import RecordZones
public import SnapshotModel
public import StrictText

/// A project in a list, without its items.
public struct SharedProject: Hashable, Sendable, Identifiable {
    public let id: String
    public let title: String
    /// Empty if there is no detail text.
    public let detail: String
    public let isClosed: Bool
    /// The owner's name under which it was shared.
    public let owner: String
    /// The device that first shared it. Only this device may replace or remove it. nil if the cloud no longer knows it.
    public let device: String?
    /// When it was first shared, by the commit's timestamp. Lists are sorted by it.
    public let sharedAt: Instant?
    /// When it was last replaced.
    public let changedAt: Instant?
    public let itemCount: Int
}

/// A project with its items.
public struct SharedProjectContents: Hashable, Sendable {
    public let project: SharedProject
    /// In the owner's order.
    public let items: [SharedItem]
}

/// One page of a list of projects, newest first.
public struct SharedProjectPage: Sendable {
    public let projects: [SharedProject]
    /// The names of project records that this version cannot read.
    public let unreadable: [String]
    /// Continues with the next page; nil if this is the last one.
    public let cursor: QueryCursor?
}

/// Whether a project is shared in the cloud.
public enum SharedProjectStatus: String, Sendable, Encodable, CaseIterable {
    /// The cloud is being asked.
    case checking
    case exists
    case absent
}

/// The load state of a list, for a screen that shows it.
public enum LoadState: String, Sendable, Encodable, CaseIterable {
    /// Not loaded yet, or loading failed and there is nothing to show.
    case inactive
    /// Being loaded, for the first time or again.
    case loading
    /// Loaded, with content.
    case success
    /// Loaded, without content.
    case noResults
}
