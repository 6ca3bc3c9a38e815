public import CloudStore
public import Foundation

/// The operations of CloudKit that the backend needs: one database of a container, private or public.
///
/// An application implements it over its `CKDatabase`; docs/cloudkit.md shows how. The limits and the errors are CloudKit's: at most 400 records or
/// 2 MB in a request, 1 MB in a record without its assets, 250 MB in an asset. Each function throws a ``CloudKitError``.
public protocol CloudKitDatabase: Sendable {
    /// The state of the user's account: `CKContainer.accountStatus()`.
    func accountStatus() async throws(CloudKitError) -> AccountStatus

    /// Creates a record zone, or does nothing if it is there. Never called for a public database, which has none but its default zone.
    func createZone(_ zone: String) async throws(CloudKitError)
    /// The names of the record zones, without the default zone.
    func zones() async throws(CloudKitError) -> [String]

    /// Fetches records by their names, with some of their fields alone. A record that is not there is missing in the result.
    ///
    /// The file of an asset stays until the caller has opened it; CloudKit may remove it later.
    ///
    /// - Parameters:
    ///   - zone: nil is the default zone.
    ///   - keys: the fields to fetch; nil fetches all.
    func records(_ names: [String], in zone: String?, desiredKeys keys: [String]?) async throws(CloudKitError) -> [CloudKitRecord]

    /// Saves records under the policy `ifServerRecordUnchanged`, and deletes others.
    ///
    /// A record without a change tag is new: if one of its name is there, it is not saved (`serverRecordChanged`). A record to delete that is not there
    /// is no error.
    ///
    /// - Parameter isAtomic: whether all must succeed together; only a zone of a private database can do it.
    /// - Returns: the saved records as the server has them, each with its change tag and its time.
    /// - Throws: ``CloudKitError``; `partialFailure` with an error for each record that failed, if at least one did.
    func modify(saving: [CloudKitRecord], deleting: [String], in zone: String?, atomically isAtomic: Bool) async throws(CloudKitError) -> [CloudKitRecord]

    /// What has changed in a zone of a private database since a token: `recordZoneChanges(inZoneWith:since:)`, one batch of it.
    ///
    /// - Throws: ``CloudKitError``; `changeTokenExpired` if the zone has to be read from the beginning.
    func changes(in zone: String, since token: Data?, desiredKeys keys: [String]) async throws(CloudKitError) -> CloudKitChanges

    /// The records of a type whose text field begins with a prefix: a `CKQuery` with `BEGINSWITH`, one batch of it. The field needs a queryable index.
    ///
    /// - Parameter cursor: where the batch before ended; nil begins.
    func records(matching query: CloudKitQuery, in zone: String?, after cursor: Data?, desiredKeys keys: [String]) async throws(CloudKitError) -> CloudKitPage
}

/// Which records: those of a type whose text field begins with a prefix.
public struct CloudKitQuery: Hashable, Sendable {
    public let type: String
    public let field: String
    public let prefix: String

    public init(type: String, field: String, prefix: String) { (self.type, self.field, self.prefix) = (type, field, prefix) }
}

/// One batch of a zone's changes.
public struct CloudKitChanges: Sendable {
    public let changed: [CloudKitRecord]
    /// The names of the records that were deleted.
    public let deleted: [String]
    /// Where the next batch begins.
    public let token: Data
    public let isMoreComing: Bool

    public init(changed: [CloudKitRecord], deleted: [String], token: Data, isMoreComing: Bool) {
        (self.changed, self.deleted, self.token, self.isMoreComing) = (changed, deleted, token, isMoreComing)
    }
}

/// One batch of a query's records.
public struct CloudKitPage: Sendable {
    public let records: [CloudKitRecord]
    /// Where the next batch begins; nil if this is the last one.
    public let cursor: Data?

    public init(records: [CloudKitRecord], cursor: Data?) { (self.records, self.cursor) = (records, cursor) }
}
