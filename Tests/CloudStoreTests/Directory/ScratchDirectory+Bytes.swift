import Foundation
import TestSupport

// What tests of a directory's bytes look at, and what a stranger does to them.
extension ScratchDirectory {
    func bytes(_ name: String) throws -> [UInt8] { [UInt8](try read(name)) }

    /// Writes a file as a stranger would: over whatever is there.
    func write(_ bytes: [UInt8], to name: String) throws { try write(Data(bytes), to: name) }

    func remove(_ name: String) throws { try FileManager.default.removeItem(atPath: path(name)) }

    /// The paths of all files and directories beneath, in order.
    func tree() throws -> [String] { try FileManager.default.subpathsOfDirectory(atPath: path).sorted() }
}
