package import SharingChannels

/// The JSON document of `keyshare-device channels`.
package struct ChannelsDocument: Codable, Sendable {
    /// What was found out about one channel.
    package struct Channel: Codable, Sendable {
        /// The name of the channel.
        package let channel: String
        /// Whether the receiver got the credential.
        package let works: Bool
        /// The code of the reason why the channel is closed; nil where it works.
        package let reason: String?
        /// Why the channel is closed, as a phrase; nil where it works.
        package let message: String?
        /// What to do about a closed channel, as a phrase; nil where nothing can be advised.
        package let hint: String?
        /// Whether a third app could read the credential; nil where the channel does not work.
        package let othersRead: String?
        /// Whether the secret lay in a file in plain; nil where the channel does not work.
        package let isInPlainFile: Bool?
        /// Whether the credential outlives a restart of the device; nil where the channel does not work.
        package let survivesRestart: Bool?
        /// Whether the credential outlives a new installation of the sender; nil where the channel does not work.
        package let survivesReinstall: Bool?
        /// How long the hand-over took, in milliseconds; nil where the channel does not work.
        package let handOverMilliseconds: Double?

        init(_ report: ChannelReport) {
            channel = report.name
            works = report.failure == nil
            reason = report.failure?.code.rawValue
            message = report.failure?.reason
            hint = report.failure?.hint
            // Nothing else was tried of a channel that does not work.
            othersRead = works ? report.attack.rawValue : nil
            isInPlainFile = works ? report.isInPlainFile : nil
            survivesRestart = works ? report.survivesRestart : nil
            survivesReinstall = works ? report.survivesReinstall : nil
            handOverMilliseconds = report.handOver.map { $0 / .milliseconds(1) }
        }
    }

    /// The channels in the order in which they were tried.
    package let channels: [Channel]

    /// Describes the reports of an experiment.
    package init(_ reports: [ChannelReport]) {
        channels = reports.map(Channel.init)
    }
}
