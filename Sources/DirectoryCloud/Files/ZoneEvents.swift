package import CloudStore
import Foundation
import Platform
import StrictText
import Synchronization

/// Reports when files of a zone appear in a directory cloud: the event source of a watch.
///
///     let events = ZoneEvents(cloud: "/mnt/share/app", zone: .standard) { hint in … }
///     if let reason = events.arm() { print("polling: \(reason)") }
///
/// The hint `anything` means that directories appeared or disappeared, or that events were lost. The source reads only names, never a file's
/// content. The cloud need not exist yet: a missing directory is watched from the next ``arm()`` on, and the watch on the directory above
/// reports when the cloud is back.
package final class ZoneEvents: ZoneEventSource {
    private enum Role: Hashable {
        case above, root, zone, commits, mailbox
        case messages(String)
    }

    private struct State {
        var events: FileEvents?
        /// The directory that each watch belongs to.
        var roles: [Int32: Role] = [:]
    }

    private let root: String
    private let zone: String
    private let handler: @Sendable (ZoneHint) -> Void
    private let state = Mutex(State())
    /// Mailboxes of more devices than this are not watched; the poll covers them.
    private static let deviceLimit = 500

    /// Makes a source for one zone of the cloud at a path. ``arm()`` starts it.
    package init(cloud path: String, zone: ZoneID, _ handler: @escaping @Sendable (ZoneHint) -> Void) {
        root = URL(fileURLWithPath: path, isDirectory: true).standardizedFileURL.path
        self.zone = "\(root)/\(zone)"
        self.handler = handler
    }

    /// Watches the existing directories that are not watched yet. This costs some ten system calls.
    ///
    /// - Returns: why some events will not be reported, as a text; nil if all are reported.
    package func arm() -> String? {
        let directories = directories()
        // Hold the lock while adding the watches, so that the handler of an early event finds its directory.
        let failure: SystemFault? = state.withLock { state in
            do throws(SystemFault) {
                try arm(&state, directories)
                return nil
            } catch {
                return error
            }
        }
        if let failure { return FileEvents.explain(failure) }
        return RemoteFileSystem.name(ofDirectory: root).map { "\(root) is on \($0), which tells nothing of what other machines change" }
    }

    private typealias Directory = (role: Role, path: String, interest: FileEvents.Interest)

    private func directories() -> [Directory] {
        let mailbox = "\(zone)/\(CloudNames.messages)"
        let devices = ((try? FileManager.default.contentsOfDirectory(atPath: mailbox)) ?? []).filter(CloudNames.isName)
        return [
            (.above, URL(fileURLWithPath: root).deletingLastPathComponent().path, .names), (.root, root, .names), (.zone, zone, .names),
            (.commits, "\(zone)/\(CloudNames.commits)", .files), (.mailbox, mailbox, .names),
        ] + devices.prefix(Self.deviceLimit).map { (.messages($0), "\(mailbox)/\($0)", .files) }
    }

    private func arm(_ state: inout State, _ directories: [Directory]) throws(SystemFault) {
        let events: FileEvents
        if let known = state.events {
            events = known
        } else {
            events = try FileEvents { [weak self] in self?.receive($0) }
            state.events = events
        }
        var roles: [Int32: Role] = [:]
        for (role, path, interest) in directories {
            do throws(SystemFault) {
                // The user chose the path to the cloud, so it may contain a link; the directories beneath it never do.
                roles[try events.watch(path, for: interest, followsLink: role == .above || role == .root)] = role
            } catch {
                // A missing or unreadable directory is reported by the run that needs it.
                guard error.isTooManyWatches else { continue }
                throw error
            }
        }
        for gone in state.roles.keys where roles[gone] == nil { events.end(gone) }
        state.roles = roles
    }

    private func receive(_ changes: [FileEvents.Change]) {
        let roles = state.withLock { $0.roles }
        var hints: Set<ZoneHint> = []
        for change in changes {
            guard let watch = change.watch else {
                hints.insert(.anything)
                continue
            }
            if let role = roles[watch], let hint = hint(of: change.name, in: role) { hints.insert(hint) }
        }
        for hint in hints { handler(hint) }
    }

    private func hint(of name: String?, in role: Role) -> ZoneHint? {
        guard let name else { return .anything }
        switch role {
        case .above: return name == URL(fileURLWithPath: root).lastPathComponent ? .anything : nil
        case .root: return name == CloudMarker.fileName || zone.exact.hasPrefix("\(root)/\(name)/") ? .anything : nil
        case .zone: return name == CloudNames.commits || name == CloudNames.messages ? .anything : nil
        case .commits: return CloudNames.number(ofFile: name).map { .commit($0) }
        case .mailbox: return CloudNames.isName(name) ? .anything : nil
        case .messages(let device): return name.exact.hasSuffix(".json") && !name.exact.hasPrefix(".") ? .message(from: device) : nil
        }
    }
}
