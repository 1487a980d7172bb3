//! Writes checked expressions as Rust, with no bracket more than needed.

use super::ir::{Arm, Expr, Model, Op, Pattern, Place};
use super::names::{camel, named, snake};

/// How tightly a written expression holds together.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Holds {
    /// `if`, `match`, a block: stands alone.
    Loose,
    Or,
    And,
    Compare,
    Divide,
    Not,
    /// A name, a call, a field.
    Tight,
}

pub struct Printer<'a> {
    model: &'a Model,
    pub own: &'a str,
    /// The other files that were named.
    pub used: Vec<String>,
}

impl<'a> Printer<'a> {
    pub fn new(model: &'a Model, own: &'a str) -> Self {
        Printer { model, own, used: Vec::new() }
    }

    /// The inside of a block.
    pub fn block(&mut self, expr: &Expr) -> String {
        match expr {
            Expr::Let(pattern, value, body) => {
                let (pattern, value) = (self.pattern(pattern), self.expr(value));
                format!("let {pattern} = {value};\n{}", self.block(body))
            }
            other => self.expr(other),
        }
    }

    pub fn expr(&mut self, expr: &Expr) -> String {
        match expr {
            Expr::Var(name) => name.clone(),
            Expr::Number(number) => grouped(*number),
            Expr::Max => "u64::MAX".to_owned(),
            Expr::Bool(value) => value.to_string(),
            Expr::Field(of, _, field) => format!("{}.{field}", self.at(of, Holds::Tight)),
            Expr::Half(of, half) => format!("{}.{half}", self.at(of, Holds::Tight)),
            Expr::Record(place, fields) => self.record(place, fields),
            Expr::Variant(place, name, args) => {
                let path = format!("{}::{}", self.path(place), camel(name));
                if args.is_empty() { path } else { format!("{path}({})", self.list(args)) }
            }
            Expr::Some(inner) => format!("Some({})", self.expr(inner)),
            Expr::None => "None".to_owned(),
            Expr::Pair(left, right) => format!("({}, {})", self.expr(left), self.expr(right)),
            Expr::Op(op, left, right) => self.op(*op, left, right),
            Expr::Halve(of) => format!("{} / 2", self.at(of, Holds::Divide)),
            Expr::Not(of) => format!("!{}", self.at(of, Holds::Not)),
            Expr::If(test, yes, no) => self.branch(test, yes, no),
            Expr::Match(subject, arms) => self.matched(subject, arms),
            Expr::Let(..) => format!("{{ {} }}", self.block(expr)),
            Expr::Call(place, args) => self.call(place, args),
        }
    }

    /// `expr` where something that holds as tightly as `wanted` is needed.
    fn at(&mut self, expr: &Expr, wanted: Holds) -> String {
        let text = self.expr(expr);
        if holds(expr) >= wanted { text } else { format!("({text})") }
    }

    fn op(&mut self, op: Op, left: &Expr, right: &Expr) -> String {
        let method = match op {
            Op::SatAdd => Some("saturating_add"),
            Op::SatSub => Some("saturating_sub"),
            Op::Min => Some("min"),
            Op::Max => Some("max"),
            _ => None,
        };
        if let Some(method) = method {
            let mut receiver = self.at(left, Holds::Tight);
            if matches!(left, Expr::Number(_)) {
                receiver.push_str("_u64"); // a bare literal has no methods
            }
            return format!("{receiver}.{method}({})", self.expr(right));
        }
        let (sign, level) = match op {
            Op::Or => ("||", Holds::Or),
            Op::And => ("&&", Holds::And),
            Op::Lt => ("<", Holds::Compare),
            Op::Le => ("<=", Holds::Compare),
            Op::Gt => (">", Holds::Compare),
            Op::Ge => (">=", Holds::Compare),
            Op::Eq => ("==", Holds::Compare),
            _ => ("!=", Holds::Compare),
        };
        // Comparisons do not chain; `&&` inside `||` is told apart by a reader without brackets.
        let inner = if level == Holds::Compare { Holds::Divide } else { level };
        format!("{} {sign} {}", self.at(left, inner), self.at(right, inner))
    }

    fn branch(&mut self, test: &Expr, yes: &Expr, no: &Expr) -> String {
        let test = self.condition(test);
        let yes = self.block(yes);
        match no {
            Expr::If(..) => format!("if {test} {{ {yes} }} else {}", self.expr(no)),
            no => format!("if {test} {{ {yes} }} else {{ {} }}", self.block(no)),
        }
    }

    /// A condition or a subject: a record written out there would read as a block.
    fn condition(&mut self, expr: &Expr) -> String {
        let text = self.expr(expr);
        if matches!(expr, Expr::Record(..))
            || text.contains(" {") && !matches!(expr, Expr::Match(..))
        {
            format!("({text})")
        } else {
            text
        }
    }

