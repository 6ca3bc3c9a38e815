/// The arguments of the command line.
///
/// In a statically linked program Swift's `CommandLine.arguments` searches the process's memory for them, backwards from `environ`. If a
/// preloaded library calls `setenv` before the program starts, `environ` moves, and the search finds nothing: every command would print the help
/// and exit with 0. So this type takes the arguments as Glibc passes them to constructors.
package enum ProgramArguments {
    /// The arguments after the program's name.
    package static var words: [String] {
        guard let arguments = System.startArguments else { return Array(CommandLine.arguments.dropFirst()) }
        var words: [String] = []
        var next = 0
        // SAFETY: the list ends with NULL, and neither the list nor its texts change while the process runs.
        while let word = arguments[next] {
            words.append(String(cString: word))
            next += 1
        }
        return Array(words.dropFirst())
    }
}
