package import Foundation

/// `zcat` and `gzip`: what any machine has to read an asset and to write a container.
package enum Gzip {
    /// What `zcat` makes of a file.
    package static func decompress(_ path: String) throws -> Data { try ToolFailure.check(ProgramRun("zcat", [path]), "zcat").output }

    /// What `gzip` makes of bytes: one ordinary member.
    package static func compress(_ bytes: Data) throws -> Data { try ToolFailure.check(ProgramRun("gzip", ["-c"], input: bytes), "gzip").output }

    /// A file's JSON, decompressed by `zcat` and set out by `python3 -m json.tool`: nothing of ours has a part in it.
    package static func jsonTool(_ path: String) throws -> Data {
        try ToolFailure.check(ProgramRun("sh", ["-c", "zcat \"$1\" | python3 -m json.tool --no-ensure-ascii", "sh", path]), "json.tool").output
    }
}
