//! Forms of operators that a runtime lacks or gets wrong are replaced, or refused with its reason.
#![allow(clippy::unwrap_used)]

mod models;
mod stored;

use std::sync::Arc;

use aten2onnx_builder::passes::Passes;
use aten2onnx_builder::{Builder, In, Scalar};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::dtype::Dtype::{Bfloat16, Float16, Float32, Float64, Int16, Int32, Int64};
use aten2onnx_core::error::Kind;
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::{Attr, Constant, Graph, Type, Value};
use aten2onnx_onnx::targets::{self, Avoid, Comparison, Condition, Missing, Name, Quantized, Target};
use aten2onnx_rules::Rules;

fn builder(target: &str, opset: u32) -> Builder {
    let mut cx = Rules::interpreted().builder(opset);
    cx.set_target(targets::find(target).unwrap());
    cx
}

fn input(cx: &mut Builder, name: &str, sizes: &[SymInt]) -> Value {
    cx.input(name, Type::tensor(Float32, sizes.to_vec()))
}

/// Each is another weight.
fn weight(cx: &mut Builder, sizes: &[i64]) -> Value {
    let count: i64 = sizes.iter().product();
    let weight = Constant::new(Float32, sizes.to_vec(), vec![0; 4 * count as usize]);
    cx.weight(Arc::new(weight.to_weight("w").unwrap()))
}

fn finished(mut cx: Builder, output: Value) -> Graph {
    cx.output("y", output);
    cx.finish().unwrap()
}

fn ops(graph: &Graph) -> Vec<&'static str> {
    graph.body.nodes.iter().map(|node| node.op).collect()
}

/// The operators of a call.
fn made(cx: Builder, op: &'static str, inputs: Vec<In>, attrs: Vec<(&'static str, Attr)>) -> Vec<&'static str> {
    let mut cx = cx;
    let y = cx.node1(op, inputs, attrs).unwrap();
    ops(&finished(cx, y))
}

fn n(size: i64) -> SymInt {
    SymInt::from(size)
}

#[test]
fn an_attribute_decides() {
    let celu = |alpha: f64| {
        let mut cx = builder("tract", 18);
        let x = input(&mut cx, "x", &[n(3)]);
        made(cx, "Celu", vec![x.into()], vec![("alpha", Attr::Float(alpha))])
    };
    assert_eq!(celu(1.0), ["Celu"]);
    assert_eq!(celu(0.5), ["Div", "Elu", "Mul"]);
}

#[test]
fn a_limit_that_the_graph_computes_decides() {
    let range = |computed: bool| {
        let mut cx = builder("tract", 18);
        let x = input(&mut cx, "x", &[SymInt::symbol("s"), n(3)]);
        let size = if computed { cx.dim(x, 0).unwrap() } else { n(5000) };
        let limit = cx.sym_value(&size).unwrap();
        let zero = cx.scalar(&0.into(), Int64).unwrap();
        let one = cx.scalar(&1.into(), Int64).unwrap();
        made(cx, "Range", vec![zero.into(), limit.into(), one.into()], vec![])
    };
    assert!(!range(false).contains(&"CumSum"), "{:?}", range(false));
    assert!(range(true).contains(&"CumSum") && !range(true).contains(&"Range"), "{:?}", range(true));
}

#[test]
fn a_number_that_may_be_nan_keeps_it() {
    let mut cx = builder("tract", 18);
    let x = input(&mut cx, "x", &[n(3)]);
    let log = cx.node1("Log", vec![x.into()], vec![]).unwrap();
    let found = made(cx, "Relu", vec![log.into()], vec![]);
    assert!(found.contains(&"Max") && found.ends_with(&["Where"]) && !found.contains(&"Relu"), "{found:?}");
}

#[test]
fn a_dtype_and_a_given_input_decide() {
    let gemm = |dtype, with_bias: bool| {
        let mut cx = builder("tract", 18);
        let a = cx.input("a", Type::tensor(dtype, vec![n(2), n(3)]));
        let b = cx.input("b", Type::tensor(dtype, vec![n(3), n(4)]));
        let c = cx.input("c", Type::tensor(dtype, vec![n(4)]));
        let mut inputs = vec![a.into(), b.into()];
        if with_bias {
            inputs.push(c.into());
        }
        made(cx, "Gemm", inputs, vec![])
    };
    assert_eq!(gemm(Float32, true), ["Gemm"]);
    assert_eq!(gemm(Float16, false), ["Gemm"]);
    assert_eq!(gemm(Float16, true), ["MatMul", "Add"]);
}

