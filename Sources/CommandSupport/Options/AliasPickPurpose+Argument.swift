public import ArgumentParser
package import KeySharing

extension AliasPick.Purpose: ExpressibleByArgument {}
