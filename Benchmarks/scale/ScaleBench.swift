import ArgumentParser
import Foundation

/// A distant bucket, simulated: the real commit log and client, seeded latencies and losses, virtual time.
@main
struct ScaleBench: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "scalebench", abstract: "Simulates a distant bucket with many devices, versions or zones.",
        subcommands: [PeersBench.self, ReadersBench.self, VersionsBench.self, ZonesBench.self])
}

/// Peers that share one zone.
struct PeersBench: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "peers", abstract: "Simulates many peers of one zone.")

    @Option(name: .long, help: "Numbers of peers.")
    var peers = "2,5,10,20,50,100,200,500"
    @Option(name: .long, help: "Latencies, in milliseconds.")
    var latencies = "20,100,300"
    @Option(name: .long, help: "Seconds between a peer's edits, in the middle; 0: always one more.")
    var between = 60.0
    @Option(name: .long, help: "Seconds between looks without an edit.")
    var poll = 5.0
    @Option(name: .long, help: "The part of all requests that are lost, or their answers.")
    var loss = 0.01
    @Option(name: .long, help: "Minutes of virtual time.")
    var minutes = 10.0
    @Option(name: .long, help: "The seed.")
    var seed: UInt64 = 1

    func run() async throws {
        print("| peers | latency | edits | commits | commits/s | lost races a commit | failed runs | median | 99 % | longest | fairness | requests a commit |")
        print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
        for latency in latencies.split(separator: ",").compactMap({ Int64($0) }) {
            for count in peers.split(separator: ",").compactMap({ Int($0) }) { try await measure(count, latency: latency) }
        }
    }

    private func measure(_ count: Int, latency: Int64) async throws {
        let time = VirtualTime(), store = DistantStore(time)
        let peers = try (0..<count).map { try SimulatedPeer($0, in: store, time, seed: seed) }
        // At no distance, so that all begin at once.
        try await time.run([{ for (number, peer) in peers.enumerated() { try await peer.join(isFirst: number == 0) } }])
        for peer in peers { peer.transport.set(DistantTransport.Way(latency: latency * 1000, loss: loss)) }
        let before = peers.map { $0.transport.requests.values.reduce(0, +) }.reduce(0, +)
        let begin = Double(time.now) / 1_000_000
        let habit = SimulatedPeer.Habit(between: between > 0 ? between : nil, poll: poll, until: begin + minutes * 60)
        try await time.run(peers.map { peer in { await peer.run(habit) } })

        let requests = peers.map { $0.transport.requests.values.reduce(0, +) }.reduce(0, +) - before
        let tallies = peers.map(\.tally), waits = tallies.flatMap(\.waits).sorted()
        let commits = tallies.map(\.published).reduce(0, +), lost = tallies.map(\.lostRaces).reduce(0, +)
        // Jain's index: 1 if all published equally often, 1/n if one did all.
        let squares = tallies.map { Double($0.published * $0.published) }.reduce(0, +)
        let fairness = squares > 0 ? Double(commits * commits) / (Double(count) * squares) : 0
        func at(_ share: Double) -> Double { waits.isEmpty ? 0 : waits[min(waits.count - 1, Int(Double(waits.count) * share))] }
        print(
            "| \(count) | \(latency) ms | \(waits.count) | \(commits) | \(text(Double(commits) / (minutes * 60))) | \(text(Double(lost) / Double(max(1, commits)))) | "
                + "\(tallies.map(\.failures).reduce(0, +)) | \(text(at(0.5))) s | \(text(at(0.99))) s | \(text(waits.last ?? 0)) s | \(text(fairness)) | "
                + "\(requests / max(1, commits)) |")
    }

    private func text(_ number: Double) -> String { String(format: "%.2f", number) }
}
