import Foundation
import KeyOperations
import KeyShareClient
import KeyShareConsumer
import LocalSockets
import KeyShareProtocol
import OpenSSL
import PersistentToken
import SecretMemory
import TestSupport
import Testing

/// A consumer finds an identity, the state changes, and then it uses the key.
@Suite("Changes between finding and using a token's key", .timeLimit(.minutes(10)))
struct TokenRecoveryTests {
    private let simulation: Simulation
    private static let message = Array("a letter".utf8)

    init() async throws {
        simulation = try Simulation()
        #expect(
            try await simulation.provider(
                "provision", "--person", "EXAMPLE.DANA.1234567890", "--generations", "1", "--key", "p256",
                "--types", "signature,authentication", "--at", "2026-03-02T12:00:00Z"
            ).status == 0)
        #expect(try await simulation.provider("token", "add", "--all").status == 0)
        try await simulation.serve()
    }

    private var socket: String { simulation.device + "/provider.sock" }

    /// A connection, and an identity that the consumer has found.
    private struct Found {
        let client: ProviderClient
        let identity: TokenIdentity
        /// The label of another token's identity.
        let other: String

        /// Signs, and verifies with the certificate that was found.
        ///
        /// - Returns: The cause of the token's error, or nil if the key signed.
        func sign(_ message: [UInt8] = TokenRecoveryTests.message) async throws -> TokenRefusalReason? {
            let algorithm = SecKeyAlgorithm.ecdsaSignatureX962(.message, .sha256)
            do {
                let signature = try await client.use(
                    TokenUse(objectID: identity.entry.objectID, algorithm, data: message))
                let isRight = try identity.certificate.publicKey.verify(
                    signature.withTransientArray { $0.map(\.self) }, of: message, algorithm)
                #expect(isRight)
                return nil
            } catch let error as TokenError {
                #expect(error.obstacle != nil, "\(error)")
                return error.obstacle
            }
        }
    }

    private func find(_ body: (Found) async throws -> Void) async throws {
        try await ProviderClient.withConnection(path: socket) { client in
            let identities = try await TokenKeychain(client).identities(.canSign)
            try #require(identities.count == 2)
            let found = Found(client: client, identity: identities[0], other: identities[1].entry.objectID)
            // The key is open from now on, so the user is prompted again only after the key has been closed.
            #expect(try await found.sign() == nil)
            try await simulation.device("presence", "deny")
            #expect(try await found.sign() == nil)
            try await body(found)
        }
    }

    private func allow() async throws { try await simulation.device("presence", "allow") }

    @Test("A locked device fails with authenticationNeeded; after unlocking, the user is prompted again")
    func lock() async throws {
        try await find { found in
            try await simulation.device("lock")
            #expect(try await found.sign() == .deviceLocked)
            try await simulation.device("unlock")
            #expect(try await found.sign() == .userDenied)
            try await allow()
            #expect(try await found.sign() == nil)
        }
    }

    @Test("Keys remain closed after a device restart until the device is unlocked")
    func restart() async throws {
        try await find { found in
            try await simulation.device("restart")
            #expect(try await found.sign() == .deviceLocked)
            try await simulation.device("unlock")
            try await allow()
            #expect(try await found.sign() == nil)
        }
    }

    @Test("A password rotation closes the key but not the connection")
    func rotation() async throws {
        try await find { found in
            #expect(try await simulation.provider("password", "rotate").status == 0)
            #expect(try await found.sign() == .userDenied)
            try await allow()
            #expect(try await found.sign() == nil)
        }
    }

    @Test(
        "The use of a removed token fails with notRegistered, and succeeds again after the token is registered again"
    )
    func removed() async throws {
        try await find { found in
            let label = found.identity.entry.objectID
            #expect(try await simulation.provider("token", "remove", label).status == 0)
            #expect(try await found.sign() == .notRegistered)
            #expect(try await simulation.provider("token", "add", label).status == 0)
            #expect(try await found.sign() == .userDenied)
            try await allow()
            #expect(try await found.sign() == nil)
        }
    }

    @Test("Changing any registration closes the key")
    func changed() async throws {
        try await find { found in
            let label = found.identity.entry.objectID
            for change in [["remove", found.other], ["add", label, "--rfc5280"]] {
                #expect(try await simulation.provider(["token"] + change).status == 0)
                #expect(try await found.sign() == .userDenied)
                try await allow()
                #expect(try await found.sign() == nil)
                try await simulation.device("presence", "deny")
                #expect(try await found.sign() == nil)
            }
        }
    }

    @Test("Removing the passcode destroys the key, and registering the identity again creates a usable key")
    func passcode() async throws {
        try await find { found in
            try await simulation.device("passcode", "remove", "--yes")
            #expect(try await found.sign() == .passcodeRemoved)
            try await simulation.device("passcode", "set")
            #expect(try await found.sign() == .keyMissing)
            #expect(try await simulation.provider("token", "add", "--all").status == 0)
            try await allow()
            #expect(try await found.sign() == nil)
        }
    }

    @Test("Clearing the keychain removes all tokens")
    func cleared() async throws {
        try await find { found in
            #expect(try await simulation.provider("clear", "--yes").status == 0)
            #expect(try await found.sign() == .notRegistered)
            let tokens = try await found.client.tokens()
            #expect(tokens.isEmpty)
        }
    }

    @Test("A killed provider ends the connection, and its successor serves the identity found earlier")
    func killed() async throws {
        try await find { found in
            try await simulation.stopServing(by: SIGKILL)
            await #expect(throws: SocketError.self) { _ = try await found.sign() }
            try await simulation.serve()
            try await allow()
            try await ProviderClient.withConnection(path: socket) { client in
                let again = Found(client: client, identity: found.identity, other: found.other)
                let obstacle = try await again.sign()
                #expect(obstacle == nil)
            }
        }
    }

    @Test(
        "Signing a message in parts fails if the key is closed between two parts, and the next message succeeds"
    )
    func parts() async throws {
        try await find { found in
            let message = [UInt8](repeating: 7, count: 200_000)
            #expect(try await found.sign(message) == nil)
            try await simulation.device("lock")
            #expect(try await found.sign(message) == .deviceLocked)
            try await simulation.device("unlock")
            try await allow()
            #expect(try await found.sign(message) == nil)
        }
    }
}
