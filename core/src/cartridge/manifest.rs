//! What a cartridge says of itself: JSON, as every peer reads it.

use serde_json::{Value as Json, json};

use crate::error::{Error, ErrorKind};

/// The cap that every cartridge serves: it echoes its input.
pub(crate) const IDENTITY: &str = "cap:effect=none";

/// One cap of a manifest. Its main input and output are the `in=` and `out=` of its URN.
#[derive(Clone, Debug)]
pub struct Cap {
    urn: String,
    title: Option<String>,
    input_sequence: bool,
    output_sequence: bool,
    outputs: Vec<(String, bool)>,
    streaming: bool,
}

impl Cap {
    /// The cap that `urn` names, for example `cap:upper;in=media:blob;out=media:blob`.
    #[must_use]
    pub fn new(urn: &str) -> Self {
        Cap {
            urn: urn.to_owned(),
            title: None,
            input_sequence: false,
            output_sequence: false,
            outputs: Vec::new(),
            streaming: false,
        }
    }

    /// A title for people; the URN's first tag by default.
    #[must_use]
    pub fn title(mut self, title: &str) -> Self {
        self.title = Some(title.to_owned());
        self
    }

    /// The main input is a sequence of items.
    #[must_use]
    pub fn input_sequence(mut self, sequence: bool) -> Self {
        self.input_sequence = sequence;
        self
    }

    /// The main output is a sequence of items.
    #[must_use]
    pub fn output_sequence(mut self, sequence: bool) -> Self {
        self.output_sequence = sequence;
        self
    }

    /// One more output beside the main one.
    #[must_use]
    pub fn output(mut self, media: &str, sequence: bool) -> Self {
        self.outputs.push((media.to_owned(), sequence));
        self
    }

    /// The main output may have no end.
    #[must_use]
    pub fn streaming(mut self, streaming: bool) -> Self {
        self.streaming = streaming;
        self
    }

    fn json(&self) -> Json {
        let name = self.title.clone().unwrap_or_else(|| first_tag(&self.urn).to_owned());
        let alias: String = name
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' })
            .collect();
        let main = |tag_name| {
            let identity = (self.urn == IDENTITY).then_some("media:");
            tag(&self.urn, tag_name).or(identity).filter(|media| *media != "media:void")
        };
        let args: Vec<Json> = main("in")
            .map(|media| {
                json!({
                    "media_urn": media, "name": "input", "required": true,
                    "sources": [{"stdin": media}], "is_sequence": self.input_sequence,
                })
            })
            .into_iter()
            .collect();
        let mut outputs: Vec<Json> = main("out")
            .map(|media| {
                json!({
                    "media_urn": media, "name": "output", "output_description": name,
                    "is_sequence": self.output_sequence, "streaming": self.streaming,
                })
            })
            .into_iter()
            .collect();
        for (n, (media, sequence)) in self.outputs.iter().enumerate() {
            outputs.push(json!({
                "media_urn": media, "name": format!("output-{}", n + 2),
                "output_description": media, "is_sequence": sequence,
            }));
        }
        json!({"urn": self.urn, "title": name, "aliases": [alias], "args": args, "outputs": outputs})
    }
}

/// What a cartridge is called and which caps it serves. The identity cap is always among them.
#[derive(Clone, Debug)]
pub struct Manifest(Json);

impl Manifest {
    /// A manifest without caps of its own.
    #[must_use]
    pub fn new(name: &str, version: &str) -> Self {
        let identity = Cap::new(IDENTITY).title("Identity").json();
        Manifest(json!({
            "name": name, "version": version, "channel": "nightly", "registry_url": null,
            "description": name,
            "cap_groups": [{"name": "default", "caps": [identity]}],
        }))
    }

    /// A sentence about the cartridge.
    #[must_use]
    pub fn description(mut self, text: &str) -> Self {
        self.0["description"] = text.into();
        self
    }

    /// One more cap.
    #[must_use]
    pub fn cap(mut self, cap: Cap) -> Self {
        if let Some(caps) = self.0["cap_groups"][0]["caps"].as_array_mut() {
            caps.push(cap.json());
        }
        self
    }

