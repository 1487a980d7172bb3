//! A credit under another name, in the languages whose text is only read word by word: what is assigned
//! a credit, or answers with one, is one for the rest of its function; a field, a property and a function
//! are for all files of their package.

use std::collections::HashSet;

use super::lexer::{Language, Token};
use super::{after, before, closing, means_credit};

/// What means a credit at each place of a file.
pub struct Credits {
    /// The function that each token lies in.
    scopes: Vec<usize>,
    /// Names within each function.
    locals: Vec<HashSet<String>>,
    /// Fields and functions.
    shared: HashSet<String>,
    language: Language,
}

/// Calls that change the type of a number and nothing else.
const CONVERSIONS: &[&str] = &[
    "int",
    "float",
    "abs",
    "uint",
    "uint32",
    "uint64",
    "int64",
    "int32",
    "uint64_t",
    "size_t",
    "ulonglong",
    "Int",
    "Int64",
    "UInt",
    "UInt64",
    "UInt32",
    "Double",
    "numericCast",
    "clamping",
    "exactly",
    "c_uint64",
    "static_cast",
];

/// Calls that answer with a grant, though their names do not say so. A flush does so of a window alone.
const GRANTING: &[&str] = &["consumed", "continued", "flush"];

impl Credits {
    /// What means a credit in a file; `known` are the fields and functions of its package that do.
    pub fn of(tokens: &[Token], text: &str, language: Language, known: &HashSet<String>) -> Self {
        let scopes = scopes(tokens, text, language);
        let count = scopes.last().map_or(0, |last| last + 1);
        let mut credits = Credits {
            scopes,
            locals: vec![HashSet::new(); count],
            shared: known.clone(),
            language,
        };
        let size = |credits: &Credits| {
            credits.shared.len() + credits.locals.iter().map(HashSet::len).sum::<usize>()
        };
        if language == Language::Rust {
            return credits; // followed otherwise
        }
        loop {
            let before = size(&credits);
            credits.learn(tokens, language);
            if size(&credits) == before {
                return credits;
            }
        }
    }

    /// Fields and functions that mean a credit, those that were known before among them.
    pub fn into_shared(self) -> HashSet<String> {
        self.shared
    }

    /// Does `name`, as it stands at token `at` or beside it, mean a credit?
    pub fn is(&self, name: &str, at: usize) -> bool {
        let exported = self.language == Language::Go && means_credit(&uncapitalised(name));
        exported
            || means_credit(name)
            || self.shared.contains(name)
            || self.locals[self.scopes[at]].contains(name)
    }

    fn learn(&mut self, tokens: &[Token], language: Language) {
        for at in 0..tokens.len() {
            match tokens[at].text.as_str() {
                "=" | ":=" => self.assigned(tokens, at, language),
                "return" => {
                    if self.parts(tokens, at + 1).first() == Some(&true)
                        && let Some(name) = function_around(tokens, &self.scopes, at)
                    {
                        self.shared.insert(name);
                    }
                }
                _ => {}
            }
        }
    }

    fn assigned(&mut self, tokens: &[Token], at: usize, language: Language) {
        let credits = self.parts(tokens, at + 1);
        if !credits.contains(&true) {
            return;
        }
        let targets = targets(tokens, at);
        for (place, target) in targets.iter().enumerate() {
            let hot = if credits.len() == targets.len() {
                credits[place]
            } else {
                place == 0 && credits[0]
            };
            if !hot {
                continue;
            }
            let Some(name) = before(tokens, *target) else { continue };
            let word = |back: usize| {
                target.checked_sub(back).and_then(|at| tokens.get(at)).map(|t| t.text.as_str())
            };
            let declared = matches!(word(2), Some("let" | "var"));
            if matches!(word(2), Some("." | "->")) || (language == Language::Swift && !declared) {
                self.shared.insert(name);
            } else {
                self.locals[self.scopes[at]].insert(name);
            }
        }
    }

