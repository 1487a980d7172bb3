//! No two files of a crate import each other, be it round a corner: each can be read with what it imports,
//! and with nothing else.
//!
//! What a `mod.rs` hands on with `pub use` counts where it is defined, so a room's face is no corner. The
//! face stands above its files: that it calls them is its task, and they may take from it what all share.

mod file;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use anyhow::{Context, Result};

use super::Finding;
use crate::repo::Repo;
use crate::tracked;
use file::File;

/// From a file to the files that it imports, each with the names that it takes.
type Imports = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

/// Looks at every crate: at each folder that holds a `Cargo.toml` and a `src`.
pub fn check(repo: &Repo) -> Result<Vec<Finding>> {
    let files = tracked::files(repo)?;
    let mut findings = Vec::new();
    for manifest in files.iter().filter(|file| file.ends_with("Cargo.toml")) {
        let root = format!("{}src/", manifest.trim_end_matches("Cargo.toml"));
        let sources = files.iter().filter(|file| file.starts_with(&root) && file.ends_with(".rs"));
        let mut modules = BTreeMap::new();
        for path in sources {
            let text = fs::read_to_string(repo.path(path))?;
            let file = File::parse(&text).with_context(|| path.clone())?;
            modules.insert(module_of(&path[root.len()..]), (path.clone(), file));
        }
        findings.extend(circles(&imports(&modules)).iter().map(finding));
    }
    Ok(findings)
}

/// The path of the module in a file, the crate itself being the empty one.
fn module_of(file: &str) -> Vec<String> {
    let mut parts: Vec<_> = file.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if matches!(parts.last().map(String::as_str), Some("mod" | "lib" | "main")) {
        parts.pop();
    }
    parts
}

type Modules = BTreeMap<Vec<String>, (String, File)>;

fn imports(modules: &Modules) -> Imports {
    let mut imports = Imports::new();
    for (module, (path, file)) in modules {
        let own = imports.entry(path.clone()).or_default();
        for import in &file.imports {
            let Some(target) = absolute(modules, module, &import.path) else { continue };
            let mut seen = BTreeSet::new();
            let Some((definer, at)) = definer(modules, &target, &mut seen) else { continue };
            if definer != path && !at.starts_with(module) {
                let name = import.path.last().cloned().unwrap_or_default();
                own.entry(definer.to_owned()).or_default().insert(name);
            }
        }
    }
    imports
}

/// A path as written in `module`, from the crate's root; none if it leads out of the crate.
fn absolute(modules: &Modules, module: &[String], path: &[String]) -> Option<Vec<String>> {
    let from = |base: &[String], rest: &[String]| Some([base, rest].concat());
    match path.first()?.as_str() {
        "crate" => from(&[], &path[1..]),
        "self" => from(module, &path[1..]),
        "super" => {
            let up = path.iter().take_while(|part| *part == "super").count();
            from(&module[..module.len().checked_sub(up)?], &path[up..])
        }
        child => {
            let inside = [module, &[child.to_owned()]].concat();
            modules.contains_key(&inside).then(|| [module, path].concat())
        }
    }
}

/// The file that defines what stands at `target`, through whatever hands it on, and its module.
fn definer<'a>(
    modules: &'a Modules,
    target: &[String],
    seen: &mut BTreeSet<Vec<String>>,
) -> Option<(&'a str, &'a [String])> {
    if !seen.insert(target.to_vec()) {
        return None;
    }
    let at = (0..=target.len()).rev().find(|at| modules.contains_key(&target[..*at]))?;
    let (module, rest) = target.split_at(at);
    let (module, (path, file)) = modules.get_key_value(module)?;
    let Some(name) = rest.first() else { return Some((path, module)) };
    if file.defines.contains(name) {
        return Some((path, module));
    }
    let handed_on = file.imports.iter().filter(|import| import.public).find_map(|import| {
        let mut onward = absolute(modules, module, &import.path)?;
        match &import.name {
            Some(as_name) if as_name == name => {}
            Some(_) => return None,
            None => onward.push(name.clone()), // a glob
        }
        definer(modules, &onward, seen)
    });
    Some(handed_on.unwrap_or((path, module)))
}