    /// A manifest written elsewhere. The identity cap is added if it is missing.
    ///
    /// # Errors
    /// `InvalidArgument` if the text is not JSON, or has no name, version or cap groups.
    pub fn from_json(text: &str) -> Result<Self, Error> {
        let wrong = |what: String| Error::new(ErrorKind::InvalidArgument, what);
        let mut json: Json = serde_json::from_str(text)
            .map_err(|e| wrong(format!("the manifest is not JSON: {e}")))?;
        for field in ["name", "version"] {
            if !json[field].is_string() {
                return Err(wrong(format!("the manifest has no {field}")));
            }
        }
        let missing = !caps_of(&json).iter().any(|cap| cap.urn == IDENTITY);
        let Some(caps) = json.pointer_mut("/cap_groups/0/caps").and_then(Json::as_array_mut) else {
            return Err(wrong("the manifest has no cap_groups with caps".to_owned()));
        };
        if missing {
            caps.insert(0, Cap::new(IDENTITY).title("Identity").json());
        }
        Ok(Manifest(json))
    }

    /// The JSON text.
    #[must_use]
    pub fn to_json(&self) -> String {
        self.0.to_string()
    }

    /// What the cartridge is called.
    pub(crate) fn name(&self) -> &str {
        self.0["name"].as_str().unwrap_or_default()
    }

    /// The JSON.
    pub(crate) fn json(&self) -> Json {
        self.0.clone()
    }

    /// The caps that this manifest declares.
    pub(crate) fn caps(&self) -> Vec<CapInfo> {
        caps_of(&self.0)
    }

    pub(crate) fn declares(&self, cap: &str) -> bool {
        self.caps().iter().any(|info| info.urn == cap)
    }

    /// The pools of this cartridge: every cap without a limit.
    pub(crate) fn pools(&self) -> String {
        pools_of(&self.caps(), 0)
    }
}

/// Pools of these caps, JSON: none of them with a limit of its own, and `capacity` for all, 0 for none.
pub(crate) fn pools_of(caps: &[CapInfo], capacity: u64) -> String {
    let urns: Vec<_> = caps.iter().map(|cap| canonical(&cap.urn)).collect();
    let state = |n: u64| json!({"declared": n, "configured": n, "active": 0, "queued": 0});
    let mut pools = serde_json::Map::new();
    for urn in &urns {
        pools.insert(urn.clone(), state(0));
    }
    let mut all = state(capacity);
    all["caps"] = urns.into();
    pools.insert("all".into(), all);
    Json::Object(pools).to_string()
}

/// One cap of a cartridge, as its manifest declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapInfo {
    /// The URN to call it by.
    pub urn: String,
    /// For people.
    pub title: String,
    /// Media of the main input, if it takes one.
    pub in_media: Option<String>,
    /// Media of the main output, if it has one.
    pub out_media: Option<String>,
    /// The main input is a sequence of items.
    pub in_sequence: bool,
    /// The main output is a sequence of items.
    pub out_sequence: bool,
    /// Media of all outputs, the main one first.
    pub outputs: Vec<String>,
}

/// The caps of a manifest that came over the wire.
pub(crate) fn parse_caps(manifest: &[u8]) -> Result<Vec<CapInfo>, Error> {
    serde_json::from_slice(manifest).map(|json| caps_of(&json)).map_err(|e| {
        Error::new(ErrorKind::Handshake, format!("the cartridge's manifest is not JSON: {e}"))
    })
}

pub(crate) fn caps_of(manifest: &Json) -> Vec<CapInfo> {
    let groups = manifest["cap_groups"].as_array().into_iter().flatten();
    let caps = groups.flat_map(|group| group["caps"].as_array().into_iter().flatten());
    caps.filter_map(|cap| {
        let text = |json: &Json| json.as_str().map(str::to_owned);
        let flag = |json: &Json| json.as_bool().unwrap_or(false);
        let outputs = cap["outputs"].as_array();
        Some(CapInfo {
            urn: text(&cap["urn"])?,
            title: text(&cap["title"]).unwrap_or_default(),
            in_media: text(&cap["args"][0]["media_urn"]),
            out_media: text(&cap["outputs"][0]["media_urn"]),
            in_sequence: flag(&cap["args"][0]["is_sequence"]),
            out_sequence: flag(&cap["outputs"][0]["is_sequence"]),
            outputs: outputs.into_iter().flatten().filter_map(|o| text(&o["media_urn"])).collect(),
        })
    })
    .collect()
}

/// The value of a tag of a cap URN, without quotes.
fn tag<'a>(urn: &'a str, name: &str) -> Option<&'a str> {
    let tags = urn.strip_prefix("cap:")?.split(';');
    tags.filter_map(|tag| tag.split_once('='))
        .find(|(key, _)| *key == name)
        .map(|(_, value)| value.trim_matches('"'))
}

