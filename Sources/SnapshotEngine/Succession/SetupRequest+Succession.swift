import CloudStore
import CommitLog
import SnapshotVersions

extension SetupRequest {
    /// The same request for the zone in which the wanted one goes on, if it was signed or sealed since.
    ///
    /// Of a signed zone whose creator is the trusted one, the words of the next zone's creator are trusted, because a member has signed them. Of
    /// another zone nothing is: there the trusted words must be those of the next zone's creator.
    ///
    /// - Throws: ``SyncError`` with `.dataRefused` if the zone is signed by somebody else than it should be.
    func followingZone(in backend: (any CloudDatabase)?) async throws -> SetupRequest {
        guard let cloud = try? backend ?? CloudLocation.open(cloud) else { return self }
        var request = self
        for _ in 0..<8 {
            let id = ZoneID(request.zone)
            do {
                _ = try await cloud.changes(since: nil, in: id)
                return request
            } catch let error as CloudError {
                // Everything else is told by what needs the zone.
                guard let successor = error.successor else { return request }
                // The list of members was verified on the way.
                if let signing = cloud as? any SigningCloud, let trust = request.trust,
                    signing.authorities.authority(of: id).knowledge.creator == trust.words
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
