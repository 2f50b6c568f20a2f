//! The builder on small graphs, shown as text.
#![allow(clippy::unwrap_used)]

use aten2onnx_builder::{ArgValue, Args, Binding, Builder, In, OperatorForm, Scalar, ScalarOp};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::dtype::Dtype::{Bfloat16, Bool, Float16, Float32, Float64, Int32, Int64};
use aten2onnx_core::error::{Kind, Result};
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::{Attr, Graph};
use aten2onnx_onnx::graph::{Origin, Type, Value};
use aten2onnx_rules::Rules;

fn builder(opset: u32) -> Builder {
    Rules::interpreted().builder(opset)
}

fn s(name: &str) -> SymInt {
    SymInt::symbol(name)
}

fn n(value: i64) -> SymInt {
    SymInt::from(value)
}

fn float(sizes: &[SymInt]) -> Type {
    Type::tensor(Float32, sizes.to_vec())
}

fn finished(mut cx: Builder, outputs: &[Value]) -> Graph {
    for (i, value) in outputs.iter().enumerate() {
        cx.output(&format!("out{i}"), *value);
    }
    cx.finish().unwrap()
}

/// The nodes of a graph, one per line.
fn nodes(graph: &Graph) -> Vec<String> {
    let text = graph.to_string();
    let lines = text.lines().skip_while(|line| !line.starts_with('(')).skip(1);
    lines.take_while(|line| *line != "}").map(|line| line.trim().to_owned()).collect()
}

fn ops(graph: &Graph) -> Vec<&'static str> {
    graph.body.nodes.iter().map(|node| node.op).collect()
}

fn one(cx: &mut Builder, op: &'static str, inputs: Vec<In>, attrs: Vec<(&'static str, Attr)>) -> Value {
    cx.node1(op, inputs, attrs).unwrap()
}

fn ints(values: &[i64]) -> In {
    In::from(values)
}

#[test]
fn literals_take_the_dtype_of_their_peers() {
    let mut cx = builder(26);
    let x = cx.input("x", Type::sized(Float16, &[2]));
    let i = cx.input("i", Type::sized(Int32, &[2]));
    let a = one(&mut cx, "Mul", vec![0.1.into(), x.into()], vec![]);
    let b = one(&mut cx, "Greater", vec![i.into(), 3i64.into()], vec![]);
    let c = one(&mut cx, "Add", vec![i.into(), 2.0.into()], vec![]);
    assert_eq!((cx.dtype(a), cx.dtype(b), cx.dtype(c)), (Float16, Bool, Int32));
    let graph = finished(cx, &[a, b, c]);
    assert_eq!(
        nodes(&graph),
        ["out0 = Mul(const_float16_0.1, x)", "out1 = Greater(i, const_int32_3)", "out2 = Add(i, const_int32_2)",]
    );
}

#[test]
fn integers_out_of_range_wrap_as_in_pytorch() {
    let mut cx = builder(26);
    let i = cx.input("i", Type::sized(Int32, &[2]));
    let y = one(&mut cx, "Add", vec![i.into(), i64::MAX.into()], vec![]);
    assert_eq!(nodes(&finished(cx, &[y])), ["out0 = Add(i, const_int32_m1)"]);
}

#[test]
fn fractions_and_dtypes_that_do_not_fit_contradict_the_call() {
    let mut cx = builder(26);
    cx.set_origin(Origin { rule: "aten::x".into(), ..Origin::default() });
    let i = cx.input("i", Type::sized(Int32, &[2]));
    let fraction = cx.node1("Add", vec![i.into(), 0.5.into()], vec![]).unwrap_err();
    assert_eq!(fraction.message, "0.5 does not fit int32 (in the rule for `aten::x`)");
    let x = cx.input("x", Type::sized(Float32, &[2]));
    let mixed = cx.node1("Add", vec![i.into(), x.into()], vec![]).unwrap_err();
    assert_eq!(mixed.kind, Kind::Input);
    assert!(mixed.message.contains("`aten::x`") && mixed.message.contains("int32"), "{mixed}");
    assert_eq!(cx.node1("NoSuchThing", vec![], vec![]).unwrap_err().kind, Kind::Internal);
}

