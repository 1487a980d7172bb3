//! The rooms of `core/src`, bottom to top, and what only some of them may do.
//!
//! A room uses those below it only. Tests may use any. What is checked is the code as tokens: neither
//! a comment nor a text can break a rule.

use std::fs;

use anyhow::{Context, Result};

use super::Finding;
use crate::repo::Repo;
use crate::source::{Source, Token};
use crate::tracked;

/// The ranks, lowest first. Rooms of one row don't know each other.
const RANKS: &[&[&str]] = &[
    &["error"],
    &["time"],
    &["sync"],
    &["model"],
    &["account"],
    &["check"],
    &["wait"],
    &["credit"],
    &["frame"],
    &["link"],
    &["stream"],
    &["request"],
    &["routing"],
    &["cartridge"],
    &["engine"],
    &["relay"],
    &["feed"],
    &["flow"],
    &["control"],
];

/// Words that only some rooms may say, and why.
struct Reserved {
    words: &'static [&'static [&'static str]],
    rooms: &'static [&'static str],
    why: &'static str,
}

const RESERVED: &[Reserved] = &[
    Reserved {
        words: &[&["Condvar"], &["park"], &["park_timeout"], &["sleep"]],
        rooms: &["wait", "check/monitor", "sync"],
        why: "only `wait` sleeps or wakes, and the monitor of those who never come",
    },
    Reserved {
        words: &[&["Instant", ":", ":", "now"], &["SystemTime", ":", ":", "now"]],
        rooms: &["time"],
        why: "only `time` reads a clock",
    },
    Reserved {
        words: &[
            &["thread", ":", ":", "spawn"],
            &["thread", ":", ":", "Builder"],
            &["thread", ":", ":", "scope"],
        ],
        rooms: &["check/monitor", "link", "cartridge", "engine", "feed", "flow/scope"],
        why: "only `check/monitor`, `link`, `cartridge`, `engine`, `feed` and `flow/scope` start threads",
    },
    Reserved {
        words: &[
            &["RawFd"],
            &["OwnedFd"],
            &["BorrowedFd"],
            &["AsFd"],
            &["AsRawFd"],
            &["FromRawFd"],
            &["IntoRawFd"],
        ],
        rooms: &["link", "engine/spawn"],
        why: "only `link` and `engine/spawn` know file descriptors",
    },
];

/// Looks at every file of `core/src`.
pub fn check(repo: &Repo) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for file in tracked::files(repo)?
        .iter()
        .filter(|file| file.starts_with("core/src/") && file.ends_with(".rs"))
    {
        let source =
            Source::parse(&fs::read_to_string(repo.path(file))?).with_context(|| file.clone())?;
        let module = file["core/src/".len()..].trim_end_matches(".rs");
        findings.extend(
            check_module(module, &source)
                .into_iter()
                .map(|(line, broken)| Finding { place: format!("{file}:{line}"), broken }),
        );
    }
    Ok(findings)
}

/// `module` is the path of the file below `src`, without `.rs`.
fn check_module(module: &str, source: &Source) -> Vec<(usize, String)> {
    let tokens: Vec<_> = source.tokens.iter().filter(|token| !token.test).collect();
    let mut findings = Vec::new();
    for reserved in
        RESERVED.iter().filter(|reserved| !reserved.rooms.iter().any(|room| lies_in(module, room)))
    {
        for at in 0..tokens.len() {
            if let Some(words) = reserved.words.iter().find(|words| says(&tokens[at..], words)) {
                findings.push((tokens[at].line, format!("`{}`: {}", words.concat(), reserved.why)));
            }
        }
    }
    let room = module.split('/').next().expect("split gives at least one part");
    if room == "lib" {
        return findings; // the map names every room
    }
    let Some(own) = rank(room) else {
        findings
            .push((1, format!("`{room}` is no room: give it a rank in xtask/src/check/rooms.rs")));
        return findings;
    };
    let depth = module.split('/').filter(|part| *part != "mod").count();
    for (line, used) in rooms_used(&tokens, depth) {
        match rank(&used) {
            Some(other) if other < own || used == room => {}
            Some(_) => {
                findings.push((line, format!("`{room}` uses `{used}`, which is not below it")))
            }
            None => findings.push((
                line,
                format!("`crate::{used}` goes through lib.rs: name the room that it lives in"),
            )),
        }
    }
    findings
}

