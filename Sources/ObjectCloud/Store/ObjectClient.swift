package import CloudStore
import Crypto
import Foundation
package import StrictText
import Synchronization

/// The client of one bucket of an object store: reads, listings, and puts that never replace an object.
///
/// Every PUT carries `If-None-Match: *`. If its outcome is unknown (a cut connection, 409, 5xx), the client reads the key back. Requests
/// that may be repeated are retried with growing pauses. All calls are synchronous and may come from several threads at once.
package final class ObjectClient: Sendable {
    package let location: BucketLocation
    let transport: any ObjectTransport
    private let provider: any CredentialsProvider
    private let retry: RetryPolicy
    private let now: @Sendable () -> Instant
    private let meter: RequestMeter
    private let state = Mutex(State())

    private struct State {
        /// The server's clock minus this machine's, in microseconds; nil before the first answer.
        var clockOffset: Int64?
    }

    /// How often a request is retried, and after which pauses.
    package static let standardRetry = RetryPolicy(attempts: 6, firstDelay: .milliseconds(100), longestDelay: .seconds(5))

    package init(
        _ location: BucketLocation, transport: any ObjectTransport, credentials: any CredentialsProvider, retry: RetryPolicy = standardRetry,
        meter: RequestMeter = RequestMeter(), now: @escaping @Sendable () -> Instant = { .now }
    ) {
        self.location = location
        self.transport = transport
        self.provider = credentials
        self.retry = retry
        self.meter = meter
        self.now = now
    }

    /// How many requests one call sends in parallel.
    static let width = 8

    /// The requests and bytes so far.
    package var usage: RequestUsage { meter.usage }

    /// The server's clock, to the second, from its last answer; this machine's clock before the first answer.
    package var clock: Instant { now().advanced(byMicroseconds: state.withLock { $0.clockOffset } ?? 0) }

    /// How far the server's clock is ahead of this machine's, in seconds.
    package var clockOffset: Double { Double(state.withLock { $0.clockOffset } ?? 0) / 1_000_000 }

    // MARK: Reading

    /// The bytes of an object; nil if there is none.
    ///
    /// - Parameter limit: the largest accepted object, in bytes.
    package func get(_ path: String, limit: Int) throws(CloudError) -> [UInt8]? {
        let answer = try repeating("GET", path, limit: limit)
        switch answer.status {
        case 200: return answer.body
        case 404 where try isAbsence(answer): return nil
        default: throw failure(answer, at: path)
        }
    }

    /// Returns up to `count` bytes of an object from `offset` on, and the object's size; nil if there is no such object.
    ///
    /// Fewer bytes are returned if the object ends before that.
    package func get(_ path: String, offset: Int, count: Int) throws(CloudError) -> (bytes: [UInt8], size: Int)? {
        let answer = try repeating("GET", path, headers: [("range", "bytes=\(offset)-\(offset + count - 1)")], limit: count)
        switch answer.status {
        // Some servers send a range with status 200.
        case 206,
            200 where answer.headers["content-range"] != nil:
            guard let range = answer.headers["content-range"], range.exact.hasPrefix("bytes \(offset)-"),
                let size = range.exact.split(separator: "/").last.flatMap({ Int($0) })
            else { throw notAStore(path) }
            return (answer.body, size)
        // A server may send the whole object with status 200 if the range covers all of it.
        case 200 where offset == 0: return (answer.body, answer.body.count)
        case 404 where try isAbsence(answer): return nil
        case 416: throw CloudError(.damaged, at: path, "the object ends before byte \(offset)", hint: "bring it back from a copy", isRetryable: true)
        default: throw failure(answer, at: path)
        }
    }

    /// The size of an object; nil if there is none.
    package func size(of path: String) throws(CloudError) -> Int? {
        let answer = try repeating("HEAD", path, limit: 0)
        switch answer.status {
        case 200:
            guard let text = answer.headers["content-length"], let size = Int(text) else {
                throw CloudError(.cloudUnavailable, at: path, "the server's answer has no length", hint: "see docs/object-store.md for servers that work")
            }
            return size
        case 404: return nil
        default: throw failure(answer, at: path)
        }
    }

    /// Ends an upload and removes its parts. Does nothing if the upload is gone.
    package func abandon(_ id: String, of path: String) throws(CloudError) {
        let answer = try repeating("DELETE", path, query: [("uploadId", id)], limit: 64 << 10)
        guard [200, 202, 204, 404].contains(answer.status) else { throw failure(answer, at: path) }
    }

    // MARK: Writing

    /// Stores an object if its path is free.
    ///
    /// - Throws: ``CloudError``; `.serverResponseLost` if it is unknown whether the object is stored, or will be.
    package func put(_ bytes: [UInt8], as path: String) throws(CloudError) -> Placement {
        var wasTried = false
        var last: CloudError?
        for attempt in 1...retry.attempts {
            let answer: ObjectResponse
            do throws(CloudError) {
                answer = try once("PUT", path, headers: [("if-none-match", "*"), ("content-md5", Self.md5(bytes))], body: bytes, limit: 64 << 10)
            } catch {
                guard error.isRetryable else { throw wasTried ? .unknownOutcome(at: path, error.reason) : error }
                last = error
                // If the server was not reached, nothing was sent.
                if error.code != .cloudUnavailable {
                    wasTried = true
                    if let found = try standing(bytes, at: path, mayCome: wasTried) { return found }
                }
                retry.pause(after: attempt, error.retryAfter)
                continue
            }
            switch answer.status {
            case 200, 201, 204:
                try verifyTag(answer, of: bytes, at: path)
                return .placed
            case 412:
                // The bytes may be ours, from an attempt of this call whose outcome was unknown, or from an earlier call.
                if let found = try standing(bytes, at: path, mayCome: wasTried) { return found == .placed && !wasTried ? .wasThere : found }
                last = CloudError(.inputOutput, at: path, "the object was there, and is gone", isRetryable: true)
            case 408, 409, 429, 500, 502...599:
                last = failure(answer, at: path)
                wasTried = true
                if let found = try standing(bytes, at: path, mayCome: wasTried) { return found }
                retry.pause(after: attempt, Self.retryAfter(answer))
            default:
                let failure = failure(answer, at: path)
                // An earlier attempt may have succeeded, or may still do so.
                throw wasTried ? .unknownOutcome(at: path, failure.reason) : failure
            }
        }
        throw .unknownOutcome(at: path, last?.reason ?? "no answer")
    }

    /// Reads a key back: `.placed` if it has these bytes, `.taken` if it has others, nil if there is no object.
    private func standing(_ bytes: [UInt8], at path: String, mayCome: Bool) throws(CloudError) -> Placement? {
        do throws(CloudError) {
            guard let found = try get(path, limit: bytes.count) else { return nil }
            return found == bytes ? .placed : .taken
        } catch {
            // A longer object is another writer's.
            if error.code == .limitExceeded { return .taken }
            throw error.isRetryable || mayCome ? .unknownOutcome(at: path, error.reason) : error
        }
    }

    /// Removes an object. Does nothing if it is not there.
    package func remove(_ path: String) throws(CloudError) {
        let answer = try repeating("DELETE", path, limit: 64 << 10)
        guard [200, 202, 204, 404].contains(answer.status) else { throw failure(answer, at: path) }
    }

    /// How many objects one request removes.
    private static let removalLimit = 1000

    /// Removes objects, the first ones first: with one request for each thousand, or one by one if the server does not know that request.
    package func remove(_ paths: [String]) throws(CloudError) {
        for start in stride(from: 0, to: paths.count, by: Self.removalLimit) {
            let some = Array(paths[start..<min(start + Self.removalLimit, paths.count)])
            for path in try some.count > 1 ? unremoved(of: some) : some { try remove(path) }
        }
    }

    /// Removes objects with one request. Returns those that are to be removed one by one, and then say why they cannot be.
    private func unremoved(of paths: [String]) throws(CloudError) -> [String] {
        // Keys have no characters that XML has a meaning for (``BucketLocation``, `CloudNames`).
        let body = Array("<Delete><Quiet>true</Quiet>\(paths.map { "<Object><Key>\(location.key($0))</Key></Object>" }.joined())</Delete>".utf8)
        let answer = try repeating("POST", nil, query: [("delete", "")], headers: [("content-md5", Self.md5(body))], body: body, limit: 8 << 20)
        guard answer.status == 200, let result = ObjectListing(answer.body), result.root == "DeleteResult" else { return paths }
        let failed = Set(result.unremoved)
        return paths.filter { failed.contains(location.key($0)) }
    }

    // MARK: One request

    /// Sends a request, and repeats it on transient failures. Only for requests that may be repeated.
    package func repeating(
        _ method: String, _ path: String?, query: [(name: String, value: String)] = [], headers: [(name: String, value: String)] = [], body: [UInt8] = [],
        limit: Int
    ) throws(CloudError) -> ObjectResponse {
        for attempt in 1...retry.attempts {
            let isLast = attempt == retry.attempts
            do throws(CloudError) {
                let answer = try once(method, path, query: query, headers: headers, body: body, limit: limit)
                guard [408, 409, 429, 500, 502, 503, 504].contains(answer.status), !isLast else { return answer }
                retry.pause(after: attempt, Self.retryAfter(answer))
            } catch {
                guard error.isRetryable, !isLast else { throw error }
                retry.pause(after: attempt, nil)
            }
        }
        throw CloudError(.cloudUnavailable, at: path ?? location.bucket, "no attempt was made", isRetryable: true)
    }

    /// Sends a request once. Repeats it only if the server refuses the signature's time or expired credentials.
    package func once(
        _ method: String, _ path: String?, query: [(name: String, value: String)] = [], headers: [(name: String, value: String)] = [], body: [UInt8] = [],
        limit: Int
    ) throws(CloudError) -> ObjectResponse {
        let answer = try signed(method, path, query: query, headers: headers, body: body, limit: limit)
        guard answer.status == 403 || answer.status == 400, let code = ObjectListing(answer.body)?.errorCode else { return answer }
        switch code {
        // This answer has already corrected the clock.
        case "RequestTimeTooSkewed", "RequestExpired": return try signed(method, path, query: query, headers: headers, body: body, limit: limit)
        case "ExpiredToken", "ExpiredTokenException":
            provider.forget()
            return try signed(method, path, query: query, headers: headers, body: body, limit: limit)
        default: return answer
        }
    }

    private func signed(
        _ method: String, _ path: String?, query: [(name: String, value: String)], headers: [(name: String, value: String)], body: [UInt8], limit: Int
    ) throws(CloudError) -> ObjectResponse {
        let found: ObjectCredentials?
        do { found = try provider.credentials() } catch let error as CloudError { throw error } catch {
            throw CloudError(.permissionFailure, at: location.bucket, "the credentials cannot be read")
        }
        guard let credentials = found else {
            throw CloudError(
                .permissionFailure, at: location.bucket, "there are no credentials for the object store",
                hint: "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, for the user that runs snapsync")
        }
        let address = location.address(of: path.map { location.key($0) } ?? "")
        let signature = RequestSignature(credentials, region: location.signingRegion)
        let sent = clock
        let all = signature.headers(
            method: method, host: address.host, path: address.path, query: query, headers: headers, bodyHash: ContentHash.of(body), at: sent)
        // All headers are signed, including the condition. libcurl adds `host`.
        let text = RequestSignature.queryText(query)
        let request = ObjectRequest(
            method: method, url: "\(location.server.scheme)://\(address.host)\(address.path)" + (text.isEmpty ? "" : "?\(text)"), headers: all, body: body,
            responseLimit: limit)
        let answer: ObjectResponse
        do throws(TransportFault) { answer = try transport.send(request) } catch { throw failure(error, at: path) }
        record(method, answer, sent: body.count)
        return answer
    }

    private func record(_ method: String, _ answer: ObjectResponse, sent: Int) {
        let offset = answer.headers["date"].flatMap(HTTPDate.instant).map { $0.microseconds - now().microseconds }
        meter.add(method, sent: sent, received: answer.body.count)
        // The date has no fraction, so a difference below two seconds is not significant.
        if let offset { state.withLock { $0.clockOffset = abs(offset) < 2_000_000 ? 0 : offset } }
    }

    private static func retryAfter(_ answer: ObjectResponse) -> Duration? {
        answer.headers["retry-after"].flatMap { Int($0) }.map { .seconds($0) }
    }

    static func md5(_ bytes: [UInt8]) -> String { Data(Insecure.MD5.hash(data: bytes)).base64EncodedString() }

    /// The MD5 in hexadecimal digits, as in a plain ETag.
    static func md5Hex(_ bytes: [UInt8]) -> String { Hexadecimal.text(Insecure.MD5.hash(data: bytes)) }

    /// Compares a plain ETag, which is the object's MD5. Other ETags, for example of encrypted objects, cannot be compared.
    private func verifyTag(_ answer: ObjectResponse, of bytes: [UInt8], at path: String) throws(CloudError) {
        guard let tag = answer.headers["etag"]?.trimming("\""), tag.utf8.count == 32,
            answer.headers["x-amz-server-side-encryption"].map({ $0 == "AES256" }) ?? true, CloudNames.isHex(tag.utf8)
        else { return }
        guard tag == Self.md5Hex(bytes) else {
            throw CloudError(.damaged, at: path, "the server has stored other bytes than were sent", hint: "check the network and what lies between")
        }
    }
}

