public import CloudStore

/// The result of applying one request to one state of a zone: the records to save, the names to delete, and the failures.
///
/// A value made from values: after a lost race, a new plan is made on the new state.
struct ModifyPlan: Sendable {
    /// The records to save, merged with the versions in the cloud.
    private(set) var saving: [String: CloudRecord] = [:]
    /// The existing records to delete, including those that refer to one of them with `deleteSelf`.
    private(set) var deleting: Set<String> = []
    /// The failures, by the record's name.
    private(set) var failures: [String: CloudError]

    private let request: ModifyRequest
    /// The zone's records, only while the plan is made.
    private var live: RecordTable

    /// Plans a request.
    ///
    /// - Parameter faults: errors that are already known, by record name: a missing asset.
    init(_ request: ModifyRequest, on view: ZoneView, faults: [String: CloudError] = [:]) {
        self.request = request
        live = view.records
        failures = faults
        defer { live = RecordTable() }
        merge(number: view.nextNumber)
        repeat { deleting = doomed() } while refuseDanglingReferences()
        guard request.isAtomic, !failures.isEmpty else { return }
        // All or nothing: each record without an error of its own gets `batchRequestFailed`.
        for name in request.saving.map(\.name) + request.deleting where failures[name] == nil {
            failures[name] = CloudError(
                .batchRequestFailed, at: request.place(name), "another record of the atomic request failed", hint: "correct that one, then save all again")
        }
        saving = [:]
        deleting = []
    }

    /// Whether no change is left to publish.
    var isEmpty: Bool { saving.isEmpty && deleting.isEmpty }

    private mutating func merge(number: Int) {
        for name in request.deleting where !CloudNames.isName(name) {
            failures[name] = CloudError(.invalidArguments, at: request.place(name), "the name is not allowed")
        }
        for client in request.saving where failures[client.name] == nil {
            let place = request.place(client.name)
            do throws(CloudError) {
                let record = try request.savePolicy.merge(client, into: live[client.name], at: place)
                if let fault = record.fault(at: number) { throw CloudError(.invalidArguments, at: place, fault, hint: "correct the record") }
                saving[client.name] = record
            } catch {
                failures[client.name] = error
            }
        }
    }

    /// Returns the names to delete: the requested ones and, transitively, all records that refer to them with `deleteSelf` after the saves.
    private func doomed() -> Set<String> {
        var doomed = Set(request.deleting.filter { live[$0] != nil })
        guard !doomed.isEmpty else { return [] }
        var holders: [String: [String]] = [:]
        // Skip records that this request saves: they are refused instead of being deleted without having been asked for; see
        // `refuseDanglingReferences()`.
        for record in live.values where saving[record.name] == nil {
            for reference in record.references(.deleteSelf) { holders[reference.record, default: []].append(record.name) }
        }
        var open = Array(doomed)
        while let name = open.popLast() {
            for holder in holders[name] ?? [] where doomed.insert(holder).inserted { open.append(holder) }
        }
        return doomed
    }

    /// Refuses records with a `deleteSelf` reference to a record that will not exist. Returns whether there were any.
    private mutating func refuseDanglingReferences() -> Bool {
        var found = false
        for record in saving.values {
            let targets = record.references(.deleteSelf).map(\.record)
            guard !targets.allSatisfy({ saving[$0] != nil || (live[$0] != nil && !deleting.contains($0)) }) else { continue }
            failures[record.name] = CloudError(
                .referenceViolation, at: request.place(record.name), "the record refers to one that is not there",
                hint: "save the target first or in the same request")
            saving[record.name] = nil
            found = true
        }
        return found
    }
}

/// The changes that a caller requests in a zone.
struct ModifyRequest: Sendable {
    var saving: [CloudRecord]
    var deleting: [String]
    var savePolicy: RecordSavePolicy
    var isAtomic: Bool
    let zone: ZoneID

    /// A record's place in error messages; the name is left out if it is outside the grammar.
    func place(_ record: String) -> String {
        CloudNames.isName(record) ? "\(zone)/\(record)" : "\(zone)"
    }

    /// Refuses a request that names a record twice.
    ///
    /// - Throws: ``CloudError`` with `.invalidArguments`.
    func verify() throws(CloudError) {
        let names = saving.map(\.name) + deleting
        guard Set(names).count == names.count else {
            throw CloudError(.invalidArguments, at: zone.place, "a record is saved or deleted twice in one request", hint: "name each record once")
        }
    }
}

/// The result for each record of a request.
///
///     let results = try await zone.modify(saving: records, deleting: old, atomically: false)
///     for (name, error) in results.failures { … }
///     let saved = try results.get()      // or throws `partialFailure`, with every record's own error
public struct ModifyResults: Sendable {
    /// For each record to save, in the order of the request: the record with its new tag, or the error.
    public let saveResults: [(name: String, result: Result<CloudRecord, CloudError>)]
    /// For each name to delete, in the order of the request. A name that did not exist is not a failure.
    public let deleteResults: [(name: String, result: Result<Void, CloudError>)]
    /// The commit that contains the changes; nil if there was nothing to change.
    public let token: ChangeToken?
    let zone: ZoneID

    /// The errors, by the record's name.
    public var failures: [String: CloudError] {
        var failures: [String: CloudError] = [:]
        for (name, result) in saveResults { if case .failure(let error) = result { failures[name] = error } }
        for (name, result) in deleteResults { if case .failure(let error) = result { failures[name] = error } }
        return failures
    }

    /// All errors as one `partialFailure`; nil if there are none.
    public var failure: CloudError? { CloudError.partial(failures, at: zone.place) }

    /// The saved records with their new tags, in the order of the request.
    ///
    /// - Throws: ``CloudError`` with `.partialFailure` if any record failed.
    @discardableResult
    public func get() throws(CloudError) -> [CloudRecord] {
        if let failure { throw failure }
        return saveResults.compactMap { try? $0.result.get() }
    }
}
