@testable import CloudStore
import Foundation

/// Lists of members: each line of the input is a statement's body, which is signed here. In it KEY is the creator's key, and PARENT the hash of
/// the statement before.
func fuzz(_ bytes: UnsafeRawBufferPointer) {
    let own = FuzzSealed.keys
    var parent = "", texts: [String] = []
    for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).prefix(64) {
        let body = String(decoding: line, as: UTF8.self).replacing("KEY", with: own.publicKeys.signing).replacing("PARENT", with: parent)
        guard let signed = try? ChecksummedDocument.seal(Data(body.utf8), named: MemberStatement.sealName, by: own) else { return }
        parent = ContentHash.of(signed)
        texts.append(String(decoding: signed, as: UTF8.self))
    }
    guard let list = try? MemberList(texts, of: FuzzSealed.id, at: "list") else { return }
    expect(list.members.contains { $0.role.mayPublish }, "somebody is left that publishes")
    expect(Set(list.members.map(\.device)).count == list.members.count, "names are unique")
    expect(Set(list.members.map(\.keys.signing)).count == list.members.count, "keys are unique")
    expect(list.members.allSatisfy { CloudNames.isName($0.device) && $0.keys.isWellFormed }, "names are names, and keys are keys")
    expect(list.creator?.keys.signing == own.publicKeys.signing, "the creator has signed the first statement")
    expect((try? MemberList(list.record, savedBy: 1, of: FuzzSealed.id, at: "again"))?.members == list.members, "a list that is saved is read as the same")
    // Nothing of it counts elsewhere.
    expect((try? MemberList(texts, of: HistoryID(cloud: "other", zone: FuzzSealed.id.zone, protection: .signed), at: "other")) == nil, "a list is of one cloud")
}