extension ObjectClient {
    /// Whether a 404 means that the object is missing, not the bucket.
    func isAbsence(_ answer: ObjectResponse) throws(CloudError) -> Bool { ObjectListing(answer.body)?.errorCode != "NoSuchBucket" }

    func failure(_ fault: TransportFault, at path: String?) -> CloudError {
        let place = location.server.authority
        switch fault.kind {
        case .unreachable:
            return CloudError(
                .cloudUnavailable, at: place, "the server cannot be reached: \(fault.reason)", hint: "check the endpoint and the network", isRetryable: true)
        case .insecure:
            return CloudError(
                .cloudUnavailable, at: place, "the server's certificate is not accepted: \(fault.reason)",
                hint: "name the certificate that signed it with --ca-file, or check the endpoint")
        case .cut:
            return CloudError(.serverResponseLost, at: path ?? place, "the connection ended early: \(fault.reason)", hint: "try again", isRetryable: true)
        case .tooLong:
            return CloudError(.limitExceeded, at: path ?? place, fault.reason, hint: "the object or the server is not one of this location")
        }
    }

    func notAStore(_ place: String) -> CloudError {
        CloudError(
            .cloudUnavailable, at: place.isEmpty ? location.server.authority : place, "the answer is not one of an object store",
            hint: "check the endpoint: something else answers there")
    }