#[test]
fn half_a_transform_is_a_slice_of_all_of_it() {
    let dft = |target: &str| {
        let mut cx = builder(target, 18);
        let x = input(&mut cx, "x", &[n(2), n(8), n(16), n(1)]);
        let axis = cx.scalar(&2.into(), Int64).unwrap();
        made(cx, "DFT", vec![x.into(), In::None, axis.into()], vec![("onesided", Attr::Int(1))])
    };
    assert_eq!(dft("openvino"), ["DFT", "Slice"]);
    assert_eq!(dft("onnxruntime"), ["DFT"]);
    // Without DFT, the products with cosines and sines are left.
    assert!(!dft("mnn").contains(&"DFT") && dft("mnn").contains(&"MatMul"), "{:?}", dft("mnn"));
}

#[test]
fn a_transform_is_not_computed_in_float64_if_nothing_converts_from_it() {
    let dtypes = |target: &str| {
        let mut cx = builder(target, 18);
        let x = input(&mut cx, "x", &[n(2), n(12), n(1)]);
        let axis = cx.scalar(&1.into(), Int64).unwrap();
        let y = cx.node1("DFT", vec![x.into(), In::None, axis.into()], vec![]).unwrap();
        let graph = finished(cx, y);
        let mut found = Vec::new();
        graph.body.visit(&mut |node| {
            found.extend(node.inputs.iter().flatten().map(|value| (node.op, graph.ty(*value).dtype())));
        });
        found.into_iter().filter(|(op, _)| *op == "MatMul").map(|(_, dtype)| dtype).collect::<Vec<_>>()
    };
    let of = |target| (dtypes(target).contains(&Float64), dtypes(target).contains(&Float32));
    assert_eq!(of("mnn"), (true, false), "more digits than float32 has");
    assert_eq!(of("rknn"), (false, true));
}

/// The operators of a call whose integer follows from sizes, or from elements.
fn of_count(from_sizes: bool, rows: SymInt, call: impl Fn(&mut Builder, Value, Value) -> Value) -> Vec<&'static str> {
    let mut cx = builder("tract", 18);
    let x = input(&mut cx, "x", &[rows, n(3)]);
    let sized = cx.input("sized", Type::tensor(Int64, vec![SymInt::symbol("s"), n(3)]));
    let data = cx.input("data", Type::tensor(Int64, vec![n(1)]));
    let count = match from_sizes {
        true => cx.node1("Shape", vec![sized.into()], vec![("start", Attr::Int(0)), ("end", Attr::Int(1))]).unwrap(),
        false => cx.node1("Neg", vec![data.into()], vec![]).unwrap(),
    };
    let y = call(&mut cx, x, count);
    ops(&finished(cx, y))
}

#[test]
fn a_size_is_given_as_a_number() {
    let top = |from_sizes, dtype: Dtype| {
        of_count(from_sizes, SymInt::symbol("r"), |cx, x, count| {
            let x = cx.cast(x, dtype).unwrap();
            cx.node1("TopK", vec![x.into(), count.into()], vec![("axis", Attr::Int(0))]).unwrap()
        })
    };
    let of_floats = top(true, Float32);
    assert_eq!(of_floats[..4], ["Shape", "Cast", "Cast", "TopK"], "{of_floats:?}");
    assert_eq!(of_floats.last(), Some(&"Slice"), "of as many as the expression says");
    assert_eq!(top(false, Float32), ["Neg", "TopK"]);
    let of_integers = top(true, Int64);
    assert_eq!(of_integers.iter().filter(|op| **op == "TopK").count(), 1, "{of_integers:?}");
    assert!(!of_integers.contains(&"ArgMax"), "{of_integers:?}");
}

#[test]
fn a_product_of_a_size_and_an_element_is_one_of_numbers() {
    let product = |from_sizes| {
        of_count(from_sizes, n(4), |cx, x, count| {
            let places = cx.node1("NonZero", vec![x.into()], vec![]).unwrap();
            cx.node1("Mul", vec![count.into(), places.into()], vec![]).unwrap()
        })
    };
    assert_eq!(product(false), ["Neg", "NonZero", "Mul"]);
    assert_eq!(product(true).iter().filter(|op| **op == "Cast").count(), 2, "{:?}", product(true));
}

