import CloudStore
import Testing

@testable import ObjectCloud

/// Locations of buckets as text.
struct LocationTests {
    @Test(arguments: [
        "s3://team-data", "s3://team-data/app", "s3://team-data/a/b.c/d_e-f", "s3://team-data/app?endpoint=https://s3.example.org:8443&region=eu-south-1",
        "s3://team-data/app?endpoint=http://127.0.0.1:8333&addressing=virtual", "s3://team-data?endpoint=http://store.lan&http=allow",
        "s3://a.b.c/x?ca=/etc/ssl/own.pem",
    ])
    func aLocationIsReadBack(_ text: String) throws { #expect(try BucketLocation(text).description == text) }

    @Test(arguments: [
        "s3:/team-data", "s3://", "s3://ab", "s3://Team", "s3://-team", "s3://te..am", "s3://team-data//a", "s3://team-data/a//b", "s3://team-data/../b",
        "s3://team-data/.hidden", "s3://team-data/a b", "s3://team-data/a?endpoint=ftp://x", "s3://team-data/a?endpoint=http://store.lan",
        "s3://team-data/a?endpoint=https://user:secret@store.lan", "s3://team-data/a?endpoint=https://store.lan/path", "s3://team-data/a?region=",
        "s3://team-data/a?what=1", "s3://team-data/a?region=eu%0Asouth", "s3://team-data/a?addressing=no",
    ])
    func anotherTextIsRefused(_ text: String) {
        let error = #expect(throws: CloudError.self) { try BucketLocation(text) }
        #expect(error?.code == .invalidArguments && error?.hint != nil && error?.description.contains("secret") == false)
    }

    @Test(arguments: [
        ("localhost", true), ("[::1]", true), ("127.0.0.1", true), ("LOCALHOST", true), ("127.0.0.1.example", false), ("[::2]", false), ("", false),
    ])
    func onlyThisMachineIsLoopback(_ host: String, _ isLoopback: Bool) { #expect(BucketLocation.isLoopback(host) == isLoopback) }

    @Test(arguments: [("\"ab\"", "ab"), ("ab", "ab"), ("\"", ""), ("", ""), ("a\"b", "a\"b"), ("\"é日\"", "é日"), ("é", "é")])
    func charactersAtTheEndsAreTakenAway(_ text: String, _ inner: String) { #expect(text.trimming("\"") == inner) }

    @Test func theBucketIsInTheHostAtAWSAndInThePathElsewhere() throws {
        #expect(
            try BucketLocation("s3://team-data/app?region=eu-south-1").address(of: "app/cloud.json") == (
                "team-data.s3.eu-south-1.amazonaws.com", "/app/cloud.json"
            ))
        #expect(try BucketLocation("s3://team.data/app").address(of: "a") == ("s3.us-east-1.amazonaws.com", "/team.data/a"))
        #expect(try BucketLocation("s3://team-data?endpoint=https://s3.example.org:8443/").address(of: "a b") == ("s3.example.org:8443", "/team-data/a%20b"))
        #expect(try BucketLocation("s3://team-data?endpoint=http://[::1]:8333").address(of: "a") == ("[::1]:8333", "/team-data/a"))
    }
}
