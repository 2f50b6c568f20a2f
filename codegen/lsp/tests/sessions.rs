//! Sessions of an editor with the server: `sessions/WHAT.txt` has the files of a folder, the requests (`> hover FILE TEXT`) and what the server answers. `^` in
//! a text is where the cursor is.
//!
//! With `BLESS=1` in the environment the answers are written instead of compared.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use common::{Editor, position};
use serde_json::{Value, json};

/// The most entries of a long answer that are written.
const SHOWN: usize = 14;

#[test]
fn sessions_are_as_recorded() {
    let bless = std::env::var_os("BLESS").is_some();
    let only = std::env::var("SESSION").unwrap_or_default();
    let mut failures = Vec::new();
    let mut requests = std::collections::BTreeSet::new();
    for path in recorded().iter().filter(|path| path.to_string_lossy().contains(&only)) {
        let text = fs::read_to_string(path).unwrap();
        let again = replay(&text);
        requests.extend(text.lines().filter_map(|line| line.strip_prefix("> ")?.split(' ').next().map(str::to_owned)));
        if bless {
            fs::write(path, &again).unwrap();
        } else if again != text {
            failures.push(format!("{}: is now\n{again}", path.display()));
        }
    }
    assert!(failures.is_empty(), "{}\nBLESS=1 accepts the new answers", failures.join("\n"));
    assert!(!only.is_empty() || requests.len() >= 20, "only {requests:?} are recorded");
}

fn recorded() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sessions");
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

/// A session with the answers as they are now.
fn replay(recorded: &str) -> String {
    let mut parts = recorded.split("\n== ");
    let head = parts.next().unwrap();
    let mut files = Vec::new();
    let mut session = "";
    for part in parts {
        let (name, text) = part.split_once('\n').unwrap();
        if name == "session" {
            session = text;
        } else {
            files.push((name.to_owned(), format!("{}\n", text.trim_end())));
        }
    }
    let folder = common::folder(&files);
    let mut editor = Editor::new(folder.path(), Some(PathBuf::from("/bin/echo")));
    let mut again = format!("{}\n", head.trim_end());
    for (name, text) in &files {
        let _ = write!(again, "\n== {name}\n{text}");
    }
    again += "\n== session\n";
    for line in session.lines().filter_map(|line| line.strip_prefix("> ")) {
        let answer = request(&mut editor, folder.path(), line);
        let answer = editor.without_root(&answer);
        let answer: String = answer.lines().map(|line| format!("{line}\n").replace(" \n", "\n")).collect();
        let _ = writeln!(again, "> {line}\n{}", answer.trim_end());
    }
    editor.quit();
    again
}

