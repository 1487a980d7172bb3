//! [`Explanation`]: who waits for whom.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde_json::{Value as Json, json};

use super::{Cause, Standing, StandingRequest};
use crate::error::{Error, ErrorKind};

/// Entries that one party tells, at most.
const TOLD: usize = 1000;

/// Everything that stands still, here and in the processes that were asked.
///
/// `Display` says it in words, the culprits first: those who have values and do not read them, or requests
/// and do not take them, while nothing that they wait for themselves explains it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Explanation {
    standing: Vec<Json>,
    silent: Vec<String>,
    stages: Vec<Json>,
}

/// Whoever has stages to tell of: a scope. Each has `scope`, `stage`, its counters, `waits_for`
/// (`consumer`, `source` or `itself`) and `says`, all of it in words.
pub(crate) trait TellsOfStages: Send + Sync {
    fn stages(&self) -> Vec<Json>;
}

impl Explanation {
    /// What stands still at one party.
    pub(crate) fn of<'a>(standing: impl Iterator<Item = &'a StandingRequest>, party: &str) -> Self {
        let standing = standing.take(TOLD).map(|standing| standing.to_json(party)).collect();
        Explanation { standing, ..Explanation::default() }
    }

    /// What a cartridge told of its pools, JSON: of each how many requests wait for a place in it.
    pub(crate) fn of_pools(pools: &Json, party: &str) -> Self {
        let pools = pools.as_object().into_iter().flatten();
        let full = pools.filter_map(|(cap, pool)| {
            let queued = pool["queued"].as_u64().filter(|queued| *queued > 0)?;
            let standing =
                Standing { ahead: queued, ..Standing::whole(Cause::Pool, Duration::ZERO) };
            let (request, cap) = (String::new(), cap.clone());
            Some(StandingRequest { request, cap, calls: false, standing }.to_json(party))
        });
        Explanation { standing: full.take(TOLD).collect(), ..Explanation::default() }
    }

    /// How stages stand that a scope tells of.
    pub(crate) fn of_stages(stages: impl Iterator<Item = Json>) -> Self {
        Explanation { stages: stages.take(TOLD).collect(), ..Explanation::default() }
    }

    /// Adds what another party tells.
    pub(crate) fn add(&mut self, told: Explanation) {
        self.standing.extend(told.standing);
        self.silent.extend(told.silent);
        self.stages.extend(told.stages);
    }

    /// Adds that somebody gave no answer.
    pub(crate) fn add_silent(&mut self, party: &str) {
        self.silent.push(party.to_owned());
    }

    /// Notes which of those asked has told it, `nth`, by the name of its connection.
    pub(crate) fn told_by(mut self, nth: usize, connection: &str) -> Self {
        for standing in &mut self.standing {
            let beyond = standing["place"].as_str().map(|place| format!("/{place}"));
            standing["place"] = format!("{nth}{}", beyond.unwrap_or_default()).into();
            if standing["connection"].is_null() {
                standing["connection"] = connection.into();
            }
        }
        self
    }

    /// As JSON: `standing`, an array with `party`, `request`, `cap`, `side`, `stream`, `waits_for`
    /// (`credit`, `room`, `unread`, `data`, `queue` or `pool`), `since_ms`, `chunks`, `window`, `unread` and
    /// `ahead`; `silent`, who gave no answer; `culprits`, those of `standing` that hold the others up;
    /// `stages`, those of the scopes that tell this engine, each with `scope`, `stage`, its counters as in
    /// [`ScopeExplanation`](crate::flow::ScopeExplanation) and `says`, a sentence. `place` tells
    /// parties of one name apart, and `connection` is the command or transport that one is reached by;
    /// this process has neither.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let culprits = self.culprits();
        let stages = &self.stages;
        json!({"standing": self.standing, "silent": self.silent, "culprits": culprits, "stages": stages})
    }

    /// Reads what [`to_json`](Self::to_json) wrote; what is not of it is left out.
    #[must_use]
    pub fn from_json(json: &Json) -> Self {
        let standing = json["standing"].as_array().into_iter().flatten();
        let silent = json["silent"].as_array().into_iter().flatten();
        let stages = json["stages"].as_array().into_iter().flatten();
        Explanation {
            stages: stages.filter(|s| s.is_object()).take(TOLD).cloned().collect(),
            standing: standing.filter(|s| s.is_object()).take(TOLD).cloned().collect(),
            silent: silent.filter_map(|s| s.as_str().map(str::to_owned)).take(TOLD).collect(),
        }
    }

    /// What of it is about one request, by its id at the place that tells.
    #[must_use]
    pub fn of_request(&self, request: &str) -> Self {
        let of = |standing: &&Json| standing["request"] == request;
        let standing = self.standing.iter().filter(of).cloned().collect();
        Explanation { standing, silent: self.silent.clone(), stages: Vec::new() }
    }

    /// The stages of the scopes that tell this engine.
    #[must_use]
    pub fn stages(&self) -> &[Json] {
        &self.stages
    }

    /// True if nobody waits for credit, for room, for a reader, to be taken or for a place in a pool.
    /// Readers without data are no stall.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.standing.iter().all(|standing| standing["waits_for"] == "data")
    }

    /// Who holds the others up, the longest first.
    #[must_use]
    pub fn culprits(&self) -> Vec<&Json> {
        let mut culprits: Vec<_> = self
            .standing
            .iter()
            .filter(|s| s["waits_for"] == "unread" || s["waits_for"] == "queue")
            .filter(|standing| !self.waits_itself(standing))
            .collect();
        culprits.sort_by_key(|standing| std::cmp::Reverse(standing["since_ms"].as_u64()));
        culprits
    }

    /// Whether a party waits for credit or room, which may be why it does not read.
    fn waits_itself(&self, party: &Json) -> bool {
        let place = |standing: &Json| (standing["place"].clone(), standing["party"].clone());
        let mut same = self.standing.iter().filter(|standing| place(standing) == place(party));
        same.any(|s| s["waits_for"] == "credit" || s["waits_for"] == "room")
    }
}

