//! `docs/laws.md`: each law, where it is kept and where it is tested.

use std::fmt::Write as _;

use anyhow::Result;

use super::Generated;
use crate::laws::{Citation, Kind, LAWS, citations};
use crate::repo::Repo;

pub fn generate(repo: &Repo) -> Result<Generated> {
    let citations = citations(repo)?;
    let mut page = String::from(
        "\n# The laws\n\nEach law of the protocol, the places in the core that keep it and the tests that hold it to that. \
         A place cites its law as a word of its own, such as `L10`, and is listed here by file and item.\n",
    );
    for law in LAWS {
        let of_kind = |kind| {
            citations
                .iter()
                .filter(move |citation| citation.law == law.number && citation.kind == kind)
        };
        if !law.required && of_kind(Kind::Core).chain(of_kind(Kind::Test)).next().is_none() {
            continue;
        }
        let _ = write!(page, "\n## L{}\n\n{}\n\n", law.number, law.says);
        let _ = writeln!(
            page,
            "Kept in: {}\n\nTested in: {}",
            places(of_kind(Kind::Core)),
            places(of_kind(Kind::Test))
        );
    }
    Ok(Generated::new(
        "docs/laws.md",
        ("<!-- ", " -->"),
        "the citations in core/src and the tests",
        &page,
    ))
}

/// `file` (`item`, `item`), `file` …, in the order of the citations.
fn places<'a>(citations: impl Iterator<Item = &'a Citation>) -> String {
    let mut files: Vec<(&str, Vec<&str>)> = Vec::new();
    for citation in citations {
        match files.last_mut() {
            Some((file, items)) if *file == citation.file => items.push(&citation.item),
            _ => files.push((&citation.file, vec![&citation.item])),
        }
    }
    if files.is_empty() {
        return "nowhere yet".to_owned();
    }
    let listed = files.into_iter().map(|(file, items)| {
        let items: Vec<_> = items
            .into_iter()
            .filter(|item| !item.is_empty())
            .map(|item| format!("`{item}`"))
            .collect();
        let link = format!("[{file}](../{file})");
        if items.is_empty() { link } else { format!("{link} ({})", items.join(", ")) }
    });
    listed.collect::<Vec<_>>().join(" · ")
}
