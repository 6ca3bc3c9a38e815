@testable import CloudStore
import Foundation
import StrictText

/// Records of a sealed zone's keys, and their wraps: the input is the record as a commit has it.
func fuzz(_ bytes: UnsafeRawBufferPointer) {
    guard let document = StrictJSON.plain(RecordDocument.self, bytes), let ring = try? KeyRing(document.record(tag: "3"), at: "record") else { return }
    expect((1...KeyRing.epochLimit).contains(Int(ring.epoch)) && ring.previous.count == Int(ring.epoch) - 1, "a record has all epochs")
    expect((try? KeyRing(ring.record, at: "again")) == ring, "a record that is taken can be saved and reads as the same")
    expect(ring.kind != nil, "a record is of one kind")
    for kind in SealingKeyKind.allCases {
        guard let own = FuzzSealed.recovery.publicKey(kind), let secrets = try? ring.secrets(by: FuzzSealed.recovery.seed, of: own, in: FuzzSealed.id) else {
            continue
        }
        expect(secrets.map(\.number) == Array(1...ring.epoch), "who opens a record has the secrets of all epochs")
        expect(ring.isFor(own) && ring.kind == kind, "only who it is for opens it")
    }
}