impl FromStr for Explanation {
    type Err = Error;

    /// Reads the text of [`to_json`](Explanation::to_json).
    fn from_str(text: &str) -> Result<Self, Error> {
        let json = serde_json::from_str(text).map_err(|e| {
            Error::new(
                ErrorKind::Malformed,
                format!("an explanation is JSON, and this is not: {e}"),
            )
        })?;
        Ok(Explanation::from_json(&json))
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest: Vec<_> = self.standing.iter().collect();
        let culprits = self.culprits();
        rest.retain(|standing| !culprits.contains(standing));
        rest.sort_by_key(|standing| std::cmp::Reverse(standing["since_ms"].as_u64()));
        if self.is_quiet() {
            writeln!(f, "nothing is held up")?;
        }
        for culprit in culprits {
            writeln!(f, "HOLDS THE OTHERS UP: {}", sentence(culprit))?;
        }
        for standing in rest {
            writeln!(f, "{}", sentence(standing))?;
        }
        for party in &self.silent {
            writeln!(f, "{} gives no answer", shown(party))?;
        }
        for stage in &self.stages {
            let text = |name: &str| stage[name].as_str().unwrap_or("?");
            writeln!(f, "scope {:?}: {}", text("scope"), shown(text("says")))?;
        }
        Ok(())
    }
}

/// What a party calls itself or its streams, on one line: it may say anything, and so begin a line of its own
/// or steer a terminal.
fn shown(text: &str) -> String {
    let escaped = |c: char| match c.is_control() {
        true => c.escape_default().to_string(),
        false => c.to_string(),
    };
    text.chars().map(escaped).collect()
}

