#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::HashSet;

use super::inplace::kind;
use super::*;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::sym::SymInt;
use aten2onnx_program::{IntArg, Output, OutputKind};

/// A program over one input `x` of 4 x 6 floats.
#[derive(Default)]
struct Model {
    program: Program,
}

impl Model {
    fn new() -> Model {
        let mut model = Model::default();
        model.program.graph.inputs.push(Input { name: "x".to_owned(), kind: InputKind::Tensor });
        model.meta("x", &[4, 6]);
        model
    }

    fn meta(&mut self, name: &str, sizes: &[i64]) {
        let mut strides = Vec::new();
        for at in 0..sizes.len() {
            strides.push(SymInt::from(sizes[at + 1..].iter().product::<i64>()));
        }
        let sizes = sizes.iter().map(|size| SymInt::from(*size)).collect();
        let meta = TensorMeta { dtype: Dtype::Float32, sizes, strides, storage_offset: SymInt::from(0) };
        self.program.graph.tensors.insert(name.to_owned(), meta);
    }

    /// A node `result = target(self=read, ..)`.
    fn node(&mut self, result: &str, target: &str, read: &str, args: &[(&str, Arg)], sizes: &[i64]) {
        let mut all = vec![("self".to_owned(), Arg::Tensor(read.to_owned()))];
        all.extend(args.iter().map(|(name, arg)| ((*name).to_owned(), arg.clone())));
        self.meta(result, sizes);
        self.program.graph.nodes.push(Node {
            name: result.to_owned(),
            target: target.to_owned(),
            args: all,
            outputs: vec![NodeOutput::Tensor(result.to_owned())],
            ..Node::default()
        });
    }

    fn finish(mut self, output: &str) -> Result<Program> {
        self.program.graph.outputs.push(Output { value: tensor(output), kind: OutputKind::User });
        aten2onnx_program::validate::names(&self.program)?;
        functionalise(&mut self.program, false)?;
        crate::dead_code::drop(&mut self.program);
        aten2onnx_program::validate::names(&self.program)?;
        Ok(self.program)
    }
}

fn tensor(name: &str) -> Arg {
    Arg::Tensor(name.to_owned())
}

/// The nodes as `result = operator(tensors)`.
fn lines(program: &Program) -> Vec<String> {
    let line = |node: &Node| {
        let mut reads = Vec::new();
        node.args.iter().for_each(|(_, arg)| visit::each_name(arg, &mut |name| reads.push(name)));
        format!("{} = {}({})", visit::results(node).collect::<Vec<_>>().join(", "), node.target, reads.join(", "))
    };
    program.graph.nodes.iter().map(line).collect()
}

const ROW: &[(&str, Arg)] = &[("dim", Arg::Int(0)), ("index", Arg::Int(0))];

#[test]
fn later_uses_read_the_new_value() {
    let mut model = Model::new();
    model.node("a", "aten::clone", "x", &[], &[4, 6]);
    model.node("b", "aten::relu_", "a", &[], &[4, 6]);
    model.node("c", "aten::add_.Tensor", "a", &[("other", tensor("x"))], &[4, 6]);
    model.node("d", "aten::mul.Tensor", "b", &[("other", tensor("a"))], &[4, 6]);
    let program = model.finish("d").unwrap();
    let expected =
        ["a = aten::clone(x)", "b = aten::relu(a)", "c = aten::add.Tensor(b, x)", "d = aten::mul.Tensor(c, c)"];
    assert_eq!(lines(&program), expected);
    assert!(program.notes.is_empty());
}

#[test]
fn a_write_to_a_view_shows_in_its_base_and_in_other_views() {
    let mut model = Model::new();
    model.node("a", "aten::clone", "x", &[], &[4, 6]);
    model.node("flat", "aten::view", "a", &[("size", Arg::Ints(vec![IntArg::Known(24)]))], &[24]);
    model.node("row", "aten::select.int", "a", ROW, &[6]);
    model.node("w", "aten::relu_", "row", &[], &[6]);
    model.node("end", "aten::sum", "flat", &[], &[]);
    let program = model.finish("end").unwrap();
    let expected = [
        "a = aten::clone(x)",
        "row = aten::select.int(a)",
        "w = aten::relu(row)",
        "a_updated = aten::select_scatter(a, w)",
        "flat_updated_1 = aten::view(a_updated)",
        "end = aten::sum(flat_updated_1)",
    ];
    assert_eq!(lines(&program), expected);
}

#[test]
fn a_write_to_a_view_whose_base_nobody_reads_adds_nothing() {
    let mut model = Model::new();
    model.node("a", "aten::clone", "x", &[], &[4, 6]);
    model.node("row", "aten::select.int", "a", ROW, &[6]);
    model.node("w", "aten::relu_", "row", &[], &[6]);
    let program = model.finish("row").unwrap();
    assert_eq!(lines(&program), ["a = aten::clone(x)", "row = aten::select.int(a)", "w = aten::relu(row)"]);
}

