//! The guards of a program: which are told, in which words, and where.

use aten2onnx::Exported;
use aten2onnx::error::{Error, Result};
use aten2onnx::export::export_program;
use aten2onnx::export::inspect::{Aim, inspect};
use aten2onnx::frontend::pt2;
use aten2onnx::options::Options;
use aten2onnx::program::{Guard, Program};
use aten2onnx::proto::ValueInfoProto;
use aten2onnx_rules::Rules;

/// A program with the inputs x of the sizes h and w, z of the sizes k and 4, and the integer n, which returns relu(x) and relu(z). In guards
/// `$h`, `$w`, `$k` and `$n` stand for what PyTorch writes. Ranges are from 0 unless given.
pub fn json(guards: &[&str], ranges: &str) -> String {
    let symbol = |name: &str, hint: i64| {
        format!(
            r#"{{"as_expr": {{"expr_str": "Symbol('{name}', positive=True, integer=True)", "hint": {{"as_int": {hint}}}}}}}"#
        )
    };
    let tensor = |sizes: &str| {
        format!(
            r#"{{"dtype": 7, "sizes": [{sizes}], "requires_grad": false, "device": {{"type": "cpu", "index": null}},
                "strides": [], "storage_offset": {{"as_int": 0}}, "layout": 7}}"#
        )
    };
    let relu = |from: &str, to: &str| {
        format!(
            r#"{{"target": "torch.ops.aten.relu.default", "inputs": [{{"name": "self", "arg": {{"as_tensor": {{"name": "{from}"}}}},
                "kind": 1}}], "outputs": [{{"as_tensor": {{"name": "{to}"}}}}], "metadata": {{}}, "name": "{to}"}}"#
        )
    };
    let x = tensor(&format!("{}, {}", symbol("h", 32), symbol("w", 35)));
    let z = tensor(&format!(r#"{}, {{"as_int": 4}}"#, symbol("k", 5)));
    let written = |guard: &&str| {
        let text = guard.replace("$h", "L['x'].size()[0]").replace("$w", "L['x'].size()[1]");
        let text = text.replace("$k", "L['d']['z'].size()[0]").replace("$n", "L['n']");
        serde_json::to_string(&text).unwrap()
    };
    let guards: Vec<String> = guards.iter().map(written).collect();
    let leaf = r#"{\"type\": null, \"context\": null, \"children_spec\": []}"#;
    let node = |kind: &str, context: &str, children: &str| {
        format!(r#"{{\"type\": \"builtins.{kind}\", \"context\": \"{context}\", \"children_spec\": [{children}]}}"#)
    };
    let dict = node("dict", r#"[\\\"z\\\"]"#, leaf);
    let args = node("tuple", "null", &format!("{leaf}, {dict}, {leaf}"));
    let tree = node("tuple", "null", &format!("{args}, {}", node("dict", "[]", "")));
    format!(
        r#"{{"graph_module": {{"graph": {{
            "inputs": [{{"as_tensor": {{"name": "x"}}}}, {{"as_tensor": {{"name": "d_z"}}}}, {{"as_sym_int": {{"as_name": "n"}}}}],
            "outputs": [{{"as_tensor": {{"name": "y"}}}}, {{"as_tensor": {{"name": "q"}}}}], "nodes": [{}, {}],
            "tensor_values": {{"x": {x}, "y": {x}, "d_z": {z}, "q": {z}}},
            "sym_int_values": {{"n": {}}}, "sym_bool_values": {{}}}},
            "signature": {{"input_specs": [{{"user_input": {{"arg": {{"as_tensor": {{"name": "x"}}}}}}}},
            {{"user_input": {{"arg": {{"as_tensor": {{"name": "d_z"}}}}}}}}, {{"user_input": {{"arg": {{"as_sym_int": {{"as_name": "n"}}}}}}}}],
            "output_specs": [{{"user_output": {{"arg": {{"as_tensor": {{"name": "y"}}}}}}}}, {{"user_output": {{"arg": {{"as_tensor": {{"name": "q"}}}}}}}}]}},
            "module_call_graph": [{{"fqn": "", "signature": {{"inputs": [], "outputs": [], "in_spec": "[1, {tree}]",
            "out_spec": "", "forward_arg_names": ["x", "d", "n"]}}}}, {{"fqn": "other", "signature": 7}}]}},
            "range_constraints": {{{ranges}}}, "opset_version": {{"aten": 10}}, "schema_version": {{"major": 8, "minor": 20}}, "torch_version": "2.13.0",
            "guards_code": [{}]}}"#,
        relu("x", "y"),
        relu("d_z", "q"),
        symbol("s9", 3),
        guards.join(", "),
    )
}

