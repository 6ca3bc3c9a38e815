import CloudStore
import Platform

/// One open directory of a cloud: reads whole files, lists names, creates directories and removes files. Only ``DurableFile`` writes new
/// files.
///
/// Errors carry the path relative to the cloud.
final class CloudFolder {
    /// The path relative to the cloud; empty for the cloud itself.
    let path: String
    let calls: any FileSystemCalls
    let descriptor: OpenDescriptor

    init(_ descriptor: OpenDescriptor, path: String, calls: any FileSystemCalls) {
        (self.descriptor, self.path, self.calls) = (descriptor, path, calls)
    }

    /// This directory as a place in error messages.
    var ownPlace: String { path.isEmpty ? "." : path }

    /// A name in this directory as a place in error messages.
    func place(_ name: String) -> String { path.isEmpty ? name : "\(path)/\(name)" }

    /// Runs system calls and turns their failure into an error at a place.
    func attempt<T>(at place: String, _ body: () throws(SystemFault) -> T) throws(CloudError) -> T {
        do throws(SystemFault) { return try body() } catch { throw error.error(at: place) }
    }

    /// Opens a subdirectory; nil if the name does not exist.
    func folder(_ name: String) throws(CloudError) -> CloudFolder? {
        guard let number = try open(name, .directory) else { return nil }
        return CloudFolder(OpenDescriptor(number, calls), path: place(name), calls: calls)
    }

    /// Opens a plain file; nil if the name does not exist. Throws `damaged` if it is anything but a plain file.
    func file(_ name: String) throws(CloudError) -> (descriptor: OpenDescriptor, status: FileStatus)? {
        try StaleHandle.reopening { () throws(CloudError) in try fileOnce(name) }
    }

    private func fileOnce(_ name: String) throws(CloudError) -> (descriptor: OpenDescriptor, status: FileStatus)? {
        guard let number = try open(name, .read) else { return nil }
        let descriptor = OpenDescriptor(number, calls)
        let status = try attempt(at: place(name)) { () throws(SystemFault) in try calls.status(number) }
        guard status.isRegular else {
            throw CloudError(.damaged, at: place(name), "not a plain file", hint: "take it away; snapsync makes only plain files")
        }
        return (descriptor, status)
    }

    /// Returns the bytes of a plain file; nil if the name does not exist.
    ///
    /// - Throws: ``CloudError`` with `.damaged` if it is larger than `limit`, in bytes, or shrinks while it is read.
    func bytes(of name: String, limit: Int) throws(CloudError) -> [UInt8]? {
        try StaleHandle.reopening { () throws(CloudError) in try bytesOnce(of: name, limit: limit) }
    }

    private func bytesOnce(of name: String, limit: Int) throws(CloudError) -> [UInt8]? {
        guard let (descriptor, status) = try file(name) else { return nil }
        guard status.byteCount <= limit else {
            throw CloudError(
                .damaged, at: place(name), "\(status.byteCount) bytes long, at most \(limit) are allowed", hint: CloudError.damageHint)
        }
        var bytes = [UInt8](repeating: 0, count: status.byteCount)
        let read = try attempt(at: place(name)) { () throws(SystemFault) in
            var span = bytes.mutableSpan
            // SAFETY: the buffer is used only within the closure.
            return try span.withUnsafeMutableBytes { buffer throws(SystemFault) in
                try calls.readAll(descriptor.number, into: buffer, at: 0)
            }
        }
        guard read == bytes.count else {
            throw CloudError(.damaged, at: place(name), "the file shrank while it was read", hint: "try again", isRetryable: true)
        }
        return bytes
    }

    /// Returns the names here, except names that are not UTF-8.
    func names() throws(CloudError) -> [String] {
        try attempt(at: ownPlace) { () throws(SystemFault) in try calls.names(in: descriptor.number) }
    }

