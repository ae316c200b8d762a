/// The JSON document of `serve`, written as soon as consumers can connect.
package struct ListeningDocument: Codable, Sendable {
    /// The path of the provider's socket.
    package let listening: String
    /// The address of the test PKI's server; omitted without `--pki`.
    package let pki: String?
    /// The address of the metrics; omitted without `--metrics`.
    package let metrics: String?

    /// Creates the document of a provider's addresses.
    package init(listening: String, pki: String? = nil, metrics: String? = nil) {
        self.listening = listening
        self.pki = pki
        self.metrics = metrics
    }
}
