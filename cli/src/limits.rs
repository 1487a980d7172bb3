//! Flags and environment for every limit of a link.

use std::time::Duration;

use clap::Args;
use sluicegate::{Engine, EngineOptions, Limits, Version};

const DEFAULT: Limits = Limits::DEFAULT;

/// What is proposed to each cartridge; the smaller proposal of each limit wins.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Limits")]
pub struct LimitArguments {
    /// Chunks a stream may send before the first grant.
    #[arg(long, env = "SLUICEGATE_WINDOW", default_value_t = DEFAULT.initial_credit,
          value_parser = clap::value_parser!(u64).range(1..))]
    pub window: u64,
    /// Bytes of data in a chunk.
    #[arg(long, env = "SLUICEGATE_MAX_CHUNK", default_value_t = DEFAULT.max_chunk,
          value_parser = clap::value_parser!(u64).range(1..))]
    pub max_chunk: u64,
    /// Bytes of an encoded frame; at most 16 MiB.
    #[arg(long, env = "SLUICEGATE_MAX_FRAME", default_value_t = DEFAULT.max_frame,
          value_parser = clap::value_parser!(u64).range(1024..=sluicegate::frame::HARD_MAX_FRAME))]
    pub max_frame: u64,
    /// Frames a relay may hold out of order, per flow.
    #[arg(long, env = "SLUICEGATE_MAX_REORDER", default_value_t = DEFAULT.max_reorder_buffer,
          value_parser = clap::value_parser!(u64).range(1..))]
    pub max_reorder: u64,
    /// Bytes of one item of a sequence stream.
    #[arg(long, env = "SLUICEGATE_MAX_ITEM", default_value_t = EngineOptions::default().max_item,
          value_parser = clap::value_parser!(u64).range(1..))]
    pub max_item: u64,
    /// Seconds a cartridge may take to start and prove its identity.
    #[arg(long, env = "SLUICEGATE_HANDSHAKE_SECONDS", default_value_t = 10,
          value_parser = clap::value_parser!(u64).range(1..))]
    pub handshake_seconds: u64,
    /// The version of the protocol that cartridges are spoken to in.
    #[arg(long, env = "SLUICEGATE_PROTOCOL", default_value_t = 6,
          value_parser = clap::value_parser!(u64).range(4..=6))]
    pub protocol: u64,
}

impl LimitArguments {
    /// What is proposed.
    pub fn limits(&self) -> Limits {
        Limits {
            max_frame: self.max_frame,
            max_chunk: self.max_chunk.min(self.max_frame.saturating_sub(1024).max(1)),
            max_reorder_buffer: self.max_reorder,
            initial_credit: self.window,
        }
    }

    /// How an engine with these limits works.
    pub fn options(&self) -> EngineOptions {
        EngineOptions {
            limits: self.limits(),
            handshake_timeout: Duration::from_secs(self.handshake_seconds),
            max_item: self.max_item,
            version: Version::declared(self.protocol).unwrap_or_default(),
            ..EngineOptions::default()
        }
    }

    /// An engine that proposes these limits.
    pub fn engine(&self) -> Engine {
        Engine::new(self.options())
    }
}
