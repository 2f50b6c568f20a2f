//! The first walk of docs/maintainers.md, as it is written: a vendor makes an exporter and builds it. And the ways to name the crates that it
//! runs on. They take minutes: `WALKS=all` runs them.

mod slow {
    use std::fs;
    use std::path::Path;
    use std::process::Command;

    use super::super::{data, exported, full, listed, made, sound, text};
    use crate::common;
    use crate::docs::blocks;

    /// What Cargo says of the crates that a workspace runs on.
    fn sources(folder: &Path, arguments: &[&str]) -> Vec<String> {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["metadata", "--format-version", "1"]).args(arguments).current_dir(folder);
        let printed = sound(cargo.env_remove("RUSTC_BOOTSTRAP").output().unwrap());
        let json = printed.lines().find(|line| line.starts_with('{')).unwrap();
        let metadata: serde_json::Value = serde_json::from_str(json).unwrap();
        let packages = metadata["packages"].as_array().unwrap().iter();
        let named = packages.filter(|package| package["name"] == "aten2onnx-single");
        named.map(|package| package["source"].as_str().unwrap_or("path").to_owned()).collect()
    }

    #[test]
    fn the_crates_may_come_from_a_repository_or_a_registry() {
        if std::env::var("WALKS").is_err() {
            return;
        }
        let (scratch, list) = listed("aten::relu\n");
        let folder = scratch.path().join("acme");
        let commit = Command::new("git").args(["rev-parse", "HEAD"]).current_dir(common::root()).output().unwrap();
        let commit = String::from_utf8(commit.stdout).unwrap().trim().to_owned();
        let repository = format!("git+file://{}#{commit}", common::root().display());
        sound(made(&["--opset", "13", "--ops", &list, "--aten2onnx", &repository], &folder));
        let found = sources(&folder, &[]);
        assert!(found.len() == 1 && found[0].starts_with("git+file://") && found[0].ends_with(&commit), "{found:?}");
        // No version is in the registry before the first release: Cargo is told where this one is.
        let folder = scratch.path().join("acme-of-a-version");
        sound(made(&["--opset", "13", "--ops", &list, "--aten2onnx", "=0.1.0"], &folder));
        let patch = |name: &str| {
            format!(
                "patch.crates-io.aten2onnx-{name}.path={:?}",
                common::root().join("src").join(name).display().to_string()
            )
        };
        let (rules, single) = (patch("rules"), patch("single"));
        assert_eq!(sources(&folder, &["--config", &rules, "--config", &single]), ["path"]);
        let mut without = Command::new(env!("CARGO"));
        without.args(["metadata", "--format-version", "1"]).current_dir(&folder).env_remove("RUSTC_BOOTSTRAP");
        assert!(!without.output().unwrap().status.success(), "the version is not asked for");
    }

    mod python {
        use super::*;

        /// The programs that a walk calls: those of this project, and those of Python.
        fn programs() -> std::ffi::OsString {
            let python = common::interpreter();
            let folders = [full().parent().unwrap(), python.parent().unwrap()].map(Path::to_owned);
            let path = std::env::var_os("PATH").unwrap_or_default();
            std::env::join_paths(folders.into_iter().chain(std::env::split_paths(&path))).unwrap()
        }

        #[test]
        fn the_walk_of_a_vendor_leads_to_a_model() {
            if std::env::var("WALKS").is_err() {
                return;
            }
            let pages = blocks::pages(common::root());
            let page = pages.into_iter().find(|page| page.name == "docs/maintainers.md").unwrap();
            let folder = tempfile::tempdir().unwrap();
            fs::copy(data("models/mobilenet_like.pt2"), folder.path().join("model.pt2")).unwrap();
            fs::create_dir(folder.path().join("own")).unwrap();
            let mut count = 0;
            for block in page.blocks.into_iter().filter(|block| block.section.starts_with("1. ")) {
                if block.language == "opmap" {
                    let name = Path::new(&block.rest).file_name().unwrap();
                    fs::write(folder.path().join("own").join(name), &block.text).unwrap();
                }
                if block.language != "sh" || block.rest != "walk" {
                    continue;
                }
                let mut shell = Command::new("sh");
                shell.args(["-e", "-c", &block.text]).current_dir(&folder);
                shell.env("PATH", programs()).env("CARGO_NET_OFFLINE", "true");
                let output = shell.env_remove("CARGO_TARGET_DIR").output().unwrap();
                assert!(output.status.success(), "{}:\n{}", block.at, text(&output));
                count += 1;
            }
            assert!(count >= 5, "only {count} blocks");
            let ours = exported(full(), &["--opset", "13"], &folder.path().join("model.pt2"), folder.path());
            for made in ["model.onnx", "from_c.onnx", "from_python.onnx"] {
                assert!(fs::read(folder.path().join(made)).unwrap() == ours, "{made}: the bytes differ");
            }
        }
    }
}
