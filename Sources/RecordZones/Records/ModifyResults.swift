public import CloudStore

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
