//! The text of a decision's file: what extraction forgets, namely doc comments, the names of arguments
//! and lines. What the text may not hold is refused here, before anything is extracted.

use anyhow::{Result, bail};

use super::lexer::{Token, lex};

/// One file of `formal/theories/Decide`.
pub struct Source {
    /// As people write it, from the root of the repository.
    pub file: String,
    /// `Gate`
    pub module: String,
    /// The comment at its head.
    pub head: String,
    pub items: Vec<Item>,
}

/// One declaration.
pub struct Item {
    pub kind: Kind,
    pub name: String,
    pub line: usize,
    pub doc: String,
    /// A definition's arguments, a record's fields, an enumeration's members.
    pub parts: Vec<Part>,
    /// All its words and signs.
    pub tokens: Vec<Token>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Record,
    Enumeration,
    Definition,
}

pub struct Part {
    pub name: String,
    /// Empty for an argument.
    pub doc: String,
}

/// Sentences that say nothing about a decision.
const PASSED_OVER: &[&str] = &["From", "Require", "Import", "Set", "Unset", "Open", "Local"];

impl Source {
    pub fn parse(file: &str, module: &str, text: &str) -> Result<Self> {
        let mut source = Source {
            file: file.to_owned(),
            module: module.to_owned(),
            head: String::new(),
            items: Vec::new(),
        };
        let mut docs: Vec<String> = Vec::new();
        let mut sentence: Vec<Token> = Vec::new();
        for token in lex(text) {
            match token {
                Token::Doc { text, .. } if sentence.is_empty() => docs.push(text),
                Token::End { .. } => {
                    source.sentence(&sentence, &mut docs)?;
                    sentence.clear();
                    docs.clear();
                }
                token => sentence.push(token),
            }
        }
        if let Some(token) = sentence.first() {
            bail!("{file}:{}: `{}`: this sentence has no end", token.line(), token.text());
        }
        if source.head.is_empty() {
            bail!("{file}:1: `{module}`: missing doc comment at the head of the file");
        }
        Ok(source)
    }

    pub fn item(&self, name: &str) -> Option<&Item> {
        self.items.iter().find(|item| item.name == name)
    }

    fn sentence(&mut self, tokens: &[Token], docs: &mut Vec<String>) -> Result<()> {
        let Some(first) = tokens.first() else { return Ok(()) };
        if self.head.is_empty() && !docs.is_empty() {
            self.head = docs.remove(0);
        }
        let kind = match first.text() {
            "Record" => Kind::Record,
            "Inductive" | "Variant" => Kind::Enumeration,
            "Definition" => Kind::Definition,
            word if PASSED_OVER.contains(&word) => return Ok(()),
            word => bail!("{}:{}: `{word}` is not of the fragment", self.file, first.line()),
        };
        let mut reader = Reader { file: &self.file, tokens, at: 1 };
        let name = reader.word("a name")?;
        let parts = match kind {
            Kind::Definition => reader.arguments()?,
            Kind::Record => reader.fields()?,
            Kind::Enumeration => reader.members()?,
        };
        let item = Item {
            kind,
            line: first.line(),
            doc: docs.pop().unwrap_or_default(),
            parts,
            tokens: tokens.to_vec(),
            name,
        };
        self.refuse_undocumented(&item)?;
        self.items.push(item);
        Ok(())
    }

    fn refuse_undocumented(&self, item: &Item) -> Result<()> {
        if item.doc.is_empty() {
            bail!("{}:{}: `{}`: missing doc comment", self.file, item.line, item.name);
        }
        let part =
            item.parts.iter().find(|part| item.kind != Kind::Definition && part.doc.is_empty());
        if let Some(part) = part {
            let line = item.line_of(&part.name);
            bail!("{}:{line}: `{}` of `{}`: missing doc comment", self.file, part.name, item.name);
        }
        Ok(())
    }
}

impl Item {
    /// The line of the first word that is `name` or ends in `.name`; else the item's own.
    pub fn line_of(&self, name: &str) -> usize {
        let last = name.rsplit('.').next().unwrap_or(name);
        let found =
            self.tokens[1..].iter().find(|token| token.text().rsplit('.').next() == Some(last));
        found.map_or(self.line, Token::line)
    }

    /// True if the source says this word.
    pub fn says(&self, word: &str) -> bool {
        self.tokens.iter().any(|token| token.text() == word)
    }
}

struct Reader<'a> {
    file: &'a str,
    tokens: &'a [Token],
    at: usize,
}

