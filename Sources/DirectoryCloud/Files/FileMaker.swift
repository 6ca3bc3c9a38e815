import CloudStore
import Platform
import StrictText
import Synchronization

/// Creates files in a cloud's folders in the way that its file system supports, which is probed once. Also sweeps temporary files of killed
/// runs.
final class FileMaker: Sendable {
    private struct Known {
        var method: PutIfAbsentStrategy?
        var swept: Set<String> = []
        var durable: Set<String> = []
        var isRemote: Bool?
    }

    let nonces: NonceSource
    private let known = Mutex(Known())

    init(nonces: NonceSource) { self.nonces = nonces }

    /// Starts a file in `folder`; error messages call it `place`.
    func newFile(in folder: CloudFolder, at place: String) throws(CloudError) -> DurableFile {
        let method = try method(in: folder)
        let file = try DurableFile(in: folder, at: place, method: method, nonces: nonces)
        if method != .linkNameless { sweep(folder) }
        return file
    }

    /// Writes `bytes` to a new file called `name` if the name is free. File and name are durable on return, unless the name is taken.
    ///
    /// - Parameters:
    ///   - isLasting: whether the name must survive a power cut too. The file's content is complete in any case.
    ///   - judge: checks the complete file before it gets its name; throws to refuse it.
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

    /// Opens a subdirectory of `folder`, and creates it if it is missing. Its name is durable on return.
    ///
    /// The parent directory is synchronized once per run even if the subdirectory exists: the process that created it may have been killed
    /// before it did so.
    func folder(_ name: String, in folder: CloudFolder) throws(CloudError) -> CloudFolder {
        let path = folder.place(name)
        if known.withLock({ $0.durable.contains(path) }), let found = try folder.folder(name) { return found }
        let made = try folder.makeFolder(name)
        known.withLock { _ = $0.durable.insert(path) }
        return made
    }

    /// Whether the cloud is on a file system that other machines change; determined once.
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

    /// Removes temporary files that are more than a day old, since their runs have ended. Once per run and folder.
    ///
    /// A file was just created in the folder, so the folder's own time is the file system's present time.
    ///
    /// - Parameter clock: the file system's clock, if nothing was created in the folder.
    func sweep(_ folder: CloudFolder, clock: Instant? = nil) {
        guard known.withLock({ $0.swept.insert(folder.path).inserted }) else { return }
        // Sweeping only saves space: files that cannot be removed now are ignored by readers, and a later run removes them.
        guard let names = try? folder.names().filter(TemporaryName.matches), !names.isEmpty,
            let now = try? clock ?? folder.calls.status(folder.descriptor.number).modified
        else { return }
        for name in names {
            guard let status = try? folder.file(name)?.status else { continue }
            if now.microseconds - status.modified.microseconds > CommitClock.dayInMicroseconds { try? folder.remove(name) }
        }
    }
}
