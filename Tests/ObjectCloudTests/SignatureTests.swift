import StrictText
import Testing

@testable import ObjectCloud

/// The vectors that AWS publishes for Signature Version 4.
struct SignatureTests {
    @Test func theFirstVectorOfTheSuite() throws {
        let signature = RequestSignature(
            ObjectCredentials(accessKey: "AKIDEXAMPLE", secretKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"), region: "us-east-1", service: "service")
        let headers = signature.headers(
            method: "GET", host: "example.amazonaws.com", path: "/", query: [], headers: [], bodyHash: Self.emptyHash,
            at: try Instant(parsing: "2015-08-30T12:36:00Z"))
        #expect(
            headers.first { $0.name == "authorization" }?.value
                == "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=host;x-amz-date, Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"
        )
    }

    @Test(arguments: [
        ("/test.txt", [(String, String)](), [("range", "bytes=0-9")], "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"),
        ("/", [("lifecycle", "")], [], "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
        ("/", [("max-keys", "2"), ("prefix", "J")], [], "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
    ])
    func theExamplesOfS3(_ path: String, _ query: [(String, String)], _ headers: [(String, String)], _ expected: String) throws {
        let signature = RequestSignature(
            ObjectCredentials(accessKey: "AKIAIOSFODNN7EXAMPLE", secretKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"), region: "us-east-1")
        let signed = signature.headers(
            method: "GET", host: "examplebucket.s3.amazonaws.com", path: path, query: query.map { (name: $0.0, value: $0.1) },
            headers: headers.map { (name: $0.0, value: $0.1) }, bodyHash: Self.emptyHash, at: try Instant(parsing: "2013-05-24T00:00:00Z"))
        #expect(signed.first { $0.name == "authorization" }?.value.hasSuffix("Signature=\(expected)") == true)
    }

    private static let emptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
}
