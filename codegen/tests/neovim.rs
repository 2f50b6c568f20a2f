//! Neovim, without a window, with the server and the project's own rules. The test needs `nvim` (Debian's 0.7 is enough) in `PATH` or in `ATEN2ONNX_NEOVIM`.
//! Without it the test says so and ends, unless the variable is set.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::path::Path;
use std::process::{Command, Stdio};

#[test]
fn neovim_shows_errors_hover_completion_and_definitions() {
    let asked = std::env::var_os("ATEN2ONNX_NEOVIM");
    let neovim = asked.clone().unwrap_or_else(|| "nvim".into());
    let exists = Command::new(&neovim).arg("--version").stdout(Stdio::null()).status().is_ok();
    if !exists && asked.is_none() {
        eprintln!("skipped: there is no nvim");
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/neovim/session.lua");
    let output = Command::new(&neovim)
        .args(["--headless", "--clean", "-c"])
        .arg(format!("luafile {}", script.display()))
        .current_dir(root)
        .env("OPMAP_SERVER", env!("CARGO_BIN_EXE_aten2onnx-codegen"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let has =
        |begin: &str| assert!(lines.iter().any(|line| line.starts_with(begin)), "no `{begin}` in\n{text}\n{output:?}");
    has("error ");
    assert!(text.contains("ONNX has no operator `Cellu` (unknown) | help: did you mean `Celu`?"), "{text}");
    has("repaired");
    has("hover ```opmap | Celu(Tensor X, alpha_f = 1.0) -> Y");
    has("completion elu_of");
    has("definition mappings/");
    assert!(text.lines().any(|line| line.trim_end().ends_with(" elu_of")), "{text}");
}
