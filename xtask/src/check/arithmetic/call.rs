//! Calls: of functions of the library, whose answers are known, and of others, of which a few are.

use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::{Expr, Pat, Token};

use super::heat::Value;
use super::shape::{Key, Ty};
use super::walk::Walk;
use super::{METHODS, means_credit};

/// Answers of these say something of a credit that is no number of chunks.
const COOL: &[&str] = &[
    "len",
    "is_empty",
    "is_some",
    "is_none",
    "is_ok",
    "is_err",
    "contains",
    "contains_key",
    "to_string",
    "to_owned",
    "fmt",
    "as_str",
    "is_closed",
    "is_null",
    "field",
    "entry",
    "render",
    "clear",
    "windows",
    "as_millis",
    "as_secs",
    "as_nanos",
    "elapsed",
];

/// These put their last argument into what they are asked of.
const PUT: &[&str] = &[
    "store",
    "set",
    "push",
    "push_back",
    "push_front",
    "insert",
    "replace",
    "swap",
    "get_or_insert",
    "send",
    "try_send",
    "extend",
];

/// Calls that hand on what they are given.
const WRAP: &[&str] = &[
    "Some",
    "Ok",
    "Err",
    "Ready",
    "Break",
    "Continue",
    "from",
    "try_from",
    "new",
    "take",
    "replace",
    "black_box",
    "pin",
    "ready",
    "once",
    "repeat",
    "from_iter",
    "Reverse",
    "Wrapping",
    "Saturating",
];

/// `u64::max` and the like, by name.
fn counts(path: &syn::Path) -> bool {
    let last = path.segments.last().map(|segment| segment.ident.to_string());
    path.segments.len() > 1 && last.is_some_and(|last| METHODS.contains(&last.as_str()))
}

impl Walk<'_, '_> {
    pub(super) fn closure(&mut self, closure: &syn::ExprClosure, given: &Value) -> Value {
        let outside = self.known.clone();
        let told = std::mem::take(&mut self.told);
        for input in &closure.inputs {
            self.bind(input, given);
        }
        let last = self.value(&closure.body);
        let value = std::mem::replace(&mut self.told, told).or(last);
        self.leave(outside);
        match &closure.output {
            syn::ReturnType::Default => value,
            declared => {
                let ty = self.pass.aliases().answer(declared, &self.owner);
                value.of_type(&ty)
            }
        }
    }

    /// The arguments of a call; closures among them are given `of`, and what they answer comes back last.
    fn arguments(
        &mut self,
        arguments: &Punctuated<Expr, Token![,]>,
        of: &Value,
    ) -> (Vec<Value>, Option<Value>) {
        let mut closures: Option<Value> = None;
        let values = arguments.iter().map(|argument| match argument {
            Expr::Closure(closure) => {
                let value = self.closure(closure, of);
                closures = Some(closures.take().unwrap_or_default().or(value));
                Value::default()
            }
            Expr::Path(path) => match self.by_name(&path.path, argument, of) {
                Some(value) => {
                    closures = Some(closures.take().unwrap_or_default().or(value));
                    Value::default()
                }
                None => self.value(argument),
            },
            argument => self.value(argument),
        });
        let values = values.collect();
        (values, closures)
    }

    /// What a function answers that is handed over by its name, as in `map(Gate::available)`: that is as
    /// good as a closure.
    fn by_name(&mut self, path: &syn::Path, whole: &Expr, of: &Value) -> Option<Value> {
        if let Some(function) = self.function(path) {
            return Some(self.ask(&function, std::slice::from_ref(of), None));
        }
        if !counts(path) {
            return None;
        }
        if of.is_hot() {
            self.pass.found(whole);
        }
        Some(of.clone())
    }

    /// A function of ours is asked: its arguments are noted, its answer is what is known of it.
    fn ask(&mut self, function: &Key, arguments: &[Value], closures: Option<Value>) -> Value {
        for (at, argument) in arguments.iter().enumerate() {
            if argument.is_hot() {
                self.pass.heat.argument(function, at);
            }
        }
        let answer = self.pass.shapes.functions[function].answer.clone();
        let given = arguments.iter().any(Value::is_hot);
        let known = self.pass.heat.answer(function, given).unwrap_or_default();
        let named = means_credit(&function.1) && answer == Ty::Number;
        let known = Value { hot: known.hot || named, ..known }.of_type(&answer);
        if answer == Ty::Unknown { known.or(closures.unwrap_or_default()) } else { known }
    }

    /// The function of ours that a path names.
    fn function(&self, path: &syn::Path) -> Option<Key> {
        let segments: Vec<_> = path.segments.iter().map(|s| s.ident.to_string()).collect();
        let module = segments.len().checked_sub(2).map(|at| segments[at].as_str());
        let (names, shapes) = (self.names(path), self.pass.shapes);
        let key = match names.split_once("::") {
            Some((owner, name)) => (owner.to_owned(), name.to_owned()),
            None if self.known.contains_key(&names) => return None,
            None => self.pass.aliases().free(shapes, module, segments.last()?)?,
        };
        shapes.functions.contains_key(&key).then_some(key)
    }

