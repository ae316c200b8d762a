/// The JSON document of `keyshare-device groups`.
package struct GroupsDocument: Codable, Sendable {
    /// One application group.
    package struct Group: Codable, Sendable {
        /// The identifier of the group.
        package let identifier: String
        /// The bundle identifiers of the apps in the group.
        package let members: [String]
        /// The names of the files in the group's container.
        package let files: [String]

        /// Creates a group.
        package init(identifier: String, members: [String], files: [String]) {
            self.identifier = identifier
            self.members = members
            self.files = files
        }
    }

    /// The groups of the installed apps.
    package let groups: [Group]

    /// Creates the document from its entries.
    package init(_ groups: [Group]) {
        self.groups = groups
    }
}
