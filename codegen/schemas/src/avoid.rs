//! Forms of operators that a runtime lacks or gets wrong: `[[avoid]]` in `targets/NAME_forms.toml`, with conditions such as
//! `onesided_i == 1` and `computed(limit)`. `[[warn]]` has those that stay, of which a note tells.

use serde::Deserialize;

use super::dtypes;
use super::onnx::{AttrKind, OnnxSchemas, Version};

/// What was found by hand about a runtime. `runtimes/facts.py` does not write it, so a new measurement keeps it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Forms {
    /// The name of the runtime.
    pub runtime: String,
    /// Forms to avoid.
    #[serde(default)]
    pub avoid: Vec<Avoid>,
    /// Forms that stay in the model. A note tells of them.
    #[serde(default)]
    pub warn: Vec<Avoid>,
}

/// A form of an operator that is refused or gives wrong results.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Avoid {
    /// The operator.
    pub op: String,
    /// The versions of its schema; all if it is empty.
    #[serde(default)]
    pub since: Vec<u32>,
    /// Conditions on the node, which must all hold. Without any, the operator is avoided in every form.
    #[serde(default)]
    pub when: Vec<String>,
    /// What the runtime does or says.
    pub reason: String,
    /// The version of the runtime that showed it.
    pub seen_in: String,
    /// The newest release with the fault; all if it is left out.
    pub until: Option<String>,
    /// The conditions of `when`.
    #[serde(skip)]
    pub conditions: Vec<Condition>,
}

/// A condition on a node.
#[derive(Debug, Clone, PartialEq)]
pub enum Condition {
    /// `given(C)`, `computed(limit)`, `constant(X)`, `symbolic(X)`: an input or attribute, and what holds for it.
    Is(State, Name),
    /// `rank(X) == 5`
    Rank(Name, Comparison, i64),
    /// `dtype(X) == float16`: the variant of `Dtype`.
    Dtype(Name, Comparison, &'static str),
    /// `length(shape) == 2`: the number of elements of an input of one dimension.
    Length(Name, Comparison, i64),
    /// `last(X) > 127`: the last size of an input, if it is a number.
    Last(Name, Comparison, i64),
    /// `first(shape) != 0`: the first element of an input that is constant.
    First(Name, Comparison, i64),
    /// `made_by(X) == MatMul`: the operator that an input is an output of.
    MadeBy(Name, Comparison, String),
    /// `inputs > 2`: the given ones.
    Inputs(Comparison, i64),
    /// `outputs > 1`: the requested ones.
    Outputs(Comparison, i64),
    /// `onesided_i == 1`, `steps > 1`: an attribute, or an input that is constant.
    Number(Name, Comparison, f64),
    /// `mode_s == "cubic"`
    Text(Name, Comparison, String),
}

/// What may hold for an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It is present.
    Given,
    /// It is left out.
    Absent,
    /// It is present and not constant.
    Computed,
    /// It is constant.
    Constant,
    /// One of its sizes is not a number.
    Symbolic,
    /// It is filled with one number when the model runs.
    Filled,
    /// It is not constant, and one of its elements is -1.
    Open,
    /// It is constant, or follows from constants alone.
    Folded,
    /// One of its sizes is 0.
    Empty,
    /// It is not constant, and follows from sizes and constants by integers alone.
    Sized,
    /// It is neither constant nor follows from sizes: elements of tensors decide it.
    Data,
    /// Another input has a size where it has 1 or no dimension.
    Broadcast,
    /// It and another input each have a size where the other has 1 or no dimension.
    Stretched,
    /// It is constant, and one of its elements is not a whole number.
    Fractional,
    /// It is a constant, or an attribute, whose first half is not the second: pads of different sizes at both ends.
    Uneven,
}

/// An input or attribute, without the suffix of the latter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Name {
    /// `X`
    Input(String),
    /// `onesided`, of `onesided_i`
    Attribute(String),
}

/// `==` and others. Of a list, `!=` holds if it holds for one element, and `==` if it holds for all; the others hold if they hold for one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `>`
    Greater,
}

const COMPARISONS: [(&str, Comparison); 4] = [
    (" == ", Comparison::Equal),
    (" != ", Comparison::NotEqual),
    (" < ", Comparison::Less),
    (" > ", Comparison::Greater),
];

/// Is the file about forms of a runtime?
pub fn is_forms(name: &str) -> bool {
    name.starts_with("targets/") && name.ends_with("_forms.toml")
}

impl Forms {
    /// Reads a file and checks it against the schemas.
    ///
    /// # Errors
    /// The entry and what is wrong with it.
    pub fn parse(text: &str, onnx: &OnnxSchemas) -> Result<Forms, String> {
        let mut read: Forms = toml::from_str(text).map_err(|e| e.to_string())?;
        for (list, entries) in [("avoid", &mut read.avoid), ("warn", &mut read.warn)] {
            for (i, entry) in entries.iter_mut().enumerate() {
                entry.check(onnx).map_err(|e| format!("entry {} of `{list}` (`{}`): {e}", i + 1, entry.op))?;
            }
        }
        Ok(read)
    }
}

