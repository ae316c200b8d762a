import Foundation
import KeyOperations
import KeyShareClient
import KeyShareConsumer
import LocalSockets
import OpenSSL
import PersistentToken
import SecretMemory
import TestSupport
import Testing

/// A consumer finds an identity, something happens, and then it uses the key.
@Suite("Between finding a token's key and using it")
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

    /// What a consumer holds that has found an identity: a connection, and the identity.
    private struct Found {
        let client: ProviderClient
        let identity: TokenIdentity
        /// The label of another token's identity.
        let other: String

        /// Signs, and verifies with the certificate that was found.
        ///
        /// - Returns: what is behind the error of the token; nil where the key signed.
        func sign(_ message: [UInt8] = TokenRecoveryTests.message) async throws -> TokenObstacle? {
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
            // The key is open from here on, so that nothing below asks the user unless it was closed.
            #expect(try await found.sign() == nil)
            try await simulation.device("presence", "deny")
            #expect(try await found.sign() == nil)
            try await body(found)
        }
    }

    private func allow() async throws { try await simulation.device("presence", "allow") }

    @Test("A lock ends in authenticationNeeded; after unlocking the user is asked, and the key signs again")
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

    @Test("A restart of the device keeps keys closed until it is unlocked")
    func restart() async throws {
        try await find { found in
            try await simulation.device("restart")
            #expect(try await found.sign() == .deviceLocked)
            try await simulation.device("unlock")
            try await allow()
            #expect(try await found.sign() == nil)
        }
    }

    @Test("A new service password closes the key, and the connection goes on")
    func rotation() async throws {
        try await find { found in
            #expect(try await simulation.provider("password", "rotate").status == 0)
            #expect(try await found.sign() == .userDenied)
            try await allow()
            #expect(try await found.sign() == nil)
        }
    }

    @Test("A registration that is removed is not found; registered again, what was found works")
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

    @Test("Another registration that changes closes the key; so does one that is replaced")
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

    @Test("Without a passcode the key is gone for good; registered again, it signs")
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

    @Test("A keychain that is cleared has no token, and one that is filled again has others")
    func cleared() async throws {
        try await find { found in
            #expect(try await simulation.provider("clear", "--yes").status == 0)
            #expect(try await found.sign() == .notRegistered)
            let tokens = try await found.client.tokens()
            #expect(tokens.isEmpty)
        }
    }

    @Test("A provider that is killed ends the connection; the next one takes what was found before")
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
        "A message in parts whose key is closed in between ends in the token's error, and the next one works")
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
