/// The JSON document of `faults`.
///
/// `Expectation` is what a correct consumer's commands end with, in the form of the manifest of test vectors.
package struct FaultsDocument<Expectation: Codable & Sendable>: Codable, Sendable {
    /// One fault that test credentials can be made with.
    package struct Fault: Codable, Sendable {
        /// The name of the fault.
        package let name: String
        /// The fault as a sentence.
        package let description: String
        /// What a correct consumer does about the fault.
        package let duty: String
        /// The exit codes of a correct consumer's commands.
        package let expectation: Expectation

        /// Describes one fault by its parts.
        package init(name: String, description: String, duty: String, expectation: Expectation) {
            self.name = name
            self.description = description
            self.duty = duty
            self.expectation = expectation
        }
    }

    /// The faults by kind.
    package let faults: [Fault]

    /// Describes faults.
    package init(faults: [Fault]) {
        self.faults = faults
    }
}
