public import CloudStore

/// The list of shared projects as a screen shows it: loaded once, page by page, with its state.
///
///     let list = SharedProjectList(of: sharing)
///     Task { for await shown in list.values { render(shown.state, shown.projects) } }
///     await list.load()                            // each time the screen appears; loads once
///     await list.loadMore()                        // at the end of the list
///
/// Failures do not throw: they are part of what is shown, and what was there stays.
public actor SharedProjectList {
    /// What a screen shows.
    public struct Shown: Sendable {
        public internal(set) var state = LoadState.inactive
        /// Newest first.
        public internal(set) var projects: [SharedProject] = []
        /// Whether ``SharedProjectList/loadMore()`` would bring more.
        public internal(set) var hasMore = false
        /// Why the last load failed; nil if it did not.
        public internal(set) var failure: PresentableError?
    }

    private let sharing: ProjectSharing
    private let pageSize: Int
    private let observed = ObservedValue(Shown())
    private var cursor: QueryCursor?
    private var isBusy = false

    /// A list that is loaded when ``load()`` is called.
    ///
    /// - Parameter pageSize: how many projects a page has, from 1.
    public init(of sharing: ProjectSharing, pageSize: Int = 20) {
        self.sharing = sharing
        self.pageSize = max(1, pageSize)
    }

    /// What is shown now.
    public nonisolated var shown: Shown { observed.current }

    /// What is shown now and each time it changes.
    public nonisolated var values: AsyncStream<Shown> { observed.values() }

    /// Loads the first page, unless it was loaded already or is on its way.
    public func load() async {
        guard shown.state == .inactive else { return }
        await reload()
    }

    /// Loads the first page anew: a pull to refresh.
    public func reload() async {
        let before = shown.state
        await fetch(restoring: before) { [sharing, pageSize] in
            try await sharing.projects(limit: pageSize)
        } apply: { shown, page in
            shown.projects = page.projects
        }
    }

    /// Loads the next page, if there is one.
    public func loadMore() async {
        guard let cursor else { return }
        await fetch(restoring: shown.state) { [sharing, pageSize] in
            try await sharing.projects(continuing: cursor, limit: pageSize)
        } apply: { shown, page in
            // A project that was removed and shared anew between two pages would come twice.
            let known = Set(shown.projects.map(\.id))
            shown.projects += page.projects.filter { !known.contains($0.id) }
        }
    }

    private func fetch(
        restoring before: LoadState, _ body: @Sendable () async throws -> SharedProjectPage, apply: (inout Shown, SharedProjectPage) -> Void
    ) async {
        guard !isBusy else { return }
        isBusy = true
        defer { isBusy = false }
        observed.change { $0.state = .loading }
        do {
            let page = try await body()
            cursor = page.cursor
            observed.change { shown in
                apply(&shown, page)
                shown.state = shown.projects.isEmpty ? .noResults : .success
                shown.hasMore = page.cursor != nil
                shown.failure = nil
            }
        } catch {
            observed.change { shown in
                shown.state = before
                shown.failure = PresentableError(error)
            }
        }
    }
}
