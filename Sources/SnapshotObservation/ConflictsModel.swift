public import CloudStore
public import Observation
public import SnapshotEngine
public import SnapshotTools
import SnapshotVersions

/// The edits of a database that lost to others, as a user interface shows them, with the two answers: bring it back, or let it go.
///
///     List(sync.conflicts.entries) { entry in
///         ConflictRow(entry)
///         Button("Bring back") { Task { await sync.conflicts.take(entry.id) } }
///     }
@MainActor @Observable public final class ConflictsModel {
    /// The open entries, oldest first.
    public private(set) var entries: [ConflictsReport.Entry] = []
    /// How many open entries were removed because they were too old, or because the journal was full.
    public private(set) var removed = 0
    /// Why the last action failed; nil if it did not.
    public private(set) var failure: PresentableError?

    @ObservationIgnored private let engine: SyncEngine
    @ObservationIgnored private let language: ErrorLanguage

    /// A model of a database's conflict journal; empty until ``refresh()``.
    ///
    /// - Parameter language: the language of ``failure``.
    public init(_ engine: SyncEngine, language: ErrorLanguage = .preferred) {
        self.engine = engine
        self.language = language
    }

    /// Reads the journal. A ``SyncModel`` does it after each of its runs. Where it cannot be read, what was there stays; the runs say why.
    public func refresh() async {
        guard let report = try? await Self.offMainActor({ [engine] in try engine.conflicts() }) else { return }
        // An observer is told of every write, and after most runs nothing has changed.
        if report.conflicts.map(\.id) != entries.map(\.id) { entries = report.conflicts }
        removed = report.removed
    }

    /// Brings an edit back as a new one, which the next sync publishes or sends.
    public func take(_ id: Int64, to place: SyncEngine.ConflictPlace = .usual) async { await change { _ = try $0.takeConflict(id, to: place) } }

    /// Takes an entry, or every one, off the list.
    public func clear(_ id: Int64? = nil) async { await change { _ = try $0.clearConflicts(id) } }

    private func change(_ body: @escaping @Sendable (SyncEngine) throws -> Void) async {
        do {
            try await Self.offMainActor { [engine] in try body(engine) }
            failure = nil
        } catch {
            failure = PresentableError(error, in: language)
        }
        await refresh()
    }

    // SQLite may wait for a lock; the main actor does not.
    private nonisolated static func offMainActor<T: Sendable>(_ body: @Sendable () throws -> T) async throws -> T {
        try await WorkerThreads.host { try body() }
    }
}
