//! From an extracted expression to a checked one.

use anyhow::{Result, anyhow, bail};
use serde_json::Value;

use super::ir::{Arm, Expr, Model, Module, Op, Pattern, Place, Shape};
use super::names::{refuse_keyword, rust_name};
use super::source::{Item, Source};
use super::tidy;
use super::tree::{list, place, text};

/// Reads the body of one definition.
pub struct Body<'a> {
    model: &'a Model,
    own: &'a Module,
    source: &'a Source,
    item: &'a Item,
    /// What each bound name of the tree stands for.
    scope: Vec<(String, Expr)>,
}

impl<'a> Body<'a> {
    pub fn new(model: &'a Model, own: &'a Module, source: &'a Source, item: &'a Item) -> Self {
        Body { model, own, source, item, scope: Vec::new() }
    }

    /// `name` of the tree is `rust` from now on.
    pub fn bind(&mut self, name: &str, rust: &str) {
        self.scope.push((name.to_owned(), Expr::Var(rust.to_owned())));
    }

    pub fn expr(&mut self, tree: &Value) -> Result<Expr> {
        Ok(match text(tree, "what")? {
            "expr:rel" => {
                let name = text(tree, "name")?;
                let bound = self.scope.iter().rev().find(|(bound, _)| bound == name);
                bound
                    .map(|(_, expr)| expr.clone())
                    .ok_or_else(|| self.refused(name, "is not bound"))?
            }
            "expr:global" => self.call(text(tree, "name")?, &[])?,
            "expr:apply" => {
                let function = &tree["func"];
                if text(function, "what")? != "expr:global" {
                    bail!(self.refused(&self.item.name, "applies something that is no definition"));
                }
                let args = list(tree, "args")?;
                self.call(text(function, "name")?, args)?
            }
            "expr:constructor" => self.constructor(tree)?,
            "expr:let" => {
                let value = self.expr(&tree["nameval"])?;
                let (pattern, mark) = self.binder(&tree["name"], &tree["body"])?;
                let body = self.expr(&tree["body"])?;
                self.scope.truncate(mark);
                Expr::Let(pattern, Box::new(value), Box::new(body))
            }
            "expr:case" => self.case(tree)?,
            "expr:lambda" => bail!(self.refused(&self.item.name, "holds a function inside")),
            "expr:fix" => {
                bail!(self.refused(&self.item.name, "is recursive, and a decision is one step"))
            }
            other => {
                bail!(self.refused(
                    &self.item.name,
                    &format!("holds {other}, which is not of the fragment")
                ))
            }
        })
    }

    /// A use of a definition.
    fn call(&mut self, name: &str, args: &[Value]) -> Result<Expr> {
        let args = args.iter().map(|arg| self.expr(arg)).collect::<Result<Vec<_>>>()?;
        let count = args.len();
        let mut operands = args.iter().cloned();
        let mut next = || operands.next().expect("counted");
        let op = match (name, count) {
            ("U64.max", 0) => return Ok(Expr::Max),
            ("U64.half", 1) => return Ok(Expr::Halve(Box::new(next()))),
            ("Datatypes.negb", 1) => return Ok(tidy::not(next())),
            ("Datatypes.fst", 1) => return Ok(Expr::Half(Box::new(next()), 0)),
            ("Datatypes.snd", 1) => return Ok(Expr::Half(Box::new(next()), 1)),
            ("U64.sat_add", 2) => Op::SatAdd,
            ("U64.sat_sub", 2) => Op::SatSub,
            ("U64.umin", 2) => Op::Min,
            ("U64.umax", 2) => Op::Max,
            ("U64.ltb", 2) => Op::Lt,
            ("U64.leb", 2) => Op::Le,
            ("U64.eqb", 2) => Op::Eq,
            ("Datatypes.andb", 2) => Op::And,
            ("Datatypes.orb", 2) => Op::Or,
            _ => {
                let place = place(name, &self.own.name);
                let module = if place.module == self.own.name {
                    Some(self.own)
                } else {
                    self.model.module(&place.module)
                };
                let function = module
                    .and_then(|module| {
                        module.functions.iter().find(|function| function.name == place.name)
                    })
                    .ok_or_else(|| self.refused(name, "is not of the fragment"))?;
                if function.params.len() != count {
                    bail!(self.refused(name, "is used without all its arguments"));
                }
                return Ok(Expr::Call(place, args));
            }
        };
        Ok(tidy::op(op, next(), next()))
    }

