import CloudStore
import DirectoryCloud
import Glibc
import Platform
import StrictText
import Synchronization

/// A file system in memory that writes down what would have to reach the disk, so that a power cut can take of it what was
/// not made durable.
///
///     let disk = SimulatedFileSystem()
///     let cloud = try DirectoryCloud.create(at: "/cloud", container: …, calls: disk, nonces: …)
///     let log = disk.operations                     // what a power cut can cut short
///
/// Programs see every change at once, as through the kernel's cache; what a cut leaves is ``PowerCut``'s to say.
final class SimulatedFileSystem: FileSystemCalls {
    /// How files get their names here.
    enum Kind: String, CaseIterable, Sendable {
        /// Everything that ext4 can do.
        case full
        /// No nameless files: NFS.
        case withoutNameless
        /// No hard links either: FAT.
        case withoutLinks
    }

    /// What is wrong with it on purpose.
    enum Negligence: Sendable {
        /// fsync of a directory does nothing.
        case ignoresDirectories
        /// fsync of a file does nothing.
        case ignoresFiles
        /// fsync does nothing to directories of that name.
        case ignoresDirectory(String)
    }

    private struct State {
        var image: DiskImage
        var operations: [DiskOperation] = []
        var open: [Int32: Int] = [:]
        var lastDescriptor: Int32 = 2
        var lastNode: Int
        var pathNames: [Int: String] = [:]
    }

    private let kind: Kind
    private let negligence: Negligence?
    private let state: Mutex<State>

    /// The one time that there is: every file was made just then.
    static let now = Instant(microseconds: 1_772_000_000_000_000)
    /// The most bytes that one write takes.
    static let writeLimit = 700

    init(_ image: DiskImage = DiskImage(), kind: Kind = .full, negligence: Negligence? = nil) {
        self.kind = kind
        self.negligence = negligence
        state = Mutex(State(image: image, lastNode: image.nodes.keys.max() ?? 0))
    }

    /// What was done so far.
    var operations: [DiskOperation] { state.withLock { $0.operations } }
    /// What programs see.
    var image: DiskImage { state.withLock { $0.image } }
    /// How many descriptors are open.
    var openCount: Int { state.withLock { $0.open.count } }

    func openRoot(_ path: String) throws(SystemFault) -> Int32 {
        try open(path, in: nil, .directory)
    }

    func open(_ path: String, in directory: Int32, _ purpose: OpenPurpose) throws(SystemFault) -> Int32 {
        try open(path, in: Optional(directory), purpose)
    }

    private func open(_ path: String, in directory: Int32?, _ purpose: OpenPurpose) throws(SystemFault) -> Int32 {
        try act("open") { state throws(SystemFault) in
            let start = if let directory { try Self.node(directory, in: state) } else { 0 }
            let node: Int
            switch purpose {
            case .read, .directory:
                guard let found = state.image.number(of: path, from: start) else { throw SystemFault("open", ENOENT) }
                if case .directory = purpose, !state.image.isDirectory(found) { throw SystemFault("open", ENOTDIR) }
                node = found
                state.pathNames[node] = path.split(separator: "/").last.map(String.init) ?? ""
            case .createNameless:
                guard kind == .full else { throw SystemFault("open", EOPNOTSUPP) }
                node = Self.newNode(&state)
                state.image.make(node, isDirectory: false)
            case .create:
                guard state.image.number(of: path, from: start) == nil else { throw SystemFault("open", EEXIST) }
                node = Self.newNode(&state)
                Self.perform(.add(directory: start, name: path, node: node, isDirectory: false), &state)
            }
            state.lastDescriptor += 1
            state.open[state.lastDescriptor] = node
            return state.lastDescriptor
        }
    }

    func reopenForReading(_ descriptor: Int32) throws(SystemFault) -> Int32 {
        try act("open") { state throws(SystemFault) in
            let node = try Self.node(descriptor, in: state)
            state.lastDescriptor += 1
            state.open[state.lastDescriptor] = node
            return state.lastDescriptor
        }
    }

    func status(_ descriptor: Int32) throws(SystemFault) -> FileStatus {
        try act("fstat") { state throws(SystemFault) in
            switch state.image.nodes[try Self.node(descriptor, in: state)] {
            case .file(let bytes)?: FileStatus(isRegular: true, byteCount: bytes.count, modified: Self.now)
            default: FileStatus(isRegular: false, byteCount: 0, modified: Self.now)
            }
        }
    }

