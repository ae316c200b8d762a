/// A page of a container's items, in list order.
package struct ItemPage: Sendable, Hashable {
    /// The items of the page.
    package var items: [Item]
    /// The cursor for requesting the next page; nil on the last page.
    package var nextCursor: String?

    /// Creates a page of items.
    package init(items: [Item], nextCursor: String?) {
        self.items = items
        self.nextCursor = nextCursor
    }
}
