/// The JSON document of `serve`, written when consumers can connect.
package struct ListeningDocument: Codable, Sendable {
    /// The path of the socket.
    package let listening: String
    /// The address at which the test PKI answers; left out without `--pki`.
    package let pki: String?

    /// Describes where a provider answers.
    package init(listening: String, pki: String?) {
        self.listening = listening
        self.pki = pki
    }
}
