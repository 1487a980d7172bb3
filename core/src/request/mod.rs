//! Requests: what belongs to one call, at either end of a link, and how frames reach it.

mod call;
mod children;
mod connection;
mod events;
mod exchange;
mod keeper;
mod limit;
mod names;
mod places;
mod refused;
mod standing;
mod table;
mod terminal;

pub use call::Call;
pub(crate) use connection::{Connection, EXPLAIN, Passed, Role, Unroutable, peer_gone};
pub(crate) use exchange::{Exchange, Side};
pub(crate) use keeper::Keeper;
pub(crate) use names::NAME;
pub(crate) use terminal::fitting;
pub use terminal::{Event, Terminal};