    func read(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(SystemFault) -> Int {
        let bytes = try act("read") { state throws(SystemFault) in
            guard case .file(let bytes)? = state.image.nodes[try Self.node(descriptor, in: state)] else { throw SystemFault("read", EISDIR) }
            return bytes
        }
        let part = bytes.dropFirst(offset).prefix(buffer.count)
        buffer.copyBytes(from: part)
        return part.count
    }

    func write(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) throws(SystemFault) -> Int {
        // Short writes, so that all but the smallest files are more than one operation.
        let part = Array(bytes.prefix(Self.writeLimit))
        return try act("write") { state throws(SystemFault) in
            let node = try Self.node(descriptor, in: state)
            guard case .file(let before)? = state.image.nodes[node] else { throw SystemFault("write", EISDIR) }
            Self.perform(.write(file: node, offset: before.count, bytes: part), &state)
            return part.count
        }
    }

    func synchronize(_ descriptor: Int32) throws(SystemFault) {
        try act("fsync") { state throws(SystemFault) in
            let node = try Self.node(descriptor, in: state)
            let isDirectory = state.image.isDirectory(node)
            switch negligence {
            case .ignoresDirectories? where isDirectory: return
            case .ignoresFiles? where !isDirectory: return
            case .ignoresDirectory(let name)? where isDirectory && state.pathNames[node] == name: return
            default: Self.perform(isDirectory ? .synchronizeDirectory(node) : .synchronizeFile(node), &state)
            }
        }
    }

    func close(_ descriptor: Int32) throws(SystemFault) {
        try act("close") { state throws(SystemFault) in
            guard state.open.removeValue(forKey: descriptor) != nil else { throw SystemFault("close", EBADF) }
        }
    }

    func link(_ descriptor: Int32, as name: String, in directory: Int32) throws(SystemFault) {
        try act("link") { state throws(SystemFault) in
            guard kind != .withoutLinks else { throw SystemFault("link", EPERM) }
            try Self.add(try Self.node(descriptor, in: state), as: name, in: directory, &state)
        }
    }

    func link(_ name: String, as newName: String, in directory: Int32) throws(SystemFault) {
        try act("link") { state throws(SystemFault) in
            guard kind != .withoutLinks else { throw SystemFault("link", EPERM) }
            guard let node = state.image.number(of: name, from: try Self.node(directory, in: state)) else { throw SystemFault("link", ENOENT) }
            try Self.add(node, as: newName, in: directory, &state)
        }
    }

    func renameWithoutReplacing(_ name: String, to newName: String, in directory: Int32) throws(SystemFault) {
        try act("rename") { state throws(SystemFault) in
            guard kind != .withoutNameless else { throw SystemFault("rename", EINVAL) }
            let above = try Self.node(directory, in: state)
            guard state.image.number(of: name, from: above) != nil else { throw SystemFault("rename", ENOENT) }
            guard state.image.number(of: newName, from: above) == nil else { throw SystemFault("rename", EEXIST) }
            Self.perform(.rename(directory: above, from: name, to: newName), &state)
        }
    }

    func unlink(_ name: String, in directory: Int32) throws(SystemFault) {
        try act("unlink") { state throws(SystemFault) in
            let above = try Self.node(directory, in: state)
            guard state.image.number(of: name, from: above) != nil else { throw SystemFault("unlink", ENOENT) }
            Self.perform(.remove(directory: above, name: name), &state)
        }
    }

    func makeDirectory(_ name: String, in directory: Int32) throws(SystemFault) {
        try act("mkdir") { state throws(SystemFault) in
            let above = try Self.node(directory, in: state)
            guard state.image.number(of: name, from: above) == nil else { throw SystemFault("mkdir", EEXIST) }
            Self.perform(.add(directory: above, name: name, node: Self.newNode(&state), isDirectory: true), &state)
        }
    }

    func names(in directory: Int32) throws(SystemFault) -> [String] {
        try act("readdir") { state throws(SystemFault) in
            guard case .directory(let entries)? = state.image.nodes[try Self.node(directory, in: state)] else { throw SystemFault("readdir", ENOTDIR) }
            return Array(entries.keys)
        }
    }

    private func act<T: Sendable>(_ call: String, _ body: (inout State) throws(SystemFault) -> T) throws(SystemFault) -> T {
        let result = state.withLock { (state: inout State) -> Result<T, SystemFault> in
            do throws(SystemFault) { return .success(try body(&state)) } catch { return .failure(error) }
        }
        return try result.get()
    }

    private static func perform(_ operation: DiskOperation, _ state: inout State) {
        operation.apply(to: &state.image)
        state.operations.append(operation)
    }

    private static func node(_ descriptor: Int32, in state: State) throws(SystemFault) -> Int {
        guard let node = state.open[descriptor] else { throw SystemFault("descriptor", EBADF) }
        return node
    }

    private static func newNode(_ state: inout State) -> Int {
        state.lastNode += 1
        return state.lastNode
    }

    private static func add(_ node: Int, as name: String, in directory: Int32, _ state: inout State) throws(SystemFault) {
        let above = try Self.node(directory, in: state)
        guard state.image.number(of: name, from: above) == nil else { throw SystemFault("link", EEXIST) }
        perform(.add(directory: above, name: name, node: node, isDirectory: false), &state)
    }
}
