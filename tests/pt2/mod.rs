//! The front end for `.pt2` files and the passes after it.

mod archives;
mod control;
mod evidence;
mod fuzz;
mod guards;
mod hostile;
mod json;
mod live;
mod print;
mod recurrent;
mod samples;
mod zip;

use std::path::PathBuf;

pub use fuzz::damaged_sample;

/// The default options, with the rules of the build.
fn options() -> aten2onnx::Options {
    aten2onnx::Exporter::new().options().clone()
}

/// A sample archive by name.
fn sample(name: &str) -> PathBuf {
    crate::common::root().join("tests/data/pt2").join(format!("{name}.pt2"))
}

/// The names of all samples.
fn sample_names() -> Vec<String> {
    let files = std::fs::read_dir(sample("x").parent().unwrap()).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter_map(|name| Some(name.strip_suffix(".pt2")?.to_owned())).collect();
    names.sort();
    assert!(names.len() > 25, "{names:?}");
    names
}
