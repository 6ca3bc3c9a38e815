import CloudStore
package import LocalStore
package import LocalTables
import SnapshotFormat
package import SnapshotModel
import SnapshotVersions
package import StrictText

/// Puts the edits of readers on a publisher's tables before an export reads any rows. Each edit is decided once.
///
/// Source: docs/internals/merge.md, "Who decides".
package struct EditReceiver: Sendable {
    let context: SyncContext

    package init(context: SyncContext) { self.context = context }

    /// The result of reading the mailbox.
    package struct Outcome: Sendable {
        /// Whether a reader asks for every dataset to be written whole.
        var asksForFullSync = false
        /// The number of edits that stand, wholly or in part.
        package var appliedCount = 0
        /// The number of edits of which nothing stands.
        package var refusedCount = 0
        /// The number of edits that were written to the conflict journal.
        var conflicts = LostEdits()
        var warnings: [String] = []
        /// Why the first refused edit was refused.
        package var refusal: String?
    }

    /// Edits after this are refused: no clock is so late that may send, if this device's may publish. Both may be a day off the store's.
    fileprivate static func latest(_ now: Instant) -> Instant { now.advanced(byMicroseconds: 2 * CommitClock.dayInMicroseconds) }

    /// Decides the waiting edits. A file that is no message is set aside and stops nothing.
    func run() async throws -> Outcome {
        let mailbox = try await context.cloud.mailbox(in: context.zone)
        var received = try read(mailbox.messages)
        if received.contains(where: { $0?.fault?.isOfOtherDataset == true }), let zone = try await zoneDatasets() {
            received = try read(mailbox.messages, zone: zone)
        }
        var outcome = Outcome(), setAside = mailbox.setAside.count + received.count { $0 == nil || $0?.fault != nil }
        var edits: [ExactText: [Int64: HandedOverEdit]] = [:]
        for message in received.compactMap(\.self) {
            for edit in message.edits { edits[message.sender.exact, default: [:]][edit.number] = edit }
        }
        let latest = Self.latest(context.now())
        // A clock that is too slow to publish refuses nothing.
        if edits.values.contains(where: { $0.values.contains { $0.at.map { $0 > latest } ?? false } }) { try await context.verifyClock() }
        for (sender, edits) in edits.sorted(by: { $0.key < $1.key }) {
            outcome += try apply(edits.values.sorted { $0.number < $1.number }, from: sender.text, at: context.now())
        }
        outcome.asksForFullSync = try context.database.read { try $0.state.isFullSyncRequested() }
        if setAside > 0 {
            outcome.warnings.append(
                "\(Format.count(setAside, "message")) in the mailbox \(Format.word(setAside, "was", or: "were")) set aside; snapsync pending says why")
        }
        if mailbox.unreadCount > 0 { outcome.warnings.append("\(mailbox.unreadCount) more messages wait; the next sync goes on with them") }
        return outcome
    }

    /// Reads messages; nil for a file that is none.
    private func read(_ messages: [CloudMessage], zone: Set<ExactText>? = nil) throws -> [ReceivedMessage?] {
        // One statement for each dataset, which a run without messages does not need.
        guard !messages.isEmpty else { return [] }
        let datasets = context.settings.datasets
        return try context.database.read { transaction in
            let removed = try transaction.state.removedColumns(of: datasets)
            return try messages.map { found in
                let decided = try transaction.decidedEdits.number(of: found.sender)
                return try? ReceivedMessage(found, datasets: datasets, removed: removed, decided: decided, zone: zone)
            }
        }
    }

    /// The names of the datasets that the zone has after this device's next version; nil before the first version.
    private func zoneDatasets() async throws -> Set<ExactText>? {
        guard let zone = try await SchemaUpdate(context: context).zoneState() else { return nil }
        let removed = try context.database.read { try $0.state.removedRecords() }
        let schemas = (DatasetSchema.builtIn + zone.descriptions.map(\.schema)).filter { schema in
            zone.state.record(schema.recordName) != nil && !removed.contains { $0.exact == schema.recordName.exact }
        }
        return Set(schemas.map(\.name.exact))
    }

    /// Puts the edits of one device on the tables, in one transaction, as far as they are not decided yet.
    ///
    /// - Parameter edits: in the order of their numbers.
    package func apply(_ edits: [HandedOverEdit], from sender: String, at now: Instant) throws -> Outcome {
        let known = try context.database.read { try $0.decidedEdits.number(of: sender) }
        guard let last = edits.last, last.number > known else { return Outcome() }
        return try put { transaction, choice in
            let known = try transaction.decidedEdits.number(of: sender)
            if edits.contains(where: { $0.number > known && $0.fullSync == true }) { try transaction.state.isFullSyncRequested.set(true) }
            try transaction.changeLog.consolidate(of: context.settings.datasets)
            let outcome = try DeviceEdits(edits, after: known, of: sender, context: context, transaction: transaction, now: now).put(choice)
            // The version that decides the edits also has those rows that are held.
            for schema in context.settings.datasets { try transaction.waiting.stage(schema) }
            try transaction.decidedEdits.decide(sender, upTo: last.number)
            return outcome
        }
    }

    /// Runs `body`, which puts edits on the tables, in one transaction. If a trigger rolls it back, finds the edit that it refuses, and runs `body`
    /// again without that one.
    package func put<T>(_ body: (LocalTransaction, EditChoice) throws -> T) throws -> T {
        let choice = EditChoice()
        while true {
            do {
                choice.limit = .max
                return try context.database.write { try body($0, choice) }
            } catch let error as EditRollback {
                // The first `fitting` rows pass, one more does not.
                var (fitting, failing, reason) = (0, choice.count, error.reason)
                while failing - fitting > 1 {
                    choice.limit = (fitting + failing) / 2
                    do {
                        _ = try context.database.holdingWriteLock { try body($0, choice) }
                        fitting = choice.limit
                    } catch let error as EditRollback {
                        (failing, reason) = (choice.limit, error.reason)
                    }
                }
                guard choice.refuse(fitting, reason) else { throw SyncError(.refused, step: .apply, at: context.database.path, reason) }
            }
        }
    }
}

