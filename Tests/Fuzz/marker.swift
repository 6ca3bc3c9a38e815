@testable import CloudStore
import Foundation

/// `cloud.json` and `zone.json`.
func fuzz(_ bytes: UnsafeRawBufferPointer) {
    _ = try? CloudMarker.decode(CloudIdentity.self, from: Array(bytes), at: "cloud.json")
    _ = try? CloudMarker.decode(ZoneMarker.self, from: Array(bytes), at: "zone.json")
}
