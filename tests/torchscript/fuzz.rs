//! Damaged archives, by the stage of the reader that has to notice: bytes of the zip, of pickles and of code, tokens of code, and
//! tokens in the place of tokens of their kind. No input may cause a panic, an internal error, or work without bounds. `FUZZ=10000`
//! sets the number of inputs, `FUZZ_SEED` the first; `FUZZ_SHOW=1` prints what becomes of each.

use std::collections::BTreeMap;
use std::io::{Cursor, Write};

use aten2onnx::error::Kind;
use aten2onnx::options::SourceOptions;
use aten2onnx::weights::MappedFile;
use aten2onnx_archive::zip::Archive;

use super::samples;

/// A sample with its inputs described, so that it runs.
struct Sample {
    entries: BTreeMap<String, Vec<u8>>,
    source: SourceOptions,
}

fn sample(name: &str, inputs: &[&str]) -> Sample {
    let bytes = std::fs::read(samples::folder().join(format!("{name}.pt"))).unwrap();
    let archive = Archive::of_file(MappedFile::from_bytes(name, bytes)).unwrap();
    let names = archive.names().map(str::to_owned);
    let entries = names.map(|name| {
        let bytes = archive.inflated(&name, 1 << 30).unwrap().into_owned();
        (name, bytes)
    });
    let mut source = SourceOptions::default();
    source.inputs = inputs.iter().map(|text| text.parse().unwrap()).collect();
    Sample { entries: entries.collect(), source }
}

/// A number that follows from the last one.
fn next(state: &mut u64) -> usize {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) as usize
}

fn zipped(entries: &BTreeMap<String, Vec<u8>>) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    for (name, bytes) in entries {
        writer.start_file(format!("m/{name}"), options).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// What is damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Bytes of the file.
    Archive,
    /// Bytes of a pickle.
    Pickle,
    /// Bytes of code.
    Lexer,
    /// Tokens and lines of code.
    Parser,
    /// Tokens of code, by others of their kind: most of it can still be parsed.
    Interpreter,
}

/// A damaged file.
fn damaged(sample: &Sample, stage: Stage, state: &mut u64) -> Vec<u8> {
    let end = match stage {
        Stage::Archive => return damaged_bytes(&zipped(&sample.entries), state),
        Stage::Pickle => "pkl",
        _ => ".py",
    };
    let mut entries = sample.entries.clone();
    let keys: Vec<&String> = sample.entries.keys().filter(|name| name.ends_with(end)).collect();
    let key = keys[next(state) % keys.len()];
    let bytes = &sample.entries[key];
    let text = || String::from_utf8_lossy(bytes);
    let bytes = match stage {
        Stage::Parser => damaged_code(&text(), state).into_bytes(),
        Stage::Interpreter => changed_code(&text(), state).into_bytes(),
        _ => damaged_bytes(bytes, state),
    };
    entries.insert(key.clone(), bytes);
    zipped(&entries)
}

fn damaged_bytes(bytes: &[u8], state: &mut u64) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=next(state) % 3 {
        let at = next(state) % bytes.len().max(1);
        match next(state) % 8 {
            0 => bytes.truncate(at),
            1 => bytes.insert(at.min(bytes.len()), next(state) as u8),
            2 => {
                let end = (at + next(state) % 16).min(bytes.len());
                let copy = bytes.get(at..end).unwrap_or_default().to_vec();
                let to = next(state) % (bytes.len() + 1);
                bytes.splice(to..to, copy);
            }
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = next(state) as u8;
                }
            }
        }
    }
    bytes
}

/// Words, numbers, strings and signs of a line.
fn tokens(line: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let len = match first {
            c if is_word(c) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            ' ' => rest.find(|c| c != ' ').unwrap_or(rest.len()),
            c => c.len_utf8(),
        };
        let (token, after) = rest.split_at(len);
        tokens.push(token);
        rest = after;
    }
    tokens
}

