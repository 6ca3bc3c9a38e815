public import CloudStore
public import Observation
public import ProjectSharing

/// The list of shared projects for a user interface, page by page.
///
///     @State var projects = SharedProjectsModel(of: sharing)
///     …
///     List(projects.projects) { project in Text(project.title) }
///         .task { await projects.run() }
///         .refreshable { await projects.reload() }
@MainActor @Observable public final class SharedProjectsModel {
    /// The loading state of the list.
    public private(set) var state = LoadState.inactive
    /// The projects, newest first.
    public private(set) var projects: [SharedProject] = []
    /// Whether ``loadMore()`` can load more projects.
    public private(set) var hasMore = false
    /// Why the last load failed; nil if it succeeded. Loaded data stays.
    public private(set) var failure: PresentableError?

    @ObservationIgnored private let sharing: ProjectSharing
    @ObservationIgnored private let list: SharedProjectList
    @ObservationIgnored private let language: ErrorLanguage

    /// Creates a model of the list. ``load()`` or ``run(every:)`` loads it.
    ///
    /// - Parameters:
    ///   - pageSize: the number of projects in a page, at least 1.
    ///   - language: the language of ``failure``.
    public init(of sharing: ProjectSharing, pageSize: Int = 20, language: ErrorLanguage = .preferred) {
        self.sharing = sharing
        self.language = language
        list = SharedProjectList(of: sharing, pageSize: pageSize)
    }

    /// Loads the first page, unless it is loaded already.
    public func load() async { await show { await $0.load() } }

    /// Loads the first page again.
    public func reload() async { await show { await $0.reload() } }

    /// Loads the next page, if there is one.
    public func loadMore() async { await show { await $0.loadMore() } }

    /// Loads the list, and loads it again whenever another device changes something, until the task is cancelled.
    ///
    /// - Parameter interval: how often to poll a cloud that reports no events.
    public func run(every interval: Duration = .seconds(2)) async {
        await SharedChanges.follow(sharing, every: interval, failed: { failure = PresentableError($0, in: language) }) { await reload() }
    }

    private func show(_ body: @Sendable (SharedProjectList) async -> Void) async {
        let watching = Task { for await _ in list.values { mirror() } }
        await body(list)
        watching.cancel()
        mirror()
    }

    private func mirror() {
        // Show the list's current state, not the state when this call was scheduled.
        let shown = list.shown
        state = shown.state
        if projects != shown.projects { projects = shown.projects }
        hasMore = shown.hasMore
        failure = shown.failure?.translated(to: language)
    }
}

/// Loads shared projects again after each change.
enum SharedChanges {
    /// Calls `load` now and after each change by another device, until the task is cancelled.
    ///
    /// - Parameter failed: called with the error if the zone's changes cannot be observed. The loaded data stays.
    @MainActor static func follow(
        _ sharing: ProjectSharing, every interval: Duration, failed: @MainActor (any Error) -> Void, load: @MainActor () async -> Void
    ) async {
        do {
            // Start observing before the first load, so that no change in between is missed.
            let changes = try await sharing.changes(every: interval)
            await load()
            for await _ in changes { await load() }
        } catch {
            await load()
            failed(error)
        }
    }
}
