import ArgumentParser
import CloudStore
import CommitLog
import Foundation
import ObjectCloud
import SnapshotEngine
import SnapshotModel
import StrictText

/// What one step sends and takes, by one device, in virtual time.
private struct StepMeter {
    let time: VirtualTime

    func print(_ what: String, _ peer: SimulatedPeer, _ step: @escaping @Sendable () async throws -> Void) async throws {
        let before = peer.transport.requests, begin = time.now
        try await time.run([step])
        let sent = peer.transport.requests.map { ($0.key, $0.value - before[$0.key, default: 0]) }.filter { $0.1 > 0 }.sorted { $0.0 < $1.0 }
        Swift.print(
            "| \(what) | \(sent.map { "\($0.1) \($0.0)" }.joined(separator: ", ")) | \(String(format: "%.1f", Double(time.now - begin) / 1_000_000)) s |")
    }
}

/// Readers that may not write, and one writer.
struct ReadersBench: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "readers", abstract: "Simulates many readers of one zone.")

    @Option(name: .long, help: "Numbers of readers.")
    var readers = "1,100000"
    @Option(name: .long, help: "The latency, in milliseconds.")
    var latency: Int64 = 100
    @Option(name: .long, help: "Minutes between a reader's looks.")
    var poll = 15.0

    func run() async throws {
        print(
            "| readers | requests of a look without news | of one that imports a version | requests a second, together | the writer's requests for the version |"
        )
        print("| ---: | ---: | ---: | ---: | ---: |")
        for count in readers.split(separator: ",").compactMap({ Int($0) }) { try await measure(count) }
    }

    private func measure(_ count: Int) async throws {
        let time = VirtualTime(), store = DistantStore(time)
        let writer = try SimulatedPeer(0, in: store, time, seed: 1)
        let peers = try (1...count).map { try SimulatedPeer($0, in: store, time, seed: 1) }
        try await time.run([
            {
                try await writer.join(isFirst: true)
                for peer in peers { try await peer.join(isFirst: false, reports: false) }
            }
        ])
        for peer in [writer] + peers { peer.transport.set(DistantTransport.Way(latency: latency * 1000)) }
        func requests(_ peers: [SimulatedPeer]) -> Int { peers.reduce(0) { $0 + $1.transport.requests.values.reduce(0, +) } }
        /// Each reader looks once, at some time. Returns the requests of a look, and of all in a second.
        func look() async throws -> (each: Double, perSecond: Double) {
            let before = requests(peers), looks = peers.reduce(0) { $0 + $1.tally.looks }
            let habit = SimulatedPeer.Habit(between: .infinity, poll: poll * 60, until: Double(time.now) / 1_000_000 + poll * 60)
            try await time.run(peers.map { peer in { await peer.run(habit) } })
            let sent = Double(requests(peers) - before)
            return (sent / Double(peers.reduce(0) { $0 + $1.tally.looks } - looks), sent / (poll * 60))
        }
        let idle = try await look(), before = requests([writer])
        try await time.run([{ await writer.sync(editing: 1) }])
        let published = requests([writer]) - before
        let news = try await look()
        guard peers.allSatisfy({ $0.token?.number == 2 }) else { throw ExitCode(1) }
        func text(_ number: Double) -> String { String(format: "%.1f", number) }
        print("| \(count) | \(text(idle.each)) | \(text(news.each)) | \(text(idle.perSecond)), \(text(news.perSecond)) | \(published) |")
    }
}

