//! The parts of the compiler that are checked on their own: pages of errors, words of the language, sets of opsets, numbers after casts.

use aten2onnx_opmap::coverage::casts::cast_number;
use aten2onnx_opmap::coverage::opsets::{LIMIT, Opsets};
use aten2onnx_opmap::coverage::values::{Number, Values};
use aten2onnx_opmap::explain::{codes, explain};
use aten2onnx_opmap::vocabulary::{header_words, item_words, reserved_words};
use aten2onnx_schemas::dtypes::DtypeSet;

const GRAMMAR: &str = include_str!("../src/syntax/grammar.pest");

/// `# E0001: title`, what it means, a failing example, `## What to do`.
#[test]
fn pages_have_the_layout() {
    for code in codes() {
        let page = explain(code).unwrap_or("");
        let parts = [&format!("# {code}: "), "\n```opmap\n", "\n## What to do\n"];
        let places: Vec<Option<usize>> = parts.iter().map(|part| page.find(*part)).collect();
        assert!(places.iter().all(Option::is_some), "{code}: {places:?}");
        assert!(places.is_sorted(), "{code}: its parts are out of order");
    }
}

#[test]
fn codes_ascend() {
    assert!(codes().is_sorted_by(|a, b| a < b));
}

/// The words that the grammar has a rule for.
fn words_of_grammar() -> impl Iterator<Item = &'static str> {
    GRAMMAR.lines().filter_map(|line| line.strip_prefix("kw_")?.split('"').nth(1))
}

#[test]
fn every_keyword_is_listed() {
    let listed: Vec<&str> = [item_words(), reserved_words(), header_words()].concat();
    let missing: Vec<&str> = words_of_grammar().filter(|word| !listed.contains(word)).collect();
    assert!(missing.is_empty(), "{missing:?}");
    let made_up: Vec<&&str> =
        header_words().iter().filter(|word| !words_of_grammar().any(|own| own == **word)).collect();
    assert!(made_up.is_empty(), "{made_up:?}");
}

#[test]
fn opsets_beyond_32_are_in_a_set() {
    let all = Opsets::range(9, 40);
    assert_eq!(all.iter().count(), 32);
    assert_eq!(all.last(), Some(40));
    assert_eq!(all.from(33).text(), "33 to 40");
    assert_eq!(all.below(10), Opsets::one(9));
    assert_eq!(Opsets::one(LIMIT), Opsets::NONE);
    assert_eq!(Opsets::range(0, LIMIT - 1).last(), Some(LIMIT - 1));
    assert_eq!(Opsets::NONE.last(), None);
}

fn cast(values: Values, to: &str) -> Values {
    let number = Number { values, ..Number::between(0, 0) };
    cast_number(&number, DtypeSet::one(to)).values
}

#[test]
fn a_dtype_that_lacks_a_number_changes_it() {
    let half = Values::Float(0.5f64.to_bits());
    assert_eq!(cast(half, "float64"), half);
    assert_eq!(cast(half, "float32"), half);
    assert_eq!(cast(half, "int64"), Values::Between(0, 0));
    assert_eq!(cast(half, "bool"), Values::Any);
    assert_eq!(cast(Values::Float((-2.5f64).to_bits()), "int32"), Values::Between(-2, -2));
    assert_eq!(cast(Values::Float((-2.5f64).to_bits()), "uint8"), Values::Any);
    assert_eq!(cast(Values::Float(0.1f64.to_bits()), "float32"), Values::Any);
    assert_eq!(cast(Values::Between(300, 300), "int8"), Values::Any);
    assert_eq!(cast(Values::Between(300, 300), "int16"), Values::Between(300, 300));
    assert_eq!(cast(Values::Between(2, 2), "bool"), Values::Any);
    assert_eq!(cast(Values::Between(1 << 25, 1 << 25), "float32"), Values::Any);
}