    fn matched(&mut self, subject: &Expr, arms: &[Arm]) -> String {
        let subject =
            if is_matches(arms) { self.at(subject, Holds::Tight) } else { self.condition(subject) };
        let patterns = |printer: &mut Self, arm: &Arm| {
            let patterns: Vec<_> =
                arm.patterns.iter().map(|pattern| printer.pattern(pattern)).collect();
            patterns.join(" | ")
        };
        if let [Arm { body: Expr::Bool(first), .. }, Arm { body: Expr::Bool(_), .. }] = arms {
            let (yes, no) = if *first { (&arms[0], &arms[1]) } else { (&arms[1], &arms[0]) };
            if let [Pattern::Some(_) | Pattern::None] = &yes.patterns[..] {
                let asked = if yes.patterns == [Pattern::None] { "is_none" } else { "is_some" };
                return format!("{subject}.{asked}()");
            }
            let (sign, arm) = if yes.patterns == [Pattern::Any] { ("!", no) } else { ("", yes) };
            return format!("{sign}matches!({subject}, {})", patterns(self, arm));
        }
        let mut text = format!("match {subject} {{\n");
        for arm in arms {
            let patterns = patterns(self, arm);
            let body = self.expr(&arm.body);
            text.push_str(&format!("{patterns} => {body},\n"));
        }
        text.push('}');
        text
    }

    fn record(&mut self, place: &Place, fields: &[(String, Expr)]) -> String {
        let copied_from = fields.iter().find_map(|(name, value)| match value {
            Expr::Field(of, record, field)
                if record == place && field == name && matches!(**of, Expr::Var(_)) =>
            {
                Some(of)
            }
            _ => None,
        });
        let mut parts = Vec::new();
        for (name, value) in fields {
            match value {
                Expr::Field(of, record, field)
                    if record == place && field == name && Some(of) == copied_from => {}
                Expr::Var(var) if var == name => parts.push(name.clone()),
                value => parts.push(format!("{name}: {}", self.expr(value))),
            }
        }
        if let Some(of) = copied_from {
            parts.push(format!("..{}", self.expr(of)));
        }
        format!("{} {{ {} }}", self.path(place), parts.join(", "))
    }

    fn call(&mut self, place: &Place, args: &[Expr]) -> String {
        let function = self.model.function(place).expect("checked when it was read");
        if function.is_method(&place.module) {
            let receiver = self.at(&args[0], Holds::Tight);
            return format!("{receiver}.{}({})", place.name, self.list(&args[1..]));
        }
        let shouted = function.params.is_empty() && function.is_const;
        let name = if shouted { place.name.to_ascii_uppercase() } else { place.name.clone() };
        let path = match &function.owner {
            Some(owner) => {
                let owner = Place { module: place.module.clone(), name: owner.clone() };
                format!("{}::{name}", self.path(&owner))
            }
            None if place.module == self.own => name,
            None => {
                let module = snake(&place.module);
                self.used.push(module.clone());
                format!("{module}::{name}")
            }
        };
        if shouted { path } else { format!("{path}({})", self.list(args)) }
    }

    fn list(&mut self, exprs: &[Expr]) -> String {
        exprs.iter().map(|expr| self.expr(expr)).collect::<Vec<_>>().join(", ")
    }

    fn path(&mut self, place: &Place) -> String {
        if place.module != self.own {
            self.used.push(snake(&place.module));
        }
        named(place, self.own)
    }

    fn pattern(&mut self, pattern: &Pattern) -> String {
        match pattern {
            Pattern::Any => "_".to_owned(),
            Pattern::Var(name) => name.clone(),
            Pattern::Number(number) => grouped(*number),
            Pattern::Some(inner) => format!("Some({})", self.pattern(inner)),
            Pattern::None => "None".to_owned(),
            Pattern::Pair(left, right) => {
                format!("({}, {})", self.pattern(left), self.pattern(right))
            }
            Pattern::Variant(place, name, parts) => {
                let path = format!("{}::{}", self.path(place), camel(name));
                match &parts[..] {
                    [] => path,
                    parts if parts.iter().all(|part| *part == Pattern::Any) => {
                        format!("{path}(..)")
                    }
                    parts => {
                        let parts: Vec<_> = parts.iter().map(|part| self.pattern(part)).collect();
                        format!("{path}({})", parts.join(", "))
                    }
                }
            }
            Pattern::Record(place, fields, count) => {
                let mut parts: Vec<_> = fields
                    .iter()
                    .map(|(name, part)| match part {
                        Pattern::Var(var) if var == name => name.clone(),
                        part => format!("{name}: {}", self.pattern(part)),
                    })
                    .collect();
                if parts.len() < *count {
                    parts.push("..".to_owned());
                }
                format!("{} {{ {} }}", self.path(place), parts.join(", "))
            }
        }
    }
}

fn holds(expr: &Expr) -> Holds {
    match expr {
        Expr::If(..) | Expr::Let(..) => Holds::Loose,
        Expr::Match(_, arms) if !is_matches(arms) => Holds::Loose,
        Expr::Op(Op::Or, ..) => Holds::Or,
        Expr::Op(Op::And, ..) => Holds::And,
        Expr::Op(Op::Lt | Op::Le | Op::Gt | Op::Ge | Op::Eq | Op::Ne, ..) => Holds::Compare,
        Expr::Halve(_) => Holds::Divide,
        Expr::Not(_) | Expr::Match(..) => Holds::Not,
        _ => Holds::Tight,
    }
}

fn is_matches(arms: &[Arm]) -> bool {
    matches!(arms, [Arm { body: Expr::Bool(_), .. }, Arm { body: Expr::Bool(_), .. }])
}

/// A number with its thousands apart, as Rust's style has it from five digits on.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    if digits.len() < 5 {
        return digits;
    }
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push('_');
        }
        grouped.push(digit);
    }
    grouped
}
