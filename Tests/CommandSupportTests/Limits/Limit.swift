import Foundation

/// A row of `docs/limits.md`: something that somebody outside can ask for, and how much of it is done.
///
/// Bounds are made of the values in the code, so that page and code cannot differ. Each area of the product adds its
/// rows in a file of its own, as an element of ``areas``.
struct Limit {
    /// Who can ask for it: the author of a file, a peer, another user.
    let asker: String
    /// What he asks for, and so what it costs us.
    let work: String
    /// What asking costs him.
    let price: String
    /// The bound, with its figure.
    let bound: String
    /// The value in the code, as Swift names it.
    let code: String

    /// A limit on `work` that `asker` causes at the price of `price`.
    init(_ asker: String, asks work: String, pays price: String, bound: String, _ code: String) {
        self.asker = asker
        self.work = work
        self.price = price
        self.bound = bound
        self.code = code
    }

    /// All limits by area, in the order of the page.
    static let areas: [(title: String, limits: [Limit])] = [
        ("Files that are read", files), ("Mails that are opened", mails), ("Text that people write", texts),
        ("What is kept on the device", storage), ("Peers of the provider", peers),
        ("The page of a device", page), ("Servers that are asked", servers),
        ("Certificates and lists that are validated", validation),
    ]

    /// A number of bytes: `1 MiB`, `64 KiB` or `4,097 bytes`.
    static func size(_ bytes: Int) -> String {
        if bytes % (1 << 20) == 0, bytes > 0 { return "\(number(bytes >> 20)) MiB" }
        if bytes % (1 << 10) == 0, bytes > 0 { return "\(number(bytes >> 10)) KiB" }
        return "\(number(bytes)) bytes"
    }

    /// A number with commas between thousands.
    static func number(_ value: Int) -> String { value.formatted(.number.locale(.init(identifier: "en_US"))) }

    /// A time in seconds.
    static func time(_ duration: Duration) -> String {
        (duration / .seconds(1)).formatted(.number.locale(.init(identifier: "en_US"))) + " s"
    }
}
