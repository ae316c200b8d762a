/// Chooses unique file names for one archive or folder (docs/rules.md R3.14).
///
/// The first file with a name keeps it. Later files get `-2`, `-3`, … before the extension.
package struct UniqueFilenames {
    private var used: Set<String> = []

    /// Creates an empty set of names.
    package init() {}

    /// Reserves and returns `name`, or its first numbered variant that is not reserved yet.
    package mutating func claim(_ name: String) -> String {
        let dot = name.lastIndex(of: ".") ?? name.endIndex
        var candidate = name
        var number = 1
        while !used.insert(candidate).inserted {
            number += 1
            candidate = "\(name[..<dot])-\(number)\(name[dot...])"
        }
        return candidate
    }
}