#[test]
fn what_is_not_native_is_lowered() {
    for opset in [9, 13, 19, 20, 26] {
        let mut cx = builder(opset);
        let x = cx.input("x", float(&[s("n"), n(3)]));
        let y = one(&mut cx, "Gelu", vec![x.into()], vec![("approximate", "none".into())]);
        assert_eq!(cx.shape(y).unwrap(), [s("n"), n(3)]);
        let z = one(&mut cx, "Unsqueeze", vec![y.into(), ints(&[0])], vec![]);
        let graph = finished(cx, &[z]);
        assert_eq!(ops(&graph).contains(&"Gelu"), opset >= 20, "{graph}");
        let unsqueeze = graph.body.nodes.last().unwrap();
        assert_eq!((unsqueeze.inputs.len(), unsqueeze.attrs.len()), if opset >= 13 { (2, 0) } else { (1, 1) });
    }
}

#[test]
fn what_cannot_be_said_names_the_opset_that_can() {
    let mut cx = builder(12);
    let x = cx.input("x", Type::sized(Bfloat16, &[2]));
    let error = cx.node1("Relu", vec![x.into()], vec![]).unwrap_err();
    assert_eq!((error.kind, error.needs_opset), (Kind::Unsupported, Some(13)));
    let y = cx.input("y", Type::sized(Float32, &[2]));
    let error = cx.node1("Cast", vec![y.into()], vec![("to", Attr::Int(16))]).unwrap_err();
    assert_eq!((error.kind, error.needs_opset), (Kind::Unsupported, Some(13)));
}

#[test]
fn dtypes_are_legalised() {
    let mut cx = builder(17);
    let x = cx.input("x", Type::sized(Int32, &[2, 3]));
    let y = one(&mut cx, "CumSum", vec![x.into(), 0i64.into()], vec![]);
    assert_eq!(cx.dtype(y), Int32);
    let h = cx.input("h", Type::sized(Dtype::Int8, &[2]));
    let z = one(&mut cx, "Neg", vec![h.into()], vec![]);
    let b = cx.input("b", Type::sized(Dtype::Int8, &[2]));
    let a = one(&mut cx, "ReduceSum", vec![b.into()], vec![]);
    assert_eq!((cx.dtype(z), cx.dtype(a)), (Dtype::Int8, Dtype::Int8));
    let graph = finished(cx, &[y, z, a]);
    assert_eq!(
        nodes(&graph),
        [
            "out0 = CumSum(x, const_int32_0)",
            "out1 = Neg(h)",
            "Cast = Cast <to = 6>(b)",
            "ReduceSum = ReduceSum(Cast)",
            "out2 = Cast <to = 3>(ReduceSum)",
        ]
    );
}

#[test]
fn a_runtime_may_lack_kernels() {
    let mut cx = builder(26);
    cx.avoid("Relu", &[Bfloat16]);
    let x = cx.input("x", Type::sized(Bfloat16, &[2]));
    let y = one(&mut cx, "Relu", vec![x.into()], vec![]);
    let graph = finished(cx, &[y]);
    assert_eq!(ops(&graph), ["Cast", "Relu", "Cast"]);

    let mut cx = builder(26);
    cx.avoid("Gelu", &Dtype::ALL);
    let x = cx.input("x", Type::sized(Float32, &[2]));
    let y = one(&mut cx, "Gelu", vec![x.into()], vec![]);
    let graph = finished(cx, &[y]);
    assert!(!ops(&graph).contains(&"Gelu"), "{graph}");
}

#[test]
fn attributes_at_their_default_are_left_out() {
    let mut cx = builder(26);
    let x = cx.input("x", float(&[n(2), n(3)]));
    let y = one(&mut cx, "Softmax", vec![x.into()], vec![("axis", Attr::Int(-1))]);
    let z = one(&mut cx, "LeakyRelu", vec![x.into()], vec![("alpha", Attr::Float(0.01))]);
    let w = one(&mut cx, "LeakyRelu", vec![x.into()], vec![("alpha", Attr::Float(0.5))]);
    let graph = finished(cx, &[y, z, w]);
    let counts: Vec<usize> = graph.body.nodes.iter().map(|node| node.attrs.len()).collect();
    assert_eq!(counts, [0, 0, 1]);
}

