import Foundation
import ObjectCloud
import SnapshotModel
import StrictText
import Synchronization

/// An object store with S3's interface in this process, so far away as is wished. Objects, conditional PUTs and listings.
final class DistantStore: Sendable {
    private struct Stored {
        let bytes: [UInt8]
        /// Microseconds since the beginning.
        let time: Int64
    }

    /// When virtual time begins, in microseconds since 1970.
    static let beginning: Int64 = 1_790_000_000_000_000

    /// Objects by folder and name: a listing of a folder does not look at the others.
    private let folders = Mutex<[String: [String: Stored]]>([:])
    private let time: VirtualTime

    init(_ time: VirtualTime) { self.time = time }

    /// What a request does when it arrives.
    func serve(_ request: ObjectRequest) -> ObjectResponse {
        let rest = request.url.dropFirst("http://127.0.0.1:9/bench".utf8.count)
        let halves = rest.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard let path = halves.first?.dropFirst().removingPercentEncoding, !path.isEmpty else { return listing(halves.last ?? "") }
        let slash = path.lastIndex(of: "/") ?? path.startIndex
        let (folder, name) = (String(path[..<slash]), String(path[slash...]))
        return folders.withLock { folders in
            switch request.method {
            case "PUT":
                guard folders[folder]?[name] == nil else { return ObjectResponse(status: 412, headers: [:], body: []) }
                folders[folder, default: [:]][name] = Stored(bytes: request.body, time: time.now)
                return ObjectResponse(status: 200, headers: [:], body: [])
            case "DELETE":
                folders[folder]?[name] = nil
                return ObjectResponse(status: 204, headers: [:], body: [])
            default:
                guard let found = folders[folder]?[name]?.bytes else { return ObjectResponse(status: 404, headers: [:], body: []) }
                guard request.method == "GET" else { return ObjectResponse(status: 200, headers: ["content-length": "\(found.count)"], body: []) }
                guard let range = request.headers.first(where: { $0.name == "range" })?.value else {
                    return ObjectResponse(status: 200, headers: [:], body: found)
                }
                let bounds = range.dropFirst("bytes=".count).split(separator: "-").compactMap { Int($0) }
                let end = min(bounds[1], found.count - 1)
                return ObjectResponse(status: 206, headers: ["content-range": "bytes \(bounds[0])-\(end)/\(found.count)"], body: Array(found[bounds[0]...end]))
            }
        }
    }

    /// A page of at most 1,000 keys, as stores make them.
    private func listing(_ query: String) -> ObjectResponse {
        var fields: [String: String] = [:]
        for pair in query.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1).map(String.init)
            fields[parts[0]] = parts.count > 1 ? parts[1].removingPercentEncoding ?? "" : ""
        }
        if fields["delimiter"] == "/" { return folderListing(fields["prefix"] ?? "") }
        let prefix = fields["prefix"] ?? "", after = max(fields["continuation-token"] ?? "", fields["start-after"] ?? "")
        let limit = min(1000, fields["max-keys"].flatMap { Int($0) } ?? 1000)
        let (keys, isTruncated) = folders.withLock { folders in
            var found: [(key: String, time: Int64)] = []
            for (folder, names) in folders where (folder + "/").hasPrefix(prefix) || prefix.hasPrefix(folder + "/") {
                for name in names.keys where (folder + name).hasPrefix(prefix) && folder + name > after {
                    found.append((folder + name, names[name]!.time))
                }
            }
            found.sort { $0.key < $1.key }
            return (found.prefix(limit), found.count > limit)
        }
        let contents = keys.map {
            "<Contents><Key>\($0.key)</Key><Size>1</Size><LastModified>\(Instant(microseconds: Self.beginning + $0.time))</LastModified></Contents>"
        }.joined()
        let rest = isTruncated ? "<IsTruncated>true</IsTruncated><NextContinuationToken>\(keys.last!.key)</NextContinuationToken>" : ""
        return ObjectResponse(status: 200, headers: [:], body: Array("<ListBucketResult>\(contents)\(rest)</ListBucketResult>".utf8))
    }

    /// What lies in one folder, and the folders in it: at most a page, which is enough for a zone.
    private func folderListing(_ prefix: String) -> ObjectResponse {
        let (objects, inner) = folders.withLock { folders -> ([(name: String, time: Int64)], Set<String>) in
            var inner: Set<String> = []
            for (folder, names) in folders where folder.hasPrefix(prefix) && !names.isEmpty {
                inner.insert(String(folder.dropFirst(prefix.count).prefix { $0 != "/" }))
            }
            return (folders[String(prefix.dropLast())]?.map { (String($0.key.dropFirst()), $0.value.time) } ?? [], inner)
        }
        let contents = objects.sorted { $0.name < $1.name }.map {
            "<Contents><Key>\(prefix)\($0.name)</Key><Size>1</Size><ETag>\"\($0.time)\"</ETag>"
                + "<LastModified>\(Instant(microseconds: Self.beginning + $0.time))</LastModified></Contents>"
        }
        let prefixes = inner.sorted().map { "<CommonPrefixes><Prefix>\(prefix)\($0)/</Prefix></CommonPrefixes>" }
        return ObjectResponse(
            status: 200, headers: [:], body: Array("<ListBucketResult>\(contents.joined())\(prefixes.joined())</ListBucketResult>".utf8))
    }
}