    /// Visits the subdirectories with valid names, sorted by the UTF-8 bytes of their names. Other entries are ignored.
    ///
    /// Only one is open at a time, since anybody may create more of them than a process may open.
    func eachFolder(_ body: (_ name: String, _ folder: CloudFolder) throws(CloudError) -> Void) throws(CloudError) {
        for name in try names().filter(CloudNames.isName).sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) {
            let found: CloudFolder?
            do throws(CloudError) {
                found = try folder(name)
            } catch {
                guard error.code == .damaged else { throw error }
                continue
            }
            if let found { try body(name, found) }
        }
    }

    /// Opens a subdirectory, and creates it if it is missing. In both cases its name is durable on return.
    func makeFolder(_ name: String) throws(CloudError) -> CloudFolder {
        do throws(SystemFault) {
            try calls.makeDirectory(name, in: descriptor.number)
        } catch {
            guard error.isPresence else { throw error.error(at: place(name)) }
        }
        // Synchronize even if another process created the directory: that process may not have done so yet.
        try synchronize()
        guard let folder = try folder(name) else {
            throw CloudError(.inputOutput, at: place(name), "the directory vanished as soon as it was made", isRetryable: true)
        }
        return folder
    }

    /// Removes a file. Does nothing if it does not exist.
    func remove(_ name: String) throws(CloudError) {
        do throws(SystemFault) {
            try calls.unlink(name, in: descriptor.number)
        } catch {
            guard error.isAbsence else { throw error.error(at: place(name)) }
        }
    }

    /// Makes the names in this directory durable.
    func synchronize() throws(CloudError) {
        try attempt(at: ownPlace) { () throws(SystemFault) in try calls.synchronize(descriptor.number) }
    }

    /// Makes names in this directory durable that another process has written, if this device's file system and rights allow that.
    ///
    /// For a caller that relies on such a name: the process that wrote it may have been killed before its own ``synchronize()``.
    func synchronizeIfPossible() throws(CloudError) {
        do throws(SystemFault) {
            try calls.synchronize(descriptor.number)
        } catch {
            guard !error.isUnsupported, !error.isDenial, !error.isReadOnly else { return }
            throw error.error(at: ownPlace)
        }
    }

    private func open(_ name: String, _ purpose: OpenPurpose) throws(CloudError) -> Int32? {
        do throws(SystemFault) {
            return try calls.open(name, in: descriptor.number, purpose)
        } catch {
            if error.isAbsence { return nil }
            throw error.error(at: place(name))
        }
    }
}

extension FileSystemCalls {
    /// Reads until the buffer is full or the file ends. Returns the number of bytes read.
    func readAll(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(SystemFault) -> Int {
        var done = 0
        while done < buffer.count {
            let count = try read(descriptor, into: UnsafeMutableRawBufferPointer(rebasing: buffer[done...]), at: offset + done)
            guard count > 0 else { break }
            done += count
        }
        return done
    }
}

/// Retries after a stale handle (`ESTALE`): a network file system no longer knows an open file, because the server was restarted or another
/// machine removed the file.
///
/// Everything must then be opened by name again. Operations of a cloud may be repeated: a file that an earlier attempt placed is found there
/// with the same bytes.
enum StaleHandle {
    /// How often a body is run at most.
    static let attempts = 4

    /// Runs `body`, and runs it again if handles become stale. `body` must open everything that it needs by name.
    static func reopening<T>(_ body: () throws -> T) throws -> T {
        for _ in 1..<attempts {
            do {
                return try body()
            } catch let error as CloudError where error.code == .serverResponseLost {
                continue
            }
        }
        return try body()
    }

    /// The same for a body that throws only ``CloudError``.
    static func reopening<T>(_ body: () throws(CloudError) -> T) throws(CloudError) -> T {
        for _ in 1..<attempts {
            do throws(CloudError) {
                return try body()
            } catch {
                guard error.code == .serverResponseLost else { throw error }
            }
        }
        return try body()
    }
}
