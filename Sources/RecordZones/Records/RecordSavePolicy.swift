import CloudStore

/// How a save treats a record that the cloud already has: CloudKit's three policies.
///
/// Under each policy, keys that exist only on the server are kept, and a key that was removed from a fetched record is removed on the
/// server. Saving a fetched record that was deleted in the cloud gives `unknownItem`, so no save restores a deleted record by accident.
public enum RecordSavePolicy: String, Hashable, Sendable, CaseIterable {
    /// Saves the changed keys if nobody has saved the record since it was fetched; otherwise fails with `serverRecordChanged`.
    case ifServerRecordUnchanged
    /// Saves the changed keys, even if another device has saved the record in the meantime.
    case changedKeys
    /// Saves all keys of the client's record, even if another device has saved the record in the meantime.
    case allKeys
}

extension RecordSavePolicy {
    /// Returns the record to save, given the one in the cloud.
    ///
    /// - Throws: ``CloudError`` with `.serverRecordChanged` (with the conflict), `.unknownItem`, or `.invalidArguments` for a record of
    ///   another type.
    func merge(_ client: CloudRecord, into server: CloudRecord?, at place: String) throws(CloudError) -> CloudRecord {
        guard let server else {
            guard client.changeTag == nil else {
                throw CloudError(
                    .unknownItem, at: place, "the record was deleted since it was fetched", hint: "to bring it back, save a new record of that name")
            }
            return CloudRecord(type: client.type, name: client.name, fields: client.fields)
        }
        if self == .ifServerRecordUnchanged, client.changeTag != server.changeTag {
            var error = CloudError(
                .serverRecordChanged, at: place,
                client.changeTag == nil ? "there is a record of that name already" : "the record was saved by another device since it was fetched",
                hint: "merge into the server's record, then save that")
            error.conflict = RecordConflict(server: server, client: client, ancestor: client.asFetched)
            throw error
        }
        guard client.type == server.type else {
            throw CloudError(.invalidArguments, at: place, "there is a record of that name with another type", hint: "choose another name")
        }
        var keys = client.changedKeys
        if self == .allKeys { keys.formUnion(client.fields.keys) }
        var fields = server.fields
        for key in keys { fields[key] = client.fields[key] }
        return CloudRecord(type: server.type, name: server.name, fields: fields)
    }
}
