public import CloudStore
public import Observation
public import SnapshotEngine
public import SnapshotHistory
import SnapshotTools
import SnapshotVersions

/// The edits of a database that lost to others, for a user interface, with two actions: bring an edit back, or dismiss it.
///
///     List(sync.conflicts.entries) { entry in
///         ConflictRow(entry)
///         Button("Bring back") { Task { await sync.conflicts.take(entry.id) } }
///     }
@MainActor @Observable public final class ConflictsModel {
    /// The open entries, oldest first.
    public private(set) var entries: [ConflictsReport.Entry] = []
    /// The number of open entries that were removed because they were too old or the journal was full.
    public private(set) var removed = 0
    /// Why the last action failed; nil if it succeeded.
    public private(set) var failure: PresentableError?

    @ObservationIgnored private let engine: SyncEngine
    @ObservationIgnored private let language: ErrorLanguage

    /// Creates a model of a database's conflict journal. It is empty until ``refresh()``.
    ///
    /// - Parameter language: the language of ``failure``.
    public init(_ engine: SyncEngine, language: ErrorLanguage = .preferred) { (self.engine, self.language) = (engine, language) }

    /// Reads the journal. A ``SyncModel`` calls this after each of its runs. If the journal cannot be read, the entries stay as they are; the
    /// runs report the reason.
    public func refresh() async {
        guard let report = try? await Self.offMainActor({ [engine] in try engine.conflicts.list() }) else { return }
        // Observation notifies for every assignment, and after most runs nothing has changed.
        if report.conflicts.map(\.id) != entries.map(\.id) { entries = report.conflicts }
        removed = report.removed
    }

    /// Brings an edit back as a new edit, which the next sync publishes or sends.
    public func take(_ id: Int64, to place: SyncConflicts.Place = .usual) async { await change { _ = try $0.conflicts.take(id, to: place) } }

    /// Removes one entry from the list, or all of them.
    public func clear(_ id: Int64? = nil) async { await change { _ = try $0.conflicts.clear(id) } }

    private func change(_ body: @escaping @Sendable (SyncEngine) throws -> Void) async {
        do {
            try await Self.offMainActor { [engine] in try body(engine) }
            failure = nil
        } catch {
            failure = PresentableError(error, in: language)
        }
        await refresh()
    }

    // SQLite may wait for a lock, and the main actor must not wait.
    private nonisolated static func offMainActor<T: Sendable>(_ body: @Sendable () throws -> T) async throws -> T {
        try await WorkerThreads.host { try body() }
    }
}
