package import Logging
import Platform
import SnapshotSync

extension FileKeyStore {
    /// The key files for a command. The user types their passphrase at the terminal.
    package static func ofCommand(locksNewKeys: Bool = false) -> FileKeyStore {
        FileKeyStore(locksNewKeys: locksNewKeys, protectsMemory: true) { question in
            let limit = 1024
            guard
                var passphrase = ProgressLine.pausing({
                    Terminal.askHidden(question.isNew ? "New passphrase of the keys: " : "Passphrase of the keys: ", limit: limit)
                })
            else { return nil }
            guard question.isNew else { return passphrase }
            var again = ProgressLine.pausing { Terminal.askHidden("The same again: ", limit: limit) } ?? []
            defer { System.erase(&again) }
            guard passphrase == again else {
                System.erase(&passphrase)
                return nil
            }
            return passphrase
        }
    }
}

extension SyncEngine {
    package static func ofCommand(database: String, location: String? = nil, logger: Logger = Logger(label: "snapsync")) throws -> SyncEngine {
        var options = EngineOptions(keys: FileKeyStore.ofCommand(), logger: logger)
        options.cloudPath = location
        return try SyncEngine(database: database, options: options)
    }
}
