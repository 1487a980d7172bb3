//! Rust source as a flat row of tokens: no comments, and each token knows whether it is test code.

use std::ops::RangeInclusive;
use std::str::FromStr;

use anyhow::{Result, anyhow};
use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};

/// One word or sign.
#[derive(Debug, PartialEq, Eq)]
pub struct Token {
    pub text: String,
    pub line: usize,
    pub test: bool,
}

/// A source file, taken apart.
pub struct Source {
    pub tokens: Vec<Token>,
    /// The lines of each test item, from its attribute to its closing brace.
    tests: Vec<RangeInclusive<usize>>,
}

impl Source {
    pub fn parse(text: &str) -> Result<Self> {
        let stream = TokenStream::from_str(text)
            .map_err(|error| anyhow!("not Rust, line {}: {error}", error.span().start().line))?;
        let mut source = Source { tokens: Vec::new(), tests: Vec::new() };
        source.walk(stream, false);
        Ok(source)
    }

    /// True for a line of test code.
    pub fn is_test(&self, line: usize) -> bool {
        self.tests.iter().any(|lines| lines.contains(&line))
    }

    fn walk(&mut self, stream: TokenStream, in_test: bool) {
        let mut test_item: Option<usize> = None; // the line its attribute begins in
        let trees: Vec<_> = stream.into_iter().collect();
        for (at, tree) in trees.iter().enumerate() {
            if let (TokenTree::Punct(sign), Some(TokenTree::Group(group))) =
                (tree, trees.get(at + 1))
                && sign.as_char() == '#'
                && group.delimiter() == Delimiter::Bracket
                && marks_test(&group.stream().to_string())
            {
                test_item.get_or_insert(line(sign.span()));
            }
            let test = in_test || test_item.is_some();
            match tree {
                TokenTree::Group(group) => {
                    let (open, close) = match group.delimiter() {
                        Delimiter::Parenthesis => ("(", ")"),
                        Delimiter::Brace => ("{", "}"),
                        Delimiter::Bracket => ("[", "]"),
                        Delimiter::None => ("", ""),
                    };
                    self.push(open, group.span_open(), test);
                    self.walk(group.stream(), test);
                    self.push(close, group.span_close(), test);
                    if group.delimiter() == Delimiter::Brace {
                        self.end_test_item(&mut test_item, group.span_close());
                    }
                }
                TokenTree::Punct(sign) => {
                    self.push(&sign.as_char().to_string(), sign.span(), test);
                    if sign.as_char() == ';' {
                        self.end_test_item(&mut test_item, sign.span());
                    }
                }
                TokenTree::Ident(word) => self.push(&word.to_string(), word.span(), test),
                TokenTree::Literal(literal) => self.push("\"\"", literal.span(), test),
            }
        }
    }

    fn push(&mut self, text: &str, span: Span, test: bool) {
        self.tokens.push(Token { text: text.to_owned(), line: line(span), test });
    }

    fn end_test_item(&mut self, item: &mut Option<usize>, end: Span) {
        if let Some(start) = item.take() {
            self.tests.push(start..=end.end().line);
        }
    }
}

fn line(span: Span) -> usize {
    span.start().line
}

/// `test`, `cfg(test)`, `cfg(all(test, …))`; not `cfg(not(test))`.
pub fn marks_test(attribute: &str) -> bool {
    let words: String = attribute.split_whitespace().collect();
    words == "test"
        || (words.starts_with("cfg(")
            && !words.contains("not(test")
            && words.split(['(', ')', ',']).any(|word| word == "test"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_vanish_and_tests_are_marked() {
        let source = Source::parse(
            "// sleep\nfn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\nfn c() {}\n",
        )
        .expect("Rust");
        let words = |test: bool| {
            let chosen = source
                .tokens
                .iter()
                .filter(move |token| token.test == test && token.text.len() == 1);
            chosen
                .map(|token| token.text.as_str())
                .filter(|text| text.chars().all(char::is_alphabetic))
                .collect::<String>()
        };
        assert_eq!((words(false), words(true)), ("ac".to_owned(), "b".to_owned()));
        assert!(!source.is_test(2) && source.is_test(3) && source.is_test(6) && !source.is_test(7));
    }

    #[test]
    fn what_is_left_out_of_tests_is_no_test() {
        assert!(
            marks_test("cfg (all (test , unix))")
                && !marks_test("cfg (not (test))")
                && !marks_test("cfg (feature = \"x\")")
        );
    }
}