    /// Of each value of the row that begins at `start`, whether it is a credit.
    fn parts(&self, tokens: &[Token], start: usize) -> Vec<bool> {
        let mut parts = vec![false];
        let (mut at, mut begins) = (start, true);
        let line = tokens.get(start.wrapping_sub(1)).map_or(0, |token| token.line);
        while let Some(token) = tokens.get(at).filter(|token| token.line == line || at == start) {
            match token.text.as_str() {
                ";" | "{" | "}" | ")" | "]" => break,
                "," => {
                    parts.push(false);
                    begins = true;
                }
                "else" | "or" | "and" | "??" | "?" | ":" | "await" | "try" => begins = true,
                "(" | "[" if !begins => at = closing(tokens, at).unwrap_or(at),
                _ => {
                    if begins && self.begins(tokens, at) {
                        *parts.last_mut().expect("begun with one") = true;
                    }
                    begins = false;
                }
            }
            at += 1;
        }
        parts
    }

    /// Does a value that is a credit begin at `at`?
    fn begins(&self, tokens: &[Token], at: usize) -> bool {
        let Some(token) = tokens.get(at) else { return false };
        if self.language == Language::C
            && token.text == "("
            && let Some(close) = closing(tokens, at)
            && tokens.get(close + 1).is_some_and(Token::is_word)
        {
            return self.begins(tokens, close + 1); // `(type) value`
        }
        let open = (at + 1..at + 4).find(|at| tokens.get(*at).is_some_and(|t| t.text == "("));
        if let Some(open) = open
            && CONVERSIONS.contains(&tokens[open - 1].text.as_str())
        {
            return self.begins(tokens, open + 1);
        }
        if token.text == "clamping" || token.text == "exactly" {
            return self.begins(tokens, at + 2); // its label
        }
        grants(tokens, at) || after(tokens, at).is_some_and(|name| self.is(&name, at))
    }
}

/// Is the value that begins at `at` what a window answers to one of [`GRANTING`]?
fn grants(tokens: &[Token], at: usize) -> bool {
    let named = |at: usize| tokens.get(at).filter(|token| token.is_word());
    let mut at = at;
    let mut of = String::new();
    while let Some(token) = named(at) {
        let name = uncapitalised(&token.text);
        let called = tokens.get(at + 1).is_some_and(|next| next.text == "(");
        if called && GRANTING.contains(&name.as_str()) {
            return name != "flush" || means_window(&of);
        }
        if name != "core" && name != "_core" {
            of = name;
        }
        let link =
            |at: usize| tokens.get(at).is_some_and(|t| [".", "->"].contains(&t.text.as_str()));
        if called || !link(at + 1) {
            return false;
        }
        at += 2;
    }
    false
}

/// `window`, `_window`, `owner_window`, and a method's `w` in Go.
fn means_window(name: &str) -> bool {
    name == "w" || name.to_ascii_lowercase().ends_with("window")
}

