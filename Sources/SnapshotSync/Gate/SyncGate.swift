import LocalStore
import Logging
import StrictText

/// Decides whether a database is synced: `entitled && preference`, from this one place.
///
///     switch try await engine.gate.decision() {
///     case .open: try await engine.sync()
///     case .closed(let reason): show(reason.reason)
///     }
///
/// The preference lives in the database, so that every program that opens it agrees; each run reads it anew, and a change needs no
/// reopening. Closed means: nothing is read from or sent to the cloud, the database stays the same file, and changes go on being
/// noted, so that nothing is lost when it opens again.
public struct SyncGate: Sendable {
    let database: LocalDatabase
    let options: GateOptions
    let now: @Sendable () -> Instant
    let logger: Logger

    /// The decision for now. Looks at the bound store, and asks for the entitlement where that is due.
    public func decision() async throws -> GateDecision {
        await askForEntitlement()
        return try standing()
    }

    /// What the decision rests on, for people to look at.
    public func report() async throws -> GateReport {
        let decision = try await decision()
        return try SyncError.at(.read) {
            try database.read { transaction in
                let file = try transaction.preferenceFile()
                let record = try provider(in: transaction) == nil ? nil : transaction.entitlementRecord()
                return GateReport(
                    isOpen: decision == .open, code: decision.reason?.code.name, reason: decision.reason?.reason, hint: decision.reason?.hint,
                    isEnabled: try transaction.preference().isOn, preferenceFile: file?.path, preferenceKey: file?.key,
                    entitlementFile: try transaction.entitlementFile(), isEntitled: record.map { $0.answer?.isEntitled ?? false },
                    entitledUntil: record?.answer?.validUntil.map { Instant(microseconds: $0).description }, entitlementProblem: record?.failure)
            }
        }
    }

    /// The decision by what is known here, without asking anybody but the bound store.
    func standing() throws -> GateDecision {
        let isInMemory = try SyncError.at(.open) {
            try database.read { transaction in
                if try transaction.isInMemory() { return true }
                // One that is not set up has nothing to decide.
                _ = try transaction.settings()
                return false
            }
        }
        if isInMemory {
            return .closed(
                GateReason(.inMemory, "it stands in, in memory, for a database that could not be opened; it is never published", hint: "mend the database that could not be opened"))
        }
        let fault = reconcileOrExplain()
        return try SyncError.at(.read) {
            try database.read { transaction in
                guard try transaction.preference().isOn else {
                    return .closed(GateReason(.preferenceOff, "sync is turned off", hint: "turn it on with: snapsync enable --db \(database.path)"))
                }
                if let fault { return .closed(fault) }
                guard try provider(in: transaction) != nil else { return .open }
                return decision(try transaction.entitlementRecord(), at: now())
            }
        }
    }

    /// Asks what has to be asked, then refuses where the gate is closed.
    func enter() async throws {
        await askForEntitlement()
        try verify()
    }

    /// Refuses where the gate is closed.
    ///
    /// - Throws: ``SyncError`` with `.refused`.
    func verify() throws {
        guard let reason = try standing().reason else { return }
        throw SyncError(.refused, step: .open, at: database.path, reason.reason, hint: reason.hint)
    }

    private func decision(_ record: EntitlementRecord?, at time: Instant) -> GateDecision {
        let failure = record?.failure.map { " (\($0))" } ?? ""
        guard let answer = record?.answer else {
            return .closed(GateReason(.entitlementUnknown, "whether this user may sync is not known\(failure)", hint: "see to it that the entitlement can be asked for, then run the same command again"))
        }
        // A clock that was put back must not make an old answer good again.
        guard answer.givenAt <= time.advanced(byMicroseconds: Self.day).microseconds else {
            return .closed(GateReason(.entitlementUnknown, "the last answer on the entitlement comes from a later time than the clock says\(failure)", hint: "correct the clock"))
        }
        if let end = answer.validUntil, end <= time.microseconds {
            let isOld = !answer.isEntitled
            return .closed(
                GateReason(
                    isOld ? .entitlementUnknown : .entitlementExpired,
                    isOld ? "whether this user may sync is not known\(failure)" : "the entitlement ended at \(Instant(microseconds: end))\(failure)",
                    hint: "renew the entitlement; what was changed here is kept and syncs then"))
        }
        guard answer.isEntitled else {
            return .closed(GateReason(.notEntitled, "this user is not entitled to sync", hint: "get the entitlement; what was changed here is kept and syncs then"))
        }
        return .open
    }

