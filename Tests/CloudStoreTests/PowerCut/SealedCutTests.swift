@testable import CloudStore
import Foundation
import Sealing
import SnapshotModel
import SyncRuns
import TestSupport
import Testing

@testable import SnapshotEngine

/// No power cut leaves a sealed zone without keys, an epoch half made, or a row that everybody can read.
///
/// As `PowerCutTests`, with the questions of `Tests/Faults/kill_sealed.py`; the long form (`make torture`) goes on from every state.
@Suite struct SealedCutTests {
    private static let seed: UInt64 = 20_261_123

    /// What the publisher does, each after all before it; the number is that of the version that it makes.
    enum Act: Int, CaseIterable, Sendable {
        case first = 1, approve, edit, remove, afterRemoval, rotate, afterRotation

        func perform(_ script: SealedCloudScript) async throws {
            switch self {
            case .first:
                try await script.create()
                try await script.publish()
            case .approve: try await script.change(SealedCloudScript.watch, isMember: true)
            case .remove: try await script.change(SealedCloudScript.watch, isMember: false)
            case .rotate: try await script.rotate()
            case .edit, .afterRemoval, .afterRotation: try await script.publish()
            }
        }
    }

    private func play(_ act: Act, _ kind: SimulatedFileSystem.Kind, _ negligence: SimulatedFileSystem.Negligence? = nil) async throws -> (
        DiskImage, SealedCloudScript
    ) {
        let before = SealedCloudScript(SimulatedFileSystem(kind: kind))
        for earlier in Act.allCases where earlier.rawValue < act.rawValue { try await earlier.perform(before) }
        let image = before.disk.image
        let script = SealedCloudScript(SimulatedFileSystem(image, kind: kind, negligence: negligence), promise: before.promise)
        try await act.perform(script)
        #expect(script.promise.cloud.version?.number == act.rawValue)
        return (image, script)
    }

    @Test(arguments: Act.allCases, Sample.isWhole ? SimulatedFileSystem.Kind.allCases : [.full])
    func noPowerCutTakesOrShowsKeys(_ act: Act, _ kind: SimulatedFileSystem.Kind) async throws {
        let (base, script) = try await play(act, kind)
        let outcome = try await cut(base, script)
        #expect(outcome.problems == [])
        #expect(outcome.distinct > 4 && outcome.versions.contains(act.rawValue) && outcome.versions.contains(act.rawValue - 1))
        print(
            "power cut in a sealed zone: \(act), \(kind.rawValue): \(script.disk.operations.count) operations, \(outcome.states) states, "
                + "\(outcome.distinct) different, \(outcome.problems.count) problems")
    }

    /// The check can fail: a commit that is not made durable is missed.
    @Test func aLostChangeOfKeysIsFound() async throws {
        for act in [Act.approve, .remove, .rotate] {
            let (base, script) = try await play(act, .full, .ignoresDirectory("commits"))
            #expect(try await cut(base, script).problems.contains { $0.contains("version \(act.rawValue) was published and is lost") }, "\(act)")
        }
    }

    private struct Outcome {
        var states = 0
        var distinct = 0
        /// The newest versions that were found.
        var versions: Set<Int> = []
        var problems: [String] = []
    }

    private func cut(_ base: DiskImage, _ script: SealedCloudScript) async throws -> Outcome {
        let cut = PowerCut(base: base, operations: script.disk.operations, limit: Sample.isWhole ? 4096 : 40)
        let memory = CloudChecker.Memory()
        var random = SeededGenerator(seed: Self.seed), seen: Set<Int> = [], outcome = Outcome()
        for count in 0...script.disk.operations.count {
            let promise = script.promise(after: count)
            var images: [DiskImage] = []
            outcome.states +=
                cut.states(after: count, random: &random) { image in
                    var hasher = Hasher()
                    hasher.combine(image.fingerprint)
                    hasher.combine(promise.cloud.version)
                    if seen.insert(hasher.finalize()).inserted { images.append(image) }
                }.count
            for image in images {
                var problems = CloudChecker(image: image, memory: memory).problems(promise.cloud) + Self.plain(image)
                do {
                    let number = try await look(image, promise, &problems)
                    outcome.versions.insert(number)
                    if Sample.isWhole || outcome.distinct % 7 == 0 { try await goOn(image, promise, after: number, &problems) }
                } catch {
                    problems.append("\(error)")
                }
                outcome.problems += problems.map { "after operation \(count) (seed \(Self.seed)): \($0)" }
                outcome.distinct += 1
            }
        }
        return outcome
    }

    /// Files in which something stands that must not.
    private static func plain(_ image: DiskImage) -> [String] {
        image.files.filter { Data(image.bytes($0) ?? []).range(of: Data(SealedCloudScript.canary.utf8)) != nil }.map { "\($0) can be read by everybody" }
    }