fn damaged_code(text: &str, state: &mut u64) -> String {
    const WORDS: [&str; 30] = [
        "-1",
        "0",
        "1",
        "2",
        "9223372036854775807",
        "None",
        "x",
        "(",
        ")",
        "[",
        "]",
        ",",
        "inf",
        "\"s\"",
        "torch.size",
        "True",
        "[1, -1]",
        "[]",
        "{}",
        "1e30",
        "nan",
        "self",
        "torch.cat",
        "torch.reshape",
        "torch.append",
        "CONSTANTS.c0",
        "(x, x)",
        "float",
        "int",
        "uninitialized(Tensor)",
    ];
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for _ in 0..=next(state) % 3 {
        if lines.is_empty() {
            break;
        }
        let (a, b) = (next(state) % lines.len(), next(state) % lines.len());
        match next(state) % 8 {
            0 => lines.swap(a, b),
            1 => {
                let line = lines[a].clone();
                lines.insert(b, line);
            }
            2 => {
                lines.remove(a);
            }
            kind => {
                let from: Vec<String> = tokens(&lines[b]).into_iter().map(str::to_owned).collect();
                let mut to: Vec<String> = tokens(&lines[a]).into_iter().map(str::to_owned).collect();
                if to.is_empty() || from.is_empty() {
                    continue;
                }
                let at = next(state) % to.len();
                match kind {
                    // A token of another line, in the place of one or beside it.
                    3 | 4 => to[at] = from[next(state) % from.len()].clone(),
                    5 => to.insert(at, from[next(state) % from.len()].clone()),
                    6 => {
                        to.remove(at);
                    }
                    _ => to[at] = WORDS[next(state) % WORDS.len()].to_owned(),
                }
                lines[a] = to.concat();
            }
        }
    }
    lines.join("\n")
}

/// Code in which tokens are replaced by others of their kind: words, numbers or signs of the file.
fn changed_code(text: &str, state: &mut u64) -> String {
    let kind = |token: &str| token.chars().next().map(|c| (c.is_alphabetic() || c == '_', c.is_numeric(), c == ' '));
    let all = tokens(text);
    let mut changed = all.clone();
    for _ in 0..=next(state) % 4 {
        let at = next(state) % all.len().max(1);
        let Some(old) = all.get(at) else { continue };
        // One of the next tokens of the kind, round the end.
        let alike = (1..all.len()).filter_map(|step| all.get((at + step * 7) % all.len()));
        let alike: Vec<&&str> = alike.filter(|token| kind(token) == kind(old)).take(64).collect();
        if let Some(new) = alike.get(next(state) % alike.len().max(1)) {
            changed[at] = new;
        }
    }
    changed.concat()
}

/// Reads as many damaged archives as asked for.
pub fn run(stage: Stage, default: u64) {
    let number = |name: &str, default: u64| std::env::var(name).ok().map_or(default, |text| text.parse().unwrap());
    let samples = [
        sample("script_for", &["x:f32[3,4]", "n:int"]),
        sample("early_return", &["x:f32[b,2]"]),
        sample("rnn_loop", &["x:f32[t,b,3]"]),
        sample("dict_model", &["feats:{a:f32[2],b:f32[2]}"]),
        sample("traced_cnn", &[]),
        sample("quantized_scripted", &["x:f32[1,3,8,8]"]),
        sample("script_class", &["a:f32[2]", "b:f32[2]"]),
        sample("slice_write", &["x:f32[3,4]", "idx:i64[2]"]),
        sample("tuple_namedtuple", &["x:f32[2,3]"]),
        sample("weight_layouts", &["x:f32[2,6]"]),
        sample("list_append", &["x:f32[3,4]"]),
        sample("dynamic_view_traced", &[]),
        sample("string_model", &["x:f32[2]"]),
        sample("old_version2", &["x:f32[2,4]"]),
        sample("lists_in_loops", &["x:f32[n,4]"]),
    ];
    let rules = aten2onnx::rules();
    let is_shown = std::env::var_os("FUZZ_SHOW").is_some();
    let (first, count) = (number("FUZZ_SEED", 0), number("FUZZ", default));
    let mut read = 0;
    for seed in first..first + count {
        let mut state = seed;
        next(&mut state);
        let sample = &samples[next(&mut state) % samples.len()];
        let file = damaged(sample, stage, &mut state);
        let result = aten2onnx::frontend::read_bytes("damaged.pt", file, &sample.source, &rules);
        if is_shown {
            let text = result.as_ref().err().map_or_else(|| "read".to_owned(), ToString::to_string);
            println!("{stage:?} {seed}: {text}");
        }
        match result {
            Ok(_) => read += 1,
            // The thread of the reader catches panics.
            Err(error) => assert!(error.kind != Kind::Internal, "{stage:?}, seed {seed}: {error}"),
        }
    }
    assert!(read > 0 || count < 50, "no archive was whole: the changes are too many");
}
