import CloudStore
import Foundation
package import StrictText
import Synchronization

/// Looks for credentials in the places that the AWS tools use: environment, profile, `credential_process`, the container's address, the
/// machine's metadata service. The first place that has credentials is used.
package final class CredentialsChain: CredentialsProvider {
    private let environment: [String: String]
    private let transport: any ObjectTransport
    private let now: @Sendable () -> Instant
    private let processSeconds: Double
    private let last = Mutex<ObjectCredentials?>(nil)

    /// Temporary credentials that expire within this time, in microseconds, are fetched again.
    private static let reserve: Int64 = 120_000_000

    /// - Parameter processSeconds: how long a `credential_process` may take.
    package init(
        environment: [String: String] = ProcessInfo.processInfo.environment, transport: any ObjectTransport = CurlTransport(connectSeconds: 2),
        now: @escaping @Sendable () -> Instant = { .now }, processSeconds: Double = 60
    ) {
        self.environment = environment
        self.transport = transport
        self.now = now
        self.processSeconds = processSeconds
    }

    package func credentials() throws -> ObjectCredentials? {
        if let known = last.withLock({ $0 }), known.expires.map({ $0.microseconds - now().microseconds > Self.reserve }) ?? true { return known }
        let found = try find()
        last.withLock { $0 = found }
        return found
    }

    /// Drops the cached credentials, because the server no longer accepts them.
    package func forget() { last.withLock { $0 = nil } }

    private func find() throws -> ObjectCredentials? {
        if let accessKey = variable("AWS_ACCESS_KEY_ID"), let secretKey = variable("AWS_SECRET_ACCESS_KEY"), variable("AWS_PROFILE") == nil {
            return ObjectCredentials(accessKey: accessKey, secretKey: secretKey, sessionToken: variable("AWS_SESSION_TOKEN"))
        }
        if let found = try ofProfile() { return found }
        if let found = try ofContainer() { return found }
        return try ofMachine()
    }

    private func variable(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }

    private func refusal(at place: String, _ reason: String, _ hint: String) -> CloudError { CloudError(.permissionFailure, at: place, reason, hint: hint) }

    // MARK: Profile

    private var home: String { variable("HOME") ?? NSHomeDirectory() }

    private func ofProfile() throws -> ObjectCredentials? {
        let name = variable("AWS_PROFILE") ?? variable("AWS_DEFAULT_PROFILE") ?? "default"
        let paths = (
            credentials: variable("AWS_SHARED_CREDENTIALS_FILE") ?? home + "/.aws/credentials", config: variable("AWS_CONFIG_FILE") ?? home + "/.aws/config"
        )
        let secrets = try ProfileFile(path: paths.credentials)?.section(name) ?? [:]
        let config = try ProfileFile(path: paths.config).flatMap { $0.section("profile \(name)") ?? $0.section(name) } ?? [:]
        let values = config.merging(secrets) { _, secret in secret }
        if let accessKey = values["aws_access_key_id"], let secretKey = values["aws_secret_access_key"] {
            return ObjectCredentials(accessKey: accessKey, secretKey: secretKey, sessionToken: values["aws_session_token"])
        }
        if let command = values["credential_process"] { return try ofProcess(command, profile: name) }
        guard variable("AWS_PROFILE") == nil else {
            throw refusal(
                at: "profile \(name)", "neither \(paths.credentials) nor \(paths.config) has keys or a credential_process for it",
                "correct AWS_PROFILE, or the files")
        }
        return nil
    }

    /// The region that the environment or the profile names.
    package func region() throws -> String? {
        if let region = variable("AWS_REGION") ?? variable("AWS_DEFAULT_REGION") { return region }
        let name = variable("AWS_PROFILE") ?? variable("AWS_DEFAULT_PROFILE") ?? "default"
        let config = try ProfileFile(path: variable("AWS_CONFIG_FILE") ?? home + "/.aws/config")
        return (config?.section("profile \(name)") ?? config?.section(name))?["region"]
    }

    /// The endpoint that the environment names.
    package func endpoint() -> String? { variable("AWS_ENDPOINT_URL_S3") ?? variable("AWS_ENDPOINT_URL") }

    private func ofProcess(_ command: String, profile: String) throws -> ObjectCredentials {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", command]
        process.environment = environment
        let output = Pipe()
        process.standardOutput = output
        process.standardInput = FileHandle.nullDevice
        let place = "credential_process of profile \(profile)"
        do { try process.run() } catch { throw refusal(at: place, "the program cannot be started", "correct the line in the configuration file") }
        let isLate = Mutex(false), group = -process.processIdentifier
        // Foundation gives each process a group of its own, so this also ends what the shell started and what holds the pipe open.
        let limit = DispatchWorkItem {
            isLate.withLock { $0 = true }
            kill(group, SIGKILL)
        }
        DispatchQueue.global().asyncAfter(deadline: .now() + processSeconds, execute: limit)
        let bytes = Array(output.fileHandleForReading.readDataToEndOfFile())
        process.waitUntilExit()
        limit.cancel()
        guard !isLate.withLock({ $0 }) else {
            throw refusal(at: place, "the program took more than \(Int(processSeconds)) seconds and was ended", "run it by hand and see what it waits for")
        }
        guard process.terminationStatus == 0 else {
            throw refusal(at: place, "the program ended with \(process.terminationStatus)", "run it by hand and read what it says")
        }
        return try decode(bytes, at: place)
    }

    // MARK: Container and machine

    private func ofContainer() throws -> ObjectCredentials? {
        let url: String
        if let relative = variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") {
            url = "http://169.254.170.2\(relative)"
        } else if let full = variable("AWS_CONTAINER_CREDENTIALS_FULL_URI") {
            let host = URLComponents(string: full)?.host ?? ""
            guard full.exact.hasPrefix("https://") || BucketLocation.isLoopback(host) || ["169.254.170.2", "169.254.170.23"].contains(host) else {
                throw refusal(
                    at: "AWS_CONTAINER_CREDENTIALS_FULL_URI", "the address uses HTTP and is not this machine's own", "use https, or an address of this machine")
            }
            url = full
        } else {
            return nil
        }
        var token = variable("AWS_CONTAINER_AUTHORIZATION_TOKEN")
        if let file = variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE") {
            guard let text = try? String(contentsOfFile: file, encoding: .utf8) else {
                throw refusal(at: file, "the token file cannot be read", "correct AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")
            }
            token = text.trimming(" \t\r\n")
        }
        let answer = try ask("GET", url, with: token.map { [("authorization", $0)] } ?? [], at: "the container's credentials")
        guard answer.status == 200 else { throw refusal(at: "the container's credentials", "the answer has status \(answer.status)", "check the task's role") }
        return try decode(answer.body, at: "the container's credentials")
    }

    /// Asks the metadata service of a virtual machine, version 2, which requires a token first. On other machines there is no such service,
    /// and the result is nil.
    private func ofMachine() throws -> ObjectCredentials? {
        guard variable("AWS_EC2_METADATA_DISABLED")?.folded != "true" else { return nil }
        let base = variable("AWS_EC2_METADATA_SERVICE_ENDPOINT") ?? "http://169.254.169.254"
        let place = "the machine's metadata service"
        guard let token = try? ask("PUT", "\(base)/latest/api/token", with: [("x-aws-ec2-metadata-token-ttl-seconds", "21600")], at: place), token.status == 200
        else { return nil }
        let header = [("x-aws-ec2-metadata-token", String(decoding: token.body, as: UTF8.self))]
        let folder = "\(base)/latest/meta-data/iam/security-credentials/"
        let roles = try ask("GET", folder, with: header, at: place)
        guard roles.status == 200, let role = String(decoding: roles.body, as: UTF8.self).exact.split(separator: "\n").first?.trimming("\r") else { return nil }
        let answer = try ask("GET", folder + BucketLocation.encode(String(role), sparingSlashes: false), with: header, at: place)
        guard answer.status == 200 else { throw refusal(at: place, "the answer has status \(answer.status)", "check the machine's role") }
        return try decode(answer.body, at: place)
    }

    private func ask(_ method: String, _ url: String, with headers: [(String, String)], at place: String) throws -> ObjectResponse {
        do throws(TransportFault) {
            return try transport.send(
                ObjectRequest(method: method, url: url, headers: headers.map { (name: $0.0, value: $0.1) }, responseLimit: 64 << 10))
        } catch {
            throw CloudError(.cloudUnavailable, at: place, error.reason, hint: "try again later", isRetryable: true)
        }
    }

    private struct Answer: Decodable {
        let accessKey: String
        let secretKey: String
        let sessionToken: String?
        let token: String?
        let expiration: String?

        enum CodingKeys: String, CodingKey {
            case accessKey = "AccessKeyId", secretKey = "SecretAccessKey", sessionToken = "SessionToken", token = "Token", expiration = "Expiration"
        }
    }

    private func decode(_ bytes: [UInt8], at place: String) throws -> ObjectCredentials {
        // The decoder's own error would quote a part of the text, which is secret.
        guard let answer = try? JSONDecoder().decode(Answer.self, from: Data(bytes)) else {
            throw refusal(at: place, "the answer is not JSON with AccessKeyId and SecretAccessKey", "correct the program or service")
        }
        return ObjectCredentials(
            accessKey: answer.accessKey, secretKey: answer.secretKey, sessionToken: answer.sessionToken ?? answer.token,
            expires: answer.expiration.flatMap { try? Instant(parsing: $0) })
    }
}