#[test]
fn writes_that_cannot_be_followed_are_refused() {
    let mut model = Model::new();
    model.node("a", "aten::clone", "x", &[], &[4, 6]);
    model.node("odd", "aten::view.dtype", "a", &[("dtype", Arg::Dtype(Dtype::Int32))], &[3]);
    model.node("w", "aten::relu_", "odd", &[], &[3]);
    model.program.graph.tensors.get_mut("a").unwrap().dtype = Dtype::Complex64;
    model.node("end", "aten::sum", "a", &[], &[]);
    model.program.graph.nodes[2].source_line = Some("File \"m.py\", line 2, in forward".to_owned());
    model.program.graph.nodes[3].source_line = Some("File \"m.py\", line 3, in forward".to_owned());
    let error = model.finish("end").unwrap_err();
    assert_eq!(
        error.to_string(),
        "node `end` (aten::sum): File \"m.py\", line 3, in forward: it reads `a`, whose memory `w` (aten::relu_, \
         File \"m.py\", line 2, in forward) has changed through another view; this is not supported"
    );
    assert!(error.help.clone().unwrap().contains("`x.clone()` before"));
    for target in ["aten::resize_", "aten::set_.source_Tensor", "aten::_foreach_add_.Scalar"] {
        let mut model = Model::new();
        model.node("a", target, "x", &[], &[4, 6]);
        assert!(model.finish("a").unwrap_err().to_string().contains("not supported"), "{target}");
    }
}

#[test]
fn a_tensor_without_elements_is_given_memory() {
    let mut model = Model::new();
    model.node("a", "aten::clone", "x", &[], &[0]);
    model.node("b", "aten::resize_as_", "a", &[("the_template", tensor("x"))], &[4, 6]);
    model.node("row", "aten::select.int", "b", ROW, &[6]);
    model.node("w", "aten::zero_", "row", &[], &[6]);
    let expected = [
        "b = aten::empty_like(x)",
        "row = aten::select.int(b)",
        "w = aten::zeros_like(row)",
        "b_updated = aten::select_scatter(b, w)",
    ];
    assert_eq!(lines(&model.finish("a").unwrap()), expected);

    let mut again = Model::new();
    again.node("a", "aten::clone", "x", &[], &[0]);
    again.node("b", "aten::resize_as_", "a", &[("the_template", tensor("x"))], &[4, 6]);
    again.node("c", "aten::resize_", "a", &[("size", Arg::Ints(vec![IntArg::Known(24)]))], &[24]);
    assert!(again.finish("c").unwrap_err().to_string().contains("not supported"));
}

#[test]
fn a_reshape_that_may_copy_is_not_trusted() {
    let transposed = |read: &str| {
        let mut model = Model::new();
        model.node("a", "aten::clone", "x", &[], &[4, 6]);
        // The strides are not known to be contiguous.
        model.program.graph.tensors.get_mut("a").unwrap().strides = vec![SymInt::symbol("s0"), SymInt::from(1)];
        model.node("r", "aten::reshape", "a", &[], &[24]);
        model.node("w", "aten::relu_", "r", &[], &[24]);
        model.finish(read)
    };
    assert!(transposed("r").is_ok());
    assert!(transposed("a").is_err());
}

#[test]
fn changes_of_shape_in_place_are_views() {
    let mut model = Model::new();
    model.node("a", "aten::clone", "x", &[], &[4, 6]);
    model.node("row", "aten::select.int", "a", ROW, &[6]);
    model.node("u", "aten::unsqueeze_", "row", &[("dim", Arg::Int(0))], &[1, 6]);
    model.node("w", "aten::relu_", "row", &[], &[1, 6]);
    model.node("end", "aten::sum", "a", &[], &[]);
    let program = model.finish("end").unwrap();
    let expected = [
        "a = aten::clone(x)",
        "row = aten::select.int(a)",
        "u = aten::unsqueeze(row)",
        "w = aten::relu(u)",
        "row_updated = aten::reshape(w)",
        "a_updated_1 = aten::select_scatter(a, row_updated)",
        "end = aten::sum(a_updated_1)",
    ];
    assert_eq!(lines(&program), expected);
}

#[test]
fn a_copy_is_a_tensor_of_its_own() {
    let mut model = Model::new();
    model.node("a", "aten::clone", "x", &[], &[4, 6]);
    model.node("b", "aten::zeros_like", "x", &[], &[4, 6]);
    model.node("c", "aten::copy_", "b", &[("src", tensor("a"))], &[4, 6]);
    model.node("w", "aten::relu_", "c", &[], &[4, 6]);
    model.node("end", "aten::mul.Tensor", "a", &[("other", tensor("b"))], &[4, 6]);
    let program = model.finish("end").unwrap();
    assert_eq!(lines(&program).last().unwrap(), "end = aten::mul.Tensor(a, w)");
}

