public import CloudStore
package import LocalTables
public import Logging
public import SnapshotModel
import SnapshotVersions
public import StrictText
public import SyncRuns

/// How an engine works with its database and its cloud.
public struct EngineOptions: Sendable {
    /// Where the entitlement and the user's preference come from, if not from the database's settings.
    public var gate: GateOptions
    /// Holds the device's private keys, if its zone is signed.
    public var keys: any KeyStore
    /// Registers the application's functions and collations on each of the engine's own connections.
    public var connectionSetup: ConnectionSetup?
    /// The application's container identifier; a cloud with another one is refused. Nil takes that of the set-up.
    public var container: String?
    /// The cloud directory or bucket, if it now has another place than at `init`; it must be the same cloud.
    public var cloudPath: String?
    public var logger: Logger
    /// Returns the current time; tests replace it.
    public var now: @Sendable () -> Instant
    package var assetRule = AssetRule.standard
    /// The source of the ids of messages and reports.
    package var nonces = NonceSource.system
    /// Starts measuring how long a run takes.
    package var stopwatch: @Sendable () -> @Sendable () -> Duration = SyncContext.stopwatch
    /// Opens the cloud for each run; nil opens the one that the settings name.
    package var openCloud: (@Sendable (SyncSettings) throws -> CloudDatabase)?
    /// Whether one opened cloud serves all runs, because it has already tested what its file system can do.
    package var keepsCloud = false

    /// Makes options; what is left out has its usual value.
    public init(
        gate: GateOptions = GateOptions(), keys: any KeyStore = FileKeyStore(), connectionSetup: ConnectionSetup? = nil, container: String? = nil,
        logger: Logger = Logger(label: "snapsync"), now: @escaping @Sendable () -> Instant = { Instant.now }
    ) {
        (self.gate, self.keys, self.connectionSetup, self.container) = (gate, keys, connectionSetup, container)
        (self.logger, self.now) = (logger, now)
    }

    /// Makes options for a test. `openCloud` opens the cloud for each run.
    package init(
        gate: GateOptions = GateOptions(), now: @escaping @Sendable () -> Instant = { Instant.now }, assetRule: AssetRule = .standard,
        nonces: NonceSource = .system, stopwatch: @escaping @Sendable () -> @Sendable () -> Duration = SyncContext.stopwatch,
        openCloud: @escaping @Sendable (SyncSettings) throws -> CloudDatabase
    ) {
        self.init(gate: gate, now: now)
        (self.assetRule, self.nonces, self.stopwatch, self.openCloud) = (assetRule, nonces, stopwatch, openCloud)
    }
}
