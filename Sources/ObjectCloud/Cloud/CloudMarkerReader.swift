import CloudStore
import CommitLog
import Synchronization

/// The identity of a cloud in a bucket: `cloud.json`, read once, when it is asked for. It never changes.
final class CloudMarkerReader: Sendable {
    let client: ObjectClient
    private let expected: String?
    private let container: String?
    private let known: Mutex<CloudIdentity?>

    /// - Parameters:
    ///   - uuid: the UUID that the cloud must have; nil takes any.
    ///   - container: the container identifier that it must have; nil takes any.
    init(_ client: ObjectClient, expecting uuid: String?, container: String?) {
        self.client = client
        expected = uuid
        self.container = container
        known = Mutex(nil)
    }

    /// The marker of a cloud that was made or read just now.
    init(_ client: ObjectClient, found identity: CloudIdentity) {
        self.client = client
        expected = identity.uuid
        container = nil
        known = Mutex(identity)
    }

    /// The UUID of the cloud: the one that it must have, without a request, or else the one that it has.
    func uuid() throws -> String { try expected ?? identity().uuid }

    /// The UUID as far as it is known without a request.
    var knownUUID: String? { expected ?? known.withLock { $0?.uuid } }

    /// The identity, as the object says.
    ///
    /// - Throws: ``CloudError`` with `.notACloud` or `.cloudUnavailable` if the object is not there, `.badContainer` if it is another cloud's.
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
