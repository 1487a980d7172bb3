//! One look at one file.

use quote::ToTokens;
use syn::spanned::Spanned;
use syn::{Attribute, Item};

use super::heat::Heat;
use super::shape::{Aliases, Shapes};
use crate::source::marks_test;

/// Arithmetic on a credit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub file: usize,
    pub line: usize,
    /// The expression, with one space between words.
    pub what: String,
}

/// A file of the library.
pub struct Parsed {
    pub items: Vec<Item>,
    pub aliases: Aliases,
    /// Counting is its purpose: it is a source, and nothing is looked for in it.
    pub counts: bool,
    /// Its numbers are credits. So is what its functions answer.
    pub source: bool,
    /// As a source: what its functions answer is a credit if they are given one.
    pub hands_on: bool,
}

impl Parsed {
    pub fn new(file: &str, text: &str, counts: bool, source: bool) -> syn::Result<Self> {
        let items = syn::parse_file(text)?.items;
        Ok(Parsed { aliases: Aliases::of(file, &items), items, counts, source, hands_on: false })
    }
}

/// One file, once.
pub struct Pass<'a> {
    pub file: usize,
    pub parsed: &'a Parsed,
    pub shapes: &'a Shapes,
    pub heat: &'a mut Heat,
    pub found: Vec<Found>,
    /// Items that stand within functions, to be looked at too.
    pub within: Vec<Item>,
}

impl Pass<'_> {
    pub fn aliases(&self) -> &Aliases {
        &self.parsed.aliases
    }

    pub fn found(&mut self, what: &(impl ToTokens + Spanned)) {
        let line = what.span().start().line;
        self.found.push(Found { file: self.file, line, what: words(what) });
    }
}

pub fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| marks_test(&attribute.meta.to_token_stream().to_string()))
}

/// The text of what is written, each word once apart.
fn words(what: &impl ToTokens) -> String {
    let text = what.to_token_stream().to_string();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
