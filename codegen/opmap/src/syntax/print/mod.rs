//! The formatter: prints a syntax tree in the style of the project.
//!
//! Its output parses to the same tree, and printing that gives the same text. Lines have at most 120 characters if they can be
//! broken. Text that fits on one line stays on one. A blank line is kept, added around rules with several lines or documentation,
//! and removed between a rule and its examples. Facts may follow their rule without a blank line.

mod example;
mod fact;
mod flat;
mod layout;

use crate::syntax::ast::ExternFn;
pub use example::example_line;
use layout::Writer;

use super::ast::{AVOIDED, Body, Comment, Expr, File, Fn, Fuse, Item, ItemKind, Lower, LowerOutputs, Map, Row};
use flat::Mode;

/// The text of a file.
pub fn print_file(file: &File) -> String {
    let mut w = Writer::default();
    for line in &file.docs {
        w.write(&doc("//!", line));
        w.blank_line();
    }
    let mut previous: Option<(&Item, bool)> = None;
    for item in &file.items {
        let text = print_item(item);
        let large = !item.docs.is_empty() || text.contains('\n');
        let first_blank = item.comments.first().map_or(item.blank_before, |comment| comment.blank_before);
        let blank = match previous {
            None => !file.docs.is_empty(),
            Some((_, after_large)) => match item.kind {
                ItemKind::Example(_) => first_blank && !item.comments.is_empty(),
                ItemKind::Fact(_) => first_blank || !item.docs.is_empty(),
                _ => first_blank || large || after_large,
            },
        };
        lead(&mut w, item, blank);
        w.write(&text);
        w.blank_line();
        previous = Some((item, large || matches!(item.kind, ItemKind::Example(_) | ItemKind::Fact(_))));
    }
    for (at, one) in file.trailing.iter().enumerate() {
        let something_before = previous.is_some() || !file.docs.is_empty() || at > 0;
        if (one.blank_before || (at == 0 && previous.is_none())) && something_before {
            w.blank_line();
        }
        w.write(&comment(one));
        w.blank_line();
    }
    w.out
}

/// Blank lines, comments and documentation before an item.
fn lead(w: &mut Writer, item: &Item, blank: bool) {
    if blank {
        w.blank_line();
    }
    for (at, one) in item.comments.iter().enumerate() {
        if at > 0 && one.blank_before {
            w.blank_line();
        }
        w.write(&comment(one));
        w.blank_line();
    }
    if !item.comments.is_empty() && item.blank_before {
        w.blank_line();
    }
    for line in &item.docs {
        w.write(&doc("///", line));
        w.blank_line();
    }
}

/// A comment with its slashes. Lines of slashes (`////////`) stay as they are.
fn comment(comment: &Comment) -> String {
    if comment.text.starts_with("//") { format!("//{}", comment.text) } else { doc("//", &comment.text) }
}

fn doc(marks: &str, text: &str) -> String {
    if text.is_empty() { marks.to_owned() } else { format!("{marks} {text}") }
}

/// An item without comments and documentation.
fn print_item(item: &Item) -> String {
    let mut w = Writer::default();
    match &item.kind {
        ItemKind::Map(map) => print_map(&mut w, map),
        ItemKind::Lower(lower) => print_lower(&mut w, ("lower", "before"), lower),
        ItemKind::Raise(raise) => print_lower(&mut w, ("raise", "from"), raise),
        ItemKind::Fuse(fuse) => print_fuse(&mut w, fuse),
        ItemKind::Same(same) => {
            let (op, why) = (flat::onnx_name(&same.op), flat::string(&same.why));
            w.write(&format!("same {op} {} as {} {why}", same.from, same.to));
        }
        ItemKind::Fn(function) => print_fn(&mut w, function),
        ItemKind::ExternFn(function) => {
            let returns = format!(" -> {}", flat::ty(&function.returns));
            w.write(&format!("{}extern fn {}", public(function.public), function.name.text));
            extern_clauses(&mut w, function, &returns);
        }
        ItemKind::Unsupported(item) => {
            w.write(&format!("unsupported {} {}", flat::op_name(&item.op), flat::string(&item.reason)));
        }
        ItemKind::ImportDomain(item) => {
            w.write(&format!("import_domain {} {}", flat::string(&item.domain.text), item.version));
        }
        ItemKind::Fact(item) => fact::fact(&mut w, item),
        ItemKind::Example(item) => example::example(&mut w, item),
    }
    w.out
}

fn print_map(w: &mut Writer, map: &Map) {
    let since = map.since.as_ref().map(|clause| format!(" {}", flat::since(clause))).unwrap_or_default();
    let tail = format!(" -> {}{since}", flat::returns(&map.returns));
    w.write(&format!("map {}", flat::op_name(&map.op)));
    header(w, &flat::params(&map.params), &tail, 2, false);
    body(w, &map.body, if map.rows.is_some() { " for {".len() } else { 0 });
    if let Some(rows) = &map.rows {
        // After an indented body the rows begin at the margin, because they would look like part of the body.
        let indented = w.out.rsplit('\n').next().is_some_and(|line| line.starts_with(' '));
        if indented {
            w.newline();
        }
        w.write(if indented { "for {" } else { " for {" });
        w.indented(|w| print_rows(w, rows));
        w.newline();
        w.write("}");
    }
}

