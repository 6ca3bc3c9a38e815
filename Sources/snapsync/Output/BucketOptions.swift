import ArgumentParser
import Foundation
import StrictText

/// The options that describe the server of a bucket. `init` stores them in the cloud's location, so later commands do not need them.
struct BucketOptions: ParsableArguments {
    @Option(name: .long, help: ArgumentHelp("The server of an s3:// cloud. Default: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, or AWS itself.", valueName: "url"))
    var endpoint: String?
    @Option(name: .long, help: ArgumentHelp("The region of an s3:// cloud. Default: AWS_REGION, the profile's, or us-east-1.", valueName: "name"))
    var region: String?
    @Option(
        name: .long, help: ArgumentHelp("A file of certificates (PEM) to trust for an s3:// cloud, in place of the system's.", valueName: "file"),
        completion: .file())
    var caFile: String?
    @Flag(name: .long, help: "Allow HTTP without TLS to an s3:// server on another machine. Whoever is on the way can read and change what is sent.")
    var allowHttp = false

    /// Adds the options to a cloud's location.
    ///
    /// - Throws: `ValidationError` if options of a bucket are given and the cloud is a directory.
    func location(_ cloud: String) throws -> String {
        var pairs: [(String, String)] = []
        if let endpoint { pairs.append(("endpoint", endpoint)) }
        if let region { pairs.append(("region", region)) }
        if let caFile { pairs.append(("ca", URL(fileURLWithPath: caFile).standardizedFileURL.path)) }
        if allowHttp { pairs.append(("http", "allow")) }
        guard !pairs.isEmpty else { return cloud }
        guard cloud.exact.hasPrefix("s3://") else {
            throw ValidationError("--endpoint, --region, --ca-file and --allow-http are for a bucket: --cloud s3://BUCKET/PREFIX.")
        }
        let unreserved = CharacterSet.alphanumerics.union(CharacterSet(charactersIn: "-._~:/[]"))
        let text = pairs.map { "\($0.0)=\($0.1.addingPercentEncoding(withAllowedCharacters: unreserved) ?? $0.1)" }.joined(separator: "&")
        return cloud + (cloud.exact.contains("?") ? "&" : "?") + text
    }
}
