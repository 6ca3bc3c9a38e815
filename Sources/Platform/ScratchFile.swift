import Foundation
import Synchronization

/// A file without a name, for data that do not fit into memory. The system frees its space when the file is closed, however the process ends.
package final class ScratchFile: Sendable {
    private let descriptor: Int32
    private let isClosed = Atomic(false)

    /// Makes an empty file in a folder, which only this process can read.
    ///
    /// - Throws: ``SystemFault``; `isUnsupported` if the system or the file system has no files without a name.
    package init(inFolder folder: String) throws(SystemFault) {
        guard let flags = System.openNameless else { throw .missing("open") }
        descriptor = try System.retrying("open") { open(folder, flags | O_CLOEXEC, 0o600) }
    }

    /// Opens a device instead, which has its own idea of what is written to it.
    package init(device: String) throws(SystemFault) { descriptor = try System.retrying("open") { open(device, O_RDWR | O_CLOEXEC) } }

    deinit { end() }

    /// Closes the file, which frees its space. It must not be used any more.
    package func end() { if !isClosed.exchange(true, ordering: .acquiringAndReleasing) { close(descriptor) } }

    /// How many bytes a file in this folder may have: the space that is left for this user, and the limit of the process (`ulimit -f`).
    package static func room(inFolder folder: String) throws(SystemFault) -> UInt64 {
        var space = statvfs()
        _ = try System.retrying("statvfs") { statvfs(folder, &space) }
        var limit = rlimit()
        _ = try System.retrying("getrlimit") { System.fileSizeLimit(&limit) }
        let (free, isHuge) = UInt64(space.f_bavail).multipliedReportingOverflow(by: UInt64(space.f_frsize))
        return min(isHuge ? .max : free, UInt64(limit.rlim_cur))
    }

    /// Writes these pieces one after the other, from an offset on.
    package func write(_ pieces: [UnsafeRawBufferPointer], at offset: Int) throws(SystemFault) {
        var offset = offset
        // POSIX guarantees 16 pieces for a call; Linux and Darwin take 1,024.
        var position = 0
        while position < pieces.count {
            var vectors = pieces[position..<min(position + 1024, pieces.count)].map {
                iovec(iov_base: UnsafeMutableRawPointer(mutating: $0.baseAddress), iov_len: $0.count)
            }
            position += vectors.count
            var first = 0
            while first < vectors.count {
                let written = try System.retrying("pwritev") {
                    vectors.withUnsafeBufferPointer { pwritev(descriptor, $0.baseAddress! + first, Int32($0.count - first), off_t(offset)) }
                }
                offset += written
                // The system may write a part, then the rest is the next call's.
                var rest = written
                while first < vectors.count, rest >= vectors[first].iov_len {
                    rest -= vectors[first].iov_len
                    first += 1
                }
                if rest > 0 {
                    vectors[first].iov_base += rest
                    vectors[first].iov_len -= rest
                }
            }
        }
    }

    /// Fills a buffer with the bytes from an offset on.
    ///
    /// - Throws: ``SystemFault``; `isInputOutput` if the file ends before.
    package func read(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(SystemFault) {
        var done = 0
        while done < buffer.count {
            let count = try System.retrying("pread") { pread(descriptor, buffer.baseAddress! + done, buffer.count - done, off_t(offset + done)) }
            guard count > 0 else { throw SystemFault("pread", EIO) }
            done += count
        }
    }
}
