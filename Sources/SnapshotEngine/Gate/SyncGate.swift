import CloudStore
import Foundation
import LocalTables
import Logging
public import SnapshotModel
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
        var facts = try database.read { try lookUp($0) }
        if facts.isInMemory {
            return .closed(
                GateReason(
                    .inMemory, "this temporary copy in memory replaces a database that could not be opened; it is never synced",
                    hint: "repair the database that could not be opened"))
        }
        var fault: GateReason?
        if facts.isBound {
            fault = reconcileOrExplain()
            facts = try database.read { try lookUp($0) }
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
            choice: try transaction.settings.preference().choice, isBound: options.preference != nil,
            provider: try provider(in: transaction), entitlement: try transaction.state.entitlementRecord())
    }

    /// Returns why a choice keeps the gate closed; nil if it does not.
    private func choiceReason(_ choice: SyncChoice) -> GateReason? {
        switch choice {
        case .on: nil
        case .off: GateReason(.preferenceOff, "sync is turned off", hint: "to turn it on: snapsync config set \(database.path.shellWord) sync on")
        case .undecided:
            GateReason(
                .preferenceUndecided, "sync is neither on nor off yet",
                hint: "decide with: snapsync config set \(database.path.shellWord) sync on, or: snapsync config set \(database.path.shellWord) sync off")
        }
    }

    /// Why the account keeps the gate closed; nil if it does not.
    private var accountReason: GateReason? {
        switch options.account?.status {
        case nil, .available: nil
        case .noAccount: GateReason(.noAccount, "nobody is signed in", hint: "sign in; what was changed here is kept and syncs then")
        case .restricted: GateReason(.accountRestricted, "the account may not use the location", hint: "ask whoever manages the account")
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

    /// Turns sync on or off, as ``setPreference(_:)-(SyncChoice)`` does.
    @discardableResult
    public func setPreference(_ isOn: Bool) throws -> String? { try setPreference(SyncChoice(isOn: isOn)) }

    /// Turns sync on or off, or takes the choice back. It applies to this run and all later ones, in every program that opens the database.
    ///
    /// The database is changed first, then the bound store. Turning sync off takes effect at once, even if the bound store cannot be written.
    /// Turning it on is undone in that case, because the two must agree.
    ///
    /// - Returns: what remains to be done, as a sentence; nil if both agree.
    /// - Throws: ``SyncError``.
    @discardableResult
    public func setPreference(_ choice: SyncChoice) throws -> String? {
        defer { signal.send(()) }
        return try SyncError.at(.apply) {
            // Take over earlier changes of the bound store first, so that this change is the latest.
            do {
                try reconcile()
            } catch  where choice != .on {
                logger.debug("the bound preference could not be read before sync was turned off", metadata: ["error": "\(error)"])
            }
            let before = try database.write { transaction in
                try checkIsSetUp(transaction)
                let before = try transaction.settings.preference()
                try transaction.settings.setPreference(SyncPreference(choice, changedAt: now()))
                return before
            }
            do {
                try reconcile()
                return nil
            } catch {
                let error = SyncError(error, step: .store)
                guard choice == .on else { return "\(error.place): \(error.reason); it will be written at the next run" }
                try database.write { try $0.settings.setPreference(before) }
                throw error
            }
        }
    }

    /// Sets the file that states the entitlement; nil removes it.
    package func setEntitlementFile(_ path: String?) throws {
        defer { signal.send(()) }
        try database.write { transaction in
            try checkIsSetUp(transaction)
            try transaction.settings.setEntitlementFile(path.map(Self.absolutePath))
        }
    }

    /// Makes a path absolute, because later runs start in other folders.
    static func absolutePath(_ path: String) -> String { URL(fileURLWithPath: path).standardizedFileURL.path }

    /// Refuses a database that is not set up: it has no preference.
    func checkIsSetUp(_ transaction: LocalTransaction) throws {
        guard try !transaction.settings.isInMemory() else {
            throw SyncError(
                .refused, step: .open, at: database.path, "this temporary copy in memory replaces a database that could not be opened; it is never synced",
                hint: "repair the database that could not be opened")
        }
        _ = try transaction.settings.read()
    }

    /// Returns the reason for a closed gate if the bound store fails; nil if the store and the database agree now.
    func reconcileOrExplain() -> GateReason? {
        do {
            try reconcile()
            return nil
        } catch {
            let error = SyncError(error)
            return GateReason(
                .preferenceUnknown, "whether the user wants this is not known: \(error.place): \(error.reason)",
                hint: error.hint ?? "mend the settings that the preference is bound to")
        }
    }

    /// Makes the database and the bound store agree.
    ///
    /// `agreement` is the value that both last had. Each step is one transaction or one replaced file. After a crash between two steps, the next
    /// comparison sees which of the two has changed, and continues.
    func reconcile() throws {
        guard let bound = options.preference, try database.read({ try $0.settings.exists() && !$0.settings.isInMemory() }) else { return }
        let said = try bound.load()
        let known = try database.read { (preference: try $0.settings.preference(), agreement: try $0.state.preferenceAgreement()) }
        let choice = known.preference.choice
        if said?.isOn == choice.isOn {
            if Self.isNoted(said, known.preference, agreement: known.agreement) { return }
            return try agree(on: choice, was: known.preference, said)
        }
        let wanted = said.map { Self.resolve($0, known.preference, agreement: known.agreement) } ?? choice
        // If the bound store's value wins, one transaction stores it in the database together with the agreement.
        if wanted == choice { try bound.store(wanted.isOn) }
        try agree(on: wanted, was: known.preference, said)
    }

    /// Whether the recorded agreement is the value that both have.
    private static func isNoted(_ said: BoundPreference?, _ preference: SyncPreference, agreement: PreferenceAgreement?) -> Bool {
        guard let said, let agreement else { return said == nil && agreement == nil }
        // Setting a switch to the value that it has is a choice, too. Only later changes may override it.
        let last = Instant(microseconds: agreement.at)
        return agreement.isOn == said.isOn && [said.changedAt, preference.changedAt].allSatisfy { $0 ?? .distantPast <= last }
    }

    /// Returns which of two different values counts.
    static func resolve(_ said: BoundPreference, _ preference: SyncPreference, agreement: PreferenceAgreement?) -> SyncChoice {
        let here = preference.choice
        guard let agreement else {
            // The two were never compared. Both are the user's choice, unless the database is undecided.
            return here == .undecided ? SyncChoice(isOn: said.isOn) : later(said, preference)
        }
        let last = Instant(microseconds: agreement.at)
        let hasBoundMoved = said.isOn != agreement.isOn || said.changedAt.map { $0 > last } ?? false
        let hasDatabaseMoved = here.isOn != agreement.isOn || preference.changedAt.map { $0 > last } ?? false
        switch (hasBoundMoved, hasDatabaseMoved) {
        case (true, false): return SyncChoice(isOn: said.isOn)
        case (false, _): return here
        case (true, true): return later(said, preference)
        }
    }

    /// Returns the later of the two choices; off if neither is known to be later.
    private static func later(_ said: BoundPreference, _ preference: SyncPreference) -> SyncChoice {
        guard let there = said.changedAt, let here = preference.changedAt, there != here else { return .off }
        return there > here ? SyncChoice(isOn: said.isOn) : preference.choice
    }

    /// Records that both have the same value. If another program has changed the preference meanwhile, records nothing; the next comparison
    /// handles it.
    private func agree(on choice: SyncChoice, was preference: SyncPreference, _ said: BoundPreference?) throws {
        try database.write { transaction in
            guard try transaction.settings.preference() == preference else { return }
            // The agreement must not be older than the choices that it covers, whatever the clocks said.
            let time = [now(), preference.changedAt, said?.changedAt].compactMap { $0 }.max() ?? now()
            if preference.choice != choice { try transaction.settings.setPreference(SyncPreference(choice, changedAt: time)) }
            try transaction.state.preferenceAgreement.set(choice.isOn.map { PreferenceAgreement(isOn: $0, at: time) })
        }
    }

    /// Returns the decision that follows from an answer about the entitlement at a time.
    func decision(_ record: EntitlementRecord?, at time: Instant) -> GateDecision {
        let failure = record?.failure.map { " (\($0))" } ?? ""
        guard let answer = record?.answer else {
            return .closed(
                GateReason(
                    .entitlementUnknown, "whether this user may sync is not known\(failure)",
                    hint: "see to it that the entitlement can be asked for, then run the same command again"))
        }
        // A clock that was set back must not make an expired answer valid again.
        guard answer.givenAt <= time.advanced(byMicroseconds: Self.day).microseconds else {
            return .closed(
                GateReason(
                    .entitlementUnknown, "the last answer on the entitlement comes from a later time than the clock says\(failure)", hint: "correct the clock"))
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
            return .closed(
                GateReason(
                    .notEntitled, "this user is not entitled to sync\(failure)", hint: "get the entitlement; what was changed here is kept and syncs then"))
        }
        return .open
    }

    /// Returns the provider of the entitlement; nil if nothing restricts it.
    func provider(in transaction: LocalTransaction) throws -> (any EntitlementProvider)? {
        if let provider = options.entitlement { return provider }
        guard try transaction.settings.exists(), let path = try transaction.settings.entitlementFile() else { return nil }
        return FileEntitlement(path: path)
    }

    /// Asks for the entitlement if that is due, and stores the answer. An error is stored as well, and the decision takes it into account.
    ///
    /// - Parameter asIfWanted: whether to ask even if sync is turned off.
    package func askForEntitlement(asIfWanted: Bool = false) async {
        do {
            guard var facts = try database.read({ try $0.settings.exists() ? lookUp($0) : nil }), facts.provider != nil else { return }
            if facts.isBound {
                // The user may have just turned sync on in the bound store. Then ask.
                _ = reconcileOrExplain()
                facts = try database.read { try lookUp($0) }
            }
            let record = facts.entitlement
            guard facts.choice == .on || asIfWanted, let asked = facts.provider, isDue(record, asksAgainAfter: asked.asksAgainAfter) else { return }
            let next: EntitlementRecord
            do {
                let answer = try await asked.entitlement()
                next = EntitlementRecord(
                    answer: .init(isEntitled: answer.isEntitled, validUntil: answer.validUntil?.microseconds, givenAt: now().microseconds),
                    failure: answer.reason)
            } catch {
                next = EntitlementRecord(answer: record?.answer, failure: (error as? SyncError).map { "\($0.place): \($0.reason)" } ?? "\(error)")
            }
            if differs(next, record) { try database.write { try $0.state.entitlementRecord.set(next) } }
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

    /// Whether to write a record. The same answer is written only once an hour, so that a run with nothing to do writes nothing.
    private func differs(_ next: EntitlementRecord, _ last: EntitlementRecord?) -> Bool {
        guard let last, last.failure == next.failure, last.answer?.isEntitled == next.answer?.isEntitled, last.answer?.validUntil == next.answer?.validUntil
        else { return true }
        return abs((next.answer?.givenAt ?? 0) - (last.answer?.givenAt ?? 0)) > Self.day / 24
    }

    private static let day: Int64 = 86_400_000_000
}

extension GateOptions {
    /// Yields whenever one of the gate's sources reports a change. Ends with the task that iterates.
    fileprivate func changes(and others: [AsyncStream<Void>]) -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        var tasks = (others + [entitlement?.changes, preference?.changes].compactMap(\.self)).map { changes in
            Task { for await _ in changes { continuation.yield() } }
        }
        if let changes = account?.changes { tasks.append(Task { for await _ in changes { continuation.yield() } }) }
        continuation.onTermination = { [tasks] _ in for task in tasks { task.cancel() } }
        return stream
    }
}

extension SyncGate {
    /// Yields whenever the decision may have changed, from now on. Ends with the task that iterates.
    package func changes() -> AsyncStream<Void> { options.changes(and: [signal.listen()]) }

    /// Yields the current decision, then each new one. The entitlement's provider, the bound store, the account, or a changed preference in this
    /// gate trigger a new decision; nothing is polled. Ends with the task that iterates.
    ///
    ///     for try await decision in engine.gate.decisions() { show(decision.reason) }
    ///
    /// If an entitlement ends with time, or another program writes the choice, the next run or decision shows it.
    ///
    /// - Throws: ``SyncError`` if the database can no longer be read; the sequence ends then.
    public func decisions() -> AsyncThrowingStream<GateDecision, any Error> {
        let changes = changes()
        return AsyncThrowingStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let task = Task {
                do {
                    var last = try await decision()
                    continuation.yield(last)
                    for await _ in changes {
                        let next = try await decision()
                        if next != last { continuation.yield(next) }
                        last = next
                    }
                    continuation.finish()
                } catch {
                    continuation.finish(throwing: error)
                }
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }
}
