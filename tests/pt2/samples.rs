//! Archives as torch writes them: what is read from each is a snapshot.

use aten2onnx::frontend::pt2;
use aten2onnx::program::validate;
use aten2onnx::program::{Arg, NodeOutput, Program};
use aten2onnx_prepare::{self as prepare, Keep};

use super::{print, sample};

fn read(name: &str) -> Program {
    let program = pt2::read(&sample(name)).unwrap_or_else(|error| panic!("{error}"));
    assert!(program.source.ends_with(&format!("{name}.pt2")));
    program
}

/// The passes that every front end's program goes through.
fn prepared(name: &str) -> Program {
    let mut program = read(name);
    prepare::prepare(&mut program, Keep::default()).unwrap_or_else(|error| panic!("{error}"));
    validate::names(&program).unwrap_or_else(|error| panic!("{error}"));
    assert!(program.graph.nodes.iter().all(|node| !prepare::writes(&node.target)));
    program
}

macro_rules! snapshots {
    ($as_read:ident: $($name:ident)*) => {
        $(#[test]
        fn $name() {
            insta::assert_snapshot!(print::program(&$as_read(stringify!($name))));
        })*
    };
}

mod as_read {
    use super::*;
    snapshots! { read:
        static_conv dynamic_shapes derived_dim tied_weights strided_weights complex_net bf16_net cond while_loop scans
        associative_scan
        buffer_mutation buffer_mutation_decomposed no_grad_autocast constant_outputs lists nested_inputs symint_input
        unbacked lstm v27_static_conv v27_noncontig_weight v28_static_conv v215_static_conv cond_symclosure effects
    }
}

mod made_functional {
    use super::*;
    snapshots! { prepared: effects inplace buffer_mutation no_grad_autocast static_conv }
}

#[test]
fn one_of_several_models_is_chosen_by_name() {
    let path = sample("multi_model");
    let error = pt2::read(&path).unwrap_err().to_string();
    assert!(error.ends_with("the archive has several models; choose one of `dec/er`, `enc`"), "{error}");
    let error = pt2::read_model(&path, Some("other")).unwrap_err().to_string();
    assert!(error.ends_with("the archive has no model `other`, only `dec/er`, `enc`"), "{error}");
    for (name, size) in [("enc", 2), ("dec/er", 3)] {
        let program = pt2::read_model(&path, Some(name)).unwrap();
        assert_eq!(program.weights[0].weight.sizes, [2, size]);
    }
}

#[test]
fn weights_that_only_python_can_read_are_refused() {
    let error = pt2::read(&sample("pickled_weight")).unwrap_err();
    assert!(error.to_string().contains("weight `weight`: it was saved as a Python object"), "{error}");
    assert_eq!(error.exit_code(), 5);
    assert!(error.help.clone().unwrap().contains("run_decompositions"));
}

#[test]
fn tied_weights_are_one() {
    let program = read("tied_weights");
    let [first, second] = program.weights.as_slice() else { panic!() };
    assert!(std::sync::Arc::ptr_eq(&first.weight, &second.weight));
}

#[test]
fn strided_weights_have_their_elements() {
    for name in ["strided_weights", "v27_noncontig_weight"] {
        for bound in &read(name).weights {
            bound.weight.check().unwrap();
        }
    }
    let program = read("strided_weights");
    let elements = |name: &str| {
        let bound = program.weights.iter().find(|bound| bound.weight.name == name).unwrap();
        print::elements(&bound.weight)
    };
    assert_eq!(elements("first"), [2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
    assert_eq!(elements("second"), [14.0, 15.0, 16.0, 17.0]);
    assert_eq!(elements("transposed"), [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);
    assert_eq!(elements("expanded"), [7.0; 4]);
    assert_eq!(elements("stepped"), [0.0, 2.0, 4.0]);
    assert_eq!(elements("empty"), [0.0; 0]);
    assert_eq!(elements("scalar"), [1.0]);
}

#[test]
fn the_versions_of_torch_give_the_same_program() {
    for name in ["static_conv", "v27_static_conv", "v28_static_conv", "v215_static_conv"] {
        let program = read(name);
        let convolutions = program.graph.nodes.iter().filter(|node| node.target == "aten::conv2d");
        assert_eq!(convolutions.count(), 1, "{name}");
    }
}

#[test]
fn a_path_that_is_no_file_is_an_error() {
    let error = pt2::read(std::path::Path::new("no/such.pt2")).unwrap_err();
    assert_eq!(error.exit_code(), 3);
    assert!(error.to_string().starts_with("no/such.pt2: "), "{error}");
    let error = pt2::read(crate::common::root()).unwrap_err();
    assert_eq!(error.exit_code(), 3);
}

#[test]
fn a_file_in_memory_is_read_like_one_on_disk() {
    let bytes = std::fs::read(sample("lists")).unwrap();
    let program = pt2::read_bytes("lists.pt2", bytes, None).unwrap();
    assert_eq!(print::program(&program), print::program(&read("lists")));
}

#[test]
fn every_name_that_is_read_after_the_passes_is_defined() {
    let program = prepared("inplace");
    let written = program.graph.nodes.iter().flat_map(|node| &node.outputs).any(|output| *output == NodeOutput::None);
    assert!(!written);
    assert!(program.graph.outputs.iter().all(|output| matches!(output.value, Arg::Tensor(_))));
}

#[test]
fn nan_is_looked_for_if_that_is_asked() {
    let count = |exporter: aten2onnx::Exporter| {
        let mut found = 0;
        let exported = exporter.read(sample("lists")).unwrap_or_else(|error| panic!("{error}"));
        exported.graph.body.visit(&mut |node| found += usize::from(node.op == "IsNaN"));
        found
    };
    assert_eq!(count(aten2onnx::Exporter::new()), 0);
    assert!(count(aten2onnx::Exporter::new().exact_nan()) > 0);
}
