//! Coq's text as words, signs and doc comments.

/// A piece of the text, with its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    /// A name, also a qualified one, or a number.
    Word {
        text: String,
        line: usize,
    },
    Sign {
        text: String,
        line: usize,
    },
    /// What a doc comment says, its lines joined, its paragraphs apart.
    Doc {
        text: String,
        line: usize,
    },
    /// The dot that ends a sentence.
    End {
        line: usize,
    },
}

impl Token {
    /// The word or sign, and nothing for the rest.
    pub fn text(&self) -> &str {
        match self {
            Token::Word { text, .. } | Token::Sign { text, .. } => text,
            Token::Doc { .. } | Token::End { .. } => "",
        }
    }

    pub fn line(&self) -> usize {
        match self {
            Token::Word { line, .. }
            | Token::Sign { line, .. }
            | Token::Doc { line, .. }
            | Token::End { line } => *line,
        }
    }
}

/// Takes a text apart. Comments vanish, unless they are doc comments.
pub fn lex(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = text;
    let mut line = 1;
    while let Some(first) = rest.chars().next() {
        let taken = if rest.starts_with("(*") {
            let length = comment_length(rest);
            if rest.starts_with("(**") && !rest.starts_with("(***") && !rest.starts_with("(**)") {
                let said = rest[3..length].trim_end_matches("*)");
                tokens.push(Token::Doc { text: paragraphs(said), line });
            }
            length
        } else if is_word(first) {
            let length = word_length(rest);
            tokens.push(Token::Word { text: rest[..length].to_owned(), line });
            length
        } else if first.is_whitespace() {
            first.len_utf8()
        } else if first == '.' && rest[1..].chars().next().is_none_or(char::is_whitespace) {
            tokens.push(Token::End { line });
            1
        } else {
            let pair = [":=", "=>", "->", "&&", "||", "<=", "<>"]
                .iter()
                .find(|pair| rest.starts_with(**pair));
            let length = pair.map_or(first.len_utf8(), |pair| pair.len());
            tokens.push(Token::Sign { text: rest[..length].to_owned(), line });
            length
        };
        line += rest[..taken].matches('\n').count();
        rest = &rest[taken..];
    }
    tokens
}

fn is_word(first: char) -> bool {
    first.is_alphanumeric() || first == '_'
}

/// The length of a name with its dots: `U64.ltb` is one.
fn word_length(text: &str) -> usize {
    let mut length = 0;
    loop {
        let plain = |c: char| is_word(c) || c == '\'';
        length += text[length..].find(|c| !plain(c)).unwrap_or(text.len() - length);
        let after = text[length..].strip_prefix('.').and_then(|after| after.chars().next());
        if !after.is_some_and(is_word) {
            return length;
        }
        length += 1;
    }
}

fn comment_length(text: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < text.len() {
        if text[at..].starts_with("(*") {
            depth += 1;
            at += 2;
        } else if text[at..].starts_with("*)") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

fn paragraphs(said: &str) -> String {
    let mut text = String::new();
    for line in said.lines().map(str::trim) {
        if line.is_empty() {
            if !text.is_empty() && !text.ends_with("\n\n") {
                text.push_str("\n\n");
            }
        } else if line.starts_with("- ") && !text.is_empty() {
            text.push_str(if text.ends_with('\n') { "" } else { "\n" });
            text.push_str(line);
        } else {
            text.push_str(if text.is_empty() || text.ends_with('\n') { "" } else { " " });
            text.push_str(line);
        }
    }
    text.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_signs_docs_and_ends() {
        let tokens =
            lex("(* no (* nested *) *) (** Says\n    [n]. *)\nDefinition f' := U64.half x.\n");
        let texts: Vec<_> = tokens.iter().map(Token::text).collect();
        assert_eq!(texts, ["", "Definition", "f'", ":=", "U64.half", "x", ""]);
        assert_eq!(tokens[0], Token::Doc { text: "Says [n].".to_owned(), line: 1 });
        assert_eq!(tokens[6], Token::End { line: 3 });
    }
}