#[test]
fn a_slice_to_an_element_is_by_indices() {
    let slice = |from_sizes| {
        of_count(from_sizes, SymInt::symbol("r"), |cx, x, count| {
            cx.node1("Slice", vec![x.into(), In::Ints(vec![n(0)]), count.into(), In::Ints(vec![n(0)])], vec![]).unwrap()
        })
    };
    assert_eq!(slice(true), ["Shape", "Slice"]);
    let by_indices = slice(false);
    assert!(by_indices.contains(&"Range") && by_indices.ends_with(&["Gather"]), "{by_indices:?}");
    assert!(!by_indices.contains(&"Slice"), "{by_indices:?}");
}

#[test]
fn a_size_from_elements_is_the_length_of_a_range() {
    let filled = |op: &'static str, from_sizes| {
        of_count(from_sizes, n(1), |cx, x, count| {
            let of_x = if op == "Expand" { vec![x.into()] } else { vec![] };
            let three = cx.scalar(&3.into(), Int64).unwrap();
            let three = cx.node1("Unsqueeze", vec![three.into(), In::Ints(vec![n(0)])], vec![]).unwrap();
            cx.node1("Concat", vec![In::Values(vec![count, three])], vec![("axis", Attr::Int(0))])
                .and_then(|shape| cx.node1(op, [of_x, vec![shape.into()]].concat(), vec![]))
                .unwrap()
        })
    };
    assert_eq!(filled("ConstantOfShape", true), ["Shape", "Concat", "ConstantOfShape"]);
    let by_range = filled("ConstantOfShape", false);
    assert!(by_range.contains(&"Range") && by_range.ends_with(&["Sub"]), "{by_range:?}");
    let by_range = filled("Expand", false);
    assert!(by_range.contains(&"Range") && !by_range.contains(&"Expand"), "{by_range:?}");
}

static OF_MATRICES: Avoid = Avoid {
    op: "NonZero",
    since: &[13],
    when: &["rank(X) == 2"],
    conditions: &[Condition::Rank(Name::Input("X"), Comparison::Equal, 2)],
    reason: "the process ends (SIGSEGV)",
    seen_in: "1.2",
};

#[test]
fn constants_that_stretch_each_other_are_expanded_before() {
    let sub = |sizes: [&[SymInt]; 2], op: &'static str| {
        let mut cx = builder("burn", 18);
        let folded = sizes.map(|sizes| {
            let weight = weight(&mut cx, &sizes.iter().filter_map(SymInt::known).collect::<Vec<_>>());
            cx.node1("Sqrt", vec![weight.into()], vec![]).unwrap()
        });
        made(cx, op, folded.map(In::from).to_vec(), vec![])
    };
    let (row, column): (&[SymInt], &[SymInt]) = (&[n(2), n(1), n(200)], &[n(2), n(200), n(1)]);
    for op in ["Add", "Sub", "Mul", "Div"] {
        assert_eq!(sub([row, column], op), ["Sqrt", "Sqrt", "Expand", op]);
        assert_eq!(sub([row, &[n(2), n(1), n(1)]], op), ["Sqrt", "Sqrt", op], "only one is stretched");
    }
}

#[test]
fn parts_of_weights_that_passes_join_are_constant() {
    let conv = |make: &dyn Fn(&mut Builder) -> Value| {
        let mut cx = builder("litert", 18);
        let x = input(&mut cx, "x", &[n(2), n(3), n(4), n(4)]);
        let w = make(&mut cx);
        made(cx, "Conv", vec![x.into(), w.into()], vec![]).contains(&"Conv")
    };
    let joined = |cx: &mut Builder, axis: i64| {
        let sizes = [[1, 3, 1, 1], [3, 1, 1, 1]][usize::from(axis > 0)];
        let parts = (0..3).map(|_| weight(cx, &sizes)).collect();
        cx.node1("Concat", vec![In::Values(parts)], vec![("axis", Attr::Int(axis))]).unwrap()
    };
    assert!(conv(&|cx| weight(cx, &[2, 3, 1, 1])));
    assert!(conv(&|cx| joined(cx, 0)));
    assert!(!conv(&|cx| joined(cx, 1)), "its rows alternate");
    assert!(!conv(&|cx| input(cx, "w", &[n(2), n(3), n(2), n(2)])));
}

