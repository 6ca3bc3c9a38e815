import CloudStore
import LocalStore
package import LocalTables
import Logging
package import SnapshotModel
import SnapshotVersions
package import StrictText

// Guards: checks that can refuse a run before it changes anything. A guard changes nothing. ``ExportRun`` and ``ImportRun`` call theirs in order;
// each throws ``SyncError`` with `.refused`, or with `.tryAgainLater` if waiting helps.
extension SyncContext {
    /// Refuses to publish from a reader.
    package func verifyRole() throws {
        guard !settings.role.publishes else { return }
        throw SyncError(
            .refused, step: .read, at: database.path, "this device is a \(settings.role.rawValue): read-only",
            hint: "publish from the writer; a reader imports"
        ).asSlip
    }

    /// Refuses to publish before the database has imported the zone's newest version: the publication would replace data that the database does
    /// not know.
    ///
    /// - Parameter isOneOfMany: whether other devices publish in the zone as well.
    func verifyNewest(_ upstream: UpstreamChanges, isOneOfMany: Bool) async throws {
        guard upstream.isBehind, let newest = upstream.changes.token else { return }
        let place = zone.place
        _ = try await checkIdentity(applied: upstream.applied, commits: upstream.changes.commits)
        if isOneOfMany, upstream.applied != nil {
            throw SyncError(
                .tryAgainLater, step: .fetch, at: place, "it has version \(newest.number), which this database has not imported yet",
                hint: "run snapsync sync, which imports, merges and publishes")
        }
        throw SyncError(
            .refused, step: .fetch, at: place,
            upstream.applied == nil
                ? "it has data that this database has not imported; publishing would replace them" : "version \(newest.number) did not come from this database",
            hint: "run snapsync import first")
    }

    /// Refuses a database's first publication before its first import, unless the database made the zone.
    ///
    /// If a database is created again under its old name, its zone exists already. The zone may look empty because a sync tool is still
    /// delivering the files. A first version published then would take the number of another one, or replace data that the database does not know.
    func verifyFirstPublish(after applied: AppliedVersion?) throws {
        guard applied == nil, let note = try database.read({ try $0.state.bootstrapNote() }), !note.madeZone else { return }
        throw SyncError(
            .refused, step: .announce, at: zone.place,
            "the zone has no version yet, and this database did not make it: versions of other devices may still be on their way",
            hint:
                "if a sync tool delivers the files, wait and run snapsync import; if this database is the first: snapsync device claim \(database.path.shellWord)"
        )
    }
}

/// Refuses to publish while the device's clock is not set: the wrong time would become the timestamp of every entity that is changed.
///
/// The cloud compares the clock with its own time when the commit is put in place (`clockUnusable`).
package enum ClockGuard {
    /// The years 2000 to 2100.
    private static let plausible = Instant(microseconds: 946_684_800_000_000)...Instant(microseconds: 4_102_444_800_000_000)

    /// Whether a clock is between the years 2000 and 2100.
    static func isPlausible(_ clock: Instant) -> Bool { plausible.contains(clock) }

    /// Refuses a clock outside 2000 to 2100, before anything is read or written.
    ///
    /// - Throws: ``SyncError`` with `.refused`.
    package static func verify(_ clock: Instant) throws {
        guard !isPlausible(clock) else { return }
        throw SyncError(
            .refused, step: .open, at: "clock", "this device's clock says \(clock); nothing was published",
            hint: "set the clock, then try again; what was changed meanwhile is not lost")
    }
}

extension SyncContext {
    /// Corrects changes that were tracked while the clock ran ahead: their instants are no longer in the future, now that the clock is right.
    ///
    /// Call this after the run knows what this device's last commit contains, and before it sends, merges or publishes anything. If the clock is
    /// not set, or a day off the cloud's clock, nothing changes. If no instant is in the future, this costs two reads of small tables.
    package func correctFutureInstants() async throws {
        let now = now()
        guard ClockGuard.isPlausible(now), try database.read({ try $0.futureInstants.exist(of: settings.datasets, now: now) })
        else { return }
        // Not every cloud has a clock. Without one, trust the device's clock.
        if let there = try? await cloud.storeClock(in: zone), (try? CommitClock.verify(now, against: there)) == nil { return }
        try database.write { try $0.futureInstants.correct(of: settings.datasets, now: now) }
        logger.info("changes had instants in the future of this device's clock; they count as changed now")
    }

    /// Refuses a clock that prevents publishing, before anything changes in the database.
    ///
    /// - Throws: ``SyncError`` with `.refused`: the clock is outside 2000 to 2100, or a day or more off the cloud's own.
    package func verifyClock() async throws {
        let now = now()
        try ClockGuard.verify(now)
        guard let there = try? await cloud.storeClock(in: zone) else { return }
        try CommitClock.verify(now, against: there)
    }
}

/// Checks that refuse before anything is changed.
package enum SyncGuards {
    /// Refuses a table with a column that must have a value and that the dataset does not describe: an import cannot insert rows.
    package static func refuseUnfillableColumns(_ shape: TableShape, _ schema: DatasetSchema, at database: String) throws {
        guard let column = shape.unfillableColumns.first else { return }
        throw SyncError(
            .refused, step: .open, at: "\(database), table \(schema.table)",
            "dataset \(schema.name) does not describe the column \(column), which is NOT NULL and has no default, so an import cannot insert rows",
            hint:
                "if nobody needs the column any more: sqlite3 \(database.shellWord) \("ALTER TABLE \(schema.table.sqlIdentifier) DROP COLUMN \(column.sqlIdentifier)".shellWord); else give it a default, or let it be NULL; or describe it"
        )
    }

    /// Refuses to publish if the device's dataset file lacks fields of the zone's data: the publication would lose them.
    package static func refuseUnknownFields(_ states: [DatasetState]) throws {
        guard let state = states.first(where: { !$0.unknownFields.isEmpty }) else { return }
        throw SyncError(
            .refused, step: .read, at: "dataset \(state.name)",
            "the entities that were imported have fields that this device does not know (\(state.unknownFields.joined(separator: ", "))); publishing would lose them",
            hint: "snapsync tables adopt --create takes them over; or update snapsync on this device")
    }

    /// Refuses to put the rows of a file in the place of the table's if there are unpublished changes, which would be lost.
    static func refuseReplacingChanges(_ transaction: LocalTransaction, of schema: DatasetSchema, at database: String) throws {
        let count = try transaction.changeLog.summary(of: schema).count
        guard count > 0 else { return }
        throw SyncError(
            .refused, step: .apply, at: "\(database), table \(schema.table)",
            "\(Format.count(count, "entity was", or: "entities were")) changed here and \(Format.word(count, "is", or: "are")) in no version yet; the file would replace \(Format.word(count, "it", or: "them"))",
            hint: "publish first: snapsync sync")
    }
}