    /// Makes the error for an answer that is not a success.
    func failure(_ answer: ObjectResponse, at path: String, listing: Bool = false) -> CloudError {
        let place = path.isEmpty ? location.bucket : path
        let document = ObjectListing(answer.body)
        let code = document?.errorCode ?? ""
        // Some messages contain keys and tokens, so only the code is quoted.
        let said = code.isEmpty ? "status \(answer.status)" : "\(code) (\(answer.status))"
        switch (answer.status, code) {
        case (_, "NoSuchBucket"):
            return CloudError(.cloudUnavailable, at: location.bucket, "there is no such bucket", hint: "make the bucket, or check its name and the endpoint")
        case (_, "InvalidAccessKeyId"), (_, "SignatureDoesNotMatch"), (_, "InvalidToken"), (_, "ExpiredToken"), (_, "InvalidSecurity"), (401, _):
            return CloudError(
                .permissionFailure, at: location.bucket, "the server does not accept the credentials: \(said)", hint: "check the access key and the secret")
        case (_, "RequestTimeTooSkewed"):
            return CloudError(.clockUnusable, at: location.bucket, "the server finds this machine's clock too far off", hint: "set the clock")
        case (301, _), (307, _), (_, "PermanentRedirect"), (_, "AuthorizationHeaderMalformed"), (_, "IllegalLocationConstraintException"):
            let region = answer.headers["x-amz-bucket-region"] ?? document?.region
            return CloudError(
                .invalidArguments, at: location.bucket,
                region.map { "the bucket is in the region \($0), not \(location.signingRegion)" } ?? "the bucket is elsewhere: \(said)",
                hint: region.map { "say --region \($0)" } ?? "check --region and --endpoint")
        case (403, _):
            return CloudError(
                .permissionFailure, at: place, listing ? "the credentials may not list the bucket: \(said)" : "the credentials may not do this: \(said)",
                hint: listing
                    ? "grant s3:ListBucket on the bucket" : "grant s3:GetObject and s3:PutObject on the prefix, and s3:ListBucket on the bucket")
        case (429, _), (503, "SlowDown"):
            return CloudError(.requestRateLimited, at: place, "the server asks to slow down", hint: "try again later", isRetryable: true)
        case (507, _), (_, "QuotaExceeded"): return CloudError(.quotaExceeded, at: place, "the store has no room: \(said)", hint: "make room")
        case (501, _), (_, "NotImplemented"):
            return CloudError(
                .incompatibleVersion, at: place, "the server does not know a request that is needed: \(said)",
                hint: "see docs/object-store.md for servers that work")
        case (408, _), (409, _), (500...599, _):
            return CloudError(.cloudUnavailable, at: place, "the server is in trouble: \(said)", hint: "try again later", isRetryable: true)
        default: return document == nil ? notAStore(place) : CloudError(.inputOutput, at: place, "the server refused the request: \(said)")
        }
    }
}

/// The date of an HTTP header (RFC 9110): `Sun, 06 Nov 1994 08:49:37 GMT`.
enum HTTPDate {
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// The instant; nil for other text.
    static func instant(_ text: String) -> Instant? {
        let parts = text.exact.split(separator: " ")
        guard parts.count == 6, parts[5] == "GMT", parts[1].count == 2, parts[3].count == 4, parts[4].count == 8,
            let month = months.firstIndex(of: String(parts[2]))
        else { return nil }
        return try? Instant(parsing: "\(parts[3])-\(month < 9 ? "0" : "")\(month + 1)-\(parts[1])T\(parts[4])Z")
    }
}
