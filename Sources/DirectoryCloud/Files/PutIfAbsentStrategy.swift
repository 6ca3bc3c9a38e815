import CloudStore
import Platform
import StrictText

/// How a file system places a file without replacing another one.
enum PutIfAbsentStrategy: Sendable, CaseIterable {
    /// A file without a name, then `link`. A killed run leaves nothing behind. ext4, XFS, Btrfs, tmpfs.
    case linkNameless
    /// A file with a temporary name, then `link` and `unlink`. NFS and most others.
    case linkNamed
    /// A file with a temporary name, then `renameat2(RENAME_NOREPLACE)`. For file systems without hard links.
    case renameNamed

    /// Finds the first method that works in a directory, by trying it, and verifies that a name which is taken is refused.
    ///
    /// - Throws: ``CloudError`` with `.permissionFailure`, `.quotaExceeded` or `.inputOutput`.
    static func probe(in folder: CloudFolder, nonces: NonceSource) throws(CloudError) -> PutIfAbsentStrategy {
        var last: SystemFault?, reasons: [String] = []
        for method in allCases {
            do throws(SystemFault) {
                if try method.works(in: folder, nonces: nonces) { return method }
                reasons.append("\(method.name): an existing file is replaced")
            } catch {
                guard method.isRefused(by: error) else { throw error.error(at: folder.ownPlace) }
                last = error
                reasons.append("\(method.name): \(error.words)")
            }
        }
        if let last, last.isDenial { throw last.error(at: folder.ownPlace) }
        throw CloudError(
            .inputOutput, at: folder.ownPlace,
            "this file system can neither link a file nor rename it without replacing another (\(reasons.joined(separator: "; ")))",
            hint: "put the location on another file system; docs/cloud-directory.md lists those that work")
    }

    /// The method's name in error messages.
    private var name: String {
        switch self {
        case .linkNameless: "link of a file without a name"
        case .linkNamed: "link"
        case .renameNamed: "rename without replacing"
        }
    }

    /// Whether an error means that the file system does not support this method.
    ///
    /// Some network mounts return `EIO` for a link or rename that they do not support. An SMB server returns `EACCES` for a link in a share
    /// on FAT. The file to link was just created in the same directory, so the error cannot mean that the user may not create names there.
    func isRefused(by error: SystemFault) -> Bool {
        error.isUnsupported || ((error.isInputOutput || error.isDenial) && ["link", "rename"].contains(error.call))
    }

    /// Whether a file can be placed with this method, and a name that is taken is refused. The test files are removed again.
    func works(in folder: CloudFolder, nonces: NonceSource) throws(SystemFault) -> Bool {
        let names = (0..<3).map { _ in TemporaryName.make(nonces) }
        defer { for name in names { try? folder.remove(name) } }
        try put(in: folder, temporary: names[0], as: names[1])
        do throws(SystemFault) {
            try put(in: folder, temporary: names[2], as: names[1])
            return false
        } catch {
            if error.isPresence { return true }
            throw error
        }
    }

    private func put(in folder: CloudFolder, temporary: String, as name: String) throws(SystemFault) {
        let directory = folder.descriptor.number, calls = folder.calls
        let file = OpenDescriptor(
            try self == .linkNameless ? calls.open(".", in: directory, .createNameless) : calls.open(temporary, in: directory, .create), calls)
        try perform(calls, file.number, temporary: temporary, as: name, in: directory)
    }

    /// Gives an open file its name. Only after this step do other devices see the file.
    func perform(
        _ calls: any FileSystemCalls, _ descriptor: Int32, temporary: String, as name: String, in directory: Int32
    ) throws(SystemFault) {
        switch self {
        case .linkNameless: try calls.link(descriptor, as: name, in: directory)
        case .linkNamed: try calls.link(temporary, as: name, in: directory)
        case .renameNamed: try calls.renameWithoutReplacing(temporary, to: name, in: directory)
        }
    }
}

/// The names of files that are not placed yet: `.snapsync-<32 hex>.tmp`. Readers ignore them.
enum TemporaryName {
    static func make(_ nonces: NonceSource) -> String { ".snapsync-\(nonces.hex(32)).tmp" }

    static func matches(_ name: String) -> Bool {
        guard name.exact.hasPrefix(".snapsync-"), name.exact.hasSuffix(".tmp") else { return false }
        let hex = name.utf8.dropFirst(10).dropLast(4)
        return hex.count == 32 && CloudNames.isHex(hex)
    }
}
