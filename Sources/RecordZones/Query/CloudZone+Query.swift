import CloudStore

extension CloudZone {
    /// Returns the first records that match the query in the zone's present state.
    ///
    ///     var page = try await zone.records(matching: query, limit: 50)
    ///     while let cursor = page.cursor { page = try await zone.records(continuing: cursor, limit: 50) }
    ///
    /// - Parameter limit: the most records to return, at least 1; nil returns all.
    /// - Parameter desiredKeys: the fields to return; nil returns all, an empty array none.
    /// - Throws: ``CloudError`` with `.invalidArguments` for a field that no record of the type has, a limit below 1, or a name outside the
    ///   grammar. If there is no record of the type, the page is empty.
    public func records(matching query: RecordQuery, desiredKeys: [String]? = nil, limit: Int? = nil) async throws -> QueryPage {
        try await page(query, desiredKeys, after: nil, limit: limit)
    }

    /// Returns the next records of a query. Each page shows the zone's present state. A record that does not change in between is returned
    /// exactly once.
    ///
    /// - Throws: ``CloudError`` with `.invalidArguments` for a cursor of another cloud or zone.
    public func records(continuing cursor: QueryCursor, limit: Int? = nil) async throws -> QueryPage {
        guard try await cursor.cloud == cloud.identity().uuid, cursor.zone == id else {
            throw CloudError(.invalidArguments, at: id.place, "the cursor is one of another location or zone", hint: "begin the query anew here")
        }
        return try await page(cursor.query, cursor.desiredKeys, after: cursor.after, limit: limit)
    }

    private func page(
        _ query: RecordQuery, _ desiredKeys: [String]?, after: RecordQuery.Position?, limit: Int?
    ) async throws -> QueryPage {
        try query.verify()
        if let limit, limit < 1 { throw CloudError(.invalidArguments, at: "query", "a limit is 1 or more", hint: "leave it out to get all") }
        let records = try await refreshed().records
        // Only the first page checks the fields. A later page must not fail because the last record with a field was removed in the
        // meantime.
        if after == nil { try query.verify(against: records.values.lazy.filter { $0.type == query.type }) }
        let found = records.values.lazy.filter(query.matches).map(query.position).filter { position in after.map { query.precedes($0, position) } ?? true }
            .sorted(by: query.precedes)
        let page = found.prefix(limit ?? .max), keys = desiredKeys.map(Set.init)
        var cursor: QueryCursor?
        if page.count < found.count, let last = page.last {
            cursor = QueryCursor(
                cloud: try await cloud.identity().uuid, zone: id, query: query, desiredKeys: desiredKeys, after: last)
        }
        return QueryPage(records: page.compactMap { records[$0.name]?.only(keys) }, cursor: cursor)
    }
}
