public import CloudStore
import Foundation
import Platform
import Sealing
import StrictText
import Synchronization

/// Stores keys in files of mode 0600, outside of databases and clouds: `$XDG_DATA_HOME/snapsync/keys/CLOUD/SCOPE/ZONE/DEVICE.json`.
///
/// Two other files have precedence: the file that `SNAPSYNC_KEY_FILE` names, and `snapsync-key` among the credentials that systemd passes to a
/// service (`$CREDENTIALS_DIRECTORY`). A file may be locked with a passphrase. Source: docs/sealed.md, "The key file".
public struct FileKeyStore: KeyStore {
    /// Returns a variable of the environment.
    private let environment: @Sendable (String) -> String?
    private let passphrases: PassphraseSource
    /// Whether new keys get a passphrase.
    private let locksNewKeys: Bool
    private let protectsMemory: Bool
    /// The keys that were unlocked last, so that a process asks for a passphrase once and not at each run.
    private let unlocked = Unlocked()

    /// Creates the store that the process's environment describes.
    ///
    /// - Parameters:
    ///   - locksNewKeys: whether new keys get a passphrase. An existing key file says itself whether it is locked; if it is not, it is refused
    ///     then.
    ///   - protectsMemory: whether, once it has read keys, the process leaves no core dump and other processes of its user cannot read its
    ///     memory. For a program that is alone in its process.
    ///   - ask: asks a person for a passphrase if neither `SNAPSYNC_PASSPHRASE_FILE` nor a credential has it; nil if there is nobody to ask.
    public init(
        locksNewKeys: Bool = false, protectsMemory: Bool = false, asking ask: (@Sendable (PassphraseQuestion) -> [UInt8]?)? = nil
    ) {
        self.init(
            environment: System.environment, locksNewKeys: locksNewKeys, protectsMemory: protectsMemory, asking: ask)
    }

    /// Creates the store that other variables describe.
    package init(
        environment: @escaping @Sendable (String) -> String?, locksNewKeys: Bool = false, protectsMemory: Bool = false,
        asking ask: (@Sendable (PassphraseQuestion) -> [UInt8]?)? = nil
    ) {
        self.environment = environment
        self.protectsMemory = protectsMemory
        self.locksNewKeys = locksNewKeys
        passphrases = PassphraseSource(environment: environment, ask: ask)
    }

    public func keys(of owner: KeyOwner) throws -> DeviceKeys? {
        guard let (keys, isLocked) = try read(owner) else { return nil }
        guard isLocked || !locksNewKeys else {
            throw location(of: owner).error(
                "the keys are there already, without a passphrase", "set the device up without one, then: snapsync zone passphrase")
        }
        return keys
    }

    public func store(_ keys: DeviceKeys, of owner: KeyOwner) throws {
        let place = location(of: owner)
        if protectsMemory { System.protectMemory() }
        guard !place.isCredential else { throw place.error("a credential of systemd is only read", "create it before the device is set up") }
        let file = try locksNewKeys ? locked(keys, of: owner, with: passphrases.newPassphrase(for: place.path), at: place) : KeyFile(keys, of: owner)
        try create(file, at: place)
    }

    private func create(_ file: KeyFile, at place: PrivateFile) throws {
        let folder = URL(fileURLWithPath: place.path).deletingLastPathComponent().path
        try put(file, at: place) { bytes, temporary in
            // The keys must survive a power cut if the zone does, because only they can write to the zone.
            try FileReplacement.createFolder(folder, mode: 0o700)
            let isPlaced = try FileReplacement.create(place.path, with: bytes, through: temporary, mode: 0o600)
            guard isPlaced else { throw place.error("other keys are there already", "remove that file only if nobody needs its keys") }
        }
    }

    /// Copies a device's keys from one zone to another. A file with a passphrase has the same passphrase there.
    ///
    /// - Parameter kind: that of the sealing key there; one of another kind is made anew.
    /// - Throws: ``CloudError`` with `.keyUnavailable`.
    package func copy(of owner: KeyOwner, to next: KeyOwner, sealing kind: SealingKeyKind) throws {
        guard let (found, isLocked) = try read(owner) else { return }
        let keys = found.sealingKind == kind ? found : try found.renewing(kind, at: place(of: next))
        guard isLocked else { return try store(keys, of: next) }
        let source = location(of: owner), place = location(of: next)
        guard !place.isCredential else { throw place.error("a credential of systemd is only read", "create the one of \(next.zone)") }
        try create(locked(keys, of: next, with: passphrases.passphrase(of: source.path), at: place), at: place)
    }

