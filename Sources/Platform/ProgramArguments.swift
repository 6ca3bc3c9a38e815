/// The words of the command line.
///
/// In a statically linked program Swift's `CommandLine.arguments` searches the process's memory for them, from `environ` backwards.
/// A preloaded library that calls `setenv` before the program starts moves `environ`, and the search finds nothing: every command would
/// print the help and exit with 0. Therefore this type takes the arguments as Glibc passes them to constructors.
package enum ProgramArguments {
    /// The words after the program's name.
    package static var words: [String] {
        guard let arguments = System.startArguments else { return Array(CommandLine.arguments.dropFirst()) }
        var words: [String] = []
        var next = 0
        // SAFETY: the C library ends the list with NULL, and neither it nor its texts change while the process runs.
        while let word = arguments[next] {
            words.append(String(cString: word))
            next += 1
        }
        return Array(words.dropFirst())
    }
}
