import Foundation
import StrictText
import Synchronization

/// `cloud.json`: marks a directory or a bucket's prefix as a cloud, and holds the cloud's identity.
package enum CloudMarker {
    package static let fileName = "cloud.json"
    /// The version of the layout that this program reads and writes.
    package static let formatVersion = 1
    /// The largest `cloud.json` or `zone.json`, in bytes.
    package static let byteLimit = 64 << 10

    /// Reads the marker's bytes.
    ///
    /// - Throws: ``CloudError`` with `.damaged` or `.incompatibleVersion`.
    package static func identity(from bytes: [UInt8]) throws(CloudError) -> CloudIdentity {
        let identity = try decode(CloudIdentity.self, from: bytes, at: fileName)
        guard UUID(uuidString: identity.uuid)?.uuidString.lowercased() == identity.uuid, CloudNames.isContainer(identity.container) else {
            throw CloudError(.damaged, at: fileName, "the UUID or the container identifier is not one", hint: CloudError.damageHint)
        }
        return identity
    }

    package static func bytes(of identity: CloudIdentity) throws -> [UInt8] { Array(try StrictJSON.encode(identity)) }

    /// Decodes a document that states its format version. The version is checked first, since a newer format may have other fields.
    package static func decode<T: Decodable>(_ type: T.Type, from bytes: [UInt8], at place: String) throws(CloudError) -> T {
        do {
            let version = try StrictJSON.decode(Version.self, from: Data(bytes)).formatVersion
            guard version <= formatVersion else {
                throw CloudError(
                    .incompatibleVersion, at: place, "format version \(version); this program knows version \(formatVersion)",
                    hint: "update snapsync on this device")
            }
            guard version > 0 else { throw CloudError(.damaged, at: place, "no such format version", hint: CloudError.damageHint) }
            return try StrictJSON.decode(type, from: Data(bytes))
        } catch let error as CloudError {
            throw error
        } catch let fault as JSONFault {
            throw CloudError(.damaged, at: place, "not JSON: \(fault)", hint: CloudError.damageHint)
        } catch let error as DecodingError {
            throw CloudError(.damaged, at: place, "damaged, or written by another program: \(error.place)", hint: CloudError.damageHint)
        } catch {
            throw CloudError(.damaged, at: place, "damaged, or written by another program", hint: CloudError.damageHint)
        }
    }

    private struct Version: Decodable {
        let formatVersion: Int
    }
}

/// `zone.json`: written once, as the last step of creating a zone. A zone that has this file is complete.
package struct ZoneMarker: Codable {
    package let creator: String
    package let features: [String]
    package let formatVersion: Int
    package let publishers: String

    package static let fileName = "zone.json"

    package init(creator: String, publishers: PublisherRule, protection: ZoneProtection = []) {
        self.creator = creator
        features = protection.features
        self.formatVersion = CloudMarker.formatVersion
        self.publishers = publishers.rawValue
    }

    package func bytes() throws -> [UInt8] { Array(try StrictJSON.encode(self)) }

    /// Reads a marker's bytes.
    ///
    /// - Throws: ``CloudError`` with `.damaged`, or with `.incompatibleVersion` for unknown features and publisher rules.
    package static func info(of zone: ZoneID, from bytes: [UInt8], at place: String) throws(CloudError) -> ZoneInfo {
        let marker = try CloudMarker.decode(ZoneMarker.self, from: bytes, at: place)
        guard CloudNames.isName(marker.creator) else {
            throw CloudError(.damaged, at: place, "the creator's name is not allowed", hint: CloudError.damageHint)
        }
        guard let publishers = PublisherRule(rawValue: marker.publishers), ZoneProtection(features: marker.features) != nil else {
            throw CloudError(
                .incompatibleVersion, at: place, "the zone needs what this version does not know", hint: "update snapsync on this device")
        }
        return ZoneInfo(
            id: zone, formatVersion: marker.formatVersion, features: marker.features, creator: marker.creator, publishers: publishers)
    }
}

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
                hint: expected == nil ? "check \(words.new), or make a location there with snapsync init" : "check \(words.known); nothing was touched")
        }
        let identity = try CloudMarker.identity(from: bytes)
        if let expected, expected != identity.uuid {
            throw CloudError(
                .badContainer, at: place, "this is the location \(identity.uuid), not \(expected)",
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
