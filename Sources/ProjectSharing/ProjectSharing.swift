public import CloudStore
public import RecordZones
import SnapshotEngine
public import SnapshotModel
import SnapshotVersions
public import StrictText

/// Shared projects: their owners share them, and everybody with access to the cloud can list them and comment on them.
///
///     let sharing = try ProjectSharing(location: "/mnt/share/tracker", device: "anna-phone")
///     try await sharing.publish(draft, owner: "Anna")
///     for project in try await sharing.projects().projects { print(project.title, project.owner) }
///     try await sharing.post("Lovely!", by: "Ben", on: "garden")
///
/// Everything is in one zone of the cloud's public scope, in which every device may publish. A signed or sealed zone is refused: there only
/// members write. Throws ``CloudError``; make a ``PresentableError`` of it to show it.
public struct ProjectSharing: Sendable {
    /// The zone that is used if none is named.
    public static let standardZone = "Shared"

    let zone: CloudZone
    let cloud: CloudDatabase

    /// Shares through any cloud.
    ///
    /// - Parameter device: this device's name, unique in the zone. Only this device may replace or remove what it has shared.
    public init(_ cloud: CloudDatabase, device: String, zone: String = standardZone, now: @escaping @Sendable () -> Instant = { .now }) {
        self.cloud = cloud
        self.zone = CloudZone(ZoneID(zone, scope: .public), of: cloud, as: device, now: now)
    }

    /// Shares through a directory that devices mount, or `s3://BUCKET/PREFIX`.
    ///
    /// - Throws: ``CloudError`` with `.cloudUnavailable`, `.notACloud`, `.incompatibleVersion` or `.permissionFailure`.
    public init(location: String, device: String, zone: String = standardZone) throws {
        self.init(try CloudLocation.open(location), device: device, zone: zone)
    }

    /// The device in whose name projects are shared and comments are posted.
    public var device: String { zone.device }

    /// Whether a project is shared. Looks it up by its id without fetching a field.
    ///
    /// - Returns: `.exists` or `.absent`.
    public func status(of id: String) async throws -> SharedProjectStatus {
        try await record(of: id, desiredKeys: []) == nil ? .absent : .exists
    }

    /// Returns a project with its items.
    ///
    /// - Throws: ``CloudError`` with `.unknownItem` if it is not shared, `.incompatibleVersion` if this version cannot read it.
    public func contents(of id: String) async throws -> SharedProjectContents {
        guard let record = try await record(of: id) else { throw absent(id) }
        guard let project = SharedProject(record), let items = ShareRecords.items(of: record) else {
            throw CloudError(
                .incompatibleVersion, at: place(id), "the record is not a project that this version can read", hint: "update, or share under another id")
        }
        return SharedProjectContents(project: project, items: items)
    }

    /// Returns the present record of a project; nil if it is not shared, or the zone does not exist yet.
    private func record(of id: String, desiredKeys: [String]? = nil) async throws -> CloudRecord? {
        let found = try await inZone { try await zone.record(ShareRecords.name(ofProject: id), desiredKeys: desiredKeys) }
        return found?.type == ShareRecords.project ? found : nil
    }

    /// Reads the zone; nil if it or the record does not exist.
    private func inZone<T>(_ read: () async throws -> T) async throws -> T? {
        do {
            guard try await !cloud.zone(zone.id).isSigned else {
                throw CloudError(
                    .invalidArguments, at: zone.id.place, "the zone is signed or sealed, and projects are shared only in a zone that is not",
                    hint: "choose another zone: --zone \(Self.standardZone)2")
            }
            return try await read()
        } catch let error as CloudError where error.code == .unknownItem || error.code == .zoneNotFound {
            return nil
        }
    }

    private func absent(_ id: String) -> CloudError {
        CloudError(.unknownItem, at: place(id), "there is no such project", hint: "snapsync-examples share list shows the projects that are shared")
    }

    /// The place of a project in error messages. An id outside the grammar of names is replaced by its hash.
    private func place(_ id: String) -> String { "\(zone.id)/\(ShareRecords.name(ofProject: id))" }
}

/// The result of sharing a project.
public enum SharePublication: String, Sendable, Encodable {
    /// The project was not shared before.
    case created
    case replaced
    /// The same project was already shared; no commit was made.
    case unchanged
}

