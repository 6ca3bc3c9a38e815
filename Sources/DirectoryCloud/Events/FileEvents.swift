#if os(Linux)
    import Dispatch
    import Foundation
#endif
package import Platform

/// Passes the events of some directories, from inotify, to a closure.
///
///     let events = try FileEvents { changes in signal.raise() }
///     let number = try events.watch("/mnt/share/cloud", for: .names)
///
/// An event is only a wake-up: it may come twice, late, or not at all, so the receiver must read the directory. Watching a directory again
/// changes nothing and returns the same number. Source: inotify(7).
package final class FileEvents: Sendable {
    /// The events that are reported for a directory.
    package enum Interest: Sendable {
        /// Names that are added to it or removed from it.
        case names
        /// Names that are added to it, and files in it that were written and closed.
        case files
        /// Every write to a file in it.
        case writes
    }

    package struct Change: Sendable, Hashable {
        /// The watch that reported it; nil if the system lost events, so that anything may have happened.
        package let watch: Int32?
        /// The name in the watched directory; nil if the event concerns the directory itself, which may be gone.
        package let name: String?
        /// Whether the name is gone from the directory.
        package let isRemoval: Bool
    }

    /// Explains why the system refused, as a text, and what would help.
    package static func explain(_ fault: SystemFault) -> String {
        if fault.isOutOfSpace { return "the system's limit of watched directories is reached (raise fs.inotify.max_user_watches)" }
        if fault.isTooManyOpen { return "the system's limit of watchers is reached (raise fs.inotify.max_user_instances)" }
        return "the file system's events cannot be had (\(fault.words))"
    }

    #if os(Linux)
        private let descriptor: Int32
        // SAFETY: a dispatch source may be used from any thread; the overlay does not say so.
        private nonisolated(unsafe) let source: any DispatchSourceRead

        /// Starts to listen. `handler` is called on a queue of its own.
        ///
        /// - Throws: ``SystemFault`` if the user has too many listeners or open files.
        package init(_ handler: @escaping @Sendable ([Change]) -> Void) throws(SystemFault) {
            let descriptor = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
            guard descriptor >= 0 else { throw SystemFault("inotify_init1", errno) }
            self.descriptor = descriptor
            source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: DispatchQueue(label: "snapsync.events"))
            source.setEventHandler {
                let changes = Self.changes(waitingIn: descriptor)
                if !changes.isEmpty { handler(changes) }
            }
            // Close the descriptor only after the last handler has ended. Otherwise its number could be reused by then.
            source.setCancelHandler { close(descriptor) }
            source.activate()
        }

        deinit { source.cancel() }

        /// Watches a directory.
        ///
        /// - Parameter followsLink: whether the last part of the path may be a symbolic link.
        /// - Returns: the watch's number, the same one for the same directory under any path.
        /// - Throws: ``SystemFault``: no such directory, no permission, or `ENOSPC` if the user has too many watches.
        package func watch(_ path: String, for interest: Interest, followsLink: Bool = true) throws(SystemFault) -> Int32 {
            var mask = IN_ONLYDIR | IN_CREATE | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF
            switch interest {
            case .names: mask |= IN_MOVED_FROM | IN_DELETE
            case .files: mask |= IN_CLOSE_WRITE
            case .writes: mask |= IN_MODIFY | IN_DELETE
            }
            if !followsLink { mask |= IN_DONT_FOLLOW }
            let number = inotify_add_watch(descriptor, path, UInt32(mask))
            guard number >= 0 else { throw SystemFault("inotify_add_watch", errno) }
            return number
        }

        /// Ends a watch. Harmless if the directory is gone, and the watch with it.
        package func end(_ watch: Int32) { _ = inotify_rm_watch(descriptor, watch) }

        /// Reads all waiting events.
        private static func changes(waitingIn descriptor: Int32) -> [Change] {
            var changes: [Change] = []
            withUnsafeTemporaryAllocation(byteCount: 16 << 10, alignment: 8) { buffer in
                while true {
                    let count = read(descriptor, buffer.baseAddress, buffer.count)
                    if count < 0, errno == EINTR { continue }
                    guard count > 0 else { return }
                    // SAFETY: the kernel has filled the first `count` bytes.
                    append(UnsafeRawBufferPointer(rebasing: buffer[..<count]), to: &changes)
                }
            }
            return changes
        }

        // struct inotify_event: watch, mask, cookie, length, each of 4 bytes, then the name, padded with zero bytes.
        private static func append(_ bytes: UnsafeRawBufferPointer, to changes: inout [Change]) {
            var rest = bytes
            while rest.count >= 16 {
                let watch = rest.loadUnaligned(as: Int32.self), mask = Int32(bitPattern: rest.loadUnaligned(fromByteOffset: 4, as: UInt32.self))
                let length = Int(rest.loadUnaligned(fromByteOffset: 12, as: UInt32.self))
                guard rest.count >= 16 + length else { return }
                let name = rest[16..<(16 + length)].prefix { $0 != 0 }
                // A watch that was ended is reported once more; ignore that.
                if mask & Int32(IN_IGNORED) == 0 {
                    changes.append(
                        Change(
                            watch: mask & Int32(IN_Q_OVERFLOW) != 0 ? nil : watch, name: name.isEmpty ? nil : String(decoding: name, as: UTF8.self),
                            isRemoval: mask & Int32(IN_DELETE | IN_MOVED_FROM) != 0))
                }
                rest = UnsafeRawBufferPointer(rebasing: rest[(16 + length)...])
            }
        }
    #else
        /// Events are not supported on this system. The caller polls instead.
        ///
        /// - Throws: ``SystemFault``, always.
        package init(_ handler: @escaping @Sendable ([Change]) -> Void) throws(SystemFault) { throw SystemFault.missing("inotify_init1") }

        /// Never called: the initialiser always throws.
        package func watch(_ path: String, for interest: Interest, followsLink: Bool = true) throws(SystemFault) -> Int32 {
            throw SystemFault.missing("inotify_add_watch")
        }

        /// Never called: the initialiser always throws.
        package func end(_ watch: Int32) {}
    #endif
}
