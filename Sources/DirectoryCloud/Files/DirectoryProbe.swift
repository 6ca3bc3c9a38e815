package import CloudStore
import Platform
package import StrictText

/// What a cloud's file system supports, found out by trying it in a temporary folder beneath the zone.
package struct DirectoryProbe: Sendable, Hashable {
    /// Whether a file can be created without a name and linked later, so that a killed run leaves nothing behind.
    package let hasNamelessFiles: Bool
    /// Whether a file can get a second name, and a name that is taken is refused.
    package let hasHardLinks: Bool
    /// Whether a file can be renamed without replacing another one.
    package let hasExclusiveRename: Bool
    /// Why a file or a directory could not be made durable; nil if both could.
    package let synchronizeFailure: String?
    /// Whether two names that differ only in case are different names.
    package let isCaseSensitive: Bool
    /// The present time by the file system's own clock.
    package let clock: Instant

    /// Whether new files can be placed without replacing anything, in at least one way.
    package var canPublish: Bool { hasNamelessFiles || hasHardLinks || hasExclusiveRename }

    /// Makes a result from given values.
    package init(hasNamelessFiles: Bool, hasHardLinks: Bool, hasExclusiveRename: Bool, synchronizeFailure: String?, isCaseSensitive: Bool, clock: Instant) {
        self.hasNamelessFiles = hasNamelessFiles
        self.hasHardLinks = hasHardLinks
        self.hasExclusiveRename = hasExclusiveRename
        self.synchronizeFailure = synchronizeFailure
        self.isCaseSensitive = isCaseSensitive
        self.clock = clock
    }

    /// Tries the calls beneath a zone.
    ///
    /// - Throws: ``CloudError`` with `.permissionFailure`, `.quotaExceeded` or `.inputOutput` if no folder or file can be created.
    init(_ zone: ZoneFolder) throws {
        let above = zone.folder, calls = above.calls
        let name = Self.prefix + zone.files.nonces.hex(16)
        try above.attempt(at: above.place(name)) { () throws(SystemFault) in try calls.makeDirectory(name, in: above.descriptor.number) }
        do {
            guard let folder = try above.folder(name) else {
                throw CloudError(.inputOutput, at: above.place(name), "the folder vanished as soon as it was made", isRetryable: true)
            }
            // SMB keeps a removed file as long as it is open, so close everything first.
            defer { try? folder.descriptor.close() }
            try self.init(trying: folder, nonces: zone.files.nonces)
        } catch {
            try? calls.removeDirectory(name, in: above.descriptor.number)
            throw error
        }
        try? calls.removeDirectory(name, in: above.descriptor.number)
    }

    private init(trying folder: CloudFolder, nonces: NonceSource) throws {
        let calls = folder.calls
        func works(_ method: PutIfAbsentStrategy) throws -> Bool {
            do throws(SystemFault) {
                return try method.works(in: folder, nonces: nonces)
            } catch {
                guard method.isRefused(by: error) else { throw error.error(at: folder.ownPlace) }
                return false
            }
        }
        hasNamelessFiles = try works(.linkNameless)
        hasHardLinks = try works(.linkNamed)
        hasExclusiveRename = try works(.renameNamed)

        let file = "probe"
        let descriptor = try folder.attempt(at: folder.place(file)) { () throws(SystemFault) in
            OpenDescriptor(try calls.open(file, in: folder.descriptor.number, .create), calls)
        }
        defer {
            try? descriptor.close()
            try? folder.remove(file)
        }
        var failure: String?
        do throws(SystemFault) {
            try calls.synchronize(descriptor.number)
            try calls.synchronize(folder.descriptor.number)
        } catch {
            failure = error.words
        }
        synchronizeFailure = failure
        isCaseSensitive = try Self.canMake(file.uppercased(), in: folder)
        clock = try folder.attempt(at: folder.place(file)) { () throws(SystemFault) in try calls.status(descriptor.number) }.modified
    }

    /// Whether a new file can be created under a name; it is removed again. False if the name is taken.
    ///
    /// The existing file must not be opened. A Linux SMB client keeps a closed file open for a second, and identifies it by the name with
    /// which it was opened. A file that was opened under a second spelling would outlive its removal, and keep the folder from being
    /// removed.
    private static func canMake(_ name: String, in folder: CloudFolder) throws(CloudError) -> Bool {
        let calls = folder.calls, directory = folder.descriptor.number
        do throws(SystemFault) {
            try OpenDescriptor(try calls.open(name, in: directory, .create), calls).close()
        } catch {
            guard error.isPresence else { throw error.error(at: folder.place(name)) }
            return false
        }
        try folder.remove(name)
        return true
    }

    /// The beginning of the folder's name; eight random bytes follow as hexadecimal digits.
    static let prefix = ".snapsync-doctor-"
}

extension DirectoryCloud {
    /// Tries out beneath a zone what the file system supports.
    package func probe(_ zone: ZoneID) async throws -> DirectoryProbe {
        try await inFolder(of: zone) { try DirectoryProbe($0) }
    }

    /// The absolute or relative path of a zone's directory.
    package func path(of zone: ZoneID) -> String { "\(path)/\(zone)" }
}