/// Sends what a line says, and writes the answer.
fn request(editor: &mut Editor, folder: &Path, line: &str) -> String {
    let (what, rest) = line.split_once(' ').unwrap_or((line, ""));
    let (path, rest) = rest.split_once(' ').unwrap_or((rest, ""));
    match what {
        "capabilities" => return outline(&editor.capabilities, 0),
        "open" => {
            let on_disk = fs::read_to_string(folder.join("mappings").join(path));
            let text = if rest.is_empty() { on_disk.unwrap() } else { unescaped(rest) };
            editor.open(path, &text);
            editor.wait_for_check();
            return errors(editor);
        }
        "change" | "type" => {
            let (old, new) = rest.split_once(" ~> ").unwrap();
            let (old, new) = (unescaped(old), unescaped(new));
            let text = editor.open[path].0.clone();
            let at = text.find(&old).unwrap_or_else(|| panic!("`{old}` is not in {path}"));
            if what == "change" {
                editor.change(path, at..at + old.len(), &new);
            } else {
                // Each letter is checked: otherwise it would depend on the machine which texts between the server has seen.
                editor.change(path, at..at + old.len(), "");
                editor.wait_for_check();
                let mut place = at;
                for c in new.chars() {
                    editor.change(path, place..place, c.encode_utf8(&mut [0; 4]));
                    editor.wait_for_check();
                    place += c.len_utf8();
                }
            }
            editor.wait_for_check();
            return errors(editor);
        }
        "close" => {
            editor.tell("textDocument/didClose", json!({"textDocument": {"uri": editor.uri(path)}}));
            editor.open.remove(path);
            editor.wait_for_check();
            return errors(editor);
        }
        "disk" => {
            let target = folder.join("mappings").join(path);
            fs::write(target, unescaped(rest)).unwrap();
            let change = json!({"changes": [{"uri": editor.uri(path), "type": 1}]});
            editor.tell("workspace/didChangeWatchedFiles", change);
            editor.wait_for_check();
            return errors(editor);
        }
        "find" => return answer(editor, "workspace/symbol", json!({"query": path})),
        "run" => {
            let args: Vec<Value> = rest
                .split(' ')
                .filter(|arg| !arg.is_empty())
                .map(|arg| arg.parse::<u32>().map_or(json!(arg), |n| json!(n)))
                .collect();
            return answer(editor, "workspace/executeCommand", json!({"command": path, "arguments": args}));
        }
        "ask" => return answer(editor, path, serde_json::from_str(rest).unwrap_or(Value::Null)),
        _ => {}
    }
    let document = json!({"uri": editor.uri(path)});
    let text = editor.open.get(path).map(|(text, _)| text.clone()).unwrap_or_default();
    let (rest, name) = match what {
        "rename" => rest.rsplit_once(" ~> ").unwrap(),
        _ => (rest, ""),
    };
    let marked = unescaped(rest);
    let plain = marked.replacen('^', "", 1);
    let found = text.find(&plain).unwrap_or_else(|| panic!("`{plain}` is not in {path}"));
    let at = found + marked.find('^').unwrap_or(0);
    let place = json!({"textDocument": document, "position": position(&text, at)});
    let all = json!({"start": position(&text, 0), "end": position(&text, text.len())});
    let here = json!({"start": position(&text, at), "end": position(&text, at)});
    match what {
        "hover" => match editor.ask("textDocument/hover", place).unwrap() {
            Value::Null => "nothing".to_owned(),
            hover => format!("{}\n{}", range(&hover["range"]), hover["contents"]["value"].as_str().unwrap()),
        },
        "complete" => completions(&editor.ask("textDocument/completion", place).unwrap()),
        "signature" => answer(editor, "textDocument/signatureHelp", place),
        "definition" => answer(editor, "textDocument/definition", place),
        "references" => {
            let mut params = place;
            params["context"] = json!({"includeDeclaration": true});
            answer(editor, "textDocument/references", params)
        }
        "prepare" => answer(editor, "textDocument/prepareRename", place),
        "rename" => {
            let mut params = place;
            params["newName"] = json!(name);
            answer(editor, "textDocument/rename", params)
        }
        "symbols" => answer(editor, "textDocument/documentSymbol", json!({"textDocument": document})),
        "format" => {
            let options = json!({"tabSize": 4, "insertSpaces": true});
            answer(editor, "textDocument/formatting", json!({"textDocument": document, "options": options}))
        }
        "fold" => answer(editor, "textDocument/foldingRange", json!({"textDocument": document})),
        "color" => {
            let legend = editor.capabilities["semanticTokensProvider"]["legend"]["tokenTypes"].clone();
            let tokens = editor.ask("textDocument/semanticTokens/full", json!({"textDocument": document})).unwrap();
            colors(&text, &legend, &tokens["data"])
        }
        "hints" => answer(editor, "textDocument/inlayHint", json!({"textDocument": document, "range": all})),
        "lenses" => {
            let lenses = editor.ask("textDocument/codeLens", json!({"textDocument": document})).unwrap();
            let shown = lenses.as_array().unwrap().iter().map(|lens| {
                format!("{} {} {}\n", range(&lens["range"]), lens["command"]["title"], lens["command"]["arguments"])
            });
            shown.collect()
        }
        "actions" => {
            let shown = editor.shown.get(&editor.uri(path)).cloned().unwrap_or_default();
            let params = json!({"textDocument": document, "range": here, "context": {"diagnostics": shown}});
            let found = editor.ask("textDocument/codeAction", params).unwrap();
            actions(editor, &found)
        }
        other => panic!("there is no `{other}`"),
    }
}

fn answer(editor: &mut Editor, method: &str, params: Value) -> String {
    match editor.ask(method, params) {
        Ok(Value::Null) => "nothing".to_owned(),
        Ok(value) => outline(&value, 0),
        Err(text) => format!("refused: {text}"),
    }
}

/// `\n` is a new line.
fn unescaped(text: &str) -> String {
    text.replace("\\n", "\n")
}

/// The errors of all files.
fn errors(editor: &Editor) -> String {
    let mut text = String::new();
    for (uri, shown) in &editor.shown {
        for error in shown.as_array().unwrap() {
            let _ = writeln!(
                text,
                "{uri} {} {}: {}",
                range(&error["range"]),
                error["code"].as_str().unwrap(),
                error["message"].as_str().unwrap()
            );
            for related in error["relatedInformation"].as_array().into_iter().flatten() {
                let place = &related["location"];
                let _ = writeln!(
                    text,
                    "  {} {}: {}",
                    place["uri"].as_str().unwrap(),
                    range(&place["range"]),
                    related["message"].as_str().unwrap()
                );
            }
        }
    }
    if text.is_empty() { "no errors".to_owned() } else { text }
}

