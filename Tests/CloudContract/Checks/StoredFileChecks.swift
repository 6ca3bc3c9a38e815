import CloudStore
import Foundation
import StrictText

extension ContractCheck {
    /// Assets and messages as files: delayed, damaged, and with wrong names.
    static let storedFiles: [ContractCheck] = [
        ContractCheck("anAssetThatHasNotArrivedIsPending") { test in
            try await test.makeZone(.one)
            let asset = try await test.asset(someBytes, index: someIndex)
            try await test.publish([test.item(asset)], after: nil)
            var indexWasThere = false
            try test.damage(asset.indexPath) { bytes in
                indexWasThere = bytes != nil
                bytes = nil
            }
            try test.expect(indexWasThere, "the index lies beside its asset")
            let reader = try await test.open(asset)
            try await test.expect(.pending, "an index that is not there") { _ = try reader.index() }
            try test.damage(asset.path) { $0 = nil }
            let error = try await test.expect(.pending, "an asset that is not there") { _ = try await test.open(asset) }
            try test.expect(error.isRetryable, "a file that may still arrive can be waited for")
        },
        ContractCheck("aCutAssetAndAFlippedIndexAreDamage") { test in
            try await test.makeZone(.one)
            let asset = try await test.asset(someBytes, index: someIndex)
            for bit in 0..<someIndex.count * 8 {
                try test.damage(asset.indexPath) { $0?[bit / 8] ^= 1 << (bit % 8) }
                let reader = try await test.open(asset)
                try await test.expect(.damaged, "bit \(bit) of the index") { _ = try reader.index() }
                try test.damage(asset.indexPath) { $0?[bit / 8] ^= 1 << (bit % 8) }
            }
            try test.damage(asset.path) { _ = $0?.removeLast() }
            try await test.expect(.damaged, "an asset that is too short") { _ = try await test.open(asset) }
            try test.damage(asset.path) { $0? += [0, 0] }
            try await test.expect(.damaged, "an asset that is too long") { _ = try await test.open(asset) }
        },
        ContractCheck("aDiscardedAssetTakesItsIndexAlong") { test in
            try await test.makeZone(.one)
            let lost = try await test.asset(someBytes, index: someIndex), kept = try await test.asset(someBytes, index: someIndex)
            try await test.publish([test.item(kept)], after: nil)
            await test.cloud.discard([lost, kept], in: ContractTest.zone)
            try await test.expect(.pending, "the discarded asset") { _ = try await test.open(lost) }
            try test.expectNoFile(lost.indexPath, line: #line)
            try test.expect(try await test.content(of: kept) == someBytes, "the asset that a commit names")
            try test.expect(try await test.open(kept).index(), is: Data(someIndex), "its index")
        },
        ContractCheck("anyByteThatIsAnotherSetsAMessageAside") { test in
            try await test.sendThree()
            let path = test.messagePath(1)
            var size = 0
            try test.damage(path) { size = $0?.count ?? 0 }
            try test.expect(size > 200, "a message of \(size) bytes")
            for place in stride(from: 0, to: size, by: test.damageStride) {
                try test.damage(path) { $0?[place] ^= 1 }
                try await test.expectSetAside(nil, line: #line)
                try test.damage(path) { $0?[place] ^= 1 }
            }
            try test.expect(try await test.cloud.mailbox(in: ContractTest.zone).messages.count, is: 3, "the messages")
            for length in stride(from: 0, to: size, by: test.damageStride) {
                var whole: [UInt8]?
                try test.damage(path) {
                    whole = $0
                    $0 = $0.map { Array($0.prefix(length)) }
                }
                try await test.expectSetAside("cut short or not a message", line: #line)
                try test.damage(path) { $0 = whole }
            }
        },
        ContractCheck("aMessageUnderAnothersNameIsSetAside") { test in
            try await test.sendThree()
            var bytes: [UInt8]?
            try test.damage(test.messagePath(1)) { bytes = $0 }
            try test.damage(test.messagePath(7)) { $0 = bytes }
            try await test.expectSetAside("another id than its name", readable: [0, 1, 2], line: #line)
            try test.damage(test.messagePath(7)) { $0 = nil }
            try test.damage("messages/reader/note.txt") { $0 = bytes }
            try await test.expectSetAside("its name is not 32 hexadecimal digits and .json", readable: [0, 1, 2], line: #line)
            try test.damage("messages/reader/note.txt") { $0 = nil }
            try test.damage("messages/reader/.\(test.messageID(1)).json.tmp") { $0 = bytes }
            let mailbox = try await test.cloud.mailbox(in: ContractTest.zone)
            try test.expect(mailbox.messages.count == 3 && mailbox.setAside.isEmpty, "a temporary file counts as a message: \(mailbox)")
        },
        ContractCheck("ofManyForeignFilesSomeAreListed") { test in
            try await test.sendThree()
            for number in 0..<120 { try test.damage("messages/reader/junk \(number)") { $0 = [1] } }
            let mailbox = try await test.cloud.mailbox(in: ContractTest.zone)
            try test.expect(mailbox.messages.count, is: 3, "the messages")
            try test.expect(mailbox.setAside.count, is: CloudMailbox.setAsideLimit, "the files set aside")
        },
    ]
}

extension CloudAsset {
    /// The path of the asset's index, computed here again so that the check does not rely on the code's own names.
    fileprivate var indexPath: String { path.replacingOccurrences(of: ".json.gz", with: ".index.json") }
}

extension ContractTest {
    fileprivate func messageID(_ number: Int) -> String { String(repeating: "0", count: 31) + String(number, radix: 16) }

    fileprivate func messagePath(_ number: Int) -> String { "messages/reader/\(messageID(number)).json" }

    /// Creates the zone and sends messages 0 to 2.
    fileprivate func sendThree() async throws {
        try await makeZone(.one)
        for number in 0..<3 {
            let message = CloudMessage(id: messageID(number), sender: "reader", body: Data(#"{"n":\#(number)}"#.utf8))
            try await cloud.send(message, clock: .now, in: ContractTest.zone)
        }
    }

    /// Expects one message to be set aside, for a reason that contains a text, and the others to be read.
    fileprivate func expectSetAside(_ reason: String?, readable: [Int] = [0, 2], line: Int) async throws {
        let found = try await cloud.mailbox(in: ContractTest.zone)
        try expect(found.messages.map(\.id), is: readable.map(messageID), "the messages that can be read", line: line)
        try expect(found.setAside.count, is: 1, "the messages set aside", line: line)
        if let reason { try expect(found.setAside.allSatisfy { $0.reason.contains(reason) }, "the reason: \(found.setAside)", line: line) }
    }
}
