package import CloudStore
import LocalTables
import SnapshotModel
import SnapshotVersions
import StrictText
package import SyncRuns

/// The options of `sign` and `seal`.
package struct TurnOverRequest: Sendable {
    /// Whether the next zone is sealed; otherwise it is signed.
    package var isSealed: Bool
    /// Whether the sealed zone pads what it encrypts (``SetupRequest/isPadded``).
    package var isPadded = false
    /// Whether the sealed zone gives its members the keys by X-Wing (``SetupRequest/isPostQuantum``). Members of a signed zone have to be approved anew then.
    package var isPostQuantum = false
    /// The name of the next zone; nil makes one from the present name and `signed` or `sealed`.
    package var zone: String?
    /// Whether to remove the versions, assets and messages of the earlier zone once the next one has its first version.
    package var removesEarlier = false
    /// Whether to report only what would happen.
    package var isDryRun = false

    package init(isSealed: Bool, zone: String? = nil) { (self.isSealed, self.zone) = (isSealed, zone) }

    /// The protection of the next zone.
    var protection: ZoneProtection {
        guard isSealed else { return .signed }
        return [.signed, .sealed, isPadded ? .padded : [], isPostQuantum ? .postQuantum : []]
    }
}

extension SyncEngine {
    /// Signs or seals the data of a zone. The data continues in a new zone, whose first version contains every dataset whole.
    ///
    /// The last version of the present zone names the next zone, and every other device follows at its next sync. If a call is interrupted, the
    /// same call or the next ``sync(allowing:progress:)`` continues it. Source: docs/security.md, "Existing zones".
    ///
    /// - Parameter showsCode: receives the recovery code of a sealed zone as soon as the code is valid, even if a later step fails.
    /// - Throws: ``SyncError`` with `.refused` if the zone is of that kind already, or this device does not publish in it; `.nothingThere` before
    ///   its first version.
    package func turnOver(
        _ request: TurnOverRequest, progress: ProgressHandler? = nil, showsCode: @Sendable (RecoveryCode) -> Void = { _ in }
    ) async throws -> TurnOverReport {
        try await gate.enter()
        if request.isDryRun {
            return try await WorkerThreads.host {
                let begun = try begunTurnOver(request)
                return try await ZoneTurner(context(), request, keyStore: keyStore, in: openCloud(settings())).plan(begun)
            }
        }
        let code = request.isSealed ? RecoveryCode() : nil
        let (report, warnings) = try await close(request, code: code, progress)
        if let code, report != nil { showsCode(code) }
        let synced = try await sync(progress: progress)
        return try await locked {
            let turner = try ZoneTurner(context(), request, keyStore: keyStore, in: openCloud(settings()))
            let turned = if let report { report } else { try await turner.plan(begunTurnOver(request)) }
            var done = try await turner.finish(turned)
            if report != nil { done.recoveryCode = code?.words }
            done.warnings += warnings + (synced.exported?.warnings ?? [])
            return done
        }
    }

    /// Ends the present zone with a version that names the next zone, and switches this database to that zone. The report is nil if an earlier
    /// call has done that. The second value has the warnings of the sync.
    private func close(_ request: TurnOverRequest, code: RecoveryCode?, _ progress: ProgressHandler?) async throws -> (TurnOverReport?, [String]) {
        let policy = RetryPolicy(attempts: 10)
        var warnings: [String] = []
        for attempt in 1... {
            // Publish all local changes and apply all messages before the zone ends. If an earlier call has switched the zone already, just
            // continue.
            if try begunTurnOver(request) == nil { warnings += try await sync(progress: progress).exported?.warnings ?? [] }
            do {
                return try await locked {
                    guard try begunTurnOver(request) == nil else { return (nil, warnings) }
                    return (try await ZoneTurner(context(), request, keyStore: keyStore, in: openCloud(settings())).close(code), warnings)
                }
            } catch let error as SyncError where error.code == .tryAgainLater && attempt < policy.attempts {
                try await Task.sleep(for: policy.delay(after: attempt))
            }
        }
        throw SyncError(.tryAgainLater, step: .announce, at: database.path, "other devices publish without a pause", hint: "run the same command again")
    }

    private func settings() throws -> SyncSettings { try database.read { try $0.settings.read() } }

    /// Returns the earlier zone if this database has already left it for a zone of the wanted kind that it makes; nil if it has not.
    ///
    /// - Throws: ``SyncError`` with `.refused` if the zone has been of that kind for another reason.
    private func begunTurnOver(_ request: TurnOverRequest) throws -> EarlierZone? {
        let context = try context(), earlier = try database.read { try $0.state.earlierZones().last }
        let known = context.signedZone?.authority.knowledge
        guard let known, known.isSealed || !request.isSealed else { return nil }
        guard let earlier, earlier.madeNext, known.isSealed == request.isSealed else {
            throw SyncError(
                .refused, step: .open, at: context.zone.place, "it is \(known.isSealed ? "sealed" : "signed") already",
                hint: known.isSealed ? "new keys: snapsync zone rotate-keys --reseal" : "to encrypt it: snapsync zone encrypt")
        }
        return earlier
    }
}

/// What `sign` or `seal` did, or with a dry run would do.
package struct TurnOverReport: Sendable, Encodable {
    package struct Dataset: Sendable, Encodable {
        package let name: String
        /// The number of entities in the next zone's first version, as far as it is known; nil before the first version.
        package let recordCount: Int?
    }

    package let isDryRun: Bool
    /// The zone that is left behind.
    package let earlierZone: String
    /// Its last version.
    package let earlierVersion: Int?
    /// The zone that continues it.
    package let zone: String
    /// Whether that zone is sealed; if not, it is signed.
    package let isSealed: Bool
    /// The eight words of this device, which creates the zone; nil in a dry run if the device has no keys there yet.
    package let creator: String?
    /// The zone's newest version; nil in a dry run.
    package internal(set) var version: Int?
    /// The datasets that are published whole.
    package let datasets: [Dataset]
    /// The devices that stay members, if the earlier zone was signed.
    package internal(set) var admitted: [String]
    /// The devices that have reported in the earlier zone and must be approved in the next one.
    package let toApprove: [String]
    /// The versions that were pinned in the earlier zone. The pins stay there.
    package let pinnedVersions: [Int]
    /// The number and total size in bytes of the earlier zone's files that hold data.
    package let earlierFiles: Int
    package let earlierBytes: Int
    /// Whether those files were removed, or in a dry run would be. If not, anybody who can read the store can read them.
    package internal(set) var isEarlierRemoved: Bool
    /// The recovery code of a sealed zone. It is a secret and stored nowhere. nil if this call made none.
    package internal(set) var recoveryCode: String?
    /// Warnings, one sentence each.
    package internal(set) var warnings: [String]

    /// The word `signed` or `sealed`.
    package var kind: String { isSealed ? "sealed" : "signed" }
}
