import CloudStore
import DirectoryCloud
import Foundation
import Platform
import StrictText

/// A file system in memory below a directory cloud, with a clock of its own: each root is one device's copy of a folder.
///
/// It does what Linux does with the calls of a cloud, and no more. Calls fail as a test asks: one of them, done or not, or all
/// from one on, as they do for a process that was killed there.
final class SimulatedDisk: FileSystemCalls, @unchecked Sendable {
    // SAFETY: the state is touched under the lock only.
    /// What goes wrong, counted in calls from when it is set.
    struct Fault: Sendable {
        /// Which call, from 0.
        let call: Int
        /// Whether that call does its work before it fails: the unknown outcome.
        let isDone: Bool
        /// Whether every later call fails, too.
        let isFatal: Bool
        let number: Int32
    }

    final class File: @unchecked Sendable {
        // SAFETY: read and written only under the disk's lock.
        var bytes: [UInt8] = []
        var modified: Instant
        init(_ bytes: [UInt8], modified: Instant) { (self.bytes, self.modified) = (bytes, modified) }
    }

    final class Folder: @unchecked Sendable {
        // SAFETY: as for a file.
        var entries: [String: Node] = [:]
        var modified: Instant
        init(modified: Instant) { self.modified = modified }
    }

    enum Node {
        case file(File)
        case folder(Folder)
    }

    struct State {
        var roots: [String: Folder] = [:]
        var open: [Int32: Node] = [:]
        var next: Int32 = 3
        var fault: Fault?
        var swap: (call: Int, root: String, other: Folder)?
        var count = 0
        var hasFailed = false
    }

    private let lock = NSLock()
    private var content = State()
    let clock: @Sendable () -> Instant

    /// - Parameter clock: the file system's own clock.
    init(clock: @escaping @Sendable () -> Instant) { self.clock = clock }

    /// Makes an empty directory that ``openRoot(_:)`` finds.
    func makeRoot(_ path: String) { withState { $0.roots[path] = Folder(modified: clock()) } }

    /// Sets what goes wrong from now on; nil ends it.
    func set(_ fault: Fault?) { withState { ($0.fault, $0.swap, $0.count, $0.hasFailed) = (fault, nil, 0, false) } }

    /// Lets another root's directory stand at `root` from call `call` on, as when something else is mounted there.
    func swap(_ root: String, for other: String, atCall call: Int) {
        withState { state in
            (state.fault, state.count, state.hasFailed) = (nil, 0, false)
            state.swap = state.roots[other].map { (call, root, $0) }
        }
    }

    /// Lets a root's directory stand at another path, too.
    func link(_ root: String, to other: String) { withState { $0.roots[other] = $0.roots[root] } }

    /// Whether the fault that was set has struck.
    var hasFailed: Bool { withState { $0.hasFailed } }

    /// How many descriptors are open: 0 between two operations, or one leaks.
    var openCount: Int { withState { $0.open.count } }

    func withState<T>(_ body: (inout State) -> T) -> T {
        lock.lock()
        defer { lock.unlock() }
        return body(&content)
    }

    /// One call, unless it is the one that fails. A process that is dead closes what it has, as the system does for it.
    private func perform<T>(_ name: String, _ body: (inout State) throws(SystemFault) -> T) throws(SystemFault) -> T {
        let outcome: Result<T, SystemFault> = withState { state in
            defer { state.count += 1 }
            if let swap = state.swap, state.count == swap.call {
                state.roots[swap.root] = swap.other
                (state.swap, state.hasFailed) = (nil, true)
            }
            func run() -> Result<T, SystemFault> {
                do throws(SystemFault) { return .success(try body(&state)) } catch { return .failure(error) }
            }
            guard let fault = state.fault, name == "close" ? false : state.count == fault.call || fault.isFatal && state.count > fault.call else {
                return run()
            }
            state.hasFailed = true
            if fault.isDone, state.count == fault.call {
                let before = state.next
                _ = run()
                // An open that is reported as failed has left no descriptor to anybody.
                if state.next > before { state.open[state.next] = nil }
            }
            return .failure(SystemFault(name, fault.number))
        }
        return try outcome.get()
    }

    private func opened(_ node: Node, _ state: inout State) -> Int32 {
        state.next += 1
        state.open[state.next] = node
        return state.next
    }

    private func folder(_ descriptor: Int32, _ state: State, _ call: String) throws(SystemFault) -> Folder {
        guard case .folder(let folder)? = state.open[descriptor] else { throw SystemFault(call, state.open[descriptor] == nil ? EBADF : ENOTDIR) }
        return folder
    }

    private func file(_ descriptor: Int32, _ state: State, _ call: String) throws(SystemFault) -> File {
        guard case .file(let file)? = state.open[descriptor] else { throw SystemFault(call, state.open[descriptor] == nil ? EBADF : EISDIR) }
        return file
    }
}

// The calls.
extension SimulatedDisk {
    func openRoot(_ path: String) throws(SystemFault) -> Int32 {
        try perform("open") { state throws(SystemFault) in
            guard let root = state.roots[path] else { throw SystemFault("open", ENOENT) }
            return opened(.folder(root), &state)
        }
    }

