import CExpat

/// A page of an S3 listing, or another small XML answer, parsed by Expat.
///
/// Shape: the texts of the elements of a listing, an error, a removal or a multipart upload; other elements are skipped.
struct ObjectListing {
    struct Object: Hashable {
        var key = ""
        var byteCount = 0
        /// The time of the last change as RFC 3339 text; empty if the server did not send it.
        var modified = ""
        /// The entity tag with its quotation marks; empty if the server did not send it.
        var tag = ""
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

    /// Whether Expat is installed.
    static var canRead: Bool { snapsync_expat_load() == 1 }

    /// Parses a document; nil if it is not well-formed XML, or declares entities.
    init?(_ bytes: [UInt8]) {
        guard Self.canRead else { return nil }
        let state = State()
        var handlers = snapsync_expat_handlers(
            begin: { context, name in Unmanaged<State>.fromOpaque(context!).takeUnretainedValue().begin(String(cString: name!)) },
            end: { context in Unmanaged<State>.fromOpaque(context!).takeUnretainedValue().end() },
            text: { context, text, count in
                Unmanaged<State>.fromOpaque(context!).takeUnretainedValue().add(UnsafeRawBufferPointer(start: text, count: Int(count)))
            },
            // No S3 answer has a document type. Refuse it, because it could declare entities that expand without limit.
            doctype: { context in Unmanaged<State>.fromOpaque(context!).takeUnretainedValue().hasDoctype = true })
        // SAFETY: `state` and the bytes outlive the call, and Expat calls back on this thread only.
        let isWellFormed = bytes.withUnsafeBytes { buffer in
            snapsync_expat_parse(
                buffer.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(clamping: buffer.count), &handlers,
                Unmanaged.passUnretained(state).toOpaque()) == 1
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

        func begin(_ name: String) {
            // Ignore the namespace prefix.
            let name = name.split(separator: ":").last.map(String.init) ?? name
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
            case (3, "ETag") where path[1] == "Contents": object.tag = value
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
