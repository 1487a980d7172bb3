//! Requests: what belongs to one call, at either end of a link, and how frames reach it.

mod call;
mod connection;
mod exchange;
mod table;
mod terminal;

pub use call::Call;
pub(crate) use connection::{Connection, EXPLAIN, Passed, Role, Unroutable, peer_gone};
pub(crate) use exchange::{Exchange, Keeper, Side};
pub use terminal::{Event, Terminal};
