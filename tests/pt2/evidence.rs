//! A file says some things twice: what a node computes, and the record of its value. Where the two differ, it is damaged.

use std::collections::HashMap;
use std::sync::Arc;

use aten2onnx::error::Result;
use aten2onnx::export::export_program;
use aten2onnx::frontend::pt2;
use aten2onnx::program::{Arg, Graph, Guard, IntArg, Node, NodeOutput, Program, SymNumber};
use aten2onnx_archive::zip::Archive;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::sym::{Relation, Special, SymInt};
use aten2onnx_core::weights::MappedFile;
use serde_json::Value;

use super::sample;

fn exported(mut program: Program, change: impl Fn(&mut Program)) -> Result<Vec<String>, String> {
    change(&mut program);
    let exported = export_program(program, &super::options());
    exported.map(|exported| exported.notes).map_err(|error| error.to_string())
}

/// Sizes: `mul` is 6 * s77, `mul_1` is 2 * s77, `mod` is (s17 + s77) % 7; in the example s77 is 4 and s17 is 5.
fn with_record(name: &str, record: SymInt) -> Result<Vec<String>, String> {
    let change = |program: &mut Program| {
        program.graph.sym_ints.insert(name.to_owned(), record.clone()).unwrap();
    };
    exported(pt2::read(&sample("dynamic_shapes")).unwrap(), change)
}

fn s77() -> SymInt {
    SymInt::symbol("s77")
}

#[test]
fn a_record_that_the_node_does_not_compute_is_damage() {
    let error = with_record("mul", s77().mul(&5.into())).unwrap_err();
    let wanted = "the file records `mul` as 5*s77, which is 20, but the node computes 24 at s77 = 4";
    assert!(error.contains(wanted), "{error}");
    let error = with_record("mul", 25.into()).unwrap_err();
    assert!(error.contains("the file records `mul` as 25, but the node computes 24"), "{error}");
    // The size of a tensor.
    let error = with_record("sym_size_int_2", SymInt::symbol("s17")).unwrap_err();
    assert!(error.contains("the file records `sym_size_int_2` as s17, which is 5, but"), "{error}");
}

#[test]
fn a_record_that_is_true_in_the_example_only_is_damage() {
    // 6 * 4, and 2 * 5 - 2.
    let error = with_record("mul", 24.into()).unwrap_err();
    assert!(error.contains("the file records `mul` as 24, but the node computes"), "{error}");
    let error = with_record("mul_1", SymInt::symbol("s17").mul(&2.into()).add(&(-2).into())).unwrap_err();
    assert!(error.contains("the file records `mul_1` as 2*s17 - 2, which is"), "{error}");
}

#[test]
fn a_record_may_use_what_a_guard_says() {
    // Under s77 % 4 == 0, s77 // 4 * 24 is 6 * s77.
    let record = s77().floor_div(&4.into()).mul(&24.into());
    assert!(with_record("mul", record.clone()).is_err());
    let guarded = |program: &mut Program| {
        let is_even = SymInt::special(Special::Relation(Relation::Equal), vec![s77().modulo(&4.into()), 0.into()]);
        program.guards.push(Guard::Sizes(is_even));
        program.graph.sym_ints.insert("mul".to_owned(), record.clone());
    };
    exported(pt2::read(&sample("dynamic_shapes")).unwrap(), guarded).unwrap();
    // A guard that is not understood may say anything, and so may those that old files do not have.
    for change in [
        |program: &mut Program| program.guards.push(Guard::Unknown("f(x)".to_owned())),
        |program: &mut Program| program.has_guards = false,
    ] {
        let change = |program: &mut Program| {
            change(program);
            program.graph.sym_ints.insert("mul".to_owned(), record.clone());
        };
        exported(pt2::read(&sample("dynamic_shapes")).unwrap(), change).unwrap();
    }
}

/// A call of a function of Python, which makes a number.
fn function(name: &str, operator: &str, a: &str, b: i64) -> Node {
    Node {
        name: name.to_owned(),
        target: format!("_operator::{operator}"),
        args: vec![("a".to_owned(), Arg::Sym(a.to_owned())), ("b".to_owned(), Arg::Int(b))],
        outputs: vec![NodeOutput::Sym(name.to_owned())],
        ..Node::default()
    }
}

/// `zeros(item() OPERATOR 2)` with a record of this number: `item` is `u0`, from 0 to 8.
fn with_record_of_data(operator: &str, record: &SymInt, change: impl Fn(&mut Program)) -> Result<Vec<String>, String> {
    let changed = |program: &mut Program| {
        let graph = &mut program.graph;
        let zeros = graph.nodes.iter().position(|node| node.name == "zeros").unwrap();
        graph.nodes.insert(zeros, function("number", operator, "item", 2));
        graph.nodes[zeros + 1].args[0].1 = Arg::Ints(vec![IntArg::Named("number".to_owned())]);
        graph.sym_ints.insert("number".to_owned(), record.clone());
        graph.tensors.get_mut("zeros").unwrap().sizes = vec![record.clone()];
        change(program);
    };
    exported(pt2::read(&sample("unbacked")).unwrap(), changed)
}

