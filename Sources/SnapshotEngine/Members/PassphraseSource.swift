import CloudStore
import Foundation
import Platform

/// The question for a key file's passphrase.
public struct PassphraseQuestion: Sendable {
    /// The path of the key file.
    public let keyFile: String
    /// Whether the passphrase is new; the person then types it twice.
    public let isNew: Bool
}

/// Gets the passphrases of key files from a file, a systemd credential, or a person. Never from an argument: other users could read it.
struct PassphraseSource: Sendable {
    let environment: @Sendable (String) -> String?
    /// Asks a person; nil if there is nobody to ask.
    let ask: (@Sendable (PassphraseQuestion) -> [UInt8]?)?

    /// The largest size of a passphrase, and the smallest size of a new one, in bytes.
    static let byteLimit = 1024
    static let leastByteCount = 8
    static let variable = "SNAPSYNC_PASSPHRASE_FILE"
    private static let credential = "snapsync-passphrase"

    /// Returns the passphrase that opens a key file.
    ///
    /// - Throws: ``CloudError`` with `.keyUnavailable` if there is none.
    func passphrase(of keyFile: String) throws -> [UInt8] { try passphrase(keyFile, isNew: false) }

    /// Returns the new passphrase of a key file.
    ///
    /// - Parameter file: the file with the passphrase; nil for the usual sources.
    /// - Throws: ``CloudError`` with `.keyUnavailable` if there is none, or it is too short.
    func newPassphrase(for keyFile: String, from file: String? = nil, isAsked: Bool = false) throws -> [UInt8] {
        let passphrase =
            try file.map { try read(PrivateFile(path: $0, kind: "passphrase file", byteLimit: Self.byteLimit + 2, hint: Self.fileHint)) }
            ?? passphrase(keyFile, isNew: true, isAsked: isAsked)
        guard passphrase.count >= Self.leastByteCount else {
            throw CloudError(
                .keyUnavailable, at: file ?? keyFile, "the passphrase is shorter than \(Self.leastByteCount) bytes; nothing was stored",
                hint: "choose a longer one: whoever gets the key file can try passphrases one after the other")
        }
        return passphrase
    }

    /// - Parameter isAsked: whether to ask a person and ignore the other sources.
    private func passphrase(_ keyFile: String, isNew: Bool, isAsked: Bool = false) throws -> [UInt8] {
        if !isAsked {
            if let path = environment(Self.variable), !path.isEmpty {
                return try read(PrivateFile(path: path, kind: "passphrase file", byteLimit: Self.byteLimit + 2, hint: Self.fileHint))
            }
            if let path = PrivateFile.credential(Self.credential, in: environment) {
                return try read(
                    PrivateFile(path: path, isCredential: true, kind: "passphrase file", byteLimit: Self.byteLimit + 2, hint: Self.fileHint))
            }
        }
        guard let passphrase = ask?(PassphraseQuestion(keyFile: keyFile, isNew: isNew)), !passphrase.isEmpty else {
            throw CloudError(
                .keyUnavailable, at: keyFile,
                isNew ? "no passphrase for the keys was entered, or the two do not match" : "the keys are locked with a passphrase, and none was entered",
                hint: "run the command at a terminal, or let \(Self.variable) name a file that has it (mode 600)")
        }
        return passphrase
    }

    private func read(_ file: PrivateFile) throws -> [UInt8] {
        guard var bytes = try file.read() else { throw file.error("the passphrase file is not there", Self.fileHint) }
        // Ignore the line end that an editor adds.
        if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
        if bytes.last == UInt8(ascii: "\r") { bytes.removeLast() }
        guard !bytes.isEmpty else { throw file.error("the passphrase file is empty", Self.fileHint) }
        return bytes
    }

    private static let fileHint = "the file has the passphrase in one line, at most \(byteLimit) bytes; chmod 600"
}
