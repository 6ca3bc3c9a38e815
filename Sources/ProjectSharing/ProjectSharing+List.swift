public import CloudStore
public import RecordZones

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
