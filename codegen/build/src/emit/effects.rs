//! What operators do to memory, by the alias marks of PyTorch's schemas and by the facts beside the rules: the tables `OPERATORS` and
//! `SELECTING`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use aten2onnx_opmap::effects::{Fact, Literal, Sharing, Term, TermCall, Trait, Update, View, What, When, Write};
use aten2onnx_opmap::tree::Program;
use aten2onnx_schemas::Schemas;
use aten2onnx_schemas::aten::Schema;
use aten2onnx_schemas::dtypes::variant;
use aten2onnx_schemas::writes::{Renamed, SchemaForm, Writes};

/// The text of `OPERATORS`, sorted.
pub fn emit(program: &Program, schemas: &Schemas) -> String {
    let mut facts: BTreeMap<&str, Vec<&Fact>> = BTreeMap::new();
    for fact in &program.facts {
        facts.entry(&fact.op).or_default().push(fact);
    }
    let of = |name: &str| facts.get(name).map_or(&[][..], Vec::as_slice);
    let mut rows: BTreeMap<&str, String> = BTreeMap::new();
    for schema in schemas.aten.iter() {
        let row = row(schema, schemas, &of);
        if !row.is_empty() {
            rows.insert(&schema.name, row);
        }
    }
    for (name, facts) in facts.iter().filter(|(name, _)| name.starts_with("complex::")) {
        let schema = schemas.aten.get(&name.replacen("complex::", "aten::", 1));
        rows.insert(name, schema.and_then(|schema| view_field(schema, facts)).unwrap_or_default());
    }
    let rows = rows.into_iter().map(|(name, row)| format!("    Operator {{ name: {name:?}, {row}..OPERATOR }},\n"));
    let rows = rows.collect::<Vec<_>>().concat();
    let selecting = &schemas.ignored.selecting;
    format!(
        "/// The operators of which something is known, sorted.\npub static OPERATORS: &[Operator] = &[\n{rows}];\n\n\
         /// Tensors whose dtype has no part in that of a result.\nstatic SELECTING: &[&str] = &{selecting:?};\n"
    )
}

/// The fields of a row that differ from those of `OPERATOR`; `facts_of` are the facts of an overload.
fn row<'f>(schema: &Schema, schemas: &Schemas, facts_of: &dyn Fn(&str) -> &'f [&'f Fact]) -> String {
    let facts = facts_of(&schema.name);
    let mut text = view_field(schema, facts).unwrap_or_default();
    let write = facts.iter().find_map(|fact| if let What::Write(write) = &fact.what { Some(write) } else { None });
    let found = schemas.aten.writes(schema);
    if let Some(found) = &found {
        let _ = write!(text, "writes: Some(&{}), ", writes(found, schema, write));
    }
    let updates =
        facts.iter().filter_map(|fact| if let What::Update(update) = &fact.what { Some(update) } else { None });
    list(&mut text, "updates", updates.map(update).collect());
    let own =
        facts.iter().filter_map(|fact| if let What::Rewrite(rewrite) = &fact.what { Some(rewrite) } else { None });
    let mut rewrites: Vec<String> = own.clone().map(|one| rewrite(one.when, &one.value)).collect();
    if !own.clone().any(|one| one.when == When::Each) {
        rewrites.extend(
            schemas.aten.for_each_element(schema).map(|each| rewrite(When::Each, &Term::Call(passed(&each, schema)))),
        );
    }
    list(&mut text, "rewrites", rewrites);
    // What writes its results into arguments is otherwise like the operator without.
    let without_out = found.filter(|found| found.form == SchemaForm::Out).and_then(|found| found.functional);
    let facts = facts.iter().chain(without_out.map_or(&[][..], |functional| facts_of(&functional.name)));
    let said = facts.filter_map(|fact| if let What::Traits(traits) = &fact.what { Some(traits) } else { None });
    list(&mut text, "traits", said.flatten().map(one_trait).chain(numbers(schema)).collect());
    text
}

fn view_field(schema: &Schema, facts: &[&Fact]) -> Option<String> {
    let fact = facts.iter().find_map(|fact| if let What::View(view) = &fact.what { Some(view) } else { None });
    let is_view = schema.is_view() || fact.is_some();
    is_view.then(|| format!("view: Some(&{}), ", view(fact, schema.is_view())))
}

/// `name: &[..], ` unless there are none.
fn list(text: &mut String, name: &str, items: Vec<String>) {
    if !items.is_empty() {
        let _ = write!(text, "{name}: &[{}], ", items.join(", "));
    }
}

/// What the types of the results tell of an operator on a tensor that gives numbers.
fn numbers(schema: &Schema) -> Vec<String> {
    let of_tensor = schema.args.iter().any(|arg| arg.ty == "Tensor");
    let is_size = |ty: &str| matches!(ty, "SymInt" | "SymInt[]");
    let told: &[&str] = match schema.returns.as_slice() {
        [one] if of_tensor && one.ty == "Scalar" => &["GivesNumber"],
        [_, ..] if of_tensor && schema.returns.iter().all(|r| is_size(&r.ty)) => &["GivesSizes", "ReadsShapes"],
        _ => &[],
    };
    told.iter().map(|one| format!("Trait::{one}")).collect()
}

