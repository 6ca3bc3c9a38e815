public import CloudStore

extension ProjectSharing {
    /// The projects that were shared last, newest first, without their items. Where nothing was ever shared: an empty page.
    ///
    ///     var page = try await sharing.projects(limit: 20)
    ///     while let cursor = page.cursor { page = try await sharing.projects(continuing: cursor, limit: 20) }
    ///
    /// A project that is replaced keeps its place.
    ///
    /// - Parameter limit: at most so many, from 1.
    public func projects(limit: Int = 20) async throws -> SharedProjectPage {
        do {
            return SharedProjectPage(try await zone.records(matching: ShareRecords.projects, limit: limit))
        } catch let error as CloudError where error.code == .zoneNotFound {
            return .end
        }
    }

    /// The next projects of a list.
    ///
    /// - Throws: ``CloudError`` with `.invalidArguments` for a cursor of another cloud or zone.
    public func projects(continuing cursor: QueryCursor, limit: Int = 20) async throws -> SharedProjectPage {
        SharedProjectPage(try await zone.records(continuing: cursor, limit: limit))
    }
}

extension SharedProjectPage {
    /// A page behind the last one.
    package static let end = SharedProjectPage(projects: [], unreadable: [], cursor: nil)

    /// Reads a page of records.
    init(_ page: QueryPage) {
        let projects = page.records.map { (name: $0.name, project: SharedProject($0)) }
        self.init(
            projects: projects.compactMap(\.project), unreadable: projects.filter { $0.project == nil }.map(\.name), cursor: page.cursor)
    }
}