#[test]
fn shape_arithmetic_is_shared_and_folded() {
    let mut cx = builder(13);
    let x = cx.input("x", float(&[s("n"), s("m"), n(4)]));
    let a = cx.tensor1(&[s("n"), s("m"), n(4)]).unwrap();
    let b = cx.tensor1(&[s("n"), s("m"), n(4)]).unwrap();
    assert_eq!(a, b);
    let c = cx.tensor1(&[n(2), &s("n") * &s("m"), n(4), n(5)]).unwrap();
    assert_eq!(cx.content(c).unwrap(), [n(2), &s("n") * &s("m"), n(4), n(5)]);
    let d = one(&mut cx, "Shape", vec![x.into()], vec![]);
    let four = one(&mut cx, "Gather", vec![d.into(), 2i64.into()], vec![]);
    assert_eq!(cx.constant_ints(four), Some(vec![4]));
    let graph = finished(cx, &[a, c]);
    assert_eq!(
        nodes(&graph),
        [
            "Shape = Shape(x)",
            "Slice = Slice(Shape, list_0, list_2, list_0)",
            "out0 = Concat <axis = 0>(Slice, list_4)",
            "Gather = Gather(Shape, const_1)",
            "Gather_1 = Gather(Shape, const_0)",
            "Mul = Mul(Gather, Gather_1)",
            "Unsqueeze = Unsqueeze(Mul, list_0)",
            "out1 = Concat <axis = 0>(list_2, Unsqueeze, list_4_5)",
        ]
    );
}

#[test]
fn symbols_are_solved_for_and_read_off() {
    let mut cx = builder(26);
    let x = cx.input("x", float(&[s("t") * 2 + 1]));
    let length = cx.input("length", Type::sized(Int64, &[]));
    cx.bind_symbol("u", Binding::Scalar(length));
    let a = cx.sym_value(&s("t")).unwrap();
    let whole = cx.sym_value(&(s("t") * 2 + 1)).unwrap();
    let b = cx.sym_value(&(s("u") - 1).floor_div(&n(2))).unwrap();
    let error = cx.sym_value(&s("nowhere")).unwrap_err();
    assert_eq!(
        (error.kind, error.message.as_str()),
        (Kind::Unsupported, "the size `nowhere` is not a dimension of any input")
    );
    let graph = finished(cx, &[a, whole, b]);
    assert_eq!(
        nodes(&graph),
        [
            "Shape = Shape(x)",
            "out1 = Gather(Shape, const_0)",
            "Sub = Sub(out1, const_1)",
            "out0 = Div(Sub, const_2)",
            "Add = Add(length, const_1)",
            "Mod = Mod(Add, const_2)",
            "Sub_1 = Sub(Add, Mod)",
            "Div = Div(Sub_1, const_2)",
            "out2 = Sub(Div, const_1)",
        ]
    );
    let _ = x;
}

#[test]
fn reshape_says_as_little_as_it_can() {
    let entries = |sizes: &[SymInt]| -> Result<String> {
        let mut cx = builder(26);
        cx.declare_range("p", Some(2), None);
        let x = cx.input("x", float(&[s("n"), s("p"), n(12), n(0) + s("k")]));
        let y = cx.reshape(x, sizes)?;
        if y == x {
            return Ok("same".into());
        }
        let graph = finished(cx, &[y]);
        let node = graph.body.nodes.last().unwrap();
        let shape = graph.constant(node.inputs[1].unwrap());
        Ok(shape.map_or_else(
            || format!("{} nodes", graph.body.nodes.len()),
            |_| graph.name(node.inputs[1].unwrap()).into(),
        ))
    };
    let (np, k) = (&s("n") * &s("p"), s("k"));
    assert_eq!(entries(&[s("n"), s("p"), n(12), k.clone()]).unwrap(), "same");
    assert_eq!(entries(&[s("n"), s("p"), n(-1), k.clone()]).unwrap(), "same");
    assert_eq!(entries(&[s("n"), s("p"), n(3), n(4), k.clone()]).unwrap(), "3 nodes");
    assert_eq!(entries(&[n(1), &(&np * &k) * 12]).unwrap(), "list_1_m1");
    assert_eq!(entries(&[n(-1), n(6)]).unwrap(), "list_m1_6");
    // `n` may be 0, so -1 would be ambiguous.
    assert_eq!(entries(&[s("n"), &(&s("p") * &k) * 12]).unwrap(), "8 nodes");
}