/// A configuration file of the AWS tools: section names in brackets, and `name = value` lines.
struct ProfileFile {
    private var sections: [ExactText: [String: String]] = [:]

    /// Reads a file; nil if it does not exist.
    init?(path: String) throws(CloudError) {
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
            throw CloudError(.permissionFailure, at: path, "the file cannot be read", hint: "check its rights: it is to be readable by you alone")
        }
        var name: String?
        for line in text.exact.split(separator: "\n") {
            // An indented line is a nested setting of the previous value. None of these is needed here.
            if line.exact.hasPrefix(" ") || line.exact.hasPrefix("\t") { continue }
            let line = line.trimming(" \t\r")
            if line.exact.hasPrefix("#") || line.exact.hasPrefix(";") { continue }
            if line.exact.hasPrefix("["), line.exact.contains("]") {
                name = line.exact.split(separator: "]")[0].exact.split(separator: "[").first?.exact.split(separator: " ").joined(separator: " ")
                sections[(name ?? "").exact, default: [:]] = sections[(name ?? "").exact] ?? [:]
            } else if let name, case let halves = line.exact.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false), halves.count == 2 {
                sections[name.exact]?[halves[0].trimming(" \t").folded.text] = halves[1].trimming(" \t")
            }
        }
    }

    func section(_ name: String) -> [String: String]? { sections[name.exact] }
}

