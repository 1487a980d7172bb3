//! What the Rust of the library is made of, as far as a number's way through it needs to be known: which
//! type a field has, which function belongs to what and answers with what.

use std::collections::HashMap;

use syn::{
    Fields, GenericArgument, ImplItem, Item, PathArguments, ReturnType, TraitItem, Type,
    TypeParamBound, UseTree,
};

/// A type, seen through everything that only holds another: `Arc<Mutex<Option<X>>>` is `X`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Ty {
    /// Not known, or a parameter of the function.
    #[default]
    Unknown,
    Number,
    Named(String),
    Tuple(Vec<Ty>),
}

impl Ty {
    /// True if a number may lie in it that is no field's.
    pub fn may_count(&self) -> bool {
        match self {
            Ty::Unknown | Ty::Number => true,
            Ty::Named(_) => false,
            Ty::Tuple(parts) => parts.iter().any(Ty::may_count),
        }
    }
}

/// A function: whose it is (a type, or the file of a free one), and its name.
pub type Key = (String, String);

/// What calls need to know of a function.
#[derive(Clone, Debug)]
pub struct Signature {
    pub takes_self: bool,
    pub answer: Ty,
}

/// All types and functions by name. Types of one name in two crates are taken for one.
#[derive(Default)]
pub struct Shapes {
    /// The fields of a struct `S`, or of a variant `E::V`.
    pub fields: HashMap<(String, String), Ty>,
    pub functions: HashMap<Key, Signature>,
}

/// Types that a count of chunks is declared with.
const NUMBERS: &[&str] = &[
    "u32",
    "u64",
    "u128",
    "usize",
    "i64",
    "i128",
    "isize",
    "f64",
    "AtomicU64",
    "AtomicUsize",
    "AtomicU32",
    "AtomicI64",
    "NonZeroU64",
    "NonZeroUsize",
    "NonZeroU32",
];

/// Types that hold another, and which of their arguments that is (`usize::MAX`: the last).
const HOLDERS: &[(&str, usize)] = &[
    ("Arc", 0),
    ("Rc", 0),
    ("Box", 0),
    ("Weak", 0),
    ("Mutex", 0),
    ("MutexGuard", 0),
    ("RwLock", 0),
    ("RefCell", 0),
    ("Cell", 0),
    ("Option", 0),
    ("Result", 0),
    ("Vec", 0),
    ("VecDeque", 0),
    ("OnceLock", 0),
    ("Pin", 0),
    ("Watched", 0),
    ("Poll", 0),
    ("HashSet", 0),
    ("BTreeSet", 0),
    ("PyResult", 0),
    ("Bound", usize::MAX),
    ("HashMap", usize::MAX),
    ("BTreeMap", usize::MAX),
    ("PyRef", 0),
    ("PyRefMut", 0),
    ("Py", 0),
    ("Cow", 0),
    ("Ref", 0),
    ("RefMut", 0),
    ("ManuallyDrop", 0),
    ("Saturating", 0),
    ("Wrapping", 0),
];

/// The names that a file gives to what it uses: `use model::feed::Feed as Machine`.
pub struct Aliases {
    file: String,
    /// The true name, and the module that it is of.
    used: HashMap<String, (String, String)>,
}

impl Aliases {
    pub fn of(file: &str, items: &[Item]) -> Self {
        let mut aliases = Aliases { file: file.to_owned(), used: HashMap::new() };
        for item in items {
            if let Item::Use(used) = item {
                aliases.learn(&used.tree, "");
            }
        }
        aliases
    }