    func open(_ path: String, in directory: Int32, _ purpose: OpenPurpose) throws(SystemFault) -> Int32 {
        try perform("open") { state throws(SystemFault) in
            let parts = path.split(separator: "/").map(String.init)
            var above = try folder(directory, state, "open")
            for part in parts.dropLast() {
                guard let node = above.entries[part] else { throw SystemFault("open", ENOENT) }
                guard case .folder(let next) = node else { throw SystemFault("open", ENOTDIR) }
                above = next
            }
            let name = parts.last ?? "."
            switch purpose {
            case .createNameless: return opened(.file(File([], modified: clock())), &state)
            case .create:
                guard above.entries[name] == nil else { throw SystemFault("open", EEXIST) }
                let file = Node.file(File([], modified: clock()))
                above.entries[name] = file
                return opened(file, &state)
            case .read, .directory:
                guard let node = above.entries[name] else { throw SystemFault("open", ENOENT) }
                if case (.file, .directory) = (node, purpose) { throw SystemFault("open", ENOTDIR) }
                return opened(node, &state)
            }
        }
    }

    func reopenForReading(_ descriptor: Int32) throws(SystemFault) -> Int32 {
        try perform("open") { state throws(SystemFault) in opened(.file(try file(descriptor, state, "open")), &state) }
    }

    func status(_ descriptor: Int32) throws(SystemFault) -> FileStatus {
        try perform("fstat") { state throws(SystemFault) in
            switch state.open[descriptor] {
            case .file(let file)?: FileStatus(isRegular: true, byteCount: file.bytes.count, modified: file.modified)
            case .folder(let folder)?: FileStatus(isRegular: false, byteCount: 0, modified: folder.modified)
            case nil: throw SystemFault("fstat", EBADF)
            }
        }
    }

    func read(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(SystemFault) -> Int {
        try perform("pread") { state throws(SystemFault) in
            let bytes = try file(descriptor, state, "pread").bytes
            guard offset < bytes.count else { return 0 }
            let part = bytes[offset..<min(bytes.count, offset + buffer.count)]
            buffer.copyBytes(from: part)
            return part.count
        }
    }

    func write(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) throws(SystemFault) -> Int {
        try perform("write") { state throws(SystemFault) in
            let file = try file(descriptor, state, "write")
            file.bytes += bytes
            file.modified = clock()
            return bytes.count
        }
    }

    func synchronize(_ descriptor: Int32) throws(SystemFault) {
        try perform("fsync") { state throws(SystemFault) in
            guard state.open[descriptor] != nil else { throw SystemFault("fsync", EBADF) }
        }
    }

    func close(_ descriptor: Int32) throws(SystemFault) {
        try perform("close") { state throws(SystemFault) in
            guard state.open.removeValue(forKey: descriptor) != nil else { throw SystemFault("close", EBADF) }
        }
    }

    func link(_ descriptor: Int32, as name: String, in directory: Int32) throws(SystemFault) {
        try perform("link") { state throws(SystemFault) in
            try add(.file(try file(descriptor, state, "link")), as: name, to: try folder(directory, state, "link"), "link")
        }
    }

    func link(_ name: String, as newName: String, in directory: Int32) throws(SystemFault) {
        try perform("link") { state throws(SystemFault) in
            let folder = try folder(directory, state, "link")
            guard let node = folder.entries[name] else { throw SystemFault("link", ENOENT) }
            try add(node, as: newName, to: folder, "link")
        }
    }

    func renameWithoutReplacing(_ name: String, to newName: String, in directory: Int32) throws(SystemFault) {
        try perform("rename") { state throws(SystemFault) in
            let folder = try folder(directory, state, "rename")
            guard let node = folder.entries[name] else { throw SystemFault("rename", ENOENT) }
            try add(node, as: newName, to: folder, "rename")
            folder.entries[name] = nil
        }
    }

    private func add(_ node: Node, as name: String, to folder: Folder, _ call: String) throws(SystemFault) {
        guard folder.entries[name] == nil else { throw SystemFault(call, EEXIST) }
        folder.entries[name] = node
        folder.modified = clock()
    }

    func unlink(_ name: String, in directory: Int32) throws(SystemFault) {
        try perform("unlink") { state throws(SystemFault) in
            let folder = try folder(directory, state, "unlink")
            switch folder.entries[name] {
            case nil: throw SystemFault("unlink", ENOENT)
            case .folder?: throw SystemFault("unlink", EISDIR)
            case .file?: folder.entries[name] = nil
            }
        }
    }

    func makeDirectory(_ name: String, in directory: Int32) throws(SystemFault) {
        try perform("mkdir") { state throws(SystemFault) in
            try add(.folder(Folder(modified: clock())), as: name, to: try folder(directory, state, "mkdir"), "mkdir")
        }
    }

    func names(in directory: Int32) throws(SystemFault) -> [String] {
        try perform("readdir") { state throws(SystemFault) in try folder(directory, state, "readdir").entries.keys.sorted() }
    }
}
