/// How long a consumer waits, and how much it takes.
package struct ClientLimits: Sendable {
    /// For the connection and the provider's answer to the hello.
    package var hello: Duration = .seconds(30)
    /// For any other answer; the provider may have to make the file first.
    package var reply: Duration = .seconds(60)
    /// Bytes of one item's content: the greatest archive permitted, and a margin.
    package var contentSize = 65 << 20

    /// The limits of a consumer in everyday use.
    package init() {}
}
