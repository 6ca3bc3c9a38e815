package import CloudStore
import Platform
import StrictText

/// A file in a cloud's directory that is not part of the format. Readers ignore it, and it is never removed automatically.
package struct ForeignFile: Sendable, Hashable {
    /// The probable kind of the file.
    package enum Kind: Sendable, Hashable {
        /// A conflict copy by a tool that replicates folders.
        case conflictCopy
        /// It has a name of the format but is not a plain file, or not a directory where one is expected.
        case notPlain
        /// Left by a `doctor` run that was killed.
        case probe
        /// A damaged file that `repair` has replaced.
        case setAside
        case other
    }

    /// Relative to the cloud's directory.
    package let path: String
    package let kind: Kind

    init(_ path: String, isPlain: Bool = true) {
        self.path = path
        let name = path.exact.split(separator: "/").last ?? path
        if !isPlain {
            kind = .notPlain
        } else if name.exact.hasPrefix(DirectoryProbe.prefix) {
            kind = .probe
        } else if DamagedName.original(of: name) != nil {
            kind = .setAside
        } else {
            // Syncthing: `.sync-conflict-…`; Dropbox: ` (… conflicted copy …)`; Nextcloud: `(conflicted copy …)`; OneDrive, Seafile: `conflict`.
            kind = name.folded.contains("conflict") ? .conflictCopy : .other
        }
    }
}

extension DirectoryCloud {
    /// The files in the cloud's own directory and in a zone's that are not part of the format, sorted by path.
    ///
    /// Hidden files beside `cloud.json` are left out: tools that replicate folders keep their own files there.
    package func foreignFiles(in zone: ZoneID) async throws -> [ForeignFile] {
        let outside = try await inRoot { root in
            let own: Set<String> = [CloudMarker.fileName, CloudScope.private.rawValue, CloudScope.public.rawValue, "lost+found"]
            return try root.names().filter { !own.contains($0) && !$0.exact.hasPrefix(".") }.map { ForeignFile($0) }
        }
        let inside = try await inFolder(of: zone) { try ForeignFiles(zone: $0).find() }
        return (outside + inside).sorted { $0.path < $1.path }
    }
}

/// Finds the files in a zone's directory that are not part of the format.
private struct ForeignFiles {
    let zone: ZoneFolder

    func find() throws -> [ForeignFile] {
        let folders = [CloudNames.commits, CloudNames.checkpoints, CloudNames.assets, CloudNames.messages, CloudNames.devices]
        var found = try zone.folder.names().filter { $0 != ZoneMarker.fileName && !folders.contains($0) && !TemporaryName.matches($0) }.map {
            ForeignFile(zone.folder.place($0))
        }
        for name in folders.prefix(2) {
            if let folder = try zone.folder.folder(name) { found += try strangers(in: folder) { CloudNames.number(ofFile: $0) != nil } }
        }
        found += try beneath(CloudNames.assets) { name, record in StoredFile.Kind(nameInAssets: name, of: record) != nil }
        found += try beneath(CloudNames.messages) { name, _ in name.exact.hasSuffix(".json") && CloudNames.isMessageID(String(name.dropLast(5))) }
        found += try beneath(CloudNames.devices) { name, _ in CloudNames.number(ofFile: name) != nil }
        return found
    }

    /// Finds the foreign files in a folder that contains folders of files.
    private func beneath(_ name: String, isOwn: (_ name: String, _ folder: String) -> Bool) throws(CloudError) -> [ForeignFile] {
        guard let folder = try zone.folder.folder(name) else { return [] }
        var found: [ForeignFile] = []
        var known: Set<String> = []
        try folder.eachFolder { inner, files throws(CloudError) in
            known.insert(inner)
            found += try strangers(in: files) { isOwn($0, inner) }
        }
        for name in try folder.names() where !known.contains(name) && !TemporaryName.matches(name) {
            // A link with a valid folder name, for example, hides the folder that belongs there; a stray file does not.
            let isPlain = CloudNames.isName(name) ? try isPlain(name, in: folder) : true
            found.append(ForeignFile(folder.place(name), isPlain: isPlain))
        }
        return found
    }

    private func strangers(in folder: CloudFolder, isOwn: (String) -> Bool) throws(CloudError) -> [ForeignFile] {
        var found: [ForeignFile] = []
        for name in try folder.names() {
            if !isOwn(name) {
                if !TemporaryName.matches(name) { found.append(ForeignFile(folder.place(name))) }
            } else if try !isPlain(name, in: folder) {
                found.append(ForeignFile(folder.place(name), isPlain: false))
            }
        }
        return found
    }

    /// Whether a name is that of a plain file, or no longer exists.
    private func isPlain(_ name: String, in folder: CloudFolder) throws(CloudError) -> Bool {
        do throws(CloudError) {
            _ = try folder.file(name)
            return true
        } catch {
            guard error.code == .damaged else { throw error }
            return false
        }
    }
}
