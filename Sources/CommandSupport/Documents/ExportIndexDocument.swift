package import KeySharing

/// The file `index.json` in a folder of exported files, and the JSON document of the `export` that wrote the folder.
package struct ExportIndexDocument: Codable, Sendable {
    /// One exported file, with whose it is.
    package struct File: Codable, Sendable {
        /// The name of the file in the folder.
        package let file: String
        /// The profile that protects the file.
        package let profile: String
        /// Whose the identity in the file is; nil for an archive of several.
        package let identity: IdentityDocument?

        /// Describes one file.
        ///
        /// - Parameters:
        ///   - file: the file's name in the folder.
        ///   - profile: the profile of PKCS #12 that it was written under.
        ///   - identity: the identity in it; nil for an archive.
        package init(file: String, profile: String, identity: IdentitySummary?) {
            self.file = file
            self.profile = profile
            self.identity = identity.map(IdentityDocument.init)
        }

        private enum CodingKeys: CodingKey { case file, profile }

        // Written by hand, because the fields of the identity stand among those of the file.
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

    /// The name of the file in the folder.
    package static let filename = "index.json"

    /// The folder; left out of the file in it.
    package let folder: String?
    /// The files in the order of lists.
    package let files: [File]
    /// What to do with the files, a sentence each; left out unless they are for a sample app.
    package let instructions: [String]?

    /// Describes exported files.
    package init(folder: String? = nil, files: [File], instructions: [String]? = nil) {
        self.folder = folder
        self.files = files
        self.instructions = instructions
    }
}
