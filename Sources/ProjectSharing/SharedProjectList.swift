public import CloudStore
public import RecordZones

/// The list of shared projects for a screen that shows it. It is loaded once, page by page, and has a load state.
///
///     let list = SharedProjectList(of: sharing)
///     Task { for await shown in list.values { render(shown.state, shown.projects) } }
///     await list.load()                            // each time the screen appears; loads once
///     await list.loadMore()                        // at the end of the list
///
/// Failures do not throw: they are part of the shown values, and the projects shown before are kept.
public actor SharedProjectList {
    /// The values for the screen.
    public struct Shown: Sendable {
        public internal(set) var state = LoadState.inactive
        /// Newest first.
        public internal(set) var projects: [SharedProject] = []
        /// Whether ``SharedProjectList/loadMore()`` would add projects.
        public internal(set) var hasMore = false
        /// Why the last load failed; nil if it succeeded.
        public internal(set) var failure: PresentableError?
    }

    private let sharing: ProjectSharing
    private let pageSize: Int
    private let observed = ObservedValue(Shown())
    private var cursor: QueryCursor?
    private var isBusy = false

    /// Makes a list. Call ``load()`` to load it.
    ///
    /// - Parameter pageSize: the number of projects in a page, at least 1.
    public init(of sharing: ProjectSharing, pageSize: Int = 20) {
        self.sharing = sharing
        self.pageSize = max(1, pageSize)
    }

    /// The present values.
    public nonisolated var shown: Shown { observed.current }

    /// The present values, and each later change.
    public nonisolated var values: AsyncStream<Shown> { observed.values() }

    /// Loads the first page, unless it is already loaded or being loaded.
    public func load() async {
        guard shown.state == .inactive else { return }
        await reload()
    }

    /// Loads the first page again, for example after a pull to refresh.
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
            // A project that was removed and shared again between two pages must not appear twice.
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
