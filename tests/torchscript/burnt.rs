//! Traces with sizes of their example as numbers (`tests/data/torchscript/burnt`), exported with a symbolic size: an error
//! if shapes contradict each other, else a note. Both name the literal, the line, and what to write.

use aten2onnx::Exporter;

use super::samples;

/// The notes of an export with a symbolic batch, or the error with its help.
fn exported(name: &str) -> Result<String, String> {
    let file = samples::folder().join(format!("burnt/{name}.pt"));
    let exporter = Exporter::new().dynamic("x.0=batch").unwrap();
    match exporter.read(&file) {
        Ok(exported) => Ok(exported.notes.join("\n")),
        Err(error) => Err(format!("{error}; {}", error.help.as_deref().unwrap_or_default())),
    }
}

fn expect(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
    assert!(!text.contains("/make.py"), "a folder is in {text}");
}

#[test]
fn a_contradiction_of_shapes_is_an_error_that_names_the_literal() {
    let says = "the trace has a size of its example as a number";
    let viewed = exported("viewed").unwrap_err();
    expect(
        &viewed,
        &[says, "`aten::view` puts [8, 8] together with a tensor of [batch, 4, 8]", "make.py\", line 32, in forward"],
    );
    expect(&viewed, &["write `x.size(0)` in place of"]);
    let grouped = exported("grouped").unwrap_err();
    expect(
        &grouped,
        &[says, "write `x.size(0)` in place of 2 in `aten::reshape` (Grouped.forward, File \"make.py\", line 24"],
    );
    let token = exported("token").unwrap_err();
    expect(&token, &[says, "`aten::cat`", "write `x.size(0)` in place of 2 in `aten::expand` (Token.forward"]);
    let zeros = exported("zeros").unwrap_err();
    expect(&zeros, &[says, "`aten::add.Tensor`", "write `x.size(0)` in place of 2 in `aten::zeros` (Zeros.forward"]);
}

#[test]
fn what_cannot_be_decided_is_a_note() {
    let says = "the trace may have sizes of its example as numbers";
    let flattened = exported("flattened").unwrap();
    expect(
        &flattened,
        &[says, "write `x.size(0)` in place of 2 in `aten::reshape` (Flattened.forward, File \"make.py\", line 17"],
    );
    let single = exported("single").unwrap();
    expect(&single, &[says, "write `x.size(0)` in place of 1 in `aten::view`"]);
    let positions = exported("positions").unwrap();
    expect(&positions, &[says, "write `x.size(0)` in place of 2 in `aten::arange`"]);
    let halved = exported("halved").unwrap();
    expect(&halved, &[says, "in place of 2 in `aten::reshape`"]);
    let sliced = exported("sliced").unwrap();
    expect(&sliced, &[says, "write `x.size(0)` in place of 2 in `aten::slice.Tensor`"]);
}

#[test]
fn sizes_that_are_taken_from_tensors_give_no_note() {
    assert_eq!(exported("clean"), Ok(String::new()));
    // With the sizes of the example nothing is wrong.
    let file = samples::folder().join("burnt/viewed.pt");
    assert_eq!(Exporter::new().read(&file).unwrap().notes, Vec::<String>::new());
}
