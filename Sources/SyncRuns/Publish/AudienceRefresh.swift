import Foundation
import LocalStore
import LocalTables
package import MaterializedViews
package import SnapshotModel
package import StrictText

extension MaterializedViews {
    /// Lists the audience in the source, which syncs it from then on.
    package func register(connectionSetup: ConnectionSetup?) throws {
        try update(connectionSetup) { $0.insert($1) }
    }

    /// Removes the audience from the source's list. Without the source, there is nothing to do.
    package func unregister(connectionSetup: ConnectionSetup?) throws {
        do { try update(connectionSetup) { $0.remove($1) } } catch let error as SyncError where error.database == .notFound {}
    }

    private func update(_ setup: ConnectionSetup?, _ change: (inout Set<ExactText>, ExactText) -> Void) throws {
        let other = try LocalDatabase(path: source, setup: setup)
        let (known, isSetUp) = try other.read { try $0.settings.exists() ? ($0.state.audiences(), true) : ([], false) }
        guard isSetUp else { return }
        var names = known
        change(&names, ExactText(Self.name(database.path, besides: source)))
        if names != known { try other.write { try $0.state.audiences.set(names) } }
    }
}

extension SyncContext {
    /// Refreshes the tables of an audience; nothing in other databases.
    ///
    /// - Parameter refuses: whether edits of readers that the source did not take, or has replaced, count as refused.
    /// - Returns: sentences about edits that the source did not take.
    package func refreshViews(refusing refuses: Bool = false) throws -> [String] {
        guard settings.role.publishes, let views = try MaterializedViews(database) else { return [] }
        try views.register(connectionSetup: database.setup)
        let notices = try views.refresh(edited: settings.edited)
        if refuses { try database.write { for schema in settings.datasets { try $0.changeLog.refuseOverwritten(of: schema) } } }
        return notices
    }

    /// What the next refresh of an audience would write into its tables; nothing in other databases.
    package func pendingViews() throws -> [ViewChanges] {
        settings.role.publishes ? try MaterializedViews(database)?.pending(edited: settings.edited) ?? [] : []
    }
}

extension SyncSettings {
    /// The tables that readers may edit, in lower case.
    package var edited: Set<ExactText> { Set(datasets.filter { !$0.messages.isEmpty }.map(\.table.folded)) }
}
