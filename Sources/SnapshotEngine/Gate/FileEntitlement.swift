import Foundation
import SnapshotVersions
import StrictText

/// An entitlement that is stated in a JSON file: `{"validUntil":"2027-01-01T00:00:00Z"}`.
///
/// The file may also have `isEntitled` (default: true) and keys of other programs. The vendor or administrator writes the file. A file that is
/// missing or cannot be read is no answer: the last answer then counts until its end.
public struct FileEntitlement: EntitlementProvider {
    /// The file's path.
    public let path: String

    public init(path: String) { self.path = path }

    /// Reads the file.
    ///
    /// - Throws: ``SyncError`` with `.nothingThere` or `.dataRefused`.
    public func entitlement() async throws -> Entitlement { try read() }

    func read() throws -> Entitlement {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw SyncError(.nothingThere, step: .open, at: path, "the entitlement file cannot be read", hint: "put it there, or check its path and mode")
        }
        do {
            let document = try StrictJSON.decode(Document.self, from: data)
            return Entitlement(isEntitled: document.isEntitled ?? true, validUntil: try document.validUntil.map { try Instant(parsing: $0) })
        } catch {
            throw SyncError(
                .dataRefused, step: .open, at: path, "the entitlement file is not understood",
                hint: "write a JSON object with \"validUntil\", an RFC 3339 time, or \"isEntitled\"")
        }
    }

    private struct Document: Decodable {
        let isEntitled: Bool?
        let validUntil: String?

        private enum CodingKeys: String, CodingKey { case isEntitled, validUntil }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            isEntitled = try container.decodeIfPresent(Bool.self, forKey: .isEntitled)
            validUntil = try container.decodeIfPresent(String.self, forKey: .validUntil)
            guard isEntitled != nil || validUntil != nil else {
                throw DecodingError.dataCorrupted(DecodingError.Context(codingPath: [], debugDescription: "neither key is there"))
            }
        }
    }
}
