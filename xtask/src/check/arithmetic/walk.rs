//! One function, expression by expression.

use std::collections::HashMap;

use quote::ToTokens;
use syn::{BinOp, Expr, Pat, Stmt};

use super::heat::Value;
use super::means_credit;
use super::pass::{Pass, is_test};
use super::shape::{Key, Ty};

/// What a function, or a closure in it, is known to hold while it is read.
pub struct Walk<'a, 'b> {
    pub(super) pass: &'a mut Pass<'b>,
    pub(super) owner: String,
    pub(super) known: HashMap<String, Value>,
    pub(super) told: Value,
}

impl<'a, 'b> Walk<'a, 'b> {
    pub fn new(pass: &'a mut Pass<'b>, owner: &str) -> Self {
        let mut known = HashMap::new();
        if !owner.is_empty() && !owner.contains('/') {
            known.insert("self".to_owned(), Value::cold(Ty::Named(owner.to_owned())));
        }
        Walk { pass, owner: owner.to_owned(), known, told: Value::default() }
    }

    /// The argument at a place of a function, or one that is taken for no credit.
    pub fn argument(&mut self, of: Option<(&Key, usize)>, pattern: &Pat, ty: &syn::Type) {
        let ty = self.pass.aliases().sketch(ty, &self.owner);
        let hot = of.is_some_and(|(function, at)| self.pass.heat.is_argument(function, at));
        let value = Value { hot, ..Value::default() }.of_type(&ty);
        self.bind(pattern, &value);
    }

    /// What the function answers.
    pub fn body(&mut self, block: &syn::Block) -> Value {
        let last = self.block(block);
        std::mem::take(&mut self.told).or(last)
    }

    fn block(&mut self, block: &syn::Block) -> Value {
        let outside = self.known.clone();
        let mut last = Value::cold(Ty::Tuple(Vec::new()));
        for statement in &block.stmts {
            last = Value::cold(Ty::Tuple(Vec::new()));
            match statement {
                Stmt::Local(local) if !is_test(&local.attrs) => {
                    let value = match &local.init {
                        Some(init) => {
                            let value = self.value(&init.expr);
                            if let Some((_, other)) = &init.diverge {
                                self.value(other);
                            }
                            value
                        }
                        None => Value::default(),
                    };
                    self.bind(&local.pat, &value);
                }
                Stmt::Expr(expression, end) => {
                    let value = self.value(expression);
                    if end.is_none() {
                        last = value;
                    }
                }
                Stmt::Item(item) => self.pass.within.push(item.clone()),
                Stmt::Macro(call) => last = self.invocation(&call.mac),
                Stmt::Local(_) => {}
            }
        }
        self.leave(outside);
        last
    }

    /// Names of an inner block are forgotten; what it assigned stays.
    pub(super) fn leave(&mut self, outside: HashMap<String, Value>) {
        let inner = std::mem::replace(&mut self.known, outside);
        for (name, value) in inner {
            if let Some(known) = self.known.get_mut(&name)
                && known.ty == value.ty
            {
                known.hot |= value.hot;
            }
        }
    }