/// The versions of an operator that exists, of an entry with a reason.
fn checked<'a>(op: &str, reason: &str, seen_in: &str, onnx: &'a OnnxSchemas) -> Result<&'a [Version], String> {
    let versions = onnx.versions(op);
    if versions.is_empty() {
        return Err(format!("there is no operator `{op}`"));
    }
    match (reason.trim(), seen_in.trim()) {
        ("", _) => Err("`reason` is empty: it is what the runtime does or says".to_owned()),
        (_, "") => Err("`seen_in` is empty: it is the version of the runtime".to_owned()),
        _ => Ok(versions),
    }
}

impl Avoid {
    fn check(&mut self, onnx: &OnnxSchemas) -> Result<(), String> {
        let versions = checked(&self.op, &self.reason, &self.seen_in, onnx)?;
        if let Some(none) = self.since.iter().find(|since| versions.iter().all(|v| v.since != **since)) {
            let all: Vec<String> = versions.iter().map(|v| v.since.to_string()).collect();
            return Err(format!("there is no version {none} of it, only {}", all.join(", ")));
        }
        let meant = || versions.iter().filter(|v| self.since.is_empty() || self.since.contains(&v.since));
        let conditions = self.when.iter().map(|text| condition(text, &meant().collect::<Vec<_>>(), onnx));
        self.conditions = conditions.collect::<Result<_, _>>()?;
        Ok(())
    }
}

/// Reads a condition.
fn condition(text: &str, versions: &[&Version], onnx: &OnnxSchemas) -> Result<Condition, String> {
    let wrong = |what: String| format!("`{text}`: {what}");
    let (subject, comparison) = match COMPARISONS.iter().find_map(|(sign, c)| Some((text.split_once(sign)?, *c))) {
        Some(((subject, value), comparison)) => (subject.trim(), Some((comparison, value.trim()))),
        None => (text.trim(), None),
    };
    let call = subject.strip_suffix(')').and_then(|call| call.split_once('('));
    let number = |value: &str| value.parse::<i64>().map_err(|_| wrong(format!("`{value}` is not an integer")));
    match (call, comparison) {
        (Some((function, argument)), None) => {
            let state = match function {
                "given" => State::Given,
                "absent" => State::Absent,
                "computed" => State::Computed,
                "constant" => State::Constant,
                "symbolic" => State::Symbolic,
                "filled" => State::Filled,
                "open" => State::Open,
                "folded" => State::Folded,
                "empty" => State::Empty,
                "sized" => State::Sized,
                "data" => State::Data,
                "broadcast" => State::Broadcast,
                "stretched" => State::Stretched,
                "fractional" => State::Fractional,
                "uneven" => State::Uneven,
                other => return Err(wrong(unknown(other))),
            };
            let name = name(argument, versions).map_err(wrong)?;
            match (&name, state) {
                (Name::Input(_), _) | (_, State::Given | State::Absent | State::Uneven) => {
                    Ok(Condition::Is(state, name))
                }
                _ => Err(wrong(format!("`{function}` is about inputs, and `{argument}` is an attribute"))),
            }
        }
        (Some((function, argument)), Some((comparison, value))) => {
            let name = name(argument, versions).map_err(wrong)?;
            if matches!(name, Name::Attribute(_)) {
                return Err(wrong(format!("`{function}` is about inputs, and `{argument}` is an attribute")));
            }
            match function {
                "rank" => Ok(Condition::Rank(name, comparison, number(value)?)),
                "length" => Ok(Condition::Length(name, comparison, number(value)?)),
                "first" => Ok(Condition::First(name, comparison, number(value)?)),
                "last" => Ok(Condition::Last(name, comparison, number(value)?)),
                "made_by" if onnx.versions(value).is_empty() => Err(wrong(format!("there is no operator `{value}`"))),
                "made_by" => Ok(Condition::MadeBy(name, comparison, value.to_owned())),
                "dtype" => match dtypes::variant(value) {
                    Some(dtype) => Ok(Condition::Dtype(name, comparison, dtype)),
                    None => Err(wrong(format!("`{value}` is not a dtype"))),
                },
                other => Err(wrong(unknown(other))),
            }
        }
        (None, Some((comparison, value))) if subject == "inputs" => Ok(Condition::Inputs(comparison, number(value)?)),
        (None, Some((comparison, value))) if subject == "outputs" => Ok(Condition::Outputs(comparison, number(value)?)),
        (None, Some((comparison, value))) => {
            let name = name(subject, versions).map_err(wrong)?;
            if let Some(text) = value.strip_prefix('"').and_then(|value| value.strip_suffix('"')) {
                return Ok(Condition::Text(name, comparison, text.to_owned()));
            }
            let number = value.parse::<f64>().ok().filter(|number| number.is_finite());
            let number = number.ok_or_else(|| wrong(format!("`{value}` is neither a number nor a text in quotes")))?;
            Ok(Condition::Number(name, comparison, number))
        }
        (None, None) => Err(wrong("expected `given(X)`, or a comparison such as `axis_i == 1`".to_owned())),
    }
}