#[test]
fn a_record_of_what_data_decides_is_held_against_its_node() {
    let u0 = || SymInt::symbol("u0");
    let keep = |_: &mut Program| {};
    with_record_of_data("add", &u0().add(&2.into()), keep).unwrap();
    let error = with_record_of_data("add", &u0().add(&3.into()), keep).unwrap_err();
    assert!(
        error.contains("the file records `number` as u0 + 3, which is 10, but the node computes 9 at u0 = 7"),
        "{error}"
    );
    for record in [u0(), u0().mul(&2.into()), 4.into()] {
        assert!(with_record_of_data("add", &record, keep).unwrap_err().contains("but the node computes"));
    }
}

#[test]
fn a_record_of_what_data_decides_may_use_what_is_asserted() {
    let asserted = |operator: &'static str, wanted: i64| {
        move |program: &mut Program| {
            let nodes = &mut program.graph.nodes;
            let at = nodes.iter().position(|node| node.name == "number").unwrap();
            let check = Node {
                name: "check".to_owned(),
                target: "aten::_assert_scalar".to_owned(),
                args: vec![
                    ("self".to_owned(), Arg::Sym("holds".to_owned())),
                    ("assert_msg".to_owned(), Arg::Str("even".to_owned())),
                ],
                outputs: vec![NodeOutput::None],
                ..Node::default()
            };
            nodes.splice(
                at..at,
                [function("rest", "mod", "item", 2), function("holds", operator, "rest", wanted), check],
            );
            program.graph.sym_ints.insert("rest".to_owned(), SymInt::symbol("u0").modulo(&2.into()));
            program.graph.sym_bools.insert("holds".to_owned(), SymNumber::Unknown);
        }
    };
    let nothing = 0.into();
    assert!(with_record_of_data("mod", &nothing, |_| {}).is_err());
    with_record_of_data("mod", &nothing, asserted("eq", 0)).unwrap();
    with_record_of_data("mod", &nothing, asserted("lt", 1)).unwrap();
    assert!(with_record_of_data("mod", &nothing, asserted("ne", 0)).is_err());
    // What is asserted in a way that is not understood may say anything.
    with_record_of_data("mod", &nothing, asserted("or_", 0)).unwrap();
}

#[test]
fn comparisons_with_nan_are_false() {
    // `s77 * nan <= 1.0` of a size.
    for (operator, holds) in [("le", false), ("ge", false), ("lt", false), ("gt", false), ("eq", false), ("ne", true)] {
        let with = |record: bool| {
            let change = |program: &mut Program| {
                let graph = &mut program.graph;
                let mut product = function("product", "mul", "sym_size_int_2", 0);
                product.args[1].1 = Arg::Float(f64::NAN);
                graph.sym_floats.insert("product".to_owned(), SymNumber::Unknown);
                graph.sym_bools.insert("answer".to_owned(), SymNumber::Bool(record));
                let at = graph.nodes.iter().position(|node| node.name == "sym_size_int_2").unwrap() + 1;
                graph.nodes.splice(at..at, [product, function("answer", operator, "product", 1)]);
                let mut chosen = graph.outputs[0].clone();
                chosen.value = Arg::Sym("answer".to_owned());
                graph.outputs.push(chosen);
            };
            exported(pt2::read(&sample("dynamic_shapes")).unwrap(), change)
        };
        with(holds).unwrap();
        let error = with(!holds).unwrap_err();
        assert!(
            error.contains(&format!("the file records `answer` as {}, but the node computes {holds}", !holds)),
            "{error}"
        );
    }
}

#[test]
fn sizes_of_a_tensor_are_held_against_its_operator() {
    let longer = |graph: &mut Graph| {
        let sizes = &mut graph.tensors.get_mut("cat").unwrap().sizes;
        sizes[0] = sizes[0].mul(&2.into());
    };
    let error = exported(pt2::read(&sample("dynamic_shapes")).unwrap(), |program| longer(&mut program.graph));
    let error = error.unwrap_err();
    assert!(
        error.contains("returns float32[s17 + s77, 6] where PyTorch recorded float32[2*s17 + 2*s77, 6]"),
        "{error}"
    );
}

/// The graph of a sample without weights, with a change of its JSON.
fn read(name: &str, change: impl FnOnce(&mut Value)) -> Result<Program, String> {
    let archive = Archive::of_file(MappedFile::open(&sample(name)).unwrap()).unwrap();
    let mut json: Value = serde_json::from_slice(archive.bytes("models/model.json").unwrap()).unwrap();
    change(&mut json["graph_module"]["graph"]);
    let text = json.to_string();
    let program = pt2::read_live(name, text.as_bytes(), HashMap::new(), HashMap::new());
    program.map_err(|error| error.to_string())
}

