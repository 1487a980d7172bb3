//! What one file defines and imports.

use std::collections::BTreeSet;

use anyhow::Result;
use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemUse, UseTree, Visibility};

/// What a file names of its crate.
pub(super) struct Import {
    /// Handed on to others.
    pub(super) public: bool,
    /// As written, braces resolved: `crate`, `a`, `B`.
    pub(super) path: Vec<String>,
    /// Under which name; none for a glob.
    pub(super) name: Option<String>,
}

/// One file of a crate.
#[derive(Default)]
pub(super) struct File {
    /// Names of items at its top.
    pub(super) defines: BTreeSet<String>,
    pub(super) imports: Vec<Import>,
}

impl File {
    pub(super) fn parse(text: &str) -> Result<Self> {
        let syntax = syn::parse_file(text)?;
        let mut file = File::default();
        for item in &syntax.items {
            file.defines.extend(name_of(item));
        }
        Reader { file: &mut file, depth: 0 }.visit_file(&syntax);
        Ok(file)
    }

    /// A path of the crate; those of others are dropped later, where no module has their name.
    fn takes(&mut self, public: bool, path: Vec<String>, name: Option<String>) {
        self.imports.push(Import { public, path, name });
    }

    fn tree(&mut self, public: bool, before: &[String], tree: &UseTree) {
        let with = |name: String| [before, &[name]].concat();
        match tree {
            UseTree::Path(path) => self.tree(public, &with(path.ident.to_string()), &path.tree),
            UseTree::Name(name) if name.ident == "self" => {
                self.takes(public, before.to_vec(), before.last().cloned());
            }
            UseTree::Name(name) => {
                let name = name.ident.to_string();
                self.takes(public, with(name.clone()), Some(name));
            }
            UseTree::Rename(named) => {
                let path = with(named.ident.to_string());
                self.takes(public, path, Some(named.rename.to_string()));
            }
            UseTree::Glob(_) => self.takes(public, before.to_vec(), None),
            UseTree::Group(group) => {
                group.items.iter().for_each(|tree| self.tree(public, before, tree));
            }
        }
    }
}

fn name_of(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(it) => &it.ident,
        Item::Enum(it) => &it.ident,
        Item::Fn(it) => &it.sig.ident,
        Item::Macro(it) => it.ident.as_ref()?,
        Item::Mod(it) if it.content.is_some() => &it.ident,
        Item::Static(it) => &it.ident,
        Item::Struct(it) => &it.ident,
        Item::Trait(it) => &it.ident,
        Item::Type(it) => &it.ident,
        Item::Union(it) => &it.ident,
        _ => return None,
    };
    Some(name.to_string())
}

/// True for what is compiled for tests only.
fn for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Ident>().is_ok_and(|when| when == "test")
    })
}

struct Reader<'a> {
    file: &'a mut File,
    /// Modules within the file round the place that is read.
    depth: usize,
}

impl Reader<'_> {
    /// A path as if it stood at the top of the file.
    fn lifted(&self, path: Vec<String>) -> Vec<String> {
        let up = path.iter().take_while(|part| *part == "super").count();
        match up.min(self.depth) {
            0 => path,
            inside if inside == up => {
                let rest = path[up..].iter().cloned();
                std::iter::once("self".to_owned()).chain(rest).collect()
            }
            inside => path[inside..].to_vec(),
        }
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        let attributes = match item {
            Item::Const(it) => &it.attrs,
            Item::Fn(it) => &it.attrs,
            Item::Impl(it) => &it.attrs,
            Item::Mod(it) => &it.attrs,
            Item::Struct(it) => &it.attrs,
            Item::Use(it) => &it.attrs,
            _ => return visit::visit_item(self, item),
        };
        if !for_tests(attributes) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        self.depth += 1;
        visit::visit_item_mod(self, module);
        self.depth -= 1;
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let public = !matches!(item.vis, Visibility::Inherited) && self.depth == 0;
        let before = self.file.imports.len();
        self.file.tree(public, &[], &item.tree);
        for import in self.file.imports.split_off(before) {
            let path = self.lifted(import.path);
            self.file.imports.push(Import { path, ..import });
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let parts: Vec<_> = path.segments.iter().map(|part| part.ident.to_string()).collect();
        if parts.len() > 1 {
            let path = self.lifted(parts);
            self.file.takes(false, path, None);
        }
        visit::visit_path(self, path);
    }
}
