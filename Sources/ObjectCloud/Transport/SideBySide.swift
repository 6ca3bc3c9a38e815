import Foundation
import Synchronization

extension ObjectTransport {
    /// Runs bodies that each wait for requests, each on a thread of its own but the last; returns when all have ended.
    package func sideBySide(_ bodies: [@Sendable () -> Void]) {
        let others = DispatchGroup()
        for body in bodies.dropLast() {
            others.enter()
            Thread.detachNewThread {
                body()
                others.leave()
            }
        }
        bodies.last?()
        others.wait()
    }
}

extension ObjectClient {
    /// How many requests are sent at a time for one call.
    package static let width = 8

    /// The results of bodies that each wait for requests, in their order; the bodies run side by side, ``width`` at a time.
    ///
    /// - Throws: the error of the first body that failed, once all have ended.
    func sideBySide<T: Sendable>(_ bodies: [@Sendable () throws -> T]) throws -> [T] {
        guard bodies.count > 1 else { return try bodies.map { try $0() } }
        let results = Mutex([Result<T, any Error>?](repeating: nil, count: bodies.count))
        for start in stride(from: 0, to: bodies.count, by: Self.width) {
            transport.sideBySide(
                (start..<min(start + Self.width, bodies.count)).map { number in
                    {
                        let result = Result { try bodies[number]() }
                        results.withLock { $0[number] = result }
                    }
                })
        }
        return try results.withLock { $0 }.compactMap { try $0?.get() }
    }
}