    pub(super) fn bind(&mut self, pattern: &Pat, value: &Value) {
        match pattern {
            Pat::Ident(name) => {
                self.known.insert(name.ident.to_string(), value.clone());
                if let Some((_, inner)) = &name.subpat {
                    self.bind(inner, value);
                }
            }
            Pat::Type(typed) => {
                let ty = self.pass.aliases().sketch(&typed.ty, &self.owner);
                let ty = if ty == Ty::Named("_".to_owned()) { Ty::Unknown } else { ty };
                self.bind(&typed.pat, &value.clone().of_type(&ty));
            }
            Pat::Reference(to) => self.bind(&to.pat, value),
            Pat::Paren(inner) => self.bind(&inner.pat, value),
            Pat::Or(cases) => cases.cases.iter().for_each(|case| self.bind(case, value)),
            Pat::Slice(parts) => parts.elems.iter().for_each(|part| self.bind(part, value)),
            Pat::Tuple(parts) => {
                for (at, part) in parts.elems.iter().enumerate() {
                    self.bind(part, &part_of(value, at));
                }
            }
            Pat::TupleStruct(call) => {
                let path = self.names(&call.path);
                for (at, part) in call.elems.iter().enumerate() {
                    let inner = match self.declared(&path, &at.to_string()) {
                        Some(inner) => inner,
                        None => value.clone(),
                    };
                    self.bind(part, &inner);
                }
            }
            Pat::Struct(call) => {
                let path = self.names(&call.path);
                for field in &call.fields {
                    let name = field.member.to_token_stream().to_string();
                    let inner = self.declared(&path, &name).unwrap_or_default();
                    self.bind(&field.pat, &inner);
                }
            }
            // A credit against a number, as a pattern.
            Pat::Lit(_) | Pat::Range(_) if value.hot => self.pass.found(pattern),
            _ => {}
        }
    }

    /// `E::V` or `S`, of a path as it is written.
    pub(super) fn names(&self, path: &syn::Path) -> String {
        let mut names: Vec<String> =
            path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        for name in &mut names {
            *name =
                if name == "Self" { self.owner.clone() } else { self.pass.aliases().real(name) };
        }
        let variant = names.len() >= 2 && names[names.len() - 2].starts_with(char::is_uppercase);
        names.split_off(names.len() - if variant { 2 } else { 1 }).join("::")
    }

    /// The field `name` of `owner`, if that has one.
    fn declared(&self, owner: &str, name: &str) -> Option<Value> {
        let ty = self.pass.shapes.fields.get(&(owner.to_owned(), name.to_owned()))?.clone();
        let counts = matches!(ty, Ty::Number | Ty::Unknown);
        let hot = self.pass.heat.has_field(owner, name) || (means_credit(name) && counts);
        Some(Value { hot, ..Value::default() }.of_type(&ty))
    }

    fn field(&self, of: &Value, name: &str) -> Value {
        if let (Ok(at), Ty::Tuple(_)) = (name.parse::<usize>(), &of.ty) {
            return part_of(of, at);
        }
        if let Ty::Named(owner) = &of.ty
            && let Some(value) = self.declared(owner, name)
        {
            return value;
        }
        let value = Value::cold(Ty::Unknown);
        if of.ty == Ty::Unknown && !name.starts_with(|c: char| c.is_ascii_digit()) {
            // Of whom is not known: a credit if every field of that name is one.
            let mut named = self.pass.shapes.fields.keys().filter(|(_, field)| field == name);
            let mut some = named.clone().map(|(owner, field)| self.declared(owner, field));
            let hot = named.next().is_some() && some.all(|value| value.is_some_and(|v| v.hot));
            return Value { hot: hot || means_credit(name), ..value };
        }
        Value { hot: of.hot || means_credit(name), ..value }
    }

