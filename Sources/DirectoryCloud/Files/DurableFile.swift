import CloudStore
import Platform
import StrictText

/// A new file in a cloud directory. Everything that is written there is written through this type.
///
///     let file = try DurableFile(in: folder, at: place, method: method, nonces: nonces)
///     try file.write(bytes)
///     let sealed = try file.seal()              // length checked, durable, closed, read back
///     let placement = try file.place(as: name)  // only if the name is free
///     try folder.synchronize()                  // the name is durable too
///
/// No file is ever replaced. After a failed fsync the file must not be used any more: the error is thrown, the file is dropped, and the
/// caller starts a new one. A second fsync could report success for bytes that are lost.
final class DurableFile {
    /// The properties of a file that is complete and durable, but has no final name yet.
    struct Sealed {
        /// The size in bytes.
        let byteCount: Int
        let sha256: String
        /// When it was written, by the file system's clock.
        let modified: Instant
    }

    private let folder: CloudFolder
    /// The file's name in error messages.
    private let place: String
    private let method: PutIfAbsentStrategy
    /// The temporary name; unused if the file has no name.
    private let temporary: String
    private var file: OpenDescriptor
    private var hash = ContentHash()
    private var byteCount = 0
    /// How many of the first bytes the system was asked to write to the disk already.
    private var begunByteCount = 0
    private var sealed: Sealed?
    private var hasTemporaryName: Bool
    private var isDead = false
    /// False once the file system has refused to copy.
    private var canCopy = true

    /// Starts a file in `folder`; error messages call it `place`.
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

    /// Appends bytes that another open file contains too. If the file system can copy them by itself, they need not be written; on a file
    /// server they then do not cross the network. Reading the file back verifies that the right bytes were copied.
    func write(_ bytes: UnsafeRawBufferPointer, copying source: Int32, at offset: Int) throws(CloudError) {
        var done = 0
        // Write what cannot be copied: between file systems, without support in the kernel, or if the other file was truncated.
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
        // Start writing to the disk while more bytes are produced, so that fsync has less to wait for. For 200 MB this saves a quarter of a
        // second.
        if byteCount - begunByteCount >= Self.stretchByteCount {
            folder.calls.beginSynchronizing(file.number, from: begunByteCount, byteCount: byteCount - begunByteCount)
            begunByteCount = byteCount
        }
    }

    /// How many bytes are handed to the disk at a time while a file is written.
    static let stretchByteCount = 8 << 20

    /// Completes the file: checks its length, makes it durable, closes it, reads it back and compares the hash.
    func seal() throws(CloudError) -> Sealed {
        guard !isDead, sealed == nil else { throw failure("the file is finished or given up already") }
        isDead = true
        let status = try attempt { () throws(SystemFault) in try folder.calls.status(file.number) }
        guard status.byteCount == byteCount else {
            throw failure("\(byteCount) bytes were written, \(status.byteCount) are there")
        }
        try attempt { () throws(SystemFault) in try folder.calls.synchronize(file.number) }
        let written = file
        // Open a second descriptor before closing the first: a file without a name vanishes with its last descriptor.
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

    /// Gives the sealed file its name if the name is free. The name is durable only after ``CloudFolder/synchronize()``.
    ///
    /// If the system reports an error, the file found under the name decides: NFS may report an error for an operation that succeeded.
    func place(as name: String) throws(CloudError) -> Placement {
        guard let sealed else { throw failure("the file is not finished") }
        do throws(SystemFault) {
            try method.perform(folder.calls, file.number, temporary: temporary, as: name, in: folder.descriptor.number)
            if method == .renameNamed { hasTemporaryName = false }
            return .placed
        } catch {
            let reported = error
            guard let found = try findOutcome(name, of: sealed, after: reported) else { throw reported.error(at: folder.place(name)) }
            if found == .placed, method == .renameNamed { hasTemporaryName = false }
            return found
        }
    }

    /// Drops a file that was not placed. Harmless after it was placed.
    func abandon() {
        // Ignore errors: a temporary file that cannot be removed now is swept when it is a day old.
        try? file.close()
        if hasTemporaryName {
            hasTemporaryName = false
            try? folder.remove(temporary)
        }
    }

    /// Examines the file under `name` after the system reported a failure; nil if there is none.
    private func findOutcome(_ name: String, of sealed: Sealed, after reported: SystemFault) throws(CloudError) -> Placement? {
        let found: (descriptor: OpenDescriptor, status: FileStatus)?
        do throws(CloudError) {
            found = try folder.file(name)
        } catch {
            // A directory or a link has that name, so the name is taken.
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
