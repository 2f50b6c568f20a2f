//! Inferred types of calls with symbols, as text: `s` symbols are at least 2, `t` symbols at least 0, `u` symbols
//! unbounded.

use super::*;

fn graph() -> Graph {
    let mut graph = Graph::default();
    for i in 0..4 {
        graph.ranges.insert(format!("s{i}"), (Some(2), None));
        graph.ranges.insert(format!("t{i}"), (Some(0), None));
    }
    graph
}

/// `s0`, `3`, `s0+1`, `2*s0-1`, `?`
fn size(graph: &Graph, text: &str) -> SymInt {
    if let Ok(n) = text.parse::<i64>() {
        return SymInt::from(n);
    }
    if let Some(i) = text.rfind(['+', '-']).filter(|i| *i > 0) {
        return size(graph, &text[..i]) + text[i..].parse::<i64>().unwrap();
    }
    match text.split_once('*') {
        Some((a, b)) => size(graph, a) * size(graph, b),
        None if text == "?" => graph.fresh(),
        None => SymInt::symbol(text),
    }
}

fn sizes(graph: &Graph, text: &str) -> Vec<SymInt> {
    text.split(',').map(str::trim).filter(|t| !t.is_empty()).map(|t| size(graph, t)).collect()
}

/// `float32[s0, 3]`, `float32`, or `int64[2] = s0, 3` with its content, or `-` for none.
fn given(graph: &Graph, text: &str) -> Option<Given> {
    let (ty, content) = match text.split_once('=') {
        Some((ty, content)) => (ty.trim(), Some(sizes(graph, content))),
        None => (text, None),
    };
    let ty = match ty.split_once('[') {
        _ if ty == "-" => return None,
        _ if ty.starts_with("seq(") => {
            let element = ty.trim_start_matches("seq(").trim_end_matches(')');
            Type::Sequence(Box::new(given(graph, element)?.ty))
        }
        Some((name, dims)) => Type::tensor(dtype(name), sizes(graph, dims.trim_end_matches(']'))),
        None => Type::unranked(dtype(ty)),
    };
    Some(Given { ty, constant: None, content })
}

