import CloudStore
import LocalTables
import SnapshotModel
import SnapshotVersions
import StrictText
import SyncRuns

/// Whether a database is synced, and the facts behind that decision.
public struct GateReport: Sendable, Encodable {
    /// Whether the database is synced now.
    public let isOpen: Bool
    /// The kind of reason for a closed gate; nil if the gate is open.
    public let code: String?
    public let reason: String?
    public let hint: String?
    /// Whether the user has turned sync on, according to the database.
    public let isEnabled: Bool
    /// The user's choice: `undecided`, `on` or `off`.
    public let preference: String
    /// The file that states the entitlement; nil if there is none.
    public let entitlementFile: String?
    /// The last answer about the entitlement; nil if nothing restricts who may sync.
    public let isEntitled: Bool?
    /// When the entitlement ends; nil if it does not.
    public let entitledUntil: String?
    /// Why the last request for the entitlement failed, so that an earlier answer counts; nil if it succeeded.
    public let entitlementProblem: String?
}

extension GateReport {
    /// The report of a database that is not set up.
    init(unset decision: GateDecision) {
        self.init(
            isOpen: decision == .open, code: decision.reason?.code.name, reason: decision.reason?.reason, hint: decision.reason?.hint, isEnabled: false,
            preference: SyncChoice.undecided.rawValue, entitlementFile: nil, isEntitled: nil, entitledUntil: nil,
            entitlementProblem: nil)
    }
}

extension SyncGate {
    /// Returns the decision and the facts behind it, for display.
    public func report() async throws -> GateReport {
        try await WorkerThreads.host {
            let decision = try await decision()
            return try database.read { transaction in
                guard try transaction.settings.exists() else { return GateReport(unset: decision) }
                let choice = try transaction.settings.preference().choice
                let record = try provider(in: transaction) == nil ? nil : transaction.state.entitlementRecord()
                return GateReport(
                    isOpen: decision == .open, code: decision.reason?.code.name, reason: decision.reason?.reason, hint: decision.reason?.hint,
                    isEnabled: choice == .on, preference: choice.rawValue,
                    entitlementFile: try transaction.settings.entitlementFile(), isEntitled: record.map { $0.answer?.isEntitled ?? false },
                    entitledUntil: record?.answer?.validUntil.map { Instant(microseconds: $0).description }, entitlementProblem: record?.failure)
            }
        }
    }
}

/// Refuses commits and messages once the gate is closed. If the user turns sync off during a run, nothing is published after that.
struct GateLayer: CloudLayer {
    let gate: SyncGate

    func willCall(_ call: CloudCall, in zone: ZoneID?) async throws {
        switch call {
        case .publish, .send: try gate.verify()
        default: break
        }
    }
}

/// Refuses assets larger than the database's limit, while they are written and before anything is published.
struct AssetLimitLayer: CloudLayer {
    let limit: Int
    /// Dataset names by record name.
    private let names: [String: String]

    init(_ limit: Int, datasets: [DatasetSchema]) {
        self.limit = limit
        names = Dictionary(datasets.map { ($0.recordName, $0.name) }) { first, _ in first }
    }

    func writer(_ writer: any AssetWriter, for record: String, in zone: ZoneID) throws -> any AssetWriter {
        LimitedAssetWriter(writer, limit: limit, exceeded: AssetLimits.exceeded(names[record] ?? record, limit: limit))
    }
}

extension CloudDatabase {
    /// Replaces a cloud that could not be opened or must not be used: every request throws the reason.
    static func absent(_ reason: SyncError) -> CloudDatabase { MemoryCloudDatabase().adding(AbsenceLayer(reason: reason)) }
}

private struct AbsenceLayer: CloudLayer {
    let reason: SyncError

    func willCall(_ call: CloudCall, in zone: ZoneID?) async throws { throw reason }
}
