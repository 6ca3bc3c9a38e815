import CloudStore
import CommitLog
import Foundation
import Logging
import ObjectCloud
import SnapshotEngine
import SnapshotModel
import StrictText
import Synchronization

/// A peer as `snapsync watch` is one, with the real commit log and the real client of the store; the database is a wait.
///
/// An edit begins a sync: read what is new, import it, look at the mailbox and at the own report, write an asset and its index, prepare,
/// publish, report. A lost race begins it again, after a wait, as PeerSync does.
final class SimulatedPeer: Sendable {
    struct Tally: Sendable {
        var published = 0
        /// How often it has looked for news, by itself.
        var looks = 0
        var lostRaces = 0
        /// Runs that ended without having published what they were to publish.
        var failures = 0
        /// From each edit to the commit that has it, in seconds.
        var waits: [Double] = []
    }

    /// How often and how a peer edits.
    struct Habit: Sendable {
        /// Seconds between edits, in the middle; nil: there is always one more.
        var between: Double?
        /// Seconds between looks without an edit.
        var poll = 5.0
        /// When it ends, in seconds.
        var until = 0.0
    }

    static let zone = ZoneID("Bench")
    /// What SQLite takes for an import or an export of a small change, in microseconds.
    private static let databaseWait: Int64 = 10_000
    static let asset = [UInt8](repeating: 7, count: 2048)
    static let assetHash = ContentHash.of(asset)

    let name: String
    let transport: DistantTransport
    let cloud: ObjectCloud
    private let time: VirtualTime
    private let state: Mutex<State>

    private struct State {
        var numbers: SeededGenerator
        var token: ChangeToken?
        var pending: [Double] = []
        var tally = Tally()
    }

    /// A peer of a cloud that is made if it is not there.
    init(_ number: Int, in store: DistantStore, _ time: VirtualTime, seed: UInt64) throws {
        name = "peer-\(number)"
        self.time = time
        state = Mutex(State(numbers: SeededGenerator(seed: seed &* 1000 &+ UInt64(number))))
        let transport = DistantTransport(store, time, seed: seed &* 1000 &+ UInt64(number) &+ 500_000)
        self.transport = transport
        var retry = ObjectClient.Retry()
        retry.sleep = { time.wait(transport.redrawn($0, from: 0.1, to: 5)) }
        let client = ObjectClient(
            try BucketLocation("s3://bench/app?endpoint=http://127.0.0.1:9"), transport: transport, credentials: FixedCredentials(), retry: retry,
            now: { Self.instant(time) })
        cloud = try ObjectCloud.create(client: client, container: "iCloud.org.example.bench").cloud
    }

    private struct FixedCredentials: CredentialsProvider {
        func credentials() -> ObjectCredentials? { ObjectCredentials(accessKey: "a", secretKey: "s") }
    }

    private static func instant(_ time: VirtualTime) -> Instant { Instant(microseconds: DistantStore.beginning + time.now) }

    /// The newest version that this device has.
    var token: ChangeToken? { state.withLock { $0.token } }

    func take(_ token: ChangeToken?) { state.withLock { $0.token = token } }

    /// The present virtual time.
    var clock: Instant { Self.instant(time) }

    private var seconds: Double { Double(time.now) / 1_000_000 }

    var tally: Tally { state.withLock { $0.tally } }

    /// What `RememberingCloud` does for a device.
    private func remember() async throws {
        cloud.base.recall(ZoneMemory(cloud: try await cloud.identity().uuid, zone: Self.zone), of: Self.zone)
    }

    /// Joins the zone. The first peer makes it and publishes version 1.
    ///
    /// - Parameter reports: whether the device says which version it has, as one that may write does.
    func join(isFirst: Bool, reports: Bool = true) async throws {
        try await remember()
        if isFirst {
            _ = try await cloud.createZone(Self.zone, creator: name, publishers: .many)
            state.withLock { $0.pending = [0] }
            await sync()
            state.withLock { $0.tally = Tally() }
        } else {
            let token = try await cloud.changes(since: nil, in: Self.zone).token
            state.withLock { $0.token = token }
        }
        if reports { try await cloud.report(report(), in: Self.zone) }
    }

    /// Syncs once; with `edits`, publishes a version.
    func sync(editing edits: Int) async {
        let now = seconds
        state.withLock { $0.pending += Array(repeating: now, count: edits) }
        await sync()
    }

    /// Edits and syncs until the habit's end.
    func run(_ habit: Habit) async {
        func wait() -> Double { state.withLock { state in habit.between.map { state.numbers.exponential(mean: $0) } ?? 0 } }
        var edit = seconds + wait(), poll = seconds + state.withLock { Double.random(in: 0..<habit.poll, using: &$0.numbers) }
        while true {
            let next = min(edit, poll)
            guard next < habit.until else { return }
            await time.sleep(max(1, Int64((next - seconds) * 1_000_000)))
            while edit <= seconds {
                state.withLock { [edit] in $0.pending.append(edit) }
                edit = habit.between == nil ? .infinity : edit + wait()
            }
            state.withLock { $0.tally.looks += 1 }
            await sync()
            // A run that failed is made again at the next look.
            poll = seconds + habit.poll
            if habit.between == nil { edit = seconds }
        }
    }

