//! The streams layer: core's blueprints over elements that are Swift's.
//!
//! An element crosses as a token that Swift made and that this side gives back exactly once. What a
//! run yields crosses as a list, in the order of the stages; Swift knows the types.

mod blueprint;
mod element;
mod feedback;
mod group;
mod join;
mod mats;
mod once;
mod probe;
mod promise;
mod run;
mod shape;
mod source;
mod stage;
mod testkit;
mod wire;
