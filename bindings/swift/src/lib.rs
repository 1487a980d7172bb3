//! The glue between the core and the Swift package.
//!
//! What is exported here becomes the Swift module `SluicegateCore`, which is internal to the
//! package: people see `swift/Sources/Sluicegate`, written by hand. The rules of this border:
//!
//! * Nothing here waits. What waits in core is an `…Op` object that Swift polls with a bell.
//! * Every decision is core's. Nothing here compares a credit count.
//! * No panic crosses: [`guard`] turns one into an error with the kind `Panic`.
//! * Payloads cross as an address and a count, lent for the length of one call (`lend`).

mod bell;
mod call;
mod cartridge;
mod cause;
mod engine;
mod error;
mod feed;
mod flow;
mod gate;
mod guard;
mod input;
mod lend;
mod limits;
mod matcher;
mod notices;
mod op;
mod output;
mod relay;
mod report;
mod request;
mod router;
mod sync;
mod token;
mod transport;
mod window;

uniffi::setup_scaffolding!();