/// `Remaining` is a method of Go as well as a type elsewhere.
fn uncapitalised(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

/// Where each target of the assignment at `at` ends.
fn targets(tokens: &[Token], at: usize) -> Vec<usize> {
    let line = tokens[at].line;
    let mut start = at;
    while start > 0 && tokens[start - 1].line == line && !ends(&tokens[start - 1]) {
        start -= 1;
    }
    if tokens[start].text == "var" && tokens.get(start + 2).is_some_and(Token::is_word) {
        return vec![start + 2]; // `var name Type =`
    }
    let mut targets = Vec::new();
    let mut typed = None; // `name: Type =`
    for (place, token) in tokens.iter().enumerate().take(at).skip(start) {
        match token.text.as_str() {
            "," => targets.push(typed.take().unwrap_or(place)),
            ":" => typed = Some(place),
            _ => {}
        }
    }
    targets.push(typed.unwrap_or(at));
    targets
}

fn ends(token: &Token) -> bool {
    ["{", ";", "}", "if", "for", "while", "guard", "switch", "("].contains(&token.text.as_str())
}

/// The function of each token: a new one begins where a line that declares one stands no deeper than the
/// last did.
fn scopes(tokens: &[Token], text: &str, language: Language) -> Vec<usize> {
    let lines: Vec<&str> = text.lines().collect();
    let declares = |line: &str| {
        let words: Vec<&str> = line.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        match language {
            Language::Go => line.starts_with("func "),
            Language::Python => words.contains(&"def"),
            Language::Swift => {
                ["func", "init", "deinit", "subscript"].iter().any(|w| words.contains(w))
            }
            Language::C => line.starts_with(|c: char| c.is_alphabetic()) && line.contains('('),
            Language::Rust => words.contains(&"fn"),
        }
    };
    let (mut scope, mut depth, mut seen) = (0, usize::MAX, 0);
    let scope_of = |token: &Token| {
        if token.line != seen {
            seen = token.line;
            let line = lines.get(token.line - 1).copied().unwrap_or_default();
            let indent = line.len() - line.trim_start().len();
            if declares(line) && indent <= depth {
                scope += 1;
                depth = indent;
            } else if indent < depth && language != Language::C && !line.trim().is_empty() {
                depth = usize::MAX;
            }
        }
        scope
    };
    tokens.iter().map(scope_of).collect()
}

/// The name of the function that token `at` lies in.
fn function_around(tokens: &[Token], scopes: &[usize], at: usize) -> Option<String> {
    let start = scopes.partition_point(|scope| *scope < scopes[at]);
    let declared = (start..at).find(|at| ["func", "def"].contains(&tokens[*at].text.as_str()))?;
    // Go names whose it is first.
    let named = if tokens.get(declared + 1)?.text == "(" {
        closing(tokens, declared + 1)? + 1
    } else {
        declared + 1
    };
    tokens.get(named).filter(|token| token.is_word()).map(|token| token.text.clone())
}

#[cfg(test)]
mod tests {
    use super::super::{broken, known};
    use super::*;

    fn lines(text: &str, language: Language) -> Vec<usize> {
        lines_beside(text, &[], language)
    }

    /// The lines of what is found in `text`, beside other files of its package.
    fn lines_beside(text: &str, others: &[&str], language: Language) -> Vec<usize> {
        let files: Vec<_> = others.iter().chain([&text]).map(|text| (*text, language)).collect();
        let found = broken(text, language, &known(&files)).expect("lexes");
        found.into_iter().map(|(line, _)| line).collect()
    }

    #[test]
    fn a_field_and_an_answer_of_another_file_are_found() {
        for (other, planted, language) in [
            (
                "func (s *S) set() {\n\ts.left = g.credit\n}",
                "func (s *S) get() {\n\ts.left--\n}",
                Language::Go,
            ),
            (
                "func (s *S) Left() uint64 {\n\treturn s.gate.Available()\n}",
                "func f() {\n\tif x.Left() < n {\n\t}\n}",
                Language::Go,
            ),
            (
                "class S:\n    def left(self):\n        return self._core.pending()\n",
                "def f(s):\n    return s.left() - 1\n",
                Language::Python,
            ),
            (
                "class S:\n    def __init__(self):\n        self.left = window.remaining\n",
                "def f(s):\n    s.left += 1\n",
                Language::Python,
            ),
            (
                "struct S {\n  func left() -> UInt64 {\n    return gate.available\n  }\n}",
                "func f(s: S) {\n  if s.left() > 2 { }\n}",
                Language::Swift,
            ),
            (
                "void f(s *t) {\n  t->left = g->available;\n}",
                "int h(s *t) {\n  return t->left - 1;\n}",
                Language::C,
            ),
        ] {
            assert_eq!(lines_beside(planted, &[other], language), [2], "{planted}");
            assert_eq!(lines_beside(planted, &[], language), [0; 0], "alone: {planted}");
        }
    }

    #[test]
    fn what_a_window_grants_is_found_though_no_name_says_so() {
        for (planted, language) in [
            ("func f() {\n\tn := w.Consumed()\n\tn++\n}", Language::Go),
            ("func f() {\n\tn := s.window.Flush()\n\tif n > 2 {\n\t}\n}", Language::Go),
            ("def f(self):\n    n = self._window.flush()\n    n += 1\n", Language::Python),
            ("def f(self):\n    n = self._core.continued()\n    n -= 1\n", Language::Python),
            ("func f() {\n  let n = try window.consumed()\n  if n > 1 { }\n}", Language::Swift),
        ] {
            assert_eq!(lines(planted, language), [3], "{planted}");
        }
        for (innocent, language) in [
            ("func f() {\n\tn := out.Flush()\n\tn++\n}", Language::Go),
            ("def f(self):\n    n = stream.flush()\n    n += 1\n", Language::Python),
        ] {
            assert!(lines(innocent, language).is_empty(), "{innocent}");
        }
    }

    #[test]
    fn a_copy_under_another_name_is_found() {
        for (planted, language) in [
            ("func f() {\n\tleft := g.available\n\tif left < n {\n\t}\n}", Language::Go),
            ("func f() {\n\tvar left uint64 = uint64(g.credit)\n\tleft--\n}", Language::Go),
            ("func f() {\n\tleft, err := w.Remaining()\n\tx := min(left, n)\n}", Language::Go),
            ("func f() {\n\ta, left := 1, w.remaining\n\tb := left - a\n}", Language::Go),
            ("func f() {\n\ts.left = g.credit\n\ts.left -= 1\n}", Language::Go),
            (
                "def f(self):\n    left = self._gate.available()\n    if left > 0: pass\n",
                Language::Python,
            ),
            ("def f(self):\n    left: int = int(self.credit)\n    left -= 1\n", Language::Python),
            (
                "def f(self):\n    left = other or self.credit\n    return left - 1\n",
                Language::Python,
            ),
            (
                "func f() {\n  let left = try gate.available()\n  if left == 0 { }\n}",
                Language::Swift,
            ),
            ("func f() {\n  var left: UInt64 = UInt64(credit)\n  left -= 1\n}", Language::Swift),
            (
                "void f(void) {\n  uint64_t left = gate->available;\n  if (left < n) g();\n}",
                Language::C,
            ),
            ("int f(S *s) {\n  s->left = (int)s->window;\n  return s->left - 1;\n}", Language::C),
        ] {
            assert_eq!(lines(planted, language), [3], "{planted}");
        }
    }

    #[test]
    fn a_copy_of_a_copy_a_field_and_an_answer_are_found() {
        for (planted, language) in [
            ("func f() {\n\ta := g.credit\n\tb := a\n\tc := b\n\tc++\n}", Language::Go),
            (
                "func (s *S) set() {\n\ts.left = g.credit\n}\nfunc (s *S) get() {\n\ts.left--\n}",
                Language::Go,
            ),
            (
                "func (g *G) left() int {\n\treturn g.credit\n}\nfunc f() {\n\tif x.left() > 2 {\n\t}\n}",
                Language::Go,
            ),
            (
                "def a(self):\n    self.left = self.credit\n\ndef b(self):\n    self.left += 1\n",
                Language::Python,
            ),
            (
                "def left(self):\n    return self.credit\n\ndef b(self):\n    x = self.left() - 1\n",
                Language::Python,
            ),
            ("init() {\n  left = credit\n}\nfunc f() {\n  left -= 1\n}", Language::Swift),
        ] {
            assert_eq!(lines(planted, language), [5], "{planted}");
        }
    }

    #[test]
    fn what_is_no_copy_is_left_alone() {
        for (innocent, language) in [
            ("func f() {\n\tleft := g.credit\n}\nfunc h(left int) {\n\tleft--\n}", Language::Go),
            ("func f() {\n\tleft := count(g.credit)\n\tleft--\n}", Language::Go),
            ("func f() {\n\tx, err := g.Window()\n\tif err != nil {\n\t}\n}", Language::Go),
            ("def f(self):\n    n = len(self.pending)\n    n += 1\n", Language::Python),
            ("def f(self):\n    n = show(window=3)\n    n += 1\n", Language::Python),
            ("func f() {\n  let n = pending.count\n  if n > 1 { }\n}", Language::Swift),
            ("void f(void) {\n  size_t n = strlen(window);\n  n++;\n}", Language::C),
        ] {
            assert!(lines(innocent, language).is_empty(), "{innocent}");
        }
    }
}