fn rank(room: &str) -> Option<usize> {
    RANKS.iter().position(|row| row.contains(&room))
}

fn lies_in(module: &str, room: &str) -> bool {
    module == room || module.strip_prefix(room).is_some_and(|rest| rest.starts_with('/'))
}

fn says(tokens: &[&Token], words: &[&str]) -> bool {
    tokens.len() >= words.len()
        && tokens.iter().zip(words).all(|(token, word)| token.text == **word)
}

/// The names that follow `crate::`, or as many `super::` as lead to the crate's root, one by one.
fn rooms_used(tokens: &[&Token], depth: usize) -> Vec<(usize, String)> {
    let to_root: Vec<_> = std::iter::repeat_n(["super", ":", ":"], depth).flatten().collect();
    let mut used = Vec::new();
    for at in 0..tokens.len() {
        let inside_path = at > 0 && tokens[at - 1].text == ":";
        let after = if says(&tokens[at..], &["crate", ":", ":"]) {
            at + 3
        } else if !inside_path && says(&tokens[at..], &to_root) {
            at + to_root.len()
        } else {
            continue;
        };
        let Some(first) = tokens.get(after) else { continue };
        if first.text != "{" {
            let called_macro = tokens.get(after + 1).is_some_and(|next| next.text == "!");
            if !called_macro && first.text != "super" {
                used.push((first.line, first.text.clone()));
            }
            continue;
        }
        let mut level = 0;
        for (offset, token) in tokens[after..].iter().enumerate() {
            match token.text.as_str() {
                "{" => level += 1,
                "}" => level -= 1,
                "," => {}
                name if level == 1
                    && ["{", ","].contains(&tokens[after + offset - 1].text.as_str()) =>
                {
                    used.push((token.line, name.to_owned()))
                }
                _ => {}
            }
            if level == 0 {
                break;
            }
        }
    }
    used
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken(module: &str, text: &str) -> Vec<String> {
        check_module(module, &Source::parse(text).expect("Rust"))
            .into_iter()
            .map(|(_, broken)| broken)
            .collect()
    }

    #[test]
    fn a_room_uses_those_below_it() {
        assert!(
            broken(
                "link/reader",
                "use crate::frame::{Frame, codec}; use crate::{error::Error, time::Deadline};"
            )
            .is_empty()
        );
        assert_eq!(
            broken("frame/codec", "use crate::link::Limits;"),
            ["`frame` uses `link`, which is not below it"]
        );
        assert_eq!(
            broken("frame/codec", "use crate::{error::{A, b}, stream::Input};"),
            ["`frame` uses `stream`, which is not below it"]
        );
        assert_eq!(
            broken("credit/mod", "fn f() { super::engine::x() }"),
            ["`credit` uses `engine`, which is not below it"]
        );
        assert_eq!(
            broken("credit/gate", "use super::super::engine; use super::window;"),
            ["`credit` uses `engine`, which is not below it"]
        );
    }

    #[test]
    fn the_root_is_no_way_round() {
        assert_eq!(broken("frame/codec", "use crate::CreditGate;").len(), 1);
        assert!(broken("frame/codec", "crate::checked!(1);").is_empty());
    }

    #[test]
    fn reserved_words_are_found_in_code_only() {
        assert_eq!(broken("credit/gate", "fn f() { std::thread::sleep(d) }").len(), 1);
        assert!(broken("credit/gate", "// sleep\nfn f() { g(\"sleep\") }").is_empty());
        assert!(broken("wait/block", "fn f(c: &Condvar) { std::thread::park() }").is_empty());
        assert_eq!(broken("flow/edge", "fn f() { thread::spawn(g); }").len(), 1);
        assert!(broken("flow/scope", "fn f() { thread::spawn(g); }").is_empty());
        assert_eq!(broken("link/reader", "fn f() { Instant::now(); }").len(), 1);
    }

    #[test]
    fn tests_may_use_everything() {
        assert!(broken("frame/codec", "#[cfg(test)] mod tests { use crate::engine::Engine; fn f() { std::thread::sleep(d) } }").is_empty());
    }

    #[test]
    fn a_new_room_needs_a_rank() {
        assert_eq!(broken("cellar", "").len(), 1);
    }
}