    fn learn(&mut self, tree: &UseTree, module: &str) {
        let mut know = |name: &syn::Ident, real: &syn::Ident| {
            self.used.insert(name.to_string(), (real.to_string(), module.to_owned()));
        };
        match tree {
            UseTree::Path(path) => self.learn(&path.tree, &path.ident.to_string()),
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.learn(tree, module)),
            UseTree::Rename(rename) => know(&rename.rename, &rename.ident),
            UseTree::Name(name) => know(&name.ident, &name.ident),
            UseTree::Glob(_) => {}
        }
    }

    pub fn real(&self, name: &str) -> String {
        self.used.get(name).map_or(name, |(real, _)| real).to_owned()
    }

    /// The owner of free functions, which is their file.
    pub fn home(&self) -> &str {
        &self.file
    }

    /// The free function that a file calls `name`, said to be of `module` or of none.
    pub fn free(&self, shapes: &Shapes, module: Option<&str>, name: &str) -> Option<Key> {
        let (real, used) = self.used.get(name).map_or((name, None), |(n, m)| (n, Some(m)));
        let module = module.or(used.map(String::as_str));
        let own: Key = (self.file.clone(), real.to_owned());
        if module.is_none() && shapes.functions.contains_key(&own) {
            return Some(own);
        }
        let top = |file: &str| file.split("src/").next().unwrap_or_default().to_owned();
        let is = |(owner, named): &&Key| {
            named == real && owner.contains("src/") && top(owner) == top(&self.file)
        };
        let of = |(owner, _): &&Key| {
            module.is_none_or(|module| {
                ["crate", "super", "self"].contains(&module)
                    || owner.ends_with(&format!("/{module}.rs"))
                    || owner.contains(&format!("/{module}/"))
            })
        };
        let mut candidates = shapes.functions.keys().filter(is).filter(of);
        let found = candidates.next()?.clone();
        candidates.next().is_none().then_some(found)
    }

    /// `ty`, where `Self` is `owner`.
    pub fn sketch(&self, ty: &Type, owner: &str) -> Ty {
        match ty {
            Type::Reference(to) => self.sketch(&to.elem, owner),
            Type::Paren(inner) => self.sketch(&inner.elem, owner),
            Type::Group(inner) => self.sketch(&inner.elem, owner),
            Type::Slice(of) => self.sketch(&of.elem, owner),
            Type::Array(of) => self.sketch(&of.elem, owner),
            Type::Ptr(to) => self.sketch(&to.elem, owner),
            Type::Tuple(parts) => {
                Ty::Tuple(parts.elems.iter().map(|part| self.sketch(part, owner)).collect())
            }
            Type::ImplTrait(some) => self.bounds(some.bounds.iter(), owner),
            Type::TraitObject(some) => self.bounds(some.bounds.iter(), owner),
            Type::Path(path) => {
                path.path.segments.last().map_or(Ty::Unknown, |last| self.segment(last, owner))
            }
            _ => Ty::Unknown,
        }
    }

    fn segment(&self, last: &syn::PathSegment, owner: &str) -> Ty {
        let name = last.ident.to_string();
        if NUMBERS.contains(&name.as_str()) {
            return Ty::Number;
        }
        if let Some((_, at)) = HOLDERS.iter().find(|(holder, _)| *holder == name) {
            let PathArguments::AngleBracketed(inside) = &last.arguments else { return Ty::Unknown };
            let held: Vec<&Type> = inside
                .args
                .iter()
                .filter_map(|argument| match argument {
                    GenericArgument::Type(ty) => Some(ty),
                    _ => None,
                })
                .collect();
            let held = if *at == usize::MAX { held.last() } else { held.get(*at) };
            return held.map_or(Ty::Unknown, |ty| self.sketch(ty, owner));
        }
        match name.as_str() {
            "Self" if owner.is_empty() || owner.contains('/') => Ty::Unknown,
            "Self" => Ty::Named(owner.to_owned()),
            _ if name.len() == 1 => Ty::Unknown, // a parameter
            _ => Ty::Named(self.real(&name)),
        }
    }

    /// `impl Future<Output = X>`, `impl Iterator<Item = X>` and `impl Fn() -> X` are `X`.
    fn bounds<'a>(&self, bounds: impl Iterator<Item = &'a TypeParamBound>, owner: &str) -> Ty {
        for bound in bounds {
            let TypeParamBound::Trait(bound) = bound else { continue };
            let Some(last) = bound.path.segments.last() else { continue };
            match &last.arguments {
                PathArguments::AngleBracketed(inside) => {
                    for argument in &inside.args {
                        if let GenericArgument::AssocType(named) = argument {
                            return self.sketch(&named.ty, owner);
                        }
                    }
                }
                PathArguments::Parenthesized(call) => return self.answer(&call.output, owner),
                PathArguments::None => return Ty::Named(last.ident.to_string()),
            }
        }
        Ty::Unknown
    }

    pub fn answer(&self, answer: &ReturnType, owner: &str) -> Ty {
        match answer {
            ReturnType::Default => Ty::Tuple(Vec::new()),
            ReturnType::Type(_, ty) => self.sketch(ty, owner),
        }
    }
}