impl Reader<'_> {
    fn text(&self) -> &str {
        self.tokens.get(self.at).map_or("", |token| token.text())
    }

    fn line(&self) -> usize {
        self.tokens.get(self.at).or(self.tokens.last()).map_or(0, Token::line)
    }

    fn is_word(&self) -> bool {
        matches!(self.tokens.get(self.at), Some(Token::Word { .. }))
    }

    fn word(&mut self, wanted: &str) -> Result<String> {
        if !self.is_word() {
            bail!("{}:{}: `{}` stands where {wanted} should", self.file, self.line(), self.text());
        }
        let word = self.text().to_owned();
        self.at += 1;
        Ok(word)
    }

    fn sign(&mut self, sign: &str) -> Result<()> {
        if self.text() != sign {
            bail!("{}:{}: `{}` stands where `{sign}` should", self.file, self.line(), self.text());
        }
        self.at += 1;
        Ok(())
    }

    /// `(a b : T) … : T :=`
    fn arguments(&mut self) -> Result<Vec<Part>> {
        let mut parts = Vec::new();
        while self.text() == "(" {
            self.at += 1;
            while self.text() != ":" {
                let name = self.word("the name of an argument")?;
                parts.push(Part { name, doc: String::new() });
            }
            self.skip_past(")")?;
        }
        if self.text() == ":" {
            return Ok(parts);
        }
        bail!("{}:{}: `{}` has no type written behind it", self.file, self.line(), self.text())
    }

    /// `:= Name { a : T; (** … *) … }`
    fn fields(&mut self) -> Result<Vec<Part>> {
        while self.text() != "{" {
            if self.at == self.tokens.len() {
                bail!("{}:{}: a record without fields", self.file, self.line());
            }
            self.at += 1;
        }
        self.at += 1;
        let mut parts: Vec<Part> = Vec::new();
        loop {
            if let Some(Token::Doc { text, .. }) = self.tokens.get(self.at) {
                if let Some(part) = parts.last_mut() {
                    part.doc.clone_from(text);
                }
                self.at += 1;
            } else if self.text() == "}" {
                return Ok(parts);
            } else {
                let name = self.word("the name of a field")?;
                self.sign(":")?;
                parts.push(Part { name, doc: String::new() });
                while ![";", "}", ""].contains(&self.text())
                    && !matches!(self.tokens.get(self.at), Some(Token::Doc { .. }))
                {
                    self.at += 1;
                }
                if self.text() == ";" {
                    self.at += 1;
                }
            }
        }
    }

    /// `:= | A (** … *) | B (n : T) (** … *)`
    fn members(&mut self) -> Result<Vec<Part>> {
        while self.text() != ":=" {
            if self.at == self.tokens.len() {
                bail!("{}:{}: an enumeration without members", self.file, self.line());
            }
            self.at += 1;
        }
        let mut parts: Vec<Part> = Vec::new();
        let mut expected = true;
        self.at += 1;
        while let Some(token) = self.tokens.get(self.at) {
            match token {
                Token::Doc { text, .. } => {
                    if let Some(part) = parts.last_mut() {
                        part.doc.clone_from(text);
                    }
                }
                Token::Word { text, .. } if expected => {
                    parts.push(Part { name: text.clone(), doc: String::new() });
                    expected = false;
                }
                token if token.text() == "|" => expected = true,
                _ => {}
            }
            self.at += 1;
        }
        Ok(parts)
    }

    fn skip_past(&mut self, close: &str) -> Result<()> {
        let mut depth = 1;
        while depth > 0 {
            match self.text() {
                "" => bail!("{}:{}: `{close}` is missing", self.file, self.line()),
                "(" => depth += 1,
                ")" => depth -= 1,
                _ => {}
            }
            self.at += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        let text = format!("(** Head. *)\nFrom Coq Require Import NArith.\n{text}");
        Source::parse("T.v", "T", &text).err().expect("refused").to_string()
    }

    #[test]
    fn docs_and_names_are_found() {
        let source = Source::parse(
            "T.v",
            "T",
            "(** Head. *)\nFrom Coq Require Import NArith.\n(** R. *)\nRecord r := R { a : N; (** A. *)\n b : N (** B. *) }.\n\
             (** E. *)\nInductive e := One (** 1. *) | Two (n : N) (** 2. *).\n(** F. *)\nDefinition f (x y : N) (z : option N) : N := U64.umin x y.\n",
        )
        .expect("of the fragment");
        let parts = |name: &str| {
            let parts = &source.item(name).expect(name).parts;
            parts.iter().map(|part| format!("{}={}", part.name, part.doc)).collect::<Vec<_>>()
        };
        assert_eq!(source.head, "Head.");
        assert_eq!(parts("r"), ["a=A.", "b=B."]);
        assert_eq!(parts("e"), ["One=1.", "Two=2."]);
        assert_eq!(parts("f"), ["x=", "y=", "z="]);
        assert_eq!(source.item("f").expect("f").line_of("U64.umin"), 9);
    }

    #[test]
    fn what_is_not_of_the_fragment_is_refused_by_name_and_line() {
        assert_eq!(
            refusal("Fixpoint f (n : N) : N := n."),
            "T.v:3: `Fixpoint` is not of the fragment"
        );
        assert_eq!(refusal("\nAxiom a : N."), "T.v:4: `Axiom` is not of the fragment");
        assert_eq!(refusal("Definition f (n : N) : N := n."), "T.v:3: `f`: missing doc comment");
        assert_eq!(
            refusal("(** R. *)\nRecord r := R {\n a : N }."),
            "T.v:5: `a` of `r`: missing doc comment"
        );
        assert_eq!(
            refusal("(** F. *)\nDefinition f (n : N) x := n."),
            "T.v:4: `x` has no type written behind it"
        );
    }
}