    /// What an expression is worth; what it does wrong is noted.
    pub fn value(&mut self, expression: &Expr) -> Value {
        match expression {
            Expr::Lit(_) => Value::cold(Ty::Number),
            Expr::Path(path) => self.path(&path.path),
            Expr::Field(field) => {
                let of = self.value(&field.base);
                self.field(&of, &field.member.to_token_stream().to_string())
            }
            Expr::Paren(inner) => self.value(&inner.expr),
            Expr::Group(inner) => self.value(&inner.expr),
            Expr::Reference(to) => self.value(&to.expr),
            Expr::RawAddr(to) => self.value(&to.expr),
            Expr::Unary(unary) => self.value(&unary.expr),
            Expr::Await(wait) => self.value(&wait.base),
            Expr::Try(tried) => self.value(&tried.expr),
            Expr::Cast(cast) => {
                let value = self.value(&cast.expr);
                Value { ty: Ty::Number, ..value } // however narrow
            }
            Expr::Index(index) => {
                self.value(&index.index);
                self.value(&index.expr)
            }
            Expr::Tuple(parts) => {
                let parts: Vec<_> = parts.elems.iter().map(|part| self.value(part)).collect();
                let ty = Ty::Tuple(parts.iter().map(|part| part.ty.clone()).collect());
                Value { ty, hot: false, parts }
            }
            Expr::Array(parts) => {
                let parts: Vec<_> = parts.elems.iter().map(|part| self.value(part)).collect();
                parts.into_iter().reduce(Value::or).unwrap_or_default()
            }
            Expr::Repeat(repeat) => self.value(&repeat.expr),
            Expr::Binary(binary) => self.binary(expression, binary),
            Expr::Assign(assign) => {
                let value = self.value(&assign.right);
                self.put(&assign.left, &value);
                Value::cold(Ty::Tuple(Vec::new()))
            }
            Expr::Range(range) => {
                let ends = [&range.start, &range.end];
                let hot = ends.into_iter().flatten().any(|end| self.value(end).is_hot());
                if hot {
                    self.pass.found(expression);
                }
                Value::cold(Ty::Number)
            }
            Expr::If(branch) => {
                let outside = self.known.clone();
                self.value(&branch.cond);
                let mut value = self.block(&branch.then_branch);
                self.leave(outside);
                if let Some((_, other)) = &branch.else_branch {
                    value = value.or(self.value(other));
                }
                value
            }
            Expr::Let(binding) => {
                let value = self.value(&binding.expr);
                self.bind(&binding.pat, &value);
                Value::cold(Ty::Named("bool".to_owned()))
            }
            Expr::Match(matched) => {
                let of = self.value(&matched.expr);
                let mut value = Value::default();
                for arm in &matched.arms {
                    let outside = self.known.clone();
                    self.bind(&arm.pat, &of);
                    if let Some((_, guard)) = &arm.guard {
                        self.value(guard);
                    }
                    value = value.or(self.value(&arm.body));
                    self.leave(outside);
                }
                value
            }
            Expr::Block(block) => self.block(&block.block),
            Expr::Unsafe(block) => self.block(&block.block),
            Expr::Const(block) => self.block(&block.block),
            Expr::Async(block) => {
                let told = std::mem::take(&mut self.told);
                let value = self.body(&block.block);
                self.told = told;
                value
            }
            Expr::Loop(again) => {
                self.block(&again.body);
                self.block(&again.body);
                std::mem::take(&mut self.told)
            }
            Expr::While(again) => {
                for _ in 0..2 {
                    let outside = self.known.clone();
                    self.value(&again.cond);
                    self.block(&again.body);
                    self.leave(outside);
                }
                Value::default()
            }
            Expr::ForLoop(again) => {
                let each = self.value(&again.expr);
                for _ in 0..2 {
                    let outside = self.known.clone();
                    self.bind(&again.pat, &each);
                    self.block(&again.body);
                    self.leave(outside);
                }
                Value::default()
            }
            Expr::Closure(closure) => self.closure(closure, &Value::default()),
            Expr::Call(call) => self.call(expression, call),
            Expr::MethodCall(call) => self.method(expression, call),
            Expr::Macro(call) => self.invocation(&call.mac),
            Expr::Struct(literal) => self.literal(literal),
            Expr::Return(told) => self.tell(told.expr.as_deref()),
            Expr::Break(told) => self.tell(told.expr.as_deref()),
            _ => Value::default(),
        }
    }

    fn tell(&mut self, told: Option<&Expr>) -> Value {
        if let Some(told) = told {
            let value = self.value(told);
            self.told = std::mem::take(&mut self.told).or(value);
        }
        Value::default()
    }

