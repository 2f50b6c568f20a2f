//! The front end for `.pt2` files and the passes after it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod fuzz;
mod hostile;
mod live;
mod print;
mod samples;
mod zip;

use std::path::PathBuf;

/// A sample archive by name.
fn sample(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/pt2").join(format!("{name}.pt2"))
}

/// The names of all samples.
fn sample_names() -> Vec<String> {
    let files = std::fs::read_dir(sample("x").parent().unwrap()).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter_map(|name| Some(name.strip_suffix(".pt2")?.to_owned())).collect();
    names.sort();
    names
}

/// The operators of the samples that give views; the real table comes from the schemas.
fn is_view(target: &str) -> bool {
    const VIEWS: &[&str] = &[
        "alias",
        "chunk",
        "contiguous",
        "detach",
        "expand",
        "flatten",
        "lift_fresh",
        "permute",
        "reshape",
        "select",
        "slice",
        "split",
        "squeeze",
        "t",
        "to",
        "transpose",
        "unbind",
        "unsqueeze",
        "view",
    ];
    let name = target.strip_prefix("aten::").unwrap_or_default();
    VIEWS.contains(&name.split('.').next().unwrap_or_default())
}
