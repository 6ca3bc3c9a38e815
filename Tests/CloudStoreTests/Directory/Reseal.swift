import CloudStore
import Foundation

/// Changes a commit's JSON and seals it again, as an attacker or another implementation would.
func reseal(_ file: [UInt8], _ change: (inout [String: Any]) -> Void) throws -> [UInt8] {
    let whole = try JSONSerialization.jsonObject(with: Data(file)) as? [String: Any]
    var commit = whole?["commit"] as? [String: Any] ?? [:]
    change(&commit)
    return seal(try JSONSerialization.data(withJSONObject: commit, options: [.sortedKeys, .withoutEscapingSlashes]))
}

/// Seals any text as a commit.
func seal(_ body: Data) -> [UInt8] {
    Array("{\"commit\":".utf8) + body + Array(",\"sha256\":\"\(ContentHash.of(body))\"}".utf8)
}
