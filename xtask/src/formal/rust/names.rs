//! Names of the model as names of Rust.

use super::ir::Place;

/// Words that Rust keeps for itself.
const KEYWORDS: &[&str] = &[
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate",
    "do", "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl",
    "in", "let", "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref",
    "return", "self", "static", "struct", "super", "trait", "true", "try", "type", "typeof",
    "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];

/// An error text for a name that Rust cannot have.
pub fn refuse_keyword(name: &str) -> Result<(), String> {
    if KEYWORDS.contains(&name) {
        Err("is a word that Rust keeps for itself".to_owned())
    } else {
        Ok(())
    }
}

/// `w'` is the `w` that comes next.
pub fn rust_name(name: &str) -> String {
    name.replace('\'', "_next")
}

/// `acquire_answer` → `AcquireAnswer`
pub fn camel(name: &str) -> String {
    let word = |word: &str| {
        let mut chars = word.chars();
        chars
            .next()
            .map(|first| first.to_ascii_uppercase().to_string() + chars.as_str())
            .unwrap_or_default()
    };
    name.split('_').map(word).collect()
}

/// `Gate` → `gate`, `CreditLedger` → `credit_ledger`
pub fn snake(name: &str) -> String {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

/// A type's name, with its file's where that is another.
pub fn named(place: &Place, own: &str) -> String {
    let name = camel(&place.name);
    if place.module == own { name } else { format!("{}::{name}", snake(&place.module)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_written_as_rust_writes_them() {
        assert_eq!(camel("acquire_answer"), "AcquireAnswer");
        assert_eq!(snake("CreditLedger"), "credit_ledger");
        assert_eq!(rust_name("w'"), "w_next");
        assert!(refuse_keyword("match").is_err() && refuse_keyword("matches").is_ok());
    }
}
