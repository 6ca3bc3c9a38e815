import CloudStore
import CommitLog
import Platform

/// Who besides its owner may use a cloud's directory.
///
///     let cloud = try DirectoryCloud.create(at: "/srv/cloud", container: "iCloud.org.example.app", sharing: .group)
///
/// The directory's own mode is what counts and all that is kept: where it has the set-group-ID bit, whatever is made beneath gets
/// the rights of others that the directory has, whatever the umask; elsewhere files are made 0600 and directories 0700.
/// Source: docs/cloud-directory.md, "Who may read the files".
public enum DirectorySharing: String, Sendable, CaseIterable {
    /// Nobody: 0700.
    case owner
    /// The directory's group reads and writes: 2770.
    case group
    /// The group reads and writes, everybody else reads: 2775.
    case all

    /// The mode of the cloud's directory.
    var mode: UInt32 {
        switch self {
        case .owner: 0o700
        case .group: 0o2770
        case .all: 0o2775
        }
    }

    private static let setGroupID: UInt32 = 0o2000

    /// The mode of a directory made in one of this mode.
    static func modeOfFolder(in above: UInt32) -> UInt32 {
        above & setGroupID == 0 ? 0o700 : setGroupID | 0o700 | above & 0o077
    }

    /// The mode of a file made in a directory of this mode. Files are never changed, so nobody else need write them.
    static func modeOfFile(in above: UInt32) -> UInt32 {
        above & setGroupID == 0 ? 0o600 : 0o600 | above & 0o044
    }
}

extension CloudFolder {
    /// Gives this directory, and what this user owns of what is beneath it, the rights of `sharing`. Links are not followed.
    ///
    /// - Throws: ``CloudError`` with `.permissionFailure` if the directory is another user's.
    func share(_ sharing: DirectorySharing) throws(CloudError) {
        try attempt(at: ownPlace) { () throws(SystemFault) in try calls.setMode(descriptor.number, sharing.mode) }
        try shareContents(sharing, levels: 5)
    }

    /// A cloud has five levels of directories; what lies deeper is none of its own.
    private func shareContents(_ sharing: DirectorySharing, levels: Int) throws(CloudError) {
        guard levels > 0 else { return }
        for name in try names() where !name.hasPrefix(".") {
            do throws(CloudError) {
                if let file = try file(name) { try setMode(DirectorySharing.modeOfFile(in: sharing.mode), of: file.descriptor) }
            } catch {
                // Not a plain file. If it is no directory either, it is nothing that snapsync made.
                guard error.code == .damaged, let folder = try? folder(name) else { continue }
                try setMode(DirectorySharing.modeOfFolder(in: sharing.mode), of: folder.descriptor)
                try folder.shareContents(sharing, levels: levels - 1)
            }
        }
    }

    /// Sets a mode where this user may: what others made is theirs to share.
    private func setMode(_ mode: UInt32, of descriptor: OpenDescriptor) throws(CloudError) {
        do throws(SystemFault) {
            try calls.setMode(descriptor.number, mode)
        } catch {
            guard error.isDenial else { throw error.error(at: ownPlace) }
        }
    }
}
