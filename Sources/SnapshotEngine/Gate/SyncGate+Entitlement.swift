import LocalStore
import Logging
import SnapshotModel
import SnapshotVersions
import StrictText

extension SyncGate {
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
        return try transaction.settings.entitlementKey().map { LicenceFile(path: path, publicKey: $0) } ?? FileEntitlement(path: path)
    }

    /// Asks for the entitlement if that is due, and stores the answer. An error is stored as well, and the decision takes it into account.
    ///
    /// - Parameter asIfWanted: whether to ask even if sync is turned off.
    package func askForEntitlement(asIfWanted: Bool = false) async {
        guard !options.isLocalOnly else { return }
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
            if differs(next, record) { try database.write { try $0.state.setEntitlementRecord(next) } }
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
