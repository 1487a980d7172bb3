//! The C ABI over the core: opaque handles, status numbers, no panic across the border.
//!
//! | file | what |
//! |---|---|
//! | `handle` | the tables behind the opaque handles: counted, checked, never followed blindly |
//! | `guard` | the one fence that every export runs in |
//! | `border` | pointers in and out: texts, bytes, out-parameters |
//! | `waker`, `op` | foreign waiting: a one-shot callback, an operation polled by hand |
//! | the others | one object each, the same words as in core |
//!
//! # Safety
//! Every export that takes pointers is an `unsafe fn`, and the duty of its caller is the same
//! everywhere, said once at the top of `include/sluicegate.h`: a pointer to data is NULL or points
//! to as many readable (inputs) or writable (outputs) bytes as the signature says, for the time of
//! the call. Handles carry no duty: any bit pattern is answered.

#![allow(
    clippy::missing_safety_doc,
    reason = "one duty for all, stated above and at the top of the header"
)]
#![allow(
    clippy::missing_errors_doc,
    reason = "each comment has a `returns` line that C programmers read"
)]

// The order of the sections of the header.
mod status;

mod abi;

mod error;

mod detail;

mod waker;

mod op;

mod take;

mod gate;

mod window;

mod router;

mod item;

mod stream;

mod input;

mod output;

mod sender;

mod limits;

mod manifest;

mod cartridge;

mod request;

mod engine;

mod peer;

mod call;

mod feed;

mod matcher;

mod relay;

mod report;

mod told;

mod aside;

mod flow;

// What they stand on.
mod border;
mod emitter;
mod fail;
mod fork;
mod guard;
mod handle;
mod notices;
mod served;
mod sync;