type Attrs<'a> = &'a [(&'static str, Attr)];

fn call(op: &str, opset: u32, inputs: &[&str], attrs: Attrs, outputs: usize) -> (Result<Vec<Type>>, String) {
    let graph = graph();
    let inputs: Vec<_> = inputs.iter().map(|i| given(&graph, i)).collect();
    let inputs: Vec<_> = inputs.iter().map(|i| i.as_ref().map(Given::view)).collect();
    let version = version(op, opset);
    let contents = content(&graph, op, version, &inputs, attrs, outputs, opset);
    let text = |content: &Option<Vec<SymInt>>| match content {
        Some(list) => list.iter().map(SymInt::to_string).collect::<Vec<_>>().join(", "),
        None => "-".into(),
    };
    let contents = contents.iter().map(text).collect::<Vec<_>>().join(" | ");
    (infer(&graph, op, version, &inputs, attrs, outputs, opset), contents)
}

/// The types of the outputs.
fn types(op: &str, opset: u32, inputs: &[&str], attrs: Attrs, outputs: usize) -> String {
    match call(op, opset, inputs, attrs, outputs).0 {
        Ok(types) => types.iter().map(Type::to_string).collect::<Vec<_>>().join(" | "),
        Err(e) => format!("error: {e}"),
    }
}

/// The sizes of the only output, of float32.
fn shape(op: &str, inputs: &[&str], attrs: Attrs) -> String {
    types(op, 20, inputs, attrs, 1).trim_start_matches("float32").into()
}

/// The content of the only output.
fn content_of(op: &str, inputs: &[&str], attrs: Attrs) -> String {
    call(op, 20, inputs, attrs, 1).1
}

fn list(values: &[i64]) -> Attr {
    Attr::Ints(values.to_vec())
}

#[test]
fn broadcasting() {
    let add = |a: &str, b: &str| shape("Add", &[&format!("float32[{a}]"), &format!("float32[{b}]")], &[]);
    assert_eq!(add("t0, 1", "t0, 5"), "[t0, 5]");
    assert_eq!(add("t0", "5"), "[5]");
    assert_eq!(add("t0", "1"), "[t0]");
    assert_eq!(add("t0", "t1"), "[?]");
    assert_eq!(add("s0", "t1"), "[s0]");
    assert_eq!(add("?", "s0"), "[s0]");
    assert_eq!(add("2*t0+3", "t1"), "[2*t0 + 3]");
    assert_eq!(add("7, 1, 2", "t0, 2"), "[7, t0, 2]");
    assert_eq!(shape("Add", &["float32", "float32[2]"], &[]), "[*]");
    assert_eq!(
        add("2, 3", "3, 2"),
        "error: Add at opset 20: sizes 2 and 3 do not broadcast (inputs: float32[2, 3], float32[3, 2])"
    );
}

#[test]
fn windows() {
    let conv = |stride: i64, pad: i64| {
        let attrs = [("strides", list(&[stride, stride])), ("pads", list(&[pad; 4]))];
        shape("Conv", &["float32[t0, 3, s0, 8]", "float32[16, 3, 3, 3]"], &attrs)
    };
    assert_eq!(conv(1, 1), "[t0, 16, s0, 8]");
    assert_eq!(conv(1, 0), "[t0, 16, s0 - 2, 6]");
    assert_eq!(conv(2, 1), "[t0, 16, (s0 + 1)//2, 4]");
    let pool = |attrs: Attrs| shape("MaxPool", &["float32[1, 3, s0]"], attrs);
    assert_eq!(pool(&[("kernel_shape", list(&[2])), ("strides", list(&[2]))]), "[1, 3, s0//2]");
    let ceil = [("kernel_shape", list(&[2])), ("strides", list(&[2])), ("ceil_mode", Attr::Int(1))];
    assert_eq!(pool(&ceil), "[1, 3, (s0 + 1)//2]");
    let same = [("kernel_shape", list(&[3])), ("strides", list(&[3])), ("auto_pad", Attr::Str("SAME_LOWER".into()))];
    assert_eq!(pool(&same), "[1, 3, (s0 + 2)//3]");
    let attrs = [("strides", list(&[2, 2])), ("output_padding", list(&[1, 1])), ("pads", list(&[1; 4]))];
    let transposed = shape("ConvTranspose", &["float32[t0, 4, s0, s1]", "float32[4, 8, 3, 3]"], &attrs);
    assert_eq!(transposed, "[t0, 8, 2*s0, 2*s1]");
    let wrong = shape("Conv", &["float32[1, 4, 8]", "float32[6, 3, 3]"], &[]);
    assert!(wrong.contains("sizes 3 and 4 differ"), "{wrong}");
}

#[test]
fn slices() {
    let slice = |dim: &str, start: &str, end: &str, step: &str| {
        let one = |n: &str| format!("int64[1] = {n}");
        shape("Slice", &[&format!("float32[{dim}]"), &one(start), &one(end), &one("0"), &one(step)], &[])
    };
    let (far, back) = (i64::MAX.to_string(), i64::MIN.to_string());
    assert_eq!(slice("s0", "0", &far, "1"), "[s0]");
    assert_eq!(slice("s0", "1", &far, "1"), "[s0 - 1]");
    assert_eq!(slice("t0", "1", &far, "1"), "[Max(0, t0 - 1)]");
    assert_eq!(slice("s0", "0", "-1", "1"), "[s0 - 1]");
    assert_eq!(slice("s0", "-1", &far, "1"), "[1]");
    assert_eq!(slice("s0", "0", &far, "2"), "[(s0 + 1)//2]");
    assert_eq!(slice("s0", "-1", &back, "-1"), "[s0]");
    assert_eq!(slice("t0", "-1", &back, "-1"), "[t0]");
    assert_eq!(slice("s0", "0", "s0-1", "1"), "[s0 - 1]");
    assert_eq!(slice("s0", "0", "2", "1"), "[2]");
    assert_eq!(slice("t0", "0", "2", "1"), "[Min(2, t0)]");
    assert_eq!(slice("s0", "u0", &far, "1"), "[?]");
    assert_eq!(slice("10", "-3", "100", "2"), "[2]");
    assert!(slice("10", "0", "5", "0").contains("a step is 0"));
}

/// By the specification of the operator.
fn sliced(dim: i64, start: i64, end: i64, step: i64) -> i64 {
    let from_front = |n: i64| if n < 0 { n + dim } else { n };
    let (start, end) = (from_front(start), from_front(end));
    let count = |span: i64| ((span + step.abs() - 1) / step.abs()).max(0);
    match (step > 0, dim) {
        (_, 0) => 0,
        (true, _) => count(end.clamp(0, dim) - start.clamp(0, dim)),
        (false, _) => count(start.clamp(0, dim - 1) - end.clamp(-1, dim - 1)),
    }
}

#[test]
fn every_small_slice_comes_true() {
    let one = |n: SymInt| Given { ty: Type::sized(Dtype::Int64, &[1]), constant: None, content: Some(vec![n]) };
    let mut graph = graph();
    let mut known = 0;
    for at in 0..7 * 15 * 15 * 6 * 2 {
        let (dim, start, end) = (at % 7, at / 7 % 15 - 7, at / 105 % 15 - 7);
        let (step, at_least) = ([1, 2, 3, -1, -2, -3][at as usize / 1575 % 6], at / 9450);
        graph.ranges.insert("n".into(), (Some(at_least.min(dim)), None));
        let n = SymInt::symbol("n");
        let bounds = [start.into(), end.into(), 0.into(), step.into()].map(one);
        let data = Given { ty: Type::tensor(Dtype::Float32, vec![n]), constant: None, content: None };
        let inputs: Vec<_> = std::iter::once(&data).chain(&bounds).map(|i| Some(i.view())).collect();
        let types = infer(&graph, "Slice", version("Slice", 13), &inputs, &[], 1, 13).unwrap();
        let size = &types[0].shape().unwrap()[0];
        let values = HashMap::from([("n".to_string(), dim)]);
        let wanted = sliced(dim, start, end, step);
        assert!(
            size.is_anonymous() || size.eval(&values) == Some(wanted),
            "{dim}[{start}:{end}:{step}]: {size}, {wanted}"
        );
        known += usize::from(!size.is_anonymous());
    }
    assert!(known > 13_000, "{known}");
}

#[test]
fn reshapes() {
    let reshape = |data: &str, n: usize, to: &str| {
        shape("Reshape", &[&format!("float32[{data}]"), &format!("int64[{n}] = {to}")], &[])
    };
    assert_eq!(reshape("s0, 12, 64", 4, "0, 12, -1, 8"), "[s0, 12, 8, 8]");
    assert_eq!(reshape("s0, s1, 64", 2, "-1, 64"), "[s0*s1, 64]");
    assert_eq!(reshape("s0, s1, 64", 3, "s0, -1, 16"), "[s0, 4*s1, 16]");
    assert_eq!(reshape("?, 64", 3, "0, -1, 16"), "[?, 4, 16]");
    assert_eq!(reshape("6, 4", 2, "?, 8"), "[3, 8]");
    assert_eq!(shape("Reshape", &["float32[6, 4]", "int64[3]"], &[]), "[?, ?, ?]");
    assert_eq!(shape("Reshape", &["float32[6, 4]", "int64"], &[]), "[*]");
    let wrong = reshape("6, 4", 2, "5, 5");
    assert!(wrong.contains("cannot reshape 24 elements to 25"), "{wrong}");
    assert!(reshape("6, 4", 2, "-1, 5").contains("24 elements do not fit a multiple of 5"));
    assert!(reshape("6, 4", 2, "-1, -1").contains("more than one size is -1"));
    assert_eq!(shape("Flatten", &["float32[s0, 3, s1]"], &[("axis", Attr::Int(-1))]), "[3*s0, s1]");
}

#[test]
fn other_shapes() {
    assert_eq!(
        shape("Concat", &["float32[s0, t0]", "float32[s0, 3]", "float32[?, t0]"], &[("axis", Attr::Int(-1))]),
        "[s0, 2*t0 + 3]"
    );
    assert_eq!(shape("MatMul", &["float32[s0, 1, s1, 4]", "float32[8, 4, t0]"], &[]), "[s0, 8, s1, t0]");
    assert_eq!(shape("Expand", &["float32[s0, 1]", "int64[3] = 2, 1, t0"], &[]), "[2, s0, t0]");
    assert_eq!(shape("Tile", &["float32[s0, 3]", "int64[2] = 2, t0"], &[]), "[2*s0, 3*t0]");
    assert_eq!(shape("Resize", &["float32[1, s0]", "-", "-", "int64[2] = 1, 2*s0"], &[]), "[1, 2*s0]");
    assert_eq!(shape("Pad", &["float32[s0, 4]", "int64[2] = 1, t0", "-", "int64[1] = -2"], &[]), "[s0 + t0 + 1, 4]");
    assert_eq!(shape("Squeeze", &["float32[s0, 1, 4]"], &[]), "[s0, 4]");
    assert_eq!(shape("Squeeze", &["float32[t0, 1, 4]"], &[]), "[*]");
    assert_eq!(types("Range", 20, &["int64[] = 0", "int64[] = s0", "int64[] = 1"], &[], 1), "int64[s0]");
    assert_eq!(
        types("Range", 20, &["int64[] = 0", "int64[] = u0", "int64[] = 2"], &[], 1),
        "int64[Max(0, (u0 + 1)//2)]"
    );
    assert_eq!(
        types("Split", 20, &["float32[s0]"], &[("num_outputs", Attr::Int(2))], 2),
        "float32[(s0 + 1)//2] | float32[s0//2]"
    );
    assert_eq!(types("TopK", 20, &["float32[t0, 9]", "int64[1] = s0"], &[], 2), "float32[t0, s0] | int64[t0, s0]");
    assert_eq!(types("NonZero", 20, &["float32[t0, 9]"], &[], 1), "int64[2, ?]");
    assert_eq!(shape("ReduceSum", &["float32[s0, 4]", "int64[1]"], &[("keepdims", Attr::Int(0))]), "[?]");
}

#[test]
fn contents_are_followed() {
    let (shape, dims) = ("int64[3] = s0, t0, 8", "float32[s0, t0, 8]");
    assert_eq!(content_of("Shape", &[dims], &[]), "s0, t0, 8");
    assert_eq!(content_of("Shape", &[dims], &[("start", Attr::Int(-2))]), "t0, 8");
    assert_eq!(content_of("Size", &[dims], &[]), "8*s0*t0");
    assert_eq!(content_of("Gather", &[shape, "int64[2] = -1, 0"], &[]), "8, s0");
    assert_eq!(content_of("Slice", &[shape, "int64[1] = -1", "int64[1] = -9", "-", "int64[1] = -2"], &[]), "8, s0");
    assert_eq!(content_of("Concat", &[shape, "int64[1] = -1"], &[("axis", Attr::Int(0))]), "s0, t0, 8, -1");
    assert_eq!(content_of("Mul", &[shape, "int64[] = 2"], &[]), "2*s0, 2*t0, 16");
    assert_eq!(content_of("Div", &[shape, "int64[] = 3"], &[]), "s0//3, t0//3, 2");
    assert_eq!(content_of("Div", &["int64[] = u0", "int64[] = 3"], &[]), "-");
    assert_eq!(content_of("Div", &["int64[] = -7", "int64[] = 2"], &[]), "-3");
    assert_eq!(content_of("ReduceProd", &[shape], &[("keepdims", Attr::Int(0))]), "8*s0*t0");
    assert_eq!(content_of("Equal", &[shape, "int64[1] = -1"], &[]), "0, 0, 0");
    assert_eq!(content_of("Where", &["bool[3] = 0, 1, 0", shape, "int64[1] = 7"], &[]), "7, t0, 7");
    assert_eq!(content_of("Unsqueeze", &["int64[] = s0", "int64[1] = 0"], &[]), "s0");
    assert_eq!(content_of("Unsqueeze", &[shape, "int64[1] = 0"], &[]), "-");
    assert_eq!(content_of("Range", &["int64[] = s0", "int64[] = s0+3", "int64[] = 1"], &[]), "s0, s0 + 1, s0 + 2");
    assert_eq!(content_of("Cast", &[shape], &[("to", Attr::Int(6))]), "s0, t0, 8");
    assert_eq!(content_of("Cast", &[shape], &[("to", Attr::Int(1))]), "-");
    assert_eq!(content_of("Max", &[shape, "int64[] = 1"], &[]), "s0, Max(1, t0), 8");
    assert_eq!(call("Split", 20, &[shape, "int64[2] = 1, 2"], &[], 2).1, "s0 | t0, 8");
}

#[test]
fn broken_contracts_are_reported() {
    let error = |op: &str, inputs: &[&str], attrs: Attrs, words: &str| {
        let told = types(op, 20, inputs, attrs, 1);
        assert!(told.starts_with("error: ") && told.contains(words), "{told}");
    };
    error(
        "MatMul",
        &["float32[2, 3]", "float32[4, 5]"],
        &[],
        "inner sizes 3 and 4 differ (inputs: float32[2, 3], float32[4, 5])",
    );
    error("Add", &["float32[2]", "int64[2]"], &[], "B is int64, but T is float32");
    error("Add", &["float32[2]", "-"], &[], "input B is missing");
    error("Add", &["float32[2]", "float32[2]", "float32[2]"], &[], "takes no input 2");
    error("Cast", &["float32[2]"], &[], "attribute to is missing");
    error("Cast", &["float32[2]"], &[("to", Attr::Int(99))], "attribute to is not an element type");
    error("ArgMax", &["float32[2, 3]"], &[("axis", Attr::Int(-3))], "axis -3 is out of range for rank 2");
    error("Gather", &["float32[2]", "int64[1]"], &[("axis", Attr::Int(3))], "axis 3 is out of range for rank 1");
    error("Concat", &["float32[2, 3]", "float32[2, 4]"], &[("axis", Attr::Int(0))], "sizes 3 and 4 differ");
    error("ScatterND", &["float32[4, 2]", "int64[3, 1]", "float32[3, 1]"], &[], "sizes 2 and 1 differ");
    error("ScatterND", &["float32[4, 2]", "int64[3, 3]", "float32[3]"], &[], "indices of depth 3 are too deep");
    error("ScatterElements", &["float32[4, 2]", "int64[3, 1]", "float32[3, 2]"], &[], "sizes 1 and 2 differ");
    error("ScatterElements", &["float32[4, 2]", "int64[3]", "float32[3]"], &[], "ranks 2 and 1 differ");
    error("SequenceAt", &["seq(float32[2])", "int64[2]"], &[], "the position must be a scalar");
    error("DFT", &["float32[2, 4, 1]", "int64[2]"], &[], "the length must be a scalar");
    error("QuantizeLinear", &["float32[4]", "float32[1, 1]"], &[], "at most one dimension");
    error("InstanceNormalization", &["float32[1, 3, 1]", "float32[1]", "float32[3]"], &[], "sizes 1 and 3 differ");
    let values = ["float32[1, 1, 3, 1]", "float32[1, 1, 1, 1]", "float32[1, 1, 3, 1]"];
    assert!(types("Attention", 23, &values, &[], 1).contains("sizes 1 and 3 differ"));
    error("ReverseSequence", &["float32[4, 2]", "int64[3]"], &[], "sizes 2 and 3 differ");
    error("ReverseSequence", &["float32[4]", "int64[3]"], &[], "axis 1 is out of range for rank 1");
    error(
        "GroupNormalization",
        &["float32[4, 2, 3]", "float32[]", "float32[2]"],
        &[("num_groups", Attr::Int(2))],
        "input 1 must have rank 1",
    );
    error("Transpose", &["float32[2, 3]"], &[("perm", list(&[0, 0]))], "is not a permutation");
    error("Einsum", &["float32[2, 3]"], &[("equation", Attr::Str("ij,jk->ik".into()))], "has 2 operands");
}

/// A row of a constant matrix is not the element at that offset of its bytes.
#[test]
fn contents_are_those_of_lists_alone() {
    let row_of = |sizes: &[i64]| {
        let bytes = [1i64, 2, 3, 4].iter().flat_map(|n| n.to_le_bytes()).collect();
        let constant = Some((Dtype::Int64, sizes.to_vec(), bytes));
        let table = Given { ty: Type::sized(Dtype::Int64, sizes), constant, content: None };
        let graph = graph();
        let place = given(&graph, "int64[] = 1").unwrap();
        let inputs = [Some(table.view()), Some(place.view())];
        let found = content(&graph, "Gather", version("Gather", 13), &inputs, &[], 1, 13);
        found.first().cloned().flatten()
    };
    assert_eq!(row_of(&[4]), Some(vec![SymInt::from(2)]));
    assert_eq!(row_of(&[2, 2]), None);
    assert_eq!(row_of(&[1, 2, 2]), None);
}