    fn constructor(&mut self, tree: &Value) -> Result<Expr> {
        let name = text(tree, "name")?;
        if name.starts_with("BinNums.") {
            return self.number(tree).map(Expr::Number);
        }
        let args =
            list(tree, "args")?.iter().map(|arg| self.expr(arg)).collect::<Result<Vec<_>>>()?;
        let mut operands = args.clone().into_iter();
        let mut boxed = || Box::new(operands.next().expect("counted"));
        Ok(match (name, args.len()) {
            ("Datatypes.Coq_true", 0) => Expr::Bool(true),
            ("Datatypes.Coq_false", 0) => Expr::Bool(false),
            ("Datatypes.Some", 1) => Expr::Some(boxed()),
            ("Datatypes.None", 0) => Expr::None,
            ("Datatypes.Coq_pair", 2) => Expr::Pair(boxed(), boxed()),
            _ => match self.constructor_of(name)? {
                (place, Built::Record(fields)) => {
                    tidy::record(place, fields.into_iter().zip(args).collect())
                }
                (place, Built::Variant(variant)) => Expr::Variant(place, variant, args),
            },
        })
    }

    fn constructor_of(&self, name: &str) -> Result<(Place, Built)> {
        let at = place(name, &self.own.name);
        let module =
            if at.module == self.own.name { Some(self.own) } else { self.model.module(&at.module) };
        for ty in module.into_iter().flat_map(|module| &module.types) {
            let place = Place { module: at.module.clone(), name: ty.name.clone() };
            match &ty.shape {
                Shape::Record { constructor, fields } if place_name(constructor) == at.name => {
                    return Ok((
                        place,
                        Built::Record(fields.iter().map(|field| field.name.clone()).collect()),
                    ));
                }
                Shape::Enumeration(variants)
                    if variants.iter().any(|variant| variant.name == at.name) =>
                {
                    return Ok((place, Built::Variant(at.name)));
                }
                _ => {}
            }
        }
        Err(self.refused(name, "is not of the fragment"))
    }

    /// A literal, which the tree spells bit by bit, the lowest outermost.
    fn number(&self, tree: &Value) -> Result<u64> {
        let too_large =
            || self.refused(&self.item.name, "holds a number that does not fit in 64 bits");
        let mut bits = Vec::new();
        let mut rest = tree;
        loop {
            let inner = list(rest, "args")?.first();
            match text(rest, "name")? {
                "BinNums.N0" => return Ok(0),
                "BinNums.Npos" => {}
                "BinNums.Coq_xO" => bits.push(0),
                "BinNums.Coq_xI" => bits.push(1),
                "BinNums.Coq_xH" => {
                    return bits.iter().rev().try_fold(1_u64, |value, bit| {
                        value.checked_mul(2).map(|value| value + bit).ok_or_else(too_large)
                    });
                }
                other => bail!(self.refused(other, "is not of the fragment")),
            }
            rest = inner.ok_or_else(|| {
                self.refused(&self.item.name, "computes on the digits of a number")
            })?;
        }
    }

