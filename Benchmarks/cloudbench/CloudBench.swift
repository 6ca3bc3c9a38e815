import ArgumentParser
import CloudStore
import DirectoryCloud
import Foundation

/// Drives a `DirectoryCloud` for `Benchmarks/cloud_bench.py`, which measures it beside SQLite. Not part of any product.
///
/// Each command prints one JSON object with the seconds that the measured loop took, without the process's start.
@main
struct CloudBench: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cloudbench", abstract: "Measures a cloud directory.",
        subcommands: [FillCommand.self, CommitCommand.self, FetchCommand.self, QueryCommand.self, VisitCommand.self])
}

/// The cloud and the zone that are measured.
struct BenchCloud: ParsableArguments {
    @Argument(help: "The cloud directory; made if it is missing.")
    var directory: String
    @Option(name: .long, help: "This process's device.")
    var device = "bench"

    static let zone = ZoneID("Bench")

    func open() async throws -> DirectoryCloud {
        let cloud = try DirectoryCloud.create(at: directory, container: "iCloud.org.example.bench")
        _ = try await cloud.createZone(Self.zone, creator: "bench", publishers: .many)
        return cloud
    }

    /// A small record: about 150 bytes of JSON.
    static func record(_ name: String, _ number: Int) -> CloudRecord {
        CloudRecord(
            type: "Food", name: name,
            fields: ["name": .string("Food \(number)"), "calories": .integer(Int64(number * 7919 % 1000)), "isOpen": .boolean(number % 2 == 0)])
    }

    /// Prints the figures as one line of JSON.
    static func report(_ figures: [String: Double]) throws {
        let data = try JSONSerialization.data(withJSONObject: figures, options: .sortedKeys)
        print(String(decoding: data, as: UTF8.self))
    }
}

extension ContinuousClock {
    /// How many seconds `body` takes.
    func seconds(_ body: () async throws -> Void) async rethrows -> Double {
        let start = now
        try await body()
        return start.duration(to: now) / .seconds(1)
    }
}

/// Makes a zone of so many records, or of so many commits.
struct FillCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "fill", abstract: "Makes records in few commits, or many commits of few records.")
    @OptionGroup var cloud: BenchCloud
    @Option(name: .long, help: "How many records.")
    var records: Int
    @Option(name: .long, help: "How many commits; each saves one of the records anew.")
    var commits = 0

    func run() async throws {
        let zone = CloudZone(BenchCloud.zone, of: try await cloud.open(), as: cloud.device)
        for start in stride(from: 0, to: records, by: 1000) {
            let part = (start..<min(start + 1000, records)).map { BenchCloud.record("food-\($0)", $0) }
            try await zone.modify(saving: part, savePolicy: .allKeys).get()
        }
        let seconds = try await ContinuousClock().seconds {
            for number in 0..<commits { try await zone.save(BenchCloud.record("food-\(number % records)", number + 1), savePolicy: .allKeys) }
        }
        try BenchCloud.report(["seconds": seconds])
    }
}

/// Makes commits of one small record each, after a line on standard input.
struct CommitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "commit", abstract: "Makes commits of one small record each, when standard input says so.")
    @OptionGroup var cloud: BenchCloud
    @Option(name: .long, help: "How many.")
    var count: Int

    func run() async throws {
        let zone = CloudZone(BenchCloud.zone, of: try await cloud.open(), as: cloud.device)
        _ = try await zone.changes(since: nil)
        print("ready")
        fflush(nil)
        _ = readLine()
        let seconds = try await ContinuousClock().seconds {
            for number in 0..<count { try await zone.save(BenchCloud.record("\(cloud.device)-\(number)", number)) }
        }
        try BenchCloud.report(["seconds": seconds])
    }
}

/// Fetches records by id.
struct FetchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "fetch", abstract: "Fetches records by id.")
    @OptionGroup var cloud: BenchCloud
    @Option(name: .long, help: "How many records there are.")
    var records: Int
    @Option(name: .long, help: "How many fetches.")
    var times: Int

    func run() async throws {
        let zone = CloudZone(BenchCloud.zone, of: try await cloud.open(), as: cloud.device)
        let clock = ContinuousClock()
        let first = try await clock.seconds { _ = try await zone.record("food-0") }
        let seconds = try await clock.seconds {
            for number in 0..<times { _ = try await zone.record("food-\(number * 7919 % records)") }
        }
        try BenchCloud.report(["first": first, "seconds": seconds])
    }
}

/// Asks for the first 50 of a sorted, filtered query.
struct QueryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "query", abstract: "Asks for the first 50 records of a filtered and sorted query.")
    @OptionGroup var cloud: BenchCloud
    @Option(name: .long, help: "How many queries.")
    var times: Int

    func run() async throws {
        let zone = CloudZone(BenchCloud.zone, of: try await cloud.open(), as: cloud.device)
        _ = try await zone.record("food-0")
        let query = RecordQuery("Food", where: .compare("calories", .atMost, .integer(500)), sortedBy: [RecordSort("calories", ascending: false)])
        var count = 0
        let seconds = try await ContinuousClock().seconds {
            for _ in 0..<times { count += try await zone.records(matching: query, limit: 50).records.count }
        }
        guard count == times * 50 else { throw ExitCode(1) }
        try BenchCloud.report(["seconds": seconds])
    }
}

/// Reads the zone as a device does that was never here.
struct VisitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "visit", abstract: "Reads the zone whole, as a device does that was never here.")
    @OptionGroup var cloud: BenchCloud

    func run() async throws {
        let directory = try await cloud.open()
        var count = 0
        let seconds = try await ContinuousClock().seconds { count = try await directory.records(in: BenchCloud.zone).records.count }
        try BenchCloud.report(["records": Double(count), "seconds": seconds])
    }
}
