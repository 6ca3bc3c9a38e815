import CloudStore
import Crypto
import Foundation
import StrictText

/// Writes one asset to a bucket: a small one with one PUT, a large one with a multipart upload.
///
/// If a large asset of the same bucket contains the same bytes, the server copies them, provided there are enough of them for a part of
/// their own.
///
/// Memory: one part. Nothing is visible before ``finish(rawByteCount:)``: the parts of an upload are not an object yet.
final class ObjectAssetWriter: AssetWriter {
    /// The size of a part; an upload starts when more bytes than this are collected.
    static let partBytes = 12 << 20
    /// The smallest part except for the last one, by S3's rule.
    static let leastPartBytes = 5 << 20
    /// The most bytes that one request copies on the server.
    static let copyBytes = 512 << 20

    private let zone: ZoneID
    private let store: BucketStore
    private var client: ObjectClient { store.client }
    private var draft: AssetDraft
    /// The multipart upload, and the entity tags of the parts that were sent; nil while the first part is collected.
    private var upload: (id: String, tags: [String])?
    private var part: [UInt8] = []
    /// The end of the collected bytes if another asset contains it too: the first such byte of `part`, and its offset in the other asset.
    private var run: (asset: ObjectAssetReader, begin: Int, offset: Int)?
    /// The range that the server copies as the next part; while it is set, `part` is empty.
    private var copy: Copy?
    private var mayCopy = true

    private var place: String { "\(zone)/\(draft.path.path)" }

    init(_ path: AssetPath, in zone: ZoneID, of store: BucketStore) { (draft, self.zone, self.store) = (AssetDraft(path), zone, store) }

    /// A range of another asset, and the MD5 of the bytes that the caller has read and verified there.
    private struct Copy {
        let asset: ObjectAssetReader
        let offset: Int
        var count = 0
        var md5 = Insecure.MD5()

        mutating func append(_ bytes: UnsafeRawBufferPointer) {
            md5.update(bufferPointer: bytes)
            count += bytes.count
        }
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws {
        try draft.verifyOpen()
        try sendCopy()
        run = nil
        try append(bytes)
    }

    func write(_ bytes: UnsafeRawBufferPointer, copying other: any AssetReader, at offset: Int) throws {
        guard mayCopy, let other = other as? ObjectAssetReader, other.byteCount > Self.partBytes, other.isIn(store) else { return try write(bytes) }
        try draft.verifyOpen()
        if let open = copy {
            if open.asset === other, open.offset + open.count == offset, open.count + bytes.count <= Self.copyBytes {
                try draft.add(bytes)
                copy?.append(bytes)
                return
            }
            try sendCopy()
        }
        let continues = run.map { $0.asset === other && $0.offset + part.count - $0.begin == offset } ?? false
        if !continues { run = (other, part.count, offset) }
        try append(bytes)
        guard let found = run else { return }
        // The bytes before the run become a part of their own. If there are too few of them, bytes from the run fill it up.
        let literal = found.begin == 0 ? 0 : max(found.begin, Self.leastPartBytes)
        guard part.count - literal >= Self.leastPartBytes else { return }
        var begun = Copy(asset: other, offset: found.offset + literal - found.begin)
        part[literal...].withUnsafeBytes { begun.append($0) }
        part.removeSubrange(literal...)
        run = nil
        if literal > 0 { try sendPart() }
        copy = begun
    }

    private func append(_ bytes: UnsafeRawBufferPointer) throws {
        try draft.add(bytes)
        var rest = bytes[...]
        while !rest.isEmpty {
            let taken = rest.prefix(Self.partBytes - part.count)
            part.append(contentsOf: taken)
            rest = rest.dropFirst(taken.count)
            if part.count == Self.partBytes, !rest.isEmpty {
                try sendPart()
                run = nil
            }
        }
    }

    func setIndex(_ index: Data) throws { try draft.setIndex(index) }

    func finish(rawByteCount: Int) throws -> CloudAsset {
        try draft.verifyOpen()
        try sendCopy()
        // The commit that names both objects is published later, so their order does not matter.
        let indexPath = "\(zone)/\(draft.path.indexPath)"
        var puts: [(path: String, bytes: [UInt8])] = draft.index.map { [(indexPath, Array($0))] } ?? []
        if upload == nil { puts.append((place, part)) }
        let placements = try store.results(of: puts.map { one in { [client] in try client.put(one.bytes, as: one.path) } })
        if placements.contains(.taken) { throw AssetDraft.isTaken(at: place) }
        if upload != nil {
            if !part.isEmpty { try sendPart() }
            try complete()
        }
        upload = nil
        abandon()
        return draft.asset(rawByteCount: rawByteCount)
    }

