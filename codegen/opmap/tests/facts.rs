//! Facts about operators as they are checked.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::Path;
use std::sync::LazyLock;

use aten2onnx_opmap::effects::{Literal, Sharing, Term, Trait, What, When};
use aten2onnx_opmap::source::Sources;
use aten2onnx_opmap::{Checked, check_dir, check_sources, check_with_base, render};
use aten2onnx_schemas::Schemas;
use aten2onnx_schemas::writes::SchemaForm;

static SCHEMAS: LazyLock<Schemas> = LazyLock::new(|| {
    let mut schemas = Schemas::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../mappings")).unwrap();
    schemas.opsets.complete = false;
    schemas
});

fn sources(text: &str) -> Sources {
    let mut sources = Sources::default();
    sources.add("mappings/test.opmap", text);
    sources
}

fn checked(text: &str) -> Checked {
    let checked = check_sources(sources(text), SCHEMAS.clone());
    assert!(checked.diagnostics.is_empty(), "{}", render::render(&checked.sources, &checked.diagnostics, false));
    checked
}

/// What the only fact says.
fn fact(text: &str) -> What {
    checked(text).program.facts.pop().unwrap().what
}

#[test]
fn clauses_say_how_results_share_memory() {
    let view = |text: &str| match fact(text) {
        What::View(view) => view,
        other => panic!("{other:?}"),
    };
    let reshape = view("view aten::reshape if strides, in order\n");
    assert!(reshape.sharing == Sharing::IfStrides && reshape.in_order && reshape.inverse.is_none());
    assert_eq!(view("view aten::dropout itself unless train\n").sharing, Sharing::ItselfUnless("train".to_owned()));
    assert!(view("view aten::unfold repeats, windows\n").windows);
}

#[test]
fn an_argument_that_may_be_left_out_takes_its_default_along() {
    let What::View(view) = fact("view aten::unbind.int apart = aten::select_scatter(self, src, dim, position)\n")
    else {
        panic!()
    };
    let Some(Term::Call(call)) = view.inverse else { panic!() };
    let argument = |name: &str, default| Term::Argument { name: name.to_owned(), default };
    let args = [
        ("self", argument("self", None)),
        ("src", Term::New),
        ("dim", argument("dim", Some(Literal::Int(0)))),
        ("index", Term::Position),
    ];
    assert_eq!(call.args, args.map(|(name, term)| (name.to_owned(), term)));
}

#[test]
fn facts_with_the_key_of_a_family_stand_for_every_row() {
    let text = "map aten::{name}(Tensor self, Tensor other) -> Tensor = {Op}(self, other) for {\n    logical_and => And,\n    logical_or => Or,\n}\n\
                fact aten::{name} gives bool\nexample aten::{name}(bool[2], bool[2])\n";
    let facts = checked(text).program.facts;
    assert_eq!(
        facts.iter().map(|fact| fact.op.as_str()).collect::<Vec<_>>(),
        ["aten::logical_and", "aten::logical_or"]
    );
    assert!(
        facts
            .iter()
            .all(|fact| matches!(&fact.what, What::Traits(traits) if traits[..] == [Trait::Gives("bool".to_owned())]))
    );
}

#[test]
fn a_result_is_known_by_its_name() {
    let What::Rewrite(rewrite) = fact("rewrite aten::linalg_svd if only S = aten::linalg_svdvals(A)\n") else {
        panic!()
    };
    assert_eq!(rewrite.when, When::Only(1));
}

#[test]
fn schemas_tell_what_is_written_and_what_each_element_gets() {
    let aten = &SCHEMAS.aten;
    let form = |name: &str| aten.writes(aten.get(name).unwrap()).map(|writes| writes.form);
    assert_eq!(form("aten::add_.Tensor"), Some(SchemaForm::InPlace));
    assert_eq!(form("aten::add.out"), Some(SchemaForm::Out));
    assert_eq!(form("aten::_native_batch_norm_legit"), Some(SchemaForm::Other));
    assert_eq!(form("aten::relu"), None);
    let each = |name: &str| aten.for_each_element(aten.get(name).unwrap()).map(|each| each.schema.name.as_str());
    assert_eq!(each("aten::_foreach_pow.ScalarList"), Some("aten::pow.Tensor_Scalar"));
    assert_eq!(each("aten::_foreach_addcmul_.Scalar"), Some("aten::addcmul_"));
    assert_eq!(each("aten::_foreach_norm.Scalar"), None);
}

#[test]
fn what_creates_a_tensor_in_an_argument_has_a_functional_form() {
    let aten = &SCHEMAS.aten;
    let functional = |name: &str| {
        let schema = aten.get(name).unwrap();
        let writes = aten.writes(schema).unwrap();
        (writes.functional.map(|form| form.name.as_str()), writes.takes_dtype(schema))
    };
    assert_eq!(functional("aten::arange.start_out"), (Some("aten::arange.start_step"), true));
    assert_eq!(functional("aten::zeros.out"), (Some("aten::zeros"), true));
    assert_eq!(functional("aten::eye.m_out"), (Some("aten::eye.m"), true));
    assert_eq!(functional("aten::empty.out"), (Some("aten::empty.memory_format"), true));
    assert_eq!(functional("aten::sum.out"), (Some("aten::sum"), false));
    assert_eq!(functional("aten::add.out"), (Some("aten::add.Tensor"), false));
}

#[test]
fn facts_belong_to_the_files_of_the_build() {
    let checked = check_with_base(sources(""), sources("view aten::expand repeats\n"), SCHEMAS.clone());
    let text = render::render(&checked.sources, &checked.diagnostics, false);
    assert_eq!(
        text,
        "error[E0903]: `view` in a mapping file of your own\n --> mappings/test.opmap:1:1\n  |\n\
         1 | view aten::expand repeats\n  | ^^^^^^^^^^^^^^^^^^^^^^^^^ facts belong to the mapping files of the build\n  |\n  \
         = help: an operator of your own may write to its first tensor if its name ends with `_`\n"
    );
}

#[test]
fn kernels_are_those_of_rules() {
    let checked = check_dir(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../mappings")).unwrap();
    let kernels = &checked.schemas.kernels;
    let stale: Vec<&str> = kernels.overloads().filter(|name| checked.program.map(name).is_none()).collect();
    assert!(stale.is_empty(), "kernels.txt has overloads without rules: run tools/schemas/dump_kernels.py\n{stale:?}");
    let floats = ["float16", "bfloat16", "float32", "float64"].map(str::to_owned);
    assert_eq!(kernels.dtypes("aten::elu"), Some(&floats[..]));
    assert_eq!(kernels.dtypes("aten::no_such_overload"), None);
}