fn unknown(function: &str) -> String {
    format!(
        "there is no `{function}`, only given, absent, computed, constant, folded, empty, sized, data, broadcast, stretched, fractional, uneven, symbolic, filled, open, rank, length, first, last, made_by and dtype"
    )
}

/// An input or attribute of one of the versions.
fn name(text: &str, versions: &[&Version]) -> Result<Name, String> {
    if versions.iter().any(|version| version.inputs.iter().any(|port| port.name == text)) {
        return Ok(Name::Input(text.to_owned()));
    }
    for attribute in versions.iter().flat_map(|version| &version.attributes) {
        let Some(suffix) = suffix(attribute.kind) else { continue };
        match text.strip_prefix(attribute.name.as_str()) {
            Some(rest) if rest.strip_prefix('_') == Some(suffix) => return Ok(Name::Attribute(attribute.name.clone())),
            Some("") => return Err(format!("the attribute is written `{text}_{suffix}`")),
            _ => {}
        }
    }
    Err(format!("it has no input or attribute `{text}`"))
}

fn suffix(kind: AttrKind) -> Option<&'static str> {
    match kind {
        AttrKind::Float | AttrKind::Floats => Some("f"),
        AttrKind::Int | AttrKind::Ints => Some("i"),
        AttrKind::String | AttrKind::Strings => Some("s"),
        _ => None,
    }
}

impl Avoid {
    /// Whether a release of the runtime still has the fault.
    pub fn is_in(&self, release: &str) -> bool {
        let numbers = |name: &str| name.split('.').map(|part| part.parse().unwrap_or(u32::MAX)).collect::<Vec<_>>();
        self.until.as_ref().is_none_or(|until| numbers(release) <= numbers(until))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const SCHEMAS: &str = include_str!("../../../mappings/schemas/onnx.txt");

    fn read(entry: &str) -> Result<Forms, String> {
        let text = format!("runtime = \"x\"\n[[avoid]]\n{entry}\nreason = \"wrong numbers\"\nseen_in = \"1\"");
        Forms::parse(&text, &OnnxSchemas::parse(SCHEMAS).unwrap())
    }

    fn refused(entry: &str) -> String {
        read(entry).unwrap_err()
    }

    #[test]
    fn conditions_are_read() {
        let read =
            read("op = \"DFT\"\nsince = [17]\nwhen = [\"onesided_i == 1\", \"symbolic(input)\", \"rank(input) > 3\"]");
        let input = || Name::Input("input".to_owned());
        let wanted = [
            Condition::Number(Name::Attribute("onesided".to_owned()), Comparison::Equal, 1.0),
            Condition::Is(State::Symbolic, input()),
            Condition::Rank(input(), Comparison::Greater, 3),
        ];
        assert_eq!(read.unwrap().avoid[0].conditions, wanted);
    }

    #[test]
    fn a_fault_ends_with_a_release() {
        let avoid = |entry| read(entry).unwrap().avoid.remove(0);
        assert!(avoid("op = \"DFT\"").is_in("1.31"));
        let old = avoid("op = \"DFT\"\nuntil = \"1.18\"");
        assert_eq!(["1.9", "1.18", "1.19", "2.0"].map(|release| old.is_in(release)), [true, true, false, false]);
    }

    #[test]
    fn mistakes_are_errors_that_name_the_entry() {
        assert_eq!(refused("op = \"Dft\""), "entry 1 of `avoid` (`Dft`): there is no operator `Dft`");
        assert!(refused("op = \"DFT\"\nsince = [18]").contains("no version 18 of it, only 17, 20"));
        assert!(refused("op = \"DFT\"\nwhen = [\"onesided == 1\"]").contains("is written `onesided_i`"));
        assert!(refused("op = \"DFT\"\nwhen = [\"inverted_i == 1\"]").contains("no input or attribute `inverted_i`"));
        assert!(refused("op = \"DFT\"\nwhen = [\"computed(onesided_i)\"]").contains("is an attribute"));
        assert!(refused("op = \"DFT\"\nwhen = [\"dtype(input) == float12\"]").contains("not a dtype"));
        assert!(refused("op = \"DFT\"\nwhen = [\"unknown(input)\"]").contains("there is no `unknown`"));
        assert!(refused("op = \"DFT\"\nwhen = [\"onesided_i\"]").contains("expected"));
        let text = "runtime = \"x\"\n[[avoid]]\nop = \"DFT\"\nreason = \"\"\nseen_in = \"1\"";
        let error = Forms::parse(text, &OnnxSchemas::parse(SCHEMAS).unwrap()).unwrap_err();
        assert!(error.contains("`reason` is empty"), "{error}");
    }
}
