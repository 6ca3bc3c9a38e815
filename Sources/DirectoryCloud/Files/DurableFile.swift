import CloudStore
import CommitLog
import Platform
import StrictText

/// A new file on its way into a cloud directory: the only way in which anything is ever written there.
///
///     let file = try DurableFile(in: folder, at: place, method: method, nonces: nonces)
///     try file.write(bytes)
///     let sealed = try file.seal()              // length checked, durable, closed, read back
///     let placement = try file.place(as: name)  // if nothing has that name
///     try folder.synchronize()                  // the name is durable too
///
/// Nothing is ever replaced. A file whose fsync failed is dead: the error is thrown, the file is dropped, and whoever
/// wants it written begins a new one, for a second fsync may report success for bytes that are lost.
final class DurableFile {
    /// What is known of a file that is whole and durable, but not in place yet.
    struct Sealed {
        /// Bytes.
        let byteCount: Int
        let sha256: String
        /// When it was written, by the file system's clock.
        let modified: Instant
    }

    private let folder: CloudFolder
    /// What messages call the file.
    private let place: String
    private let method: PutIfAbsentStrategy
    /// The temporary name; in use only where files have one.
    private let temporary: String
    private var file: OpenDescriptor
    private var hash = ContentHash()
    private var byteCount = 0
    /// How many of the first bytes are on their way to the disk.
    private var begunByteCount = 0
    private var sealed: Sealed?
    private var hasTemporaryName: Bool
    private var isDead = false
    /// Whether nothing has kept the file system from copying yet.
    private var canCopy = true

    /// Begins a file in `folder`; messages call it `place`.
    init(in folder: CloudFolder, at place: String, method: PutIfAbsentStrategy, nonces: NonceSource) throws(CloudError) {
        let temporary = TemporaryName.make(nonces)
        self.folder = folder
        self.place = place
        self.method = method
        self.temporary = temporary
        hasTemporaryName = method != .linkNameless
        let number = try folder.attempt(at: place) { () throws(SystemFault) in
            method == .linkNameless
                ? try folder.calls.open(".", in: folder.descriptor.number, .createNameless)
                : try folder.calls.open(temporary, in: folder.descriptor.number, .create)
        }
        file = OpenDescriptor(number, folder.calls)
    }

    deinit { abandon() }

    /// Appends bytes.
    func write(_ bytes: UnsafeRawBufferPointer) throws(CloudError) { try write(bytes, after: 0) }

    /// Appends bytes that lie in another open file, too: what the file system copies by itself, on a server without a way over the network,
    /// need not be written. Whether it has copied these very bytes is seen when they are read back.
    func write(_ bytes: UnsafeRawBufferPointer, copying source: Int32, at offset: Int) throws(CloudError) {
        var done = 0
        // Whatever does not go this way is written: between file systems, where the kernel cannot, where the other file was cut.
        while canCopy, done < bytes.count {
            do throws(SystemFault) {
                let count = try folder.calls.copy(source, from: offset + done, byteCount: bytes.count - done, to: file.number)
                guard count > 0 else { break }
                done += count
            } catch {
                canCopy = false
            }
        }
        try write(bytes, after: done)
    }

