//! `core/src/model`, written from the decisions.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::coq::Theories;
use super::rust::{self, Input};
use crate::environment::on_path;
use crate::repo::Repo;

const MODEL: &str = "core/src/model";

/// As [`regenerate`] where Coq is there; elsewhere says that nothing was looked at.
pub fn regenerate_if_possible(repo: &Repo, check: bool) -> Result<()> {
    if on_path("coqc").is_some() {
        return regenerate(repo, check);
    }
    println!("{MODEL} was not looked at, since coqc is missing: cargo xtask formal brings it");
    Ok(())
}

/// Writes what is stale, or with `check` shows how it differs and fails.
pub fn regenerate(repo: &Repo, check: bool) -> Result<()> {
    let theories = Theories::open(repo)?;
    let outputs = rust::generate(&inputs(repo, &theories)?)?;
    let mut stale = Vec::new();
    for output in &outputs {
        let file = format!("{MODEL}/{}", output.name);
        let path = repo.path(&file);
        if fs::read_to_string(&path).is_ok_and(|text| text == output.text) {
            continue;
        }
        if check {
            let fresh = repo.target("gen").join(&file);
            fs::create_dir_all(fresh.parent().expect("a file lies in a folder"))?;
            fs::write(&fresh, &output.text)?;
            // diff answers 1 where files differ, which is what is known here already.
            Command::new("diff").args(["-u", "--new-file"]).arg(&path).arg(fresh).status()?;
        } else {
            fs::write(path, &output.text)?;
            println!("wrote {file}");
        }
        stale.push(file);
    }
    for entry in fs::read_dir(repo.path(MODEL))? {
        let name = entry?.file_name().into_string().unwrap_or_default();
        if !outputs.iter().any(|output| output.name == name) {
            bail!("{MODEL}/{name} is written from no file of formal/theories/Decide: remove it");
        }
    }
    if check && !stale.is_empty() {
        bail!("stale: {}; cargo xtask formal rust writes them", stale.join(", "));
    }
    println!(
        "{} files of {MODEL}: {}",
        outputs.len(),
        if stale.is_empty() { "fresh" } else { "written" }
    );
    Ok(())
}

/// The text and the tree of each file of decisions.
fn inputs(repo: &Repo, theories: &Theories) -> Result<Vec<Input>> {
    for entry in fs::read_dir(&theories.written)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "json") {
            fs::remove_file(path)?;
        }
    }
    theories.compile(["Write/Rust.v".to_owned()])?;
    let mut inputs = Vec::new();
    for file in theories.files_in("Decide") {
        let module = file.trim_start_matches("Decide/").trim_end_matches(".v").to_owned();
        let tree = fs::read_to_string(theories.written.join(format!("{module}.json")));
        let tree = tree
            .with_context(|| format!("formal/theories/Write/Rust.v does not extract {module}"))?;
        let file = format!("formal/theories/{file}");
        let text = fs::read_to_string(repo.path(&file))?;
        let tree =
            serde_json::from_str(&tree).with_context(|| format!("what Coq wrote for {file}"))?;
        inputs.push(Input { file, module, text, tree });
    }
    Ok(inputs)
}