extension ProjectSharing {
    /// Shares a project with its items under an owner's name, and replaces the project that is shared under the same id. Comments are kept.
    /// Creates the zone if it is missing.
    ///
    /// - Throws: ``CloudError`` with `.invalidArguments` (``ShareLimits``), `.permissionFailure` if another device shared the project, and
    ///   the errors of ``CloudZone/modify(saving:deleting:savePolicy:atomically:)``.
    @discardableResult
    public func publish(_ draft: ProjectDraft, owner: String) async throws -> SharePublication {
        try ShareLimits.verify(draft, owner: owner)
        _ = try await cloud.createZone(zone.id, creator: zone.device, publishers: .many)
        var lastLoss: CloudError?
        for _ in 1...10 {
            let existing = try await record(of: draft.id)
            if let existing { try verifyOwner(existing, draft.id) }
            let wanted = try ShareRecords.record(of: draft, owner: owner, replacing: existing)
            if wanted.fields == existing?.fields { return .unchanged }
            do {
                try await zone.save(wanted)
                return existing == nil ? .created : .replaced
            } catch let error as CloudError where [.serverRecordChanged, .unknownItem].contains(error.cause.code) {
                // The project was shared, replaced or removed since it was read. The next attempt checks by which device.
                lastLoss = error.cause
            }
        }
        throw lastLoss ?? absent(draft.id)
    }

    /// Removes a project with its items and all comments. Returns the number of comments.
    ///
    /// One commit removes everything if the cloud accepts one of that size. Otherwise comments are deleted first. After an interruption, call
    /// it again to complete the removal.
    ///
    /// - Throws: ``CloudError`` with `.unknownItem` if the project is not shared, `.permissionFailure` if another device shared it, and the
    ///   errors of ``CloudZone/modify(saving:deleting:savePolicy:atomically:)``.
    @discardableResult
    public func remove(_ id: String) async throws -> Int {
        guard let record = try await record(of: id) else { throw absent(id) }
        try verifyOwner(record, id)
        let comments = try await zone.records(matching: ShareRecords.comments(ofProject: id), desiredKeys: []).records.map(\.name)
        // Comments that are posted meanwhile are deleted too, because they refer to the project with `deleteSelf`.
        try await delete((comments + [record.name])[...])
        return comments.count
    }

    /// Refuses to change a project that another device shared.
    private func verifyOwner(_ record: CloudRecord, _ id: String) throws(CloudError) {
        guard record.creation?.device != zone.device else { return }
        let owner = record.creation.map { "the device \($0.device) shared it" } ?? "it is not known any more which device shared it"
        throw CloudError(
            .permissionFailure, at: place(id), "\(owner), and only that one may replace or remove it",
            hint: "do it on that device, or share yours under another id")
    }

    /// Deletes records in one commit. If the cloud refuses so many, deletes one half after the other.
    private func delete(_ names: ArraySlice<String>) async throws {
        do {
            try await zone.modify(saving: [], deleting: Array(names)).get()
        } catch let error as CloudError where error.cause.code == .limitExceeded && names.count > 1 {
            let middle = names.startIndex + names.count / 2
            try await delete(names[..<middle])
            try await delete(names[middle...])
        }
    }
}

