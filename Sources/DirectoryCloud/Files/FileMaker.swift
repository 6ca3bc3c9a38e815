import CloudStore
import CommitLog
import Platform
import StrictText
import Synchronization

/// Begins new files in a cloud's folders in the way that its file system allows, found out once, and sweeps what killed runs left.
final class FileMaker: Sendable {
    private struct Known {
        var method: PutIfAbsentStrategy?
        var swept: Set<String> = []
        var durable: Set<String> = []
        var isRemote: Bool?
    }

    let nonces: NonceSource
    private let known = Mutex(Known())

    init(nonces: NonceSource) {
        self.nonces = nonces
    }

    /// Begins a file in `folder`; messages call it `place`.
    func newFile(in folder: CloudFolder, at place: String) throws(CloudError) -> DurableFile {
        let method = try method(in: folder)
        let file = try DurableFile(in: folder, at: place, method: method, nonces: nonces)
        if method != .linkNameless { sweep(folder) }
        return file
    }

    /// Puts `bytes` in place under `name` if nothing has it; file and name are durable on return, unless the name is taken.
    ///
    /// - Parameters:
    ///   - isLasting: whether the name must outlive a power cut, too; the file under it is whole in any case.
    ///   - judge: sees the finished file before it gets its name, and may refuse.
    func put(
        _ bytes: [UInt8], as name: String, in folder: CloudFolder, isLasting: Bool = true, judge: (DurableFile.Sealed) throws(CloudError) -> Void = { _ in }
    ) throws(CloudError) -> Placement {
        let file = try newFile(in: folder, at: folder.place(name))
        // SAFETY: the buffer is used only within the closure.
        try bytes.span.withUnsafeBytes { buffer throws(CloudError) in try file.write(buffer) }
        try judge(try file.seal())
        let placement = try file.place(as: name)
        if placement != .taken, isLasting { try folder.synchronize() }
        return placement
    }

    /// Opens a directory beneath `folder`, made if it is not there; its name is durable on return.
    ///
    /// The directory above is synchronized once per run, even if this one was there: whoever made it may have been killed in between.
    func folder(_ name: String, in folder: CloudFolder) throws(CloudError) -> CloudFolder {
        let path = folder.place(name)
        if known.withLock({ $0.durable.contains(path) }), let found = try folder.folder(name) { return found }
        let made = try folder.makeFolder(name)
        known.withLock { _ = $0.durable.insert(path) }
        return made
    }

    /// Whether the cloud lies on a file system that other machines change, found out once.
    func isRemote(_ folder: CloudFolder) -> Bool {
        if let isRemote = known.withLock({ $0.isRemote }) { return isRemote }
        let isRemote = folder.calls.isRemote(folder.descriptor.number)
        known.withLock { $0.isRemote = isRemote }
        return isRemote
    }

    private func method(in folder: CloudFolder) throws(CloudError) -> PutIfAbsentStrategy {
        if let method = known.withLock({ $0.method }) { return method }
        let method = try PutIfAbsentStrategy.probe(in: folder, nonces: nonces)
        known.withLock { $0.method = method }
        sweep(folder)
        return method
    }

    /// Removes temporaries that are more than a day old: their runs are dead. Once per run and folder.
    ///
    /// Something was made in the folder just now, so the folder's own time is the file system's clock.
    ///
    /// - Parameter clock: the file system's clock, where nothing was made in the folder.
    func sweep(_ folder: CloudFolder, clock: Instant? = nil) {
        guard known.withLock({ $0.swept.insert(folder.path).inserted }) else { return }
        // An economy: what cannot be swept now stays, ignored by readers, until a later run can.
        guard let names = try? folder.names().filter(TemporaryName.matches), !names.isEmpty,
            let now = try? clock ?? folder.calls.status(folder.descriptor.number).modified
        else { return }
        for name in names {
            guard let status = try? folder.file(name)?.status else { continue }
            if now.microseconds - status.modified.microseconds > CommitClock.dayInMicroseconds { try? folder.remove(name) }
        }
    }
}
