// swift-tools-version:6.1
import PackageDescription

// Settings of every module: Swift 6 mode, `any` spelled out, imports visible only where they are written.
let house: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
    name: "SnapshotSync",
    // Mutex needs these; only Linux was tried.
    platforms: [.macOS(.v15), .iOS(.v18), .watchOS(.v11), .tvOS(.v18), .visionOS(.v2)],
    products: [
        // What an application needs. The umbrella names each type that it brings.
        .library(name: "SnapshotSync", targets: ["SnapshotSync"]),
        // Apart from the umbrella, so that commands and servers do not load Observation.
        .library(name: "SnapshotObservation", targets: ["SnapshotObservation"]),
        // What operators use: check, repair, compare, plan, schedule; SQL on a version, the history of a row.
        .library(name: "SnapshotTools", targets: ["SnapshotTools", "SnapshotQuery"]),
        // For a backend of one's own, and for single records on a location.
        .library(
            name: "SnapshotBackends",
            targets: ["CloudStore", "RecordZones", "DirectoryCloud", "ObjectCloud", "StoreConformance", "SnapshotModel", "StrictText"]),
        .library(name: "ProjectSharing", targets: ["ProjectSharing"]),
        // The names of an application that used CloudKit.
        .library(name: "CloudKitFacade", targets: ["CloudKitFacade", "SnapshotModel"]),
        // Only applications of Apple's systems have a CloudKit to hand in.
        .library(name: "CloudKitCloud", targets: ["CloudKitCloud"]),
        .executable(name: "snapsync", targets: ["snapsync"]),
        .executable(name: "snapsync-examples", targets: ["snapsync-examples"]),
    ],
    dependencies: [
        // SQLite: opening, transactions, schema look-ups, error codes. Writing our own would be a second GRDB.
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        // The command line: parsing, help, completion scripts.
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        // SHA-256 with the processor's own instructions, on which trust in every asset rests; signatures, HPKE and AES-GCM of signed and
        // sealed zones.
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        // The logging interface of server-side Swift, so that an embedding program chooses the back end.
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    ],
    targets: [
        .systemLibrary(name: "CZlib", providers: [.apt(["zlib1g-dev"])]),
        // ISA-L in zlib's place, on Linux: a fifth of the time, a third of an export's.
        .systemLibrary(name: "CIsal", providers: [.apt(["libisal-dev"])]),
        // HTTP and the XML of listings, for object stores. Foundation's parts for that bring libxml2 and more of ICU into the program.
        .systemLibrary(name: "CCurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "CExpat", providers: [.apt(["libexpat1-dev"])]),
        // The system calls that Glibc's module lacks.
        .target(name: "CLinux"),
        // A call of SQLite's that is variadic.
        .target(name: "CSQLiteConfig"),

        // The C library's calls that several modules need: files, locks, clocks.
        .target(
            name: "Platform", dependencies: [.target(name: "CLinux", condition: .when(platforms: [.linux]))],
            cSettings: [.define("_GNU_SOURCE", .when(platforms: [.linux]))], swiftSettings: house),

        // Strict JSON (RFC 8259), instants (RFC 3339), texts that are compared and quoted by their bytes, and the error of a sync; the ground of the other
        // modules.
        .target(name: "StrictText", dependencies: ["Platform"], swiftSettings: house),
        // What travels: values only.
        .target(name: "SnapshotModel", dependencies: ["StrictText"], swiftSettings: house),
        // The SQLite side; above it only the engine's door for an application's own connection imports GRDB. First what reads the tables and keeps the
        // settings, then tracking, merging and applying.
        .target(
            name: "LocalTables",
            dependencies: [
                "Platform", "SnapshotModel", "StrictText", "CSQLiteConfig",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ],
            swiftSettings: house),
        .target(
            name: "LocalStore",
            dependencies: [
                "LocalTables", "Platform", "SnapshotModel", "StrictText", "CSQLiteConfig",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ],
            swiftSettings: house),
        // Tables that are filled from queries on another database.
        .target(
            name: "MaterializedViews",
            dependencies: [
                "LocalStore", "LocalTables", "SnapshotModel", "StrictText", .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ],
            swiftSettings: house),
        // The boxes of sealed zones: encryption, and the keyed hash of the cut rule. Apart from the format and the cloud, as assets, records and
        // messages are sealed alike, and so that the cryptography can be read in one place.
        // CryptoExtras has scrypt, for the passphrase of key files; it costs a first release build 27 s of one core, and nothing later.
        .target(
            name: "Sealing",
            dependencies: [.product(name: "Crypto", package: "swift-crypto"), .product(name: "CryptoExtras", package: "swift-crypto")],
            swiftSettings: house),
        // Entities <-> bytes; knows neither database nor cloud.
        .target(
            name: "SnapshotFormat",
            dependencies: [
                "Platform", "Sealing", "SnapshotModel", "StrictText", "CZlib",
                .target(name: "CIsal", condition: .when(platforms: [.linux])),
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: house),
        // Zones, records, errors; commit documents, checkpoints, publisher and reader over any store that has
        // put-if-absent; the cloud on a store, and the store in memory. Knows no snapshots and no files.
        .target(
            name: "CloudStore",
            dependencies: ["Platform", "Sealing", "StrictText", .product(name: "Crypto", package: "swift-crypto")],
            swiftSettings: house),
        // Records as an application sees them: saving, queries, limits.
        .target(name: "RecordZones", dependencies: ["CloudStore", "StrictText"], swiftSettings: house),
        // A cloud that is a shared directory: files, fsync, links, file system events.
        .target(
            name: "DirectoryCloud",
            dependencies: ["CloudStore", "Platform", "StrictText", .target(name: "CLinux", condition: .when(platforms: [.linux]))],
            cSettings: [.define("_GNU_SOURCE", .when(platforms: [.linux]))],
            swiftSettings: house),
        // A cloud in a bucket: HTTP, signatures, credentials, conditional writes.
        .target(
            name: "ObjectCloud",
            dependencies: [
                "CloudStore", "Platform", "StrictText", "CCurl", "CExpat", .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: house),
        // A cloud in CloudKit, over a protocol of its operations that an application implements with its CKDatabase.
        .target(name: "CloudKitCloud", dependencies: ["CloudStore", "StrictText"], swiftSettings: house),
        // The contract of an ObjectStore as a suite that anyone can run against a store of their own; needs no test framework.
        .target(name: "StoreConformance", dependencies: ["CloudStore", "StrictText"], swiftSettings: house),
        // One version of one dataset: its record, its assets, its entities in key order, and what rows differ from it.
        .target(
            name: "SnapshotVersions",
            dependencies: [
                "SnapshotModel", "LocalStore", "LocalTables", "SnapshotFormat", "CloudStore", "Platform", "StrictText",
            ],
            swiftSettings: house),
        // What a run does: export, import, merge, messages, and the guards of each.
        .target(
            name: "SyncRuns",
            dependencies: [
                "MaterializedViews", "SnapshotVersions", "SnapshotModel", "LocalStore", "LocalTables", "SnapshotFormat", "Sealing", "CloudStore",
                "DirectoryCloud",
                "ObjectCloud", "Platform",
                "StrictText",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: house),
        // The engine: its verbs, the gate, setup, opening, retention and succession.
        .target(
            name: "SnapshotEngine",
            dependencies: [
                "SyncRuns", "MaterializedViews", "SnapshotVersions", "SnapshotModel", "LocalStore", "LocalTables", "SnapshotFormat", "Sealing", "CloudStore",
                "DirectoryCloud",
                "ObjectCloud",
                "Platform",
                "StrictText",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: house),
        // The zone's versions, restoring one, and the edits that lost.
        .target(
            name: "SnapshotHistory",
            dependencies: [
                "SnapshotEngine", "SyncRuns", "SnapshotVersions", "SnapshotModel", "LocalStore", "LocalTables", "SnapshotFormat", "CloudStore",
                "DirectoryCloud", "Platform",
                "StrictText",
            ],
            swiftSettings: house),
        // What operators use: inspect, check, repair, diff, plan, schedule.
        .target(
            name: "SnapshotTools",
            dependencies: [
                "SnapshotHistory", "SnapshotEngine", "SyncRuns", "SnapshotVersions", "SnapshotModel", "LocalStore", "LocalTables", "MaterializedViews",
                "SnapshotFormat", "Sealing",
                "CloudStore",
                "DirectoryCloud",
                "ObjectCloud", "Platform", "StrictText",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: house),
        // A version as tables that SQL reads where they are, the history of a row, and the feed of all changes.
        .target(
            name: "SnapshotQuery",
            dependencies: [
                "SnapshotTools", "SnapshotHistory", "SnapshotEngine", "SyncRuns", "SnapshotVersions", "SnapshotModel", "LocalStore", "LocalTables",
                "SnapshotFormat",
                "CloudStore",
                "StrictText",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ],
            swiftSettings: house),
        // Projects and comments as public records.
        .target(
            name: "ProjectSharing",
            dependencies: [
                "SnapshotEngine", "SyncRuns", "SnapshotVersions", "SnapshotModel", "LocalStore", "LocalTables", "RecordZones", "CloudStore", "StrictText",
            ],
            swiftSettings: house),
        // Syncs whenever the database or the zone changes.
        .target(
            name: "SnapshotWatch",
            dependencies: [
                "SnapshotEngine", "SyncRuns", "SnapshotVersions", "SnapshotModel", "LocalStore", "LocalTables", "CloudStore", "DirectoryCloud", "Platform",
                "StrictText",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: house),
        // The engine behind the names that an application with CloudKit code knows.
        .target(
            name: "CloudKitFacade",
            dependencies: [
                "SnapshotEngine", "SyncRuns", "SnapshotVersions", "SnapshotModel", "LocalStore", "LocalTables", "CloudStore", "StrictText",
            ],
            swiftSettings: house),
        // What a user interface shows, as @Observable classes. A module above all products that it shows, and apart from them: the engine and the
        // command stay free of the main actor.
        .target(
            name: "SnapshotObservation",
            dependencies: [
                "SnapshotEngine", "SyncRuns", "SnapshotVersions", "SnapshotTools", "SnapshotHistory", "ProjectSharing", "SnapshotWatch", "SnapshotModel",
                "CloudStore",
                "StrictText",
            ],
            swiftSettings: house),
        // The umbrella: one import for an application.
        .target(
            name: "SnapshotSync",
            dependencies: ["SnapshotEngine", "SyncRuns", "SnapshotHistory", "SnapshotWatch", "SnapshotModel", "CloudStore", "StrictText"],
            swiftSettings: house),
        // What the two programs have in common: arguments, output, hints.
        .target(
            name: "CommandSupport",
            dependencies: [
                "SnapshotSync", "SnapshotEngine", "SyncRuns", "SnapshotHistory", "SnapshotTools", "SnapshotQuery", "SnapshotVersions", "SnapshotWatch",
                "ObjectCloud", "StrictText", "Platform", .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: house),
        // The commands of one application: shared projects, and sample data.
        .executableTarget(
            name: "snapsync-examples",
            dependencies: [
                "CommandSupport", "ProjectSharing", "SnapshotSync", "SnapshotModel", "StrictText",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: house),
        // The command: parse, call one engine method, print.
        .executableTarget(
            name: "snapsync",
            dependencies: [
                "CommandSupport", "SnapshotSync", "MaterializedViews", "SnapshotModel", "CloudStore", "StrictText", "Platform",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: house),

        // The applications of two examples, which the tests run; no products.
        .executableTarget(
            name: "stockroom", dependencies: ["SnapshotSync", .product(name: "GRDB", package: "GRDB.swift")],
            path: "Fixtures/Examples/stockroom/App", packageAccess: false, swiftSettings: house),
        .executableTarget(
            name: "phone-and-watch", dependencies: ["SnapshotSync", "CloudKitFacade", "SnapshotModel"], path: "Fixtures/Examples/phone-and-watch/App",
            packageAccess: false, swiftSettings: house),

        .target(
            name: "TestSupport", dependencies: ["SnapshotModel", .product(name: "GRDBSQLite", package: "GRDB.swift")], path: "Tests/TestSupport",
            swiftSettings: house),
        .testTarget(name: "StrictTextTests", dependencies: ["StrictText", "TestSupport"], swiftSettings: house),
        .testTarget(name: "SnapshotModelTests", dependencies: ["SnapshotModel", "StrictText", "TestSupport"], swiftSettings: house),
        .testTarget(
            name: "SealingTests", dependencies: ["Sealing", "TestSupport", .product(name: "Crypto", package: "swift-crypto")], swiftSettings: house),
        .testTarget(
            name: "LocalStoreTests",
            dependencies: [
                "LocalStore", "LocalTables", "Platform", "SnapshotModel", "StrictText", "TestSupport", .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: house),
        .testTarget(
            name: "SnapshotFormatTests", dependencies: ["SnapshotFormat", "Sealing", "SnapshotModel", "StrictText", "TestSupport"], swiftSettings: house),
        // The contract of a cloud, whatever its store is, as checks that the tests of each store run.
        .target(name: "CloudContract", dependencies: ["RecordZones", "CloudStore", "StrictText"], path: "Tests/CloudContract", swiftSettings: house),
        .testTarget(
            name: "CloudStoreTests",
            dependencies: [
                "RecordZones", "CloudStore", "DirectoryCloud", "Platform", "CloudContract", "StoreConformance", "SnapshotEngine", "SyncRuns", "SnapshotModel",
                "Sealing",
                "StrictText",
                "TestSupport",
            ],
            swiftSettings: house),
        .testTarget(
            name: "ObjectCloudTests",
            dependencies: ["ObjectCloud", "CloudStore", "CloudContract", "StoreConformance", "StrictText", "TestSupport"], swiftSettings: house),
        // As another package sees this one: without access to what is `package`.
        .testTarget(
            name: "OutsideBackendTests",
            dependencies: [
                "CloudStore", "StoreConformance", "SnapshotSync", "SnapshotModel", "StrictText", .product(name: "GRDB", package: "GRDB.swift"),
            ],
            packageAccess: false, swiftSettings: house),
        .testTarget(
            name: "CloudKitCloudTests",
            dependencies: [
                "CloudKitCloud", "RecordZones", "CloudStore", "CloudContract", "StoreConformance", "SnapshotEngine", "SyncRuns", "SnapshotVersions",
                "SnapshotTools",
                "SnapshotModel",
                "StrictText",
                "TestSupport",
            ],
            swiftSettings: house),
        .testTarget(
            name: "SnapshotObservationTests",
            dependencies: [
                "SnapshotObservation", "SnapshotSync", "SnapshotEngine", "SyncRuns", "SnapshotTools", "SnapshotHistory", "SnapshotWatch", "ProjectSharing",
                "SnapshotModel",
                "CloudStore",
                "CloudContract", "DirectoryCloud", "StrictText", "TestSupport",
            ],
            swiftSettings: house),
        .testTarget(
            name: "SnapshotSyncTests",
            dependencies: [
                "SnapshotSync", "SnapshotVersions", "SnapshotEngine", "SyncRuns", "SnapshotTools", "SnapshotHistory", "SnapshotQuery", "ProjectSharing",
                "SnapshotWatch",
                "CloudKitFacade",
                "SnapshotModel", "SnapshotFormat", "Sealing", "LocalStore", "LocalTables", "RecordZones", "CloudStore", "DirectoryCloud", "Platform",
                "StrictText",
                "CloudContract", "StoreConformance", "TestSupport",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: house),
        .testTarget(
            name: "snapsyncTests",
            dependencies: [
                "CommandSupport", "snapsync", "snapsync-examples", "stockroom", "phone-and-watch", "CloudStore", "DirectoryCloud", "Platform",
                "SnapshotModel", "SnapshotVersions", "StrictText", "TestSupport",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            // The last and largest module of the tests is compiled on all cores, also where others are compiled as a whole.
            swiftSettings: house + [.unsafeFlags(["-no-whole-module-optimization", "-enable-batch-mode"])]),
    ]
)

// `make torture` optimises the modules that see each row and each byte: the tests then take a third less of the processor's time. The others, and the
// tests themselves, would take longer to compile than that saves. Only there: SwiftPM refuses a dependency that has such flags.
if Context.environment["SNAPSYNC_OPTIMISED"] != nil {
    let optimised = ["StrictText", "SnapshotModel", "Platform", "Sealing", "SnapshotFormat", "LocalStore", "LocalTables", "CloudStore", "DirectoryCloud"]
    for target in package.targets where optimised.contains(target.name) { target.swiftSettings = house + [.unsafeFlags(["-O"])] }
}

// The site of the reference (`make docs`). Only there: with the plug-in as a dependency, every build and every application that uses the package
// would fetch it and what it depends on.
if Context.environment["SNAPSYNC_DOCS"] != nil {
    package.dependencies.append(.package(url: "https://github.com/swiftlang/swift-docc-plugin", from: "1.5.0"))
}
