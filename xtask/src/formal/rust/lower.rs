//! From the extracted tree of one file to checked declarations.

use std::collections::BTreeSet;

use anyhow::{Context, Result, anyhow, bail};
use serde_json::{Value, json};

use super::body::{Body, is_const};
use super::ir::{Field, Function, Model, Module, Place, Shape, Type, TypeDef, Variant};
use super::names::{refuse_keyword, rust_name};
use super::source::{Item, Kind, Source};
use super::tree::{list, place, text};

/// Checks the tree of `source`'s file against the fragment. `model` holds the files that it may use.
pub fn module(tree: &Value, source: &Source, model: &Model) -> Result<Module> {
    let module = Module {
        name: source.module.clone(),
        file: source.file.clone(),
        head: source.head.clone(),
        types: Vec::new(),
        functions: Vec::new(),
    };
    let mut lower = Lower { source, model, asked: BTreeSet::new(), module };
    let declarations = list(tree, "declarations")?;
    lower.asked = declarations.iter().filter_map(asked_of).map(str::to_owned).collect();
    for declaration in declarations {
        lower.declaration(declaration)?;
    }
    for item in &source.items {
        let module = &lower.module;
        if !module.types.iter().any(|ty| ty.name == item.name)
            && !module.functions.iter().any(|function| function.name == item.name)
        {
            bail!(
                "{}:{}: `{}` was not extracted: it decides nothing",
                source.file,
                item.line,
                item.name
            );
        }
    }
    Ok(lower.module)
}

struct Lower<'a> {
    source: &'a Source,
    model: &'a Model,
    /// The types of this file that a function takes first: they have methods.
    asked: BTreeSet<String>,
    module: Module,
}

