public import CloudStore
public import Observation
public import ProjectSharing
public import SnapshotModel

/// One shared project for a user interface: its items, its comments, and for its owner whether it is shared.
///
///     @State var project = SharedProjectModel(of: "garden", in: sharing)
///     …
///     List(project.items) { item in Text(item.title) }
///         .task { await project.run() }
///     Button("Share") { Task { await project.publish(draft, owner: name) } }
@MainActor @Observable public final class SharedProjectModel: Identifiable {
    /// The project's id.
    public nonisolated let id: String
    /// Whether the project is shared; `checking` until this is known.
    public private(set) var status = SharedProjectStatus.checking
    /// The loading state of the project and its items.
    public private(set) var state = LoadState.inactive
    /// The project; nil if it is not shared or not loaded yet.
    public private(set) var project: SharedProject?
    /// The items in their owner's order.
    public private(set) var items: [SharedItem] = []
    /// Why the last load or action failed; nil if it succeeded. Loaded data stays.
    public private(set) var failure: PresentableError?
    /// The comments on the project.
    public let comments: CommentsModel

    @ObservationIgnored private let sharing: ProjectSharing
    @ObservationIgnored private let language: ErrorLanguage

    /// Creates a model of a project. ``load()`` or ``run(every:)`` loads it.
    ///
    /// - Parameter language: the language of ``failure``.
    public init(of id: String, in sharing: ProjectSharing, language: ErrorLanguage = .preferred) {
        self.id = id
        self.sharing = sharing
        self.language = language
        comments = CommentsModel(on: id, in: sharing, language: language)
    }

    /// Loads the project, its items and its comments, also if they are loaded already.
    public func load() async {
        guard await look(after: nil) else { return }
        await comments.reload()
    }

    /// Shares the project, or replaces its shared version.
    public func publish(_ draft: ProjectDraft, owner: String) async {
        _ = await look(after: { [sharing] in _ = try await sharing.publish(draft, owner: owner) })
    }

    /// Removes the project with its items and comments.
    public func remove() async {
        _ = await look(after: { [sharing, id] in _ = try await sharing.remove(id) })
    }

    /// Loads everything, and loads it again whenever another device changes something, until the task is cancelled.
    ///
    /// - Parameter interval: how often to poll a cloud that reports no events.
    public func run(every interval: Duration = .seconds(2)) async {
        await SharedChanges.follow(sharing, every: interval, failed: { failure = PresentableError($0, in: language) }) { await load() }
    }

    /// Runs an action, loads the project, and shows both results.
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
            // It is unknown whether the project is shared. Keep the loaded data.
            status = .checking
            state = project == nil ? .inactive : .success
            error = error ?? thrown
        }
        failure = error.map { PresentableError($0, in: language) }
        return status == .exists
    }
}