#[test]
fn the_element_type_stays() {
    let mut model = Model::new();
    model.node("a", "aten::clone", "x", &[], &[4, 6]);
    model.node("d", "aten::double", "x", &[], &[4, 6]);
    model.program.graph.tensors.get_mut("d").unwrap().dtype = Dtype::Float64;
    model.node("w", "aten::add_.Tensor", "a", &[("other", tensor("d"))], &[4, 6]);
    model.node("g", "aten::gt_.Scalar", "w", &[("other", Arg::Int(1))], &[4, 6]);
    let program = model.finish("g").unwrap();
    assert_eq!(
        lines(&program)[2..],
        [
            "w_raw = aten::add.Tensor(a, d)",
            "w = aten::to.dtype(w_raw)",
            "g_raw_1 = aten::gt.Scalar(w)",
            "g = aten::to.dtype(g_raw_1)"
        ]
    );
}

#[test]
fn a_write_to_an_input_is_noted_once() {
    let mut model = Model::new();
    model.node("a", "aten::relu_", "x", &[], &[4, 6]);
    model.node("b", "aten::relu_", "x", &[], &[4, 6]);
    let program = model.finish("b").unwrap();
    assert_eq!(program.notes.len(), 1);
    assert!(program.notes[0].starts_with("the model writes to its input `x` (`a` (aten::relu_))"));
}

#[test]
fn a_write_from_a_nested_graph_to_the_outside_is_refused() {
    let mut inner = Model::new();
    inner.node("a", "aten::relu_", "x", &[], &[4, 6]);
    inner.program.graph.outputs.push(Output { value: tensor("a"), kind: OutputKind::User });
    let mut model = Model::new();
    let nested = ("", Arg::Graph(Arc::new(inner.program.graph)));
    model.node("c", "higher_order::cond", "x", &[nested, ("", tensor("x"))], &[4, 6]);
    let error = model.finish("c").unwrap_err().to_string();
    assert!(error.contains("from outside of its nested graph"), "{error}");
}

#[test]
fn long_programs_are_followed_to_their_end() {
    let mut model = Model::new();
    model.node("a", "aten::clone", "x", &[], &[4, 6]);
    for number in 0..50_000 {
        model.node(&format!("w{number}"), "aten::relu_", "a", &[], &[4, 6]);
        model.node(&format!("v{number}"), "aten::select.int", "a", ROW, &[6]);
    }
    let program = model.finish("a").unwrap();
    assert_eq!(program.graph.nodes.len(), 50_001);
    // Chains of views, and writes that each make another view stale.
    for step in ["deep", "wide"] {
        let mut model = Model::new();
        model.node("a", "aten::clone", "x", &[], &[4, 6]);
        let mut last = "a".to_owned();
        for number in 0..10_000 {
            let view = format!("v{number}");
            model.node(&view, "aten::view", &last, &[("size", Arg::Ints(vec![IntArg::Known(24)]))], &[24]);
            model.node(&format!("w{number}"), "aten::relu_", &view, &[], &[24]);
            if step == "deep" {
                last = view;
            }
        }
        // It must terminate, whether it is refused or not.
        let _ = model.finish("v7");
    }
}

#[test]
fn the_siblings_are_operators_of_torch() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../mappings/schemas/aten.txt");
    let text = std::fs::read_to_string(path).unwrap();
    let schemas: Vec<(&str, &str)> = text.lines().filter_map(|line| line.split_once('(')).collect();
    let names: HashSet<&str> = schemas.iter().map(|(name, _)| *name).collect();
    // Operators without a functional form, or on lists and numbers.
    let without = [
        "aten::_fill_mem_eff_dropout_mask_",
        "aten::_no_grad_embedding_renorm_",
        "aten::_no_grad_fill_",
        "aten::_no_grad_normal_",
        "aten::_no_grad_uniform_",
        "aten::_no_grad_zero_",
        "aten::_sobol_engine_ff_",
        "aten::_sobol_engine_initialize_state_",
        "aten::_sobol_engine_scramble_",
        "aten::copy_.Tensor",
        "aten::copy_.float",
        "aten::copy_.int",
        "aten::fill_diagonal_",
        "aten::mul_.t",
        "aten::_index_put_impl_.hacked_twin",
        "aten::requires_grad_",
        "aten::add_.t",
    ];
    let mut missing = Vec::new();
    for (name, args) in &schemas {
        let is_write = matches!(kind(name), Kind::Write(_) | Kind::Metadata);
        let sibling = functional_sibling(name);
        if is_write && !names.contains(sibling.as_str()) && !without.contains(name) {
            missing.push(format!("{name} -> {sibling}"));
        }
        // Exactly the operators that write to `self` are recognized.
        let marked = args.starts_with("Tensor(a!) self");
        if (marked && !writes(name) || is_write && !args.contains("!)")) && !is_known_otherwise(name) {
            missing.push(format!("{name}({args}"));
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

/// Operators that write but are not named accordingly, or the other way round.
fn is_known_otherwise(name: &str) -> bool {
    let known = ["aten::_no_grad_embedding_renorm_", "aten::record_stream", "aten::retain_grad", "aten::set_data"];
    known.contains(&name)
}
