package import CloudStore
import CommitLog
import Foundation
import Platform
import Synchronization

/// Wakes when files of a zone come into a directory cloud: the event source of a watch.
///
///     let events = ZoneEvents(cloud: "/mnt/share/app", zone: .standard) { hint in … }
///     if let reason = events.arm() { print("polling: \(reason)") }
///
/// A hint of `anything` means that directories came or went, or that events were lost.
/// Reads names only, never a file's content. The cloud need not be there: what is missing is watched from the next
/// ``arm()`` on, and the directory above the cloud tells when it is back.
package final class ZoneEvents: ZoneEventSource {
    private enum Role: Hashable {
        case above, root, zone, commits, mailbox
        case messages(String)
    }

    private struct State {
        var events: FileEvents?
        /// Which directory each watch is of.
        var roles: [Int32: Role] = [:]
    }

    private let root: String
    private let zone: String
    private let handler: @Sendable (ZoneHint) -> Void
    private let state = Mutex(State())
    /// More devices than that are left to the poll.
    private static let deviceLimit = 500

    /// A source for one zone of the cloud at a path; ``arm()`` begins it.
    package init(cloud path: String, zone: ZoneID, _ handler: @escaping @Sendable (ZoneHint) -> Void) {
        root = URL(fileURLWithPath: path, isDirectory: true).standardizedFileURL.path
        self.zone = "\(root)/\(zone)"
        self.handler = handler
    }

    /// Watches what is there now and was not watched yet. Cheap: some ten calls of the system.
    ///
    /// - Returns: why events do not tell everything, in words; nil if they do.
    package func arm() -> String? {
        let directories = directories()
        // Held while the watches are put in, so that an early event finds out what it is of.
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
            events = try FileEvents { [weak self] in self?.take($0) }
            state.events = events
        }
        var roles: [Int32: Role] = [:]
        for (role, path, interest) in directories {
            do throws(SystemFault) {
                // The way to the cloud is the user's and may be a link; beneath it nothing is.
                roles[try events.watch(path, for: interest, followsLink: role == .above || role == .root)] = role
            } catch {
                // What is not there, or may not be read, is said by the run that needs it.
                guard error.isTooManyWatches else { continue }
                throw error
            }
        }
        for gone in state.roles.keys where roles[gone] == nil { events.end(gone) }
        state.roles = roles
    }

    private func take(_ changes: [FileEvents.Change]) {
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
        case .root: return name == CloudMarker.fileName || zone.hasPrefix("\(root)/\(name)/") ? .anything : nil
        case .zone: return name == CloudNames.commits || name == CloudNames.messages ? .anything : nil
        case .commits: return CloudNames.number(ofFile: name).map { .commit($0) }
        case .mailbox: return CloudNames.isName(name) ? .anything : nil
        case .messages(let device): return name.hasSuffix(".json") && !name.hasPrefix(".") ? .message(from: device) : nil
        }
    }
}