extension ProjectSharing {
    /// Yields whenever another device has shared, replaced or removed a project or posted a comment, from now on. Ends with the task that
    /// iterates, and after the zone was deleted, signed or sealed.
    ///
    ///     for await _ in try await sharing.changes() { await list.reload() }
    ///
    /// It carries no data: load the shown data again. This device's own changes are not reported.
    ///
    /// - Parameter interval: the wait between two checks of a cloud that reports no events (``CloudDatabase/events(in:_:)``).
    public func changes(every interval: Duration = .seconds(2)) async throws -> some AsyncSequence<Void, Never> & Sendable {
        let id = zone.id, device = zone.device, start: ChangeToken?
        do {
            start = try await cloud.records(in: id).token
        } catch let error as CloudError where error.code == .zoneNotFound {
            // Until the zone exists, it is looked for at the interval, or when the cloud reports an event.
            start = nil
        }
        let cloud = cloud, wait = ZoneWait(for: id, of: cloud, every: interval)
        return AsyncStream<Void>(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let task = Task {
                var token = start
                repeat {
                    do {
                        let changes = try await cloud.changes(since: token, in: id)
                        token = changes.token
                        if !changes.base.isEmpty || changes.commits.contains(where: { $0.device != device }) { continuation.yield() }
                    } catch let error as CloudError where error.code == .changeTokenExpired {
                        guard let state = try? await cloud.records(in: id) else { continue }
                        token = state.token
                        continuation.yield()
                    } catch let error as CloudError where error.code == .userDeletedZone || error.code == .zoneMoved {
                        continuation.yield()
                        break
                    } catch {
                        // Ignore the error: the next check reads the same changes again.
                    }
                } while await wait.next()
                continuation.finish()
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }
}

extension ProjectSharing {
    /// Returns the projects that were shared last, newest first, without their items. If nothing was ever shared, the page is empty.
    ///
    ///     var page = try await sharing.projects(limit: 20)
    ///     while let cursor = page.cursor { page = try await sharing.projects(continuing: cursor, limit: 20) }
    ///
    /// Replacing a project does not change its position.
    ///
    /// - Parameter limit: the most projects to return, at least 1.
    public func projects(limit: Int = 20) async throws -> SharedProjectPage {
        try await inZone {
            SharedProjectPage(try await zone.records(matching: ShareRecords.projects, desiredKeys: ShareRecords.keysWithoutItems, limit: limit))
        } ?? .end
    }

    /// Returns the next projects of a list.
    ///
    /// - Throws: ``CloudError`` with `.invalidArguments` for a cursor of another cloud or zone.
    public func projects(continuing cursor: QueryCursor, limit: Int = 20) async throws -> SharedProjectPage {
        SharedProjectPage(try await zone.records(continuing: cursor, limit: limit))
    }
}

extension SharedProjectPage {
    /// An empty page without a next one.
    package static let end = SharedProjectPage(projects: [], unreadable: [], cursor: nil)

    /// Reads a page of records.
    init(_ page: QueryPage) {
        let projects = page.records.map { (name: $0.name, project: SharedProject($0)) }
        self.init(
            projects: projects.compactMap(\.project), unreadable: projects.filter { $0.project == nil }.map(\.name), cursor: page.cursor)
    }
}

extension ProjectSharing {
    /// Posts a comment on a shared project of any owner.
    ///
    /// - Throws: ``CommentNotSent`` with the text and the cause: a ``CloudError`` with `.invalidArguments` if text or name is empty, white
    ///   space or too long, with `.unknownItem` if the project is not shared (any more), or another error of the cloud.
    @discardableResult
    public func post(_ text: String, by name: String, on id: String) async throws(CommentNotSent) -> ProjectComment {
        do {
            try ShareLimits.verify(comment: text, by: name)
            guard try await record(of: id, desiredKeys: []) != nil else { throw absent(id) }
            return try await post(text, by: name, to: ShareRecords.name(ofProject: id))
        } catch let error as CloudError where error.code == .referenceViolation {
            // The project was removed while the comment was being sent.
            throw CommentNotSent(text: text, name: name, cause: absent(id))
        } catch {
            throw CommentNotSent(text: text, name: name, cause: error)
        }
    }

    /// Returns a project's comments, in the order in which they were posted.
    ///
    /// - Throws: ``CloudError`` with `.unknownItem` if the project is not shared.
    public func comments(on id: String) async throws -> [ProjectComment] {
        guard try await record(of: id, desiredKeys: []) != nil else { throw absent(id) }
        return try await zone.records(matching: ShareRecords.comments(ofProject: id)).records.compactMap(ProjectComment.init)
    }

    private func post(_ text: String, by name: String, to project: String) async throws -> ProjectComment {
        let record = CloudRecord(
            type: ShareRecords.comment, name: "c-" + NonceSource.system.hex(32),
            fields: [
                ShareRecords.link: .reference(RecordReference(to: project, action: .deleteSelf)), "text": .string(text), "name": .string(name),
            ])
        guard let comment = ProjectComment(try await zone.save(record)) else {
            throw CloudError(.damaged, at: zone.id.place, "the comment was saved and came back as something else", hint: "run snapsync check")
        }
        return comment
    }
}