    /// Who is asked for the entitlement; nil if nothing restricts it.
    func provider(in transaction: LocalTransaction) throws -> (any EntitlementProvider)? {
        if let provider = options.entitlement { return provider }
        return try transaction.isInitialized() ? transaction.entitlementFile().map { FileEntitlement(path: $0) } : nil
    }

    /// Asks, where that is due, and keeps the answer. What goes wrong is kept, too: it is the decision's to weigh.
    func askForEntitlement() async {
        do {
            let (asked, record) = try database.read { transaction -> ((any EntitlementProvider)?, EntitlementRecord?) in
                guard try transaction.isInitialized(), try !transaction.isInMemory(), try transaction.preference().isOn else { return (nil, nil) }
                return (try self.provider(in: transaction), try transaction.entitlementRecord())
            }
            guard let asked, isDue(record, asksAgainAfter: asked.asksAgainAfter) else { return }
            let next: EntitlementRecord
            do {
                let answer = try await asked.entitlement()
                next = EntitlementRecord(
                    answer: .init(isEntitled: answer.isEntitled, validUntil: answer.validUntil?.microseconds, givenAt: now().microseconds), failure: nil)
            } catch {
                next = EntitlementRecord(answer: record?.answer, failure: (error as? SyncError).map { "\($0.place): \($0.reason)" } ?? "\(error)")
            }
            if differs(next, record) { try database.write { try $0.setEntitlementRecord(next) } }
        } catch {
            logger.warning("the entitlement could not be looked up", metadata: ["error": "\(error)"])
        }
    }

    private func isDue(_ record: EntitlementRecord?, asksAgainAfter wait: Duration) -> Bool {
        guard let record, record.failure == nil, let answer = record.answer else { return true }
        let age = now().microseconds - answer.givenAt
        let isOver = answer.validUntil.map { $0 <= now().microseconds } ?? false
        return isOver || age < 0 || .microseconds(age) >= wait
    }

    /// Whether a record is worth a write: the same answer is written anew once an hour, so that a run with nothing to do writes nothing.
    private func differs(_ next: EntitlementRecord, _ last: EntitlementRecord?) -> Bool {
        guard let last, last.failure == next.failure, last.answer?.isEntitled == next.answer?.isEntitled, last.answer?.validUntil == next.answer?.validUntil
        else { return true }
        return abs((next.answer?.givenAt ?? 0) - (last.answer?.givenAt ?? 0)) > Self.day / 24
    }

    private static let day: Int64 = 86_400_000_000
}

/// Where a gate gets what is not in the database.
public struct GateOptions: Sendable {
    /// Who says whether the user may sync; nil: the file that the database's settings name, or, without one, everybody may.
    public var entitlement: (any EntitlementProvider)?
    /// A second store of the preference; nil: the file that the database's settings name, or none.
    public var preference: (any PreferenceBinding)?

    public init(entitlement: (any EntitlementProvider)? = nil, preference: (any PreferenceBinding)? = nil) {
        self.entitlement = entitlement
        self.preference = preference
    }
}

/// Whether a database is synced, and what that rests on.
public struct GateReport: Sendable, Encodable {
    /// Whether it is synced now.
    public let isOpen: Bool
    /// The kind of reason why not; nil if it is.
    public let code: String?
    public let reason: String?
    public let hint: String?
    /// The user's choice, as the database has it.
    public let isEnabled: Bool
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
