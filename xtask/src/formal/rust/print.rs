//! Writes checked declarations as Rust. What is written here is right; `rustfmt` makes it pretty.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::ir::{Field, Function, Model, Module, Shape, Type, TypeDef};
use super::names::{camel, named, snake};
use super::print_expr::Printer;

/// The widest line of a comment.
const WIDTH: usize = 100;

/// One file, without its header.
pub fn module(module: &Module, model: &Model) -> String {
    let mut out = String::new();
    doc(&mut out, "//!", &module.head, 0);
    let mut body = String::new();
    let mut printer = Printer::new(model, &module.name);
    for ty in &module.types {
        type_definition(&mut body, ty, &printer);
        let owned: Vec<_> = module
            .functions
            .iter()
            .filter(|function| function.owner.as_ref() == Some(&ty.name))
            .collect();
        if !owned.is_empty() {
            let _ = writeln!(body, "\nimpl {} {{", camel(&ty.name));
            for (at, function) in owned.iter().enumerate() {
                if at > 0 {
                    body.push('\n');
                }
                self::function(&mut body, function, &mut printer, 4);
            }
            body.push_str("}\n");
        }
    }
    for function in module.functions.iter().filter(|function| function.owner.is_none()) {
        body.push('\n');
        self::function(&mut body, function, &mut printer, 0);
    }
    let used = foreign(module, &printer);
    for name in &used {
        let _ = write!(out, "\nuse super::{name};");
    }
    if !used.is_empty() {
        out.push('\n');
    }
    out.push_str(&body);
    out
}

/// `mod.rs`, without its header.
pub fn root(model: &Model) -> String {
    let mut out = String::new();
    doc(
        &mut out,
        "//!",
        "What a window decides, and nothing else: plain state in, a new state and an answer out.\n\n\
         No clock, no lock, no thread, no I/O, no allocation. Waiting is a shell round these steps \
         (`credit`, `stream`); no other place in any language compares or counts a credit. Each file is \
         written from the decision of the same name in `formal/theories/Decide`, which the theorems in \
         `formal/theories/Law` are about. A step takes its state by value: it has taken place where the \
         new state is kept.",
        0,
    );
    out.push('\n');
    let mut names: Vec<_> = model.modules.iter().map(|module| snake(&module.name)).collect();
    names.sort_unstable();
    for name in &names {
        let _ = writeln!(out, "pub mod {name};");
    }
    out.push('\n');
    for module in &model.modules {
        let file = snake(&module.name);
        let ty = module.types.iter().map(|ty| camel(&ty.name)).find(|name| *name == module.name);
        let function = module
            .functions
            .iter()
            .find(|function| function.owner.is_none() && function.name == file);
        for name in ty.into_iter().chain(function.map(|function| function.name.clone())) {
            let _ = writeln!(out, "pub use {file}::{name};");
        }
    }
    out
}

fn foreign(module: &Module, printer: &Printer<'_>) -> BTreeSet<String> {
    let mut used: BTreeSet<String> = printer.used.iter().cloned().collect();
    let mut note = |ty: &Type| note_type(ty, &module.name, &mut used);
    for ty in &module.types {
        match &ty.shape {
            Shape::Record { fields, .. } => fields.iter().for_each(|field| note(&field.ty)),
            Shape::Enumeration(variants) => {
                variants.iter().flat_map(|variant| &variant.args).for_each(&mut note);
            }
        }
    }
    for function in &module.functions {
        function.params.iter().for_each(|(_, ty)| note(ty));
        note(&function.result);
    }
    used
}

fn note_type(ty: &Type, own: &str, used: &mut BTreeSet<String>) {
    match ty {
        Type::U64 | Type::Bool => {}
        Type::Option(inner) => note_type(inner, own, used),
        Type::Pair(left, right) => {
            note_type(left, own, used);
            note_type(right, own, used);
        }
        Type::Named(place) if place.module == own => {}
        Type::Named(place) => {
            used.insert(snake(&place.module));
        }
    }
}