extension StringProtocol {
    /// The text without these ASCII characters at both ends.
    ///
    /// Foundation's `trimmingCharacters(in:)` goes through UTF-16. Its first call costs a run as much as a request to a near server.
    func trimming(_ characters: String) -> String {
        let text = String(self).utf8, isInner = { (byte: UInt8) in !characters.utf8.contains(byte) }
        guard let first = text.firstIndex(where: isInner), let last = text.lastIndex(where: isInner) else { return "" }
        return String(Substring(text[first...last]))
    }
}

/// The keys of an object store's account. They must never be logged, stored or shown, so the description contains none of them.
package struct ObjectCredentials: Sendable, CustomStringConvertible, CustomReflectable {
    package let accessKey: String
    package let secretKey: String
    /// The token of temporary credentials.
    package let sessionToken: String?
    /// When temporary credentials expire.
    package let expires: Instant?

    package init(accessKey: String, secretKey: String, sessionToken: String? = nil, expires: Instant? = nil) {
        (self.accessKey, self.secretKey, self.sessionToken, self.expires) = (accessKey, secretKey, sessionToken, expires)
    }

    package var description: String { "credentials" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// A source of ``ObjectCredentials``. The client asks again when they have expired.
package protocol CredentialsProvider: Sendable {
    /// The credentials; nil if this source has none.
    func credentials() throws -> ObjectCredentials?
    /// Drops credentials that the server no longer accepts. A source with fixed credentials can use the default.
    func forget()
}

extension CredentialsProvider {
    package func forget() {}
}
