import Foundation

/// A row of `docs/limits.md`: a resource that an outsider can consume, and its limit.
///
/// Limits are formatted from the values in the code, so the page and the code cannot differ. The rows of each area are
/// an element of ``areas``.
struct Limit {
    /// The source of the request: the author of a file, a peer, another user.
    let asker: String
    /// The resource that the request consumes.
    let work: String
    /// The cost of the request for its source.
    let price: String
    /// The limit, including its number.
    let bound: String
    /// The Swift name of the limit.
    let code: String

    init(_ asker: String, asks work: String, pays price: String, bound: String, _ code: String) {
        self.asker = asker
        self.work = work
        self.price = price
        self.bound = bound
        self.code = code
    }

    /// All limits by area, in the order of the page.
    static let areas: [(title: String, limits: [Limit])] = [
        ("Files", files), ("Messages", mails), ("Hand-written text", texts),
        ("Stored data", storage), ("Peers of the provider", peers),
        ("The web page of a device", page), ("Remote servers", servers),
        ("Certificates and revocation lists", validation),
    ]

    /// Formats a number of bytes: `1 MiB`, `64 KiB` or `4,097 bytes`.
    static func size(_ bytes: Int) -> String {
        if bytes % (1 << 20) == 0, bytes > 0 { return "\(number(bytes >> 20)) MiB" }
        if bytes % (1 << 10) == 0, bytes > 0 { return "\(number(bytes >> 10)) KiB" }
        return "\(number(bytes)) bytes"
    }

    /// Formats a number with commas between thousands.
    static func number(_ value: Int) -> String { value.formatted(.number.locale(.init(identifier: "en_US"))) }

    /// Formats a time in seconds.
    static func time(_ duration: Duration) -> String {
        (duration / .seconds(1)).formatted(.number.locale(.init(identifier: "en_US"))) + " s"
    }
}
