import CloudStore
import Foundation

/// Looks at a cloud's files with a JSON parser and a hash, and with none of the code that reads clouds.
///
/// What it asks: everything that was promised is there; no commit is torn; each commit follows from the one before; and no commit
/// names an asset or a checkpoint that is missing or has other bytes.
struct CloudChecker {
    /// What was worked out of bytes before: thousands of states hold the same few files.
    final class Memory {
        fileprivate var hashes: [[UInt8]: String] = [:]
        fileprivate var bodies: [[UInt8]: [String: Any]] = [:]
    }

    let image: DiskImage
    var memory = Memory()
    private let zone = CloudScript.zonePath

    /// What is wrong, in words.
    func problems(_ promise: CloudPromise) -> [String] {
        var problems: [String] = []
        if promise.hasZone {
            for path in ["\(CloudScript.path)/cloud.json", "\(zone)/zone.json"] where object(path) == nil { problems.append("\(path) is lost or torn") }
        }
        var commits: [Int: (hash: String, body: [String: Any])] = [:]
        for (number, path) in numbered("commits") {
            guard let body = sealed(path, "commit"), body["number"] as? Int == number else {
                problems.append("commit \(number) is torn")
                continue
            }
            commits[number] = (hash(path), body)
        }
        if let version = promise.version, commits[version.number]?.hash != version.hash {
            problems.append("version \(version.number) was published and is lost")
        }
        problems += chain(commits, promise)
        for (number, commit) in commits.sorted(by: { $0.key < $1.key }) {
            for record in commit.body["saved"] as? [[String: Any]] ?? [] { problems += assets(of: record, in: "commit \(number)") }
        }
        for (path, bytes) in promise.messages where image.bytes("\(zone)/\(path)") != bytes { problems.append("\(path) was sent and is lost or torn") }
        return problems
    }

    private func chain(_ commits: [Int: (hash: String, body: [String: Any])], _ promise: CloudPromise) -> [String] {
        guard let newest = commits.keys.max(), let last = commits[newest]?.body else { return [] }
        var problems: [String] = []
        var start = 0
        if let checkpoint = last["checkpoint"] as? [String: Any], let number = checkpoint["number"] as? Int {
            let path = "\(zone)/checkpoints/\(twentyDigits(number)).json"
            if image.bytes(path) == nil || hash(path) != checkpoint["sha256"] as? String {
                problems.append("commit \(newest) names checkpoint \(number), which is missing or another")
            } else {
                start = min(number, promise.pruned)
                for record in sealed(path, "checkpoint")?["records"] as? [[String: Any]] ?? [] {
                    let isReplaced = commits.contains {
                        $0.key > number && ($0.value.body["saved"] as? [[String: Any]] ?? []).contains { $0["name"] as? String == record["name"] as? String }
                    }
                    if !isReplaced { problems += assets(of: record, in: "checkpoint \(number)") }
                }
            }
        }
        for number in start..<newest where number > 0 {
            if commits[number] == nil, number > start { problems.append("commit \(number) is missing below \(newest)") }
        }
        for (number, commit) in commits {
            guard let before = commits[number - 1], commit.body["parent"] as? String != before.hash else { continue }
            problems.append("commit \(number) does not follow from the one before")
        }
        return problems
    }

    private func assets(of record: [String: Any], in place: String) -> [String] {
        var problems: [String] = []
        func look(_ value: Any) {
            if let list = value as? [Any] { list.forEach(look) }
            guard let value = value as? [String: Any] else { return }
            guard let path = value["path"] as? String, let hash = value["sha256"] as? String, let size = value["size"] as? Int else {
                return value.values.forEach(look)
            }
            verify("\(zone)/\(path)", size, hash)
            if let index = value["index"] as? [String: Any] {
                verify("\(zone)/\(path.replacing(".json.gz", with: ".index.json"))", index["size"] as? Int ?? -1, index["sha256"] as? String ?? "")
            }
        }
        func verify(_ path: String, _ size: Int, _ sha256: String) {
            if image.bytes(path)?.count != size || hash(path) != sha256 { problems.append("\(place) names \(path), which is missing or torn") }
        }
        look(record["fields"] ?? [:])
        return problems
    }

    private func numbered(_ directory: String) -> [(number: Int, path: String)] {
        (image.names("\(zone)/\(directory)") ?? []).compactMap { name in
            guard name.wholeMatch(of: /[0-9]{20}\.json/) != nil, let number = Int(name.prefix(20)) else { return nil }
            return (number, "\(zone)/\(directory)/\(name)")
        }
    }

    private func hash(_ path: String) -> String {
        let bytes = image.bytes(path) ?? []
        if let known = memory.hashes[bytes] { return known }
        let hash = ContentHash.of(bytes)
        memory.hashes[bytes] = hash
        return hash
    }

    private func object(_ path: String) -> [String: Any]? { image.bytes(path).flatMap { try? JSONSerialization.jsonObject(with: Data($0)) as? [String: Any] } }

    /// A sealed document's body, if its checksum is that of the bytes between.
    private func sealed(_ path: String, _ name: String) -> [String: Any]? {
        guard let bytes = image.bytes(path) else { return nil }
        if let known = memory.bodies[bytes] { return known }
        guard let whole = object(path), let body = whole[name] as? [String: Any] else { return nil }
        // The checksum, and in a signed zone the signature; whether it is one, the devices say.
        let tail = whole["signature"] == nil ? 77 : 220
        guard bytes.count > name.utf8.count + tail + 4, ContentHash.of(bytes[(name.utf8.count + 4)..<(bytes.count - tail)]) == whole["sha256"] as? String else {
            return nil
        }
        memory.bodies[bytes] = body
        return body
    }
}
