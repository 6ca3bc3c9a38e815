public import CloudStore
public import Observation
public import ProjectSharing

/// The list of shared projects as a user interface shows it, page by page.
///
///     @State var projects = SharedProjectsModel(of: sharing)
///     …
///     List(projects.projects) { project in Text(project.title) }
///         .task { await projects.run() }
///         .refreshable { await projects.reload() }
@MainActor @Observable public final class SharedProjectsModel {
    /// How far the list has come.
    public private(set) var state = LoadState.inactive
    /// Newest first.
    public private(set) var projects: [SharedProject] = []
    /// Whether ``loadMore()`` would bring more.
    public private(set) var hasMore = false
    /// Why the last load failed; nil if it did not. What was there stays.
    public private(set) var failure: PresentableError?

    @ObservationIgnored private let sharing: ProjectSharing
    @ObservationIgnored private let list: SharedProjectList
    @ObservationIgnored private let language: ErrorLanguage

    /// A list that is loaded when ``load()`` or ``run(every:)`` is called.
    ///
    /// - Parameters:
    ///   - pageSize: how many projects a page has, from 1.
    ///   - language: the language of ``failure``.
    public init(of sharing: ProjectSharing, pageSize: Int = 20, language: ErrorLanguage = .preferred) {
        self.sharing = sharing
        self.language = language
        list = SharedProjectList(of: sharing, pageSize: pageSize)
    }

    /// Loads the first page, unless it was loaded already.
    public func load() async { await show { await $0.load() } }

    /// Loads the first page anew.
    public func reload() async { await show { await $0.reload() } }

    /// Loads the next page, if there is one.
    public func loadMore() async { await show { await $0.loadMore() } }

    /// Loads the list, and loads it anew whenever another device changes something, until the task is cancelled.
    ///
    /// - Parameter interval: how long to wait between two looks at a cloud that reports no events.
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
        // What the list shows now, not what it showed when this was called for.
        let shown = list.shown
        state = shown.state
        if projects != shown.projects { projects = shown.projects }
        hasMore = shown.hasMore
        failure = shown.failure?.translated(to: language)
    }
}
