@testable import CloudStore
import DirectoryCloud
import Foundation
import Sealing
import SnapshotModel

@testable import SnapshotEngine
@testable import SyncRuns

/// What the devices of a sealed zone were told is done, and what the publisher's database keeps by then.
struct SealedPromise {
    var cloud = CloudPromise()
    var knowledge: ZoneKnowledge
}

/// A publisher of a sealed zone on a simulated disk: it publishes, admits, removes, and changes keys.
final class SealedCloudScript {
    /// A device, with keys that are the same in each run.
    struct Device {
        let name: String
        let keys: DeviceKeys

        init(_ name: String) {
            self.name = name
            let seed = Array((name + String(repeating: "-", count: 32)).utf8.prefix(32))
            keys = DeviceKeys(signingSeed: seed, sealingSeed: seed.reversed())!
        }
    }

    private struct Keys: KeyStore {
        let keys: DeviceKeys
        func keys(of owner: KeyOwner) -> DeviceKeys? { keys }
        func store(_ keys: DeviceKeys, of owner: KeyOwner) {}
        func place(of owner: KeyOwner) -> String { "memory" }
    }

    static let phone = Device("phone"), watch = Device("watch"), tablet = Device("tablet")
    static let codes = [RecoveryCode(), RecoveryCode()]
    /// Stands in every record and asset, and must stand in no file.
    static let canary = "canary in the coal mine"

    let disk: SimulatedFileSystem
    private(set) var promise: SealedPromise
    private(set) var promises: [(after: Int, promise: SealedPromise)]
    private var zone: SignedZone?

    init(_ disk: SimulatedFileSystem, promise: SealedPromise? = nil) {
        self.disk = disk
        var knowledge = ZoneKnowledge(creator: Self.phone.keys.publicKeys.fingerprint, own: Self.phone.keys.publicKeys)
        knowledge.protection = [.signed, .sealed]
        knowledge.recoveryKey = Self.codes[0].publicKey(.x25519)!
        self.promise = promise ?? SealedPromise(knowledge: knowledge)
        promises = [(0, self.promise)]
    }

    func promise(after count: Int) -> SealedPromise { promises.last { $0.after <= count }!.promise }

    func keep(_ change: (inout SealedPromise) -> Void) {
        change(&promise)
        promises.append((disk.operations.count, promise))
    }

    /// A device's view of the zone.
    static func open(_ disk: SimulatedFileSystem, as device: Device, _ knowledge: ZoneKnowledge) async throws -> (zone: SignedZone, cloud: CloudDatabase) {
        let cloud = try DirectoryCloud(path: CloudScript.path, expecting: nil, calls: disk, nonces: .system)
        let owner = KeyOwner(cloud: try await cloud.identity().uuid, zone: .standard, device: device.name)
        let zone = SignedZone(knowledge, owner: owner, keyStore: Keys(keys: device.keys), in: cloud)
        return (zone, zone.opening(cloud))
    }

    func create() async throws {
        let cloud = try DirectoryCloud.create(at: CloudScript.path, container: "iCloud.org.example.test", calls: disk, nonces: .system)
        _ = try await cloud.createSignedZone(.standard, creator: Self.phone.name, publishers: .one, protection: [.signed, .sealed])
        keep { $0.cloud.hasZone = true }
    }

    /// Reads on, as every run does first.
    func read() async throws {
        let (zone, cloud) = try await Self.open(disk, as: Self.phone, promise.knowledge)
        let token = try await cloud.changes(since: promise.cloud.version, in: .standard).token
        keep { ($0.cloud.version, $0.knowledge) = (token, zone.authority.knowledge) }
    }

    /// Publishes a version with an asset and its index.
    func publish() async throws {
        try await commit { zone, cloud in
            let number = (self.promise.cloud.version?.number ?? 0) + 1, text = "\(Self.canary) \(number)"
            let writer = try await cloud.newAsset(for: "item", number: number, kind: .snapshot, in: .standard)
            guard let boxes = writer.boxes else { throw CloudError(.keyUnavailable, at: "item", "an asset of a sealed zone has no keys") }
            try writer.setIndex(Data("index \(text)".utf8))
            try boxes.seal(Data(text.utf8), kind: .member).withUnsafeBytes { try writer.write($0) }
            let asset = try writer.finish(rawByteCount: text.utf8.count)
            return [CloudRecord(type: "Item", name: "item", fields: ["text": .string(text), "dataFile": .asset(asset)])]
        }
    }

    /// Makes a device a member, or ends its membership: the list and the keys in one commit.
    func change(_ device: Device, isMember: Bool) async throws {
        try await commit { zone, _ in
            guard let before = try await zone.cloud.members(in: .standard), let token = self.promise.cloud.version else { return [] }
            var list = before
            if isMember {
                try list.add(
                    device.name, as: .reader, with: device.keys.publicKeys, floor: token, by: (Self.phone.name, Self.phone.keys), at: SimulatedFileSystem.now,
                    of: zone.history)
            } else {
                try list.change(device.name, to: nil, by: (Self.phone.name, Self.phone.keys), at: SimulatedFileSystem.now, of: zone.history)
            }
            return [list.record] + [try zone.keys?.ring(for: list, after: before)?.record].compactMap(\.self)
        }
    }

    /// Begins a new epoch with another recovery code.
    func rotate() async throws {
        try await commit { zone, _ in
            guard let list = try await zone.cloud.members(in: .standard) else { return [] }
            return [try zone.keys?.rotated(for: list, recoveryKey: Self.codes[1].publicKey(.x25519)!).record].compactMap(\.self)
        }
    }

    private func commit(_ records: (SignedZone, CloudDatabase) async throws -> [CloudRecord]) async throws {
        let (zone, cloud) = try await Self.open(disk, as: Self.phone, promise.knowledge)
        if promise.cloud.version != nil { _ = try await cloud.records(in: .standard) }
        let draft = CommitDraft(device: Self.phone.name, saving: try await records(zone, cloud), clock: SimulatedFileSystem.now)
        let token = try await cloud.publish(try await cloud.prepare(draft, after: promise.cloud.version, in: .standard))
        keep { ($0.cloud.version, $0.knowledge) = (token, zone.authority.knowledge) }
    }
}
