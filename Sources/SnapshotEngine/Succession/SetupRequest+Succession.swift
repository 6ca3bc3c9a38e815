import CloudStore
import SnapshotVersions

extension SetupRequest {
    /// Returns the request for the zone that continues the requested zone, if that was signed or sealed since.
    ///
    /// If the requested zone is signed and its creator is trusted, the next zone's creator is trusted as well, because a member has signed its
    /// fingerprint. If the requested zone is not signed, nothing carries over: the trusted words must be those of the next zone's creator.
    ///
    /// - Throws: ``SyncError`` with `.dataRefused` if the zone is signed by another creator than the trusted one.
    func followingZone(in backend: CloudDatabase?) async throws -> SetupRequest {
        guard let cloud = try? backend ?? CloudLocation.open(cloud) else { return self }
        var request = self
        for _ in 0..<8 {
            let id = ZoneID(request.zone)
            do {
                _ = try await cloud.changes(since: nil, in: id)
                return request
            } catch let error as CloudError {
                // Any other error is reported by the code that needs the zone.
                guard let successor = error.successor else { return request }
                // Reading the zone has verified its list of members.
                if let trust = request.trust,
                    cloud.authorities.authority(of: id).knowledge.creator == trust.words
                {
                    request.trust = KeyFingerprint(successor.creator)
                }
                request.zone = successor.zone
            } catch {
                return request
            }
        }
        return request
    }
}
