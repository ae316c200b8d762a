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
        package let expectation: TestVector.Expectation

        init(_ vector: TestVector) {
            name = vector.name
            sentence = vector.summary
            duty = vector.expectedBehaviour
            expectation = vector.expectation
        }
    }

    /// The faults by kind.
    package let faults: [Fault]

    /// Describes faults.
    package init(_ faults: [TestVector]) {
        self.faults = faults.map(Fault.init)
    }
}