impl Shapes {
    /// Adds what a file declares.
    pub fn learn(&mut self, items: &[Item], aliases: &Aliases) {
        for item in items {
            match item {
                Item::Struct(declared) => {
                    self.fields_of(&declared.ident.to_string(), &declared.fields, aliases);
                }
                Item::Enum(declared) => {
                    for variant in &declared.variants {
                        let name = format!("{}::{}", declared.ident, variant.ident);
                        self.fields_of(&name, &variant.fields, aliases);
                    }
                }
                Item::Fn(function) => self.function(aliases.home(), &function.sig, aliases),
                Item::Impl(block) => {
                    let owner = owner(&block.self_ty, aliases);
                    for item in &block.items {
                        if let ImplItem::Fn(function) = item {
                            self.function(&owner, &function.sig, aliases);
                        }
                    }
                }
                Item::Trait(declared) => {
                    for item in &declared.items {
                        if let TraitItem::Fn(function) = item {
                            self.function(&declared.ident.to_string(), &function.sig, aliases);
                        }
                    }
                }
                Item::Mod(module) => {
                    if let Some((_, items)) = &module.content {
                        self.learn(items, aliases);
                    }
                }
                _ => {}
            }
        }
    }

    fn fields_of(&mut self, name: &str, fields: &Fields, aliases: &Aliases) {
        for (at, field) in fields.iter().enumerate() {
            let field_name =
                field.ident.as_ref().map_or_else(|| at.to_string(), ToString::to_string);
            let owner = name.split("::").next().unwrap_or_default();
            self.fields.insert((name.to_owned(), field_name), aliases.sketch(&field.ty, owner));
        }
    }

    fn function(&mut self, owner: &str, signature: &syn::Signature, aliases: &Aliases) {
        let mut answer = aliases.answer(&signature.output, owner);
        let is_parameter =
            |name: &str| signature.generics.type_params().any(|parameter| parameter.ident == name);
        if matches!(&answer, Ty::Named(name) if is_parameter(name)) {
            answer = Ty::Unknown;
        }
        let known = Signature { takes_self: signature.receiver().is_some(), answer };
        self.functions.insert((owner.to_owned(), signature.ident.to_string()), known);
    }

    /// The functions that `name` may be, asked of something of type `ty`.
    pub fn methods(&self, ty: &Ty, name: &str) -> Vec<Key> {
        match ty {
            Ty::Named(owner) => {
                let key = (owner.clone(), name.to_owned());
                self.functions.contains_key(&key).then_some(key).into_iter().collect()
            }
            Ty::Unknown => {
                let named = self
                    .functions
                    .iter()
                    .filter(|((_, known), signature)| known == name && signature.takes_self);
                named.map(|(key, _)| key.clone()).collect()
            }
            Ty::Number | Ty::Tuple(_) => Vec::new(),
        }
    }
}

/// Whose functions an `impl` block holds.
pub fn owner(ty: &Type, aliases: &Aliases) -> String {
    match aliases.sketch(ty, "") {
        Ty::Named(name) => name,
        _ => String::new(),
    }
}
