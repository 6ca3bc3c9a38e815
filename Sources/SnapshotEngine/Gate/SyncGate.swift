import CloudStore
import LocalStore
import Logging
import SnapshotModel
import SnapshotVersions
import StrictText

/// Decides whether a database is synced: `entitled && preference`. No other code decides this.
///
///     switch try await engine.gate.decision() {
///     case .open: try await engine.sync()
///     case .closed(let reason): show(reason.reason)
///     }
///
/// The preference is stored in the database, so that every program that opens it agrees. Each run reads it again, and a change needs no
/// reopening. While the gate is closed, nothing is read from or sent to the cloud. The database stays the same file, and changes are still
/// tracked, so that nothing is lost when the gate opens again.
public struct SyncGate: Sendable {
    let database: LocalDatabase
    let options: GateOptions
    let now: @Sendable () -> Instant
    let logger: Logger
    /// Notifies ``decisions()`` of changes through this gate.
    let signal = Broadcast<Void>()

    /// Returns the current decision. Reads the bound store, and asks for the entitlement if that is due.
    public func decision() async throws -> GateDecision {
        try await WorkerThreads.host {
            await askForEntitlement()
            return try standing()
        }
    }

    /// Returns the decision from what is stored locally. Asks no provider, but reads the bound store.
    ///
    /// - Parameter asIfWanted: whether to decide as if the user had turned sync on.
    package func standing(asIfWanted: Bool = false) throws -> GateDecision {
        if options.isLocalOnly {
            return .closed(
                GateReason(.localOnly, "the application uses this database without a cloud", hint: "open it with a cloud if it is to be synced"))
        }
        var facts = try database.read(at: .open) { try lookUp($0) }
        if facts.isInMemory {
            return .closed(
                GateReason(
                    .inMemory, "it stands in, in memory, for a database that could not be opened; it is never published",
                    hint: "mend the database that could not be opened"))
        }
        var fault: GateReason?
        if facts.isBound {
            fault = reconcileOrExplain()
            facts = try database.read(at: .open) { try lookUp($0) }
        }
        if !asIfWanted, let reason = choiceReason(facts.choice) { return .closed(reason) }
        if let reason = fault ?? accountReason { return .closed(reason) }
        return facts.provider == nil ? .open : decision(facts.entitlement, at: now())
    }

    /// The facts behind a decision, from one state of the database. Each run reads them, so they are read at once.
    struct Facts {
        var isInMemory = false
        var choice = SyncChoice.undecided
        var isBound = false
        /// The provider of the entitlement; nil if nothing restricts it.
        var provider: (any EntitlementProvider)?
        var entitlement: EntitlementRecord?
    }

    func lookUp(_ transaction: LocalTransaction) throws -> Facts {
        // A database that is not set up has no decision; reading its settings throws that error.
        guard try transaction.settings.exists() else {
            _ = try transaction.settings.read()
            return Facts()
        }
        if try transaction.settings.isInMemory() { return Facts(isInMemory: true) }
        return Facts(
            choice: try transaction.settings.preference().choice, isBound: try options.preference != nil || transaction.settings.preferenceFile() != nil,
            provider: try provider(in: transaction), entitlement: try transaction.state.entitlementRecord())
    }

    /// Returns why a choice keeps the gate closed; nil if it does not.
    private func choiceReason(_ choice: SyncChoice) -> GateReason? {
        switch choice {
        case .on: nil
        case .off: GateReason(.preferenceOff, "sync is turned off", hint: "turn it on with: snapsync enable --db \(database.path.shellWord)")
        case .undecided:
            GateReason(
                .preferenceUndecided, "nobody has decided yet whether to sync",
                hint: "decide with: snapsync enable --db \(database.path.shellWord), or: snapsync disable --db \(database.path.shellWord)")
        }
    }

    /// Why the account keeps the gate closed; nil if it does not.
    private var accountReason: GateReason? {
        switch options.account?.status {
        case nil, .available: nil
        case .noAccount: GateReason(.noAccount, "nobody is signed in", hint: "sign in; what was changed here is kept and syncs then")
        case .restricted: GateReason(.accountRestricted, "the account may not use the cloud", hint: "ask whoever manages the account")
        case .temporarilyUnavailable: GateReason(.accountUnavailable, "the account cannot be used just now", hint: "try again later, or sign in again")
        case .couldNotDetermine: GateReason(.accountUnavailable, "the account's state is not known", hint: "try again later")
        }
    }

    /// Asks for the entitlement if that is due, then refuses if the gate is closed.
    package func enter() async throws {
        await askForEntitlement()
        try verify()
    }

    /// Refuses if the gate is closed.
    ///
    /// - Parameter asIfWanted: whether to decide as if the user had turned sync on.
    /// - Throws: ``SyncError`` with `.refused`.
    func verify(asIfWanted: Bool = false) throws {
        guard let reason = try standing(asIfWanted: asIfWanted).reason else { return }
        throw SyncError(reason, at: database.path)
    }
}
