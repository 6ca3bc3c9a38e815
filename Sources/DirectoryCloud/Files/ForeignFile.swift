package import CloudStore
import CommitLog
import Platform

/// Something in a cloud's directory that this format does not name: readers ignore it, and nobody removes it.
package struct ForeignFile: Sendable, Hashable {
    /// What it seems to be.
    package enum Kind: Sendable, Hashable {
        /// A tool that replicates folders has put it aside.
        case conflictCopy
        /// It has a name of the format and is no plain file, or no directory where one belongs.
        case notPlain
        /// A look of `doctor` that was killed has left it.
        case probe
        /// A damaged file that `repair` has put a whole one in the place of.
        case setAside
        case other
    }

    /// Beneath the cloud's directory.
    package let path: String
    package let kind: Kind

    init(_ path: String, isPlain: Bool = true) {
        self.path = path
        let name = path.split(separator: "/").last.map(String.init) ?? path
        if !isPlain {
            kind = .notPlain
        } else if name.hasPrefix(DirectoryProbe.prefix) {
            kind = .probe
        } else if DamagedName.original(of: name) != nil {
            kind = .setAside
        } else {
            // Syncthing: `.sync-conflict-…`; Dropbox: ` (… conflicted copy …)`; Nextcloud: `(conflicted copy …)`; OneDrive, Seafile: `conflict`.
            kind = name.lowercased().contains("conflict") ? .conflictCopy : .other
        }
    }
}

extension DirectoryCloud {
    /// What lies in the cloud's own directory and in a zone's and is none of theirs, in the order of paths.
    ///
    /// Hidden files beside `cloud.json` are left out: tools that replicate folders keep their own there.
    package func foreignFiles(in zone: ZoneID) async throws -> [ForeignFile] {
        let outside = try await offThread { root in
            let own: Set<String> = [CloudMarker.fileName, CloudScope.private.rawValue, CloudScope.public.rawValue, "lost+found"]
            return try root.names().filter { !own.contains($0) && !$0.hasPrefix(".") }.map { ForeignFile($0) }
        }
        let inside = try await inZone(zone) { try ForeignFiles(zone: $0).find() }
        return (outside + inside).sorted { $0.path < $1.path }
    }
}

/// Walks through a zone's directory and finds what it does not name.
private struct ForeignFiles {
    let zone: ZoneFolder

    func find() throws -> [ForeignFile] {
        let folders = [CloudNames.commits, CloudNames.checkpoints, CloudNames.assets, CloudNames.messages, CloudNames.devices, CloudNames.waiting]
        var found = try zone.folder.names().filter { $0 != ZoneMarker.fileName && !folders.contains($0) && !TemporaryName.matches($0) }.map {
            ForeignFile(zone.folder.place($0))
        }
        for name in folders.prefix(2) {
            if let folder = try zone.folder.folder(name) { found += try strangers(in: folder) { CloudNames.number(ofFile: $0) != nil } }
        }
        if let folder = try zone.folder.folder(CloudNames.waiting) { found += try strangers(in: folder) { PublishTicket(fileName: $0) != nil } }
        found += try beneath(CloudNames.assets) { name, record in StoredFile.Kind(nameInAssets: name, of: record) != nil }
        found += try beneath(CloudNames.messages) { name, _ in name.hasSuffix(".json") && CloudNames.isMessageID(String(name.dropLast(5))) }
        found += try beneath(CloudNames.devices) { name, _ in CloudNames.number(ofFile: name) != nil }
        return found
    }

    /// What is strange in a folder that holds folders of files.
    private func beneath(_ name: String, isOwn: (_ name: String, _ folder: String) -> Bool) throws -> [ForeignFile] {
        guard let folder = try zone.folder.folder(name) else { return [] }
        var found: [ForeignFile] = []
        var known: Set<String> = []
        try folder.eachFolder { inner, files in
            known.insert(inner)
            found += try strangers(in: files) { isOwn($0, inner) }
        }
        for name in try folder.names() where !known.contains(name) && !TemporaryName.matches(name) {
            // What has a folder's name and is a link, say, hides what should be there; a stray file does not.
            found.append(ForeignFile(folder.place(name), isPlain: try !CloudNames.isName(name) || isPlain(name, in: folder)))
        }
        return found
    }

    private func strangers(in folder: CloudFolder, isOwn: (String) -> Bool) throws -> [ForeignFile] {
        try folder.names().compactMap { name in
            guard isOwn(name) else { return TemporaryName.matches(name) ? nil : ForeignFile(folder.place(name)) }
            return try isPlain(name, in: folder) ? nil : ForeignFile(folder.place(name), isPlain: false)
        }
    }

    /// Whether a name is a plain file's, or nothing's any more.
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
