//! Where a credit goes in Rust. What comes out of the model's fields and answers, and what bears a
//! credit's name, stays a credit under every other name: through `let`, patterns, closures, arguments,
//! fields and answers. Arithmetic on it is found.

use syn::{ImplItem, Item, TraitItem};

use super::heat::{Heat, Value};
use super::means_credit;
use super::pass::{Found, Parsed, Pass, is_test};
use super::shape::{Key, Shapes, Ty, owner};
use super::walk::Walk;

/// All arithmetic on credits in `files`.
pub fn find(files: &[Parsed]) -> Vec<Found> {
    let (mut shapes, mut heat) = (Shapes::default(), Heat::default());
    for file in files {
        shapes.learn(&file.items, &file.aliases);
    }
    for file in files.iter().filter(|file| file.source) {
        sources(file, &shapes, &mut heat);
    }
    loop {
        let before = heat.size();
        let mut found = Vec::new();
        for (at, file) in files.iter().enumerate().filter(|(_, file)| !file.counts) {
            let within = Vec::new();
            let mut pass =
                Pass { file: at, parsed: file, shapes: &shapes, heat: &mut heat, found, within };
            pass.items(&file.items);
            while let Some(item) = pass.within.pop() {
                pass.items(&[item]);
            }
            found = pass.found;
        }
        if heat.size() == before {
            found.sort_by(|a, b| (a.file, a.line, &a.what).cmp(&(b.file, b.line, &b.what)));
            found.dedup();
            return found;
        }
    }
}

/// What a file of the model gives out.
fn sources(file: &Parsed, shapes: &Shapes, heat: &mut Heat) {
    let mut own = Shapes::default();
    own.learn(&file.items, &file.aliases);
    for ((owner, name), ty) in &own.fields {
        if ty.may_count() {
            heat.field(owner, name);
        }
    }
    for key in own.functions.keys() {
        let answer = Value { hot: true, ..Value::default() }.of_type(&shapes.functions[key].answer);
        if answer.is_hot() {
            heat.learn(key, file.hands_on, answer);
        }
    }
}

