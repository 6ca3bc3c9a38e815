package import CloudStore
import Foundation
import StrictText
import Synchronization

/// Tests whether a bucket meets the requirements of a cloud, with objects of its own that it removes again.
package struct BucketProbe: Sendable, Encodable {
    /// One requirement and the observation.
    package struct Finding: Hashable, Sendable, Encodable {
        /// `second-put`, `race`, `range`, `missing`, `listing`, `clock`.
        package let name: String
        package let isKept: Bool
        /// The observation, as a text.
        package let observation: String
    }

    package let findings: [Finding]
    /// How far the server's clock is ahead of this machine's, in seconds.
    package let clockOffset: Double

    /// The prefix of the test objects' names.
    private static let mark = "probe-"

    /// Whether a path beneath the cloud is one of the test objects.
    static func isOwn(_ path: String) -> Bool { path.exact.hasPrefix(mark) }

    /// How many writers race for one key, and in how many rounds.
    static let writers = 16, rounds = 5
    /// How far apart the clocks may be, in seconds. Servers refuse signatures beyond that.
    static let clockLimit = 900.0

    /// Whether several devices may publish: if several writers write to one key, exactly one of them wins.
    package var isSafeForMany: Bool { findings.filter { ["second-put", "race", "range", "missing", "listing"].contains($0.name) }.allSatisfy(\.isKept) }

    /// Tests the bucket with some 90 small requests.
    ///
    /// - Parameter client: the bucket's client. Only objects whose names begin with `probe-` are written and removed.
    /// - Throws: ``CloudError`` if the bucket cannot be used at all.
    package init(_ client: ObjectClient, nonces: NonceSource = .system) throws {
        let folder = Self.mark + nonces.hex(16)
        var made: [String] = []
        defer { try? client.remove(made) }
        var findings: [Finding] = []
        func find(_ name: String, isKept: Bool, _ observation: String) { findings.append(Finding(name: name, isKept: isKept, observation: observation)) }

        let missing = try client.once("GET", "\(folder)/none", limit: 64 << 10)
        let saysNotFound = missing.status == 404
        find(
            "missing", isKept: saysNotFound,
            saysNotFound ? "a missing object is told with 404" : "a missing object is told with \(missing.status): grant s3:ListBucket on the bucket")

        let first = "\(folder)/first"
        made.append(first)
        let headers = [(name: "if-none-match", value: "*")]
        let one = try client.once("PUT", first, headers: headers, body: Array("one".utf8), limit: 64 << 10)
        guard (200...204).contains(one.status) else {
            guard one.status == 501 || one.status == 400 else { throw client.failure(one, at: first) }
            find("second-put", isKept: false, "the server refuses a PUT with If-None-Match (\(one.status))")
            self.init(findings: findings, client)
            return
        }
        let two = try client.once("PUT", first, headers: headers, body: Array("two".utf8), limit: 64 << 10)
        let stands = try client.get(first, limit: 64) == Array("one".utf8)
        find(
            "second-put", isKept: two.status == 412 && stands,
            "a second PUT to one key gets \(two.status)" + (stands ? ", and the first object stands" : ", and the first object is gone"))

        let (part, size) = (try? client.get(first, offset: 1, count: 2)) ?? ([], 0)
        let isRange = part == Array((stands ? "ne" : "wo").utf8) && size == 3
        find("range", isKept: isRange, isRange ? "a range of an object can be read" : "a range was asked for, and \(part.count) other bytes came")

        if findings.allSatisfy(\.isKept) {
            var bad = 0
            for round in 1...Self.rounds {
                let path = "\(folder)/race-\(round)"
                made.append(path)
                let winners = Mutex<[Int]>([])
                DispatchQueue.concurrentPerform(iterations: Self.writers) { writer in
                    guard let answer = try? client.once("PUT", path, headers: headers, body: Array("writer \(writer)".utf8), limit: 64 << 10) else { return }
                    if (200...204).contains(answer.status) { winners.withLock { $0.append(writer) } }
                }
                let won = winners.withLock { $0 }
                let bytes = try client.get(path, limit: 64)
                // A round without a winner is allowed: the server told each writer to try again. The bytes of a loser must not be stored.
                let isGood = won.count == 1 && bytes == Array("writer \(won[0])".utf8) || won.isEmpty && bytes == nil
                if !isGood { bad += 1 }
            }
            find(
                "race", isKept: bad == 0,
                bad == 0
                    ? "of \(Self.writers) writers of one key exactly one won, in \(Self.rounds) of \(Self.rounds) rounds"
                    : "in \(bad) of \(Self.rounds) rounds not exactly one of \(Self.writers) writers of one key won")
            let listed = try? client.list("\(folder)/"), isListed = listed?.map(\.path) == made
            find(
                "listing", isKept: isListed,
                isListed ? "a listing has all objects" : listed == nil ? "a listing failed: grant s3:ListBucket on the bucket" : "a listing lacks objects")
        }
        self.init(findings: findings, client)
    }

    private init(findings: [Finding], _ client: ObjectClient) {
        let offset = client.clockOffset
        clockOffset = offset
        let isNear = abs(offset) <= Self.clockLimit
        self.findings =
            findings + [
                Finding(
                    name: "clock", isKept: isNear,
                    observation: isNear ? "the clocks agree" : "the server's clock is \(Int(offset)) s \(offset > 0 ? "ahead of" : "behind") this machine's")
            ]
    }
}

extension ObjectCloud {
    /// Tests whether the bucket meets the requirements of a cloud.
    ///
    /// - Throws: ``CloudError`` if the bucket cannot be used at all.
    package func probe() async throws -> BucketProbe { try await blocking { [client] _ in try BucketProbe(client) } }
}
