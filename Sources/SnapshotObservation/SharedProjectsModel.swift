public import CloudStore
public import Observation
public import ProjectSharing
import StrictText

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
    @ObservationIgnored private let pageSize: Int
    @ObservationIgnored private let language: ErrorLanguage
    @ObservationIgnored private var lastPage: SharedProjectPage?

    /// Creates a model of the list. ``load()`` or ``run(every:)`` loads it.
    ///
    /// - Parameters:
    ///   - pageSize: the number of projects in a page, at least 1.
    ///   - language: the language of ``failure``.
    public init(of sharing: ProjectSharing, pageSize: Int = 20, language: ErrorLanguage = .preferred) {
        self.sharing = sharing
        self.pageSize = max(1, pageSize)
        self.language = language
    }

    /// Loads the first page, unless it is loaded already.
    public func load() async { if state == .inactive { await reload() } }

    /// Loads the first page again.
    public func reload() async { await fetch(after: nil) }

    /// Loads the next page, if there is one.
    public func loadMore() async { if hasMore { await fetch(after: lastPage) } }

    /// Loads the list, and loads it again whenever another device changes something, until the task is cancelled.
    ///
    /// - Parameter interval: how often to poll a cloud that reports no events.
    public func run(every interval: Duration = .seconds(2)) async {
        await SharedChanges.follow(sharing, every: interval, failed: { failure = PresentableError($0, in: language) }) { await reload() }
    }

    private func fetch(after last: SharedProjectPage?) async {
        let before = state
        guard before != .loading else { return }
        state = .loading
        do {
            let page: SharedProjectPage
            if let cursor = last?.cursor {
                page = try await sharing.projects(continuing: cursor, limit: pageSize)
            } else {
                page = try await sharing.projects(limit: pageSize)
            }
            // A project that was removed and shared again between two pages must not appear twice.
            let earlier = last == nil ? [] : projects, known = Set(earlier.map(\.id.exact))
            let shown = earlier + page.projects.filter { !known.contains($0.id.exact) }
            if projects != shown { projects = shown }
            (lastPage, hasMore, failure) = (page, page.cursor != nil, nil)
            state = shown.isEmpty ? .noResults : .success
        } catch {
            (state, failure) = (before, PresentableError(error, in: language))
        }
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