impl Pass<'_> {
    fn items(&mut self, items: &[Item]) {
        for item in items {
            self.item(item);
        }
    }

    fn item(&mut self, item: &Item) {
        match item {
            Item::Fn(function) if !is_test(&function.attrs) => {
                let home = self.aliases().home().to_owned();
                self.function(&home, &function.sig, &function.block);
            }
            Item::Impl(block) if !is_test(&block.attrs) => {
                let owner = owner(&block.self_ty, self.aliases());
                for item in &block.items {
                    match item {
                        ImplItem::Fn(function) if !is_test(&function.attrs) => {
                            self.function(&owner, &function.sig, &function.block);
                        }
                        ImplItem::Const(constant) => {
                            self.constant(&owner, &constant.ident.to_string(), &constant.expr);
                        }
                        _ => {}
                    }
                }
            }
            Item::Trait(declared) if !is_test(&declared.attrs) => {
                for item in &declared.items {
                    if let TraitItem::Fn(function) = item
                        && let Some(block) = &function.default
                    {
                        self.function(&declared.ident.to_string(), &function.sig, block);
                    }
                }
            }
            Item::Mod(module) if !is_test(&module.attrs) => {
                if let Some((_, items)) = &module.content {
                    self.items(items);
                }
            }
            Item::Const(constant) if !is_test(&constant.attrs) => {
                self.constant("", &constant.ident.to_string(), &constant.expr);
            }
            Item::Static(constant) if !is_test(&constant.attrs) => {
                self.constant("", &constant.ident.to_string(), &constant.expr);
            }
            _ => {}
        }
    }

    fn constant(&mut self, owner: &str, name: &str, value: &syn::Expr) {
        if Walk::new(self, owner).value(value).is_hot() {
            self.heat.constants.insert((owner.to_owned(), name.to_owned()));
        }
    }

    fn function(&mut self, owner: &str, signature: &syn::Signature, block: &syn::Block) {
        let key: Key = (owner.to_owned(), signature.ident.to_string());
        let answer = self.shapes.functions.get(&key).map(|known| known.answer.clone());
        let answer = answer.unwrap_or_default();
        let arguments = signature.inputs.iter().filter_map(|input| match input {
            syn::FnArg::Typed(argument) => Some(argument),
            syn::FnArg::Receiver(_) => None,
        });
        let named = means_credit(&key.1) && answer == Ty::Number;
        for given in [false, true] {
            let mut walk = Walk::new(self, owner);
            for (at, argument) in arguments.clone().enumerate() {
                walk.argument(given.then_some((&key, at)), &argument.pat, &argument.ty);
            }
            let told = walk.body(block).of_type(&answer);
            let told = Value { hot: told.hot || named, ..told };
            self.heat.learn(&key, given, told);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODEL: &str = "
        pub struct Gate { pub available: u64, pub closed: bool }
        impl Gate {
            pub fn opened(n: u64) -> Gate { Gate { available: n, closed: false } }
            pub fn flush(self) -> (Gate, u64) { (self, self.available) }
        }
        pub enum Share { Sent(u64), Kept }";

    /// The lines, beginning with 1, of what is found in a file beside the model.
    fn lines(text: &str) -> Vec<usize> {
        let model = Parsed::new("core/src/model/gate.rs", MODEL, true, true).expect("Rust");
        let user = Parsed::new("core/src/user.rs", text, false, false).expect("Rust");
        let found = find(&[model, user]);
        assert!(found.iter().all(|found| found.file == 1), "nothing is looked for in the model");
        found.into_iter().map(|found| found.line).collect()
    }

    #[test]
    fn a_copy_under_another_name_is_found() {
        for planted in [
            "fn f(g: &Gate) {\n let left = g.available;\n if left > 3 {} }",
            "fn f(g: Gate) {\n let (next, due) = g.flush();\n let x = due + 1; }",
            "fn f(g: Gate) {\n let due = g.flush().1;\n let x = due.saturating_sub(1); }",
            "fn f(g: &Gate) {\n let a = g.available; let b = a; let c = b as usize;\n let d = c * 2; }",
            "fn f(g: &Gate) {\n let Gate { available: a, .. } = g;\n let d = 2 - *a; }",
            "fn f(g: &Gate) {\n let a = if x { g.available } else { 0 };\n let d = a != 2; }",
            "fn f(g: &Gate) {\n let a = match x { A => g.available, _ => 0 };\n let d = n.min(a); }",
            "fn f(g: &Mutex<Gate>) {\n let a = g.lock().unwrap().available;\n let d = 2 < a; }",
            "fn f(g: Option<Gate>) {\n let a = g.map(|g| g.available).unwrap_or(0);\n let d = 2 < a; }",
            "fn f(s: Share) {\n if let Share::Sent(n) = s {\n let d = n % 2; } }",
            "fn f(g: &Gate) {\n let a = Some(g.available)?;\n matches!(a, 0); }",
            "fn f(g: &Gate) {\n match g.available {\n 0 => x(), _ => y() } }",
            "fn f(g: &Gate) {\n let a = g.available;\n for _ in 0..a { x() } }",
            "fn f(g: &Gate) {\n let mut a = 0; a = g.available;\n a += 1; }",
            "fn f(g: &Gate) {\n let a = g.available;\n assert_eq!(a, 3); }",
            "fn f(g: &Gate) {\n let a = u64::from(g.available);\n x.fetch_add(a, Relaxed); }",
            "impl Gate { fn left(&self) -> u64 { self.available } } fn f(g: &[Gate]) {\n let a = g.iter().map(Gate::left);\n a.min(); }",
            "fn f(g: &[Gate]) {\n let a = g.iter().map(|g| g.available);\n a.fold(0, u64::saturating_add); }",
            "async fn f(g: &Gate) {\n let a = async { g.available }.await;\n std::cmp::max(a, 1); }",
        ] {
            assert_eq!(lines(planted), [3], "{planted}");
        }
    }

    #[test]
    fn a_credit_is_followed_through_fields_answers_and_arguments() {
        for planted in [
            "struct Sack { n: u64 } impl Sack { fn set(&mut self, g: &Gate) { self.n = g.available; }\n fn get(&self) {\n if self.n > 2 {} } }",
            "struct Sack { n: u64 } fn f(g: &Gate) -> Sack { Sack { n: g.available } }\n fn h(s: &Sack) {\n s.n + 1; }",
            "struct Sack(u64); fn f(g: &Gate) -> Sack { Sack(g.available) }\n fn h(s: &Sack) {\n s.0 + 1; }",
            "enum Either { A { n: u64 } } fn f(g: &Gate) -> Either { Either::A { n: g.available } }\n fn h(e: Either) { if let Either::A { n } = e {\n n + 1; } }",
            "fn left(g: &Gate) -> u64 { g.available }\n fn h(g: &Gate) {\n left(g) - 1; }",
            "impl Tool { fn left(&self) -> u64 { self.g().flush().1 } fn g(&self) -> Gate { x() } }\n fn h(t: &Tool) {\n t.left() - 1; }",
            "fn h(g: &Gate) { show(g.available); }\n fn show(n: u64) {\n n / 2; }",
            "struct Sack { n: AtomicU64 } fn f(s: &Sack, g: &Gate) { s.n.store(g.available, Relaxed); }\n fn h(s: &Sack) {\n s.n.load(Relaxed) == 1; }",
            "fn same(n: u64) -> u64 { n } fn h(g: &Gate) {\n let a = same(g.available);\n a - 1; }",
            "const MOST: u64 = WINDOW;\n fn h(n: u64) {\n n > MOST; }",
        ] {
            assert_eq!(lines(planted), [3], "{planted}");
        }
    }

    #[test]
    fn what_is_no_credit_is_left_alone() {
        for innocent in [
            "fn f(g: &Gate) { let next = Gate::opened(3); keep(next, g.available); }",
            "fn f(g: &Gate) -> bool { let left = 3; let x = g.available; left > 2 }",
            "fn f(g: &Gate) { let left = g.available; let left = 3; left - 1; }",
            "fn f(g: Gate) { let (g, due) = g.flush(); if g.closed == true {} send(due); }",
            "fn same(n: u64) -> u64 { n } fn f(g: &Gate) { same(g.available); same(3) - 1; }",
            "struct Sack { n: u64, m: u64 } fn f(g: &Gate) -> Sack { Sack { n: g.available, m: 1 } } fn h(s: &Sack) { s.m + 1; }",
            "#[cfg(test)] mod tests { fn f(g: &Gate) { g.available - 1; } }",
            "fn f(g: &Gate) { println!(\"{}\", g.available); format!(\"{}\", 1 + 2); }",
        ] {
            assert_eq!(lines(innocent), [0; 0], "{innocent}");
        }
    }
}