/// The groups of files of which each reaches each other, with what ties them.
fn circles(imports: &Imports) -> Vec<Imports> {
    let reached = |from: &str| {
        let mut reached = BTreeSet::new();
        let mut next = vec![from.to_owned()];
        while let Some(file) = next.pop() {
            for target in imports.get(&file).into_iter().flat_map(BTreeMap::keys) {
                if reached.insert(target.clone()) {
                    next.push(target.clone());
                }
            }
        }
        reached
    };
    let reach: BTreeMap<&str, _> =
        imports.keys().map(|file| (file.as_str(), reached(file))).collect();
    let mut told = BTreeSet::new();
    let mut circles = Vec::new();
    for (file, from_here) in &reach {
        if !from_here.contains(*file) || told.contains(*file) {
            continue;
        }
        let back = |other: &&String| reach.get(other.as_str()).is_some_and(|r| r.contains(*file));
        let group: BTreeSet<_> = from_here.iter().filter(back).cloned().collect();
        let ties = group.iter().map(|member| {
            let mut ties = imports[member].clone();
            ties.retain(|target, _| group.contains(target));
            (member.clone(), ties)
        });
        circles.push(ties.collect());
        told.extend(group);
    }
    circles
}

fn finding(circle: &Imports) -> Finding {
    let place = circle.keys().next().cloned().unwrap_or_default();
    let mut broken = "files import each other in a circle".to_owned();
    for (file, targets) in circle {
        for (target, names) in targets {
            let names: Vec<_> = names.iter().map(String::as_str).collect();
            broken.push_str(&format!("\n  {file} takes {} from {target}", names.join(", ")));
        }
    }
    Finding { place, broken }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let parsed = files.iter().map(|(path, text)| {
            let file = File::parse(text).expect("Rust");
            (module_of(path), ((*path).to_owned(), file))
        });
        circles(&imports(&parsed.collect())).iter().map(|c| finding(c).broken).collect()
    }

    #[test]
    fn two_files_that_import_each_other() {
        let circle = found(&[
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "use crate::b::B; pub struct A(B);"),
            ("b.rs", "use super::a; pub struct B; fn f(_: a::A) {}"),
        ]);
        assert_eq!(circle.len(), 1);
        assert!(circle[0].contains("a.rs takes B from b.rs"), "{}", circle[0]);
        assert!(circle[0].contains("b.rs takes"), "{}", circle[0]);
    }

    #[test]
    fn round_a_corner_and_by_a_path_in_an_expression() {
        let circle = found(&[
            ("lib.rs", "mod a; mod b; mod c;"),
            ("a.rs", "use crate::b::f; pub fn g() { f() }"),
            ("b.rs", "pub fn f() { crate::c::h() }"),
            ("c.rs", "pub fn h() { super::a::g() }"),
        ]);
        assert_eq!(circle.len(), 1);
    }

    #[test]
    fn what_a_face_hands_on_is_where_it_is_defined() {
        let room = |b: &'static str| {
            [
                ("lib.rs", "mod room; pub use room::*;"),
                ("room/mod.rs", "mod a; mod b; pub use a::A as First; pub use b::B;"),
                ("room/a.rs", "pub struct A;"),
                ("room/b.rs", b),
            ]
        };
        assert!(found(&room("use super::First; pub struct B(First);")).is_empty());
        assert!(found(&room("use crate::First; pub struct B(First);")).is_empty());
        let shared = [
            ("lib.rs", "mod a; pub struct Own; fn f() { a::g(&Own) }"),
            ("a.rs", "use crate::Own; pub fn g(_: &Own) {}"),
        ];
        assert!(found(&shared).is_empty());
    }

    #[test]
    fn tests_may_import_what_they_like() {
        let files = [
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "pub struct A; #[cfg(test)] mod tests { use crate::b::B; }"),
            ("b.rs", "use crate::a::A; pub struct B(A); #[cfg(test)] use crate::a::A as T;"),
        ];
        assert!(found(&files).is_empty());
    }
}
