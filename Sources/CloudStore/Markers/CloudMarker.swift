import Foundation
package import StrictText

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

    /// The marker's bytes.
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
