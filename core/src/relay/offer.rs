//! What a host offers, and which of it serves a cap that is asked for.

use serde_json::Value as Json;

use crate::cartridge::{CapInfo, IDENTITY, caps_of, same_cap};
use crate::error::{Error, ErrorKind};

/// Decides which offered cap serves a cap that is asked for. Called by reading threads: must not wait.
pub trait Matcher: Send + Sync {
    /// Whether `offered` serves a request for `asked`.
    fn serves(&self, offered: &str, asked: &str) -> bool;
}

/// The same tags in any order.
#[derive(Clone, Copy, Debug, Default)]
pub struct SameTags;

impl Matcher for SameTags {
    fn serves(&self, offered: &str, asked: &str) -> bool {
        same_cap(offered, asked)
    }
}

impl<F: Fn(&str, &str) -> bool + Send + Sync> Matcher for F {
    fn serves(&self, offered: &str, asked: &str) -> bool {
        self(offered, asked)
    }
}

/// What one host offers now.
#[derive(Clone, Debug, Default)]
pub(super) struct Offer {
    pub(super) caps: Vec<CapInfo>,
    /// What it told of its own losses and cartridges, as it told it.
    pub(super) stats: Json,
    /// It has proved who it is: requests may go to it.
    pub(super) verified: bool,
}

impl Offer {
    /// The offered cap that serves `asked`.
    pub(super) fn serving(&self, asked: &str, matcher: &dyn Matcher) -> Option<String> {
        let mut caps = self.caps.iter().filter(|_| self.verified);
        caps.find(|cap| matcher.serves(&cap.urn, asked)).map(|cap| cap.urn.clone())
    }
}

/// Reads the manifest of a RELAY_NOTIFY. The identity is not offered: every end has its own.
pub(super) fn offered(manifest: &[u8]) -> Result<Offer, Error> {
    let json: Json = serde_json::from_slice(manifest).map_err(|e| {
        Error::new(ErrorKind::Handshake, format!("the host's manifest is not JSON: {e}"))
    })?;
    let Some(cartridges) = json["installed_cartridges"].as_array() else {
        let message = "the host's manifest has no installed_cartridges";
        return Err(Error::new(ErrorKind::Handshake, message));
    };
    let caps = cartridges.iter().filter(|cartridge| cartridge["attachment_error"].is_null());
    let caps = caps.flat_map(caps_of).filter(|cap| cap.urn != IDENTITY);
    Ok(Offer { caps: caps.collect(), stats: json["host_protocol_stats"].clone(), verified: false })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn host(caps: &[&str]) -> Offer {
        let caps: Vec<_> = caps.iter().map(|urn| json!({"urn": urn})).collect();
        let manifest = json!({"installed_cartridges": [{"cap_groups": [{"caps": caps}]}]});
        let offer = offered(manifest.to_string().as_bytes()).expect("a manifest");
        Offer { verified: true, ..offer }
    }

    #[test]
    fn a_cap_is_found_by_its_tags_in_any_order_and_identity_is_never_offered() {
        let offer = host(&["cap:a;in=media:b", IDENTITY]);
        assert_eq!(
            offer.serving("cap:in=media:b;a", &SameTags).as_deref(),
            Some("cap:a;in=media:b")
        );
        assert_eq!(offer.serving(IDENTITY, &SameTags), None);
        assert_eq!(Offer { verified: false, ..offer }.serving("cap:a;in=media:b", &SameTags), None);
    }

    #[test]
    fn a_matcher_may_be_a_closure() {
        let offer = host(&["cap:a"]);
        let by_prefix = |offered: &str, asked: &str| asked.starts_with(offered);
        assert_eq!(offer.serving("cap:a;more", &by_prefix).as_deref(), Some("cap:a"));
    }

    #[test]
    fn a_manifest_that_is_none_is_refused() {
        for text in ["", "[]", "{}", r#"{"installed_cartridges":{}}"#] {
            assert_eq!(offered(text.as_bytes()).expect_err(text).kind(), ErrorKind::Handshake);
        }
    }
}
