import CloudStore
import DirectoryCloud
import Glibc
import Platform
import StrictText
import Synchronization

/// The real system calls, some of which fail as the test asks; also an account of what was opened, closed and synchronized.
final class FaultyFileSystem: FileSystemCalls {
    /// One call as the test sees it.
    struct Call: Sendable {
        /// From 0, over all calls of this file system.
        let index: Int
        let name: String
        /// The name or path that the call names, or, for an open file, the one that it was opened by.
        let target: String
    }

    enum Fault: Sendable {
        /// The call is not made and fails with this number.
        case refused(Int32)
        /// The call is made, but reported as failed: what NFS may do when an answer is lost.
        case doneButReported(Int32)
        /// A write that says nothing and writes something else.
        case garbled
    }

    private struct Account {
        var calls: [Call] = []
        /// The open descriptors and what they were opened by.
        var open: [Int32: String] = [:]
        var deadAfterSync: Set<Int32> = []
        var repeatedSyncs = 0
    }

    private let base = LinuxFileSystem()
    private let fault: @Sendable (Call) -> Fault?
    private let clockShift: Int64
    private let claimsToBeRemote: Bool
    private let account = Mutex(Account())

    /// - Parameters:
    ///   - clockShift: microseconds that the file system's clock is ahead.
    ///   - isRemote: whether it says that other machines change it.
    init(clockShift: Int64 = 0, isRemote: Bool = false, _ fault: @escaping @Sendable (Call) -> Fault? = { _ in nil }) {
        self.fault = fault
        self.clockShift = clockShift
        claimsToBeRemote = isRemote
    }

    func isRemote(_ directory: Int32) -> Bool { claimsToBeRemote }

    var calls: [Call] { account.withLock { $0.calls } }
    var openCount: Int { account.withLock { $0.open.count } }
    /// How often a descriptor whose fsync had failed was synchronized again.
    var repeatedSyncs: Int { account.withLock { $0.repeatedSyncs } }

    private func perform<T>(_ name: String, _ target: String = "", _ body: () throws(SystemFault) -> T) throws(SystemFault) -> T {
        let call = account.withLock { account in
            let call = Call(index: account.calls.count, name: name, target: target)
            account.calls.append(call)
            return call
        }
        switch fault(call) {
        case nil, .garbled: return try body()
        case .refused(let number): throw SystemFault(name, number)
        case .doneButReported(let number):
            _ = try body()
            throw SystemFault(name, number)
        }
    }

    private func opened(_ descriptor: Int32, _ path: String) -> Int32 {
        account.withLock { $0.open[descriptor] = path }
        return descriptor
    }

    private func path(_ descriptor: Int32) -> String { account.withLock { $0.open[descriptor] ?? "closed" } }

    func openRoot(_ path: String) throws(SystemFault) -> Int32 { opened(try perform("open", path) { () throws(SystemFault) in try base.openRoot(path) }, path) }

    func open(_ path: String, in directory: Int32, _ purpose: OpenPurpose) throws(SystemFault) -> Int32 {
        let name =
            switch purpose {
            case .read: "open"
            case .directory: "opendir"
            case .create: "create"
            case .createNameless: "createNameless"
            }
        return opened(try perform(name, path) { () throws(SystemFault) in try base.open(path, in: directory, purpose) }, path)
    }

    func reopenForReading(_ descriptor: Int32) throws(SystemFault) -> Int32 {
        let path = path(descriptor)
        return opened(try perform("reopen", path) { () throws(SystemFault) in try base.reopenForReading(descriptor) }, path)
    }

    func status(_ descriptor: Int32) throws(SystemFault) -> FileStatus {
        let status = try perform("fstat", path(descriptor)) { () throws(SystemFault) in try base.status(descriptor) }
        return FileStatus(
            isRegular: status.isRegular, byteCount: status.byteCount, modified: status.modified.advanced(byMicroseconds: clockShift))
    }

