import CloudStore
import Platform
import StrictText

/// Who may use a cloud's directory besides its owner.
///
///     let cloud = try DirectoryCloud.create(at: "/srv/cloud", container: "iCloud.org.example.app", sharing: .group)
///
/// Only the directory's own mode stores this setting. If it has the set-group-ID bit, everything created beneath it gives the group and
/// others the rights that the directory gives them, whatever the umask is. Otherwise files are created with 0600 and directories with 0700.
/// Source: docs/cloud-directory.md, "Who may read the files".
public enum DirectorySharing: String, Sendable, CaseIterable {
    /// Nobody else: 0700.
    case owner
    /// The directory's group may read and write: 2770.
    case group
    /// The group may read and write, and everybody else may read: 2775.
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

    /// The mode of a new directory inside one of this mode.
    static func modeOfFolder(in above: UInt32) -> UInt32 {
        above & setGroupID == 0 ? 0o700 : setGroupID | 0o700 | above & 0o077
    }

    /// The mode of a new file in a directory of this mode. Files are never changed, so no other user needs to write them.
    static func modeOfFile(in above: UInt32) -> UInt32 {
        above & setGroupID == 0 ? 0o600 : 0o600 | above & 0o044
    }
}

extension CloudFolder {
    /// Gives the rights of `sharing` to this directory, and to everything beneath it that this user owns. Links are not followed.
    ///
    /// - Throws: ``CloudError`` with `.permissionFailure` if the directory belongs to another user.
    func share(_ sharing: DirectorySharing) throws(CloudError) {
        try attempt(at: ownPlace) { () throws(SystemFault) in try calls.setMode(descriptor.number, sharing.mode) }
        try shareContents(sharing, levels: 5)
    }

    /// A cloud has five levels of directories; deeper ones are not part of it.
    private func shareContents(_ sharing: DirectorySharing, levels: Int) throws(CloudError) {
        guard levels > 0 else { return }
        for name in try names() where !name.exact.hasPrefix(".") {
            do throws(CloudError) {
                if let file = try file(name) { try setMode(DirectorySharing.modeOfFile(in: sharing.mode), of: file.descriptor) }
            } catch {
                // Not a plain file. If it is not a directory either, snapsync did not create it.
                guard error.code == .damaged, let folder = try? folder(name) else { continue }
                try setMode(DirectorySharing.modeOfFolder(in: sharing.mode), of: folder.descriptor)
                try folder.shareContents(sharing, levels: levels - 1)
            }
        }
    }

    /// Sets a mode if this user may do so. Files of other users are left to them.
    private func setMode(_ mode: UInt32, of descriptor: OpenDescriptor) throws(CloudError) {
        do throws(SystemFault) {
            try calls.setMode(descriptor.number, mode)
        } catch {
            guard error.isDenial else { throw error.error(at: ownPlace) }
        }
    }
}