impl Lower<'_> {
    fn declaration(&mut self, declaration: &Value) -> Result<()> {
        match text(declaration, "what")? {
            "decl:ind" => self.type_definition(declaration),
            "decl:term" if self.is_projection(text(declaration, "name")?) => Ok(()),
            "decl:term" => self.function(declaration),
            "decl:fixgroup" => {
                let first = list(declaration, "fixlist")?.first();
                let name = first.map_or(Ok("fix"), |first| text(first, "name"))?;
                let item = self.source.item(name);
                bail!(
                    "{}:{}: `{name}` is recursive, and a decision is one step",
                    self.source.file,
                    item.map_or(1, |item| item.line)
                )
            }
            other => bail!("{}:1: {other} is not of the fragment", self.source.file),
        }
    }

    fn item(&self, name: &str) -> Result<&Item> {
        self.source.item(name).ok_or_else(|| {
            anyhow!("{}:1: `{name}` was extracted, and is not in the file", self.source.file)
        })
    }

    fn is_projection(&self, name: &str) -> bool {
        self.module.types.iter().any(|ty| match &ty.shape {
            Shape::Record { fields, .. } => fields.iter().any(|field| field.name == name),
            Shape::Enumeration(_) => false,
        })
    }

    fn type_definition(&mut self, declaration: &Value) -> Result<()> {
        let name = text(declaration, "name")?;
        let item = self.item(name)?;
        if !list(declaration, "argnames")?.is_empty() {
            return Err(self.refused(item, name, "has a type as argument"));
        }
        let constructors = list(declaration, "constructors")?;
        let shape = if item.kind == Kind::Record {
            let [constructor] = &constructors[..] else {
                return Err(self.refused(item, name, "is no record"));
            };
            let types = list(constructor, "argtypes")?;
            if types.len() != item.parts.len() {
                return Err(self.refused(item, name, "has fields that were not extracted"));
            }
            let fields = item.parts.iter().zip(types).map(|(part, ty)| {
                refuse_keyword(&part.name).map_err(|why| self.refused(item, &part.name, &why))?;
                Ok(Field { name: part.name.clone(), doc: part.doc.clone(), ty: self.ty(ty, item)? })
            });
            let fields = fields.collect::<Result<Vec<_>>>()?;
            Shape::Record { constructor: text(constructor, "name")?.to_owned(), fields }
        } else {
            let variants = constructors.iter().zip(&item.parts).map(|(constructor, part)| {
                let types = list(constructor, "argtypes")?;
                let args = types.iter().map(|ty| self.ty(ty, item)).collect::<Result<Vec<_>>>()?;
                Ok(Variant { name: part.name.clone(), doc: part.doc.clone(), args })
            });
            Shape::Enumeration(variants.collect::<Result<Vec<_>>>()?)
        };
        let ty = TypeDef { name: name.to_owned(), doc: item.doc.clone(), shape };
        self.module.types.push(ty);
        Ok(())
    }

    fn function(&mut self, declaration: &Value) -> Result<()> {
        let name = text(declaration, "name")?;
        let item = self.item(name)?;
        refuse_keyword(name).map_err(|why| self.refused(item, name, &why))?;
        let value = &declaration["value"];
        let (mut argnames, body) = match text(value, "what")? {
            "expr:lambda" => (list(value, "argnames")?.clone(), value["body"].clone()),
            _ => (Vec::new(), value.clone()),
        };
        if argnames.len() > item.parts.len() {
            return Err(self.refused(item, name, "takes an argument that it does not name"));
        }
        // Extraction leaves the last arguments out where they are only handed on.
        let handed_on: Vec<_> =
            item.parts[argnames.len()..].iter().map(|part| part.name.as_str()).collect();
        let body = &applied(body, &handed_on);
        argnames.extend(handed_on.iter().map(|name| Value::from(*name)));
        let mut types = Vec::new();
        let mut rest = &declaration["type"];
        for _ in &argnames {
            types.push(self.ty(&rest["left"], item)?);
            rest = &rest["right"];
        }
        let result = self.ty(rest, item)?;
        let owner = self.owner(types.first(), &result);
        let mut params = Vec::new();
        for ((part, argname), ty) in item.parts.iter().zip(&argnames).zip(types) {
            refuse_keyword(&part.name).map_err(|why| self.refused(item, &part.name, &why))?;
            let unused = argname == "_";
            params
                .push((format!("{}{}", if unused { "_" } else { "" }, rust_name(&part.name)), ty));
        }
        let mut function = Function {
            name: name.to_owned(),
            doc: item.doc.clone(),
            params,
            result,
            body: super::ir::Expr::None,
            owner,
            is_const: true,
        };
        let method = function.is_method(&self.module.name);
        let mut reader = Body::new(self.model, &self.module, self.source, item);
        for (at, (argname, (param, _))) in argnames.iter().zip(&function.params).enumerate() {
            let rust = if at == 0 && method { "self" } else { param };
            reader.bind(argname.as_str().unwrap_or("_"), rust);
        }
        function.body = reader.expr(body)?;
        function.is_const = is_const(&function.body, self.model, &self.module);
        self.module.functions.push(function);
        Ok(())
    }

    /// The type of this file that a function belongs to: the one it is asked of, or the one it makes
    /// if others are asked of that. An answer that nobody asks anything has no functions of its own.
    fn owner(&self, first: Option<&Type>, result: &Type) -> Option<String> {
        let made = match result {
            Type::Option(inner) => inner,
            other => other,
        };
        let own = |ty: &Type| match ty {
            Type::Named(place) if place.module == self.module.name => Some(place.name.clone()),
            _ => None,
        };
        first.and_then(own).or_else(|| own(made).filter(|made| self.asked.contains(made)))
    }

    fn ty(&self, ty: &Value, item: &Item) -> Result<Type> {
        if text(ty, "what")? != "type:glob" {
            return Err(self.refused(
                item,
                &item.name,
                "has an argument or result that is no plain type",
            ));
        }
        let name = text(ty, "name")?;
        let args = list(ty, "args")?;
        let arg = |at: usize| {
            args.get(at).context("a type lacks its argument").and_then(|arg| self.ty(arg, item))
        };
        Ok(match name {
            "BinNums.coq_N" => Type::U64,
            "Datatypes.bool" => Type::Bool,
            "Datatypes.option" => Type::Option(Box::new(arg(0)?)),
            "Datatypes.prod" => Type::Pair(Box::new(arg(0)?), Box::new(arg(1)?)),
            _ => {
                let place = self.place(name);
                let known = if place.module == self.module.name {
                    Some(&self.module)
                } else {
                    self.model.module(&place.module)
                };
                if !known.is_some_and(|module| module.types.iter().any(|ty| ty.name == place.name))
                {
                    return Err(self.refused(item, name, "is a type outside of the fragment"));
                }
                Type::Named(place)
            }
        })
    }

    fn place(&self, name: &str) -> Place {
        place(name, &self.module.name)
    }

    fn refused(&self, item: &Item, name: &str, why: &str) -> anyhow::Error {
        anyhow!("{}:{}: `{name}` {why}", self.source.file, item.line_of(name))
    }
}

/// `body`, applied to these variables.
fn applied(mut body: Value, variables: &[&str]) -> Value {
    if variables.is_empty() {
        return body;
    }
    let variables = variables.iter().map(|name| json!({ "what": "expr:rel", "name": name }));
    if body["what"] == "expr:apply"
        && let Some(args) = body["args"].as_array_mut()
    {
        args.extend(variables);
        return body;
    }
    json!({ "what": "expr:apply", "func": body, "args": variables.collect::<Vec<_>>() })
}

/// The type that a function of the tree takes first, if that is one of its own file. A projection
/// takes its record too: it is told apart by its name being a field, which its record says already.
fn asked_of(declaration: &Value) -> Option<&str> {
    let projection = declaration["value"]["body"]["cases"][0]["body"]["what"] == "expr:rel"
        && declaration["value"]["body"]["cases"].as_array().is_some_and(|cases| cases.len() == 1);
    let first = declaration["type"]["left"]["name"].as_str()?;
    (declaration["what"] == "decl:term" && !projection && !first.contains('.')).then_some(first)
}
