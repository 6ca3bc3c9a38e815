public import CloudStore

extension CloudZone {
    /// Saves and deletes records in one commit, and returns the result for each.
    ///
    /// If another device publishes first, the request is checked against the new state, rebuilt, and tried again with backoff. If
    /// publishing fails with a retryable `.inputOutput`, the same commit is published again, so nothing is saved twice. After
    /// `.serverResponseLost` the outcome is unknown: the commit may have been published.
    ///
    /// - Parameter atomically: if true, one failed record fails the whole request, and the others get `batchRequestFailed`. If false, the
    ///   others are saved.
    /// - Returns: each record's result. Check them, or call ``ModifyResults/get()``: failed records do not throw by themselves.
    /// - Throws: ``CloudError`` for failures of the request as a whole: `.invalidArguments` (a record is named twice), `.limitExceeded`,
    ///   `.requestRateLimited`, `.quotaExceeded`, `.zoneNotFound`, `.userDeletedZone`, `.notAuthorized`, `.zoneBusy` and others.
    public func modify(
        saving: [CloudRecord], deleting: [String] = [], savePolicy: RecordSavePolicy = .ifServerRecordUnchanged, atomically: Bool = true
    ) async throws -> ModifyResults {
        let request = ModifyRequest(saving: saving, deleting: deleting, savePolicy: savePolicy, isAtomic: atomically, zone: id)
        try request.verify()
        return try await inTurn { try await self.carryOut(request) }
    }

    /// Saves one record and returns it with its new tag.
    ///
    /// - Throws: the record's own error, not wrapped; otherwise as ``modify(saving:deleting:savePolicy:atomically:)``.
    @discardableResult
    public func save(_ record: CloudRecord, savePolicy: RecordSavePolicy = .ifServerRecordUnchanged) async throws -> CloudRecord {
        let results = try await modify(saving: [record], savePolicy: savePolicy)
        guard let saved = results.saveResults.first else { throw CloudError(.unknownItem, at: id.place, "the save has no result") }
        return try saved.result.get()
    }

    /// Deletes one record, and all records that refer to it with `deleteSelf`. A name that does not exist is not an error.
    public func delete(_ name: String) async throws {
        if let failure = try await modify(saving: [], deleting: [name]).failure { throw failure.cause }
    }

    private func carryOut(_ request: ModifyRequest) async throws -> ModifyResults {
        for loss in 1...retry.attempts {
            try Task.checkCancellation()
            let (plan, creations, parent) = try await planned(request)
            guard !plan.isEmpty else { return results(of: request, plan, saved: [], token: nil) }
            let draft = CommitDraft(device: device, saving: Array(plan.saving.values), deleting: Array(plan.deleting), clock: now())
            do {
                let token = try await confirm(try await cloud.prepare(draft, after: parent, in: id))
                return results(of: request, plan, saved: await saved(plan, creations, at: token), token: token)
            } catch let error as CloudError where error.code == .serverRecordChanged || error.code == .changeTokenExpired {
                guard loss < retry.attempts else { break }
                try await clock.sleep(for: retry.delay(after: loss))
            }
        }
        throw retry.exhausted(at: id)
    }

    /// Plans a request on the zone's present state. Returns the plan, when the records to save were made, and the token to publish after.
    ///
    /// The state itself is not returned: while it is held, reading the new commit would copy all records.
    private func planned(_ request: ModifyRequest) async throws -> (plan: ModifyPlan, creations: [String: RecordEvent], parent: ChangeToken?) {
        let view = try await refreshed()
        let plan = ModifyPlan(request, on: view, faults: try await assetFaults(of: request, on: view))
        let creations = plan.saving.keys.compactMap { name in view.records[name]?.creation.map { (name, $0) } }
        return (plan, Dictionary(creations, uniquingKeysWith: { first, _ in first }), view.token)
    }

    /// Publishes a commit. After a retryable `.inputOutput` or `.serverResponseLost` the outcome is unknown, so publishes the same bytes again:
    /// the cloud either finds them in place or places them.
    private func confirm(_ commit: PreparedCommit) async throws -> ChangeToken {
        var failures = 0
        while true {
            do {
                return try await cloud.publish(commit)
            } catch let error as CloudError where [.inputOutput, .serverResponseLost].contains(error.code) && error.isRetryable && failures < 3 {
                failures += 1
                try await clock.sleep(for: retry.delay(after: failures))
            }
        }
    }

    /// Returns the records as that commit saved them. Reading them back may fail; the commit is published all the same.
    private func saved(_ plan: ModifyPlan, _ creations: [String: RecordEvent], at token: ChangeToken) async -> [CloudRecord] {
        let read = try? await advanced()
        if let saved = read?.saved[token.number] { return saved }
        // Another call on this handle may have read the commit first, and a later commit may have saved the record again.
        return plan.saving.values.map { record in
            if let live = read?.view.records[record.name], live.changeTag == String(token.number) { return live }
            return CloudRecord(
                type: record.type, name: record.name, fields: record.fields, changeTag: String(token.number),
                creation: creations[record.name], modification: nil)
        }
    }

    /// Returns the records that newly name an asset which is missing, or whose size differs from the record's.
    private func assetFaults(of request: ModifyRequest, on view: ZoneView) async throws -> [String: CloudError] {
        var faults: [String: CloudError] = [:]
        for record in request.saving {
            let known = Set(view.records[record.name]?.assets ?? [])
            // Skip invalid asset paths here; the plan refuses them.
            for asset in record.assets where !known.contains(asset) && AssetPath(asset.path)?.record == record.name {
                do {
                    _ = try await cloud.openAsset(asset, in: id)
                } catch let error as CloudError where error.code == .pending || error.code == .damaged {
                    let isThere = error.code == .damaged || error.isArriving
                    faults[record.name] = CloudError(
                        isThere ? .assetFileModified : .assetFileNotFound, at: request.place(record.name),
                        isThere ? "an asset of the record is there in another size" : "an asset of the record is not there",
                        hint: "write the asset again, then save")
                }
            }
        }
        return faults
    }

    private func results(of request: ModifyRequest, _ plan: ModifyPlan, saved: [CloudRecord], token: ChangeToken?) -> ModifyResults {
        let saved = Dictionary(saved.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        return ModifyResults(
            saveResults: request.saving.map { record in
                if let error = plan.failures[record.name] { return (record.name, .failure(error)) }
                guard let found = saved[record.name] else {
                    return (record.name, .failure(CloudError(.unknownItem, at: request.place(record.name), "the commit does not hold the record")))
                }
                return (record.name, .success(found))
            },
            deleteResults: request.deleting.map { name in (name, plan.failures[name].map { .failure($0) } ?? .success(())) },
            token: token, zone: id)
    }
}
