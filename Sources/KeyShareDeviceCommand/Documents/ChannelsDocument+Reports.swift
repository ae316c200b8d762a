import Diagnostics
import CommandSupport
import SharingChannels

extension ChannelsDocument {
    /// Creates the document for the reports of all tried channels.
    init(_ reports: [ChannelReport]) {
        self.init(channels: reports.map(Channel.init))
    }
}

extension ChannelsDocument.Channel {
    /// Creates the results for one channel. If the channel does not work, the fields about the transfer are nil.
    init(_ report: ChannelReport) {
        let works = report.failure == nil
        self.init(
            channel: report.name, works: works, reason: report.failure?.code.rawValue,
            message: report.failure?.reason, hint: report.failure?.hint,
            othersRead: works ? report.attack.rawValue : nil,
            isInPlainFile: works ? report.isInPlainFile : nil,
            survivesRestart: works ? report.survivesRestart : nil,
            survivesReinstall: works ? report.survivesReinstall : nil,
            handOverMilliseconds: report.handOver.map { $0 / .milliseconds(1) })
    }
}
