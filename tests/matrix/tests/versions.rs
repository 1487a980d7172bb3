//! Cartridges in every language answer in the version that their host declares.

use std::time::Duration;

use sluicegate::{Engine, EngineOptions, Limits, Value, Version};
use sluicegate_matrix::{close, each_language, feed, start};

const LIMIT: Duration = Duration::from_secs(180);
const ECHO: &str = "cap:fc-echo;in=media:blob;out=media:blob";

#[test]
fn a_cartridge_speaks_the_version_of_its_host() {
    each_language(LIMIT, |language| {
        for version in [Version::V4, Version::V5, Version::V6] {
            let engine = Engine::new(EngineOptions {
                limits: Limits { initial_credit: 2, max_chunk: 64, ..Limits::default() },
                handshake_timeout: Duration::from_secs(30),
                version,
                ..EngineOptions::default()
            });
            let peer = start(&engine, language);
            assert_eq!(peer.version(), version, "{language}");
            let values: Vec<_> = (0..50_u64).map(Value::Uint).collect();
            let call = peer.call(ECHO).expect("live");
            let fed = feed(&call, "media:blob", values.clone());
            let items = call.blocking_output().expect("a result").blocking_collect_items();
            let back: Vec<_> = items.expect("all").into_iter().map(|item| item.value).collect();
            assert_eq!(back, values, "{language}, {version}");
            fed.join().expect("no panic").expect("sent");
            call.blocking_wait().expect("success");
            close(&engine);
        }
    });
}