/// One device's way to the store: each request takes a time of about the latency, and now and then one is lost.
final class DistantTransport: ObjectTransport {
    struct Way: Sendable {
        /// Microseconds from a request to its answer, in the middle.
        var latency: Int64 = 0
        /// The part of all requests that get lost, or whose answer does.
        var loss = 0.0
    }

    private struct State {
        var numbers: SeededGenerator
        var way = Way()
        var requests: [String: Int] = [:]
    }

    private let store: DistantStore
    private let time: VirtualTime
    private let state: Mutex<State>

    init(_ store: DistantStore, _ time: VirtualTime, seed: UInt64) {
        (self.store, self.time) = (store, time)
        state = Mutex(State(numbers: SeededGenerator(seed: seed)))
    }

    /// How many requests of each method there were.
    var requests: [String: Int] { state.withLock { $0.requests } }

    func set(_ way: Way) { state.withLock { $0.way = way } }

    func send(_ request: ObjectRequest) throws(TransportFault) -> ObjectResponse {
        let (there, back, isLost, isLostBefore) = state.withLock { state -> (Int64, Int64, Bool, Bool) in
            state.requests[request.method, default: 0] += 1
            // From 0.7 to 1.3 of the latency, and one request of a hundred takes five times as long.
            var spread = Double.random(in: 0.7..<1.3, using: &state.numbers)
            if Int.random(in: 0..<100, using: &state.numbers) == 0 { spread *= 5 }
            let whole = Double(state.way.latency) * spread
            return (
                Int64(whole / 2), Int64(whole / 2), Double.random(in: 0..<1, using: &state.numbers) < state.way.loss,
                Bool.random(using: &state.numbers)
            )
        }
        time.wait(there)
        if isLost, isLostBefore { throw TransportFault(.cut, "the connection was reset") }
        let answer = store.serve(request)
        time.wait(back)
        if isLost { throw TransportFault(.cut, "the connection was reset") }
        return answer
    }

    func sideBySide(_ bodies: [@Sendable () -> Void]) { time.sideBySide(bodies) }

    /// A pause between a half and all of a length that doubles, drawn again from this device's seed. In microseconds.
    func redrawn(_ drawn: Duration, from first: Double, to last: Double) -> Int64 {
        var longest = first
        while longest < drawn / .seconds(1), longest < last { longest *= 2 }
        return Int64(state.withLock { min(longest, last) * Double.random(in: 0.5..<1, using: &$0.numbers) } * 1_000_000)
    }
}
