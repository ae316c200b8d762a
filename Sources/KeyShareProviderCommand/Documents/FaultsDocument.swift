package import TestVectors

/// The JSON document of `faults`.
///
/// `Expectation` contains the exit codes of a correct consumer's commands, in the format of the manifest of test
/// vectors.
package struct FaultsDocument<Expectation: Codable & Sendable>: Codable, Sendable {
    /// One fault of test credentials.
    package struct Fault: Codable, Sendable {
        /// The name of the fault.
        package let name: String
        /// The description, as a sentence.
        package let description: String
        /// The behaviour of a correct consumer.
        package let duty: String
        /// The exit codes of a correct consumer's commands.
        package let expectation: Expectation

        /// The status of Apple's Security framework, and the advice that an app should show.
        package let app: AppAdvice

        /// Creates a fault.
        package init(
            name: String, description: String, duty: String, expectation: Expectation, app: AppAdvice
        ) {
            self.app = app
            self.name = name
            self.description = description
            self.duty = duty
            self.expectation = expectation
        }
    }

    /// The faults, grouped by kind.
    package let faults: [Fault]

    /// Creates the document from its entries.
    package init(faults: [Fault]) {
        self.faults = faults
    }
}

extension FaultsDocument<TestVector.Expectation> {
    /// Creates the document for defective test vectors.
    init(_ vectors: [TestVector]) {
        self.init(
            faults: vectors.map {
                Fault(
                    name: $0.name, description: $0.summary, duty: $0.expectedBehaviour,
                    expectation: $0.expectation, app: $0.appAdvice)
            })
    }
}
