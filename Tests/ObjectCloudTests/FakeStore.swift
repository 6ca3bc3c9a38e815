import CloudStore
import Foundation
import StrictText
import Synchronization

@testable import ObjectCloud

/// An object store with S3's interface in this process: objects, conditional PUTs, ranges, listings in pages, multipart uploads.
///
/// `fault` is asked before each request and may change what happens.
final class FakeStore: ObjectTransport {
    /// What goes wrong with one request.
    enum Fault: Sendable {
        /// The request does not arrive.
        case lostBefore
        /// The request is done, and the answer does not arrive.
        case lostAfter
        /// The request is not done, and this is the answer.
        case refused(Int, code: String, headers: [String: String] = [:])
        /// The request is done, and this is the answer all the same.
        case doneBut(Int, code: String)
        /// The answer has this body.
        case body([UInt8])
    }

    struct State {
        var objects: [String: [UInt8]] = [:]
        /// When each object was written.
        var written: [String: Instant] = [:]
        var uploads: [String: [Int: [UInt8]]] = [:]
        /// The key of each upload.
        var uploadKeys: [String: String] = [:]
        var requests: [ObjectRequest] = []
        /// Requests whose client gave up and that are done when the next one comes.
        var late: [ObjectRequest] = []
    }

    let state = Mutex(State())
    /// How many objects a page of a listing has.
    let pageLimit: Int
    private let ignoresCondition: Bool
    /// Whether the server does not know removals of several objects.
    private let isOld: Bool
    private let date: @Sendable () -> String
    private let fault: @Sendable (ObjectRequest) -> Fault?

    init(
        pageLimit: Int = 1000, ignoresCondition: Bool = false, isOld: Bool = false, fault: @escaping @Sendable (ObjectRequest) -> Fault? = { _ in nil },
        date: @escaping @Sendable () -> String = FakeStore.now
    ) {
        self.pageLimit = pageLimit
        self.ignoresCondition = ignoresCondition
        self.isOld = isOld
        self.date = date
        self.fault = fault
    }

    static func now() -> String { text(of: Date()) }

    static func text(of date: Date) -> String {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(identifier: "GMT")
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        return formatter.string(from: date)
    }

    /// A client of the store that does not wait.
    func client(prefix: String = "app", attempts: Int = ObjectClient.standardRetry.attempts) throws -> ObjectClient {
        var retry = ObjectClient.standardRetry
        retry.attempts = attempts
        retry.sleep = { _ in }
        return ObjectClient(
            try BucketLocation("s3://team-data/\(prefix)?endpoint=http://127.0.0.1:9"), transport: self,
            credentials: FixedCredentials(ObjectCredentials(accessKey: "AKIDEXAMPLE", secretKey: "canary")), retry: retry)
    }

    var requests: [ObjectRequest] { state.withLock { $0.requests } }

    func send(_ request: ObjectRequest) throws(TransportFault) -> ObjectResponse {
        state.withLock { $0.requests.append(request) }
        let fault = fault(request)
        switch fault {
        case .lostBefore: throw TransportFault(.cut, "the connection was reset")
        case .refused(let status, let code, let headers): return answer(status, error(code), headers)
        default: break
        }
        let done = state.withLock { serve(request, &$0) }
        switch fault {
        case .lostAfter: throw TransportFault(.cut, "the connection was reset")
        case .doneBut(let status, let code): return answer(status, error(code))
        case .body(let bytes): return answer(done.status, bytes, done.headers)
        default: break
        }
        guard done.body.count <= max(request.responseLimit, 64 << 10) else { throw TransportFault(.tooLong, "the answer is too long") }
        return done
    }

    private func answer(_ status: Int, _ body: [UInt8] = [], _ headers: [String: String] = [:]) -> ObjectResponse {
        ObjectResponse(status: status, headers: headers.merging(["date": date()]) { first, _ in first }, body: body)
    }

    private func error(_ code: String) -> [UInt8] { code.isEmpty ? [] : Array("<Error><Code>\(code)</Code><Message>m</Message></Error>".utf8) }