#[test]
fn reshape_to_a_size_of_zero() {
    for (opset, first, wanted) in
        [(13, s("n"), "ConstantOfShape"), (14, s("n"), "ConstantOfShape"), (14, n(3), "Reshape")]
    {
        let mut cx = builder(opset);
        let x = cx.input("x", float(&[n(0), first.clone()]));
        let sizes = [first, n(0), n(5)];
        let y = cx.reshape(x, &sizes).unwrap();
        assert_eq!(cx.shape(y).unwrap(), sizes);
        let graph = finished(cx, &[y]);
        assert_eq!(*ops(&graph).last().unwrap(), wanted);
    }
}

#[test]
fn expand_keeps_what_is_there() {
    let mut cx = builder(26);
    let x = cx.input("x", float(&[s("n"), n(1), n(4)]));
    assert_eq!(cx.expand(x, &[n(-1), n(1), n(4)]).unwrap(), x);
    let y = cx.expand(x, &[s("n"), n(7), n(-1)]).unwrap();
    assert_eq!(cx.shape(y).unwrap(), [s("n"), n(7), n(4)]);
    let graph = finished(cx, &[y]);
    assert_eq!(nodes(&graph), ["out0 = Expand(x, list_1_7_1)"]);
}

#[test]
fn constants_fold_to_the_bit() {
    let mut cx = builder(26);
    let a = cx.numbers(&[Scalar::Float(1.0), Scalar::Float(0.1)], Float32).unwrap();
    let b = one(&mut cx, "Div", vec![a.into(), 3.0.into()], vec![]);
    let third = f64::from(1f32 / 3.0);
    assert_eq!(cx.constant_floats(b).unwrap(), [third, f64::from(0.1f32 / 3.0)]);
    let m = cx.constant(Int64, &[2, 3], (0..6i64).flat_map(i64::to_le_bytes).collect::<Vec<u8>>()).unwrap();
    let t = one(&mut cx, "Transpose", vec![m.into()], vec![]);
    assert_eq!(cx.constant_ints(t).unwrap(), [0, 3, 1, 4, 2, 5]);
    let g = one(&mut cx, "Gather", vec![m.into(), ints(&[-1, 0])], vec![("axis", Attr::Int(1))]);
    assert_eq!(cx.constant_ints(g).unwrap(), [2, 0, 5, 3]);
    let c = one(&mut cx, "Concat", vec![m.into(), g.into()], vec![("axis", Attr::Int(1))]);
    assert_eq!(cx.constant_ints(c).unwrap(), [0, 1, 2, 2, 0, 3, 4, 5, 5, 3]);
    let r = one(&mut cx, "Slice", vec![m.into(), ints(&[-1]), ints(&[i64::MIN]), ints(&[1]), ints(&[-2])], vec![]);
    assert_eq!(cx.constant_ints(r).unwrap(), [2, 0, 5, 3]);
    let l = one(&mut cx, "Min", vec![m.into(), ints(&[3, 0, 2])], vec![]);
    assert_eq!(cx.constant_ints(l).unwrap(), [0, 0, 2, 3, 0, 2]);
    let u = one(&mut cx, "Unsqueeze", vec![m.into(), ints(&[0])], vec![]);
    assert_eq!(cx.ty(u), &Type::sized(Int64, &[1, 2, 3]));
    assert_eq!(cx.constant_ints(u).unwrap(), [0, 1, 2, 3, 4, 5]);
}

#[test]
fn constants_without_elements_may_have_any_other_sizes() {
    let mut cx = builder(26);
    let huge = cx.constant(Int64, &[0, 1 << 60, 1 << 60], Vec::new()).unwrap();
    let t = one(&mut cx, "Transpose", vec![huge.into()], vec![]);
    assert_eq!(cx.ty(t), &Type::sized(Int64, &[1 << 60, 1 << 60, 0]));
    let c = one(&mut cx, "Concat", vec![t.into(), t.into()], vec![("axis", Attr::Int(2))]);
    assert_eq!(cx.ty(c), &Type::sized(Int64, &[1 << 60, 1 << 60, 0]));
    let g = one(&mut cx, "Gather", vec![t.into(), ints(&[1, 0])], vec![("axis", Attr::Int(0))]);
    assert_eq!(cx.ty(g), &Type::sized(Int64, &[2, 1 << 60, 0]));
    let r = one(&mut cx, "Slice", vec![huge.into(), ints(&[1]), ints(&[i64::MAX]), ints(&[1]), ints(&[2])], vec![]);
    assert!(cx.ty(r).is_tensor());
}