pub fn program(guards: &[&str], ranges: &str) -> Result<Program> {
    pt2::read_live("guards.pt2", json(guards, ranges).as_bytes(), Default::default(), Default::default())
}

fn exported(guards: &[&str], ranges: &str, options: &Options) -> Result<Exported> {
    export_program(program(guards, ranges)?, options)
}

/// The conditions that are told.
fn messages_of(guards: &[&str], ranges: &str) -> Vec<String> {
    exported(guards, ranges, &crate::pt2::options()).unwrap().conditions
}

/// Options that name or choose dimensions.
fn with(dims: &[&str]) -> Options {
    let mut options = crate::pt2::options();
    options.dims = dims.iter().map(|dim| dim.parse().unwrap()).collect();
    options
}

/// Those that also refuse conditions.
fn strict(dims: &[&str]) -> Options {
    let mut options = with(dims);
    options.strict_shapes = true;
    options
}

fn inputs(exported: &Exported) -> Vec<ValueInfoProto> {
    exported.model.proto.graph.as_ref().unwrap().input.clone()
}

fn dims(input: &ValueInfoProto) -> Vec<String> {
    use aten2onnx::proto::tensor_shape_proto::dimension::Value;
    use aten2onnx::proto::type_proto;
    let Some(type_proto::Value::TensorType(tensor)) = input.r#type.as_ref().unwrap().value.as_ref() else { panic!() };
    let dims = tensor.shape.iter().flat_map(|shape| &shape.dim);
    dims.map(|dim| match dim.value.as_ref().unwrap() {
        Value::DimValue(size) => size.to_string(),
        Value::DimParam(name) => name.clone(),
    })
    .collect()
}

fn refusal(guards: &[&str], ranges: &str, options: &Options) -> Error {
    exported(guards, ranges, options).unwrap_err()
}

#[test]
fn conditions_are_told_in_the_names_of_the_file() {
    let cases: &[(&[&str], &str, &[&str])] = &[
        (&["$h < 33"], "", &["h <= 32"]),
        (&["($h % 16) == 0"], "", &["h % 16 == 0"]),
        (&["($h*$w) == 1120"], "", &["h*w == 1120"]),
        (&["($w*$h) > 100"], "", &["h*w > 100"]),
        (&["math.ceil($h / 2) == 16"], "", &["math.ceil(h/2) == 16"]),
        (&["$h < $w"], "", &["h < w"]),
        (&["$k + $h > 7 or $w == 35"], "", &["h + k > 7 or w == 35"]),
        (&["$n > 1", "$n >= 0 and $n <= 8", "$n != 8"], "", &["2 <= n <= 7"]),
        (&["L['flat_args'][1].size()[0] != 3"], "", &["k != 3"]),
        (&["not ($h == 5 or $w < 3)"], "", &["w >= 3", "h != 5"]),
    ];
    for (guards, ranges, expected) in cases {
        assert_eq!(messages_of(guards, ranges), *expected, "{guards:?}");
    }
}

