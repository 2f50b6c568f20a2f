//! The C interface of an exporter: a program in C exports models, and is answered for damaged ones.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use super::{data, refused, sound};
use crate::common;
use crate::pt2::damaged_sample;

/// The samples that are damaged. With `WALKS=all` the program runs in valgrind, which takes thirty times as long.
const DAMAGED: u64 = 1000;

/// What a function of the interface returns for a file that cannot be read, a damaged model, and one that is not supported. 70 would be a bug.
const CODES: [&str; 4] = ["0 none", "3 text", "4 text", "5 text"];

/// Compiles a program in C against the library in `out`. None without a C compiler.
fn compiled(folder: &Path, out: &Path, source: &Path) -> Option<PathBuf> {
    Command::new("cc").arg("--version").output().ok()?;
    let program = out.join(source.file_stem()?);
    let mut cc = Command::new("cc");
    cc.args(["-Wall", "-Wextra", "-Werror", "-std=c99"]).arg(source);
    cc.arg("-I").arg(folder.join("c/include")).arg("-L").arg(out).arg(format!("-Wl,-rpath,{}", out.display()));
    sound(cc.args(["-l", "acme_onnx_c", "-o"]).arg(&program).output().unwrap());
    Some(program)
}

/// The C program of the workspace exports a model and frees everything.
pub fn example_exports(folder: &Path, out: &Path, wanted: &[u8]) {
    let Some(program) = compiled(folder, out, &folder.join("c/examples/export.c")) else { return };
    let model = out.join("from_c.onnx");
    let run = |source: &Path| Command::new(&program).arg(source).arg(&model).output().unwrap();
    sound(run(&data("convert/resnet.pt2")));
    assert!(fs::read(&model).unwrap() == wanted, "the bytes of the C program differ");
    fs::remove_file(&model).unwrap();
    assert!(refused(&run(Path::new("no/such.pt2")), 3).contains("no/such.pt2"));
    let other = refused(&run(&data("pt2/lstm.pt2")), 5);
    assert!(other.contains("it is not part of this exporter"), "{other}");
    let mut damaged = fs::read(data("convert/resnet.pt2")).unwrap();
    damaged.truncate(20_000);
    fs::write(out.join("damaged.pt2"), damaged).unwrap();
    refused(&run(&out.join("damaged.pt2")), 4);
    assert!(!model.exists(), "an error leaves a file");
}

/// Damaged archives are answered with a code and a text, and all memory is freed.
pub fn damaged_archives_are_answered(folder: &Path, out: &Path) {
    let source = common::root().join("tests/exporter/damaged.c");
    let Some(program) = compiled(folder, out, &source) else { return };
    let scratch = tempfile::tempdir().unwrap();
    let mut list = String::new();
    for seed in 0..DAMAGED {
        let path = scratch.path().join(format!("{seed}.pt2"));
        fs::write(&path, damaged_sample(seed)).unwrap();
        writeln!(list, "{}", path.display()).unwrap();
    }
    let names = scratch.path().join("list.txt");
    fs::write(&names, list).unwrap();
    let output = run_through(&program, &names, &scratch.path().join("out.onnx"));
    let printed = sound(output);
    let codes: Vec<&str> = printed.lines().filter(|line| line.ends_with("none") || line.ends_with("text")).collect();
    assert_eq!(codes.len() as u64, DAMAGED, "{printed}");
    for (seed, code) in codes.iter().enumerate() {
        assert!(CODES.contains(code), "the archive of the number {seed}: {code}");
    }
    let count = |wanted: &str| codes.iter().filter(|code| **code == wanted).count();
    assert!(count("0 none") > 20 && count("4 text") > 200, "{:?}", CODES.map(count));
}

/// Runs the program with a list of files, in valgrind if all walks are asked for.
fn run_through(program: &Path, names: &Path, model: &Path) -> Output {
    let mut command = Command::new(program);
    if std::env::var("WALKS").is_ok() {
        command = Command::new("valgrind");
        // What statics hold by a pointer into the middle counts as "possibly" lost.
        command.args(["--quiet", "--error-exitcode=99", "--leak-check=full", "--errors-for-leak-kinds=definite"]);
        command.arg("--show-leak-kinds=definite");
        command.arg(program);
    }
    let command = command.arg(model).stdin(Stdio::from(fs::File::open(names).unwrap()));
    command.output().unwrap_or_else(|error| panic!("{error}: WALKS=all needs valgrind"))
}
