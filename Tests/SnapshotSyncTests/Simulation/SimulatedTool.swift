import SnapshotModel

/// A tool that gives each device a copy of a folder, as Syncthing and Dropbox do: it carries files one by one, in any order, early
/// or late, puts half of them under names of its own, loses and brings some again, and leaves conflict copies.
///
/// A file that a device makes or removes is made or removed everywhere in the end. Names are never reused by the format, so a
/// name that was removed stays removed.
struct SimulatedTool {
    private let disk: SimulatedDisk
    private let roots: [String]
    /// What the tool knows of: each path with its bytes; nil for what was removed.
    private var catalog: [String: [UInt8]?] = [:]
    /// What the tool itself has brought to a root, so that it can tell what a device did.
    private var brought: [String: Set<String>] = [:]
    private var conflictCount = 0
    /// Paths that were gone for a while: who made them may have removed them meanwhile, and does not know that they are back.
    private(set) var wereGone: Set<String> = []

    init(disk: SimulatedDisk, roots: [String]) {
        (self.disk, self.roots) = (disk, roots)
    }

    /// Looks what the devices have made and removed.
    mutating func scan() {
        for root in roots {
            let files = disk.files(in: root)
            for (path, bytes) in files where Self.isOfDevices(path) {
                brought[root, default: []].insert(path)
                if catalog[path] == nil { catalog[path] = .some(bytes) }
            }
            for path in brought[root, default: []] where files[path] == nil {
                brought[root]?.remove(path)
                catalog[path] = .some(nil)
            }
        }
    }

    /// What is still to be done: a path and the root that lacks it, or has it although it was removed.
    private func pending() -> [(path: String, root: String)] {
        var found: [(String, String)] = []
        for root in roots {
            let here = brought[root, default: []]
            for (path, bytes) in catalog where here.contains(path) != (bytes != nil) { found.append((path, root)) }
        }
        return found.sorted { $0.0 == $1.0 ? $0.1 < $1.1 : $0.0 < $1.0 }
    }

    /// Carries up to `count` files, in any order. Returns how many.
    @discardableResult
    mutating func carry(_ count: Int, _ random: inout SeededGenerator) -> Int {
        scan()
        var waiting = pending(), done = 0
        while done < count, !waiting.isEmpty {
            let one = waiting.remove(at: random.below(waiting.count))
            bring(one.path, to: one.root)
            done += 1
        }
        return done
    }

    /// Carries everything, and brings again what was lost.
    mutating func settle() {
        scan()
        for one in pending() { bring(one.path, to: one.root) }
    }

    private mutating func bring(_ path: String, to root: String) {
        guard let entry = catalog[path] else { return }
        disk.put(entry, at: path, in: root)
        if entry == nil { brought[root]?.remove(path) } else { brought[root, default: []].insert(path) }
    }

    /// Does one thing at a root that it should not: a file is gone for a while, brought again, or lies there twice.
    mutating func misbehave(at root: String, _ random: inout SeededGenerator) -> String {
        scan()
        let paths = brought[root, default: []].filter { !$0.hasSuffix("cloud.json") && !$0.hasSuffix("zone.json") }.sorted()
        guard !paths.isEmpty else { return "nothing" }
        let path = paths[random.below(paths.count)]
        let bytes = disk.bytes(at: path, in: root) ?? []
        let (stem, tail) = path.hasSuffix(".json.gz") ? (path.dropLast(8), ".json.gz") : (path.dropLast(5), ".json")
        conflictCount += 1
        switch random.below(5) {
        case 0, 1:
            // Not a removal by the device: the tool will bring it again.
            disk.put(nil, at: path, in: root)
            brought[root]?.remove(path)
            wereGone.insert(path)
            return "\(path) is gone for a while"
        case 2:
            disk.put(bytes, at: path, in: root)
            return "\(path) is brought again"
        case 3:
            disk.put(
                Array(bytes.prefix(random.below(bytes.count + 1))), at: "\(stem).sync-conflict-20260301-0800\(10 + conflictCount % 50)-7KQ2M4A\(tail)", in: root
            )
            return "conflict copy of \(path)"
        default:
            let folder = path.split(separator: "/").dropLast().joined(separator: "/")
            disk.put(
                Array(bytes.prefix(bytes.count / 2)),
                at: random.happens(percent: 50) ? "\(stem) (Conflicted Copy \(conflictCount))\(tail)" : "\(folder)/.syncthing.\(conflictCount).tmp", in: root)
            return "half of \(path) under another name"
        }
    }

    /// Whether the tool carries a path: its own files and temporaries of a running program stay where they are.
    private static func isOfDevices(_ path: String) -> Bool { !path.contains("conflict") && !path.contains("Conflicted") && !path.contains("/.") }
}