/// A `lower` or `raise`, with the words around its operator.
fn print_lower(w: &mut Writer, words: (&str, &str), lower: &Lower) {
    let outputs = match &lower.outputs {
        LowerOutputs::Single => String::new(),
        LowerOutputs::Named(names) => format!(" -> ({})", flat::names_list(names)),
        LowerOutputs::List(names) => format!(" -> [{}]", flat::names_list(names)),
    };
    let when = if lower.before == AVOIDED { "avoided".to_owned() } else { format!("{} {}", words.1, lower.before) };
    w.write(&format!("{} {} {when} ", words.0, flat::onnx_name(&lower.op)));
    let params = flat::names_and_rest(&lower.params, lower.rest.as_ref());
    header(w, &params, &outputs, 2, true);
    body(w, &lower.body, 0);
}

/// A `fuse` on one line if it fits, else with the pattern, the condition and the replacement on lines of their own.
fn print_fuse(w: &mut Writer, fuse: &Fuse) {
    w.write(&format!("fuse {}", fuse.name.text));
    header(w, &flat::params(&fuse.params), "", 0, false);
    let clauses = [("from", Some(&fuse.pattern)), ("if", fuse.condition.as_ref())];
    let clauses = clauses.into_iter().filter_map(|(word, expr)| Some((word, expr?)));
    let text = |(word, expr): (&str, &Expr)| Some(format!(" {word} {}", flat::expr(expr, Mode::Natural)?));
    let flat: Option<String> = clauses.clone().map(text).collect();
    let replacement = match &fuse.body {
        Body::Expr(expr) => flat::expr(expr, Mode::Natural),
        Body::Block(_) => None,
    };
    if let (Some(clauses), Some(replacement)) = (flat, replacement)
        && w.fits(&format!("{clauses} = {replacement}"), 0)
    {
        return w.write(&format!("{clauses} = {replacement}"));
    }
    w.indented(|w| {
        for (word, expr) in clauses {
            w.newline();
            w.write(&format!("{word} "));
            w.expr(expr, 0);
        }
        w.newline();
        match &fuse.body {
            Body::Expr(expr) => {
                w.write("= ");
                w.expr(expr, 0);
            }
            Body::Block(block) => w.block(block),
        }
    });
}

fn public(public: bool) -> &'static str {
    if public { "pub " } else { "" }
}

fn print_fn(w: &mut Writer, function: &Fn) {
    let returns = format!(" -> {}", flat::ty(&function.returns));
    w.write(&format!("{}fn {}", public(function.public), function.name.text));
    header(w, &flat::params(&function.params), &returns, 2, false);
    body(w, &function.body, 0);
}

/// Parameters in parentheses and the text after them, before `tail` more characters. If the line is too long, the parameters get a
/// line of their own or one each. Mere names fill the lines.
fn header(w: &mut Writer, params: &[String], after: &str, tail: usize, names: bool) {
    let line = format!("({}){after}", params.join(", "));
    if w.fits(&line, tail) || params.is_empty() {
        return w.write(&line);
    }
    if names {
        w.write("(");
        w.indented(|w| w.filled(params));
        w.newline();
        w.write(")");
    } else {
        w.enclosed(("(", ")"), params, |param| Some(param.clone()), |w, param| w.write(param));
    }
    w.write(after);
}

/// The parameters of an `extern fn` and its clauses: on one line if they fit, else each clause on its own.
fn extern_clauses(w: &mut Writer, function: &ExternFn, returns: &str) {
    let params = flat::params(&function.params);
    let emits: Vec<String> = function.emits.iter().map(flat::onnx_name).collect();
    let emits = (!emits.is_empty()).then(|| format!("emits [{}]", emits.join(", ")));
    let because = function.because.as_ref().map(|b| format!("because {}", flat::string(&b.reason)));
    let args = |is: &crate::syntax::ast::Is| is.args.iter().map(|arg| arg.text.as_str()).collect::<Vec<_>>().join(", ");
    let is = function.is.as_ref().map(|is| format!("is {}({})", is.word.text, args(is)));
    let clauses: Vec<String> =
        is.into_iter().chain(emits).chain(because).chain(function.since.iter().map(flat::since)).collect();
    let line = format!("({}){returns} {}", params.join(", "), clauses.join(" "));
    if clauses.is_empty() || w.fits(&line, 0) {
        let after = clauses.iter().fold(returns.to_owned(), |line, clause| format!("{line} {clause}"));
        return header(w, &params, &after, 0, false);
    }
    header(w, &params, returns, 0, false);
    w.indented(|w| {
        for clause in &clauses {
            w.newline();
            w.write(clause);
        }
    });
}

/// A body on the line of its header if it fits there.
fn body(w: &mut Writer, body: &Body, tail: usize) {
    match body {
        Body::Expr(expr) => {
            w.write(" =");
            w.assigned(expr, tail);
        }
        Body::Block(block) => {
            w.write(" ");
            match flat::block(block, 0, Mode::Natural) {
                Some(text) if w.fits(&text, tail) => w.write(&text),
                _ => w.block(block),
            }
        }
    }
}

fn print_rows(w: &mut Writer, rows: &[Row]) {
    for (at, row) in rows.iter().enumerate() {
        w.comments(&row.comments, at == 0);
        let mut blank = row.blank_before && (at > 0 || !row.comments.is_empty());
        for line in &row.docs {
            w.line(std::mem::take(&mut blank));
            w.write(&doc("///", line));
        }
        w.line(blank);
        w.write(&row.key.text);
        w.write(&columns(&row.columns));
        w.write(",");
        if let Some(trailing) = &row.trailing {
            w.write(" ");
            w.write(&comment(trailing));
        }
    }
}

fn columns(columns: &[Expr]) -> String {
    let texts: Vec<String> = columns.iter().map(|one| flat::expr(one, Mode::Forced).unwrap_or_default()).collect();
    match texts.as_slice() {
        [] => String::new(),
        [one] => format!(" => {one}"),
        _ => format!(" => ({})", texts.join(", ")),
    }
}
