import CloudStore
import CommitLog
import Platform
import StrictText

// Listing and removing files of a zone's directory, for pruning.
extension ZoneFolder {
    /// The file system's present time, from a file that is created and abandoned again.
    func clock() throws -> Instant {
        let file = try files.newFile(in: try subfolder(CloudNames.commits), at: folder.place(CloudNames.commits))
        defer { file.abandon() }
        return try file.seal().modified
    }

    func storedFiles() throws -> [StoredFile] {
        var found: [StoredFile] = []
        for (name, kind) in [(CloudNames.commits, StoredFile.Kind.commit), (CloudNames.checkpoints, StoredFile.Kind.checkpoint)] {
            guard let directory = try folder.folder(name) else { continue }
            found += try list(directory) { CloudNames.number(ofFile: $0).map(kind) }
        }
        try folder.folder(CloudNames.assets)?.eachFolder { record, directory in
            found += try list(directory) { StoredFile.Kind(nameInAssets: $0, of: record) }
        }
        return try found + temporaries()
    }

    /// Lists the temporary files of killed runs in the other folders. Any folder may contain one, since a run tests the placing method in
    /// the first folder it uses.
    private func temporaries() throws -> [StoredFile] {
        var found = try list(folder) { _ in nil }
        // List the tickets as temporary files too: one that is a day old was left by a killed run.
        if let waiting = try folder.folder(CloudNames.waiting) {
            found += try list(waiting) { PublishTicket(fileName: $0).map { _ in .temporary } }
        }
        for name in [CloudNames.messages, CloudNames.devices] {
            try folder.folder(name)?.eachFolder { _, directory in found += try list(directory) { _ in nil } }
        }
        return found
    }

    func removeFile(_ path: String) throws {
        let parts = path.exact.split(separator: "/", omittingEmptySubsequences: false)
        // The path should come from our own listing. Whatever it is, remove nothing outside these directories.
        guard let name = parts.last, !name.isEmpty, name != ".." else { return }
        if parts.count == 1 {
            if TemporaryName.matches(name) { try folder.remove(name) }
            return
        }
        let isListed = [CloudNames.commits, CloudNames.checkpoints, CloudNames.assets].contains(parts[0])
        guard parts.count <= 3, parts.count == 2 || CloudNames.isName(parts[1]),
            isListed || (parts.count == 2 && parts[0] == CloudNames.waiting && (PublishTicket(fileName: name) != nil || TemporaryName.matches(name)))
                || ([CloudNames.messages, CloudNames.devices].contains(parts[0]) && TemporaryName.matches(name)),
            let directory = try folder.folder(parts.dropLast().joined(separator: "/"))
        else { return }
        try directory.remove(name)
    }

    func synchronizeRemovals(in directory: String) throws {
        try folder.folder(directory)?.synchronize()
    }

    private func list(_ directory: CloudFolder, _ kind: (String) -> StoredFile.Kind?) throws(CloudError) -> [StoredFile] {
        let prefix = folder.path.isEmpty ? 0 : folder.path.count + 1
        var found: [StoredFile] = []
        for name in try directory.names() {
            guard let kind = kind(name) ?? (TemporaryName.matches(name) ? .temporary : nil), let status = try status(of: name, in: directory) else { continue }
            found.append(StoredFile(kind: kind, path: String(directory.place(name).dropFirst(prefix)), byteCount: status.byteCount, modified: status.modified))
        }
        return found
    }

    /// Returns nil for a file that another prune has just removed, and for anything but a plain file, which is never removed.
    private func status(of name: String, in directory: CloudFolder) throws(CloudError) -> FileStatus? {
        do {
            return try directory.file(name)?.status
        } catch  where error.code == .damaged {
            return nil
        }
    }
}