    /// Looks at the newest version with everybody's keys. Returns its number; 0 where nothing was published.
    private func look(_ image: DiskImage, _ promise: SealedPromise, _ problems: inout [String]) async throws -> Int {
        guard promise.cloud.hasZone else { return 0 }
        let disk = SimulatedFileSystem(image)
        let (zone, cloud) = try await SealedCloudScript.open(disk, as: SealedCloudScript.phone, promise.knowledge)
        let state = try await cloud.records(in: .standard)
        guard let token = state.token else { return 0 }
        // Who the members are, how many epochs there are and which code is the newest, by the number of the version alone.
        let number = token.number, isMember = (Act.approve.rawValue..<Act.remove.rawValue).contains(number)
        let epoch = 1 + (number >= Act.remove.rawValue ? 1 : 0) + (number >= Act.rotate.rawValue ? 1 : 0)
        let code = number >= Act.rotate.rawValue ? 1 : 0
        guard let record = state.record(KeyRing.recordName), let list = try await zone.cloud.members(in: .standard) else {
            problems.append("version \(number) has no keys, or no members")
            return number
        }
        let ring = try KeyRing(record, at: "version \(number)")
        if ring.epoch != epoch { problems.append("version \(number) has epoch \(ring.epoch) instead of \(epoch)") }
        if list.member(SealedCloudScript.watch.name) == nil, isMember { problems.append("watch is no member in version \(number)") }
        for (name, key, mayRead) in [
            ("phone", SealedCloudScript.phone.keys.publicKeys.sealing, true), ("watch", SealedCloudScript.watch.keys.publicKeys.sealing, isMember),
            ("tablet", SealedCloudScript.tablet.keys.publicKeys.sealing, false), ("the first code", SealedCloudScript.codes[0].publicKey(.x25519)!, code == 0),
            ("the second code", SealedCloudScript.codes[1].publicKey(.x25519)!, code == 1),
        ] where ring.isFor(key) != mayRead {
            problems.append("the keys of version \(number) are \(mayRead ? "not " : "")for \(name)")
        }
        let secrets = try ring.secrets(by: SealedCloudScript.codes[code].seed, of: SealedCloudScript.codes[code].publicKey(.x25519)!, in: zone.history)
        if secrets.count != epoch { problems.append("the recovery code opens \(secrets.count) epochs of \(epoch)") }
        problems += try await contents(state, cloud)
        var knowledge = ZoneKnowledge(creator: SealedCloudScript.phone.keys.publicKeys.fingerprint, own: SealedCloudScript.watch.keys.publicKeys)
        knowledge.protection = [.signed, .sealed]
        let watch = try await SealedCloudScript.open(disk, as: SealedCloudScript.watch, knowledge).cloud
        if isMember {
            problems += try await contents(watch.records(in: .standard), watch)
        } else if (try? await watch.records(in: .standard)) != nil {
            problems.append("watch, which is no member, reads version \(number)")
        }
        if disk.openCount > 0 { problems.append("descriptors are left open") }
        return number
    }

    /// What is wrong with the rows of a version, which a member reads.
    private func contents(_ state: ZoneState, _ cloud: CloudDatabase) async throws -> [String] {
        guard let item = state.record("item"), case .string(let text) = item.fields["text"], let asset = item.assets.first else { return ["the rows are gone"] }
        let reader = try await cloud.openAsset(asset, in: .standard)
        let bytes = try reader.all()
        let opened = try bytes.withUnsafeBytes { try reader.boxes?.open($0, kind: .member) }
        guard opened == Data(text.utf8), try reader.index() == Data("index \(text)".utf8) else { return ["the rows of \(asset.path) are others"] }
        return []
    }

    /// The publisher goes on: it publishes, and admits another device; both are durable, and both devices read them.
    private func goOn(_ image: DiskImage, _ promise: SealedPromise, after number: Int, _ problems: inout [String]) async throws {
        let disk = SimulatedFileSystem(image)
        let script = SealedCloudScript(disk, promise: promise)
        if promise.cloud.hasZone { try await script.read() } else { try await script.create() }
        try await script.publish()
        try await script.change(SealedCloudScript.tablet, isMember: true)
        let durable = PowerCut(base: image, operations: disk.operations).split(after: disk.operations.count).durable
        problems += (CloudChecker(image: durable).problems(script.promise.cloud) + Self.plain(durable)).map { "after the next publish: \($0)" }
        var knowledge = ZoneKnowledge(creator: SealedCloudScript.phone.keys.publicKeys.fingerprint, own: SealedCloudScript.tablet.keys.publicKeys)
        knowledge.protection = [.signed, .sealed]
        let after = SimulatedFileSystem(durable)
        for (device, known) in [(SealedCloudScript.phone, script.promise.knowledge), (SealedCloudScript.tablet, knowledge)] {
            let cloud = try await SealedCloudScript.open(after, as: device, known).cloud
            let state = try await cloud.records(in: .standard)
            if state.token?.number != number + 2 { problems.append("\(device.name) reads version \(state.token?.number ?? 0) instead of \(number + 2)") }
            problems += try await contents(state, cloud).map { "after the next publish: \($0)" }
        }
    }
}
