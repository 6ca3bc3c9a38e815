import CloudStore
import DirectoryCloud
import Foundation
import SnapshotModel
import StrictText
import Synchronization

/// What a publisher was told is done: from then on no power cut may take it back.
struct CloudPromise: Sendable {
    /// Whether the zone was made.
    var hasZone = false
    /// The newest version that was published, or that a reader has been given.
    var version: ChangeToken?
    /// The messages that were sent, by their path beneath the zone, and not removed since.
    var messages: [String: [UInt8]] = [:]
    /// Versions up to that number may be gone: pruning them has begun.
    var pruned = 0
}

/// A program that uses a cloud on a simulated disk, and an account of what it was promised after which operation.
final class CloudScript {
    let disk: SimulatedFileSystem
    /// What was promised, and how many operations had been done by then.
    private(set) var promises: [(after: Int, promise: CloudPromise)] = []
    private(set) var promise: CloudPromise
    private let nonces: NonceSource
    private var random: SeededGenerator
    private var opened: DirectoryCloud?

    static let path = "/cloud"
    static let zonePath = "/cloud/private/ZentikSyncZone"

    /// - Parameter promise: what was promised before.
    init(_ disk: SimulatedFileSystem, seed: UInt64, promise: CloudPromise = CloudPromise()) {
        self.disk = disk
        self.promise = promise
        let source = Mutex(SeededGenerator(seed: seed))
        nonces = NonceSource { count in source.withLock { random in (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &random) } } }
        random = SeededGenerator(seed: ~seed)
        promises = [(0, promise)]
    }

    /// What was promised by the time that so many operations had been done.
    func promise(after count: Int) -> CloudPromise { promises.last { $0.after <= count }?.promise ?? CloudPromise() }

    /// Takes down that something is done.
    func keep(_ change: (inout CloudPromise) -> Void) {
        change(&promise)
        promises.append((disk.operations.count, promise))
    }

    func cloud() throws -> DirectoryCloud {
        if let opened { return opened }
        let cloud = try DirectoryCloud(path: Self.path, expecting: nil, calls: disk, nonces: nonces)
        opened = cloud
        return cloud
    }

    /// Makes the cloud and the zone, as `init` does, wherever an earlier attempt ended.
    func create() async throws {
        opened = try DirectoryCloud.create(at: Self.path, container: "iCloud.org.example.test", calls: disk, nonces: nonces)
        _ = try await cloud().createZone(.standard, creator: "writer", publishers: .one)
        keep { $0.hasZone = true }
    }

    /// Publishes a version with a snapshot asset and its index, and a change asset.
    func publish(changes: Bool = true) async throws {
        let cloud = try cloud()
        let number = (promise.version?.number ?? 0) + 1
        var fields: [String: CloudValue] = ["recordCount": .integer(Int64(number))]
        let snapshot = try await cloud.newAsset(for: "item", number: number, kind: .snapshot, in: .standard)
        try snapshot.setIndex(Data(bytes(300)))
        try bytes(1300).withUnsafeBytes { try snapshot.write($0) }
        fields["dataFile"] = .asset(try snapshot.finish(rawByteCount: 4000))
        if changes {
            let change = try await cloud.newAsset(for: "item", number: number, kind: .changes, in: .standard)
            try bytes(600).withUnsafeBytes { try change.write($0) }
            fields["changeFile"] = .asset(try change.finish(rawByteCount: 900))
        }
        try await commit(CloudRecord(type: "Item", name: "item", fields: fields))
    }

    /// Publishes a version that is one record without assets.
    func commit(_ record: CloudRecord? = nil) async throws {
        let number = Int64((promise.version?.number ?? 0) + 1)
        let record = record ?? CloudRecord(type: "Item", name: "count\(number % 3)", fields: ["count": .integer(number)])
        let draft = CommitDraft(device: "writer", saving: [record], clock: SimulatedFileSystem.now)
        let token = try await cloud().publish(try await cloud().prepare(draft, after: promise.version, in: .standard))
        keep { $0.version = token }
    }

    /// Removes all commits below a number, and the assets that only they named.
    func prune(below first: Int) async throws {
        let cloud = try cloud()
        keep { $0.pruned = first - 1 }
        let live = Set(try await cloud.records(in: .standard).records.flatMap(\.assets).map(\.path))
        let kept = try await cloud.history(in: .standard).filter { $0.token.number >= first }.flatMap { $0.saved.flatMap(\.assets).map(\.path) }
        let files = try await cloud.storedFiles(in: .standard).filter { file in
            switch file.kind {
            case .commit(let number): number < first
            case .checkpoint: false
            case .asset, .index: file.assetPath.map { !live.contains($0) && !kept.contains($0) } ?? false
            case .temporary: true
            }
        }
        try await cloud.remove(files, by: "writer", in: .standard)
    }

    func send(_ id: Int, from sender: String = "watch") async throws {
        let message = CloudMessage(id: Hexadecimal.text((0..<16).map { _ in UInt8(id) }), sender: sender, body: Data("{\"id\":\(id)}".utf8))
        try await cloud().send(message, clock: SimulatedFileSystem.now, in: .standard)
        let path = "messages/\(sender)/\(message.id).json"
        keep { $0.messages[path] = disk.image.bytes("\(Self.zonePath)/\(path)") }
    }

    func removeMessage(_ id: Int, from sender: String = "watch") async throws {
        let name = Hexadecimal.text((0..<16).map { _ in UInt8(id) })
        keep { $0.messages["messages/\(sender)/\(name).json"] = nil }
        try await cloud().removeMessage(CloudMessageName(sender: sender, id: name), in: .standard)
    }

    func report(_ device: String = "watch") async throws {
        try await cloud().report(DeviceReport(device: device, role: "reader", token: promise.version, clock: SimulatedFileSystem.now), in: .standard)
    }

    private func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &random) } }
}
