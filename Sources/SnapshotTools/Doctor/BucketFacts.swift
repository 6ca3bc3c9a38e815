import CloudStore
import ObjectCloud
import SnapshotVersions

/// Whether a bucket is suitable as a cloud: facts and findings.
struct BucketFacts: Sendable {
    let location: String
    /// The result of the probe; nil if nothing may be written.
    let probe: DoctorFacts.Look<BucketProbe>?

    /// - Parameter triesOut: whether to probe by writing objects. A reader may lack the permission to write.
    init(_ cloud: ObjectCloud, triesOut: Bool) async {
        location = cloud.location
        probe = triesOut ? await DoctorFacts.look(.open) { try await cloud.probe() } : nil
    }

    func findings(manyPublish: Bool) -> [DoctorReport.Finding] {
        let found = [DoctorReport.Finding.ok("bucket", "\(location) is a cloud, and the one that is meant")]
        switch probe {
        case nil: return found
        case .failure(let error):
            return found + [.error("probe", error, means: "what the store keeps could not be tried out, and publishing will fail in the same way")]
        case .success(let probe): return found + probe.findings.map { finding($0, probe, manyPublish: manyPublish) }
        }
    }

    private func finding(_ finding: BucketProbe.Finding, _ probe: BucketProbe, manyPublish: Bool) -> DoctorReport.Finding {
        guard !finding.isKept else { return .ok("probe", finding.observation) }
        switch finding.name {
        case "clock":
            return .warning(
                "clock", .refused, finding.observation,
                means: "a store refuses requests that are signed with another time, so they are signed by the store's clock",
                do: "set this machine's clock")
        case "missing":
            return .warning(
                "probe", .permissionDenied, finding.observation, means: "a missing object cannot be told from one that may not be read",
                do: "grant s3:ListBucket on the bucket")
        default:
            let means = "two devices that publish at the same time can overwrite each other's version"
            return manyPublish
                ? .error(
                    "probe", .refused, finding.observation, means: means, do: "let one device publish, or move the cloud to a store with conditional writes")
                : .warning("probe", .refused, finding.observation, means: means, do: "let only this device publish")
        }
    }
}
