//! One side of a request.

use crate::frame::FlowKey;

/// One connection of a relay.
pub(crate) type LinkId = u64;

/// One end of a request: the connection, and the ids that its frames carry there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct End {
    pub(crate) link: LinkId,
    pub(crate) flow: FlowKey,
}