fn view(fact: Option<&View>, is_marked: bool) -> String {
    let mut text = String::from("View { ");
    if !is_marked {
        text.push_str("is_marked: false, ");
    }
    let Some(view) = fact else { return text + "..VIEW }" };
    let sharing = match &view.sharing {
        Sharing::Always => None,
        Sharing::Maybe => Some("Maybe".to_owned()),
        Sharing::Itself => Some("Itself".to_owned()),
        Sharing::ItselfUnless(flag) => Some(format!("ItselfUnless({flag:?})")),
        Sharing::IfLayout => Some("IfLayout".to_owned()),
        Sharing::IfDtype => Some("IfDtype".to_owned()),
        Sharing::IfStrides => Some("IfStrides".to_owned()),
    };
    if let Some(sharing) = sharing {
        let _ = write!(text, "sharing: Sharing::{sharing}, ");
    }
    flags(
        &mut text,
        &[
            ("in_order", view.in_order),
            ("apart", view.apart),
            ("repeats", view.repeats),
            ("windows", view.windows),
            ("reinterprets", view.reinterprets),
        ],
    );
    if let Some(inverse) = &view.inverse {
        let _ = write!(text, "inverse: Some({}), ", term(inverse));
    }
    text + "..VIEW }"
}

fn writes(found: &Writes<'_>, schema: &Schema, fact: Option<&Write>) -> String {
    let mut text = format!("Writes {{ args: &{:?}, form: WriteForm::{:?}, ", found.args, found.form);
    flags(&mut text, &[("lists", found.lists)]);
    if let Some(Renamed { schema: functional, args }) = found.functional_form(schema) {
        let _ = write!(text, "functional: Some({:?}), ", functional.name);
        if !args.is_empty() {
            let _ = write!(text, "renamed: &{args:?}, ");
        }
    }
    flags(&mut text, &[("takes_dtype", found.takes_dtype(schema))]);
    if let Some(write) = fact {
        flags(&mut text, &[("whole", write.whole), ("constant", write.constant), ("resizes", write.resizes)]);
        if let Some(value) = &write.value {
            let _ = write!(text, "value: Some({}), ", term(value));
        }
    }
    text + "..WRITES }"
}

/// The fields that are true.
fn flags(text: &mut String, flags: &[(&str, bool)]) {
    for (name, _) in flags.iter().filter(|(_, is_set)| *is_set) {
        let _ = write!(text, "{name}: true, ");
    }
}

fn update(update: &Update) -> String {
    let value = match &update.value {
        Some(Term::Call(call)) if call.results == 1 => format!("Some(Updated::One({}))", self::call(call)),
        Some(Term::Call(call)) => {
            let before = call.results.saturating_sub(update.args.len());
            format!("Some(Updated::Together({}, {before}))", self::call(call))
        }
        _ => "None".to_owned(),
    };
    format!("Update {{ args: &{:?}, flag: {:?}, value: {value} }}", update.args, update.flag)
}

fn rewrite(when: When, value: &Term) -> String {
    let call = match value {
        Term::Call(call) => self::call(call),
        // The checker lets nothing else pass.
        _ => return String::new(),
    };
    format!("Rewrite {{ when: When::{when:?}, call: {call} }}")
}

/// A call of another operator on the same arguments.
fn passed(each: &Renamed<'_>, schema: &Schema) -> TermCall {
    let pairs = schema.args.iter().zip(&each.schema.args);
    let args = pairs.map(|(own, other)| (other.name.clone(), Term::Argument { name: own.name.clone(), default: None }));
    TermCall { op: each.schema.name.clone(), args: args.collect(), results: each.schema.returns.len() }
}

fn one_trait(one: &Trait) -> String {
    match one {
        Trait::Gives(dtype) => format!("Trait::Gives(Dtype::{})", variant(dtype).unwrap_or("Bool")),
        other => format!("Trait::{other:?}"),
    }
}

fn call(call: &TermCall) -> String {
    let args: Vec<String> = call.args.iter().map(|(name, value)| format!("({name:?}, {})", term(value))).collect();
    format!("FactCall {{ target: {:?}, args: &[{}] }}", call.op, args.join(", "))
}

fn term(value: &Term) -> String {
    let text = match value {
        Term::Argument { name, default } => {
            let default = default.as_ref().map_or("None".to_owned(), |value| format!("Some({})", literal(value)));
            format!("Argument({name:?}, {default})")
        }
        Term::New | Term::Position | Term::Start | Term::End | Term::Sizes => format!("{value:?}"),
        Term::Literal(value) => format!("Literal({})", literal(value)),
        Term::List(items) => format!("List(&[{}])", items.iter().map(term).collect::<Vec<_>>().join(", ")),
        Term::Sum(a, b) => format!("Sum(&[{}, {}])", term(a), term(b)),
        Term::Inverse(x) => format!("Inverse(&{})", term(x)),
        Term::Dtype(x) => format!("Dtype(&{})", term(x)),
        Term::Rank(x) => format!("Rank(&{})", term(x)),
        Term::Range(a, b) => format!("Range(&[{}, {}])", term(a), term(b)),
        Term::Call(value) => format!("Call({})", call(value)),
    };
    format!("Term::{text}")
}

fn literal(value: &Literal) -> String {
    format!("Literal::{value:?}")
}
