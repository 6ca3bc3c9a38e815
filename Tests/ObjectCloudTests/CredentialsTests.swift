import CloudStore
import Foundation
import StrictText
import Synchronization
import TestSupport
import Testing

@testable import ObjectCloud

/// Where credentials are looked for, and in which order.
struct CredentialsTests {
    private let scratch: ScratchDirectory
    init() throws { scratch = try ScratchDirectory() }

    /// The environment of a user without a metadata service.
    private func chain(_ environment: [String: String] = [:], _ transport: any ObjectTransport = Silent(), at now: String = "2026-11-22T10:00:00Z") throws
        -> CredentialsChain
    {
        let base = ["HOME": scratch.path, "PATH": "/usr/bin:/bin", "AWS_EC2_METADATA_DISABLED": "true"]
        let instant = try Instant(parsing: now)
        return CredentialsChain(environment: base.merging(environment) { $1 }, transport: transport, now: { instant })
    }

    @Test func theEnvironmentComesFirst() throws {
        try scratch.write(Data("[default]\naws_access_key_id = file\naws_secret_access_key = s\n".utf8), to: ".aws/credentials")
        let found = try chain(["AWS_ACCESS_KEY_ID": "env", "AWS_SECRET_ACCESS_KEY": "s", "AWS_SESSION_TOKEN": "t"]).credentials()
        #expect(found?.accessKey == "env" && found?.sessionToken == "t")
        #expect(try chain().credentials()?.accessKey == "file")
    }

    @Test func aProfileIsReadFromBothFiles() throws {
        try scratch.write(Data("# keys\n[work]\naws_access_key_id = a\n  nested = x\naws_secret_access_key=s\n".utf8), to: ".aws/credentials")
        try scratch.write(Data("[default]\nregion = us-west-2\n[profile work]\nregion = eu-south-1\n".utf8), to: ".aws/config")
        #expect(try chain(["AWS_PROFILE": "work"]).credentials()?.accessKey == "a")
        #expect(try chain(["AWS_PROFILE": "work"]).region() == "eu-south-1")
        #expect(try chain().region() == "us-west-2")
        #expect(try chain(["AWS_REGION": "x"]).region() == "x")
        let error = #expect(throws: CloudError.self) { try chain(["AWS_PROFILE": "none"]).credentials() }
        #expect(error?.code == .permissionFailure)
    }

    @Test func aProgramGivesCredentials() throws {
        let answer = #"{"Version":1,"AccessKeyId":"p","SecretAccessKey":"secret-p","Expiration":"2026-11-22T11:00:00Z"}"#
        try scratch.write(Data("[default]\ncredential_process = printf '%s' '\(answer)'\n".utf8), to: ".aws/config")
        let found = try #require(try chain().credentials())
        #expect(found.accessKey == "p" && found.expires?.description == "2026-11-22T11:00:00.000Z")
        #expect(!"\(found)".contains("secret") && !String(reflecting: found).contains("secret"))
    }

    @Test(arguments: ["printf 'secret words'", "exit 3", "printf '{\"AccessKeyId\":\"secret\"}'"])
    func aProgramThatFailsIsToldWithoutItsWords(_ command: String) throws {
        try scratch.write(Data("[default]\ncredential_process = \(command)\n".utf8), to: ".aws/config")
        let error = #expect(throws: CloudError.self) { try chain().credentials() }
        #expect(error?.code == .permissionFailure && error?.description.contains("secret") == false)
    }

    /// What the shell started holds the pipe open, so ending the shell alone would not do.
    @Test func aProgramThatDoesNotEndIsEnded() throws {
        try scratch.write(Data("[default]\ncredential_process = sleep 3600 & sleep 3600\n".utf8), to: ".aws/config")
        let chain = CredentialsChain(
            environment: ["HOME": scratch.path, "PATH": "/usr/bin:/bin", "AWS_EC2_METADATA_DISABLED": "true"], transport: Silent(), processSeconds: 0.2)
        let error = #expect(throws: CloudError.self) { try chain.credentials() }
        #expect(error?.code == .permissionFailure && error?.reason.hasPrefix("the program took more than") == true)
    }

    @Test func aContainerAndAMachineAreAsked() throws {
        let asked = Mutex<[String]>([])
        let transport = Scripted { request in
            asked.withLock { $0.append("\(request.method) \(request.url)") }
            let keys = #"{"AccessKeyId":"k","SecretAccessKey":"s","Token":"t","Expiration":"2026-11-22T16:00:00Z"}"#
            switch request.url {
            case "http://127.0.0.1:5/creds": return request.headers.contains { $0 == ("authorization", "abc") } ? keys : nil
            case "http://127.0.0.1:6/latest/api/token": return "token"
            case "http://127.0.0.1:6/latest/meta-data/iam/security-credentials/": return "role"
            case "http://127.0.0.1:6/latest/meta-data/iam/security-credentials/role": return keys
            default: return nil
            }
        }
        let container = ["AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://127.0.0.1:5/creds", "AWS_CONTAINER_AUTHORIZATION_TOKEN": "abc"]
        #expect(try chain(container, transport).credentials()?.sessionToken == "t")
        let machine = ["AWS_EC2_METADATA_DISABLED": "false", "AWS_EC2_METADATA_SERVICE_ENDPOINT": "http://127.0.0.1:6"]
        #expect(try chain(machine, transport).credentials()?.accessKey == "k")
        #expect(asked.withLock { $0 }.contains("PUT http://127.0.0.1:6/latest/api/token"))
        #expect(throws: CloudError.self) { try chain(["AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://store.lan/creds"], transport).credentials() }
    }

    @Test func temporaryCredentialsAreFetchedAgainBeforeTheyEnd() throws {
        let count = Counter()
        let transport = Scripted { _ in
            let number = count.next()
            return #"{"AccessKeyId":"k\#(number)","SecretAccessKey":"s","Expiration":"2026-11-22T1\#(number - 1):30:00Z"}"#
        }
        let clock = Mutex(try Instant(parsing: "2026-11-22T10:00:00Z"))
        let chain = CredentialsChain(
            environment: ["HOME": scratch.path, "AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://127.0.0.1:5/"], transport: transport,
            now: { clock.withLock { $0 } })
        #expect(try chain.credentials()?.accessKey == "k1")
        #expect(try chain.credentials()?.accessKey == "k1")
        clock.withLock { $0 = $0.advanced(byMicroseconds: 1_750_000_000) }
        #expect(try chain.credentials()?.accessKey == "k2")
    }

    @Test func withoutAnyThereAreNone() throws {
        #expect(try chain().credentials() == nil)
        let client = ObjectClient(try BucketLocation("s3://team-data"), transport: Silent(), credentials: FixedCredentials(nil))
        let error = #expect(throws: CloudError.self) { try client.get("a", limit: 1) }
        #expect(error?.code == .permissionFailure && error?.hint?.contains("AWS_PROFILE") == true)
    }
}

private struct Silent: ObjectTransport {
    func send(_ request: ObjectRequest) throws(TransportFault) -> ObjectResponse { throw TransportFault(.unreachable, "nobody is there") }
}

private struct Scripted: ObjectTransport {
    let answer: @Sendable (ObjectRequest) -> String?
    func send(_ request: ObjectRequest) throws(TransportFault) -> ObjectResponse {
        let text = answer(request)
        return ObjectResponse(status: text == nil ? 404 : 200, headers: [:], body: Array((text ?? "").utf8))
    }
}
