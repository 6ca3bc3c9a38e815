// What a tool that replicates folders, or a user, does behind every program's back.
extension SimulatedDisk {
    /// All files beneath a root: path and bytes.
    func files(in root: String) -> [String: [UInt8]] {
        withState { state in
            var found: [String: [UInt8]] = [:]
            func walk(_ folder: Folder, _ prefix: String) {
                for (name, node) in folder.entries {
                    switch node {
                    case .file(let file): found[prefix + name] = file.bytes
                    case .folder(let inner): walk(inner, prefix + name + "/")
                    }
                }
            }
            if let folder = state.roots[root] { walk(folder, "") }
            return found
        }
    }

    /// Puts a file there, whatever was there before; nil removes it. Folders are made.
    func put(_ bytes: [UInt8]?, at path: String, in root: String) {
        withState { state in
            let parts = path.split(separator: "/").map(String.init)
            guard var folder = state.roots[root], let name = parts.last else { return }
            for part in parts.dropLast() {
                if case .folder(let inner)? = folder.entries[part] {
                    folder = inner
                } else {
                    let inner = Folder(modified: clock())
                    folder.entries[part] = .folder(inner)
                    folder = inner
                }
            }
            folder.entries[name] = bytes.map { .file(File($0, modified: clock())) }
        }
    }

    /// The bytes of a file; nil if it is not there.
    func bytes(at path: String, in root: String) -> [UInt8]? {
        withState { state in
            var node = state.roots[root].map { Node.folder($0) }
            for part in path.split(separator: "/") {
                guard case .folder(let folder)? = node else { return nil }
                node = folder.entries[String(part)]
            }
            guard case .file(let file)? = node else { return nil }
            return file.bytes
        }
    }

    /// Lets one root have, from now on, what another has at this moment.
    func copy(_ root: String, to other: String) {
        makeRoot(other)
        for (path, bytes) in files(in: root) { put(bytes, at: path, in: other) }
    }
}
