package import LocalTables
package import SnapshotModel
import SnapshotVersions
import StrictText

/// The result of `init`.
public struct SetupReport: Sendable, Encodable {
    public let database: String
    public let cloud: String
    public let cloudUUID: String
    public let zone: String
    public let role: String
    public let device: String
    public let datasets: [String]
    /// The tables that were created.
    public internal(set) var tablesMade: [String] = []
    /// What the zone's SQL text made: `table books`, `index titles`.
    public internal(set) var schemaMade: [String] = []
    /// The statements of the zone's SQL text that were not run, each with the reason.
    public internal(set) var schemaLeftOut: [String] = []
    /// The indexes, views and triggers that the zone's SQL text has, if tables were made without it. Not part of the JSON.
    package internal(set) var schemaRest: [String] = []
    /// The database's journal mode. `init` does not change it in a database that existed before.
    public let journalMode: String
    /// Whether a cloud was made in the directory.
    public internal(set) var cloudMade = false
    /// Whether sync is on.
    public let isEnabled: Bool
    /// The user's choice: `undecided`, `on` or `off`.
    public let preference: String
    /// The application's triggers on synced tables, and what an import does with them.
    public let triggers: [TriggerReport]
    /// Whether the database was the same device of the zone before it was detached.
    public internal(set) var isReturning = false
    /// The number of edits that `detach` kept and that are tracked again.
    public internal(set) var changesTaken = 0
    /// The datasets that allow edits by readers, apart from the built-in ones.
    public internal(set) var readerEdits: [String] = []
    /// The number of this device's range of new keys in its zone, from 0; nil if it has none.
    public internal(set) var keyRange: Int?
    /// The device's state in a signed zone; nil if the zone is not signed.
    public internal(set) var signature: SignedSetupReport?
    /// Warnings, one sentence each.
    public internal(set) var warnings: [String] = []
    /// The tables' description, if it was made from the database. It is not part of the JSON; ``DescribeReport`` has its own.
    public internal(set) var described: DescribeReport?

    enum CodingKeys: String, CodingKey {
        case database, cloud, cloudUUID, zone, role, device, datasets, tablesMade, schemaMade, schemaLeftOut, journalMode, cloudMade, isEnabled, preference,
            triggers, isReturning,
            changesTaken, readerEdits, keyRange, signature, warnings
    }
}

extension SetupReport {
    /// The report of a database that is set up.
    init(_ database: LocalDatabase, path: String) throws {
        let (settings, choice) = try database.read { (try $0.settings.read(), try $0.settings.preference().choice) }
        self.init(
            database: path, cloud: settings.cloud, cloudUUID: settings.cloudUUID, zone: settings.zone, role: settings.role.rawValue, device: settings.device,
            datasets: settings.datasets.map(\.name), journalMode: try database.journalMode(), isEnabled: choice == .on,
            preference: choice.rawValue,
            triggers: try TriggerSurvey(database, settings.datasets).triggers.map {
                TriggerReport($0, datasets: settings.datasets)
            })
    }
}

/// A device's state in a signed zone after `init`.
public struct SignedSetupReport: Sendable, Encodable {
    /// The fingerprint of the zone's creator; nil if nothing has been published yet and none was given.
    public let creator: String?
    /// Whether the fingerprint was given, or is this device's own. If not, the device trusts the first creator that it meets.
    public let isVerified: Bool
    /// This device's own fingerprint.
    public let fingerprint: String
    /// Whether the device is a member. If not, it has asked to be one.
    public let isMember: Bool
    /// The place of the private keys.
    public let keys: String
    /// Whether the zone is sealed: the store cannot read what it holds.
    public let isSealed: Bool
    /// How the zone is protected: `padded`, `post-quantum`, `sealed`, `signed`.
    public let features: [String]
    /// The words of the recovery code, at the device that has made a sealed zone. The code is a secret and stored nowhere.
    public internal(set) var recoveryCode: String?
}

/// A trigger of the application on a synced table, and what an import does with it.
public struct TriggerReport: Sendable, Encodable, Hashable {
    public let name: String
    public let dataset: String
    public let table: String
    /// Whether the trigger runs when an import changes rows. It does not if the dataset file says `"triggers": "off"`, or if it needs something
    /// that is missing.
    public let runs: Bool
    /// SQLite's message about what the trigger needs and only the application has; nil if there is nothing.
    public let failure: String?

    package init(_ trigger: TriggerSurvey.Trigger, datasets: [DatasetSchema]) {
        name = trigger.name
        dataset = trigger.dataset
        table = trigger.table
        failure = trigger.failure
        runs = trigger.failure == nil && datasets.first { $0.name == trigger.dataset }?.triggers != .off
    }

    /// Summarises several triggers: one sentence for each group with the same result.
    package static func summary(_ triggers: [TriggerReport]) -> [String] {
        func said(_ chosen: [TriggerReport], _ what: String) -> [String] {
            guard !chosen.isEmpty else { return [] }
            let tables = chosen.reduce(into: [String]()) { if !$0.map(\.exact).contains($1.table.exact) { $0.append($1.table) } }.joined(separator: ", ")
            return ["\(Format.count(chosen.count, "trigger")) of \(tables): \(what)"]
        }
        let failing = triggers.filter { $0.failure != nil }, able = triggers.filter { $0.failure == nil }
        let lacks = failing.compactMap(\.failure).reduce(into: [String]()) { if !$0.contains($1) { $0.append($1) } }
        return said(able.filter(\.runs), "run for the rows that an import changes; what they write into synced tables is ignored then")
            + said(
                failing,
                "cannot run without the application (\(lacks.joined(separator: ", "))); an import changes rows of these tables with triggers off and warns")
            + said(able.filter { !$0.runs }, "an import does not run them, as the dataset file says")
    }

    /// The trigger and what an import does with it, as a sentence.
    public var sentence: String {
        let found = "the trigger \(name) of \(table)"
        if let failure {
            return "\(found) cannot run without the application (\(failure)); an import changes rows of \(table) with triggers off and warns"
        }
        return runs
            ? "\(found) runs for the rows that an import changes; what it writes into synced tables is ignored then"
            : "an import does not run \(found), as the dataset file says"
    }
}
