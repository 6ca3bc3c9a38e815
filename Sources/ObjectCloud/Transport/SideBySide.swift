import Foundation
import Synchronization

extension ObjectTransport {
    /// Runs bodies in parallel that each wait for requests: the last one on the calling thread, each other one on a new thread. Returns when
    /// all have ended.
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
    /// How many requests one call sends in parallel.
    package static let width = 8

    /// Runs bodies in parallel that each wait for requests, ``width`` at a time, and returns their results in order.
    ///
    /// - Throws: the error of the first failed body in the given order, once all have ended.
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
