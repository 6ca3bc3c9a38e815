import CExpat
import StrictText

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
