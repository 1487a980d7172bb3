//! The laws of the protocol, and the places that cite them as `L10`.
//!
//! A place is a file and the function or type around it: a line number would go stale with every edit.

use std::collections::BTreeSet;
use std::fs;

use anyhow::Result;

use crate::repo::Repo;
use crate::source::Source;
use crate::tracked;

/// One law.
pub struct Law {
    pub number: u32,
    pub says: &'static str,
    /// The laws of flow control must be cited; the others belong to the protocol around it.
    pub required: bool,
}

const fn flow(number: u32, says: &'static str) -> Law {
    Law { number, says, required: true }
}

const fn protocol(number: u32, says: &'static str) -> Law {
    Law { number, says, required: false }
}

pub const LAWS: &[Law] = &[
    protocol(1, "Both ends speak the same version."),
    protocol(3, "The final progress rides in the terminal."),
    protocol(4, "Nothing follows a terminal."),
    protocol(5, "The final progress rides in the terminal."),
    protocol(
        6,
        "An unroutable frame is counted, no error; a terminal is forwarded before its state goes.",
    ),
    protocol(7, "One registration, one termination."),
    protocol(8, "Every loss is counted."),
    flow(
        9,
        "The unit of credit is one CHUNK; a sender starts with the negotiated window and waits at zero.",
    ),
    flow(
        10,
        "A receiver grants after it has consumed, in batches, and flushes what is pending before any wait; granted credit is room in its queue.",
    ),
    flow(
        11,
        "Credit is end to end: who stands between forwards grants and neither makes nor keeps any.",
    ),
    flow(12, "A CHUNK beyond the window is a fatal error of its request."),
    flow(13, "The end of a request releases everyone who waits for its credit, with an error."),
    flow(
        14,
        "Credit applies in both directions, and to CHUNKs alone: progress and errors always flow.",
    ),
    flow(15, "Who sends and receives on one request serves both at the same time."),
    flow(
        16,
        "A stream may be declared unbounded: it is never collected whole, and ends by STREAM_END, by the terminal of its request or by a cancel.",
    ),
    protocol(17, "A cancel works in the middle of a stream."),
];

/// Where a law is kept, where it is tested, or where a language other than the core's shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Core,
    Test,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Citation {
    pub law: u32,
    pub kind: Kind,
    pub file: String,
    /// The function or type, or nothing for the file as a whole.
    pub item: String,
}

/// Every citation in the core and in tests of any language, in order, each once.
pub fn citations(repo: &Repo) -> Result<BTreeSet<Citation>> {
    let mut all = BTreeSet::new();
    for file in tracked::files(repo)? {
        let core = file.starts_with("core/src/");
        let test = is_test_file(&file);
        if !core && !test {
            continue;
        }
        let Ok(text) = fs::read_to_string(repo.path(&file)) else { continue }; // not text, so no citation
        let source = if core { Some(Source::parse(&text)?) } else { None };
        for (line, law, item) in cited(&text) {
            let kind = if test || source.as_ref().is_some_and(|source| source.is_test(line)) {
                Kind::Test
            } else {
                Kind::Core
            };
            all.insert(Citation { law, kind, file: file.clone(), item });
        }
    }
    Ok(all)
}

fn is_test_file(file: &str) -> bool {
    let code = [".rs", ".py", ".go", ".swift", ".c", ".cpp", ".json"]
        .iter()
        .any(|ending| file.ends_with(ending));
    let folder =
        ["tests/", "core/tests/", "ffi/tests/", "cli/tests/", "python/tests/", "swift/Tests/"];
    code && (folder.iter().any(|folder| file.starts_with(folder)) || file.ends_with("_test.go"))
}

/// (line, law, item) of each citation in a text.
fn cited(text: &str) -> Vec<(usize, u32, String)> {
    let lines: Vec<_> = text.lines().collect();
    let mut found = Vec::new();
    let mut around = String::new();
    for (at, line) in lines.iter().enumerate() {
        if let Some(name) = item_named(line) {
            around = name;
        }
        for law in numbers(line) {
            let code = line.trim_start();
            let item = if code.starts_with("//!") {
                String::new()
            } else if code.starts_with("///") || code.starts_with("#[") {
                lines[at..].iter().find_map(|line| item_named(line)).unwrap_or_default()
            } else {
                around.clone()
            };
            found.push((at + 1, law, item));
        }
    }
    found
}

/// 10 and 12 in `(L10, L12)`; nothing in `HTML5`, `L1x`, or the hazard `HZ-L02`.
fn numbers(line: &str) -> Vec<u32> {
    let word = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    let law =
        |word: &str| word.strip_prefix('L').filter(|digits| !digits.starts_with('0'))?.parse().ok();
    line.split(|c: char| !word(c)).filter_map(law).collect()
}

/// The name that a line declares, in any of our languages.
fn item_named(line: &str) -> Option<String> {
    const DECLARE: &[&str] = &[
        "fn", "func", "def", "struct", "class", "enum", "trait", "protocol", "actor", "type",
        "const", "static",
    ];
    let code = line.trim_start();
    if code.starts_with("//") || code.starts_with('#') || code.starts_with('*') {
        return None;
    }
    let mut words = code.split_whitespace();
    let mut before = words.by_ref().take_while(|word| !DECLARE.contains(word));
    let modifier = |c: char| c.is_ascii_alphanumeric() || "_()@:".contains(c);
    if !before.all(|word| word.chars().all(modifier)) {
        return None;
    }
    // `const fn` and `static func` declare once.
    let mut name = words.find(|word| !DECLARE.contains(word))?;
    if name.starts_with('(') {
        // Go's methods name their receiver first.
        words.by_ref().find(|word| word.ends_with(')'))?;
        name = words.next()?;
    }
    let name: String = name.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_citation_knows_the_item_it_stands_at() {
        let text = "//! Law L9.\n/// Takes one (L9, L13).\npub fn acquire(&self) {\n    // L10: flush before any wait\n}\n";
        let found = cited(text);
        assert_eq!(
            found,
            [
                (1, 9, String::new()),
                (2, 9, "acquire".to_owned()),
                (2, 13, "acquire".to_owned()),
                (4, 10, "acquire".to_owned())
            ]
        );
    }

    #[test]
    fn items_of_every_language_are_named() {
        for (line, name) in [
            ("    pub(crate) async fn wait<T>(&self) {", "wait"),
            ("func (g *Gate) Acquire(ctx context.Context) error {", "Acquire"),
            ("func TestGate(t *testing.T) {", "TestGate"),
            ("    async def recv(self) -> Chunk:", "recv"),
            ("  public mutating func next() async throws -> Chunk? {", "next"),
            ("class TestGate:", "TestGate"),
            ("    pub const fn acquire(self, n: u64) -> Gate {", "acquire"),
        ] {
            assert_eq!(item_named(line).as_deref(), Some(name), "{line}");
        }
        assert_eq!(item_named("    // the type of it"), None);
        assert_eq!(item_named("    let x = y;"), None);
    }

    #[test]
    fn only_whole_words_cite() {
        assert_eq!(numbers("(L10, L12) HTML5 L1x XL9 L HZ-L11 L02"), [10, 12]);
    }
}
