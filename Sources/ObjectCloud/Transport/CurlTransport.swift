import CCurl
import StrictText
import Synchronization

/// Sends requests with libcurl's easy interface and keeps connections open between them.
///
/// Memory: one handle for each concurrent request, and the answer's body.
package final class CurlTransport: ObjectTransport {
    /// A request counts as cut after this many seconds without a byte.
    private static let idleSeconds = 30
    private static let isReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    private let certificates: String?
    private let connectSeconds: Int
    private let limitSeconds: Int?
    private let idle = Mutex<[Handle]>([])

    /// - Parameters:
    ///   - certificates: a PEM file with the certificates to trust instead of the system's; nil trusts the system's.
    ///   - connectSeconds: how long opening a connection may take.
    ///   - limitSeconds: how long a whole request may take; nil sets no limit as long as bytes arrive.
    package init(certificates: String? = nil, connectSeconds: Int = 10, limitSeconds: Int? = nil) {
        (self.limitSeconds, self.connectSeconds, self.certificates) = (limitSeconds, connectSeconds, certificates)
    }

    package func send(_ request: ObjectRequest) throws(TransportFault) -> ObjectResponse {
        guard let handle = idle.withLock({ $0.popLast() }) ?? Handle() else {
            throw TransportFault(.unreachable, "libcurl cannot be prepared")
        }
        defer { idle.withLock { $0.append(handle) } }
        return try handle.send(request, certificates: certificates, connectSeconds: connectSeconds, limitSeconds: limitSeconds)
    }

    /// One easy handle with its connections.
    ///
    // SAFETY (@unchecked Sendable): a handle is in the pool or with one caller, never with two.
    private final class Handle: @unchecked Sendable {
        private let curl: UnsafeMutableRawPointer

        init?() {
            guard CurlTransport.isReady, let made = curl_easy_init() else { return nil }
            curl = made
        }

        deinit { curl_easy_cleanup(curl) }

        func send(_ request: ObjectRequest, certificates: String?, connectSeconds: Int, limitSeconds: Int?) throws(TransportFault) -> ObjectResponse {
            curl_easy_reset(curl)
            var headers: UnsafeMutablePointer<curl_slist>?
            defer { curl_slist_free_all(headers) }
            for header in request.headers { headers = curl_slist_append(headers, "\(header.name): \(header.value)") }
            // Without these empty headers, libcurl sends `Expect: 100-continue` before a body, and a content type of its own.
            for unwanted in ["Expect:", "Content-Type:"] { headers = curl_slist_append(headers, unwanted) }

            let answer = Answer(limit: request.responseLimit)
            // SAFETY: `answer` outlives the request, and libcurl calls back on this thread only.
            let context = UnsafeRawPointer(Unmanaged.passUnretained(answer).toOpaque())
            _ = snapsync_curl_set_text(curl, CURLOPT_URL, request.url)
            _ = snapsync_curl_set_text(curl, CURLOPT_USERAGENT, "snapsync")
            _ = snapsync_curl_set_pointer(curl, CURLOPT_HTTPHEADER, headers)
            _ = snapsync_curl_set_long(curl, CURLOPT_NOSIGNAL, 1)
            _ = snapsync_curl_set_long(curl, CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
            _ = snapsync_curl_set_long(curl, CURLOPT_CONNECTTIMEOUT, connectSeconds)
            _ = snapsync_curl_set_long(curl, CURLOPT_LOW_SPEED_LIMIT, 1)
            _ = snapsync_curl_set_long(curl, CURLOPT_LOW_SPEED_TIME, CurlTransport.idleSeconds)
            _ = snapsync_curl_set_long(curl, CURLOPT_TCP_KEEPALIVE, 1)
            if let limitSeconds { _ = snapsync_curl_set_long(curl, CURLOPT_TIMEOUT, limitSeconds) }
            if let certificates { _ = snapsync_curl_set_text(curl, CURLOPT_CAINFO, certificates) }
            _ = snapsync_curl_set_callback(curl, CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
                Unmanaged<Answer>.fromOpaque(context!).takeUnretainedValue().receive(UnsafeRawBufferPointer(start: bytes, count: size * count))
            }
            _ = snapsync_curl_set_pointer(curl, CURLOPT_WRITEDATA, context)
            _ = snapsync_curl_set_callback(curl, CURLOPT_HEADERFUNCTION) { bytes, size, count, context in
                Unmanaged<Answer>.fromOpaque(context!).takeUnretainedValue().receiveHeader(UnsafeRawBufferPointer(start: bytes, count: size * count))
            }
            _ = snapsync_curl_set_pointer(curl, CURLOPT_HEADERDATA, context)

            let code = request.body.withUnsafeBytes { body in
                switch request.method {
                case "HEAD": _ = snapsync_curl_set_long(curl, CURLOPT_NOBODY, 1)
                case "GET": _ = snapsync_curl_set_long(curl, CURLOPT_HTTPGET, 1)
                default:
                    _ = snapsync_curl_set_text(curl, CURLOPT_CUSTOMREQUEST, request.method)
                    // SAFETY: libcurl reads the body until the request ends, within this closure.
                    if request.method != "DELETE" {
                        _ = snapsync_curl_set_size(curl, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(body.count))
                        _ = snapsync_curl_set_pointer(curl, CURLOPT_POSTFIELDS, body.baseAddress ?? UnsafeRawPointer(bitPattern: 1))
                    }
                }
                return curl_easy_perform(curl)
            }
            guard code == CURLE_OK else { throw Self.fault(code, answer) }
            // If a connection ends within the headers, libcurl reports a complete answer without a body.
            guard answer.hasAllHeaders else { throw TransportFault(.cut, "the answer ended among its headers") }
            var status = 0
            _ = snapsync_curl_get_long(curl, CURLINFO_RESPONSE_CODE, &status)
            return ObjectResponse(status: status, headers: answer.headers, body: answer.body)
        }

        private static func fault(_ code: CURLcode, _ answer: Answer) -> TransportFault {
            let words = String(cString: curl_easy_strerror(code))
            if answer.isTooLong { return TransportFault(.tooLong, "the answer is longer than \(answer.limit) bytes") }
            switch code {
            case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_CONNECT, CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL:
                return TransportFault(.unreachable, words)
            case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_CERTPROBLEM:
                return TransportFault(.insecure, words)
            default: return TransportFault(.cut, words)
            }
        }
    }

    /// The part of an answer that has arrived.
    private final class Answer {
        let limit: Int
        private(set) var body: [UInt8] = []
        private(set) var headers: [String: String] = [:]
        private(set) var isTooLong = false
        /// Whether the empty line that ends the headers has arrived.
        private(set) var hasAllHeaders = false
        private var headerBytes = 0

        /// The most bytes of all headers of one answer.
        private static let headerLimit = 256 << 10

        init(limit: Int) { self.limit = limit }

        /// Appends a part of the body. Returns how many bytes were taken; fewer than given ends the request.
        func receive(_ bytes: UnsafeRawBufferPointer) -> Int {
            // The body of an error may be longer than the requested limit.
            guard body.count + bytes.count <= max(limit, 64 << 10) else {
                isTooLong = true
                return 0
            }
            // Grown step by step, a long body would be there twice, and in twice the room.
            if body.isEmpty, let length = headers["content-length"].flatMap({ Int($0) }), length > bytes.count { body.reserveCapacity(min(length, limit)) }
            body.append(contentsOf: bytes)
            return bytes.count
        }

        func receiveHeader(_ bytes: UnsafeRawBufferPointer) -> Int {
            headerBytes += bytes.count
            guard headerBytes <= Self.headerLimit else { return 0 }
            if bytes.starts(with: "HTTP/".utf8) {
                headers = [:]
                hasAllHeaders = false
            } else if bytes.elementsEqual("\r\n".utf8) || bytes.elementsEqual("\n".utf8) {
                hasAllHeaders = true
            } else if let colon = bytes.firstIndex(of: UInt8(ascii: ":")) {
                let space: [UInt8] = [0x20, 0x09, 0x0D, 0x0A]
                var value = bytes[(colon + 1)...].drop { space.contains($0) }
                while let last = value.last, space.contains(last) { value = value.dropLast() }
                headers[String(decoding: bytes[..<colon], as: UTF8.self).folded.text] = String(decoding: value, as: UTF8.self)
            }
            return bytes.count
        }
    }
}
