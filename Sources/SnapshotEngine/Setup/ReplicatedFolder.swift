import Foundation
import SnapshotVersions

/// Detects whether a directory belongs to a tool that gives each device its own copy: Syncthing, Dropbox, iCloud Drive.
///
/// In such a folder, nothing prevents two devices from publishing the same number, so only one device may publish there.
package enum ReplicatedFolder {
    /// Returns the tool that replicates a directory or a folder above it, and the evidence; nil if there is none.
    package static func tool(of directory: String) -> (name: String, sign: String)? {
        var folder = URL(fileURLWithPath: directory).resolvingSymlinksInPath()
        while true {
            for marker in markers {
                var isFolder: ObjCBool = false
                let path = folder.appendingPathComponent(marker.file).path
                guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else { continue }
                // In a home directory `.dropbox` is a folder of settings. In the replicated folder it is a file.
                if marker.isFolder.map({ $0 == isFolder.boolValue }) ?? true { return (marker.tool, path) }
            }
            if let tool = folderNames[folder.lastPathComponent] { return (tool, folder.path) }
            guard folder.path != "/" else { return nil }
            folder.deleteLastPathComponent()
        }
    }

    /// Refuses a replicated directory if several devices are to publish there.
    ///
    /// A bind mount hides the folders above the mounted one, and with them their markers. The user must then say that the directory is
    /// replicated.
    ///
    /// - Parameter isSaid: whether the user says that a tool replicates the directory.
    /// - Throws: ``SyncError`` with `.refused`.
    static func refuse(_ directory: String, isSaid: Bool) throws {
        let tool = tool(of: directory)
        guard isSaid || tool != nil else { return }
        let found = tool.map { "\($0.name) replicates this folder (\($0.sign))" } ?? "--replicated says that a tool replicates this folder"
        throw SyncError(
            .refused, step: .open, at: directory,
            "\(found): every device has a copy of its own, so two of them could publish the same version",
            hint: "let one device publish here (--role writer, the others --role reader); peers need one file system that all of them mount")
    }

    private static let markers: [(file: String, tool: String, isFolder: Bool?)] = [
        (".stfolder", "Syncthing", nil), (".dropbox", "Dropbox", false), (".dropbox.cache", "Dropbox", true),
        (".tmp.drivedownload", "Google Drive", nil), (".849C9593-D756-4E56-8D6E-42412F2A707B", "OneDrive", nil),
        (".owncloudsync.log", "ownCloud", false), (".nextcloudsync.log", "Nextcloud", false),
    ]

    private static let folderNames = ["Mobile Documents": "iCloud Drive", "com~apple~CloudDocs": "iCloud Drive", "iCloudDrive": "iCloud Drive"]
}
