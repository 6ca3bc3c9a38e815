public import CloudStore
public import Foundation

/// The CloudKit operations that the backend needs, on one database of a container, private or public.
///
/// An application implements them with its `CKDatabase`; docs/from-cloudkit.md shows how. The limits and the errors are CloudKit's: at most 400
/// records or 2 MB in a request, 1 MB in a record without its assets, 250 MB in an asset. Each function throws a ``CloudKitError``.
public protocol CloudKitDatabase: Sendable {
    /// The state of the user's account: `CKContainer.accountStatus()`.
    func accountStatus() async throws(CloudKitError) -> AccountStatus

    /// Creates a record zone, or does nothing if it exists. Never called for a public database, which has only its default zone.
    func createZone(_ zone: String) async throws(CloudKitError)
    /// The names of the record zones, without the default zone.
    func zones() async throws(CloudKitError) -> [String]

    /// Fetches records by their names, optionally with only some of their fields. Records that do not exist are missing in the result.
    ///
    /// The file of a fetched asset must exist until the caller has opened it; CloudKit may remove it later.
    ///
    /// - Parameters:
    ///   - zone: the record zone; nil stands for the default zone.
    ///   - keys: the fields to fetch; nil fetches all.
    func records(_ names: [String], in zone: String?, desiredKeys keys: [String]?) async throws(CloudKitError) -> [CloudKitRecord]

    /// Saves records under the policy `ifServerRecordUnchanged`, and deletes others.
    ///
    /// A record without a change tag is new: if a record of its name exists, it is not saved (`serverRecordChanged`). Deleting a record that
    /// does not exist is not an error.
    ///
    /// - Parameter isAtomic: whether all must succeed together. Only zones of a private database support this.
    /// - Returns: the saved records as the server has them, each with its change tag and its time.
    /// - Throws: ``CloudKitError``; `partialFailure`, with an error for each failed record, if at least one failed.
    func modify(saving: [CloudKitRecord], deleting: [String], in zone: String?, atomically isAtomic: Bool) async throws(CloudKitError) -> [CloudKitRecord]

    /// Fetches one batch of a private zone's changes since a token: `recordZoneChanges(inZoneWith:since:)`.
    ///
    /// - Throws: ``CloudKitError``; `changeTokenExpired` if the zone must be read from the beginning.
    func changes(in zone: String, since token: Data?, desiredKeys keys: [String]) async throws(CloudKitError) -> CloudKitChanges

    /// Fetches one batch of the records of a type whose text field begins with a prefix: a `CKQuery` with `BEGINSWITH`. The field needs a
    /// queryable index.
    ///
    /// - Parameter cursor: the end of the previous batch; nil starts at the beginning.
    func records(matching query: CloudKitQuery, in zone: String?, after cursor: Data?, desiredKeys keys: [String]) async throws(CloudKitError) -> CloudKitPage
}

/// Selects the records of a type whose text field begins with a prefix.
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
    /// The token for the next batch.
    public let token: Data
    public let isMoreComing: Bool

    public init(changed: [CloudKitRecord], deleted: [String], token: Data, isMoreComing: Bool) {
        (self.changed, self.deleted, self.token, self.isMoreComing) = (changed, deleted, token, isMoreComing)
    }
}

/// One batch of a query's records.
public struct CloudKitPage: Sendable {
    public let records: [CloudKitRecord]
    /// The cursor for the next batch; nil if this is the last one.
    public let cursor: Data?

    public init(records: [CloudKitRecord], cursor: Data?) { (self.records, self.cursor) = (records, cursor) }
}