extension EditReceiver.Outcome {
    static func += (left: inout Self, right: Self) {
        left.appliedCount += right.appliedCount
        left.refusedCount += right.refusedCount
        left.conflicts += right.conflicts
        left.warnings += right.warnings
        left.refusal = left.refusal ?? right.refusal
    }
}

/// Which rows' edits a transaction puts on the tables, in the order in which the edits came. Used on one thread.
package final class EditChoice {
    /// How many rows' edits are put, of those that were not refused.
    fileprivate(set) var limit = Int.max
    private var places: [RowPlace] = []
    private(set) var refused: [RowPlace: String] = [:]

    var count: Int { places.count }

    /// The edits to put now.
    fileprivate func accept(_ edits: [(place: RowPlace, edit: Edit)]) -> [(place: RowPlace, edit: Edit)] {
        var known: Set<RowPlace> = []
        places = edits.map(\.place).filter { refused[$0] == nil && known.insert($0).inserted }
        let chosen = Set(places.prefix(limit))
        return edits.filter { chosen.contains($0.place) }
    }

    /// Leaves a row out from now on. Returns false if there is none at that position.
    fileprivate func refuse(_ position: Int, _ reason: String) -> Bool {
        guard places.indices.contains(position) else { return false }
        refused[places[position]] = reason
        return true
    }
}

