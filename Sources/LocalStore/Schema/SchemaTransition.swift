import GRDB
package import SnapshotModel
import StrictText

/// Switches the toolkit's tables to another description of a dataset, in one transaction, without losing a tracked change.
package struct SchemaTransition: TransactionPart {
    let transaction: LocalTransaction

    /// Switches from one description to another of the same dataset with the same key.
    ///
    /// Consolidates the log first. If the triggers were as expected, replaces them and keeps the tracking complete. Rows with values in new
    /// columns count as changed here, as they do after an import of a version without the columns; at a reader only if the version lacks them.
    ///
    /// - Parameters:
    ///   - before: the previous description, with the names that the table and its columns have now.
    ///   - after: the new description.
    ///   - publishes: whether this device publishes.
    package func take(_ before: DatasetSchema, as after: DatasetSchema, publishes: Bool) throws {
        let names = Set(before.columns.map(\.name.exact)), added = after.columns.filter { !names.contains($0.name.exact) }
        let remaining = Set(after.columns.map(\.name.exact)), removed = names.subtracting(remaining), new = remaining.subtracting(names)
        let both = try after.with(columns: after.columns.filter { names.contains($0.name.exact) })
        if try transaction.tracking.hasTables(), try trackingID(before) != nil {
            try transaction.changeLog.consolidate(of: [both])
            try transaction.tracking.replaceTriggers(of: before, with: after)
            try transaction.changeLog.renumberColumns(of: before, as: after)
        }
        let gone = try transaction.state.removedColumns(of: after).union(removed).subtracting(new)
        try transaction.state.setRemovedColumns(gone, of: after)
        // A removed column that still exists here was removed on another device. One that the application dropped and later adds again counts as
        // new.
        let here = Set(try transaction.tables.differences(from: after).newColumns.map(\.exact))
        let left = try transaction.state.leftColumns(of: after).union(before.columns.filter { removed.contains($0.name.exact) }.map(\.column.exact))
        try transaction.state.setLeftColumns(left.intersection(here), of: after)
        guard try transaction.state.applied() != nil, let state = try transaction.datasetStates.all().first(where: { $0.name == after.name }) else { return }
        try transaction.state.setDescribedColumns(transaction.state.describedColumns(of: after).subtracting(new), of: after)
        let unseen = new.intersection(state.unknownFields.map(\.exact))
        let known = Set(try transaction.state.missingColumns(of: after).map(\.exact))
        // The instants in a change asset depend on the choice of the timestamp, so after another choice the next version is a snapshot asset.
        let isRestamped = before.timestamp?.exact != after.timestamp?.exact || before.timestampUnit != after.timestampUnit
        let restamped = isRestamped && publishes ? [before.timestamp ?? after.timestamp].compactMap { $0?.exact } : []
        // No reader misses a column that no version has had.
        let missing = known.union(new).subtracting(unseen).union(removed).subtracting(known.intersection(removed))
            .union(restamped)
        try transaction.state.setMissingColumns(missing.sorted().map(\.text), of: after)
        try transaction.state.setUnseenColumns(
            transaction.state.unseenColumns(of: after).union(unseen).subtracting(removed), of: after)
        try transaction.datasetStates.set(
            DatasetState(
                name: state.name, syncTimestamp: state.syncTimestamp, recordCount: state.recordCount,
                unknownFields: state.unknownFields.filter { !unseen.contains($0.exact) }))
        if let id = try trackingID(after), !unseen.isEmpty {
            // What an edit of a whole row has in a column that the version has as well is no edit.
            let columns = after.columns.indices.filter { !unseen.contains(after.columns[$0].name.exact) }.map(String.init).joined(separator: " ")
            try db.execute(
                sql: "UPDATE snapsync_changes SET changed = ? WHERE dataset = ? AND changed IS NULL AND isNew <> \(TrackedOrigin.new)",
                arguments: [columns, id])
        }
        // What a reader's table has in columns that the version has as well is no edit of it: the version's values come.
        if publishes { try CarriedColumns.track(added.filter { unseen.contains($0.name.exact) }, of: after, in: transaction, order: .before) }
        try CarriedColumns.track(
            added.filter { !unseen.contains($0.name.exact) }, of: after, in: transaction, order: .after, as: CarriedColumns.cause(publishes: publishes))
    }

    /// Ends the tracking of a dataset that this device no longer syncs. Its rows stay.
    package func end(_ schema: DatasetSchema) throws {
        try transaction.tracking.remove(schema)
        try transaction.state.setMissingColumns([], of: schema)
        try transaction.state.setUnseenColumns([], of: schema)
        try transaction.state.setDescribedColumns([], of: schema)
        try transaction.state.setRemovedColumns([], of: schema)
        try transaction.state.setLeftColumns([], of: schema)
        try transaction.state.setKnownRecord(nil, of: schema)
        try db.execute(sql: "DELETE FROM snapsync_datasets WHERE name = ?", arguments: [schema.name])
    }
}
