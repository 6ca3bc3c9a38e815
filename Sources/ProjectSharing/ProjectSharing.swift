public import CloudStore
import DirectoryCloud
public import RecordZones
public import SnapshotEngine
import SnapshotModel
import SnapshotVersions
public import StrictText

/// Shared projects: their owners share them, and everybody with access to the cloud can list them and comment on them.
///
///     let sharing = try ProjectSharing(directory: "/mnt/share/tracker", device: "anna-phone")
///     try await sharing.publish(draft, owner: "Anna")
///     for project in try await sharing.projects().projects { print(project.title, project.owner) }
///     try await sharing.post("Lovely!", by: "Ben", on: "garden")
///
/// Everything is in one zone of the cloud's public scope, in which every device may publish. Throws ``CloudError``; make a
/// ``PresentableError`` of it to show it. ``SharedProjectList``, ``SharedProjectTracker`` and ``CommentThread`` hold the values for a
/// screen.
public struct ProjectSharing: Sendable {
    /// The zone that is used if none is named.
    public static let standardZone = "Shared"

    let zone: CloudZone
    let cloud: CloudDatabase
    let nonces: NonceSource
    /// The members of the zone; nil if it is not signed.
    let signedMembers: SharedZoneMembers?

    /// Shares through any cloud.
    ///
    /// - Parameter device: this device's name, unique in the zone. Only this device may replace or remove what it has shared.
    public init(_ cloud: CloudDatabase, device: String, zone: String = standardZone, now: @escaping @Sendable () -> Instant = { .now }) {
        self.init(cloud, zone: CloudZone(ZoneID(zone, scope: .public), of: cloud, as: device, now: now), nonces: .system)
    }

    /// Shares through a directory that devices mount.
    ///
    /// - Throws: ``CloudError`` with `.cloudUnavailable`, `.notACloud`, `.incompatibleVersion` or `.permissionFailure`.
    public init(directory: String, device: String, zone: String = standardZone) throws {
        self.init(try DirectoryCloud(path: directory), device: device, zone: zone)
    }

    /// Makes a value with a given zone handle and source of random names.
    package init(_ cloud: CloudDatabase, zone: CloudZone, nonces: NonceSource, members: SharedZoneMembers? = nil) {
        signedMembers = members
        self.cloud = cloud
        self.zone = zone
        self.nonces = nonces
    }

    /// The device in whose name projects are shared and comments are posted.
    public var device: String { zone.device }

    /// Whether a project is shared. Looks it up by its id without fetching a field.
    ///
    /// - Returns: `.exists` or `.absent`.
    public func status(of id: String) async throws -> SharedProjectStatus {
        try await record(of: id, desiredKeys: []) == nil ? .absent : .exists
    }

    /// Returns a project with its items. All are from the same publication, even if the project is replaced meanwhile.
    ///
    /// - Throws: ``CloudError`` with `.unknownItem` if it is not shared, `.damaged` if items are missing, `.zoneBusy` if it was replaced
    ///   several times while it was read.
    public func contents(of id: String) async throws -> SharedProjectContents {
        for _ in 1...10 {
            guard let record = try await record(of: id) else { throw absent(id) }
            guard let project = SharedProject(record) else { throw unreadable(record) }
            let found = try await zone.records(matching: ShareRecords.items(ofProject: id)).records
            let items = found.filter { $0.text("generation") == project.generation }.compactMap(SharedItem.init)
            if items.count == project.itemCount { return SharedProjectContents(project: project, items: items) }
            // A publication's items are saved before it becomes visible, and deleted only after the next one is. So either the project was
            // just replaced, or items are missing.
            guard try await self.record(of: id, desiredKeys: [])?.changeTag != record.changeTag else {
                throw CloudError(
                    .damaged, at: place(id), "\(project.itemCount) items belong to the project, \(items.count) of them are there",
                    hint: "share it again on the device \(project.device ?? "that shared it")")
            }
        }
        throw CloudError(
            .zoneBusy, at: place(id), "the project was replaced again and again while it was read", hint: "try again in a moment", isRetryable: true)
    }

