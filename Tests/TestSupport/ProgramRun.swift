package import Foundation

/// A program that was run to its end: its exit code, what it printed, and what it complained about.
///
///     let run = try ProgramRun("sqlite3", "app.db", ".dump", in: scratch.path)
package struct ProgramRun: Sendable {
    /// The exit code; minus the signal's number if one ended the program.
    package let status: Int32
    /// Standard output.
    package let output: Data
    /// Standard error.
    package let errors: Data

    /// Standard output as text.
    package var text: String { String(decoding: output, as: UTF8.self) }
    /// Standard error as text.
    package var errorText: String { String(decoding: errors, as: UTF8.self) }

    /// Runs a program, found on the PATH unless its name has a slash, and waits for it.
    ///
    /// - Parameters:
    ///   - directory: where it runs; nil is where the tests run.
    ///   - environment: variables to set besides the inherited ones. Those of the command under test are not inherited.
    package init(
        _ program: String, _ arguments: [String], in directory: String? = nil, environment: [String: String] = [:], input: Data = Data()
    ) throws {
        self = try RunningProgram(program, arguments, in: directory, environment: environment, input: input).wait()
    }

    /// Runs a program that takes many seconds, without holding one of the few threads on which tests run.
    package static func long(
        _ program: String, _ arguments: [String], in directory: String? = nil, environment: [String: String] = [:]
    ) async throws -> ProgramRun {
        let running = try RunningProgram(program, arguments, in: directory, environment: environment)
        return try await withCheckedThrowingContinuation { ended in
            Thread.detachNewThread { ended.resume(with: Result { try running.wait() }) }
        }
    }
}

/// A program that runs. ``wait()`` must be called, once.
package struct RunningProgram: Sendable {
    private let process: pid_t
    private let output: Capture
    private let errors: Capture

    /// Starts a program; see ``ProgramRun/init(_:_:in:environment:input:)``.
    package init(
        _ program: String, _ arguments: [String], in directory: String? = nil, environment: [String: String] = [:], input: Data = Data()
    ) throws {
        let standardInput = try Capture(input)
        output = try Capture()
        errors = try Capture()
        let variables = Self.inherited.merging(environment) { $1 }
        let file = try Self.file(of: program, path: variables["PATH"] ?? "")

        let argv = ([program] + arguments).map { strdup($0) } + [nil]
        let envp = variables.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { (argv + envp).forEach { free($0) } }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (number, capture) in [(Int32(0), standardInput), (1, output), (2, errors)] {
            posix_spawn_file_actions_adddup2(&actions, capture.descriptor, number)
        }
        // Not a change in this process, which would be one for every test that runs beside this one.
        if let directory { _ = Self.changeDirectory(&actions, directory) }
        var attributes = posix_spawnattr_t(), signals = sigset_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        sigemptyset(&signals)
        sigaddset(&signals, SIGPIPE)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF))
        var process = pid_t()
        let code = posix_spawn(&process, file, &actions, &attributes, argv, envp)
        guard code == 0 else { throw ToolFailure("\(program) cannot be started: \(String(cString: strerror(code)))") }
        self.process = process
    }

    /// A call that Glibc's module does not show.
    private static let changeDirectory = unsafeBitCast(
        dlsym(nil, "posix_spawn_file_actions_addchdir_np"),
        to: (@convention(c) (UnsafeMutablePointer<posix_spawn_file_actions_t>, UnsafePointer<CChar>) -> Int32).self)

    /// The variables of the tests without those of the command under test, and with ``path``: a script that looks for an interpreter takes longer than most runs.
    private static let inherited: [String: String] = {
        // A test that feeds a program which has ended fails, and does not end all tests.
        signal(SIGPIPE, SIG_IGN)
        var variables = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("SNAPSYNC_") }
        let path = variables["PATH"] ?? "/usr/bin:/bin"
        variables["PATH"] = path
        // Thousands of processes, where the coverage is counted: they share a few files, beside the folder of the tests' own.
        if let profile = variables["LLVM_PROFILE_FILE"] {
            variables["LLVM_PROFILE_FILE"] = "\(URL(fileURLWithPath: profile).deletingLastPathComponent().path)/../commands/%8m.profraw"
        }
        let asked = Process(), answer = Pipe()
        asked.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        asked.arguments = ["python3", "-c", "import sys; print(sys.executable, end='')"]
        asked.standardOutput = answer
        guard let found = try? file(of: "python3", path: path), (try? asked.run()) != nil else { return variables }
        let interpreter = String(decoding: answer.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        if !interpreter.isEmpty, interpreter != found { variables["PATH"] = URL(fileURLWithPath: interpreter).deletingLastPathComponent().path + ":" + path }
        return variables
    }()

    /// Where programs are found: PATH, and before it the folder of the interpreter behind a `python3` that is a script.
    package static var path: String { inherited["PATH"] ?? "" }

    /// The file of a program: the first of that name on the path, unless its name has a slash.
    private static func file(of program: String, path: String) throws -> String {
        if program.contains("/") { return program }
        let places = path.split(separator: ":").map { "\($0)/\(program)" }
        guard let found = places.first(where: { access($0, X_OK) == 0 }) else { throw ToolFailure("\(program) is not on the PATH") }
        return found
    }

    /// Ends the program at once, as a power failure would.
    package func kill() { Foundation.kill(process, SIGKILL) }

    /// Asks the program to end, as an init system does.
    package func terminate(_ signal: Int32 = SIGTERM) { Foundation.kill(process, signal) }

    /// What it has printed so far.
    package func outputSoFar() throws -> String { String(decoding: try output.contents(), as: UTF8.self) }

    /// What it has complained about so far.
    package func errorsSoFar() throws -> String { String(decoding: try errors.contents(), as: UTF8.self) }

    /// Waits for the program's end.
    package func wait() throws -> ProgramRun {
        var status = Int32()
        while waitpid(process, &status, 0) < 0 {
            guard errno == EINTR else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        }
        let signal = status & 0x7F
        return ProgramRun(status: signal == 0 ? (status >> 8) & 0xFF : -signal, output: try output.contents(), errors: try errors.contents())
    }
}

extension ProgramRun {
    fileprivate init(status: Int32, output: Data, errors: Data) {
        self.status = status
        self.output = output
        self.errors = errors
    }
}

/// A nameless file that stands in for a stream: unlike a pipe it never fills up.
private final class Capture: Sendable {
    let descriptor: Int32

    init(_ contents: Data = Data()) throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("snapsync-capture-\(UUID().uuidString)").path
        descriptor = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        unlink(path)
        let written = contents.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, 0) }
        guard written == contents.count else { throw POSIXError(.EIO) }
    }

    deinit { close(descriptor) }

    func contents() throws -> Data {
        var facts = stat()
        guard fstat(descriptor, &facts) == 0 else { throw POSIXError(.EIO) }
        var data = Data(count: Int(facts.st_size))
        let count = data.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, 0) }
        guard count == data.count else { throw POSIXError(.EIO) }
        return data
    }
}
