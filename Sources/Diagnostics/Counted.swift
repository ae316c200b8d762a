/// Returns a number with a noun in the matching form: `counted(1, "identity", "identities")` is `1 identity`, and
/// `counted(2, "identity", "identities")` is `2 identities`.
///
/// - Parameters:
///   - count: The number. The plural is used for every number except 1.
///   - one: The noun's singular.
///   - many: The noun's plural.
package func counted(_ count: Int, _ one: String, _ many: String) -> String {
    "\(count) \(count == 1 ? one : many)"
}