#[test]
fn wrapped_numbers_keep_their_value_and_their_kind() {
    let mut cx = builder(26);
    let args = Args::new(vec![("other".into(), 0.1.into()), ("n".into(), s("n").into())]);
    let x = cx.input("x", Type::tensor(Float16, vec![s("n")]));
    let other = args.tensor(&mut cx, "other").unwrap();
    assert!(cx.is_wrapped(other) && cx.dtype(other) == Float64);
    assert!(!cx.is_wrapped(x));
    let half = cx.cast(other, Float16).unwrap();
    assert!(!cx.is_wrapped(half));
    assert_eq!(cx.constant_floats(half).unwrap(), [half::f16::from_f64(0.1).to_f64()]);
    let count = args.tensor(&mut cx, "n").unwrap();
    assert!(cx.is_wrapped(count));
    let y = one(&mut cx, "Add", vec![count.into(), 1i64.into()], vec![]);
    let graph = finished(cx, &[y]);
    assert_eq!(ops(&graph), ["Shape", "Gather", "Add"]);
}

#[test]
fn bodies_see_outwards_only() {
    let mut cx = builder(26);
    let x = cx.input("x", float(&[s("n")]));
    let condition = cx.input("c", Type::sized(Bool, &[]));
    let mut inner = None;
    let then = cx
        .body(&[], |cx, _| {
            let size = cx.sym_value(&s("n"))?;
            inner = Some(size);
            Ok(vec![size, x])
        })
        .unwrap();
    let error = cx.node1("Neg", vec![inner.into()], vec![]).unwrap_err();
    assert_eq!(error.kind, Kind::Internal);
    let other = cx.body(&[], |cx, _| Ok(vec![cx.scalar(&Scalar::Int(1), Int64)?, x])).unwrap();
    let attrs = vec![("then_branch", then), ("else_branch", other)];
    let values = cx.node("If", vec![condition.into()], attrs, 2).unwrap();
    let outer = cx.sym_value(&s("n")).unwrap();
    let graph = finished(cx, &[values[0], values[1], outer]);
    let nodes = nodes(&graph);
    assert_eq!(nodes[0], "out0, out1 = If(c)", "{graph}");
    assert_eq!(ops(&graph), ["If", "Shape", "Gather"], "{graph}");
    let Some(Attr::Graph(branch)) = graph.body.nodes[0].attr("then_branch") else { unreachable!() };
    assert_eq!(branch.nodes.iter().map(|n| n.op).collect::<Vec<_>>(), ["Shape", "Gather", "Identity"]);
}

#[test]
fn loops_carry_values_of_changing_sizes() {
    let mut cx = builder(26);
    let x = cx.input("x", float(&[n(3)]));
    let inputs: Vec<In> = vec![5i64.into(), In::None, x.into()];
    let params = cx.body_params("Loop", "body", &inputs, &[]).unwrap();
    assert_eq!(params.len(), 3);
    let body = cx
        .body(&params, |cx, inputs| {
            let doubled =
                cx.node1("Concat", vec![In::Values(vec![inputs[2], inputs[2]])], vec![("axis", Attr::Int(0))])?;
            let more = cx.scalar(&Scalar::Bool(true), Bool)?;
            Ok(vec![more, doubled])
        })
        .unwrap();
    let y = one(&mut cx, "Loop", inputs, vec![("body", body)]);
    assert_eq!((cx.dtype(y), cx.rank(y).unwrap()), (Float32, 1));
    let graph = finished(cx, &[y]);
    assert_eq!(ops(&graph), ["Loop"]);
}

