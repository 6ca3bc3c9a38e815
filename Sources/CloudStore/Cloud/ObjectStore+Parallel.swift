import Foundation
import Synchronization

extension ObjectStore {
    public var width: Int { 1 }

    /// Runs bodies that each wait for requests, ``width`` at a time, and returns their results in order.
    ///
    /// - Throws: the error of the first failed body in the given order: at once if the store sends one request at a time, or else when all
    ///   have ended.
    package func results<T: Sendable>(of bodies: [@Sendable () throws -> T]) throws -> [T] {
        guard bodies.count > 1, width > 1 else { return try bodies.map { try $0() } }
        let results = Mutex([Result<T, any Error>?](repeating: nil, count: bodies.count))
        for start in stride(from: 0, to: bodies.count, by: width) {
            Thread.sideBySide(
                (start..<min(start + width, bodies.count)).map { number in
                    {
                        let result = Result { try bodies[number]() }
                        results.withLock { $0[number] = result }
                    }
                })
        }
        return try results.withLock { $0 }.compactMap { try $0?.get() }
    }
}

extension Thread {
    /// Runs bodies in parallel: the last one on the calling thread, each other one on a new thread. Returns when all have ended.
    package static func sideBySide(_ bodies: [@Sendable () -> Void]) {
        let others = DispatchGroup()
        for body in bodies.dropLast() {
            others.enter()
            detachNewThread {
                body()
                others.leave()
            }
        }
        bodies.last?()
        others.wait()
    }
}
