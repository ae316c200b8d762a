package import KeyShareWire
/// Something that a server does wrong on purpose, so that consumers can be tested against it.
package enum ConnectionFault: Sendable, Hashable {
    /// Speaks these versions of the protocol and no other.
    case versions(ClosedRange<UInt16>)
    /// Ends the connection in the middle of a reply of this type.
    case cut(Wire.MessageType)
}
