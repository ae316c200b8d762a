package import TestCredentials

/// The JSON document of `faults`.
package struct FaultsDocument: Codable, Sendable {
    /// One fault that test credentials can be made with.
    package struct Fault: Codable, Sendable {
        /// The name of the fault.
        package let name: String
        /// The fault as a sentence.
        package let sentence: String
        /// What a correct consumer does about the fault.
        package let duty: String
        /// The exit codes of a correct consumer's commands.
        package let expectation: Specimen.Expectation

        init(_ specimen: Specimen) {
            name = specimen.name
            sentence = specimen.sentence
            duty = specimen.duty
            expectation = specimen.expectation
        }
    }

    /// The faults by kind.
    package let faults: [Fault]

    /// Describes faults.
    package init(_ faults: [Specimen]) {
        self.faults = faults.map(Fault.init)
    }
}
