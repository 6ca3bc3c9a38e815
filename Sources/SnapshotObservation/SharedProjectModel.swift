public import CloudStore
public import Observation
public import ProjectSharing
public import SnapshotModel

/// One shared project as a user interface shows it: its items, its comments, and to its owner whether it is shared.
///
///     @State var project = SharedProjectModel(of: "garden", in: sharing)
///     …
///     List(project.items) { item in Text(item.title) }
///         .task { await project.run() }
///     Button("Share") { Task { await project.publish(draft, owner: name) } }
@MainActor @Observable public final class SharedProjectModel: Identifiable {
    /// The project's id.
    public nonisolated let id: String
    /// Whether it is shared; `checking` until the first answer.
    public private(set) var status = SharedProjectStatus.checking
    /// How far the project and its items have come.
    public private(set) var state = LoadState.inactive
    /// The project; nil if it is not shared, or was not loaded yet.
    public private(set) var project: SharedProject?
    /// In the order in which their owner has them.
    public private(set) var items: [SharedItem] = []
    /// Why the last load or action failed; nil if it did not. What was there stays.
    public private(set) var failure: PresentableError?
    /// The comments on it.
    public let comments: CommentsModel

    @ObservationIgnored private let sharing: ProjectSharing
    @ObservationIgnored private let language: ErrorLanguage

    /// A project that is loaded when ``load()`` or ``run(every:)`` is called.
    ///
    /// - Parameter language: the language of ``failure``.
    public init(of id: String, in sharing: ProjectSharing, language: ErrorLanguage = .preferred) {
        self.id = id
        self.sharing = sharing
        self.language = language
        comments = CommentsModel(on: id, in: sharing, language: language)
    }

    /// Loads the project, its items and its comments, or loads them anew.
    public func load() async {
        guard await look(after: nil) else { return }
        await comments.reload()
    }

    /// Shares the project, or replaces what is shared.
    public func publish(_ draft: ProjectDraft, owner: String) async {
        _ = await look(after: { [sharing] in _ = try await sharing.publish(draft, owner: owner) })
    }

    /// Removes the project with its items and comments.
    public func remove() async {
        _ = await look(after: { [sharing, id] in _ = try await sharing.remove(id) })
    }

    /// Loads everything, and loads it anew whenever another device changes something, until the task is cancelled.
    ///
    /// - Parameter interval: how long to wait between two looks at a cloud that reports no events.
    public func run(every interval: Duration = .seconds(2)) async {
        await SharedChanges.follow(sharing, every: interval, failed: { failure = PresentableError($0, in: language) }) { await load() }
    }

    /// Does something, looks, and shows both.
    ///
    /// - Returns: whether the project is shared.
    private func look(after action: (@Sendable () async throws -> Void)?) async -> Bool {
        if project == nil { state = .loading }
        if action != nil { status = .checking }
        var error: (any Error)?
        do { try await action?() } catch let thrown { error = thrown }
        do {
            let contents = try await sharing.contents(of: id)
            project = contents.project
            if items != contents.items { items = contents.items }
            (status, state) = (.exists, .success)
        } catch let thrown as CloudError where thrown.code == .unknownItem {
            (project, items) = (nil, [])
            (status, state) = (.absent, .noResults)
        } catch let thrown {
            // Nobody knows whether it is shared; what was there stays.
            status = .checking
            state = project == nil ? .inactive : .success
            error = error ?? thrown
        }
        failure = error.map { PresentableError($0, in: language) }
        return status == .exists
    }
}
