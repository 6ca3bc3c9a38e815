package import CloudStore
import CommitLog
import Platform
package import StrictText

/// What a cloud's file system can do, found out by doing it in a folder that is made beneath the zone for that and removed again.
package struct DirectoryProbe: Sendable, Hashable {
    /// Whether a file can be begun without a name and be given one: a killed run leaves nothing behind.
    package let hasNamelessFiles: Bool
    /// Whether a file can have a second name, and a name that is taken is refused.
    package let hasHardLinks: Bool
    /// Whether a file can be renamed so that nothing is replaced.
    package let hasExclusiveRename: Bool
    /// Why a file or a directory could not be made durable; nil if both could.
    package let synchronizeFailure: String?
    /// Whether two names that differ in case alone are two names.
    package let isCaseSensitive: Bool
    /// The time by the file system's own clock, just now.
    package let clock: Instant

    /// Whether new files can be put in place without replacing anything, in any of the ways.
    package var canPublish: Bool { hasNamelessFiles || hasHardLinks || hasExclusiveRename }

    /// What was found elsewhere.
    package init(hasNamelessFiles: Bool, hasHardLinks: Bool, hasExclusiveRename: Bool, synchronizeFailure: String?, isCaseSensitive: Bool, clock: Instant) {
        self.hasNamelessFiles = hasNamelessFiles
        self.hasHardLinks = hasHardLinks
        self.hasExclusiveRename = hasExclusiveRename
        self.synchronizeFailure = synchronizeFailure
        self.isCaseSensitive = isCaseSensitive
        self.clock = clock
    }

    /// Tries the calls out beneath a zone.
    ///
    /// - Throws: ``CloudError`` with `.permissionFailure`, `.quotaExceeded` or `.inputOutput` where no folder or file can be made.
    init(_ zone: ZoneFolder) throws {
        let above = zone.folder, calls = above.calls
        let name = Self.prefix + zone.files.nonces.hex(16)
        try above.attempt(at: above.place(name)) { () throws(SystemFault) in try calls.makeDirectory(name, in: above.descriptor.number) }
        do {
            guard let folder = try above.folder(name) else {
                throw CloudError(.inputOutput, at: above.place(name), "the folder vanished as soon as it was made", isRetryable: true)
            }
            // SMB keeps what is removed while it is open, so everything is closed first.
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

    /// Whether a new file can be made under a name, which is removed again; false if the name is taken.
    ///
    /// Nothing is opened under a name that is taken. A Linux SMB client keeps a closed file open for a second, and knows it by the name that it
    /// was opened by: a file that was opened under a second spelling would outlive its removal, and with it the folder.
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

    /// How the folder's name begins; eight random bytes follow.
    static let prefix = ".snapsync-doctor-"
}

extension DirectoryCloud {
    /// Tries out what the file system can do, beneath a zone.
    package func probe(_ zone: ZoneID) async throws -> DirectoryProbe {
        try await inZone(zone) { try DirectoryProbe($0) }
    }

    /// The absolute or relative path of a zone's directory.
    package func path(of zone: ZoneID) -> String { "\(path)/\(zone)" }
}
