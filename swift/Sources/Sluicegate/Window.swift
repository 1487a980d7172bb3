internal import SluicegateCore

/// A receiver's side of one stream: what it has promised room for, in chunks, and what it owes the
/// sender (L10).
///
/// Nothing here waits. Any number of tasks and threads may use one window at once; each step is
/// atomic, so concurrent consumers never grant twice. A grant of 0 means: send nothing. What a step
/// answers must be sent.
public final class Window: Sendable {
  private let core: WindowCore

  /// A window of `window` chunks that makes a grant due for each half of it consumed.
  public init(window: UInt64) { core = WindowCore(window: window) }

  /// A window whose grants are due after `batch` chunks. The batch is held between 1 and half the
  /// window, so that it can never stall the sender.
  public init(window: UInt64, batch: UInt64) {
    core = WindowCore.withBatch(window: window, batch: batch)
  }

  /// A chunk arrives. Throws `creditViolation` if no credit was left for it (L12): it must not be
  /// delivered, and the window is as before.
  public func arrive() throws(SluicegateError) { try translating { try core.arrive() } }

  /// A chunk was consumed. Answers the grant now due.
  public func consumed() -> UInt64 { core.consumed() }

  /// Everything that is pending; due before any wait.
  public func flush() -> UInt64 { core.flush() }

  /// A chunk arrived that only continues an item: it is given back at once. Answers 1.
  public func continued() -> UInt64 { core.continued() }

  /// Chunks that may still arrive.
  public var remaining: UInt64 { core.remaining() }

  /// Chunks consumed and not granted back yet.
  public var pending: UInt64 { core.pending() }

  /// How many consumed chunks make a grant due.
  public var batch: UInt64 { core.batch() }

  /// The window that this was opened with.
  public var size: UInt64 { core.size() }

  /// What two proposals for a window, or for another limit, agree on: the smaller one, or `nil` if
  /// either is zero, since a window of nothing can never move.
  public static func negotiate(_ ours: UInt64, _ theirs: UInt64) -> UInt64? {
    SluicegateCore.negotiate(ours: ours, theirs: theirs)
  }
}
