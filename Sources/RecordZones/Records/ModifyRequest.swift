import CloudStore

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
            throw CloudError(.invalidArguments, at: "\(zone)", "a record is saved or deleted twice in one request", hint: "name each record once")
        }
    }
}