#[test]
fn recorded_types_refine_and_contradict() {
    let mut cx = builder(26);
    cx.set_origin(Origin { rule: "aten::nonzero".into(), ..Origin::default() });
    let x = cx.input("x", float(&[n(3)]));
    let y = one(&mut cx, "NonZero", vec![x.into()], vec![]);
    assert!(cx.shape(y).unwrap()[1].is_anonymous());
    cx.set_type(y, &Type::tensor(Int64, vec![n(1), s("u0")])).unwrap();
    assert_eq!(cx.dim(y, -1).unwrap(), s("u0"));
    cx.sym_value(&s("u0")).unwrap();
    let error = cx.set_type(y, &Type::tensor(Float32, vec![n(1), s("u0")])).unwrap_err();
    assert_eq!(
        error.message,
        "returns int64[1, u0] where PyTorch recorded float32[1, u0] (in the rule for `aten::nonzero`)"
    );
    assert!(cx.set_type(y, &Type::sized(Int64, &[1])).is_err());
    assert!(cx.set_type(y, &Type::sized(Int64, &[2, 2])).is_err());
}

#[test]
fn everything_has_one_name_and_dead_nodes_go() {
    let mut cx = builder(26);
    let x = cx.input("x", float(&[n(4), n(6)]));
    cx.set_origin(Origin { node_name: "topk".into(), module: Some("head".into()), ..Origin::default() });
    let found = cx.node("TopK", vec![x.into(), ints(&[2])], vec![], 2).unwrap();
    cx.set_origin(Origin { node_name: "relu_1".into(), module: Some("head".into()), ..Origin::default() });
    let a = one(&mut cx, "Relu", vec![x.into()], vec![]);
    cx.name_value(a, "relu_1");
    let b = one(&mut cx, "Relu", vec![a.into()], vec![]);
    let dead = one(&mut cx, "Exp", vec![b.into()], vec![]);
    let same = one(&mut cx, "Identity", vec![b.into()], vec![]);
    assert_eq!(same, b);
    let _ = dead;
    cx.output("relu_1", b);
    cx.output("again", b);
    cx.output("x_out", x);
    cx.output("indices", found[1]);
    let graph = cx.finish().unwrap();
    assert_eq!(
        nodes(&graph),
        [
            "topk_TopK_Values, indices = TopK(x, list_2)",
            "relu_1_1 = Relu(x)",
            "relu_1 = Relu(relu_1_1)",
            "again = Identity(relu_1)",
            "x_out = Identity(x)",
        ]
    );
    let names: Vec<&str> = graph.body.nodes.iter().map(|n| n.name.as_str()).collect();
    assert_eq!(names, ["head/TopK", "head/Relu", "head/Relu_1", "head/Identity", "head/Identity_1"]);
}

#[test]
fn arguments_are_converted_and_errors_name_them() {
    let mut cx = builder(26);
    let x = cx.input("x", float(&[s("n")]));
    let args = Args::new(vec![
        ("x".into(), x.into()),
        ("dim".into(), s("n").into()),
        ("size".into(), 3i64.into()),
        ("none".into(), ArgValue::None),
        ("flag".into(), true.into()),
        ("value".into(), 2.5.into()),
    ]);
    let cx = &mut cx;
    assert_eq!(args.ints(cx, "size", Some(2)).unwrap(), [3, 3]);
    assert_eq!(args.ints(cx, "size", None).unwrap(), [3]);
    assert_eq!(args.int(cx, "dim").unwrap_err().message, "`dim` must be known at export time");
    assert_eq!(args.sym_int(cx, "dim").unwrap(), s("n"));
    assert_eq!(args.opt_int(cx, "none").unwrap(), None);
    assert_eq!(args.int(cx, "flag").unwrap(), 1);
    assert!(args.has("none") && !args.has("missing"));
    assert_eq!(args.int(cx, "value").unwrap_err().message, "the argument `value` should be an int and is a float");
    assert_eq!(args.str(cx, "missing").unwrap_err().message, "the argument `missing` is missing");
    assert_eq!(args.float(cx, "size").unwrap(), 3.0);
    assert_eq!(args.scalar(cx, "value").unwrap(), Scalar::Float(2.5));
}

