import LocalTables
import SnapshotModel
import StrictText
import SyncRuns

/// The tables in which SQLite assigns the keys of new rows, in a zone in which several devices insert.
struct SharedKeys {
    /// The tables with AUTOINCREMENT, in which each device can have its own range of keys.
    let autoincrement: [DatasetSchema]
    /// The tables without it, in which a new row always gets the highest key plus one.
    let highest: [DatasetSchema]

    init(_ datasets: [DatasetSchema], in transaction: LocalTransaction) throws {
        let made = try datasets.filter { try transaction.tables.hasRowidKey($0) }
        let numbered = try made.filter { try transaction.tables.hasAutoincrement($0) }
        autoincrement = numbered
        highest = made.filter { !numbered.contains($0) }
    }

    /// Refuses tables in which two devices could assign the same key, unless the request allows this.
    func refuse(_ request: SetupRequest) throws {
        let open = (request.takesKeyRange ? [] : autoincrement) + highest
        guard !open.isEmpty, !request.sharesKeys else { return }
        let names = open.map { $0.name + (autoincrement.contains($0) ? " (AUTOINCREMENT)" : "") }.joined(separator: ", ")
        var ways: [String] = []
        if !request.takesKeyRange, !autoincrement.isEmpty {
            ways.append("--key-range gives each device keys of its own\(highest.isEmpty ? "" : " in tables with AUTOINCREMENT")")
        }
        if !highest.isEmpty {
            ways.append(
                "without AUTOINCREMENT SQLite takes the highest key plus one, whichever device's row has it: rebuild \(Self.list(highest)) with INTEGER PRIMARY KEY AUTOINCREMENT and use --key-range"
            )
        }
        if request.datasets == nil, !request.joins {
            ways.append("leave \(Format.word(open.count, "it", or: "them")) out: --exclude \(open.map(\.table).tableList)")
        }
        ways.append(
            "give the rows a text key that is unique everywhere; let one device insert; or accept it with --shared-keys: the later row keeps the key, and snapsync conflicts keeps the other"
        )
        throw SyncError(
            .refused, step: .open, at: request.database,
            "SQLite gives new rows the next free integer as their key, so two peers that insert at the same time give one key to two rows: \(names)",
            hint: ways.joined(separator: "; "))
    }

    /// Refuses newly synced tables in which two devices could assign the same key.
    ///
    /// - Parameter hasRange: whether this device has a range of keys, which tables with AUTOINCREMENT use.
    func refuse(_ fresh: [DatasetSchema], hasRange: Bool, at path: String) throws {
        let names = Set(fresh.map(\.name)), open = ((hasRange ? [] : autoincrement) + highest).filter { names.contains($0.name) }
        guard !open.isEmpty else { return }
        throw SyncError(
            .refused, step: .open, at: path,
            "SQLite gives new rows the next free integer as their key, so two peers that insert at the same time give one key to two rows: \(open.map(\.name).joined(separator: ", "))",
            hint: "give the rows a text key that is unique everywhere; or snapsync detach, and snapsync init with --key-range or --shared-keys")
    }

    /// Returns warnings for a device whose user has accepted shared keys.
    func warnings(_ request: SetupRequest) -> [String] {
        ((request.takesKeyRange ? [] : autoincrement) + highest).map { schema in
            "\(schema.name): SQLite gives new rows the next free integer as their key\(autoincrement.contains(schema) ? " (AUTOINCREMENT)" : ""), so two peers that insert at the same time give one key to two rows. "
                + "The later row keeps the key; the other one is kept in the conflict journal, and snapsync conflicts take inserts it under a new key"
        }
    }

    private static func list(_ schemas: [DatasetSchema]) -> String { schemas.map(\.table).joined(separator: ", ") }
}
