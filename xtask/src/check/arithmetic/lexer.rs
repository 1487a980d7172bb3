//! Words and signs of the languages that we write, without comments and texts.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    Rust,
    Go,
    Python,
    Swift,
    /// And C++.
    C,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    pub text: String,
    pub line: usize,
    /// Nothing stands between the token before and this one.
    pub glued: bool,
}

impl Token {
    /// True for a name; numbers and texts are none.
    pub fn is_word(&self) -> bool {
        self.text.starts_with(|c: char| c.is_alphabetic() || c == '_')
    }
}

/// The signs of more than one letter, the longest first.
const SIGNS: &[&str] = &[
    "<<=", ">>=", "...", "..<", "..=", "&&=", "===", "!==", "**=", "//=", "&+=", "&-=", "->", "=>",
    "<-", "::", ":=", "==", "!=", "<=", ">=", "&&", "||", "+=", "-=", "*=", "/=", "%=", "|=", "&=",
    "^=", "++", "--", "..", "&+", "&-", "&*", "??", "**", "//",
];

/// Takes a text apart.
pub fn lex(text: &str, language: Language) -> Vec<Token> {
    let mut tokens = Vec::new();
    let (mut rest, mut line, mut glued) = (text, 1, false);
    while let Some(first) = rest.chars().next() {
        let taken = if let Some(length) = comment(rest, language) {
            length
        } else if let Some(length) = quoted(rest, language) {
            tokens.push(Token { text: "\"\"".to_owned(), line, glued });
            length
        } else if first.is_alphanumeric() || first == '_' {
            let length =
                rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            tokens.push(Token { text: rest[..length].to_owned(), line, glued });
            length
        } else if first.is_whitespace() {
            first.len_utf8()
        } else {
            let length = SIGNS
                .iter()
                .find(|sign| rest.starts_with(**sign))
                .map_or(first.len_utf8(), |sign| sign.len());
            tokens.push(Token { text: rest[..length].to_owned(), line, glued });
            length
        };
        glued = !first.is_whitespace();
        line += rest[..taken].matches('\n').count();
        rest = &rest[taken..];
    }
    tokens
}

fn comment(rest: &str, language: Language) -> Option<usize> {
    let to_line_end = || rest.find('\n').unwrap_or(rest.len());
    if language == Language::Python {
        return rest.starts_with('#').then(to_line_end);
    }
    if rest.starts_with("//") {
        return Some(to_line_end());
    }
    rest.starts_with("/*").then(|| rest.find("*/").map_or(rest.len(), |end| end + 2))
}

/// The length of the text that begins here, if one does.
fn quoted(rest: &str, language: Language) -> Option<usize> {
    match language {
        Language::Rust => {
            let mark = rest.trim_start_matches(['b', 'c']);
            let prefix = rest.len() - mark.len();
            if let Some(raw) = mark.strip_prefix('r') {
                let hashes = raw.len() - raw.trim_start_matches('#').len();
                if raw[hashes..].starts_with('"') {
                    let close = format!("\"{}", "#".repeat(hashes));
                    let inside = prefix + 1 + hashes + 1;
                    return Some(
                        rest[inside..]
                            .find(&close)
                            .map_or(rest.len(), |end| inside + end + close.len()),
                    );
                }
            }
            if prefix <= 1 && mark.starts_with('"') {
                return Some(prefix + until(mark, "\""));
            }
            // 'a' and '\n' are letters, 'a alone is a lifetime.
            let letter = rest.strip_prefix('\'')?;
            let mut letters = letter.char_indices();
            let (_, first) = letters.next()?;
            let closed = letters.next().is_some_and(|(_, second)| second == '\'');
            Some(if first == '\\' || closed {
                until(rest, "'")
            } else {
                1 + letter.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(letter.len())
            })
        }
        Language::C | Language::Go => match rest.chars().next()? {
            '`' if language == Language::Go => {
                Some(rest[1..].find('`').map_or(rest.len(), |end| end + 2))
            }
            '"' => Some(until(rest, "\"")),
            '\'' => Some(until(rest, "'")),
            _ => None,
        },
        Language::Python => {
            let mark = rest.trim_start_matches(['r', 'b', 'f', 'u', 'R', 'B', 'F']);
            let prefix = rest.len() - mark.len();
            let close =
                ["\"\"\"", "'''", "\"", "'"].into_iter().find(|close| mark.starts_with(close));
            close.filter(|_| prefix <= 2).map(|close| prefix + until(mark, close))
        }
        Language::Swift => {
            let close = ["\"\"\"", "\""].into_iter().find(|close| rest.starts_with(close));
            close.map(|close| until(rest, close))
        }
    }
}

/// The length of a text that opens and closes with `mark`, past every `\`.
fn until(rest: &str, mark: &str) -> usize {
    let mut at = mark.len();
    while at < rest.len() {
        if rest[at..].starts_with(mark) {
            return at + mark.len();
        }
        let escaped = rest[at..].starts_with('\\');
        at +=
            rest[at..].chars().take(if escaped { 2 } else { 1 }).map(char::len_utf8).sum::<usize>();
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str, language: Language) -> Vec<String> {
        lex(text, language).into_iter().filter(Token::is_word).map(|token| token.text).collect()
    }

    #[test]
    fn comments_and_texts_are_no_words() {
        assert_eq!(
            words("a /* b */ c // d\n\"e \\\" f\" 'g' h<'i>()", Language::Rust),
            ["a", "c", "h"]
        );
        assert_eq!(words("a # b\n'''c\nd''' f\"e\" g", Language::Python), ["a", "g"]);
        assert_eq!(words("a `b` \"c\" 'd' e // f", Language::Go), ["a", "e"]);
        assert_eq!(words("a \"\"\"\nb\n\"\"\" c", Language::Swift), ["a", "c"]);
    }

    #[test]
    fn signs_are_whole_and_lines_are_counted() {
        let tokens = lex("a -> b\n<= \"\n\" c", Language::Rust);
        let texts: Vec<_> = tokens.iter().map(|token| token.text.as_str()).collect();
        assert_eq!(texts, ["a", "->", "b", "<=", "\"\"", "c"]);
        assert_eq!(tokens[5].line, 3);
    }
}