    func read(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(SystemFault) -> Int {
        try perform("read", path(descriptor)) { () throws(SystemFault) in try base.read(descriptor, into: buffer, at: offset) }
    }

    func write(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) throws(SystemFault) -> Int {
        // Short writes, always: a caller that does not go on writes half a file.
        let part = UnsafeRawBufferPointer(rebasing: bytes.prefix(max(1, bytes.count / 2)))
        let name = path(descriptor)
        return try perform("write", name) { () throws(SystemFault) in
            guard case .garbled = fault(Call(index: calls.count - 1, name: "write", target: name)) else { return try base.write(descriptor, part) }
            let other = part.map { $0 ^ 1 }
            return try other.span.withUnsafeBytes { bytes throws(SystemFault) in try base.write(descriptor, bytes) }
        }
    }

    func copy(_ source: Int32, from offset: Int, byteCount: Int, to descriptor: Int32) throws(SystemFault) -> Int {
        let name = path(descriptor)
        return try perform("copy", name) { () throws(SystemFault) in
            if case .garbled = fault(Call(index: calls.count - 1, name: "copy", target: name)) {
                return try base.copy(source, from: 0, byteCount: byteCount, to: descriptor)
            }
            // Short, as writes are.
            return try base.copy(source, from: offset, byteCount: max(1, byteCount / 2), to: descriptor)
        }
    }

    func beginSynchronizing(_ descriptor: Int32, from offset: Int, byteCount: Int) {
        let name = path(descriptor)
        account.withLock { $0.calls.append(Call(index: $0.calls.count, name: "begin \(offset) \(byteCount)", target: name)) }
        base.beginSynchronizing(descriptor, from: offset, byteCount: byteCount)
    }

    func synchronize(_ descriptor: Int32) throws(SystemFault) {
        account.withLock { if $0.deadAfterSync.contains(descriptor) { $0.repeatedSyncs += 1 } }
        do throws(SystemFault) {
            try perform("fsync", path(descriptor)) { () throws(SystemFault) in try base.synchronize(descriptor) }
        } catch {
            account.withLock { _ = $0.deadAfterSync.insert(descriptor) }
            throw error
        }
    }

    func close(_ descriptor: Int32) throws(SystemFault) {
        // A close that fails has closed all the same. The account first: the number may be given out again at once.
        let call = account.withLock { account in
            let call = Call(index: account.calls.count, name: "close", target: account.open.removeValue(forKey: descriptor) ?? "")
            account.calls.append(call)
            account.deadAfterSync.remove(descriptor)
            return call
        }
        try base.close(descriptor)
        switch fault(call) {
        case nil, .garbled: return
        case .refused(let number), .doneButReported(let number): throw SystemFault("close", number)
        }
    }

    func link(_ descriptor: Int32, as name: String, in directory: Int32) throws(SystemFault) {
        try perform("link", name) { () throws(SystemFault) in try base.link(descriptor, as: name, in: directory) }
    }

    func link(_ name: String, as newName: String, in directory: Int32) throws(SystemFault) {
        try perform("link", newName) { () throws(SystemFault) in try base.link(name, as: newName, in: directory) }
    }

    func renameWithoutReplacing(_ name: String, to newName: String, in directory: Int32) throws(SystemFault) {
        try perform("rename", newName) { () throws(SystemFault) in try base.renameWithoutReplacing(name, to: newName, in: directory) }
    }

    func unlink(_ name: String, in directory: Int32) throws(SystemFault) {
        try perform("unlink", name) { () throws(SystemFault) in try base.unlink(name, in: directory) }
    }

    func makeDirectory(_ name: String, in directory: Int32) throws(SystemFault) {
        try perform("mkdir", name) { () throws(SystemFault) in try base.makeDirectory(name, in: directory) }
    }

    func removeDirectory(_ name: String, in directory: Int32) throws(SystemFault) {
        try perform("rmdir", name) { () throws(SystemFault) in try base.removeDirectory(name, in: directory) }
    }

    func names(in directory: Int32) throws(SystemFault) -> [String] {
        try perform("readdir", path(directory)) { () throws(SystemFault) in try base.names(in: directory) }
    }
}
