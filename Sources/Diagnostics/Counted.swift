/// A number and a noun, for a sentence: `counted(1, "identity", "identities")` is `1 identity`, and with 2 it is
/// `2 identities`.
///
/// - Parameters:
///   - count: The number; every number but 1 takes the plural.
///   - one: The noun's singular.
///   - many: The noun's plural.
package func counted(_ count: Int, _ one: String, _ many: String) -> String {
    "\(count) \(count == 1 ? one : many)"
}