    public func place(of owner: KeyOwner) -> String { location(of: owner).path }

    package enum PassphraseChange: Sendable {
        /// Sets the passphrase from a file, or, if nil, the one that a person types.
        case set(from: String?)
        case remove
    }

    /// Sets, replaces or removes the passphrase of a key file. The keys stay the same.
    ///
    /// - Throws: ``CloudError`` with `.keyUnavailable`; the file is unchanged then.
    package func change(_ change: PassphraseChange, of owner: KeyOwner) throws {
        let place = location(of: owner)
        guard let (keys, _) = try read(owner) else { throw place.error("the keys of \(owner.device) are not there", Self.lostHint) }
        guard !place.isCredential else { throw place.error("a credential of systemd is only read", "change the file that the credential is made of") }
        let file =
            switch change {
            case .remove: KeyFile(keys, of: owner)
            case .set(let source):
                try locked(keys, of: owner, with: passphrases.newPassphrase(for: place.path, from: source, isAsked: true), at: place)
            }
        // If the path is a symbolic link, replace its target and keep the link.
        let target = System.destination(ofLink: place.path) ?? place.path
        try put(file, at: place, beside: target) { bytes, temporary in
            try FileReplacement.replace(target, by: bytes, through: temporary, mode: 0o600)
        }
    }

    private func locked(_ keys: DeviceKeys, of owner: KeyOwner, with passphrase: [UInt8], at place: PrivateFile) throws -> KeyFile {
        var passphrase = passphrase
        defer { System.erase(&passphrase) }
        do throws(BoxError) {
            return try KeyFile(locking: keys, of: owner, with: passphrase)
        } catch {
            throw place.error("the keys cannot be locked: \(error)", Self.memoryHint)
        }
    }

    /// - Parameter write: receives the bytes, and an unused path beside the file.
    private func put(
        _ file: KeyFile, at place: PrivateFile, beside path: String? = nil, _ write: (UnsafeRawBufferPointer, String) throws -> Void
    ) throws {
        var bytes = Array(try file.encoded())
        defer { System.erase(&bytes) }
        let temporary = (path ?? place.path) + ".new-" + Hexadecimal.text((0..<8).map { _ in UInt8.random(in: .min ... .max) })
        do {
            try bytes.withUnsafeBytes { try write($0, temporary) }
        } catch let error as CloudError {
            throw error
        } catch {
            throw place.error("the keys cannot be stored: \(error)", "check the owner, mode and room of the folder, or set SNAPSYNC_KEY_FILE")
        }
    }

    private func location(of owner: KeyOwner) -> PrivateFile {
        let credential = PrivateFile.credential("snapsync-key", in: environment)
        // The XDG Base Directory Specification says to ignore a relative path.
        let data = environment("XDG_DATA_HOME").flatMap { $0.exact.hasPrefix("/") ? $0 : nil } ?? "\(environment("HOME") ?? NSHomeDirectory())/.local/share"
        let named = environment("SNAPSYNC_KEY_FILE").flatMap { $0.isEmpty ? nil : $0 }
        return PrivateFile(
            path: named ?? credential ?? "\(data)/snapsync/keys/\(owner.cloud)/\(owner.zone)/\(owner.device).json",
            isCredential: named == nil && credential != nil, kind: "key file", byteLimit: KeyFile.byteLimit, hint: Self.lostHint)
    }

