@testable import CloudStore
@testable import DirectoryCloud
import Dispatch

/// Sound histories on a simulated disk, made once, for damage to be done to: one with all its commits, and one that is pruned.
struct FuzzCloud: @unchecked Sendable {
    // SAFETY (@unchecked Sendable): a value that is made once and never changed; its image is one of values.

    let image: DiskImage
    let identity: CloudIdentity
    /// The newest commit, as a device knows it that has read it.
    let token: ChangeToken
    /// The commits and checkpoints, by their names in the folder `zone`, in the order of these names.
    let documents: [(path: String, bytes: [UInt8])]
    /// What the zone holds as of each commit that is kept.
    let states: [Int: ZoneState]

    static let zone = CloudScript.zonePath
    static let whole = make(commits: 4, pruningBelow: 1)
    static let pruned = make(commits: 18, pruningBelow: 17)

    /// The zone of a disk, as a program sees it that opens the cloud.
    func open(_ disk: SimulatedFileSystem) throws -> ZoneFolder {
        let store = DirectoryStore(path: "/cloud", uuid: identity.uuid, calls: disk, files: FileMaker(nonces: .system))
        return try ZoneFolder(Zone(history: HistoryID(cloud: identity.uuid, zone: .standard), store: store))
    }

    private static func make(commits: Int, pruningBelow first: Int) -> FuzzCloud {
        let done = DispatchSemaphore(value: 0)
        nonisolated(unsafe) var made: FuzzCloud?
        Task.detached {
            do {
                let script = CloudScript(SimulatedFileSystem(), seed: 1)
                try await script.create()
                for _ in 0..<commits { try await script.commit() }
                if first > 1 { try await script.prune(below: first) }
                made = try await describe(script, from: first)
            } catch {
                preconditionFailure("the cloud cannot be made: \(error)")
            }
            done.signal()
        }
        done.wait()
        guard let made else { preconditionFailure("the cloud was not made") }
        return made
    }

    private static func describe(_ script: CloudScript, from first: Int) async throws -> FuzzCloud {
        let cloud = try script.cloud()
        let image = script.disk.image
        guard let token = script.promise.version else { preconditionFailure("nothing was published") }
        var states: [Int: ZoneState] = [:]
        for number in first...token.number { states[number] = try await cloud.records(in: .standard, at: number, notBefore: nil) }
        let documents = ["commits", "checkpoints"].flatMap { folder in
            (image.names("\(zone)/\(folder)") ?? []).compactMap { name in
                image.bytes("\(zone)/\(folder)/\(name)").map { (path: "\(folder)/\(name)", bytes: $0) }
            }
        }
        return FuzzCloud(image: image, identity: try await cloud.identity(), token: token, documents: documents, states: states)
    }
}
