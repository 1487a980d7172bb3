internal import SluicegateCore

extension Source where Out == Item, Mat == NotUsed {
  /// The values of an input stream with their metadata: `.map(\.value)` leaves that out.
  ///
  /// Each is read once it is asked for, and reading grants the credit for another (L10): the sender at
  /// the other end stands still while nothing is asked for here. Ends as the stream ends. Cancelled, it
  /// gives the stream up; at a caller that cancels the call. Runs once: another run throws
  /// `alreadySubscribed`.
  public static func wire(_ input: InputStream) -> Self {
    Source(sourceWire(input: input.core, receiver: ItemReceiver()), .none())
  }

  /// The items of a live feed, with their ``FeedMeta``. The ring and its policy stand between the source
  /// that cannot wait and the demand. Cancelled, it gives the feed up. Runs once: another run throws
  /// `alreadySubscribed`.
  public static func feed(_ feed: Feed) -> Self {
    Source(sourceFeed(feed: feed.core, receiver: ItemReceiver()), .none())
  }
}

extension Sink where In == Value, Mat == Completion<Void> {
  /// Emits each element to a scalar output stream, and closes it at the end.
  ///
  /// The next element is asked for once the stream has taken the last: without credit the whole pipeline
  /// waits (L9). What is held for a larger chunk is sent before the sink waits for its upstream. A
  /// failure of the upstream leaves the stream open: whoever has the request fails it with what the
  /// completion throws. When the request ends, the upstream is cancelled and the completion throws the
  /// reason. Runs once: another run throws `alreadySubscribed`.
  public static func wire(_ output: OutputStream) -> Self {
    Self(output, sequence: false) { Item(value: $0) }
  }
}

extension Sink where In == Item, Mat == Completion<Void> {
  /// ``Sink/wire(_:)`` for a sequence stream, whose items have metadata.
  public static func wireItems(_ output: OutputStream) -> Self {
    Self(output, sequence: true) { $0 }
  }
}

extension Sink where Mat == Completion<Void> {
  fileprivate init(
    _ output: OutputStream, sequence: Bool, _ item: @escaping @Sendable (In) -> Item
  ) {
    let sender = ItemSender { token in item(look(token)) }
    self.init(
      sinkWire(output: output.core, sequence: sequence, sender: sender),
      .one { run, index in Completion(try run.completion(index: index)) { _ in () } })
  }
}

/// Makes elements of the items that core lends.
private final class ItemReceiver: Receiving {
  func receive(
    kind: UInt8, address: UInt64, count: UInt64, metaAddress: UInt64, metaCount: UInt64
  ) -> Reply {
    let (payload, meta) = (borrowed(address, count), borrowed(metaAddress, metaCount))
    do {
      return .values(tokens: [give(try Item(kind: kind, payload: payload, meta: meta))])
    } catch {
      return .thrown(fault: error.fault)
    }
  }
}

/// Makes the items that core sends.
private final class ItemSender: Sending {
  private let item: @Sendable (UInt64) -> Item
  init(_ item: @escaping @Sendable (UInt64) -> Item) { self.item = item }

  func send(token: UInt64) -> Outgoing {
    let item = item(token)
    return .item(value: .init(item.value.encoded()), meta: (item.meta?.encoded()).map { .init($0) })
  }
}