    fn path(&mut self, path: &syn::Path) -> Value {
        let Some(last) = path.segments.last() else { return Value::default() };
        let name = last.ident.to_string();
        if path.segments.len() == 1
            && let Some(known) = self.known.get(&name)
        {
            let counts = matches!(known.ty, Ty::Number | Ty::Unknown);
            let hot = known.hot || (means_credit(&name) && counts);
            return Value { hot, ..known.clone() };
        }
        let names = self.names(path);
        let owner = names.split_once("::").map_or("", |(owner, _)| owner);
        let shouted =
            name.chars().all(|c| c.is_ascii_uppercase() || c == '_' || c.is_ascii_digit());
        let hot = self.pass.heat.constant(owner, &name)
            || (shouted && owner.is_empty() && means_credit(&name));
        Value { hot, ..Value::default() }
    }

    fn binary(&mut self, whole: &Expr, binary: &syn::ExprBinary) -> Value {
        let (left, right) = (self.value(&binary.left), self.value(&binary.right));
        let hot = (left.is_hot() || right.is_hot())
            && !is_nothing(&binary.left)
            && !is_nothing(&binary.right);
        match binary.op {
            BinOp::And(_) | BinOp::Or(_) => Value::cold(Ty::Named("bool".to_owned())),
            BinOp::Eq(_)
            | BinOp::Ne(_)
            | BinOp::Lt(_)
            | BinOp::Gt(_)
            | BinOp::Le(_)
            | BinOp::Ge(_) => {
                if hot {
                    self.pass.found(whole);
                }
                Value::cold(Ty::Named("bool".to_owned()))
            }
            _ => {
                if hot {
                    self.pass.found(whole);
                    self.put(&binary.left, &Value { hot, ..Value::default() });
                }
                Value { hot, ..left.or(right) }
            }
        }
    }

    /// `value` is kept in `place`.
    pub(super) fn put(&mut self, place: &Expr, value: &Value) {
        match place {
            Expr::Path(path) => {
                if let Some(name) = path.path.get_ident()
                    && let Some(known) = self.known.get_mut(&name.to_string())
                {
                    *known = std::mem::take(known).or(value.clone());
                }
            }
            Expr::Field(field) => {
                let of = self.value(&field.base);
                let name = field.member.to_token_stream().to_string();
                if let (Ty::Named(owner), true) = (&of.ty, value.is_hot()) {
                    self.keep(&owner.clone(), &name);
                }
            }
            Expr::Tuple(parts) => {
                for (at, part) in parts.elems.iter().enumerate() {
                    self.put(part, &part_of(value, at));
                }
            }
            Expr::Unary(unary) => self.put(&unary.expr, value),
            Expr::Paren(inner) => self.put(&inner.expr, value),
            Expr::Reference(inner) => self.put(&inner.expr, value),
            Expr::Index(index) => self.put(&index.expr, value),
            Expr::MethodCall(call) => self.put(&call.receiver, value),
            _ => {}
        }
    }

    /// A credit lies in this field from now on, if the field can hold one.
    pub(super) fn keep(&mut self, owner: &str, name: &str) {
        let key = (owner.to_owned(), name.to_owned());
        if self.pass.shapes.fields.get(&key).is_some_and(Ty::may_count) {
            self.pass.heat.field(owner, name);
        }
    }

    fn literal(&mut self, literal: &syn::ExprStruct) -> Value {
        let path = self.names(&literal.path);
        for field in &literal.fields {
            let value = self.value(&field.expr);
            if value.is_hot() {
                self.keep(&path, &field.member.to_token_stream().to_string());
            }
        }
        if let Some(rest) = &literal.rest {
            self.value(rest);
        }
        Value::cold(Ty::Named(path.split("::").next().unwrap_or_default().to_owned()))
    }
}

/// What is asked there is whether there is a value at all.
fn is_nothing(expression: &Expr) -> bool {
    matches!(expression, Expr::Path(path) if path.path.is_ident("None"))
}

fn part_of(value: &Value, at: usize) -> Value {
    match value.parts.get(at) {
        Some(part) => part.clone(),
        None => {
            let ty = match &value.ty {
                Ty::Tuple(types) => types.get(at).cloned().unwrap_or_default(),
                _ => Ty::Unknown,
            };
            Value { hot: value.hot, ..Value::default() }.of_type(&ty)
        }
    }
}