#[test]
fn constants_among_several_inputs_count() {
    let kept = |target, limit: f64| {
        let mut cx = builder(target, 18);
        let x = input(&mut cx, "x", &[n(3)]);
        let limit = cx.scalar(&Scalar::Float(limit), Float32).unwrap();
        made(cx, "Max", vec![In::Values(vec![x, limit])], vec![]) == ["Max"]
    };
    assert!(!kept("litert", 1e-9) && !kept("litert", -1e-9), "they are taken for 0");
    assert!(kept("litert", 0.0) && kept("litert", 1e-3) && kept("openvino", 1e-9));
}

#[test]
fn what_nothing_replaces_is_refused_with_the_reason_of_the_runtime() {
    let nonzero = |opset: u32, sizes: &[SymInt]| {
        let mut cx = Rules::interpreted().builder(opset);
        cx.avoid_form(&OF_MATRICES);
        let x = input(&mut cx, "x", sizes);
        cx.node1("NonZero", vec![x.into()], vec![])
    };
    let error = nonzero(18, &[n(2), n(3)]).unwrap_err();
    assert_eq!(error.kind, Kind::Unsupported);
    let wanted = "the runtime does not compute `NonZero` with rank(X) == 2 (the process ends (SIGSEGV); seen in 1.2), \
                  and no other operators can replace it";
    assert_eq!(error.message, wanted);
    assert!(nonzero(18, &[n(6)]).is_ok(), "of another rank");
    assert!(nonzero(12, &[n(2), n(3)]).is_ok(), "of another version");
}

#[test]
fn inputs_that_stretch_each_other_are_a_form() {
    let largest = |sizes: [&[SymInt]; 2]| {
        let mut cx = builder("litert", 18);
        let inputs = sizes.map(|sizes| input(&mut cx, "x", sizes)).to_vec();
        made(cx, "Max", vec![In::Values(inputs)], vec![])
    };
    assert_eq!(largest([&[n(2), n(1), n(3), n(1)], &[n(2), n(3), n(1), n(1)]]), ["Expand", "Max"]);
    assert_eq!(largest([&[n(2), n(1), n(3), n(1)], &[n(2), n(1), n(1), n(1)]]), ["Max"]);
}

#[test]
fn pads_of_different_sizes_at_both_ends_are_a_form() {
    let pool = |pads: &[i64]| {
        let mut cx = builder("ncnn", 17);
        let x = input(&mut cx, "x", &[n(1), n(2), n(6), n(5)]);
        let attrs = vec![("kernel_shape", Attr::Ints(vec![3, 3])), ("pads", Attr::Ints(pads.to_vec()))];
        made(cx, "AveragePool", vec![x.into()], attrs)
    };
    assert_eq!(pool(&[1, 0, 1, 0]), ["AveragePool"]);
    assert!(pool(&[0, 0, 1, 1]).contains(&"Pad"));
}

const PLANTED: Target = Target {
    runtime: "planted",
    release: "1",
    what: "a runtime without some dtypes",
    kernels: false,
    symbolic: None,
    own_sizes: None,
    oldest_opset: 9,
    newest_opset: 28,
    fastest_opset: None,
    newest_ir: None,
    lacks_functions: None,
    lacks_dtypes: &[Bfloat16],
    lacks_constants: &[Int16],
    lacks_io_dtypes: &[Float16],
    most_weights: Some(1),
    narrows_float64: false,
    narrows_int64: false,
    widens_int32: false,
    lacks_scalar_outputs: false,
    lacks_empty_outputs: false,
    lacks_scalar_inputs: None,
    lacks_constant_outputs: None,
    drops_inputs: false,
    note: None,
    explicit_attributes: false,
    quantized: Quantized {
        matmul: &[],
        fast_matmul: &[],
        gather: &[],
        experts: &[],
        dynamic: false,
        unsigned: false,
        symmetric: false,
        operators: &[],
        float_results: &[],
    },
    lacks: &[],
    avoids: &[
        Missing { op: "NonZero", since: 13, dtypes: &[Float32, Int64], reason: "I64 is not a number" },
        Missing { op: "Gelu", since: 20, dtypes: &[Float64], reason: "it gives wrong numbers" },
    ],
    forms: &[],
    warns: &[Avoid {
        op: "Abs",
        since: &[],
        when: &["rank(X) == 1"],
        conditions: &[Condition::Rank(Name::Input("X"), Comparison::Equal, 1)],
        reason: "the numbers are rounded",
        seen_in: "1.2",
    }],
    loses_nan: &["Relu", "Max"],
    source: "a test",
};

