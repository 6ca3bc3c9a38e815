public import CloudStore
import Foundation
import StrictText

/// A cloud in a bucket of an S3-compatible object store.
///
///     let cloud = try ObjectCloud(location: "s3://team-data/app", expecting: uuid)
///
/// The objects have the names and the bytes of a directory cloud's files. The store must offer one thing: to refuse a PUT with
/// `If-None-Match: *` if the key is taken, for any number of concurrent writers. That PUT is the commit point. No object is ever
/// overwritten. Source: docs/object-store.md.
// SAFETY (@unchecked Sendable): as its superclass.
public final class ObjectCloud: CloudDatabase, @unchecked Sendable {
    let client: ObjectClient

    /// Opens a cloud.
    ///
    /// With a `uuid` no request is sent: `cloud.json` never changes, and every commit names its cloud. The object is read and compared
    /// before anything is written, and when something that was read before is missing.
    ///
    /// - Parameters:
    ///   - location: `s3://BUCKET/PREFIX`, followed by a `?` and the server and the region if they are not the defaults of AWS.
    ///   - uuid: the UUID that the cloud must have; nil accepts any.
    ///   - container: the container identifier that it must have; nil accepts any.
    /// - Throws: ``CloudError`` with `.cloudUnavailable`, `.notACloud`, `.badContainer`, `.permissionFailure`,
    ///   `.invalidArguments` (the location) or `.incompatibleVersion`.
    public convenience init(location: String, expecting uuid: String? = nil, container: String? = nil) throws {
        try self.init(location: location, expecting: uuid, container: container, meter: RequestMeter())
    }

    /// Opens a cloud, and counts its requests in `meter`.
    package convenience init(location: String, expecting uuid: String?, container: String?, meter: RequestMeter) throws {
        try self.init(client: try Self.client(location, meter: meter), expecting: uuid, container: container)
    }

    /// Opens a cloud with the given client.
    package convenience init(client: ObjectClient, expecting uuid: String?, container: String? = nil, nonces: NonceSource = .system) throws {
        self.init(client, expecting: uuid, container: container, nonces: nonces)
        if uuid == nil { _ = try openedIdentity() }
    }

    private init(_ client: ObjectClient, expecting uuid: String? = nil, container: String? = nil, found: CloudIdentity? = nil, nonces: NonceSource) {
        self.client = client
        super.init(
            BucketStore(client: client), expecting: uuid, container: container, found: found, nonces: nonces,
            words: PlaceWords(there: "at this place of the bucket", new: "the prefix", known: "the prefix and the bucket", right: "bucket and prefix"))
    }

    /// Creates a cloud at an empty place of an existing bucket, or opens the cloud that is there.
    ///
    /// - Returns: the cloud, and whether it was created now.
    /// - Throws: ``CloudError`` with `.notACloud` if there are other objects, `.invalidArguments`, and as
    ///   ``init(location:expecting:container:)``.
    public static func create(at location: String, container: String) throws -> (cloud: ObjectCloud, isNew: Bool) {
        try create(client: try client(location), container: container)
    }

    /// Tests a bucket, then creates a cloud there or opens the existing one.
    ///
    /// - Parameter verdict: judges the test's result. If it throws, nothing is created.
    package static func create(
        at location: String, container: String, after verdict: (BucketProbe) throws -> Void
    ) throws -> (cloud: ObjectCloud, isNew: Bool) {
        let client = try client(location)
        return try create(client: client, container: container) { try verdict(BucketProbe(client)) }
    }

    /// Creates the copy of a cloud, or opens the existing cloud.
    ///
    /// - Parameter uuid: the identity of the copy.
    package static func create(at location: String, container: String, uuid: String) throws -> (cloud: ObjectCloud, isNew: Bool) {
        try create(client: try client(location), container: container, uuid: uuid)
    }

    /// Creates a cloud with the given client.
    package static func create(
        client: ObjectClient, container: String, uuid: String? = nil, nonces: NonceSource = .system, trial: () throws -> Void = {}
    ) throws -> (cloud: ObjectCloud, isNew: Bool) {
        _ = try ContainerIdentifier(container)
        var isTried = false
        let made = try CloudDatabase.makeMarker(in: BucketStore(client: client), container: container, uuid: uuid, nonces: nonces) {
            // A killed test leaves objects of its own, fewer than one page of a listing.
            guard try client.list("", first: 1000).allSatisfy({ BucketProbe.isOwn($0.path) }) else {
                throw CloudError(
                    .notACloud, at: client.location.description, "other objects are there, and no location",
                    hint: "give a prefix that no object has: s3://BUCKET/PREFIX")
            }
            try trial()
            isTried = true
        }
        if !isTried { try trial() }
        return (ObjectCloud(client, found: made.identity, nonces: nonces), made.isNew)
    }

    /// Makes the client of a location, with credentials from the environment.
    package static func client(_ text: String, meter: RequestMeter = RequestMeter()) throws -> ObjectClient {
        let chain = CredentialsChain()
        var location = try BucketLocation(text)
        if location.endpoint == nil, let endpoint = chain.endpoint() { location.endpoint = endpoint }
        if location.region == nil { location.region = try chain.region() }
        try location.verifyServer()
        return ObjectClient(location, transport: CurlTransport(certificates: location.certificates), credentials: chain, meter: meter)
    }

    /// The requests and bytes since the cloud was opened, including those for opening it.
    public var usage: RequestUsage { client.usage }
}