    /// Returns the present record of a project; nil if it is not shared, or the zone does not exist yet.
    func record(of id: String, desiredKeys: [String]? = nil) async throws -> CloudRecord? {
        do {
            let record = try await zone.record(ShareRecords.name(ofProject: id), desiredKeys: desiredKeys)
            return record.type == ShareRecords.project ? record : nil
        } catch let error as CloudError where error.code == .unknownItem || error.code == .zoneNotFound {
            return nil
        }
    }

    func absent(_ id: String) -> CloudError {
        CloudError(.unknownItem, at: place(id), "there is no such project", hint: "snapsync share list shows the projects that are shared")
    }

    func unreadable(_ record: CloudRecord) -> CloudError {
        CloudError(
            .incompatibleVersion, at: "\(zone.id)/\(record.name)", "the record is not a project that this version can read",
            hint: "update, or share under another id")
    }

    /// The place of a project in error messages. An id outside the grammar of names is replaced by its hash.
    func place(_ id: String) -> String { "\(zone.id)/\(ShareRecords.name(ofProject: id))" }
}

extension ProjectSharing {
    /// Yields whenever another device has shared, replaced or removed a project or posted a comment, from now on. Ends with the task that
    /// iterates.
    ///
    ///     for await _ in try await sharing.changes() { await list.reload() }
    ///
    /// It carries no data: load the shown data again. This device's own changes are not reported.
    ///
    /// - Parameter interval: the wait between two checks of a cloud that reports no events (``CloudDatabase/events(in:_:)``).
    public func changes(every interval: Duration = .seconds(2)) async throws -> some AsyncSequence<Void, Never> & Sendable {
        try await zone.subscribeOnceThere(RecordSubscription("projects"), every: interval).map { _ in }
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
        do {
            return SharedProjectPage(try await zone.records(matching: ShareRecords.projects, limit: limit))
        } catch let error as CloudError where error.code == .zoneNotFound {
            return .end
        }
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
            try await signedMembers?.prepareToPublish()
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
            type: ShareRecords.comment, name: "c-" + nonces.hex(32),
            fields: [
                ShareRecords.link: .reference(RecordReference(to: project, action: .deleteSelf)), "text": .string(text), "name": .string(name),
            ])
        guard let comment = ProjectComment(try await zone.save(record)) else {
            throw CloudError(.damaged, at: "\(zone.id)", "the comment was saved and came back as something else", hint: "run snapsync doctor")
        }
        return comment
    }
}

// A signed zone: not rights on the store, but keys say who shares and comments.
extension ProjectSharing {
    /// Shares through a cloud whose zone may be signed, or is to be made so by the first publication.
    ///
    /// In a signed zone what no member has signed is refused (`untrusted`). A device that is no member asks to be one when it shares or comments, and is refused
    /// until a member has approved it (``approveMember(_:fingerprint:)``).
    ///
    /// - Parameters:
    ///   - trust: the words of the zone's creator: a zone of another one, or one that is not signed, is refused. nil takes the creator that it meets.
    ///   - makesSigned: whether a zone that is made is signed, and one that is there must be.
    ///   - keys: where this device's keys lie.
    /// - Throws: ``SyncError`` with `.refused` if the zone is not signed and should be; ``CloudError``.
    public init(
        opening cloud: CloudDatabase, device: String, zone: String = standardZone, trust: KeyFingerprint? = nil, makesSigned: Bool = false,
        keys: any KeyStore = FileKeyStore(), now: @escaping @Sendable () -> Instant = { .now }
    ) async throws {
        let id = ZoneID(zone, scope: .public)
        let members = try await SharedZoneMembers(id, in: cloud, as: device, trusting: trust, makesZone: makesSigned, keys: keys)
        let database: CloudDatabase = members?.cloud ?? cloud
        self.init(database, zone: CloudZone(id, of: database, as: device, now: now), nonces: .system, members: members)
    }

