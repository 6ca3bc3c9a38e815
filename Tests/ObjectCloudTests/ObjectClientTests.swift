import CloudStore
import Foundation
import StrictText
import Synchronization
import TestSupport
import Testing

@testable import ObjectCloud

/// What the client makes of answers: outcomes that are not known, listings that do not end, errors in words.
struct ObjectClientTests {
    private static let ours = Array("ours".utf8), theirs = Array("theirs".utf8)

    /// The fault for the n-th PUT, from 1.
    private func store(_ faults: [Int: FakeStore.Fault]) -> FakeStore {
        let count = Counter()
        return FakeStore { request in
            guard request.method == "PUT" else { return nil }
            let number = count.next()
            return faults[number]
        }
    }

    @Test(arguments: [
        FakeStore.Fault.lostAfter, .lostBefore, .doneBut(500, code: "InternalError"), .refused(500, code: "InternalError"),
        .refused(503, code: "SlowDown"), .refused(409, code: "ConditionalRequestConflict"), .doneBut(409, code: "OperationAborted"),
    ])
    func anUnknownOutcomeIsFoundOut(_ fault: FakeStore.Fault) throws {
        let store = store([1: fault])
        let client = try store.client()
        #expect(try client.put(Self.ours, as: "a") == .placed)
        #expect(try client.get("a", limit: 100) == Self.ours)
    }

    @Test(arguments: [FakeStore.Fault.lostBefore, .refused(500, code: "InternalError"), .refused(409, code: "ConditionalRequestConflict")])
    func anotherWritersObjectIsNotTakenForOurs(_ fault: FakeStore.Fault) throws {
        let store = store([1: fault])
        store.state.withLock { $0.objects["app/a"] = Self.theirs }
        let client = try store.client()
        #expect(try client.put(Self.ours, as: "a") == .taken)
        #expect(try client.get("a", limit: 100) == Self.theirs)
    }

    @Test func theSameBytesAgainAreThere() throws {
        let client = try FakeStore().client()
        #expect(try client.put(Self.ours, as: "a") == .placed)
        #expect(try client.put(Self.ours, as: "a") == .wasThere)
        #expect(try client.put(Self.theirs, as: "a") == .taken)
    }

    @Test func everyPutHasTheCondition() throws {
        let store = FakeStore()
        let client = try store.client()
        _ = try client.put(Self.ours, as: "a")
        let put = try #require(store.requests.first { $0.method == "PUT" })
        #expect(put.headers.contains { $0.name == "if-none-match" && $0.value == "*" })
        #expect(put.headers.contains { $0.name == "content-md5" && !$0.value.isEmpty })
        #expect(put.headers.contains { $0.name == "authorization" && $0.value.contains("if-none-match") }, "the condition is signed")
    }

    @Test func aStoreThatNeverAnswersIsTold() throws {
        let client = try FakeStore { _ in .lostBefore }.client()
        let error = #expect(throws: CloudError.self) { try client.put(Self.ours, as: "a") }
        #expect(error?.code == .serverResponseLost && error?.isRetryable == true)
    }

    @Test func otherBytesThanWereSentAreTold() throws {
        let store = FakeStore()
        let client = try store.client()
        // A server that stores something else says so by its tag.
        let wrong = WrongTagStore(store)
        let other = ObjectClient(client.location, transport: wrong, credentials: FixedCredentials(ObjectCredentials(accessKey: "a", secretKey: "s")))
        let error = #expect(throws: CloudError.self) { try other.put(Self.ours, as: "a") }
        #expect(error?.code == .damaged)
    }

    @Test func aListingComesWholeInAnyPages() throws {
        for pageLimit in [1, 2, 7, 1000] {
            let store = FakeStore(pageLimit: pageLimit)
            store.state.withLock { state in for number in 0..<20 { state.objects["app/x/\(number)"] = [1] } }
            #expect(try store.client().list("x/").map(\.path) == (0..<20).map { "x/\($0)" }.sorted())
            #expect(try store.client().list("x/", first: 3).count == 3)
        }
    }

