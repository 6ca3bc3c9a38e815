import CloudStore
import Synchronization

/// Reads the identity of a cloud in an ``ObjectStore`` from its marker, on first use and only once: the marker never changes.
final class CloudMarkerReader: Sendable {
    private let store: any ObjectStore
    private let path: String
    private let expected: String?
    private let container: String?
    private let known: Mutex<CloudIdentity?>

    /// - Parameters:
    ///   - uuid: the UUID that the cloud must have; nil accepts any.
    ///   - container: the container identifier that it must have; nil accepts any.
    init(_ store: any ObjectStore, at path: String = CloudMarker.fileName, expecting uuid: String?, container: String?) {
        self.store = store
        self.path = path
        expected = uuid
        self.container = container
        known = Mutex(nil)
    }

    /// The marker of a cloud that was created or read just now.
    init(_ store: any ObjectStore, at path: String = CloudMarker.fileName, found identity: CloudIdentity) {
        self.store = store
        self.path = path
        expected = identity.uuid
        container = nil
        known = Mutex(identity)
    }

    /// The UUID of the cloud: the expected one, without a request, or else the one in the marker.
    func uuid() throws -> String { try expected ?? identity().uuid }

    /// Returns the identity that the marker object states.
    ///
    /// - Throws: ``CloudError`` with `.notACloud` or `.cloudUnavailable` if the object is not there, `.badContainer` if it belongs to
    ///   another cloud.
    func identity() throws -> CloudIdentity {
        if let identity = known.withLock({ $0 }) { return identity }
        let place = store.place
        guard let bytes = try store.get(path, limit: CloudMarker.byteLimit) else {
            throw CloudError(
                expected == nil ? .notACloud : .cloudUnavailable, at: place, "there is no \(path) in this place",
                hint: expected == nil ? "check the place, or make a cloud there with snapsync init" : "check the place; nothing was touched")
        }
        let identity = try CloudMarker.identity(from: bytes)
        if let expected, expected != identity.uuid {
            throw CloudError(
                .badContainer, at: place, "this is the cloud \(identity.uuid), not \(expected)",
                hint: "name the right place, or start anew with snapsync detach and snapsync init")
        }
        if let container { try ContainerIdentifier.verify(container, isThatOf: identity) }
        known.withLock { $0 = identity }
        return identity
    }
}
