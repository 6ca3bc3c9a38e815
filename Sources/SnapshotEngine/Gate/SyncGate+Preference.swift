import CloudStore
import Foundation
import LocalStore
import Logging
public import SnapshotModel
import SnapshotVersions
import StrictText

extension SyncGate {
    /// Turns sync on or off, as ``setPreference(_:)-(SyncChoice)`` does.
    @discardableResult
    public func setPreference(_ isOn: Bool) throws -> String? { try setPreference(SyncChoice(isOn: isOn)) }

    /// Turns sync on or off, or takes the choice back, for this run and every later one, in this program and in every other that opens the
    /// database.
    ///
    /// The database is changed first, then the bound store. Turning off counts at once, whatever becomes of that store; turning on is
    /// taken back if it cannot be written, for the two must not disagree.
    ///
    /// - Returns: what is left to do, in words; nil if all agree.
    /// - Throws: ``SyncError``.
    @discardableResult
    public func setPreference(_ choice: SyncChoice) throws -> String? {
        defer { signal.send(()) }
        return try SyncError.at(.apply) {
            // What the user said elsewhere before now comes first, so that this is the last word.
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

    /// Binds the preference to a key of a JSON file, or to none.
    public func bind(to file: FilePreference?) throws {
        defer { signal.send(()) }
        try database.write(at: .apply) { transaction in
            try checkIsSetUp(transaction)
            try transaction.settings.setPreferenceFile(file.map { PreferenceFileSetting(path: absolutePath($0.path), key: $0.key) })
        }
    }

    /// Names the file that states the entitlement, or none.
    ///
    /// - Parameter publicKey: the key that has to have signed it (``LicenceKey/publicKey``); nil for a plain file. Whoever can change the database can
    ///   change this key, too: an application that has to rely on it passes a ``LicenceFile`` to its engine.
    /// - Throws: ``SyncError``; with `.refused` for a text that is no public key.
    public func setEntitlementFile(_ path: String?, publicKey: String? = nil) throws {
        guard publicKey.map(LicenceKey.isPublicKey) ?? true else {
            throw SyncError(
                .refused, step: .open, at: database.path, "the public key of licences is not 64 lower-case hexadecimal digits",
                hint: "take it from: snapsync licence key FILE")
        }
        defer { signal.send(()) }
        try database.write(at: .apply) { transaction in
            try checkIsSetUp(transaction)
            try transaction.settings.setEntitlementFile(path.map(absolutePath), key: publicKey)
        }
    }

    /// Later runs start in other folders.
    private func absolutePath(_ path: String) -> String { URL(fileURLWithPath: path).standardizedFileURL.path }

    /// Only a database that is set up has a choice to make.
    func checkIsSetUp(_ transaction: LocalTransaction) throws {
        guard try !transaction.settings.isInMemory() else {
            throw SyncError(
                .refused, step: .open, at: database.path, "it stands in, in memory, for a database that could not be opened",
                hint: "mend the database that could not be opened")
        }
        _ = try transaction.settings.read()
    }

    /// What a bound store's fault means for the decision; nil if the store and the database agree now.
    func reconcileOrExplain() -> GateReason? {
        do {
            try reconcile()
            return nil
        } catch {
            let error = SyncError(error, step: .open)
            return GateReason(
                .preferenceUnknown, "whether the user wants this is not known: \(error.place): \(error.reason)",
                hint: error.hint ?? "mend the file that the preference is bound to")
        }
    }

    /// Makes the database and the bound store agree.
    ///
    /// `agreement` is what both last had. Each step is one transaction or one file put in place: after a crash between them the next
    /// look sees which of the two has moved, and goes on.
    func reconcile() throws {
        let isInitialized = try database.read { try $0.settings.exists() && !$0.settings.isInMemory() }
        guard isInitialized else { return }
        guard let bound = try options.preference ?? database.read({ try $0.settings.preferenceFile().map { FilePreference(path: $0.path, key: $0.key) } })
        else { return }
        let said = try bound.load()
        let known = try database.read { (preference: try $0.settings.preference(), agreement: try $0.state.preferenceAgreement()) }
        let choice = known.preference.choice
        if said?.isOn == choice.isOn {
            if Self.isNoted(said, known.preference, known.agreement) { return }
            return try agree(on: choice, was: known.preference, said)
        }
        let wanted = said.map { Self.resolve($0, known.preference, known.agreement) } ?? choice
        // The word given in the bound store is taken over in one transaction, with the note that both agree.
        if wanted == choice { try bound.store(wanted.isOn) }
        try agree(on: wanted, was: known.preference, said)
    }

    /// Whether what both have is noted as what they agree on.
    private static func isNoted(_ said: BoundPreference?, _ preference: SyncPreference, _ agreement: PreferenceAgreement?) -> Bool {
        guard let said, let agreement else { return said == nil && agreement == nil }
        // A switch that was set to what it was is a word, too: whatever comes after it is later.
        let last = Instant(microseconds: agreement.at)
        return agreement.isOn == said.isOn && [said.changedAt, preference.changedAt].allSatisfy { $0 ?? .distantPast <= last }
    }

    /// Which of two that disagree counts.
    static func resolve(_ said: BoundPreference, _ preference: SyncPreference, _ agreement: PreferenceAgreement?) -> SyncChoice {
        let here = preference.choice
        guard let agreement else {
            // Never looked at together: both are somebody's word, unless nothing was chosen here.
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

    /// The later of two words; off where that is not known.
    private static func later(_ said: BoundPreference, _ preference: SyncPreference) -> SyncChoice {
        guard let there = said.changedAt, let here = preference.changedAt, there != here else { return .off }
        return there > here ? SyncChoice(isOn: said.isOn) : preference.choice
    }

    /// Notes that both have the same; fails softly, to be looked at again, where another program has changed the preference meanwhile.
    private func agree(on choice: SyncChoice, was preference: SyncPreference, _ said: BoundPreference?) throws {
        try database.write { transaction in
            guard try transaction.settings.preference() == preference else { return }
            // Not before what is agreed on, whatever a clock said when that was set.
            let time = [now(), preference.changedAt, said?.changedAt].compactMap { $0 }.max() ?? now()
            if preference.choice != choice { try transaction.settings.setPreference(SyncPreference(choice, changedAt: time)) }
            try transaction.state.setPreferenceAgreement(choice.isOn.map { PreferenceAgreement(isOn: $0, at: time) })
        }
    }
}
