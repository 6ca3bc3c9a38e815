import CloudStore

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
            return CloudError(.limitExceeded, at: path ?? place, fault.reason, hint: "the object or the server is not one of this cloud")
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