fn first_tag(urn: &str) -> &str {
    urn.strip_prefix("cap:").unwrap_or(urn).split(';').next().unwrap_or(urn)
}

/// The spelling that a switch finds a pool by: tags in the order of their keys, keys in lower case, and
/// quotes only around a value that needs them.
fn canonical(urn: &str) -> String {
    let mut quoted = false;
    let tags = urn.strip_prefix("cap:").unwrap_or(urn).split(|c| {
        quoted ^= c == '"';
        c == ';' && !quoted
    });
    let mut tags: Vec<(String, String)> = tags
        .map(str::trim)
        .filter(|tag| !tag.is_empty())
        .map(|tag| match tag.split_once('=') {
            Some((key, value)) => (key.to_ascii_lowercase(), format!("={}", unquoted(value))),
            None => (tag.to_ascii_lowercase(), String::new()),
        })
        .collect();
    tags.sort_unstable();
    let tags: Vec<_> = tags.into_iter().map(|(key, value)| key + &value).collect();
    format!("cap:{}", tags.join(";"))
}

/// A value without its quotes, if it does without.
fn unquoted(value: &str) -> &str {
    let needs = |c: char| matches!(c, ';' | '=' | '"' | '\\' | ' ') || c.is_uppercase();
    let inner = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
    inner.filter(|inner| !inner.contains(needs)).unwrap_or(value)
}

/// Two spellings of one URN: the same tags in any order.
pub(crate) fn same_cap(declared: &str, called: &str) -> bool {
    let tags = |urn: &str| {
        let mut tags: Vec<String> = urn
            .strip_prefix("cap:")
            .unwrap_or(urn)
            .split(';')
            .map(|tag| tag.trim().replace('"', ""))
            .filter(|tag| !tag.is_empty())
            .collect();
        tags.sort_unstable();
        tags
    };
    declared == called || tags(declared) == tags(called)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ECHO: &str = "cap:fc-echo;in=media:blob;out=media:blob";

    #[test]
    fn a_manifest_declares_identity_and_its_caps() {
        let manifest = Manifest::new("n", "1").cap(Cap::new(ECHO).output("media:text", true));
        let caps = manifest.caps();
        assert_eq!(caps[0].urn, IDENTITY);
        assert_eq!(caps[1].in_media.as_deref(), Some("media:blob"));
        assert_eq!(caps[1].outputs, ["media:blob", "media:text"]);
        assert_eq!(parse_caps(manifest.to_json().as_bytes()).expect("our own"), caps);
        let again = Manifest::from_json(&manifest.to_json()).expect("our own");
        assert_eq!(again.caps(), caps);
    }

    #[test]
    fn a_manifest_that_is_none_is_refused() {
        for text in ["", "[]", "{}", r#"{"name":"n","version":"1"}"#] {
            assert!(Manifest::from_json(text).is_err(), "{text}");
        }
    }

    #[test]
    fn pools_hold_every_cap_and_all() {
        let pools: Json = serde_json::from_str(&Manifest::new("n", "1").pools()).expect("JSON");
        assert!(pools[IDENTITY].is_object());
        assert_eq!(pools["all"]["caps"][0], IDENTITY);
    }

    #[test]
    fn pools_are_named_by_the_canonical_urn() {
        for (written, wanted) in [
            (IDENTITY, IDENTITY),
            (ECHO, ECHO),
            ("cap:upper;in=media:b;out=media:c", "cap:in=media:b;out=media:c;upper"),
            ("cap:a;in=\"media:b;c\";out=\"media:d\"", "cap:a;in=\"media:b;c\";out=media:d"),
            ("cap:z; in-x=3;in=1;B=\"q\"", "cap:b=q;in=1;in-x=3;z"),
        ] {
            assert_eq!(canonical(written), wanted);
        }
        let manifest = Manifest::new("n", "1").cap(Cap::new("cap:upper;in=media:b;out=media:c"));
        let pools: Json = serde_json::from_str(&manifest.pools()).expect("JSON");
        let wanted = "cap:in=media:b;out=media:c;upper";
        assert!(pools[wanted].is_object(), "{pools}");
        assert_eq!(pools["all"]["caps"][1], wanted, "{pools}");
    }

    #[test]
    fn the_order_of_tags_is_free() {
        assert!(same_cap("cap:a;in=media:b;out=media:c", "cap:out=media:c;a;in=\"media:b\""));
        assert!(!same_cap("cap:a;in=media:b", "cap:a"));
    }
}