    private func read(_ owner: KeyOwner) throws -> (keys: DeviceKeys, isLocked: Bool)? {
        let place = location(of: owner)
        if protectsMemory { System.protectMemory() }
        guard var bytes = try place.read() else { return nil }
        defer { System.erase(&bytes) }
        let file: KeyFile
        do throws(KeyFile.Fault) {
            file = try KeyFile(Data(bytes))
        } catch {
            throw place.error(error.reason, error.hint)
        }
        guard file.belongs(to: owner) else {
            throw place.error(
                "the keys are those of the device \(file.device) in another zone or location, or of another device",
                "name the key file of \(owner.device) in \(owner.zone)")
        }
        switch file.keys {
        case .open(let keys): return (keys, false)
        case .locked(let lock):
            if let keys = unlocked.keys(bytes) { return (keys, true) }
            var passphrase = try passphrases.passphrase(of: place.path)
            defer { System.erase(&passphrase) }
            do throws(BoxError) {
                let keys = try file.unlocked(lock, with: passphrase)
                unlocked.keep(keys, bytes)
                return (keys, true)
            } catch {
                guard error == .damaged else { throw place.error("the keys cannot be unlocked: \(error)", Self.memoryHint) }
                throw place.error(
                    "the passphrase is not that of the key file, or the file was altered", "try again; if the passphrase is lost: \(Self.lostHint)")
            }
        }
    }

    fileprivate static let lostHint = "bring the file back from a copy; without one, detach the device, set it up under another name, and have it approved"
    private static let memoryHint = "unlocking the key file takes its scrypt parameter n in KiB of memory: make room"

    /// The keys of the file that this process unlocked last, for the same bytes of the file.
    private final class Unlocked: Sendable {
        private let last = Mutex<(file: [UInt8], keys: DeviceKeys)?>(nil)

        func keys(_ file: [UInt8]) -> DeviceKeys? { last.withLock { $0?.file == file ? $0?.keys : nil } }
        func keep(_ keys: DeviceKeys, _ file: [UInt8]) { last.withLock { $0 = (file, keys) } }
    }
}

extension KeyFile.Fault {
    fileprivate var reason: String {
        switch self {
        case .unreadable: "the key file cannot be understood"
        case .version: "the key file has another format version"
        case .noKeys: "the key file holds no keys"
        case .cost(let n, let r, let p):
            "the key file asks for scrypt with n \(n), r \(r), p \(p); n may be a power of two from \(PassphraseLock.costs.lowerBound) to \(PassphraseLock.costs.upperBound), r \(PassphraseLock.blockSize) and p \(PassphraseLock.parallelism)"
        }
    }

    fileprivate var hint: String { self == .version ? "update snapsync on this device" : FileKeyStore.lostHint }
}

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

/// A small file with a secret. Other users have no access to it, unless systemd passes it to the service.
struct PrivateFile {
    let path: String
    /// Whether the file is a systemd credential. systemd then sets its access rules.
    var isCredential = false
    /// A name for the file in errors, for example `key file`.
    let kind: String
    let byteLimit: Int
    /// What to do if the file is not usable.
    let hint: String

    /// Returns the path of a systemd credential; nil if the service has none with that name.
    static func credential(_ name: String, in environment: (String) -> String?) -> String? {
        guard let folder = environment("CREDENTIALS_DIRECTORY"), !folder.isEmpty else { return nil }
        let path = "\(folder)/\(name)"
        return FileManager.default.fileExists(atPath: path) ? path : nil
    }

    /// Returns the bytes; nil if the file does not exist.
    ///
    /// - Throws: ``CloudError`` with `.keyUnavailable` if the file cannot be opened, is not a regular file, or other users have access to it.
    func read() throws -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            let number = errno
            guard number != ENOENT, number != ENOTDIR else { return nil }
            throw error("the \(kind) cannot be read: \(String(cString: strerror(number)))", "check its owner and mode; it must belong to this user")
        }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        var facts = stat()
        guard fstat(descriptor, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG, facts.st_size <= byteLimit else {
            throw error("the \(kind) is no plain file of at most \(byteLimit) bytes", hint)
        }
        guard isCredential || facts.st_mode & 0o077 == 0 else {
            throw error(
                "other users may read the \(kind), or write it (mode \(String(facts.st_mode & 0o777, radix: 8)))",
                "chmod 600 \(path.shellWord); if somebody may have read it, remove this member and let the device join with new keys")
        }
        do { return Array(try file.readToEnd() ?? Data()) } catch {
            throw self.error("the \(kind) cannot be read: \(error.localizedDescription)", "check the disk that it lies on")
        }
    }

    func error(_ reason: String, _ hint: String) -> CloudError { CloudError(.keyUnavailable, at: path, reason, hint: hint) }
}