    @Test func aListingThatDoesNotEndIsRefused() throws {
        let page = Array(
            "<ListBucketResult><Contents><Key>app/x/1</Key><Size>1</Size></Contents><IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken></ListBucketResult>"
                .utf8)
        let client = try FakeStore { _ in .body(page) }.client()
        let error = #expect(throws: CloudError.self) { try client.list("x/") }
        #expect(error?.code == .cloudUnavailable && error?.reason.contains("repeats") == true)
    }

    @Test(arguments: [
        "<html><body>hello</body></html>", "not XML", "",
        "<!DOCTYPE a [<!ENTITY b \"cccc\">]><ListBucketResult><Contents><Key>&b;</Key></Contents></ListBucketResult>",
        "<ListBucketResult><Contents><Key>elsewhere/1</Key><Size>1</Size></Contents></ListBucketResult>",
        "<ListBucketResult><Contents><Key>app/x/1</Key><Size>-7</Size></Contents></ListBucketResult>",
    ])
    func whatIsNoListingIsRefused(_ body: String) throws {
        let client = try FakeStore { _ in .body(Array(body.utf8)) }.client()
        #expect(throws: CloudError.self) { try client.list("x/") }
    }

    @Test(arguments: [
        (403, "InvalidAccessKeyId", CloudError.Code.permissionFailure), (403, "SignatureDoesNotMatch", .permissionFailure),
        (403, "AccessDenied", .permissionFailure),
        (404, "NoSuchBucket", .cloudUnavailable), (301, "PermanentRedirect", .invalidArguments), (503, "SlowDown", .requestRateLimited),
        (200, "", .cloudUnavailable),
    ])
    func anErrorHasItsCode(_ status: Int, _ code: String, _ expected: CloudError.Code) throws {
        let client = try FakeStore { _ in .refused(status, code: code) }.client()
        let error = #expect(throws: CloudError.self) { try client.list("x/") }
        #expect(error?.code == expected)
        #expect(error?.description.contains("canary") == false && error?.description.contains("AKIDEXAMPLE") == false)
    }

    @Test func theRightRegionIsNamed() throws {
        let client = try FakeStore { _ in .refused(301, code: "PermanentRedirect", headers: ["x-amz-bucket-region": "eu-south-1"]) }.client()
        let error = #expect(throws: CloudError.self) { try client.get("a", limit: 10) }
        #expect(error?.hint == "say --region eu-south-1")
    }

    @Test func theSigningClockFollowsTheServers() throws {
        let ahead = Date().addingTimeInterval(3 * 3600)
        let isFirst = Mutex(true)
        let store = FakeStore(
            fault: { _ in
                let isFirst = isFirst.withLock { first in
                    defer { first = false }
                    return first
                }
                return isFirst ? .refused(403, code: "RequestTimeTooSkewed") : nil
            }, date: { FakeStore.text(of: ahead) })
        let client = try store.client()
        #expect(try client.put(Self.ours, as: "a") == .placed)
        let stamps = store.requests.compactMap { request in request.headers.first { $0.name == "x-amz-date" }?.value }
        #expect(stamps.count == 2 && stamps[0] != stamps[1])
        #expect(abs(client.clockOffset - 3 * 3600) < 60)
    }

    @Test func thePatienceIsWhatTheServerAsks() throws {
        let waits = Mutex<[Duration]>([])
        var retry = ObjectClient.standardRetry
        retry.sleep = { wait in waits.withLock { $0.append(wait) } }
        let count = Counter()
        let store = FakeStore { _ in count.next() <= 2 ? .refused(503, code: "SlowDown", headers: ["retry-after": "7"]) : nil }
        let client = ObjectClient(
            try store.client().location, transport: store, credentials: FixedCredentials(ObjectCredentials(accessKey: "a", secretKey: "s")), retry: retry)
        #expect(try client.get("a", limit: 10) == nil)
        #expect(waits.withLock { $0 } == [.seconds(7), .seconds(7)])
    }
}