    fn case(&mut self, tree: &Value) -> Result<Expr> {
        let subject = self.expr(&tree["expr"])?;
        let cases = list(tree, "cases")?;
        if let [only] = &cases[..]
            && text(&only["pat"], "what")? == "pat:constructor"
        {
            return self.taken_apart(subject, &only["pat"], &only["body"]);
        }
        let mut arms = Vec::new();
        for case in cases {
            let mark = self.scope.len();
            let pattern = self.pattern(&case["pat"], &case["body"])?;
            let body = self.expr(&case["body"])?;
            self.scope.truncate(mark);
            arms.push(Arm { patterns: vec![pattern], body });
        }
        if let Some(decided) = self.branch(&subject, cases, &arms)? {
            return Ok(decided);
        }
        Ok(tidy::matched(subject, arms, self.item.says("_")))
    }

    /// A case over true and false.
    fn branch(&self, subject: &Expr, cases: &[Value], arms: &[Arm]) -> Result<Option<Expr>> {
        let is = |case: &Value, name: &str| case["pat"]["name"] == name;
        let [first, _] = cases else { return Ok(None) };
        let (yes, no) = match (is(first, "Datatypes.Coq_true"), is(first, "Datatypes.Coq_false")) {
            (true, _) => (0, 1),
            (_, true) => (1, 0),
            _ => return Ok(None),
        };
        Ok(Some(tidy::branch(subject.clone(), arms[yes].body.clone(), arms[no].body.clone())))
    }

    /// A case with one constructor: a pair or a record.
    fn taken_apart(&mut self, subject: Expr, pattern: &Value, body: &Value) -> Result<Expr> {
        let mark = self.scope.len();
        let name = text(pattern, "name")?;
        let names = list(pattern, "argnames")?;
        if name != "Datatypes.Coq_pair"
            && let (place, Built::Record(fields)) = self.constructor_of(name)?
        {
            let field = |at: usize| {
                Expr::Field(Box::new(subject.clone()), place.clone(), fields[at].clone())
            };
            let simple = matches!(subject, Expr::Var(_) | Expr::Field(..));
            let picked = names.iter().position(|name| {
                text(body, "what").is_ok_and(|what| what == "expr:rel") && body["name"] == *name
            });
            if let Some(at) = picked {
                return Ok(field(at));
            }
            if simple {
                for (at, name) in names.iter().enumerate() {
                    self.scope.push((name.as_str().unwrap_or("_").to_owned(), field(at)));
                }
                let body = self.expr(body)?;
                self.scope.truncate(mark);
                return Ok(body);
            }
        }
        let pattern = self.pattern(pattern, body)?;
        let body = self.expr(body)?;
        self.scope.truncate(mark);
        Ok(Expr::Let(pattern, Box::new(subject), Box::new(body)))
    }

    fn pattern(&mut self, tree: &Value, body: &Value) -> Result<Pattern> {
        match text(tree, "what")? {
            "pat:wild" => return Ok(Pattern::Any),
            "pat:constructor" => {}
            other => {
                bail!(self.refused(
                    &self.item.name,
                    &format!("holds {other}, which is not of the fragment")
                ))
            }
        }
        let name = text(tree, "name")?;
        if name.starts_with("BinNums.") {
            bail!(self.refused(&self.item.name, "looks at the digits of a number"));
        }
        let mut inner = Vec::new();
        for name in list(tree, "argnames")? {
            inner.push(self.binder(name, body)?.0);
        }
        let mut parts = inner.clone().into_iter();
        let mut boxed = || Box::new(parts.next().expect("counted"));
        Ok(match (name, inner.len()) {
            ("Datatypes.Coq_true" | "Datatypes.Coq_false", 0) => Pattern::Any, // becomes an `if`
            ("Datatypes.Some", 1) => Pattern::Some(boxed()),
            ("Datatypes.None", 0) => Pattern::None,
            ("Datatypes.Coq_pair", 2) => Pattern::Pair(boxed(), boxed()),
            _ => match self.constructor_of(name)? {
                (place, Built::Record(fields)) => {
                    let count = fields.len();
                    let bound =
                        fields.into_iter().zip(inner).filter(|(_, part)| *part != Pattern::Any);
                    Pattern::Record(place, bound.collect(), count)
                }
                (place, Built::Variant(variant)) => Pattern::Variant(place, variant, inner),
            },
        })
    }

