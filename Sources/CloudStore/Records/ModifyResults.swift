/// What became of each record of a request.
///
///     let results = try await zone.modify(saving: records, deleting: old, atomically: false)
///     for (name, error) in results.failures { … }
///     let saved = try results.get()      // or throws `partialFailure`, with every record's own error
public struct ModifyResults: Sendable {
    /// For each record to be saved, in the order of the request: the record with its new tag, or why it was not saved.
    public let saveResults: [(name: String, result: Result<CloudRecord, CloudError>)]
    /// For each name to be deleted, in the order of the request. A name that was not there is no failure.
    public let deleteResults: [(name: String, result: Result<Void, CloudError>)]
    /// The zone's commit that holds the changes; nil if there was nothing to change.
    public let token: ChangeToken?
    let zone: ZoneID

    /// What went wrong, by the record's name.
    public var failures: [String: CloudError] {
        var failures: [String: CloudError] = [:]
        for (name, result) in saveResults { if case .failure(let error) = result { failures[name] = error } }
        for (name, result) in deleteResults { if case .failure(let error) = result { failures[name] = error } }
        return failures
    }

    /// All of what went wrong as one error, `partialFailure`; nil if nothing did.
    public var failure: CloudError? { CloudError.partial(failures, at: "\(zone)") }

    /// The saved records with their new tags, in the order of the request.
    ///
    /// - Throws: ``CloudError`` with `.partialFailure` if any record failed.
    @discardableResult
    public func get() throws(CloudError) -> [CloudRecord] {
        if let failure { throw failure }
        return saveResults.compactMap { try? $0.result.get() }
    }
}
