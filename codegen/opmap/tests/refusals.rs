//! A `fail` is a refusal: where nothing else is left, the matrix says so, with the reason.

#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::sync::LazyLock;

use aten2onnx_opmap::coverage::by_dtype::{Level, by_dtype};
use aten2onnx_opmap::coverage::{Reasons, Status};
use aten2onnx_opmap::source::Sources;
use aten2onnx_opmap::{Checked, check_sources};
use aten2onnx_schemas::Schemas;

/// The project's own facts, without the demand that every operator has a lowering.
static SCHEMAS: LazyLock<Schemas> = LazyLock::new(|| {
    let mut schemas = Schemas::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../mappings")).unwrap();
    schemas.opsets.complete = false;
    schemas
});

fn checked(text: &str) -> Checked {
    let mut sources = Sources::default();
    sources.add("mappings/test.opmap", text);
    check_sources(sources, SCHEMAS.clone())
}

fn row<'a>(checked: &'a Checked, overload: &str) -> &'a [Status] {
    &checked.matrix.rows[overload]
}

#[test]
fn a_rule_that_only_fails_is_refused_with_its_reason() {
    let checked = checked(
        "map audit::one(Tensor x) -> Tensor = fail \"never\"\n\
         map audit::two(Tensor x) -> Tensor { if dtype_of(x) == int64 { fail \"no {dtype_of(x)}\" } else { fail \"no\" } }\n\
         extern fn dtype_of(Tensor x) -> ScalarType is dtype(x)\n",
    );
    let never = Status::No(vec!["never".to_owned()]);
    assert!(row(&checked, "audit::one").iter().all(|status| *status == never));
    let both = Status::No(vec!["no".to_owned(), "no ..".to_owned()]);
    assert!(row(&checked, "audit::two").iter().all(|status| *status == both));
}

#[test]
fn a_rule_that_fails_for_some_arguments_is_partly_refused_and_says_when() {
    let checked = checked(
        "map audit::one(Tensor x, int n) -> Tensor { if n == 0 { fail \"never 0\" } else { Identity(x) } }\n\
         example audit::one(f32[2], 1)\n",
    );
    let by_arguments = vec!["never 0 (if `n == 0`)".to_owned()];
    let partly = Status::Partial(Reasons { by_arguments, ..Reasons::default() });
    assert!(row(&checked, "audit::one").iter().all(|status| *status == partly));
}

#[test]
fn a_refusal_in_a_helper_has_the_condition_of_the_call() {
    let checked = checked(
        "map audit::one(Tensor x, int n, bool strict) -> Tensor { if strict { checked(x, n) } else { Identity(x) } }\n\
         map audit::two(Tensor x, int n) -> Tensor { if n > 3 { refused(x) } else { Identity(x) } }\n\
         fn checked(Tensor x, int n) -> Tensor { if n == 0 { fail \"never 0\" } else { Identity(x) } }\n\
         fn refused(Tensor x) -> Tensor = fail \"not {x}\"\n",
    );
    let reasons = |overload: &str| match &row(&checked, overload)[0] {
        Status::Partial(reasons) => reasons.by_arguments.clone(),
        _ => Vec::new(),
    };
    assert_eq!(reasons("audit::one"), ["never 0 (if `n == 0`)"]);
    assert_eq!(reasons("audit::two"), ["not .. (if `n > 3`)"]);
}

#[test]
fn a_number_for_an_attribute_may_be_one_that_the_graph_computes() {
    let checked = checked(
        "extern fn known_float(Scalar x) -> float? is float_if_known(x)\n\
         map audit::one(Tensor x, Scalar alpha) -> Tensor = Elu(x, alpha_f = alpha)\n\
         map audit::two(Tensor x, Scalar alpha) -> Tensor = Elu(x, alpha_f = known_float(alpha) ?? 1.0)\n\
         map audit::three(Tensor x, float alpha) -> Tensor = Elu(x, alpha_f = alpha)\n",
    );
    let by_arguments = vec!["`alpha` of `Elu` must be known during the export".to_owned()];
    let partly = Status::Partial(Reasons { by_arguments, ..Reasons::default() });
    assert!(row(&checked, "audit::one").iter().all(|status| *status == partly));
    assert!(row(&checked, "audit::two").iter().all(|status| *status == Status::Full));
    assert!(row(&checked, "audit::three").iter().all(|status| *status == Status::Full));
}

#[test]
fn a_dtype_for_which_each_path_fails_is_refused() {
    let checked = checked(
        "map audit::one(Tensor x) -> Tensor { if dtype_of(x) == float16 { fail \"no halves\" } else { Identity(x) } }\n\
         extern fn dtype_of(Tensor x) -> ScalarType is dtype(x)\n",
    );
    let levels = &by_dtype(&checked.program, &checked.schemas)["audit::one"];
    assert_eq!(levels.level("float16", 13), Level::Refused);
    assert_eq!(levels.level("float32", 13), Level::Native);
}

#[test]
fn a_dtype_that_no_version_takes_is_refused() {
    let checked = checked("map audit::one(Tensor x) -> Tensor = Sigmoid(x)\nexample audit::one(f32[2])\n");
    let levels = &by_dtype(&checked.program, &checked.schemas)["audit::one"];
    assert_eq!(levels.level("int64", 13), Level::Refused);
    let (_, verdict) = levels.rows.iter().find(|row| row.0 == "int64").unwrap();
    assert_eq!(verdict.status(13), Status::No(vec!["`Sigmoid` does not take int64".to_owned()]));
    // These are cast to a float that holds all their values.
    assert_eq!(levels.level("int8", 13), Level::Lowered);
    assert_eq!(levels.level("float32", 13), Level::Native);
}
