//! Walks of the documentation, as they are written: that of CONTRIBUTING.md to a new operator, and the third one of docs/maintainers.md, "PyTorch
//! released a new version". From the snapshots of PyTorch 2.10, with the PyTorch of the tests as the new release, that leads to the snapshots of today.
//! Of the overloads that changed, each fourth and those on lists are taken back, because the new release is asked for each; all are with `WALKS=all`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common;
use crate::docs::{blocks, run};

/// What the older release has in another way.
const OLDER: &str = "codegen/tests/new_torch/2.10.txt";

fn snapshots(root: &Path) -> Vec<(PathBuf, String)> {
    let folder = root.join("mappings/schemas");
    let names = ["aten.txt", "prims.txt", "quantized_decomposed.txt", "torch.onnx.txt", "torchvision.txt"];
    names.map(|name| (folder.join(name), fs::read_to_string(folder.join(name)).unwrap())).into()
}

/// Makes the snapshots of a copy those of the older release.
fn go_back(root: &Path) {
    let text = fs::read_to_string(common::root().join(OLDER)).unwrap();
    let overload = |line: &str| line[1..].split('(').next().unwrap().to_owned();
    let changed = text.lines().filter(|line| line.starts_with(['+', '-']));
    let overloads: BTreeSet<String> = changed.clone().map(overload).collect();
    let every = if std::env::var("WALKS").is_ok() { 1 } else { 4 };
    // Their rules are those of the operators on elements.
    let is_of_lists = |overload: &&String| overload.starts_with("aten::_foreach_");
    let taken: BTreeSet<&String> =
        overloads.iter().step_by(every).chain(overloads.iter().filter(is_of_lists)).collect();
    let lines = |sign: char| -> BTreeSet<String> {
        let meant = changed.clone().filter(|line| taken.contains(&overload(line)));
        meant.filter_map(|line| line.strip_prefix(sign)).map(str::to_owned).collect()
    };
    let (older, newer) = (lines('+'), lines('-'));
    for (path, snapshot) in snapshots(root) {
        let mut all: Vec<&str> = snapshot.lines().collect();
        let head = all.remove(0);
        let namespace = format!("{}::", all[0].split("::").next().unwrap());
        all.retain(|line| !newer.contains(*line));
        all.extend(older.iter().map(String::as_str).filter(|line| line.starts_with(&namespace)));
        all.sort_by_key(|line| line.split('(').next());
        fs::write(path, format!("{head}\n{}\n", all.join("\n"))).unwrap();
    }
}

mod slow {
    use super::*;

    mod python {
        use super::*;

        #[test]
        fn the_walk_to_a_new_operator_is_as_it_is_written() {
            let pages = blocks::pages(common::root());
            let page = pages.into_iter().find(|page| page.name == "CONTRIBUTING.md").unwrap();
            let folder = run::Folder::with_rules(&page, "walk");
            let (mut files, mut commands) = (0, 0);
            for block in &page.blocks {
                match (block.language.as_str(), block.rest.strip_prefix("walk")) {
                    ("console", Some("")) => commands += folder.transcript(block),
                    ("opmap", Some(file)) => {
                        folder.write(file.trim(), block);
                        files += 1;
                    }
                    _ => {}
                }
            }
            assert!(files >= 2 && commands >= 8, "{files} files and {commands} commands: some are missing");
        }

        #[test]
        fn the_walk_to_a_new_pytorch_leads_to_today() {
            let folder = tempfile::tempdir().unwrap();
            common::copy_folder(&common::root().join("mappings"), &folder.path().join("mappings"));
            go_back(folder.path());
            let today = snapshots(common::root());
            assert!(snapshots(folder.path()).iter().zip(&today).any(|(then, now)| then.1 != now.1));
            let page = blocks::pages(common::root());
            let page = page.into_iter().find(|page| page.name == "docs/maintainers.md").unwrap();
            let programs = Path::new(env!("CARGO_BIN_EXE_aten2onnx")).parent().unwrap().to_owned();
            assert!(programs.join("aten2onnx-codegen").exists(), "run `cargo build --workspace --bins`");
            let python = folder.path().join("bin");
            fs::create_dir(&python).unwrap();
            // A script, because an interpreter of an environment is known by its place. Not a fork: the walk lists what PyTorch registers by itself.
            let script = format!("#!/bin/sh\nexec \"{}\" \"$@\"\n", common::interpreter().display());
            fs::write(python.join("python"), script).unwrap();
            assert!(Command::new("chmod").arg("+x").arg(python.join("python")).status().unwrap().success());
            let own = [python, programs];
            let rest = std::env::var_os("PATH").unwrap_or_default();
            let path = std::env::join_paths(own.into_iter().chain(std::env::split_paths(&rest))).unwrap();
            let mut count = 0;
            for block in page.blocks.iter().filter(|block| block.language == "sh" && block.rest == "walk 3") {
                let mut shell = Command::new("sh");
                shell.args(["-e", "-c", &block.text]).current_dir(&folder).env("PATH", &path);
                let output = shell.env("ATEN2ONNX_PYTHON", common::interpreter()).output().unwrap();
                assert!(output.status.success(), "{}:\n{}", block.at, String::from_utf8_lossy(&output.stderr));
                count += 1;
            }
            assert!(count >= 5, "only {count} blocks");
            for ((path, made), (_, wanted)) in snapshots(folder.path()).iter().zip(&today) {
                assert!(made == wanted, "{}: not the snapshot of today", path.display());
            }
            let report = fs::read_to_string(folder.path().join("report.md")).unwrap();
            for part in [
                "\n## Added\n",
                "\n## Rules for what was added or changed\n",
                "  - rule: ",
                "  - open: begin with `map ",
                "torch.export: `",
            ] {
                assert!(report.contains(part), "no `{part}` in\n{report}");
            }
            let missing = fs::read_to_string(folder.path().join("missing.md")).unwrap();
            assert!(missing.starts_with("| operator |"));
        }
    }
}
