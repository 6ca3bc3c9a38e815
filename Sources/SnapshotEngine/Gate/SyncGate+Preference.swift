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

    /// Binds the preference to a key of a JSON file, or to none.
    public func bind(to file: FilePreference?) throws {
        defer { signal.send(()) }
        try database.write(at: .apply) { transaction in
            try checkIsSetUp(transaction)
            try transaction.settings.setPreferenceFile(file.map { PreferenceFileSetting(path: absolutePath($0.path), key: $0.key) })
        }
    }

    /// Sets the file that states the entitlement; nil removes it.
    ///
    /// - Parameter publicKey: the key that must have signed the file (``LicenceKey/publicKey``); nil for a plain file. A user who can change the
    ///   database can change this key as well. An application that must rely on the key passes a ``LicenceFile`` to its engine.
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

    /// Makes a path absolute, because later runs start in other folders.
    private func absolutePath(_ path: String) -> String { URL(fileURLWithPath: path).standardizedFileURL.path }

    /// Refuses a database that is not set up: it has no preference.
    func checkIsSetUp(_ transaction: LocalTransaction) throws {
        guard try !transaction.settings.isInMemory() else {
            throw SyncError(
                .refused, step: .open, at: database.path, "it stands in, in memory, for a database that could not be opened",
                hint: "mend the database that could not be opened")
        }
        _ = try transaction.settings.read()
    }

    /// Returns the reason for a closed gate if the bound store fails; nil if the store and the database agree now.
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
    /// `agreement` is the value that both last had. Each step is one transaction or one replaced file. After a crash between two steps, the next
    /// comparison sees which of the two has changed, and continues.
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
        // If the bound store's value wins, one transaction stores it in the database together with the agreement.
        if wanted == choice { try bound.store(wanted.isOn) }
        try agree(on: wanted, was: known.preference, said)
    }

    /// Whether the recorded agreement is the value that both have.
    private static func isNoted(_ said: BoundPreference?, _ preference: SyncPreference, _ agreement: PreferenceAgreement?) -> Bool {
        guard let said, let agreement else { return said == nil && agreement == nil }
        // Setting a switch to the value that it has is a choice, too. Only later changes may override it.
        let last = Instant(microseconds: agreement.at)
        return agreement.isOn == said.isOn && [said.changedAt, preference.changedAt].allSatisfy { $0 ?? .distantPast <= last }
    }

    /// Returns which of two different values counts.
    static func resolve(_ said: BoundPreference, _ preference: SyncPreference, _ agreement: PreferenceAgreement?) -> SyncChoice {
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
            try transaction.state.setPreferenceAgreement(choice.isOn.map { PreferenceAgreement(isOn: $0, at: time) })
        }
    }
}
