import CloudStore
import DirectoryCloud
import Dispatch
import Platform
import Synchronization
import TestSupport
import Testing

/// A mount that hangs blocks some threads of the process, never all.
@Suite(.timeLimit(.minutes(60))) struct BlockingCallsTests {
    @Test func aHungMountBlocksFewThreads() async throws {
        let scratch = try ScratchDirectory()
        let gate = Gate()
        let calls = FaultyFileSystem { call in
            if call.name == "open" { gate.pass() }
            return nil
        }
        let cloud = try DirectoryCloud.create(at: scratch.path, container: "iCloud.org.example.test", calls: calls, nonces: .system)
        gate.shut()
        let count = 100
        try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<count { group.addTask { try await cloud.identity().uuid } }
            while gate.heldCount < DirectoryCloud.threadLimit { try await Task.sleep(for: .milliseconds(1)) }
            // Other clouds of the process still have threads, more than those that hang.
            let otherScratch = try ScratchDirectory()
            let other = try DirectoryCloud.create(at: otherScratch.path, container: "iCloud.org.example.test")
            _ = try await other.identity()
            #expect(gate.heldCount == DirectoryCloud.threadLimit)
            gate.open()
            var found: [String] = []
            for try await uuid in group { found.append(uuid) }
            #expect(found.count == count)
            #expect(Set(found).count == 1)
        }
        #expect(gate.mostHeld == DirectoryCloud.threadLimit)
    }

    /// A file that a thread still held would be open after the call that closes it.
    @Test func noThreadHoldsOnToACallThatHasReturned() async throws {
        final class Held: Sendable {}
        let calls = BlockingCalls(limit: 2)
        for _ in 0..<2000 {
            weak var captured: Held?
            weak var returned: Held?
            do {
                let held = Held()
                captured = held
                returned = try await calls.run { withExtendedLifetime(held) { Held() } }
            }
            guard captured == nil, returned == nil else {
                Issue.record("a thread still holds what its call held")
                return
            }
        }
    }

    @Test func aWaitingCallEndsWhenItsTaskIsCancelled() async throws {
        let gate = Gate()
        gate.shut()
        let calls = BlockingCalls(limit: 1)
        let running = Task { try await calls.run { gate.pass() } }
        while gate.heldCount < 1 { try await Task.sleep(for: .milliseconds(1)) }
        let waiting = Task { try await calls.run {} }
        while calls.waitingCount < 1 { try await Task.sleep(for: .milliseconds(1)) }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        #expect(calls.waitingCount == 0)
        // One that is running goes on to its end, and its thread is free then.
        running.cancel()
        gate.open()
        try await running.value
        #expect(try await calls.run { 5 } == 5)
    }
}

/// Holds the threads that come to it while it is shut.
private final class Gate: Sendable {
    private struct State {
        var isShut = false
        var heldCount = 0
        var mostHeld = 0
    }

    private let state = Mutex(State())
    private let release = DispatchSemaphore(value: 0)

    var heldCount: Int { state.withLock { $0.heldCount } }
    var mostHeld: Int { state.withLock { $0.mostHeld } }

    func shut() { state.withLock { $0.isShut = true } }

    func open() {
        let count = state.withLock { state in
            state.isShut = false
            return state.heldCount
        }
        for _ in 0..<count { release.signal() }
    }

    /// Returns at once, or when the gate is opened.
    func pass() {
        let isHeld = state.withLock { state in
            guard state.isShut else { return false }
            state.heldCount += 1
            state.mostHeld = max(state.mostHeld, state.heldCount)
            return true
        }
        guard isHeld else { return }
        release.wait()
        state.withLock { $0.heldCount -= 1 }
    }
}
