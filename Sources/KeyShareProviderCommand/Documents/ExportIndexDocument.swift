package import CommandSupport
package import KeySharing

/// The file `index.json` in a folder of exported files, and the JSON document of the `export` that wrote the folder.
package struct ExportIndexDocument: Codable, Sendable {
    /// An exported file and its identity.
    package struct File: Codable, Sendable {
        /// The name of the file in the folder.
        package let file: String
        /// The PKCS #12 profile of the file.
        package let profile: String
        /// The identity in the file; nil for an archive of several.
        package let identity: IdentityDocument?

        /// Creates the entry for one file.
        ///
        /// - Parameters:
        ///   - file: The file's name in the folder.
        ///   - profile: The PKCS #12 profile of the file.
        ///   - identity: The identity in the file; nil for an archive.
        package init(file: String, profile: String, identity: IdentitySummary?) {
            self.file = file
            self.profile = profile
            self.identity = identity.map(IdentityDocument.init)
        }

        private enum CodingKeys: CodingKey { case file, profile }

        // Encodes the fields of the identity next to those of the file.
        package func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(file, forKey: .file)
            try container.encode(profile, forKey: .profile)
            try IdentityDocument.encode(identity, to: encoder)
        }

        package init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            file = try container.decode(String.self, forKey: .file)
            profile = try container.decode(String.self, forKey: .profile)
            identity = try? IdentityDocument(from: decoder)
        }
    }

    /// The name of the index file.
    package static let filename = "index.json"

    /// The folder; omitted in the index file.
    package let folder: String?
    /// The files, in list order.
    package let files: [File]
    /// Instructions for using the files, one sentence each; omitted unless they are for a sample app.
    package let instructions: [String]?

    /// Creates the index of the exported files.
    package init(folder: String? = nil, files: [File], instructions: [String]? = nil) {
        self.folder = folder
        self.files = files
        self.instructions = instructions
    }
}
