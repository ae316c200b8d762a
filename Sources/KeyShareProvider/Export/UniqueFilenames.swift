/// Gives files of one archive names of their own.
///
/// The first to use a name keeps it; the next ones get `-2`, `-3`, … before the extension.
struct UniqueFilenames {
    private var used: Set<String> = []

    /// The name itself, or the first free variant of it.
    mutating func claim(_ name: String) -> String {
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