/// A zone that nobody has pruned.
struct VersionsBench: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "versions", abstract: "Makes a zone of many versions, and visits and prunes it.")

    @Option(name: .long, help: "How many versions.")
    var versions = 1_000_000
    @Option(name: .long, help: "The latency, in milliseconds.")
    var latency: Int64 = 100

    func run() async throws {
        let time = VirtualTime(), store = DistantStore(time)
        let peers = try (0...3).map { try SimulatedPeer($0, in: store, time, seed: 1) }
        let writer = peers[0], visitor = peers[1], follower = peers[2]
        let count = versions
        try await time.run([
            {
                try await writer.join(isFirst: true)
                try await writer.publish(count / 2 - 1, in: store)
                // It has a version of the middle.
                try await follower.join(isFirst: false)
                try await writer.publish(count - count / 2, in: store)
                // A week later, as far as files' ages go.
                await time.sleep(604_800_000_000)
            }
        ])
        for peer in peers { peer.transport.set(DistantTransport.Way(latency: latency * 1000)) }
        print("a zone of \(count) versions, \(store.count) objects, \(latency) ms a request")
        print("| what | requests | time |")
        print("| --- | --- | ---: |")
        let meter = StepMeter(time: time)
        try await meter.print("a first visit", visitor) { try await visitor.join(isFirst: false, reports: false) }
        try await meter.print("a look that finds nothing", visitor) { await visitor.sync(editing: 0) }
        try await meter.print("a version more is published", visitor) { await visitor.sync(editing: 1) }
        try await meter.print("half of the versions are imported", follower) { await follower.sync(editing: 0) }
        try await meter.print("the writer imports one", writer) { await writer.sync(editing: 0) }
        try await meter.print("prune keeps ten versions", writer) { try await writer.prune(keeping: 10, at: time) }
        print("\(store.count) objects are left")
        let last = peers[3]
        try await meter.print("a first visit after that", last) { try await last.join(isFirst: false, reports: false) }
    }
}

/// Many zones in one bucket.
struct ZonesBench: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "zones", abstract: "Makes many zones in one bucket.")

    @Option(name: .long, help: "Numbers of zones.")
    var zones = "1,10000"
    @Option(name: .long, help: "The latency, in milliseconds.")
    var latency: Int64 = 100

    func run() async throws {
        print("| what | requests | time |")
        print("| --- | --- | ---: |")
        for count in zones.split(separator: ",").compactMap({ Int($0) }) {
            let time = VirtualTime(), store = DistantStore(time)
            let peers = try (0...1).map { try SimulatedPeer($0, in: store, time, seed: 1) }
            let writer = peers[0], visitor = peers[1]
            try await time.run([
                {
                    try await writer.join(isFirst: true)
                    for number in 1..<max(2, count) {
                        _ = try await writer.cloud.createZone(ZoneID("Zone\(number)"), creator: writer.name, publishers: .many)
                    }
                }
            ])
            for peer in peers { peer.transport.set(DistantTransport.Way(latency: latency * 1000)) }
            let meter = StepMeter(time: time)
            try await meter.print("\(count) zones: a first visit of one", visitor) { try await visitor.join(isFirst: false, reports: false) }
            try await meter.print("\(count) zones: a look that finds nothing", visitor) { await visitor.sync(editing: 0) }
            try await meter.print("\(count) zones: a version more is published", visitor) { await visitor.sync(editing: 1) }
            try await meter.print("\(count) zones: all are named", visitor) { guard try await visitor.cloud.zones().count >= count else { throw ExitCode(1) } }
        }
    }
}

extension SimulatedPeer {
    /// Publishes versions one after another, each with an asset of its own that lies in the store already.
    fileprivate func publish(_ count: Int, in store: DistantStore) async throws {
        guard count > 0 else { return }
        var token = token
        for _ in 0..<count {
            let number = (token?.number ?? 0) + 1
            let path = AssetPath(record: "notes_data", number: number, nonce: String(format: "%08x", number), kind: .snapshot)
            let asset = CloudAsset(path: path.path, byteCount: Self.asset.count, rawByteCount: 8192, sha256: Self.assetHash, index: nil)
            store.insert(Self.asset, at: "app/\(Self.zone)/\(path.path)")
            let record = CloudRecord(type: "Notes", name: "notes_data", fields: ["dataFile": .asset(asset)])
            token = try await cloud.publish(
                cloud.prepare(CommitDraft(device: name, saving: [record], clock: clock), after: token, in: Self.zone))
        }
        take(token)
    }

    /// Prunes as `snapsync prune --keep-last` does.
    fileprivate func prune(keeping count: Int, at time: VirtualTime) async throws {
        let pruner = ZonePruner(
            cloud: cloud, zone: Self.zone, device: name, token: token, intended: nil, policy: RetentionPolicy(keepLast: count, keepWithin: nil), now: clock,
            answered: []
        ) { [self] checkpoint, record in
            var draft = CommitDraft(device: name, saving: [record.record], clock: clock)
            draft.checkpoint = try await cloud.placeCheckpoint(at: checkpoint, in: Self.zone)
            let published = try await cloud.publish(cloud.prepare(draft, after: token, in: Self.zone))
            take(published)
            return published.number
        }
        let report = try await pruner.run(dryRun: false)
        guard report.removedVersions.count > count else { throw ExitCode(1) }
    }
}