static WITHOUT_DTYPES: Target = PLANTED;
static NARROW: Target = Target {
    narrows_float64: true,
    avoids: &[Missing { op: "Floor", since: 13, dtypes: &[Float64], reason: "FLOAT64 is unsupported by op Floor" }],
    ..PLANTED
};

#[test]
fn a_dtype_that_nothing_replaces_is_refused() {
    let of = |opset: u32, op: &'static str, dtype: Dtype| {
        let mut cx = Rules::interpreted().builder(opset);
        cx.set_target(&WITHOUT_DTYPES);
        let x = cx.input("x", Type::tensor(dtype, vec![n(2)]));
        cx.node1(op, vec![x.into()], vec![]).map(|y| ops(&finished(cx, y)))
    };
    let error = of(18, "NonZero", Int64).unwrap_err();
    assert_eq!(error.kind, Kind::Unsupported);
    let wanted =
        "the runtime does not compute `NonZero` of int64 (I64 is not a number), and no other operators can replace it";
    assert_eq!(error.message, wanted);
    assert_eq!(of(12, "NonZero", Int64).unwrap(), ["NonZero"], "of another version");
    assert_eq!(of(18, "NonZero", Float32).unwrap(), ["Cast", "NonZero"], "in a wider dtype");
    assert_eq!(of(20, "Gelu", Float32).unwrap(), ["Gelu"], "of another dtype");
    assert!(!of(20, "Gelu", Float64).unwrap().contains(&"Gelu"), "as in older opsets");
}

#[test]
fn float64_is_computed_in_float32_if_the_runtime_has_nothing_wider() {
    let of = |op: &'static str, dtype: Dtype| {
        let mut cx = Rules::interpreted().builder(18);
        cx.set_target(&NARROW);
        let x = cx.input("x", Type::tensor(dtype, vec![n(2)]));
        let y = cx.node1(op, vec![x.into()], vec![]).unwrap();
        finished(cx, y)
    };
    let narrow = of("Floor", Float64);
    assert_eq!(ops(&narrow), ["Cast", "Floor", "Cast"]);
    let note = "planted-1: float64 is computed in float32 where the runtime has no kernel for it".to_owned();
    assert!(NARROW.notes(&narrow).contains(&note), "{:?}", NARROW.notes(&narrow));
    assert!(!WITHOUT_DTYPES.notes(&narrow).iter().any(|text| text.contains("float64")));
    assert_eq!(ops(&of("Ceil", Float64)), ["Ceil"], "of another operator");
    let plain = of("Floor", Float32);
    assert_eq!(ops(&plain), ["Floor"], "of another dtype");
    assert!(!NARROW.notes(&plain).contains(&note));
}

#[test]
fn a_form_that_only_older_releases_lack_is_kept_in_newer_ones() {
    let normalized = |target| {
        let mut cx = builder(target, 18);
        let (x, scale) = (input(&mut cx, "x", &[n(2), n(4)]), input(&mut cx, "scale", &[n(4)]));
        made(cx, "LayerNormalization", vec![x.into(), scale.into()], vec![])
    };
    assert_eq!(normalized("onnxruntime-1.19"), ["LayerNormalization"]);
    assert_eq!(normalized("onnxruntime-node"), ["LayerNormalization"]);
    let old = normalized("onnxruntime-1.18");
    assert!(old.contains(&"ReduceMean") && !old.contains(&"LayerNormalization"), "{old:?}");
}

#[test]
fn a_dtype_that_only_older_releases_lack_is_kept_in_newer_ones() {
    let lower = |target| {
        let mut cx = builder(target, 18);
        let x = cx.input("x", Type::tensor(Dtype::Bool, vec![n(3), n(3)]));
        made(cx, "Trilu", vec![x.into()], vec![])
    };
    assert_eq!(lower("onnxruntime-1.31"), ["Trilu"]);
    assert!(lower("onnxruntime-1.17").len() > 1, "{:?}", lower("onnxruntime-1.17"));
}

