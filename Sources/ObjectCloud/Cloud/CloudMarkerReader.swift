import CloudStore
import CommitLog
import Synchronization

/// Reads the identity of a cloud in a bucket from `cloud.json`, on first use and only once: the object never changes.
final class CloudMarkerReader: Sendable {
    let client: ObjectClient
    private let expected: String?
    private let container: String?
    private let known: Mutex<CloudIdentity?>

    /// - Parameters:
    ///   - uuid: the UUID that the cloud must have; nil accepts any.
    ///   - container: the container identifier that it must have; nil accepts any.
    init(_ client: ObjectClient, expecting uuid: String?, container: String?) {
        self.client = client
        expected = uuid
        self.container = container
        known = Mutex(nil)
    }

    /// The marker of a cloud that was created or read just now.
    init(_ client: ObjectClient, found identity: CloudIdentity) {
        self.client = client
        expected = identity.uuid
        container = nil
        known = Mutex(identity)
    }

    /// The UUID of the cloud: the expected one, without a request, or else the one in the marker.
    func uuid() throws -> String { try expected ?? identity().uuid }

    /// The UUID if it is known without a request.
    var knownUUID: String? { expected ?? known.withLock { $0?.uuid } }

    /// Returns the identity that `cloud.json` states.
    ///
    /// - Throws: ``CloudError`` with `.notACloud` or `.cloudUnavailable` if the object is not there, `.badContainer` if it belongs to
    ///   another cloud.
    func identity() throws -> CloudIdentity {
        if let identity = known.withLock({ $0 }) { return identity }
        let place = client.location.description
        guard let bytes = try client.get(CloudMarker.fileName, limit: CloudMarker.byteLimit) else {
            throw CloudError(
                expected == nil ? .notACloud : .cloudUnavailable, at: place, "there is no cloud.json at this place of the bucket",
                hint: expected == nil ? "check the prefix, or make a cloud there with snapsync init" : "check the prefix and the bucket; nothing was touched")
        }
        let identity = try CloudMarker.identity(from: bytes)
        if let expected, expected != identity.uuid {
            throw CloudError(
                .badContainer, at: place, "this is the cloud \(identity.uuid), not \(expected)",
                hint: "name the right bucket and prefix, or start anew with snapsync detach and snapsync init")
        }
        if let container { try ContainerIdentifier.verify(container, isThatOf: identity) }
        known.withLock { $0 = identity }
        return identity
    }
}