    pub(super) fn call(&mut self, whole: &Expr, call: &syn::ExprCall) -> Value {
        let (arguments, closures) = self.arguments(&call.args, &Value::default());
        let Expr::Path(path) = &*call.func else {
            let called = self.value(&call.func);
            return closures.map_or(called.clone(), |closures| called.or(closures));
        };
        let name = path.path.segments.last().map_or_else(String::new, |s| s.ident.to_string());
        if let Some(known) =
            path.path.get_ident().and_then(|name| self.known.get(&name.to_string()))
        {
            return known.clone(); // a closure: what it answers
        }
        let names = self.names(&path.path);
        if let Some(key) = self.function(&path.path) {
            // `T::f(of, …)`: what it is asked of is no argument.
            let takes_self = self.pass.shapes.functions[&key].takes_self;
            let skip = usize::from(takes_self).min(arguments.len());
            return self.ask(&key, &arguments[skip..], closures);
        }
        let variant = self.pass.shapes.fields.contains_key(&(names.clone(), "0".to_owned()));
        let hot = arguments.iter().any(Value::is_hot);
        if variant {
            for (at, argument) in arguments.iter().enumerate() {
                if argument.is_hot() {
                    self.keep(&names, &at.to_string());
                }
            }
            let owner = names.split("::").next().unwrap_or_default();
            return Value::cold(Ty::Named(owner.to_owned()));
        }
        if hot && METHODS.contains(&name.as_str()) {
            self.pass.found(whole);
        }
        let handed = arguments.into_iter().reduce(Value::or).unwrap_or_default();
        let handed = closures.map_or(handed.clone(), |closures| handed.or(closures));
        if WRAP.contains(&name.as_str()) || METHODS.contains(&name.as_str()) {
            return handed;
        }
        Value { hot: means_credit(&name), ..Value::default() }
    }

    pub(super) fn method(&mut self, whole: &Expr, call: &syn::ExprMethodCall) -> Value {
        let of = self.value(&call.receiver);
        let name = call.method.to_string();
        let (arguments, closures) = self.arguments(&call.args, &of);
        let methods = self.pass.shapes.methods(&of.ty, &name);
        if let [function] = &methods[..]
            && (of.ty != Ty::Unknown || !of.hot)
        {
            return self.ask(&function.clone(), &arguments, closures);
        }
        let hot = arguments.iter().any(Value::is_hot);
        if (of.is_hot() || hot) && METHODS.contains(&name.as_str()) {
            self.pass.found(whole);
        }
        if COOL.contains(&name.as_str()) {
            return Value::default();
        }
        if PUT.contains(&name.as_str()) && hot {
            self.put(&call.receiver, &Value { hot, ..Value::default() });
        }
        // Of several functions of ours that it may be, all answer with a credit.
        let all = !methods.is_empty()
            && methods.iter().all(|function| {
                self.pass.heat.answer(function, false).is_some_and(|answer| answer.hot)
            });
        let ty = if closures.is_some() { Ty::Unknown } else { of.ty.clone() };
        let handed = Value { ty, ..of.clone() };
        let handed = match closures {
            Some(closures) => closures.or(Value { hot: of.hot && of.ty == Ty::Number, ..handed }),
            None => handed,
        };
        let given = hot && name.starts_with("unwrap_or");
        let named = means_credit(&name) && matches!(of.ty, Ty::Unknown | Ty::Named(_));
        Value { hot: handed.hot || all || given || named, ..handed }
    }

    /// A macro whose words are expressions; others are for the lint over words.
    pub(super) fn invocation(&mut self, call: &syn::Macro) -> Value {
        let name = call.path.segments.last().map_or_else(String::new, |s| s.ident.to_string());
        if name == "matches" {
            let parser = |input: syn::parse::ParseStream<'_>| {
                let of: Expr = input.parse()?;
                input.parse::<Token![,]>()?;
                let pattern = Pat::parse_multi_with_leading_vert(input)?;
                let guard = if input.peek(Token![if]) {
                    input.parse::<Token![if]>()?;
                    Some(input.parse::<Expr>()?)
                } else {
                    None
                };
                input.parse::<Option<Token![,]>>()?;
                Ok((of, pattern, guard))
            };
            if let Ok((of, pattern, guard)) = parser.parse2(call.tokens.clone()) {
                let outside = self.known.clone();
                let of = self.value(&of);
                self.bind(&pattern, &of);
                if let Some(guard) = guard {
                    self.value(&guard);
                }
                self.leave(outside);
            }
            return Value::default();
        }
        let parser = Punctuated::<Expr, Token![,]>::parse_terminated;
        let Ok(arguments) = parser.parse2(call.tokens.clone()) else { return Value::default() };
        let values: Vec<_> = arguments.iter().map(|argument| self.value(argument)).collect();
        let compares = name.ends_with("assert_eq") || name.ends_with("assert_ne");
        if compares && values.iter().take(2).any(Value::is_hot) {
            self.pass.found(call);
        }
        if name == "vec" || name == "ready" {
            return values.into_iter().reduce(Value::or).unwrap_or_default();
        }
        Value::default()
    }
}
