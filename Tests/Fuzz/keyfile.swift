import CloudStore
import Foundation
import Sealing

/// Key files, plain and locked: what is read is written as a file that reads as the same, and no file makes scrypt take what is not allowed.
func fuzz(_ bytes: UnsafeRawBufferPointer) {
    guard let file = try? KeyFile(Data(bytes)) else { return }
    if case .locked(let lock) = file.keys {
        expect(PassphraseLock.isCost(lock.cost) && lock.cost <= 1 << 20, "the cost is one that is allowed")
    }
    guard let written = try? file.encoded() else { return expect(false, "a key file that is read can be written") }
    expect((try? KeyFile(written).encoded()) == written, "a key file that is written is read as the same")
}
