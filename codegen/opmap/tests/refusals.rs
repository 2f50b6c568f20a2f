//! A `fail` is a refusal: where nothing else is left, the matrix says so, with the reason.

#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::sync::LazyLock;

use aten2onnx_opmap::coverage::Status;
use aten2onnx_opmap::coverage::by_dtype::{Level, by_dtype};
use aten2onnx_opmap::schema::Schemas;
use aten2onnx_opmap::source::Sources;
use aten2onnx_opmap::{Checked, check_sources};

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
fn a_rule_that_fails_for_some_arguments_is_not_refused() {
    let checked = checked(
        "map audit::one(Tensor x, int n) -> Tensor { if n == 0 { fail \"never 0\" } else { Identity(x) } }\n\
         example audit::one(f32[2], 1)\n",
    );
    assert!(row(&checked, "audit::one").iter().all(|status| *status == Status::Full));
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