    /// What the seeds say of waits between attempts.
    private func sync() async {
        let policy = RetryPolicy(attempts: 12, firstDelay: .milliseconds(10), longestDelay: .milliseconds(200)) { [self] in
            state.withLock { Double.random(in: 0..<1, using: &$0.numbers) }
        }
        let turn = PublishTurn(
            in: Self.zone, of: cloud, nonces: .system, logger: Logger(label: name), pause: { [time] in await time.sleep(Int64($0 / .microseconds(1))) },
            uptime: { [time] in .microseconds(time.now) }, draw: { [self] in state.withLock { Double.random(in: 0.5...1, using: &$0.numbers) } },
            lossesForTicket: PublishTurn.lossesForTicketInBucket)
        await sync(turn, policy)
        await turn.ends()
    }

    private func sync(_ turn: PublishTurn, _ policy: RetryPolicy) async {
        var losses = 0
        while true {
            var number = 1
            do {
                try await importNews()
                number = state.withLock { ($0.token?.number ?? 0) + 1 }
                let edits = state.withLock { $0.pending }
                guard !edits.isEmpty else { return }
                _ = try await cloud.mailbox(MailboxRequest(known: [], limit: 0), in: Self.zone)
                if try await turn.giveWay(before: number) { continue }
                try await publish(isFirst: losses == 0, turn)
                let now = seconds
                state.withLock { state in
                    state.pending.removeFirst(edits.count)
                    state.tally.published += 1
                    state.tally.waits += edits.map { now - $0 }
                }
                try? await cloud.report(report(), in: Self.zone)
                return
            } catch let error as CloudError where error.code == .serverRecordChanged {
                losses += 1
                state.withLock { $0.tally.lostRaces += 1 }
                guard losses < policy.attempts else { return state.withLock { $0.tally.failures += 1 } }
                let hasPlace = await turn.lost(number, losses: losses)
                await time.sleep(max(1, Int64(policy.delay(after: hasPlace ? 1 : losses) / .microseconds(1))))
            } catch {
                return state.withLock { $0.tally.failures += 1 }
            }
        }
    }

    private func importNews() async throws {
        let token = state.withLock { $0.token }
        let isToPublish = state.withLock { !$0.pending.isEmpty }
        let changes =
            if let token, isToPublish { try await cloud.base.changes(since: token, toPublishIn: Self.zone) } else {
                try await cloud.changes(since: token, in: Self.zone)
            }
        if let record = changes.commits.last?.saved.first, let asset = record.assets.first {
            let reader = try await cloud.openAsset(asset, in: Self.zone)
            var bytes = [UInt8](repeating: 0, count: asset.byteCount)
            try bytes.withUnsafeMutableBytes { try reader.read(into: $0, at: 0) }
            await time.sleep(Self.databaseWait)
        }
        state.withLock { $0.token = changes.token }
    }

    private func publish(isFirst: Bool, _ turn: PublishTurn) async throws {
        let token = state.withLock { $0.token }
        // Who it is, a run asks once.
        if isFirst { _ = try await cloud.deviceReport(of: name, in: Self.zone) }
        await time.sleep(Self.databaseWait)
        let asset = try await write(number: (token?.number ?? 0) + 1)
        do {
            let record = CloudRecord(type: "Notes", name: "notes_data", fields: ["dataFile": .asset(asset)])
            let draft = CommitDraft(device: name, saving: [record], clock: Self.instant(time))
            let published = try await cloud.publish(cloud.prepare(draft, after: token, in: Self.zone))
            state.withLock { $0.token = published }
        } catch {
            await turn.discardInTheEnd([asset])
            throw error
        }
    }

    private func write(number: Int) async throws -> CloudAsset {
        let writer = try await cloud.newAsset(for: "notes_data", number: number, kind: .snapshot, in: Self.zone)
        // On a thread of its own: a task must not hold up the others while it waits.
        return try await withCheckedThrowingContinuation { continuation in
            nonisolated(unsafe) let writer = writer
            Thread.detachNewThread {
                continuation.resume(
                    with: Result {
                        try Self.asset.withUnsafeBytes { try writer.write($0) }
                        try writer.setIndex(Data(Self.asset.prefix(300)))
                        return try writer.finish(rawByteCount: 8192)
                    })
            }
        }
    }

    private func report() -> DeviceReport {
        DeviceReport(device: name, role: "peer", token: state.withLock { $0.token }, clock: Self.instant(time), nonce: UUID().uuidString)
    }
}

extension SeededGenerator {
    /// A wait with this mean, as independent events have it.
    fileprivate mutating func exponential(mean: Double) -> Double { -mean * Foundation.log(1 - Double.random(in: 0..<1, using: &self)) }
}