extension ObjectClientTests {
    @Test func aStoreThatAsksToSlowDownIsAskedLessOften() throws {
        let waits = Mutex<[Duration]>([])
        var retry = ObjectClient.standardRetry
        retry.sleep = { wait in waits.withLock { $0.append(wait) } }
        let store = FakeStore { _ in .refused(503, code: "SlowDown") }
        let client = ObjectClient(
            try store.client().location, transport: store, credentials: FixedCredentials(ObjectCredentials(accessKey: "a", secretKey: "s")), retry: retry)
        let error = #expect(throws: CloudError.self) { try client.get("a", limit: 10) }
        #expect(error?.code == .requestRateLimited && error?.isRetryable == true)
        let pauses = waits.withLock { $0 }
        #expect(pauses.count == 5 && zip(pauses.indices, pauses).allSatisfy { $1 >= .milliseconds(50) * (1 << $0) && $1 <= .milliseconds(100) * (1 << $0) })
    }

    /// Credentials that the server no longer takes in the middle of a run are fetched again, once.
    @Test(arguments: [("ExpiredToken", 400), ("ExpiredToken", 403)]) func expiredCredentialsAreFetchedAgain(_ code: String, _ status: Int) throws {
        let provider = Renewed()
        let store = FakeStore { request in
            request.headers.contains { $0.name == "x-amz-security-token" && $0.value == "token-1" } ? .refused(status, code: code) : nil
        }
        store.state.withLock { $0.objects["app/a"] = Self.ours }
        let client = ObjectClient(try store.client().location, transport: store, credentials: provider)
        #expect(try client.get("a", limit: 10) == Self.ours)
        #expect(try client.put(Self.theirs, as: "b") == .placed)
        #expect(provider.count.value == 2)
        let never = FakeStore { _ in .refused(status, code: code) }
        let error = #expect(throws: CloudError.self) {
            try ObjectClient(store.client().location, transport: never, credentials: Renewed()).get("a", limit: 10)
        }
        #expect(error?.code == .permissionFailure && error?.description.contains("token-") == false)
    }

    @Test func folderListingsComeWholeInAnyPages() throws {
        for pageLimit in [1, 2, 1000] {
            let store = FakeStore(pageLimit: pageLimit)
            store.state.withLock { state in
                for folder in ["b", "a", "c"] { for number in 0..<3 { state.objects["app/x/\(folder)/\(number)"] = [1] } }
                for name in ["zone.json", "0"] { state.objects["app/x/\(name)"] = [1] }
            }
            let listed = try store.client().listFolder("x/")
            #expect(listed.folders == ["a/", "b/", "c/"] && listed.objects.map(\.path) == ["x/0", "x/zone.json"])
        }
        for folder in ["elsewhere/", "app/x/a"] {
            let body = Array("<ListBucketResult><CommonPrefixes><Prefix>\(folder)</Prefix></CommonPrefixes></ListBucketResult>".utf8)
            let client = try FakeStore { _ in .body(body) }.client()
            #expect(throws: CloudError.self) { try client.listFolder("x/") }
        }
    }
}

/// Temporary credentials, other ones each time that the last ones are forgotten.
private final class Renewed: CredentialsProvider {
    let count = Counter()
    private let known = Mutex<ObjectCredentials?>(nil)

    func credentials() -> ObjectCredentials? {
        known.withLock { known in
            if known == nil {
                let number = count.next()
                known = ObjectCredentials(accessKey: "a", secretKey: "s", sessionToken: "token-\(number)")
            }
            return known
        }
    }

    func forget() { known.withLock { $0 = nil } }
}

/// Answers a PUT with the tag of other bytes.
private struct WrongTagStore: ObjectTransport {
    let store: FakeStore
    init(_ store: FakeStore) { self.store = store }

    func send(_ request: ObjectRequest) throws(TransportFault) -> ObjectResponse {
        let answer = try store.send(request)
        return request.method == "PUT"
            ? ObjectResponse(status: answer.status, headers: answer.headers.merging(["etag": "\"\(ObjectClient.md5Hex([0]))\""]) { $1 }, body: answer.body)
            : answer
    }
}
