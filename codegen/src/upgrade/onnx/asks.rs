//! What has to be written by hand after an import, or may have to be: each with its place, and with a skeleton where one helps.

use aten2onnx_opmap::lower_header;
use aten2onnx_schemas::onnx::{AttrKind, PortOption, Version};

use super::place::place;
use super::{Kind, News, Release};

/// Something to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    /// What, with the code in backquotes.
    pub what: String,
    /// The file under `mappings/`.
    pub place: String,
    /// Text to begin with.
    pub skeleton: Option<String>,
    /// Only if the reason holds.
    pub only_if: Option<&'static str>,
}

/// Where older calls are translated to newer ones.
const RAISES: &str = "onnx/older.opmap";
const OPSETS: &str = "opsets.toml";
const OPERATORS: &str = "operators.toml";

/// The most examples in a skeleton.
const EXAMPLES: usize = 3;

/// What a version of an operator asks for.
pub fn asks(release: &Release<'_>, news: &News<'_>) -> Vec<Ask> {
    match news.kind {
        Kind::Added => [vec![lower(release, news)], entry(news)].concat(),
        Kind::Shape => {
            let parts = [
                vec![lower(release, news)],
                raise(release, news),
                headers(release, news),
                entry(news),
                meaning(release, news),
            ];
            parts.concat()
        }
        Kind::Types | Kind::Text => [vec![legalised(release, news)], meaning(release, news)].concat(),
        Kind::Deprecated => vec![raise_ask(news)],
    }
}

fn lower(release: &Release<'_>, news: &News<'_>) -> Ask {
    let (op, since) = (&news.version.name, news.version.since);
    let same = news.before.map(|before| format!(" or `same {op} {} as {since}`", before.since)).unwrap_or_default();
    let skeleton = Some(lower_skeleton(release, news));
    Ask {
        what: format!("`lower {op} before {since}`{same}"),
        place: place(release, news.version),
        skeleton,
        only_if: None,
    }
}

/// A lowering where only types differ: the builder casts to a dtype that the older version takes, unless there is one.
fn legalised(release: &Release<'_>, news: &News<'_>) -> Ask {
    let only_if = Some("a cast to an older dtype does not do, or older runtimes mean something else");
    Ask { only_if, ..lower(release, &News { before: None, lines: news.lines.clone(), ..*news }) }
}

fn lower_skeleton(release: &Release<'_>, news: &News<'_>) -> String {
    let (op, since) = (&news.version.name, news.version.since);
    let what = match news.kind {
        Kind::Added => format!("New in opset {since}."),
        _ => format!("Up to opset {}: what is different there.", since.saturating_sub(1)),
    };
    let header = format!("lower {op} before {since} ({}){}", lower_header(news.version), outputs(news.version));
    let calls = release
        .said
        .and_then(|said| said.tests.get(&news.key()))
        .map(|tests| tests.calls.as_slice())
        .unwrap_or_default();
    let examples = calls.iter().filter_map(|call| call.example.as_ref()).take(EXAMPLES);
    let examples: String = examples.map(|call| format!("example {call}\n")).collect();
    format!("/// {what}\n{header} = since {since} \"why it cannot be expressed\"\n{examples}")
}

/// What a header says of results: nothing if there is one.
fn outputs(version: &Version) -> String {
    let names: Vec<&str> = version.outputs.iter().map(|port| port.name.as_str()).collect();
    let is_variadic = version.outputs.iter().any(|port| matches!(port.option, PortOption::Variadic(_)));
    match names.as_slice() {
        _ if is_variadic => format!(" -> [{}]", names.join(", ")),
        [_] => String::new(),
        _ => format!(" -> ({})", names.join(", ")),
    }
}

/// A `raise`, unless every older call is a call of the new version.
fn raise(release: &Release<'_>, news: &News<'_>) -> Vec<Ask> {
    let is_extension = release.new.extends(&news.version.name, news.version.since);
    if is_extension { Vec::new() } else { vec![raise_ask(news)] }
}

fn raise_ask(news: &News<'_>) -> Ask {
    let (op, since) = (&news.version.name, news.version.since);
    let header = news.before.map(lower_header).unwrap_or_default();
    let skeleton = format!("raise {op} from {since} ({header}) = fail \"why older calls have no newer form\"\n");
    Ask {
        what: format!("`raise {op} from {since}`"),
        place: RAISES.to_owned(),
        skeleton: Some(skeleton),
        only_if: None,
    }
}

/// The `lower OP avoided`, whose header is that of the newest version.
fn headers(release: &Release<'_>, news: &News<'_>) -> Vec<Ask> {
    let op = &news.version.name;
    let is_other = news.before.is_none_or(|before| lower_header(before) != lower_header(news.version));
    let avoided = format!("lower {op} avoided");
    let own = release.touched.places(op).own.into_iter().filter(|(rule, _)| *rule == avoided && is_other);
    own.map(|(rule, file)| Ask {
        what: format!("the header `{rule} ({})`", lower_header(news.version)),
        place: file,
        skeleton: None,
        only_if: None,
    })
    .collect()
}

/// The entries in `operators.toml`.
fn entry(news: &News<'_>) -> Vec<Ask> {
    let op = &news.version.name;
    let mut asks = Vec::new();
    if news.before.is_none() {
        let skeleton = Some(format!("{op} = {{ shape = \"..\" }}\n"));
        let what = format!("the entry `{op}` under `[operators]`");
        asks.push(Ask { what, place: OPERATORS.to_owned(), skeleton, only_if: None });
    }
    let is_new = |name: &str| news.before.is_none_or(|before| before.attribute(name).is_none());
    let is_limited = |kind| matches!(kind, AttrKind::String | AttrKind::Strings | AttrKind::Int | AttrKind::Ints);
    let attributes = news.version.attributes.iter().filter(|a| is_new(&a.name) && is_limited(a.kind));
    let lines: Vec<String> = attributes.map(|a| format!("{} = {}", a.name, values(a.kind))).collect();
    if !lines.is_empty() {
        asks.push(Ask {
            what: format!("`[values.{op}]`"),
            place: OPERATORS.to_owned(),
            skeleton: Some(format!("[values.{op}]\n{}\n", lines.join("\n"))),
            only_if: Some("these attributes cannot have any value of their type"),
        });
    }
    asks
}

fn values(kind: AttrKind) -> &'static str {
    match kind {
        AttrKind::String | AttrKind::Strings => "[\"..\"]",
        _ => "{ first = 0, last = 1 }",
    }
}

/// A change of meaning that the schema does not show. Without the descriptions it may be anywhere.
fn meaning(release: &Release<'_>, news: &News<'_>) -> Vec<Ask> {
    if release.said.is_some_and(|said| !said.texts.contains_key(&news.key())) {
        return Vec::new();
    }
    let (op, since) = (&news.version.name, news.version.since);
    let skeleton = format!("[[change]]\nop = \"{op}\"\nsince = {since}\nkind = \"values\"\nwhy = \"..\"\n");
    vec![Ask {
        what: format!("`[[change]]` of `{op}` since {since}"),
        place: OPSETS.to_owned(),
        skeleton: Some(skeleton),
        only_if: Some(
            "the description allows more values (`kind = \"values\"`) or means something else (`\"meaning\"`)",
        ),
    }]
}