    /// The same through the cloud in a directory, or `s3://BUCKET/PREFIX`.
    public init(
        openingAt location: String, device: String, zone: String = standardZone, trust: KeyFingerprint? = nil, makesSigned: Bool = false,
        keys: any KeyStore = FileKeyStore()
    ) async throws {
        try await self.init(opening: CloudLocation.open(location), device: device, zone: zone, trust: trust, makesSigned: makesSigned, keys: keys)
    }

    /// Who may share and comment in a signed zone, and who asks for it; nil if the zone is not signed.
    public func members() async throws -> MembersReport? { try await signedMembers?.report() }

    /// Lets a device that asks for it share and comment.
    ///
    /// - Parameter fingerprint: the words that a person has compared with those on the device.
    /// - Throws: ``SyncError`` with `.nothingThere` if no such device asks, `.refused` if the zone is not signed; ``CloudError`` with `.notAuthorized` if this
    ///   device is no member.
    public func approveMember(_ device: String, fingerprint: KeyFingerprint) async throws -> MemberChangeReport {
        try await signed().approve(device, fingerprint: fingerprint)
    }

    /// Ends a device's membership: nothing that it shares or says from then on counts. What it has shared stays.
    ///
    /// - Throws: as ``approveMember(_:fingerprint:)``.
    public func removeMember(_ device: String) async throws -> MemberChangeReport { try await signed().remove(device) }

    private func signed() throws -> SharedZoneMembers {
        if let signedMembers { return signedMembers }
        throw SyncError(.refused, at: "zone \(zone.id)", "it is not signed, so it has no members", hint: "whoever can write the store can share there")
    }
}

/// The records that were removed from the cloud.
public struct ShareRemoval: Sendable {
    public let itemCount: Int
    /// The comments of all authors, which are deleted together with the project.
    public let commentCount: Int
}

extension ProjectSharing {
    /// Removes a project with all its items and comments.
    ///
    /// Other devices see either the complete project or none. One commit removes everything if the cloud accepts one of that size. Otherwise
    /// the comments are deleted first, then the project in one commit, then its items, which no device shows any more. After an
    /// interruption, call it again to complete the removal.
    ///
    /// - Throws: ``CloudError`` with `.unknownItem` if the project is not shared, `.permissionFailure` if another device shared it, and the
    ///   errors of ``CloudZone/modify(saving:deleting:savePolicy:atomically:)``.
    @discardableResult
    public func remove(_ id: String) async throws -> ShareRemoval {
        guard let record = try await record(of: id) else { return try await removeRemains(of: id) }
        try verifyOwner(record, id)
        let items = try await names(ShareRecords.items(ofProject: id))
        let comments = try await names(ShareRecords.comments(ofProject: id))
        let removal = ShareRemoval(itemCount: items.count, commentCount: comments.count)
        do {
            // Comments that are posted meanwhile are deleted too, because they refer to the project with `deleteSelf`.
            try await zone.modify(saving: [], deleting: [record.name] + items + comments).get()
        } catch let error as CloudError where error.cause.code == .limitExceeded {
            try await delete(comments[...])
            try await zone.delete(record.name)
            try await delete(items[...])
        }
        return removal
    }

    /// Removes items that an interrupted run of this device left behind: their project was removed or never shown.
    private func removeRemains(of id: String) async throws -> ShareRemoval {
        let remains = try await items(ofAbsent: id).filter { $0.creation?.device == zone.device }.map(\.name)
        guard !remains.isEmpty else { throw absent(id) }
        try await delete(remains[...])
        return ShareRemoval(itemCount: remains.count, commentCount: 0)
    }

    private func items(ofAbsent id: String) async throws -> [CloudRecord] {
        do {
            return try await zone.records(matching: ShareRecords.items(ofProject: id), desiredKeys: []).records
        } catch let error as CloudError where error.code == .zoneNotFound {
            return []
        }
    }

    private func names(_ query: RecordQuery) async throws -> [String] {
        try await zone.records(matching: query, desiredKeys: []).records.map(\.name)
    }
}