fn sentence(standing: &Json) -> String {
    let text = |name: &str| shown(standing[name].as_str().unwrap_or("?"));
    let count = |name: &str| standing[name].as_u64().unwrap_or_default();
    let seconds = count("since_ms") / 1000;
    let since = format!("{seconds}.{} s", count("since_ms") % 1000 / 100);
    let (party, stream, chunks) = (text("party"), text("stream"), count("chunks"));
    let what = match standing["waits_for"].as_str() {
        Some("unread") => format!(
            "{party} has not read stream {stream} for {since}: {} values lie there",
            count("unread")
        ),
        Some("credit") => format!(
            "{party} has waited for credit on stream {stream} for {since}: after {chunks} chunks the receiver has granted no more"
        ),
        Some("room") => format!(
            "{party} has waited for room on its link for {since}, stream {stream}: the other end takes nothing in"
        ),
        Some("queue") => format!(
            "{party} has not taken the request for {since}: {} wait before it",
            count("ahead")
        ),
        Some("pool") if text("request").is_empty() => {
            return format!(
                "{} requests wait for a place in the pool of {party} for {}",
                count("ahead"),
                text("cap")
            );
        }
        Some("pool") => {
            format!("{party} has waited for a place in the handler's pool for {since}")
        }
        _ => format!("{party} has waited for data on stream {stream} for {since}"),
    };
    format!("{what} (request {}, {})", text("request"), text("cap"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(party: &str, waits_for: &str, since_ms: u64) -> Json {
        json!({"party": party, "waits_for": waits_for, "since_ms": since_ms, "stream": "s",
               "request": "r", "cap": "c", "unread": 3, "chunks": 7, "window": 0})
    }

    #[test]
    fn a_reader_that_sleeps_is_the_culprit_and_one_that_waits_itself_is_not() {
        let told = Explanation {
            standing: vec![
                standing("producer", "credit", 900),
                standing("relay", "unread", 1900),
                standing("relay", "credit", 2000),
                standing("sleeper", "unread", 2100),
            ],
            silent: vec!["frozen".to_owned()],
            stages: vec![json!({"scope": "s", "says": "stage \"map\" waits"})],
        };
        let culprits: Vec<_> = told.culprits().iter().map(|c| c["party"].clone()).collect();
        assert_eq!(culprits, ["sleeper"]);
        let text = told.to_string();
        assert!(text.starts_with("HOLDS THE OTHERS UP: sleeper has not read stream s for 2.1 s"));
        assert!(
            text.ends_with("frozen gives no answer\nscope \"s\": stage \"map\" waits\n"),
            "{text}"
        );
        assert_eq!(Explanation::from_json(&told.to_json()), told);
    }

    #[test]
    fn a_name_says_no_line_of_its_own_and_steers_no_terminal() {
        let mut odd = standing("\x1b[2Jliar", "unread", 900);
        odd["stream"] = "s\nHOLDS THE OTHERS UP: somebody else".into();
        let silent = vec!["two\nlines".to_owned()];
        let told = Explanation { standing: vec![odd], silent, ..Explanation::default() };
        let text = told.to_string();
        assert_eq!(text.lines().count(), 2, "{text}");
        assert!(!text.contains('\x1b') && text.contains("s\\nHOLDS"), "{text}");
    }

    #[test]
    fn one_request_can_be_picked_out() {
        let other = json!({"party": "x", "request": "other", "waits_for": "unread"});
        let told = Explanation {
            standing: vec![standing("x", "credit", 5), other.clone()],
            silent: vec!["frozen".to_owned()],
            ..Explanation::default()
        };
        let picked = Explanation {
            standing: vec![other],
            silent: told.silent.clone(),
            ..Explanation::default()
        };
        assert_eq!(told.of_request("other"), picked);
    }

    #[test]
    fn queues_and_pools_are_named_and_who_takes_nothing_is_a_culprit() {
        let mut busy = standing("busy", "queue", 1500);
        busy["ahead"] = 2.into();
        let mut told = Explanation {
            standing: vec![busy, standing("caller", "pool", 700)],
            ..Explanation::default()
        };
        let pools = json!({"cap:x": {"queued": 3, "active": 4}, "all": {"queued": 0}, "odd": 7});
        told.add(Explanation::of_pools(&pools, "foreign"));
        assert!(!told.is_quiet());
        let text = told.to_string();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(
            lines,
            [
                "HOLDS THE OTHERS UP: busy has not taken the request for 1.5 s: 2 wait before it (request r, c)",
                "caller has waited for a place in the handler's pool for 0.7 s (request r, c)",
                "3 requests wait for a place in the pool of foreign for cap:x",
            ]
        );
        told.add(Explanation {
            standing: vec![standing("busy", "credit", 9)],
            ..Default::default()
        });
        assert!(told.culprits().is_empty(), "it waits itself");
    }

    #[test]
    fn readers_without_data_are_no_stall() {
        let standing = vec![standing("x", "data", 5)];
        let told = Explanation { standing, ..Explanation::default() };
        assert!(told.is_quiet());
        assert!(told.culprits().is_empty());
        assert!(told.to_string().starts_with("nothing is held up\n"));
    }
}