    private func serve(_ request: ObjectRequest, _ state: inout State) -> ObjectResponse {
        let parts = URLComponents(string: request.url)!
        let query = Dictionary((parts.queryItems ?? []).map { ($0.name, $0.value ?? "") }, uniquingKeysWith: { first, _ in first })
        let path = parts.path.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: true).map(String.init)
        guard path.first == "team-data" else { return answer(404, error("NoSuchBucket")) }
        let key = path.count > 1 ? path[1] : ""
        let headers = Dictionary(request.headers.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
        switch request.method {
        case "PUT":
            if let id = query["uploadId"], let number = Int(query["partNumber"] ?? ""), let source = headers["x-amz-copy-source"] {
                guard let found = state.objects[String(source.dropFirst("/team-data/".count))] else { return answer(404, error("NoSuchKey")) }
                let bounds = headers["x-amz-copy-source-range"]!.dropFirst("bytes=".count).split(separator: "-").compactMap { Int($0) }
                let bytes = Array(found[bounds[0]...bounds[1]])
                state.uploads[id]?[number] = bytes
                return answer(200, Array("<CopyPartResult><ETag>\"\(ObjectClient.md5Hex(bytes))\"</ETag></CopyPartResult>".utf8))
            }
            if let id = query["uploadId"], let number = Int(query["partNumber"] ?? "") {
                state.uploads[id]?[number] = request.body
                return answer(200, [], ["etag": "\"part-\(number)\""])
            }
            if headers["if-none-match"] == "*", !ignoresCondition, state.objects[key] != nil { return answer(412, error("PreconditionFailed")) }
            state.objects[key] = request.body
            state.written[key] = .now
            return answer(200, [], ["etag": "\"\(ObjectClient.md5Hex(request.body))\""])
        case "POST":
            if query.keys.contains("uploads") {
                let id = "upload-\(state.uploads.count + 1)"
                state.uploads[id] = [:]
                state.uploadKeys[id] = key
                return answer(200, Array("<InitiateMultipartUploadResult><UploadId>\(id)</UploadId></InitiateMultipartUploadResult>".utf8))
            }
            if query.keys.contains("delete") {
                guard !isOld else { return answer(501, error("NotImplemented")) }
                let body = String(decoding: request.body, as: UTF8.self)
                for match in body.matches(of: /<Key>([^<]*)<\/Key>/) { state.objects[String(match.1)] = nil }
                return answer(200, Array("<DeleteResult/>".utf8))
            }
            guard let id = query["uploadId"], let found = state.uploads.removeValue(forKey: id) else { return answer(404, error("NoSuchUpload")) }
            state.written[key] = .now
            state.objects[key] = found.sorted { $0.key < $1.key }.flatMap(\.value)
            return answer(200, Array("<CompleteMultipartUploadResult/>".utf8))
        case "HEAD":
            guard let object = state.objects[key] else { return answer(404) }
            return answer(200, [], ["content-length": String(object.count)])
        case "DELETE":
            if let id = query["uploadId"] { state.uploads[id] = nil } else { state.objects[key] = nil }
            return answer(204)
        default:
            if query.keys.contains("uploads") { return uploadListing(query, state) }
            return query["list-type"] == "2" ? listing(query, state) : object(key, headers, state)
        }
    }

    private func object(_ key: String, _ headers: [String: String], _ state: State) -> ObjectResponse {
        guard let object = state.objects[key] else { return answer(404, error("NoSuchKey")) }
        guard let range = headers["range"] else { return answer(200, object) }
        let bounds = range.dropFirst("bytes=".count).split(separator: "-").compactMap { Int($0) }
        guard bounds[0] < object.count else { return answer(416, error("InvalidRange")) }
        let end = min(bounds[1], object.count - 1)
        return answer(206, Array(object[bounds[0]...end]), ["content-range": "bytes \(bounds[0])-\(end)/\(object.count)"])
    }

    private func uploadListing(_ query: [String: String], _ state: State) -> ObjectResponse {
        let ids = state.uploads.keys.filter { state.uploadKeys[$0]!.hasPrefix(query["prefix"] ?? "") && $0 > (query["upload-id-marker"] ?? "") }.sorted()
        let page = ids.prefix(pageLimit)
        let uploads = page.map {
            "<Upload><Key>\(state.uploadKeys[$0]!)</Key><UploadId>\($0)</UploadId><Initiated>2026-11-01T00:00:00.000Z</Initiated></Upload>"
        }
        let rest =
            ids.count > page.count
            ? "<IsTruncated>true</IsTruncated><NextKeyMarker>\(state.uploadKeys[page.last!]!)</NextKeyMarker><NextUploadIdMarker>\(page.last!)</NextUploadIdMarker>"
            : ""
        return answer(200, Array("<ListMultipartUploadsResult>\(uploads.joined())\(rest)</ListMultipartUploadsResult>".utf8))
    }

    private func listing(_ query: [String: String], _ state: State) -> ObjectResponse {
        let limit = min(pageLimit, query["max-keys"].flatMap { Int($0) } ?? pageLimit)
        let prefix = query["prefix"] ?? ""
        func folder(_ key: String) -> String? {
            guard query["delimiter"] == "/", let slash = key.dropFirst(prefix.count).firstIndex(of: "/") else { return nil }
            return String(key[...slash])
        }
        let all = Set(state.objects.keys.filter { $0.hasPrefix(prefix) }.map { folder($0) ?? $0 })
        let keys = all.filter { $0 > (query["continuation-token"] ?? "") }.sorted()
        let page = keys.prefix(limit)
        let contents = page.map { key in
            state.objects[key].map {
                "<Contents><Key>\(key)</Key><Size>\($0.count)</Size><ETag>\"\(ObjectClient.md5Hex($0))\"</ETag>"
                    + "<LastModified>\(state.written[key] ?? Instant(microseconds: 0))</LastModified></Contents>"
            } ?? "<CommonPrefixes><Prefix>\(key)</Prefix></CommonPrefixes>"
        }
        let rest = keys.count > page.count ? "<IsTruncated>true</IsTruncated><NextContinuationToken>\(page.last!)</NextContinuationToken>" : ""
        return answer(200, Array("<ListBucketResult>\(contents.joined())\(rest)</ListBucketResult>".utf8))
    }
}

struct FixedCredentials: CredentialsProvider {
    let known: ObjectCredentials?
    init(_ known: ObjectCredentials?) { self.known = known }
    func credentials() -> ObjectCredentials? { known }
}
