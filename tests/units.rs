//! One command compiles each crate once: build scripts and programs share a crate if its features and settings are equal, and another
//! feature of serde, or another level of optimization, would compile the rule compiler twice.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::process::Command;

use serde_json::Value;

use crate::common;

/// What `cargo build` with these arguments compiles and runs.
fn graph(arguments: &[&str]) -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["build", "--unit-graph", "-Z", "unstable-options", "--offline"])
        .args(arguments)
        .current_dir(common::root())
        // The graph of units is an unstable output of the stable Cargo.
        .env("RUSTC_BOOTSTRAP", "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The crates that `cargo build` with these arguments compiles, with the settings of each compilation.
fn compiled(arguments: &[&str]) -> BTreeMap<String, Vec<String>> {
    let graph = graph(arguments);
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for unit in graph["units"].as_array().unwrap() {
        let kinds = unit["target"]["kind"].as_array().unwrap();
        let is_library =
            kinds.iter().any(|kind| matches!(kind.as_str(), Some("lib" | "rlib" | "proc-macro" | "cdylib")));
        if unit["mode"] == "build" && is_library {
            let name = unit["pkg_id"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
            found.entry(name).or_default().push(format!("{} with {}", unit["profile"], unit["features"]));
        }
    }
    found
}

/// The crates that are compiled more than once.
fn repeated(arguments: &[&str]) -> Vec<String> {
    let compiled = compiled(arguments);
    assert!(compiled.len() > 30, "only {} crates", compiled.len());
    let repeated = compiled.into_iter().filter(|(_, how)| how.len() > 1);
    repeated.map(|(name, how)| format!("{name}:\n    {}", how.join("\n    "))).collect()
}

#[test]
fn a_release_build_compiles_each_crate_once() {
    for arguments in [
        &["--release"][..],
        &["--release", "--package", "aten2onnx-cli"],
        &["--release", "--package", "aten2onnx-codegen"],
    ] {
        let repeated = repeated(arguments);
        assert!(
            repeated.is_empty(),
            "cargo build {arguments:?} compiles these more than once:\n{}",
            repeated.join("\n")
        );
    }
}

#[test]
fn builds_of_a_part_reuse_what_the_whole_compiled() {
    let whole = compiled(&["--release"]);
    for package in ["aten2onnx-cli", "aten2onnx-codegen", "aten2onnx-python"] {
        let part = compiled(&["--release", "--package", package]);
        // A library that is loaded at run time has another kind of thread-local variables.
        let is_own = |name: &str| name.contains("mimalloc");
        let both =
            part.iter().filter(|(name, _)| !is_own(name)).filter_map(|(name, how)| Some((name, how, whole.get(name)?)));
        let again: Vec<String> = both
            .filter(|(_, how, other)| how.iter().any(|one| !other.contains(one)))
            .map(|(name, how, other)| format!("{name}: {how:#?}, in the whole {other:#?}"))
            .collect();
        assert!(again.is_empty(), "cargo build --package {package} compiles these again:\n{}", again.join("\n"));
    }
}

#[test]
fn a_build_of_the_tests_compiles_each_crate_of_the_workspace_once() {
    let (mut libraries, mut harnesses) = (Vec::new(), Vec::new());
    for unit in graph(&["--workspace", "--all-targets"])["units"].as_array().unwrap() {
        let kind = unit["target"]["kind"][0].as_str().unwrap();
        let package = unit["pkg_id"].as_str().unwrap();
        let of_workspace = package.starts_with("path+") && matches!(kind, "lib" | "cdylib");
        match unit["mode"].as_str() {
            Some("build") if of_workspace => libraries.push(package.to_owned()),
            Some("test") if of_workspace => harnesses.push(package.to_owned()),
            _ => {}
        }
    }
    assert!(libraries.len() > 25, "only {libraries:#?}");
    let once: BTreeSet<&String> = libraries.iter().collect();
    assert_eq!(once.len(), libraries.len(), "two features or settings of one crate: {libraries:#?}");
    // The generated functions have no unit tests, nor has the native module.
    let without = ["#aten2onnx@", "#aten2onnx-python@"];
    harnesses.retain(|package| without.iter().any(|one| package.contains(one)));
    assert!(harnesses.is_empty(), "`test` or `bench` is not off in Cargo.toml: {harnesses:#?}");
}

/// The units of a graph, by what they and all that they depend on are compiled with: only an equal one is reused.
fn with_dependencies(graph: &Value) -> BTreeMap<u64, String> {
    let units = graph["units"].as_array().unwrap();
    let mut known = vec![None; units.len()];
    let named = units
        .iter()
        .enumerate()
        .map(|(at, unit)| (digest(units, at, &mut known), format!("{} with {}", unit["pkg_id"], unit["features"])));
    named.collect()
}

/// What tells a unit, with all that it depends on, from others.
fn digest(units: &[Value], at: usize, known: &mut [Option<u64>]) -> u64 {
    if let Some(found) = known[at] {
        return found;
    }
    let used = units[at]["dependencies"].as_array().unwrap().iter();
    let used = used.map(|one| usize::try_from(one["index"].as_u64().unwrap()).unwrap());
    let mut below: Vec<u64> = used.map(|index| digest(units, index, known)).collect();
    below.sort_unstable();
    let own = ["pkg_id", "target", "mode", "features", "profile"].map(|key| units[at][key].to_string());
    let mut hasher = DefaultHasher::new();
    (own, below).hash(&mut hasher);
    *known[at].insert(hasher.finish())
}

/// `tests/run` builds the workspace, and then the Python package, which must not begin anew.
#[test]
fn the_python_package_of_the_tests_reuses_all_of_their_build() {
    let whole = with_dependencies(&graph(&["--workspace", "--all-targets"]));
    let of_package = |features: &str| {
        let arguments = ["--manifest-path", "python/Cargo.toml", "--lib", "--features", features];
        let mut own = with_dependencies(&graph(&arguments));
        own.retain(|digest, name| !whole.contains_key(digest) && !name.contains("aten2onnx-python"));
        own.into_values().collect::<Vec<String>>()
    };
    let again = of_package("as-in-workspace");
    assert!(
        again.is_empty(),
        "python/Cargo.toml needs other features than the workspace. Compiled again are {again:#?}"
    );
    assert!(of_package("").len() > 20, "another feature is not found");
}

/// What builds of a part reuse depends on one more thing, which the graph of units does not show: with `lto = "off"` in the profile, Cargo
/// passes another flag to what only build scripts need. So the flag stands in `.cargo/config.toml`, for all crates.
#[test]
fn no_profile_sets_lto() {
    for (name, how) in compiled(&["--release"]) {
        for settings in how {
            assert!(
                settings.contains(r#""lto":"false""#),
                "{name} is compiled with another setting of lto: {settings}"
            );
        }
    }
}

#[test]
fn a_crate_that_is_compiled_twice_is_found() {
    let planted = [
        "--release",
        "--config",
        "profile.release.package.aten2onnx-build.opt-level=2",
        "--config",
        "profile.release.build-override.codegen-units=7",
    ];
    assert!(!repeated(&planted).is_empty());
}
