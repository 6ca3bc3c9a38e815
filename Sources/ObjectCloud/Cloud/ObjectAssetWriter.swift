import CloudStore
import CommitLog
import Foundation

/// Writes one asset into a bucket: one PUT of a small one, a multipart upload of a large one.
///
/// Memory: one part. Nothing is visible before ``finish(rawByteCount:)``: the parts of an upload are no object yet.
final class ObjectAssetWriter: AssetWriter {
    /// How many bytes a part has; also how many are kept before an upload begins.
    static let partBytes = 16 << 20

    private enum State {
        case collecting
        case uploading(id: String, tags: [String])
        case ended
    }

    private let zone: ObjectZone
    private let path: AssetPath
    private var state = State.collecting
    private var part: [UInt8] = []
    private var hash = ContentHash()
    private var byteCount = 0
    private var index: Data?

    private var place: String { zone.path(path.path) }

    init(_ path: AssetPath, in zone: ObjectZone) {
        self.path = path
        self.zone = zone
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws {
        try verifyOpen()
        hash.update(bytes)
        byteCount += bytes.count
        var rest = bytes[...]
        while !rest.isEmpty {
            let taken = rest.prefix(Self.partBytes - part.count)
            part.append(contentsOf: taken)
            rest = rest.dropFirst(taken.count)
            if part.count == Self.partBytes, !rest.isEmpty { try sendPart() }
        }
    }

    func setIndex(_ index: Data) throws {
        try verifyOpen()
        guard self.index == nil, index.count <= CloudRecord.indexByteLimit else {
            throw CloudError(.invalidArguments, at: path.indexPath, "a second index, or one of more than \(CloudRecord.indexByteLimit) bytes")
        }
        self.index = index
    }

    func finish(rawByteCount: Int) throws -> CloudAsset {
        try verifyOpen()
        // Before the asset: whoever finds an asset finds its index.
        if let index, try zone.client.put(Array(index), as: zone.path(path.indexPath)) == .taken { throw taken() }
        switch state {
        case .uploading:
            try sendPart()
            try complete()
        default:
            if try zone.client.put(part, as: place) == .taken { throw taken() }
        }
        state = .ended
        part = []
        return CloudAsset(
            path: path.path, byteCount: byteCount, rawByteCount: rawByteCount, sha256: hash.hex,
            index: index.map { CloudAssetIndex(byteCount: $0.count, sha256: ContentHash.of($0)) })
    }

    func abandon() {
        if case .uploading(let id, _) = state { try? zone.client.abandon(id, of: place) }
        state = .ended
        part = []
    }

    private func verifyOpen() throws(CloudError) {
        if case .ended = state { throw CloudError(.invalidArguments, at: path.path, "the asset is finished or was abandoned") }
    }

    private func taken() -> CloudError {
        // Eight random digits are in the name.
        CloudError(.inputOutput, at: place, "an object of that name is there already", hint: "try again", isRetryable: true)
    }

    /// Sends the part that is collected. The first one begins the upload.
    private func sendPart() throws {
        var (id, tags) = ("", [String]())
        if case .uploading(let known, let sent) = state { (id, tags) = (known, sent) } else { id = try begin() }
        state = .uploading(id: id, tags: tags)
        let answer = try zone.client.repeating(
            "PUT", place, query: [("partNumber", String(tags.count + 1)), ("uploadId", id)], headers: [("content-md5", ObjectClient.md5(part))], body: part,
            limit: 64 << 10)
        guard answer.status == 200, let tag = answer.headers["etag"] else { throw zone.client.failure(answer, at: place) }
        state = .uploading(id: id, tags: tags + [tag])
        part.removeAll(keepingCapacity: true)
    }

    private func begin() throws(CloudError) -> String {
        let answer = try zone.client.repeating("POST", place, query: [("uploads", "")], limit: 64 << 10)
        guard answer.status == 200, let id = ObjectListing(answer.body)?.uploadID, !id.isEmpty else { throw zone.client.failure(answer, at: place) }
        return id
    }

    /// Makes an object of the parts. Some servers ignore the condition here, so the name is looked at first.
    private func complete() throws {
        guard case .uploading(let id, let tags) = state else { return }
        guard try zone.client.size(of: place) == nil else { throw taken() }
        let parts = tags.enumerated().map { "<Part><PartNumber>\($0.offset + 1)</PartNumber><ETag>\(Self.escaped($0.element))</ETag></Part>" }.joined()
        let body = Array("<CompleteMultipartUpload>\(parts)</CompleteMultipartUpload>".utf8)
        let answer: ObjectResponse
        do throws(CloudError) {
            answer = try zone.client.once("POST", place, query: [("uploadId", id)], headers: [("if-none-match", "*")], body: body, limit: 64 << 10)
        } catch {
            // The name has eight random digits: an object of this size there is this one.
            guard error.isRetryable, try zone.client.size(of: place) == byteCount else { throw error }
            return
        }
        // An error may come with status 200, after the server has begun to answer.
        if answer.status == 200, ObjectListing(answer.body)?.errorCode == nil { return }
        guard answer.status >= 500 || answer.status == 200 || answer.status == 409, try zone.client.size(of: place) == byteCount else {
            throw zone.client.failure(answer, at: place)
        }
    }

    private static func escaped(_ text: String) -> String {
        text.replacingOccurrences(of: "&", with: "&amp;").replacingOccurrences(of: "<", with: "&lt;").replacingOccurrences(of: "\"", with: "&quot;")
    }
}