#[test]
fn numbers_compute_as_in_python() {
    let mut cx = builder(26);
    let mut op = |op, a: Scalar, b: Scalar| cx.scalar_op(op, &a, &b).unwrap();
    assert_eq!(op(ScalarOp::FloorDiv, Scalar::Int(-7), Scalar::Int(2)), Scalar::Int(-4));
    assert_eq!(op(ScalarOp::Div, Scalar::Int(7), Scalar::Int(2)), Scalar::Float(3.5));
    assert_eq!(op(ScalarOp::Mul, Scalar::Sym(s("n")), Scalar::Int(2)), Scalar::Sym(s("n") * 2));
    assert_eq!(op(ScalarOp::Add, Scalar::Float(0.5), Scalar::Bool(true)), Scalar::Float(1.5));
    assert_ne!(Scalar::Value(Value::new(0)), Scalar::Value(Value::new(0)));
    assert_eq!(Scalar::Float(1.0), Scalar::Int(1));
}

#[test]
fn older_forms_stand_where_they_mean_the_same() {
    let mut cx = builder(26);
    let x = cx.input("x", float(&[n(2), n(3)]));
    let y = cx.node1_in(OperatorForm::before(13), "Relu", vec![x.into()], vec![]).unwrap();
    assert_eq!(cx.shape(y).unwrap(), [n(2), n(3)]);
    let error = cx
        .node1_in(OperatorForm::before(13), "Squeeze", vec![x.into()], vec![("axes", Attr::Ints(vec![0]))])
        .unwrap_err();
    assert_eq!(error.kind, Kind::Input);
}

#[test]
fn lists_of_sizes_have_an_end() {
    let mut cx = builder(18);
    let sizes = cx.input("sizes", Type::sized(Int64, &[1 << 62]));
    let error = cx.sym_ints(sizes).unwrap_err();
    assert!(error.message.starts_with("a list of 4611686018427387904 sizes"), "{error}");
}

#[test]
fn numbers_of_the_graph_are_wrapped_too() {
    let mut cx = builder(18);
    let number = cx.input("n", Type::sized(Float64, &[]));
    let args = Args::new(vec![("other".into(), ArgValue::Scalar(Scalar::Value(number)))]);
    let other = args.tensor(&mut cx, "other").unwrap();
    assert!(cx.is_wrapped(other) && !cx.is_wrapped(number));
    let y = one(&mut cx, "Add", vec![other.into(), 1f64.into()], vec![]);
    let graph = finished(cx, &[y]);
    assert_eq!(ops(&graph), ["Add"]);
}

#[test]
fn limits_and_signs_of_constants_fold() {
    let mut cx = builder(18);
    let floats = |cx: &mut Builder, xs: &[f64]| {
        let xs: Vec<Scalar> = xs.iter().copied().map(Scalar::Float).collect();
        cx.numbers(&xs, Float32).unwrap()
    };
    let a = floats(&mut cx, &[-2.0, 0.5, f64::INFINITY]);
    let b = floats(&mut cx, &[1.0, 0.25, 3.0]);
    let abs = one(&mut cx, "Abs", vec![a.into()], vec![]);
    assert_eq!(cx.constant_floats(abs).unwrap(), [2.0, 0.5, f64::INFINITY]);
    let infinite = one(&mut cx, "IsInf", vec![a.into()], vec![]);
    assert_eq!(cx.constant_ints(infinite).unwrap(), [0, 0, 1]);
    let most = one(&mut cx, "Max", vec![a.into(), b.into()], vec![]);
    assert_eq!(cx.constant_floats(most).unwrap(), [1.0, 0.5, f64::INFINITY]);
    let least = one(&mut cx, "Min", vec![a.into(), b.into()], vec![]);
    assert_eq!(cx.constant_floats(least).unwrap(), [-2.0, 0.25, 3.0]);
    let clipped = one(&mut cx, "Clip", vec![a.into(), (-1.0).into(), 1.0.into()], vec![]);
    assert_eq!(cx.constant_floats(clipped).unwrap(), [-1.0, 0.5, 1.0]);
    // Which zero it is depends on the runtime, and what becomes of NaN.
    let zeros = floats(&mut cx, &[0.0, f64::NAN]);
    let others = floats(&mut cx, &[-0.0, 1.0]);
    let open = one(&mut cx, "Max", vec![zeros.into(), others.into()], vec![]);
    assert_eq!(cx.constant_floats(open), None);
}