fn type_definition(out: &mut String, ty: &TypeDef, printer: &Printer<'_>) {
    out.push('\n');
    doc(out, "///", &ty.doc, 0);
    let ordered = match &ty.shape {
        Shape::Enumeration(variants) => variants.iter().all(|variant| variant.args.is_empty()),
        Shape::Record { .. } => false,
    };
    let order = if ordered { ", PartialOrd, Ord" } else { "" };
    let _ = writeln!(out, "#[derive(Clone, Copy, Debug, PartialEq, Eq{order}, Hash)]");
    match &ty.shape {
        Shape::Record { fields, .. } => {
            let _ = writeln!(out, "pub struct {} {{", camel(&ty.name));
            for Field { name, doc: said, ty } in fields {
                doc(out, "///", said, 4);
                let _ = writeln!(out, "    pub {name}: {},", type_name(ty, printer));
            }
        }
        Shape::Enumeration(variants) => {
            let _ = writeln!(out, "pub enum {} {{", camel(&ty.name));
            for variant in variants {
                doc(out, "///", &variant.doc, 4);
                let args: Vec<_> = variant.args.iter().map(|ty| type_name(ty, printer)).collect();
                let args =
                    if args.is_empty() { String::new() } else { format!("({})", args.join(", ")) };
                let _ = writeln!(out, "    {}{args},", camel(&variant.name));
            }
        }
    }
    out.push_str("}\n");
}

fn function(out: &mut String, function: &Function, printer: &mut Printer<'_>, indent: usize) {
    doc(out, "///", &function.doc, indent);
    let constness = if function.is_const { "const " } else { "" };
    let result = type_name(&function.result, printer);
    if function.params.is_empty() && function.is_const {
        let value = printer.expr(&function.body);
        let _ =
            writeln!(out, "pub const {}: {result} = {value};", function.name.to_ascii_uppercase());
        return;
    }
    let method = function.is_method(printer.own);
    let _ = writeln!(out, "#[must_use = \"{}\"]", must_use(function, method, printer.own));
    let _ = write!(out, "pub {constness}fn {}(", function.name);
    for (at, (name, ty)) in function.params.iter().enumerate() {
        if at == 0 && method {
            out.push_str("self, ");
        } else {
            let _ = write!(out, "{name}: {}, ", type_name(ty, printer));
        }
    }
    let body = printer.block(&function.body);
    let _ = writeln!(out, ") -> {result} {{ {body} }}");
}

fn must_use(function: &Function, method: bool, own: &str) -> &'static str {
    let state = |ty: &Type| matches!(ty, Type::Named(place) if place.module == own && Some(&place.name) == function.owner.as_ref());
    match &function.result {
        result if state(result) && method => "a step takes place where its new state is kept",
        Type::Pair(left, _)
            if method
                && (state(left) || matches!(&**left, Type::Pair(first, _) if state(first))) =>
        {
            "a step takes place where its new state is kept, and its answer is owed to somebody"
        }
        _ => "this only answers, it changes nothing",
    }
}

/// A type as this file writes it.
pub fn type_name(ty: &Type, printer: &Printer<'_>) -> String {
    match ty {
        Type::U64 => "u64".to_owned(),
        Type::Bool => "bool".to_owned(),
        Type::Option(inner) => format!("Option<{}>", type_name(inner, printer)),
        Type::Pair(left, right) => {
            format!("({}, {})", type_name(left, printer), type_name(right, printer))
        }
        Type::Named(place) => named(place, printer.own),
    }
}

/// A comment, wrapped. `[n]` is how the source quotes code.
fn doc(out: &mut String, mark: &str, said: &str, indent: usize) {
    let said = said.replace(['[', ']'], "`");
    let width = WIDTH - indent - mark.len() - 1;
    for paragraph in said.split('\n') {
        let mut line = String::new();
        for word in paragraph.split_whitespace() {
            if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width {
                let _ = writeln!(out, "{mark} {line}");
                line.clear();
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        let _ = writeln!(out, "{}", format!("{mark} {line}").trim_end());
    }
}
