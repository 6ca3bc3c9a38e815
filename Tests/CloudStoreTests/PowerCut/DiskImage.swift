/// What lies on a simulated disk: plain files and directories, as a mount would find them.
///
/// A value: states after different power cuts are images that share what they have in common.
struct DiskImage {
    enum Node: Hashable {
        case file([UInt8])
        /// The numbers of the nodes by name.
        case directory([String: Int])
    }

    /// By number; 0 is the directory above all.
    private(set) var nodes: [Int: Node] = [0: .directory([:])]

    /// The bytes of the file at a path beneath the root; nil if none is there.
    func bytes(_ path: String) -> [UInt8]? {
        guard let number = number(of: path), case .file(let bytes)? = nodes[number] else { return nil }
        return bytes
    }

    /// The names in the directory at a path, ascending; nil if there is none.
    func names(_ path: String) -> [String]? {
        guard let number = number(of: path), case .directory(let entries)? = nodes[number] else { return nil }
        return entries.keys.sorted()
    }

    /// The number of the node at a path; nil if nothing is there.
    func number(of path: String, from start: Int = 0) -> Int? {
        var number = start
        for part in path.split(separator: "/") where part != "." {
            guard case .directory(let entries)? = nodes[number], let next = entries[String(part)] else { return nil }
            number = next
        }
        return number
    }

    func isDirectory(_ number: Int) -> Bool { if case .directory? = nodes[number] { true } else { false } }

    /// Makes an empty node if the number is new.
    mutating func make(_ number: Int, isDirectory: Bool) {
        if nodes[number] == nil { nodes[number] = isDirectory ? .directory([:]) : .file([]) }
    }

    mutating func change(file number: Int, _ body: (inout [UInt8]) -> Void) {
        guard case .file(var bytes)? = nodes[number] else { return }
        body(&bytes)
        nodes[number] = .file(bytes)
    }

    mutating func change(directory number: Int, _ body: (inout [String: Int]) -> Void) {
        guard case .directory(var entries)? = nodes[number] else { return }
        body(&entries)
        nodes[number] = .directory(entries)
    }

    /// Changes the bytes of the file at a path, as rot does.
    mutating func damage(_ path: String, _ body: (inout [UInt8]) -> Void) {
        if let number = number(of: path) { change(file: number, body) }
    }

    /// A number for everything that can be reached from the root: equal trees have equal ones, in one run of the tests.
    var fingerprint: Int {
        var hasher = Hasher()
        func add(_ number: Int) {
            switch nodes[number] {
            case .file(let bytes)?: hasher.combine(bytes)
            case .directory(let entries)?:
                for (name, inner) in entries.sorted(by: { $0.key < $1.key }) {
                    hasher.combine(name)
                    add(inner)
                }
                hasher.combine(-1)
            case nil: hasher.combine(-2)
            }
        }
        add(0)
        return hasher.finalize()
    }

    /// The paths of all plain files.
    var files: [String] {
        func beneath(_ number: Int, _ path: String) -> [String] {
            switch nodes[number] {
            case .directory(let entries)?: entries.sorted { $0.key < $1.key }.flatMap { beneath($0.value, path + "/" + $0.key) }
            case .file?: [path]
            case nil: []
            }
        }
        return beneath(0, "")
    }
}
