package import CloudStore
package import StrictText

// Listings, in pages.
extension ObjectClient {
    /// Lists all objects whose paths begin with `prefix`, sorted by key.
    ///
    /// - Parameter first: ends the listing after this many objects; nil lists all.
    package func list(_ prefix: String, first: Int? = nil) throws(CloudError) -> [StoredObject] { try list(prefix, first: first, byFolders: false).objects }

    /// Lists the objects of one folder, and the names of its subfolders, each with its slash. The objects in the subfolders are not listed.
    ///
    /// - Parameter folder: the path of the folder, with a slash at the end.
    package func listFolder(_ folder: String) throws(CloudError) -> (objects: [StoredObject], folders: [String]) {
        try list(folder, first: nil, byFolders: true)
    }

    /// One page of the objects whose paths begin with `prefix` and come after `path`, sorted by key.
    package func listPage(_ prefix: String, after path: String) throws(CloudError) -> (objects: [StoredObject], isLast: Bool) {
        let (page, objects) = try page(of: prefix, [("start-after", location.key(path))], byFolders: false)
        return (objects, !page.isTruncated)
    }

    private func list(_ prefix: String, first: Int?, byFolders: Bool) throws(CloudError) -> (objects: [StoredObject], folders: [String]) {
        var found: [StoredObject] = []
        var folders: Set<String> = []
        var token: String?
        var seen: Set<String> = []
        repeat {
            var query: [(name: String, value: String)] = []
            if let token { query.append(("continuation-token", token)) }
            if let first { query.append(("max-keys", String(first - found.count))) }
            let (page, objects) = try page(of: prefix, query, byFolders: byFolders)
            found += objects
            for folder in page.folders {
                guard byFolders, folder.exact.hasPrefix(location.key(prefix)), folder.exact.hasSuffix("/") else { throw notAStore(prefix) }
                folders.insert(String(folder.dropFirst(location.key(prefix).utf8.count)))
            }
            if let first, found.count >= first { break }
            token = page.isTruncated ? page.nextToken : nil
            if let token, !seen.insert(token).inserted || page.objects.isEmpty && page.folders.isEmpty {
                throw CloudError(.cloudUnavailable, at: prefix, "the server's listing repeats itself", hint: "see docs/object-store.md for servers that work")
            }
        } while token != nil
        return (found, folders.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) })
    }

    private func page(
        of prefix: String, _ options: [(name: String, value: String)], byFolders: Bool
    ) throws(CloudError) -> (page: ObjectListing, objects: [StoredObject]) {
        let whole = location.key(prefix)
        let query = [(name: "list-type", value: "2"), (name: "prefix", value: whole)] + (byFolders ? [("delimiter", "/")] : []) + options
        let answer = try repeating("GET", nil, query: query, limit: 8 << 20)
        guard answer.status == 200 else { throw failure(answer, at: prefix, listing: true) }
        guard let page = ObjectListing(answer.body), page.root == "ListBucketResult" else { throw notAStore(prefix) }
        var objects: [StoredObject] = []
        for object in page.objects {
            // A key outside the prefix, or a page that repeats itself, could make a listing endless.
            guard object.key.exact.hasPrefix(whole), object.byteCount >= 0 else { throw notAStore(prefix) }
            let path = location.prefix.isEmpty ? object.key : String(object.key.dropFirst(location.prefix.utf8.count + 1))
            objects.append(
                StoredObject(path: path, byteCount: object.byteCount, modified: (try? Instant(parsing: object.modified)) ?? clock))
        }
        return (page, objects)
    }

    /// Lists the unfinished uploads of objects whose paths begin with `prefix`; empty if the store or the credentials do not allow this
    /// listing.
    package func uploads(_ prefix: String) throws(CloudError) -> [(path: String, id: String, begun: Instant)] {
        let whole = location.key(prefix)
        var found: [(path: String, id: String, begun: Instant)] = []
        var marker = (key: "", id: "")
        while true {
            var query = [(name: "uploads", value: ""), (name: "prefix", value: whole)]
            if !marker.key.isEmpty { query += [("key-marker", marker.key), ("upload-id-marker", marker.id)] }
            let answer = try repeating("GET", nil, query: query, limit: 8 << 20)
            guard answer.status == 200 else {
                if [400, 403, 404, 405, 501].contains(answer.status) { return [] }
                throw failure(answer, at: prefix, listing: true)
            }
            guard let page = ObjectListing(answer.body), page.root == "ListMultipartUploadsResult" else { return [] }
            for upload in page.uploads where upload.key.exact.hasPrefix(whole) && !upload.id.isEmpty {
                let path = location.prefix.isEmpty ? upload.key : String(upload.key.dropFirst(location.prefix.utf8.count + 1))
                found.append((path, upload.id, (try? Instant(parsing: upload.initiated)) ?? clock))
            }
            // A listing that does not advance would never end.
            guard page.isTruncated, page.nextUpload != marker, !page.uploads.isEmpty else { return found }
            marker = page.nextUpload
        }
    }
}