#[test]
fn what_follows_is_not_told() {
    let from_2 = r#""h": {"min_val": 2, "max_val": null}, "w": {"min_val": 2, "max_val": null}"#;
    let of = |w: i64, w_most: &str, h_most: &str| {
        format!(r#""w": {{"min_val": {w}, "max_val": {w_most}}}, "h": {{"min_val": 2, "max_val": {h_most}}}"#)
    };
    let to_40 = r#""h": {"min_val": 2, "max_val": 40}"#;
    let cases: &[(&[&str], &str, &[&str])] = &[
        // From the shapes.
        (&["$h == $h", "L['d']['z'].size()[1] == 4", "$h*$w >= 0", "$h + 1 > 0"], "", &[]),
        // From the smallest size that PyTorch captures for, which is told.
        (&["$h != 1", "3*$h*$w != 1"], from_2, &["h >= 2", "w >= 2"]),
        // From other guards.
        (&["$h >= 16", "$h > 10", "$h*2 >= 20", "min(7, $h) == 7"], "", &["h >= 16"]),
        (&["($h % 16) == 0", "$h == (16*($h // 16))", "($h % 8) == 0", "($h*$w) % 4 == 0"], "", &["h % 16 == 0"]),
        (&["(($w*$h) % 5) == 0", "($w*$h) == (5*(($w*$h) // 5))"], "", &["(h*w) % 5 == 0"]),
        (&["($h // 16) != 1", "$h >= 16"], "", &["h >= 32"]),
        (&["$h < 33", "$h*$h < 1100"], "", &["h <= 32"]),
        // What PyTorch derives from a guard, but not what another one states, or what a user declares.
        (&["$w > $h"], &of(3, "null", "null"), &["h >= 2", "w > h"]),
        (&["$w > $h", "$w > 2"], &of(3, "null", "null"), &["h >= 2", "w >= 3", "w > h"]),
        (&["$w > $h"], &of(4, "null", "null"), &["h >= 2", "w >= 4", "w > h"]),
        (&["$w > $h"], &of(3, "50", "49"), &["2 <= h <= 49", "w <= 50", "w > h"]),
        // Two that are one.
        (&["$h + $n <= $w", "$w - $n <= $h"], "", &["-n + w == h"]),
        (&["$w == min(512, $w)", "max($h, $k) == $h"], "", &["w <= 512", "h >= k"]),
        // Of few values each is tried.
        (&["3*($h // 2) < 60", "($h / 2) < 19.5"], to_40, &["2 <= h <= 38"]),
    ];
    for (guards, ranges, expected) in cases {
        assert_eq!(messages_of(guards, ranges), *expected, "{guards:?}");
    }
}

#[test]
fn sizes_of_0_are_not_captured() {
    // PyTorch records what excludes them, and assumes it elsewhere.
    let found = exported(&["1 < 3*$h*$w", "$k != 0"], "", &crate::pt2::options()).unwrap();
    assert!(found.conditions.is_empty(), "{:?}", found.conditions);
    let metadata = &found.model.proto.metadata_props;
    let entries: Vec<(&str, &str)> = metadata.iter().map(|entry| (entry.key(), entry.value())).collect();
    assert_eq!(entries, [("aten2onnx.ranges", "h >= 1\nk >= 1\nw >= 1")]);
}

#[test]
fn a_symbol_with_one_value_becomes_a_number() {
    let few = r#""h": {"min_val": 0, "max_val": 40}"#;
    let cases: &[(&[&str], &str)] = &[
        (&["$h == 32"], ""),
        (&["2*$h + 1 == 65"], ""),
        (&["$h > 31", "$h < 33"], ""),
        (&["($h % 16) == 0", "($h // 16) == 2"], ""),
        (&["math.trunc(torch.sym_float($h) ** 0.5) == 5", "($h % 16) == 0"], few),
        (&["$w == 35", "$h + $w == 67"], ""),
    ];
    for (guards, ranges) in cases {
        let found = exported(guards, ranges, &crate::pt2::options()).unwrap();
        assert_eq!(dims(&inputs(&found)[0])[0], "32", "{guards:?}");
        assert!(found.conditions.is_empty(), "{guards:?}: {:?}", found.conditions);
        let note = "the dimension `h` is 32 in the file: the model was captured in a way that takes no other size";
        assert!(found.notes.iter().any(|text| text == note), "{:?}", found.notes);
    }
    // A name for it does not hurt.
    for dim in ["h=rows", "x:0=rows"] {
        let found = exported(&["$h == 32"], "", &with(&[dim])).unwrap();
        assert_eq!(dims(&inputs(&found)[0]), ["32", "w"]);
        assert!(found.notes.iter().any(|text| text.contains("the dimension `rows` is 32")));
    }
}

#[test]
fn an_integer_that_has_one_value_is_told() {
    // The file takes any integer there.
    assert_eq!(messages_of(&["$n == 3"], ""), ["n == 3"]);
    assert_eq!(messages_of(&["$n > 2", "$n < 4"], ""), ["n == 3"]);
    assert_eq!(exported(&[], "", &with(&["s9=3"])).unwrap().conditions, ["n == 3"]);
    let mut program = program(&[], "").unwrap();
    let h = program.graph.tensors["x"].sizes[0].clone();
    for (value, expected) in [(h.clone(), "n == h"), (&h * 2, "n == 2*h")] {
        program.graph.sym_ints.insert("n".to_owned(), value);
        assert_eq!(export_program(program.clone(), &crate::pt2::options()).unwrap().conditions, [expected]);
    }
}

#[test]
fn the_file_states_the_conditions() {
    let options = with(&["h=rows"]);
    let ranges = r#""k": {"min_val": 3, "max_val": 9}"#;
    let found = exported(&["($h % 16) == 0", "$n != 2", "L['q'] ? 1"], ranges, &options).unwrap();
    assert_eq!(found.conditions, ["rows % 16 == 0", "n != 2", "L['q'] ? 1"]);
    let metadata = &found.model.proto.metadata_props;
    let entries: Vec<(&str, &str)> = metadata.iter().map(|entry| (entry.key(), entry.value())).collect();
    let expected = [
        ("aten2onnx.conditions", "rows % 16 == 0\nn != 2\nL['q'] ? 1"),
        ("aten2onnx.ranges", "rows >= 1\n3 <= k <= 9\nw >= 1"),
    ];
    assert_eq!(entries, expected);
    let docs: Vec<String> = inputs(&found).iter().map(|input| input.doc_string().to_owned()).collect();
    let expected = [
        "the model is right only where `rows % 16 == 0`; the model was captured for sizes where `rows >= 1` and `w >= 1`",
        "the model was captured for sizes where `3 <= k <= 9`",
        "the model is right only where `n != 2`",
    ];
    assert_eq!(docs, expected);
    assert_eq!(
        found.notes,
        [
            "the file is right only where `rows % 16 == 0`, `n != 2` and `L['q'] ? 1`: the model was captured with decisions that depend on it"
        ]
    );
    let inspection =
        inspect(&program(&["($h % 16) == 0", "$k == 5"], "").unwrap(), &Rules::default(), Aim::default()).unwrap();
    assert_eq!(inspection.conditions, ["h % 16 == 0"]);
    assert!(inspection.notes[0].contains("the dimension `k` is 5"));
}

#[test]
fn a_program_without_conditions_states_the_smallest_sizes() {
    let found = exported(&[], r#""h": {"min_val": 0, "max_val": null}"#, &crate::pt2::options()).unwrap();
    assert!(found.notes.is_empty() && found.conditions.is_empty());
    let entries: Vec<(&str, &str)> = found.model.proto.metadata_props.iter().map(|e| (e.key(), e.value())).collect();
    assert_eq!(entries, [("aten2onnx.ranges", "h >= 1\nk >= 1\nw >= 1")]);
    let docs: Vec<String> = inputs(&found).iter().map(|input| input.doc_string().to_owned()).collect();
    let sizes = "the model was captured for sizes where";
    assert_eq!(docs, [format!("{sizes} `h >= 1` and `w >= 1`"), format!("{sizes} `k >= 1`"), String::new()]);
    assert!(exported(&[], "", &strict(&[])).is_ok());
    // A model without symbolic sizes says nothing.
    let fixed = exported(&[], "", &with(&["h=3", "w=4", "k=5", "s9=3"])).unwrap();
    assert!(inputs(&fixed)[0].doc_string.is_none() && inputs(&fixed)[1].doc_string.is_none());
}

#[test]
fn sizes_of_at_least_2_are_a_condition() {
    // PyTorch assumes this of `Dim.AUTO` and `Dim.DYNAMIC`, and decides by it without a guard.
    let ranges = r#""h": {"min_val": 2, "max_val": null}, "w": {"min_val": 2, "max_val": 9}"#;
    let found = exported(&[], ranges, &crate::pt2::options()).unwrap();
    assert_eq!(found.conditions, ["h >= 2", "w >= 2"]);
    assert!(found.notes[0].contains("right only where `h >= 2` and `w >= 2`"));
    assert!(refusal(&[], ranges, &strict(&[])).message.contains("`h >= 2`"));
    assert_eq!(messages_of(&[], r#""h": {"min_val": 3, "max_val": null}"#), [""; 0], "the user declared it");
}

#[test]
fn strict_shapes_refuse() {
    let error = refusal(&["($h % 16) == 0", "$w > 3"], "", &strict(&["h=rows"]));
    let message = "the model is not right for all sizes of `rows`, `w`, but only where `w >= 4` and `rows % 16 == 0`";
    assert_eq!(error.message, message);
    let help = error.help.clone().unwrap();
    assert!(help.contains("--dim") && help.contains("dynamic_shapes") && help.contains("--strict-shapes"), "{help}");
    assert!(refusal(&["$h == 32"], "", &strict(&[])).message.contains("`h == 32`"));
    assert!(refusal(&["foo($h)"], "", &strict(&[])).message.contains("`foo(L['x'].size()[0])`"));
    // What the user makes constant is no condition, nor are strides.
    assert!(exported(&["($h % 16) == 0"], "", &strict(&["h=48"])).is_ok());
    let strides = exported(&["L['x'].stride()[0] != 1"], "", &strict(&[])).unwrap();
    assert!(strides.notes[0].contains("strides in memory where `L['x'].stride()[0] != 1`"));
}

#[test]
fn sizes_that_the_user_chooses_fulfil_the_conditions() {
    let found = exported(&["($h % 16) == 0", "$h < $w"], "", &with(&["h=16"])).unwrap();
    assert_eq!(found.conditions, ["w >= 17"]);
    let error = refusal(&["($h % 16) == 0"], "", &with(&["h=17"]));
    assert!(error.message.contains("it was captured for"), "{error}");
    // A name for two dimensions makes them equal.
    let error = refusal(&["$h != $k"], "", &with(&["h=a", "k=a"]));
    assert!(error.message.contains("differ in the example"), "{error}");
    let mut options = crate::pt2::options();
    options.fixed = true;
    let fixed = exported(&["($h % 16) == 0", "$h < $w"], "", &options).unwrap();
    // The file still takes any integer.
    assert_eq!(fixed.conditions, ["n == 3"]);
}

#[test]
fn what_the_example_does_not_fulfil_is_told_as_it_stands() {
    // It is misunderstood, or the file is damaged; nothing follows from it.
    assert_eq!(messages_of(&["$h == 7"], ""), ["L['x'].size()[0] == 7"]);
    assert_eq!(messages_of(&["$n > 40", "$n < 9"], ""), ["n <= 8", "L['n'] > 40"]);
}

#[test]
fn a_file_without_guards_says_so() {
    let ranges = r#""h": {"min_val": 2, "max_val": null}"#;
    let without = |ranges: &str| {
        let json = json(&[], ranges).replace(r#""guards_code": []"#, r#""more": []"#);
        pt2::read_live("guards.pt2", json.as_bytes(), Default::default(), Default::default()).unwrap().notes
    };
    assert!(without(ranges)[0].contains("does not record the conditions on sizes"));
    assert!(without("").is_empty());
    assert!(program(&[], ranges).unwrap().notes.is_empty());
}

#[test]
fn a_model_of_a_file_without_guards_says_so_in_its_metadata() {
    let entry = |json: String| {
        let program = pt2::read_live("guards.pt2", json.as_bytes(), Default::default(), Default::default()).unwrap();
        let model = export_program(program, &crate::pt2::options()).unwrap().model;
        let found = model.proto.metadata_props.iter().find(|entry| entry.key() == "aten2onnx.conditions.unknown");
        found.map(|entry| entry.value().to_owned())
    };
    let ranges = r#""h": {"min_val": 2, "max_val": null}"#;
    let without = entry(json(&[], ranges).replace(r#""guards_code": []"#, r#""more": []"#)).unwrap();
    assert!(without.contains("right for some sizes only") && without.contains("a newer PyTorch"), "{without}");
    assert_eq!(entry(json(&[], ranges)), None);
}

#[test]
fn guards_are_read_from_samples_of_torch() {
    let program = pt2::read(&super::sample("symint_input")).unwrap();
    assert!(program.guards.iter().all(|guard| matches!(guard, Guard::Sizes(_))), "{:?}", program.guards);
}
