import LocalStore
import SnapshotModel
import SnapshotVersions
import StrictText

/// Whether a database is synced, and what that rests on.
public struct GateReport: Sendable, Encodable {
    /// Whether it is synced now.
    public let isOpen: Bool
    /// The kind of reason why not; nil if it is.
    public let code: String?
    public let reason: String?
    public let hint: String?
    /// Whether the user has turned sync on, as the database has it.
    public let isEnabled: Bool
    /// The user's choice: `undecided`, `on` or `off`.
    public let preference: String
    /// The file that the choice is bound to; nil if to none.
    public let preferenceFile: String?
    public let preferenceKey: String?
    /// The file that states the entitlement; nil if none does.
    public let entitlementFile: String?
    /// The last answer; nil if nothing restricts who may sync.
    public let isEntitled: Bool?
    /// When the entitlement ends; nil if it does not.
    public let entitledUntil: String?
    /// Why the entitlement could not be asked for just now, so that the last answer counts; nil if it could.
    public let entitlementProblem: String?
}

extension GateReport {
    /// Of a database that was not set up.
    init(unset decision: GateDecision) {
        self.init(
            isOpen: decision == .open, code: decision.reason?.code.name, reason: decision.reason?.reason, hint: decision.reason?.hint, isEnabled: false,
            preference: SyncChoice.undecided.rawValue, preferenceFile: nil, preferenceKey: nil, entitlementFile: nil, isEntitled: nil, entitledUntil: nil,
            entitlementProblem: nil)
    }
}

extension SyncGate {
    /// What the decision rests on, for people to look at.
    public func report() async throws -> GateReport {
        try await WorkerThreads.host {
            let decision = try await decision()
            return try database.read(at: .read) { transaction in
                guard try transaction.settings.exists() else { return GateReport(unset: decision) }
                let file = try transaction.settings.preferenceFile(), choice = try transaction.settings.preference().choice
                let record = try provider(in: transaction) == nil ? nil : transaction.state.entitlementRecord()
                return GateReport(
                    isOpen: decision == .open, code: decision.reason?.code.name, reason: decision.reason?.reason, hint: decision.reason?.hint,
                    isEnabled: choice == .on, preference: choice.rawValue, preferenceFile: file?.path, preferenceKey: file?.key,
                    entitlementFile: try transaction.settings.entitlementFile(), isEntitled: record.map { $0.answer?.isEntitled ?? false },
                    entitledUntil: record?.answer?.validUntil.map { Instant(microseconds: $0).description }, entitlementProblem: record?.failure)
            }
        }
    }
}