    func abandon() {
        if let upload { try? client.abandon(upload.id, of: place) }
        draft.end()
        part = []
        (upload, run, copy) = (nil, nil, nil)
    }

    /// Sends the collected part.
    private func sendPart() throws {
        let answer = try send([("content-md5", ObjectClient.md5(part))], part)
        guard answer.status == 200, let tag = answer.headers["etag"] else { throw client.failure(answer, at: place) }
        upload?.tags.append(tag)
        part.removeAll(keepingCapacity: true)
    }

    /// Sends the request for the next part. The first part starts the upload.
    private func send(_ headers: [(name: String, value: String)], _ body: [UInt8] = []) throws -> ObjectResponse {
        let open = try upload ?? (id: begin(), tags: [])
        upload = open
        return try client.repeating(
            "PUT", place, query: [("partNumber", String(open.tags.count + 1)), ("uploadId", open.id)], headers: headers, body: body, limit: 64 << 10)
    }

    /// Lets the server copy the pending range. If the server does not support that, reads the range and sends it.
    private func sendCopy() throws {
        guard let copy else { return }
        self.copy = nil
        let answer = try send([
            ("x-amz-copy-source", client.location.copySource(of: copy.asset.place)),
            ("x-amz-copy-source-range", "bytes=\(copy.offset)-\(copy.offset + copy.count - 1)"),
        ])
        let document = ObjectListing(answer.body)
        if answer.status == 200, document?.errorCode == nil, let tag = document?.tag {
            let plain = tag.filter { $0 != "\"" }
            // A plain ETag is the part's MD5.
            guard plain.utf8.count != 32 || !CloudNames.isHex(plain.utf8) || plain == Hexadecimal.text(copy.md5.finalize()) else {
                throw CloudError(
                    .damaged, at: place, "the server has copied other bytes of \(copy.asset.place) than were read there",
                    hint: "somebody replaces objects; run snapsync check", isRetryable: true)
            }
            upload?.tags.append(tag)
            return
        }
        guard [200, 400, 403, 404, 405, 501].contains(answer.status) else { throw client.failure(answer, at: place) }
        mayCopy = false
        var offset = copy.offset, md5 = Insecure.MD5()
        while offset < copy.offset + copy.count {
            let count = min(Self.partBytes, copy.offset + copy.count - offset)
            part = try [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
                try copy.asset.read(into: UnsafeMutableRawBufferPointer(buffer), at: offset)
                filled = count
            }
            md5.update(data: part)
            offset += count
            // Keep the last bytes until more follow, so that no part is too small.
            if count == Self.partBytes { try sendPart() }
        }
        guard md5.finalize() == copy.md5.finalize() else {
            throw CloudError(.damaged, at: copy.asset.place, "the object was replaced while it was read", hint: "run the same command again", isRetryable: true)
        }
    }

    private func begin() throws(CloudError) -> String {
        let answer = try client.repeating("POST", place, query: [("uploads", "")], limit: 64 << 10)
        guard answer.status == 200, let id = ObjectListing(answer.body)?.uploadID, !id.isEmpty else { throw client.failure(answer, at: place) }
        return id
    }

    /// Turns the parts into an object. Some servers ignore the condition in this request, so check first that the name is free.
    private func complete() throws {
        guard let upload else { return }
        guard try client.size(of: place) == nil else { throw AssetDraft.isTaken(at: place) }
        let parts = upload.tags.enumerated().map { "<Part><PartNumber>\($0.offset + 1)</PartNumber><ETag>\(Self.escaped($0.element))</ETag></Part>" }.joined()
        let body = Array("<CompleteMultipartUpload>\(parts)</CompleteMultipartUpload>".utf8)
        let answer: ObjectResponse
        do throws(CloudError) {
            answer = try client.once("POST", place, query: [("uploadId", upload.id)], headers: [("if-none-match", "*")], body: body, limit: 64 << 10)
        } catch {
            // The name contains eight random digits, so an object of this name and size is this one.
            guard error.isRetryable, try client.size(of: place) == draft.byteCount else { throw error }
            return
        }
        // An error can come with status 200 if it occurs after the server has started to answer.
        if answer.status == 200, ObjectListing(answer.body)?.errorCode == nil { return }
        guard answer.status >= 500 || answer.status == 200 || answer.status == 409, try client.size(of: place) == draft.byteCount else {
            throw client.failure(answer, at: place)
        }
    }

    private static func escaped(_ text: String) -> String {
        text.escaping { byte in
            switch byte {
            case UInt8(ascii: "&"): "&amp;"
            case UInt8(ascii: "<"): "&lt;"
            default: nil
            }
        }
    }
}
