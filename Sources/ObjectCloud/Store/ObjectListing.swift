import CExpat
package import CloudStore
package import StrictText

/// A page of an S3 listing, or another small XML answer, parsed by Expat.
///
/// Shape: the texts of the elements of a listing, an error, a removal or a multipart upload; other elements are skipped.
struct ObjectListing {
    struct Object: Hashable {
        var key = ""
        var byteCount = 0
        /// The time of the last change as RFC 3339 text; empty if the server did not send it.
        var modified = ""
    }

    private(set) var objects: [Object] = []
    /// The common prefixes of a listing by folders.
    private(set) var folders: [String] = []
    private(set) var isTruncated = false
    private(set) var nextToken: String?
    /// The marker at which the next page of uploads starts.
    private(set) var nextUpload: (key: String, id: String) = ("", "")
    /// The code and message of an `<Error>` document.
    private(set) var errorCode: String?
    private(set) var message: String?
    private(set) var region: String?
    private(set) var uploadID: String?
    /// The entity tag of a copied part.
    private(set) var tag: String?
    private(set) var uploads: [(key: String, id: String, initiated: String)] = []
    /// The keys that a removal of several objects did not remove.
    private(set) var unremoved: [String] = []
    /// The name of the outermost element.
    private(set) var root = ""

    /// Parses a document; nil if it is not well-formed XML, or declares entities.
    init?(_ bytes: [UInt8]) {
        guard let parser = XML_ParserCreate("UTF-8") else { return nil }
        defer { XML_ParserFree(parser) }
        let state = State()
        // SAFETY: `state` and the bytes outlive the call, and Expat calls back on this thread only.
        XML_SetUserData(parser, Unmanaged.passUnretained(state).toOpaque())
        XML_SetElementHandler(parser, { context, name, _ in State.of(context).begin(String(cString: name!)) }, { context, _ in State.of(context).end() })
        XML_SetCharacterDataHandler(parser) { State.of($0).add(UnsafeRawBufferPointer(start: $1, count: Int($2))) }
        // No S3 answer has a document type. Refuse it, because it could declare entities that expand without limit.
        XML_SetStartDoctypeDeclHandler(parser) { context, _, _, _, _ in State.of(context).hasDoctype = true }
        let isWellFormed = bytes.withUnsafeBytes { buffer in
            XML_Parse(parser, buffer.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(clamping: buffer.count), 1) == XML_STATUS_OK
        }
        guard isWellFormed, !state.hasDoctype else { return nil }
        self = state.listing
    }

    private init() {}

    private final class State {
        var listing = ObjectListing()
        var hasDoctype = false
        private var path: [String] = []
        private var text: [UInt8] = []
        private var object = Object()
        private var upload = (key: "", id: "", initiated: "")

        static func of(_ context: UnsafeMutableRawPointer?) -> State { Unmanaged<State>.fromOpaque(context!).takeUnretainedValue() }

        func begin(_ name: String) {
            // Ignore the namespace prefix.
            let name = name.exact.split(separator: ":").last ?? name
            if path.isEmpty { listing.root = name }
            path.append(name)
            text = []
            if name == "Contents" { object = Object() }
            if name == "Upload" { upload = ("", "", "") }
        }

        func add(_ bytes: UnsafeRawBufferPointer) {
            if text.count + bytes.count <= 16 << 10 { text.append(contentsOf: bytes) }
        }

        func end() {
            let value = String(decoding: text, as: UTF8.self)
            switch (path.count, path.last) {
            case (3, "Key") where path[1] == "Contents": object.key = value
            case (3, "Size") where path[1] == "Contents": object.byteCount = Int(value) ?? -1
            case (3, "LastModified") where path[1] == "Contents": object.modified = value
            case (3, "Prefix") where path[1] == "CommonPrefixes": listing.folders.append(value)
            case (2, "Contents"): listing.objects.append(object)
            case (3, "Key") where path[1] == "Upload": upload.key = value
            case (3, "UploadId") where path[1] == "Upload": upload.id = value
            case (3, "Initiated") where path[1] == "Upload": upload.initiated = value
            case (2, "Upload"): listing.uploads.append(upload)
            case (3, "Key") where path[1] == "Error": listing.unremoved.append(value)
            case (2, "IsTruncated"): listing.isTruncated = value == "true"
            case (2, "NextContinuationToken"): listing.nextToken = value
            case (2, "NextKeyMarker"): listing.nextUpload.key = value
            case (2, "NextUploadIdMarker"): listing.nextUpload.id = value
            case (2, "Code"): listing.errorCode = value
            case (2, "Message"): listing.message = value
            case (2, "Region"): listing.region = value
            case (2, "ETag"): listing.tag = value
            case (2, "UploadId"): listing.uploadID = value
            default: break
            }
            path.removeLast()
            text = []
        }
    }
}

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
