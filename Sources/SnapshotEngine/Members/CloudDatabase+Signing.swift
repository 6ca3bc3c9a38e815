package import CloudStore
package import CommitLog
import DirectoryCloud
import ObjectCloud

extension CloudDatabase {
    /// The backend as one whose zones can be signed; nil if it has no signatures.
    package var signing: (any SigningCloud)? {
        // A cast to a protocol reads all conformances of the program at every start, so first ask for the classes.
        if let directory = self as? DirectoryCloud { return directory }
        if let bucket = self as? ObjectCloud { return bucket }
        return self as? any SigningCloud
    }
}
