//! What a host offers, and which of it serves a cap that is asked for.

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::Value as Json;

use crate::cartridge::{CapInfo, IDENTITY, caps_of, same_cap};
use crate::error::{Error, ErrorKind};
use crate::sync::Arc;

/// Caps that one host may offer: each request is held against them.
const CAPS: usize = 4096;

/// Decides which offered cap serves a cap that is asked for. The request goes on under the offered one, by
/// which whoever serves it finds its handler.
///
/// Called by the reading threads of a switch, on several at once, for each cap that a host offers until
/// one serves. No lock of the switch is held: it may use the switch, ask for its caps say, or close it.
/// It must not wait, for that holds up the connection that asks; least of all for a call through the
/// same switch. One that panics says no. The switch holds it until it is gone itself, so one that has a
/// handle of its own switch keeps it alive.
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
    pub(super) caps: Arc<[CapInfo]>,
    /// What it told of its own losses and cartridges, as it told it.
    pub(super) stats: Json,
    /// It has proved who it is: requests may go to it.
    pub(super) verified: bool,
}

impl Offer {
    /// The caps that requests may go to now.
    pub(super) fn open(&self) -> Arc<[CapInfo]> {
        if self.verified { Arc::clone(&self.caps) } else { Arc::default() }
    }
}

/// Which of `caps` serves `asked`. Runs foreign code: not under a lock.
pub(super) fn serving<'a>(
    caps: &'a [CapInfo],
    asked: &str,
    matcher: &dyn Matcher,
) -> Option<&'a str> {
    let serves = |offered: &str| {
        catch_unwind(AssertUnwindSafe(|| matcher.serves(offered, asked))).unwrap_or(false)
    };
    caps.iter().map(|cap| cap.urn.as_str()).find(|urn| serves(urn))
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
    let caps: Arc<[CapInfo]> = caps.take(CAPS + 1).collect();
    if caps.len() > CAPS {
        let message = format!("a host offers at most {CAPS} caps");
        return Err(Error::new(ErrorKind::LimitReached, message));
    }
    Ok(Offer { caps, stats: json["host_protocol_stats"].clone(), verified: false })
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
        let caps = offer.open();
        assert_eq!(serving(&caps, "cap:in=media:b;a", &SameTags), Some("cap:a;in=media:b"));
        assert_eq!(serving(&caps, IDENTITY, &SameTags), None);
        let unproved = Offer { verified: false, ..offer }.open();
        assert_eq!(serving(&unproved, "cap:a;in=media:b", &SameTags), None);
    }

    #[test]
    fn a_matcher_may_be_a_closure() {
        let caps = host(&["cap:a"]).open();
        let by_prefix = |offered: &str, asked: &str| asked.starts_with(offered);
        assert_eq!(serving(&caps, "cap:a;more", &by_prefix), Some("cap:a"));
    }

    #[test]
    fn a_matcher_that_panics_says_no() {
        let caps = host(&["cap:bad", "cap:good"]).open();
        let panics = |offered: &str, _: &str| {
            assert_ne!(offered, "cap:bad", "on purpose");
            true
        };
        assert_eq!(serving(&caps, "cap:any", &panics), Some("cap:good"));
    }

    #[test]
    fn what_a_host_offers_is_bounded() {
        let offers = |many: usize| {
            let caps: Vec<_> = (0..many).map(|n| json!({"urn": format!("cap:{n}")})).collect();
            let manifest = json!({"installed_cartridges": [{"cap_groups": [{"caps": caps}]}]});
            offered(manifest.to_string().as_bytes())
        };
        assert_eq!(offers(CAPS).expect("as many as may be").caps.len(), CAPS);
        let refused = offers(CAPS + 1).expect_err("one more");
        assert_eq!(refused.kind(), ErrorKind::LimitReached);
    }

    #[test]
    fn a_manifest_that_is_none_is_refused() {
        for text in ["", "[]", "{}", r#"{"installed_cartridges":{}}"#] {
            assert_eq!(offered(text.as_bytes()).expect_err(text).kind(), ErrorKind::Handshake);
        }
    }
}