fn range(value: &Value) -> String {
    let place = |value: &Value| format!("{}:{}", value["line"], value["character"]);
    format!("{}-{}", place(&value["start"]), place(&value["end"]))
}

fn completions(list: &Value) -> String {
    let items = list["items"].as_array().unwrap();
    let mut text = String::new();
    for item in items.iter().take(SHOWN) {
        let edit = item["textEdit"].clone();
        let _ = writeln!(
            text,
            "{} ({}) {:?} at {}",
            item["label"].as_str().unwrap(),
            item["detail"].as_str().unwrap_or(""),
            edit["newText"].as_str().unwrap(),
            range(&edit["range"])
        );
    }
    if items.len() > SHOWN {
        let more = if list["isIncomplete"] == true { ", and others" } else { "" };
        let _ = writeln!(text, ".. {} more{more}", items.len() - SHOWN);
    }
    if text.is_empty() { "nothing".to_owned() } else { text }
}

/// Each word with what it is, in the lines of the file.
fn colors(text: &str, legend: &Value, data: &Value) -> String {
    let numbers: Vec<usize> = data.as_array().unwrap().iter().map(|n| n.as_u64().unwrap() as usize).collect();
    let lines: Vec<&str> = text.lines().collect();
    let (mut line, mut character) = (0, 0);
    let mut shown = String::new();
    for token in numbers.chunks(5) {
        if token[0] > 0 {
            shown += "\n";
            character = 0;
        }
        line += token[0];
        character += token[1];
        let units: Vec<u16> = lines[line].encode_utf16().collect();
        let word = String::from_utf16(&units[character..character + token[2]]).unwrap();
        let _ = write!(shown, "{word}={} ", legend[token[3]].as_str().unwrap());
    }
    shown
}

/// Each action with the text that it makes, of which the changed lines are shown.
fn actions(editor: &Editor, actions: &Value) -> String {
    let mut shown = String::new();
    for action in actions.as_array().unwrap() {
        let _ = writeln!(shown, "{}", action["title"].as_str().unwrap());
        for (uri, edits) in action["edit"]["changes"].as_object().unwrap() {
            for edit in edits.as_array().unwrap() {
                let _ = writeln!(
                    shown,
                    "  {} {} {:?}",
                    editor.without_root(uri),
                    range(&edit["range"]),
                    edit["newText"].as_str().unwrap()
                );
            }
        }
    }
    if shown.is_empty() { "nothing".to_owned() } else { shown }
}

/// Any answer as lines: ranges and places in short, lists up to some entries.
fn outline(value: &Value, depth: usize) -> String {
    let indent = "  ".repeat(depth);
    match value {
        Value::Object(map) if map.contains_key("start") && map.contains_key("end") => {
            format!("{indent}{}\n", range(value))
        }
        Value::Object(map) if map.contains_key("line") && map.len() == 2 => {
            format!("{indent}{}:{}\n", value["line"], value["character"])
        }
        Value::Object(map) if map.contains_key("uri") && map.len() == 2 => {
            format!("{indent}{} {}\n", value["uri"].as_str().unwrap(), range(&value["range"]))
        }
        Value::Object(map) => map
            .iter()
            .map(|(key, value)| match value {
                Value::Object(_) | Value::Array(_) => {
                    let inner = outline(value, depth + 1);
                    match inner.lines().count() {
                        1 => format!("{indent}{key}: {}\n", inner.trim()),
                        _ => format!("{indent}{key}:\n{inner}"),
                    }
                }
                value => format!("{indent}{key}: {}\n", plain(value)),
            })
            .collect(),
        Value::Array(items) if items.iter().all(|item| !item.is_object() && !item.is_array()) => {
            format!("{indent}{value}\n")
        }
        Value::Array(items) => {
            let mut text: String = items
                .iter()
                .take(SHOWN)
                .map(|item| {
                    let inner = outline(item, 0);
                    let joined = inner.trim_end().lines().map(str::trim).collect::<Vec<_>>().join(", ");
                    format!("{indent}- {joined}\n")
                })
                .collect();
            if items.len() > SHOWN {
                let _ = writeln!(text, "{indent}.. {} more", items.len() - SHOWN);
            }
            text
        }
        value => format!("{indent}{}\n", plain(value)),
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