#[test]
fn operators_that_are_written_by_each_other_are_refused_by_name() {
    static SHORT: Target = Target { lacks: &["Pad", "Concat"], ..PLANTED };
    let mut cx = Rules::interpreted().builder(17);
    cx.set_target(&SHORT);
    let (x, pads) = (input(&mut cx, "x", &[n(4)]), cx.ints(&[1, 1]));
    let error = cx.node1("Pad", vec![x.into(), pads.into()], vec![]).unwrap_err();
    assert_eq!(error.kind, Kind::Unsupported);
    let wanted = "the runtime has no `Pad`, and no other operator can replace it";
    assert!(error.message.starts_with(wanted), "{error}");
}

#[test]
fn forms_that_stay_are_told() {
    let mut cx = Rules::interpreted().builder(18);
    cx.set_target(&WITHOUT_DTYPES);
    let (x, square) = (input(&mut cx, "x", &[n(2)]), input(&mut cx, "square", &[n(2), n(2)]));
    let mut abs = |of: Value| cx.node1("Abs", vec![of.into()], vec![]).unwrap();
    let (_unused, of_matrix, y) = (abs(x), abs(square), abs(x));
    let z = cx.node1("Neg", vec![y.into()], vec![]).unwrap();
    let y = cx.node1("Abs", vec![z.into()], vec![]).unwrap();
    cx.output("of_matrix", of_matrix);
    let notes = WITHOUT_DTYPES.notes(&finished(cx, y));
    assert_eq!(notes, ["planted-1: `Abs` with rank(X) == 1: the numbers are rounded (2)"]);
}

#[test]
fn outputs_that_nothing_uses_are_not_told() {
    let notes = |places: bool| {
        let mut cx = builder("iree", 18);
        let x = input(&mut cx, "x", &[n(1), n(2), n(8), n(8)]);
        let pool = cx.node("MaxPool", vec![x.into()], vec![("kernel_shape", Attr::Ints(vec![3, 3]))], 2).unwrap();
        if places {
            cx.output("places", pool[1]);
        }
        targets::find("iree").unwrap().notes(&finished(cx, pool[0]))
    };
    assert!(!notes(false).iter().any(|note| note.contains("indices")), "{:?}", notes(false));
    assert!(notes(true).iter().any(|note| note.contains("`MaxPool` with outputs > 1")), "{:?}", notes(true));
}

#[test]
fn operators_that_lose_nan_are_told() {
    let mut cx = Rules::interpreted().builder(18);
    let x = input(&mut cx, "x", &[n(2)]);
    let y = cx.node1("Relu", vec![x.into()], vec![]).unwrap();
    let z = cx.node1("Relu", vec![y.into()], vec![]).unwrap();
    let z = cx.node1("Abs", vec![z.into()], vec![]).unwrap();
    let notes = WITHOUT_DTYPES.notes(&finished(cx, z));
    assert_eq!(notes, ["planted-1: NaN does not pass through Relu (2), but becomes a number"]);
}

#[test]
fn replacements_are_counted() {
    let mut cx = builder("openvino", 18);
    let x = input(&mut cx, "x", &[n(2), n(16), n(1)]);
    let axis = cx.scalar(&1.into(), Int64).unwrap();
    let y = cx.node1("DFT", vec![x.into(), In::None, axis.into()], vec![("onesided", Attr::Int(1))]).unwrap();
    let graph = finished(cx, y);
    let what: Vec<_> = graph.replaced.iter().collect();
    assert_eq!(what.len(), 1);
    assert!(what[0].0.starts_with("`DFT` with onesided_i == 1: "), "{what:?}");
    assert_eq!(*what[0].1, 1);
}

#[test]
fn a_pass_makes_no_form_that_the_runtime_gets_wrong() {
    let mut cx = builder("mnn", 18);
    let product = input(&mut cx, "product", &[n(2), n(4), n(3), n(8)]);
    let condition = cx.input("condition", Type::tensor(Dtype::Bool, vec![n(2), n(4), n(3), n(1)]));
    let zero = cx.scalar(&0.0.into(), Float32).unwrap();
    let y = cx.node1("Where", vec![condition.into(), zero.into(), product.into()], vec![]).unwrap();
    cx.output("y", y);
    let graph = cx.finish_after(|cx| Passes::ALL.run(cx)).unwrap();
    assert_eq!(ops(&graph), ["Not", "Unsqueeze", "Where", "Squeeze"]);
}
