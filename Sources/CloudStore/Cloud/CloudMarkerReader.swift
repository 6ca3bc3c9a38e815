import Synchronization

/// Reads the identity of a cloud in an ``ObjectStore`` from its marker, on first use and only once: the marker never changes.
final class CloudMarkerReader: Sendable {
    private let store: any ObjectStore
    private let path: String
    private let expected: String?
    private let container: String?
    private let words: PlaceWords
    private let known: Mutex<CloudIdentity?>

    /// - Parameters:
    ///   - uuid: the UUID that the cloud must have; nil accepts any.
    ///   - container: the container identifier that it must have; nil accepts any.
    ///   - words: how messages call the store's place.
    init(_ store: any ObjectStore, at path: String, expecting uuid: String?, container: String?, words: PlaceWords) {
        self.store = store
        self.path = path
        expected = uuid
        self.container = container
        self.words = words
        known = Mutex(nil)
    }

    /// The marker of a cloud that was created or read just now.
    init(_ store: any ObjectStore, at path: String, found identity: CloudIdentity) {
        self.store = store
        self.path = path
        expected = identity.uuid
        container = nil
        words = PlaceWords()
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
                expected == nil ? .notACloud : .cloudUnavailable, at: place, "there is no \(path) \(words.there)",
                hint: expected == nil ? "check \(words.new), or make a cloud there with snapsync init" : "check \(words.known); nothing was touched")
        }
        let identity = try CloudMarker.identity(from: bytes)
        if let expected, expected != identity.uuid {
            throw CloudError(
                .badContainer, at: place, "this is the cloud \(identity.uuid), not \(expected)",
                hint: "name the right \(words.right), or start anew: snapsync detach, then init")
        }
        if let container { try ContainerIdentifier.verify(container, isThatOf: identity) }
        known.withLock { $0 = identity }
        return identity
    }
}

/// How messages to people call the place of a cloud in a store.
package struct PlaceWords: Sendable {
    let there: String
    /// What to check if no cloud was found yet.
    let new: String
    /// What to check if the cloud is gone.
    let known: String
    let right: String

    package init(there: String = "in this place", new: String = "the place", known: String = "the place", right: String = "place") {
        (self.there, self.new, self.known, self.right) = (there, new, known, right)
    }
}