/// The edits of one device on their way onto the tables. Used within one transaction.
package struct DeviceEdits {
    private let edits: [(place: RowPlace, edit: Edit)]
    /// What the device may not do, each with the reason.
    private let forbidden: [(place: RowPlace, edit: Edit, reason: String)]
    /// The edits of datasets that the zone does not have.
    private var gone: [HandedOverEdit] = []
    private let sender: String
    private let context: SyncContext
    private let transaction: LocalTransaction
    private let now: Instant
    private var datasets: [DatasetSchema] { context.settings.datasets }

    /// - Parameters:
    ///   - known: the number up to which the device's edits are decided.
    ///   - sender: the device that made the edits.
    init(_ handedOver: [HandedOverEdit], after known: Int64, of sender: String, context: SyncContext, transaction: LocalTransaction, now: Instant) throws {
        let datasets = context.settings.datasets, state = TableVersion(transaction, of: datasets, .json, own: nil, hasChanges: true)
        let takenOut = try transaction.state.takenOut()
        var refused: [(place: RowPlace, edit: Edit, reason: String)] = [], gone: [HandedOverEdit] = []
        let edits = try handedOver.compactMap { one -> (place: RowPlace, edit: Edit)? in
            guard one.number > known, let name = one.dataset else { return nil }
            guard let key = one.key, !takenOut.contains(name.exact), let index = datasets.firstIndex(where: { $0.name.exact == name.exact }) else {
                gone.append(one)
                return nil
            }
            let place = RowPlace(index, key)
            var edit = try one.edit(of: datasets[index], .json)
            guard edit.at <= EditReceiver.latest(now) else {
                refused.append((place, edit, "its time \(edit.at) is more than two days after this device's clock; set the clock that is wrong"))
                return nil
            }
            if one.part == true || datasets[index].permissions.columns != nil {
                let there = try state.entry(place)?.row
                guard there != nil || one.part != true || !datasets[index].permissions.inserts else {
                    refused.append((place, edit, "the row was deleted, and the edit does not have all of its columns"))
                    return nil
                }
                edit.fill(of: datasets[index], from: there, isPart: one.part == true)
            }
            return (place, edit)
        }
        self.init(edits, refusing: refused, of: sender, context: context, transaction: transaction, now: now)
        self.gone = gone
    }

    package init(
        _ edits: [(place: RowPlace, edit: Edit)], refusing: [(place: RowPlace, edit: Edit, reason: String)] = [], of sender: String, context: SyncContext,
        transaction: LocalTransaction, now: Instant
    ) {
        let datasets = context.settings.datasets
        var permitted: [(place: RowPlace, edit: Edit)] = [], forbidden = refusing
        for (place, edit) in edits {
            let schema = datasets[place.dataset], part = edit.permitted(in: schema)
            if let fault = edit.values.flatMap({ Self.fault(in: $0, of: schema) }) {
                forbidden.append((place, edit, fault))
                continue
            }
            if part != edit { forbidden.append((place, edit, "the dataset \(schema.name) takes no such edits from readers")) }
            if let part { permitted.append((place, part)) }
        }
        (self.edits, self.forbidden) = (permitted, forbidden)
        self.sender = sender
        self.context = context
        self.transaction = transaction
        self.now = now
    }

    /// Why no version can have a row; nil if one can. Such a row would stop every export.
    private static func fault(in values: [OwnedValue], of schema: DatasetSchema) -> String? {
        do {
            _ = try EntityDocument.make(schema.partial) { sink in try values.lending { try sink.receive($0) } }
            return nil
        } catch {
            return (error as? SyncError)?.reason ?? "\(error)"
        }
    }

    /// Puts the edits on the tables. What a table refuses is left out and written to the journal.
    package func put(_ choice: EditChoice) throws -> EditReceiver.Outcome {
        var outcome = try put(choice.accept(edits))
        for one in forbidden { try refuse(one.place, one.edit, reason: one.reason, into: &outcome) }
        for one in gone { try refuse(one, &outcome) }
        let refused = choice.refused.isEmpty ? [:] : Dictionary(grouping: edits) { $0.place }
        for (place, reason) in choice.refused.sorted(by: { $0.key < $1.key }) {
            if let edit = refused[place].flatMap({ EditList($0).edit(of: place) }) { try refuse(place, edit, reason: reason, into: &outcome) }
        }
        outcome.warnings += transaction.triggerNotices
        return outcome
    }

    /// Puts edits on the tables, or halves of them, or half of a half.
    private func put(_ edits: [(place: RowPlace, edit: Edit)]) throws -> EditReceiver.Outcome {
        guard let first = edits.first else { return EditReceiver.Outcome() }
        do {
            return try transaction.undoingOnError { try putAll(edits) }
        } catch let error as SyncError where [.badRow, .foreignKeyViolated, .schemaMismatch].contains(error.database) {
            let places = Set(edits.map(\.place))
            guard places.count > 1 else {
                var outcome = EditReceiver.Outcome()
                try refuse(first.place, EditList(edits).edit(of: first.place) ?? first.edit, reason: error.reason, into: &outcome)
                return outcome
            }
            let half = Set(places.sorted().prefix(places.count / 2))
            var outcome = try put(edits.filter { half.contains($0.place) })
            outcome += try put(edits.filter { !half.contains($0.place) })
            return outcome
        }
    }

    private func putAll(_ edits: [(place: RowPlace, edit: Edit)]) throws -> EditReceiver.Outcome {
        let list = EditList(edits)
        let keeper = try ForeignKeyEnforcer(transaction, datasets: datasets)
        let horizon = now.advanced(byMicroseconds: -TombstoneHorizon.ageInMicroseconds)
        return try transaction.tracking.importing(datasets, isRefusable: true, then: keeper.enforce) {
            let result = try Rebase(
                transaction, datasets: datasets, state: TableVersion(transaction, of: datasets, .json, own: nil, hasChanges: true), edits: list,
                horizons: datasets.map { _ in horizon }, restores: { index, _ in datasets[index].permissions.inserts }
            ).run()
            var outcome = EditReceiver.Outcome()
            let losses = MergeLosses(datasets: datasets, transaction: transaction, author: sender, other: nil) { conflict in
                if try transaction.conflictJournal.record(conflict, at: now) != nil { outcome.conflicts += LostEdits(conflict) }
            }
            let released = Set(result.released), held = Set(result.held).subtracting(released)
            try list.forEach { place, edit in
                let schema = datasets[place.dataset], merge = result.merges[place]
                if let merge { try losses.record(merge, of: edit, at: place.key, schema: schema, handedOver: edit) }
                let isLost = merge.map { $0.standing == nil && !($0.later.isEmpty && $0.misfits.isEmpty) || edit.isDeletion && !$0.misfits.isEmpty } ?? false
                if isLost {
                    outcome.refusedCount += 1
                    outcome.refusal =
                        outcome.refusal ?? (edit.isDeletion ? "rows refer to it, or it was changed later" : "a later change, or another row's value, stands")
                } else {
                    outcome.appliedCount += 1
                }
                if let standing = merge.map(\.standing) ?? edit {
                    if held.contains(place) { return try transaction.changeLog.hold(place.key, in: schema) }
                    var base = merge?.found?.at
                    if merge == nil, case .row(let seen) = edit.base { base = seen.max().map { min($0, max(edit.at, now)) } }
                    // A deletion of a held row is one of the version's row, too.
                    let wasThere = merge.map { (standing.isDeletion ? $0.found?.row : $0.found?.shown) != nil } ?? !edit.inserts
                    try transaction.changeLog.adopt(
                        standing, of: place.key, in: schema, wasThere: wasThere, isHeld: merge?.found?.row?.isHeld == true, base: base,
                        restoring: merge?.restored)
                }
            }
            // What stands of these edits is tracked, with its own instants.
            for place in released where try result.merges[place].map({ $0.standing == nil }) ?? !list.contains(place) {
                try transaction.changeLog.trackShown(place.key, of: datasets[place.dataset])
            }
            return outcome
        }
    }

    /// Refuses an edit of a dataset that the zone does not have.
    private func refuse(_ gone: HandedOverEdit, _ outcome: inout EditReceiver.Outcome) throws {
        guard let name = gone.dataset, let key = gone.key else { return }
        let reason = "the zone has no dataset \(name)"
        outcome.refusedCount += 1
        outcome.refusal = outcome.refusal ?? reason
        let row = gone.row.flatMap { text in (try? Array(text.utf8).withUnsafeBytes { try StrictJSON.check($0) }) == nil ? nil : text }
        let conflict = Conflict(
            dataset: name, key: key, reason: .refused, loser: ConflictSide(entity: row, instant: gone.at ?? .earliest, device: sender),
            winner: ConflictSide(entity: nil, instant: .distantPast, device: nil), detail: reason)
        if try transaction.conflictJournal.record(conflict, at: now) != nil { outcome.conflicts += LostEdits(conflict) }
    }

    private func refuse(_ place: RowPlace, _ edit: Edit, reason: String, into outcome: inout EditReceiver.Outcome) throws {
        let schema = datasets[place.dataset], there = try TableVersion(transaction, of: datasets, .json, own: nil, hasChanges: true).entry(place)
        outcome.refusedCount += 1
        outcome.refusal = outcome.refusal ?? reason
        var lost = LostEdits()
        let losses = MergeLosses(datasets: datasets, transaction: transaction, author: sender, other: nil) { conflict in
            if try transaction.conflictJournal.record(conflict, at: now) != nil { lost += LostEdits(conflict) }
        }
        try losses.recordRefusal(of: edit, at: place.key, schema: schema, beside: there, detail: reason)
        outcome.conflicts += lost
    }
}