    /// Binds a name for `body`, and answers its pattern and how deep the scope was before.
    fn binder(&mut self, name: &Value, body: &Value) -> Result<(Pattern, usize)> {
        let mark = self.scope.len();
        let name = name.as_str().unwrap_or("_");
        if name == "_" {
            return Ok((Pattern::Any, mark));
        }
        let rust = self.written(name, body);
        refuse_keyword(&rust).map_err(|why| self.refused(name, &why))?;
        self.scope.push((name.to_owned(), Expr::Var(rust.clone())));
        Ok((Pattern::Var(rust), mark))
    }

    /// The name as the source writes it: the tree adds a digit where it fears a clash with a definition.
    /// The digit stays where the name without it would hide another that `body` still uses.
    fn written(&self, name: &str, body: &Value) -> String {
        let plain = name.trim_end_matches(|c: char| c.is_ascii_digit());
        if plain == name || self.item.says(name) || !self.item.says(plain) {
            return rust_name(name);
        }
        let hides =
            |(bound, expr): &(String, Expr)| mentions(expr, &rust_name(plain)) && uses(body, bound);
        rust_name(if self.scope.iter().any(hides) { name } else { plain })
    }

    fn refused(&self, name: &str, why: &str) -> anyhow::Error {
        anyhow!("{}:{}: `{name}` {why}", self.source.file, self.item.line_of(name))
    }
}

/// What a constructor makes.
enum Built {
    /// A record with these fields.
    Record(Vec<String>),
    Variant(String),
}

fn place_name(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

/// True if `tree` names the bound `name` anywhere.
fn uses(tree: &Value, name: &str) -> bool {
    match tree {
        Value::Object(fields) => {
            (tree["what"] == "expr:rel" && tree["name"] == name)
                || fields.values().any(|value| uses(value, name))
        }
        Value::Array(values) => values.iter().any(|value| uses(value, name)),
        _ => false,
    }
}

fn mentions(expr: &Expr, name: &str) -> bool {
    match expr {
        Expr::Var(var) => var == name,
        Expr::Field(of, ..) => mentions(of, name),
        _ => false,
    }
}

/// True if Rust can evaluate this at compile time: `min` and `max` are methods of a trait there.
pub fn is_const(expr: &Expr, model: &Model, own: &Module) -> bool {
    let all = |parts: &[&Expr]| parts.iter().all(|part| is_const(part, model, own));
    match expr {
        Expr::Op(Op::Min | Op::Max, ..) => false,
        Expr::Op(_, left, right) | Expr::Pair(left, right) | Expr::Let(_, left, right) => {
            all(&[left, right])
        }
        Expr::If(test, yes, no) => all(&[test, yes, no]),
        Expr::Field(of, ..)
        | Expr::Half(of, _)
        | Expr::Some(of)
        | Expr::Halve(of)
        | Expr::Not(of) => all(&[of]),
        Expr::Record(_, fields) => fields.iter().all(|(_, field)| all(&[field])),
        Expr::Variant(_, _, args) => args.iter().all(|arg| all(&[arg])),
        Expr::Match(subject, arms) => all(&[subject]) && arms.iter().all(|arm| all(&[&arm.body])),
        Expr::Call(place, args) => {
            let module =
                if place.module == own.name { Some(own) } else { model.module(&place.module) };
            let called =
                module.and_then(|module| module.functions.iter().find(|f| f.name == place.name));
            called.is_some_and(|called| called.is_const) && args.iter().all(|arg| all(&[arg]))
        }
        Expr::Var(_) | Expr::Number(_) | Expr::Max | Expr::Bool(_) | Expr::None => true,
    }
}
