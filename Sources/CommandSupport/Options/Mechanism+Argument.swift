public import ArgumentParser
package import KeySharing

extension Mechanism: ExpressibleByArgument {}
