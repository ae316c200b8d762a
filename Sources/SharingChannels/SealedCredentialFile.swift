internal import DeviceSimulation
internal import Foundation
internal import KeyOperations
internal import OpenSSL
internal import PersistentToken
internal import PrivateFiles
internal import SecretMemory
internal import SimulatedKeychain

/// A credential that is encrypted for a key which never leaves its store. The file is in the sender's container and is
/// deleted with the sender's app.
struct SealedCredentialFile {
    private static let algorithm = SecKeyAlgorithm.eciesEncryption(
        isCofactor: false, .sha256, hasVariableIV: false)
    /// The maximum size of an encrypted credential, in bytes.
    private static let largestFile = 1 << 20

    /// The apps of the channel.
    let ends: ChannelEndpoints
    /// The name of the file.
    let name: String

    /// Encrypts a credential for `key` and stores it.
    func write(_ credential: Credential, for key: PublicKey) throws {
        try AtomicFile.write(try key.encrypt(credential.encoded, Self.algorithm), to: try path())
    }

    /// Returns the encrypted credential, or nil if there is none.
    func read() throws -> [UInt8]? {
        try PrivateFile.open(try path())?.read(atMost: Self.largestFile)
    }

    /// Decrypts an encrypted credential and checks that it has not expired at `now`.
    ///
    /// - Parameter problem: The message if the credential does not decrypt.
    /// - Throws: `SharingChannelError`: `damaged`, `expired`.
    static func open(
        _ sealed: [UInt8], with key: PrivateKey, at now: Date, problem: String
    ) throws(SharingChannelError) -> Credential {
        let plaintext: SecretBytes
        do {
            plaintext = try key.decrypt(sealed, algorithm)
        } catch {
            throw SharingChannelError(.damaged, problem, cause: error)
        }
        return try Credential(plaintext, at: now)
    }

    /// Removes the file, if it exists.
    func remove() throws {
        try AtomicFile.remove(try path())
    }

    private func path() throws(FileError) -> String {
        try ends.device.container(of: ends.sender) + "/" + name
    }
}
