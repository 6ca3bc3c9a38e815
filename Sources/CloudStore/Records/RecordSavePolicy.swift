/// What a save does where the cloud has the record already. CloudKit's three policies.
///
/// Under each of them the keys that exist only on the server are kept, a key that was taken out of a fetched record is taken out
/// on the server, and a record with a tag that is gone from the cloud gives `unknownItem`: nothing comes back from the dead unasked.
public enum RecordSavePolicy: String, Hashable, Sendable, CaseIterable {
    /// The changed keys are saved, if nobody has saved the record since it was fetched; else `serverRecordChanged`.
    case ifServerRecordUnchanged
    /// The changed keys are saved, whoever saved the record in the meantime.
    case changedKeys
    /// All keys of the client's record are saved, whoever saved it in the meantime.
    case allKeys
}

extension RecordSavePolicy {
    /// The record to save, given the one that the cloud has.
    ///
    /// - Throws: ``CloudError`` with `.serverRecordChanged` (and the conflict), `.unknownItem`, or `.invalidArguments` for another type.
    func merge(_ client: CloudRecord, into server: CloudRecord?, at place: String) throws(CloudError) -> CloudRecord {
        guard let server else {
            guard client.changeTag == nil else {
                throw CloudError(
                    .unknownItem, at: place, "the record was deleted since it was fetched", hint: "to bring it back, save a new record of that name")
            }
            return CloudRecord(type: client.type, name: client.name, fields: client.fields)
        }
        if self == .ifServerRecordUnchanged, client.changeTag != server.changeTag {
            throw CloudError(
                .serverRecordChanged, at: place,
                client.changeTag == nil ? "there is a record of that name already" : "the record was saved by another device since it was fetched",
                hint: "merge into the server's record, then save that",
                conflict: RecordConflict(server: server, client: client, ancestor: client.asFetched))
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