    private func write(_ bytes: UnsafeRawBufferPointer, after copied: Int) throws(CloudError) {
        var done = copied
        while done < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
            let count = try attempt { () throws(SystemFault) in try folder.calls.write(file.number, rest) }
            guard count > 0 else { throw failure("write: nothing was written") }
            done += count
        }
        hash.update(bytes)
        byteCount += bytes.count
        // What the disk writes while more is being made, fsync need not wait for: a quarter of a second for 200 MB.
        if byteCount - begunByteCount >= Self.stretchByteCount {
            folder.calls.beginSynchronizing(file.number, from: begunByteCount, byteCount: byteCount - begunByteCount)
            begunByteCount = byteCount
        }
    }

    /// How many bytes go to the disk at a time while a file is written.
    static let stretchByteCount = 8 << 20

    /// Ends the file: checks its length, makes it durable, closes it, reads it back and compares the hash.
    func seal() throws(CloudError) -> Sealed {
        guard !isDead, sealed == nil else { throw failure("the file is finished or given up already") }
        isDead = true
        let status = try attempt { () throws(SystemFault) in try folder.calls.status(file.number) }
        guard status.byteCount == byteCount else {
            throw failure("\(byteCount) bytes were written, \(status.byteCount) are there")
        }
        try attempt { () throws(SystemFault) in try folder.calls.synchronize(file.number) }
        let written = file
        // A second descriptor first: a file without a name is gone when its last one is closed.
        let number = try attempt { () throws(SystemFault) in
            hasTemporaryName
                ? try folder.calls.open(temporary, in: folder.descriptor.number, .read)
                : try folder.calls.reopenForReading(written.number)
        }
        file = OpenDescriptor(number, folder.calls)
        try attempt { () throws(SystemFault) in try written.close() }
        let sealed = Sealed(byteCount: byteCount, sha256: hash.hex, modified: status.modified)
        guard try contentHash(of: file) == sealed.sha256 else { throw failure("what was read back is not what was written") }
        self.sealed = sealed
        isDead = false
        return sealed
    }

    /// Gives the sealed file its name if nothing has it. The name is durable only after ``CloudFolder/synchronize()``.
    ///
    /// Whatever the system reports, what lies under the name decides: NFS may report an error for what it did.
    func place(as name: String) throws(CloudError) -> Placement {
        guard let sealed else { throw failure("the file is not finished") }
        do throws(SystemFault) {
            try method.perform(folder.calls, file.number, temporary: temporary, as: name, in: folder.descriptor.number)
            if method == .renameNamed { hasTemporaryName = false }
            return .placed
        } catch {
            let reported = error
            guard let found = try findOutcome(name, sealed, reported) else { throw reported.error(at: folder.place(name)) }
            if found == .placed, method == .renameNamed { hasTemporaryName = false }
            return found
        }
    }

    /// Drops what is not in place. Harmless afterwards.
    func abandon() {
        // Nothing to report: a temporary that cannot be removed now is swept when it is a day old.
        try? file.close()
        if hasTemporaryName {
            hasTemporaryName = false
            try? folder.remove(temporary)
        }
    }

    /// What lies under `name` after the system reported a failure; nil if nothing does.
    private func findOutcome(_ name: String, _ sealed: Sealed, _ reported: SystemFault) throws(CloudError) -> Placement? {
        let found: (descriptor: OpenDescriptor, status: FileStatus)?
        do throws(CloudError) {
            found = try folder.file(name)
        } catch {
            // A directory or a link under that name: something other than ours is there.
            if error.code == .damaged, reported.isPresence { return .taken }
            throw error
        }
        guard let found else { return nil }
        guard found.status.byteCount == sealed.byteCount, try contentHash(of: found.descriptor) == sealed.sha256 else { return .taken }
        return reported.isPresence ? .wasThere : .placed
    }

    private func contentHash(of descriptor: OpenDescriptor) throws(CloudError) -> String {
        try attempt { () throws(SystemFault) in
            var hash = ContentHash()
            var offset = 0
            var buffer = [UInt8](repeating: 0, count: min(max(byteCount + 1, 1), 256 << 10))
            while true {
                var span = buffer.mutableSpan
                // SAFETY: the bytes are used only within the closure.
                let count = try span.withUnsafeMutableBytes { bytes throws(SystemFault) in
                    let count = try folder.calls.readAll(descriptor.number, into: bytes, at: offset)
                    hash.update(UnsafeRawBufferPointer(rebasing: bytes[..<count]))
                    return count
                }
                offset += count
                if count < buffer.count { return hash.hex }
            }
        }
    }

    private func attempt<T>(_ body: () throws(SystemFault) -> T) throws(CloudError) -> T {
        try folder.attempt(at: place, body)
    }

    private func failure(_ reason: String) -> CloudError {
        CloudError(.inputOutput, at: place, reason, hint: "check the disk or the mount, then try again", isRetryable: true)
    }
}
