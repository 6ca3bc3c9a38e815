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

    /// The objects of a folder, by the last part of their keys, with its slash.
    private struct Folder {
        var objects: [String: Stored] = [:]
        /// The names in order, once they were listed.
        private var order: [String]?

        subscript(name: String) -> Stored? {
            get { objects[name] }
            set {
                if newValue == nil || (order?.last).map({ $0 > name }) == true {
                    order = nil
                } else if objects[name] == nil {
                    order?.append(name)
                }
                objects[name] = newValue
            }
        }

        /// Up to `count` names that come after `name`.
        mutating func names(after name: String, _ count: Int) -> ArraySlice<String> {
            let all = order ?? objects.keys.sorted()
            order = all
            var low = 0, high = all.count
            while low < high {
                let middle = (low + high) / 2
                if all[middle] > name { high = middle } else { low = middle + 1 }
            }
            return all[low..<min(all.count, low + count)]
        }
    }

    /// When virtual time begins, in microseconds since 1970.
    static let beginning: Int64 = 1_790_000_000_000_000

    /// Objects by folder and name: a listing of a folder does not look at the others.
    private let folders = Mutex<[String: Folder]>([:])
    private let time: VirtualTime

    init(_ time: VirtualTime) { self.time = time }

    /// Stores an object without a request. The path begins with the location's prefix.
    func insert(_ bytes: [UInt8], at path: String) {
        let (folder, name) = Self.parts(path)
        folders.withLock { $0[folder, default: Folder()][name] = Stored(bytes: bytes, time: time.now) }
    }

    /// How many objects there are.
    var count: Int { folders.withLock { $0.values.reduce(0) { $0 + $1.objects.count } } }

    private static func parts(_ path: String) -> (folder: String, name: String) {
        let slash = path.lastIndex(of: "/") ?? path.startIndex
        return (String(path[..<slash]), String(path[slash...]))
    }

    /// What a request does when it arrives.
    func serve(_ request: ObjectRequest) -> ObjectResponse {
        let rest = request.url.dropFirst("http://127.0.0.1:9/bench".utf8.count)
        let halves = rest.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard let path = halves.first?.dropFirst().removingPercentEncoding, !path.isEmpty else {
            return request.method == "POST" ? removal(request.body) : listing(halves.last ?? "")
        }
        let (folder, name) = Self.parts(path)
        return folders.withLock { folders in
            switch request.method {
            case "PUT":
                guard folders[folder]?[name] == nil else { return ObjectResponse(status: 412, headers: [:], body: []) }
                folders[folder, default: Folder()][name] = Stored(bytes: request.body, time: time.now)
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

    private func removal(_ body: [UInt8]) -> ObjectResponse {
        let paths = String(decoding: body, as: UTF8.self).split(separator: "<Key>").dropFirst().map { String($0.prefix { $0 != "<" }) }
        folders.withLock { folders in
            for path in paths {
                let (folder, name) = Self.parts(path)
                folders[folder]?[name] = nil
            }
        }
        return ObjectResponse(status: 200, headers: [:], body: Array("<DeleteResult/>".utf8))
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
            for folder in folders.keys where (folder + "/").hasPrefix(prefix) || prefix.hasPrefix(folder + "/") {
                // Where in the folder the page begins: after a name, at the first one, or behind the last one.
                guard after.hasPrefix(folder + "/") || after < folder + "/" else { continue }
                let first = after.hasPrefix(folder + "/") ? String(after.dropFirst(folder.count)) : ""
                for name in folders[folder]!.names(after: first, limit + 1) where (folder + name).hasPrefix(prefix) {
                    found.append((folder + name, folders[folder]![name]!.time))
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
            for (folder, names) in folders where folder.hasPrefix(prefix) && !names.objects.isEmpty {
                inner.insert(String(folder.dropFirst(prefix.count).prefix { $0 != "/" }))
            }
            return (folders[String(prefix.dropLast())]?.objects.map { (String($0.key.dropFirst()), $0.value.time) } ?? [], inner)
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