#[test]
fn a_number_without_a_record_is_damage() {
    read("unbacked", |_| {}).unwrap();
    let error = read("unbacked", |graph| {
        let table = graph["sym_float_values"].as_object_mut().unwrap();
        let record = table.remove("mul").unwrap();
        table.insert("alpha".to_owned(), record);
    });
    assert!(error.unwrap_err().contains("the graph has no record of the number `mul`"));
}

fn nested(node: &mut Value) -> Vec<&mut Value> {
    let inputs = node["inputs"].as_array_mut().unwrap();
    inputs.iter_mut().filter_map(|input| input["arg"].get_mut("as_graph")).map(|graph| &mut graph["graph"]).collect()
}

fn caller<'a>(graph: &'a mut Value, target: &str) -> &'a mut Value {
    graph["nodes"].as_array_mut().unwrap().iter_mut().find(|node| node["target"] == target).unwrap()
}

#[test]
fn a_graph_returns_what_its_node_returns() {
    const COND: &str = "torch.ops.higher_order.cond";
    read("cond_symclosure", |_| {}).unwrap();
    let error = read("cond_symclosure", |graph| {
        nested(caller(graph, COND))[1]["is_single_tensor_return"] = true.into();
    });
    let wanted = "`false_graph_0` is recorded to return a tensor, but its node a tuple";
    assert!(error.as_ref().unwrap_err().contains(wanted), "{error:?}");
    let error =
        read("cond_symclosure", |graph| caller(graph, COND)["is_hop_single_tensor_return"] = true.into()).unwrap_err();
    assert!(error.contains("is recorded to return a tuple, but its node a tensor"), "{error}");
    // The condition of a loop is one tensor, and its body is a tuple.
    read("while_loop", |_| {}).unwrap();
    let change = |graph: &mut Value| {
        let node = caller(graph, "torch.ops.higher_order.while_loop");
        let mut graphs = nested(node);
        graphs[1]["is_single_tensor_return"] = true.into();
    };
    let error = read("while_loop", change).unwrap_err();
    assert!(error.contains("is recorded to return"), "{error}");
}

#[test]
fn a_body_gets_what_it_is_recorded_to_take() {
    for (name, target) in [("scans", "scan"), ("scans", "map_impl"), ("while_loop", "while_loop")] {
        exported(pt2::read(&sample(name)).unwrap(), |_| {}).unwrap();
        let change = |program: &mut Program| {
            let is_wanted = |node: &&mut Node| node.target.ends_with(&format!("::{target}"));
            let node = program.graph.nodes.iter_mut().find(is_wanted).unwrap();
            let graph = node.args.iter_mut().rev().find_map(|(_, arg)| match arg {
                Arg::Graph(graph) => Some(Arc::make_mut(graph)),
                _ => None,
            });
            let graph = graph.unwrap();
            let input = graph.inputs.iter().find(|input| graph.tensors[&input.name].dtype == Dtype::Float32).unwrap();
            graph.tensors.get_mut(&input.name).unwrap().dtype = Dtype::Uint8;
        };
        let error = exported(pt2::read(&sample(name)).unwrap(), change).unwrap_err();
        assert!(error.contains("a nested graph gets float32 for"), "{name} {target}: {error}");
    }
}

fn drop(value: &mut Value, field: &str) {
    value.as_object_mut().unwrap().remove(field).unwrap();
}

/// PyTorch refuses a file that lacks them, so it means nothing else.
#[test]
fn fields_that_pytorch_demands_are_demanded() {
    let lacks = |change: fn(&mut Value), field: &str| {
        let error = read("unbacked", change).unwrap_err();
        assert!(error.contains(&format!("missing field `{field}`")), "{error}");
    };
    lacks(|graph| drop(&mut graph["tensor_values"]["x"], "strides"), "strides");
    lacks(|graph| drop(&mut graph["tensor_values"]["x"], "storage_offset"), "storage_offset");
    lacks(|graph| drop(&mut graph["tensor_values"]["x"], "layout"), "layout");
    lacks(|graph| drop(&mut graph["tensor_values"]["x"], "device"), "device");
    lacks(|graph| drop(&mut graph["nodes"][0], "metadata"), "metadata");
    lacks(|graph| drop(graph, "sym_int_values"), "sym_int_values");
    lacks(|graph| drop(graph, "sym_bool_values"), "sym_bool_values");
}

mod python {
    use crate::host;

    /// Programs whose sizes look different in records and rules, and whose operators refuse sizes for which PyTorch has no guard.
    #[test]
    fn records_that_are_true_are_accepted() {
        host::judge("pt2/records.py", env!("CARGO_BIN_EXE_aten2onnx"), &[]);
    }
}
