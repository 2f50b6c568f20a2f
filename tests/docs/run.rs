//! Runs the commands of a page in a folder of their own, with `aten2onnx` and `python` on the PATH.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::blocks::{Block, Page};
use crate::{common, host};

/// A folder for the commands of a page. It contains `model.pt2`, `model.onnx`, and the files that the page shows.
pub struct Folder {
    path: PathBuf,
    search_path: std::ffi::OsString,
}

impl Folder {
    /// Creates the folder, for one purpose: other tests may run other blocks of the page.
    pub fn new(page: &Page, purpose: &str) -> Folder {
        let name = page.name.replace(['/', '.'], "-");
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("docs").join(purpose).join(name);
        let _ = std::fs::remove_dir_all(&path);
        let programs = path.join("bin");
        std::fs::create_dir_all(&programs).unwrap();
        let data = common::root().join("tests/data");
        std::fs::copy(data.join("models/mobilenet_like.pt2"), path.join("model.pt2")).unwrap();
        std::fs::copy(data.join("convert/resnet.onnx"), path.join("model.onnx")).unwrap();
        for block in page.blocks.iter().filter(|block| block.language != "sh" && !block.rest.is_empty()) {
            if let Some(name) = Path::new(&block.rest).file_name() {
                std::fs::write(path.join(name), &block.text).unwrap();
            }
        }
        // A link to the interpreter would not find its packages.
        program(&programs.join("python"), &host::interpreter());
        program(&programs.join("aten2onnx"), Path::new(env!("CARGO_BIN_EXE_aten2onnx")));
        let inherited = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(programs).chain(std::env::split_paths(&inherited));
        Folder { search_path: std::env::join_paths(folders).unwrap(), path }
    }

    /// The same with what commands for rules read and write: the mappings, the pages, and `aten2onnx-codegen`.
    pub fn with_rules(page: &Page, purpose: &str) -> Folder {
        let folder = Folder::new(page, purpose);
        for name in ["mappings", "docs"] {
            common::copy_folder(&common::root().join(name), &folder.path.join(name));
        }
        let codegen = Path::new(env!("CARGO_BIN_EXE_aten2onnx")).with_file_name("aten2onnx-codegen");
        assert!(codegen.exists(), "run `cargo build --workspace --bins`");
        program(&folder.path.join("bin/aten2onnx-codegen"), &codegen);
        folder
    }

    /// Writes a block to a file.
    pub fn write(&self, file: &str, block: &Block) {
        std::fs::write(self.path.join(file), &block.text).unwrap();
    }

    /// Runs a block of commands, which must succeed.
    pub fn script(&self, block: &Block) {
        let output = self.shell(&block.text);
        assert!(output.status.success(), "{} fails:\n{}", block.at, printed(&output));
    }

    /// Runs the commands of a transcript, the lines that start with `$ `. The other lines must be part of the output of the
    /// command above them. A command may end with `# fails`. Returns the number of commands.
    pub fn transcript(&self, block: &Block) -> usize {
        let mut output = String::new();
        let mut count = 0;
        for line in block.text.lines() {
            let Some(command) = line.strip_prefix("$ ") else {
                assert!(output.contains(line), "{}: `{line}` is not in\n{output}", block.at);
                continue;
            };
            let result = self.shell(command);
            output = printed(&result);
            assert_eq!(result.status.success(), !command.ends_with("# fails"), "{}: `{command}`\n{output}", block.at);
            count += 1;
        }
        count
    }

    fn shell(&self, commands: &str) -> Output {
        let mut shell = Command::new("sh");
        shell.args(["-e", "-c", commands]).current_dir(&self.path).env("PATH", &self.search_path);
        shell.env("ATEN2ONNX_PYTHON", host::interpreter()).output().unwrap()
    }
}

/// Writes a script that runs another program.
fn program(path: &Path, target: &Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::write(path, format!("#!/bin/sh\nexec '{}' \"$@\"\n", target.display())).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn printed(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned()).concat()
}
