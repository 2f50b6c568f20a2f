//! Inference against what ONNX says: tests/data/infer_cases.json, which tests/infer/dump_cases.py writes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};

use serde_json::Value as Json;

use super::*;
use crate::graph::Body;
use crate::schema;

/// A graph that knows types and contents of the values in attributes.
#[derive(Default)]
struct Graph {
    next: Cell<u32>,
    types: RefCell<Vec<(Type, Option<Vec<SymInt>>)>>,
    ranges: HashMap<String, (Option<i64>, Option<i64>)>,
}

impl Graph {
    fn value(&self, ty: Type, content: Option<Vec<SymInt>>) -> Value {
        let mut types = self.types.borrow_mut();
        types.push((ty, content));
        Value(types.len() as u32 - 1)
    }
}

impl InferCx for Graph {
    fn fresh(&self) -> SymInt {
        self.next.set(self.next.get() + 1);
        SymInt::symbol(format!("?{}", self.next.get()))
    }

    fn type_of(&self, value: Value) -> Option<Type> {
        self.types.borrow().get(value.index()).map(|v| v.0.clone())
    }

    fn content_of(&self, value: Value) -> Option<Vec<SymInt>> {
        self.types.borrow().get(value.index())?.1.clone()
    }

    fn range(&self, symbol: &str) -> (Option<i64>, Option<i64>) {
        self.ranges.get(symbol).copied().unwrap_or((None, None))
    }
}

/// An input with its content, owned.
#[derive(Debug, Clone)]
struct Given {
    ty: Type,
    constant: Option<(Dtype, Vec<i64>, Vec<u8>)>,
    content: Option<Vec<SymInt>>,
}

/// A call with the types that its outputs have.
#[derive(Debug, Clone)]
struct Case {
    name: String,
    op: String,
    opset: u32,
    inputs: Vec<Option<Given>>,
    attrs: BTreeMap<String, Json>,
    outputs: Vec<Option<Type>>,
}

fn dtype(name: &str) -> Dtype {
    Dtype::ALL.into_iter().find(|d| d.onnx_name() == name || d.torch_name() == name).unwrap_or_else(|| panic!("{name}"))
}

/// `float[2,?]`, `float`, `seq(..)`, `opt(..)`
fn parse_type(text: &str, fresh: &dyn Fn() -> SymInt) -> Type {
    if let Some(of) = text.strip_prefix("seq(") {
        return Type::Sequence(Box::new(parse_type(of.strip_suffix(')').unwrap(), fresh)));
    }
    if let Some(of) = text.strip_prefix("opt(") {
        return Type::Optional(Box::new(parse_type(of.strip_suffix(')').unwrap(), fresh)));
    }
    let Some((name, dims)) = text.split_once('[') else { return Type::unranked(dtype(text)) };
    let dims = dims.strip_suffix(']').unwrap().split(',').filter(|d| !d.is_empty());
    Type::tensor(dtype(name), dims.map(|d| d.parse::<i64>().map_or_else(|_| fresh(), SymInt::from)).collect())
}

fn ints(json: &Json) -> Vec<i64> {
    json.as_array().unwrap().iter().map(|n| n.as_i64().unwrap()).collect()
}

fn constant(json: &Json) -> (Dtype, Vec<i64>, Vec<u8>) {
    let dtype = dtype(json["dtype"].as_str().unwrap());
    let number = |n: &Json| match dtype {
        Dtype::Float32 => (n.as_f64().unwrap() as f32).to_le_bytes().to_vec(),
        Dtype::Float64 => n.as_f64().unwrap().to_le_bytes().to_vec(),
        Dtype::Float16 => half::f16::from_f64(n.as_f64().unwrap()).to_le_bytes().to_vec(),
        _ => n.as_i64().unwrap().to_le_bytes()[..(dtype.bits() / 8) as usize].to_vec(),
    };
    (dtype, ints(&json["sizes"]), json["data"].as_array().unwrap().iter().flat_map(number).collect())
}

fn cases() -> Vec<Case> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/infer_cases.json");
    let json: Vec<Json> = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    json.iter().map(parse_case).collect()
}

fn parse_case(json: &Json) -> Case {
    let graph = Graph::default();
    let ty = |t: &Json| t.as_str().map(|t| parse_type(t, &|| graph.fresh()));
    let input = |(i, t): (usize, &Json)| {
        let constant = json["contents"].get(i.to_string()).map(constant);
        let content = constant.as_ref().and_then(|(dtype, sizes, bytes)| {
            Const { dtype: *dtype, sizes, bytes }.ints().map(|list| list.into_iter().map(SymInt::from).collect())
        });
        ty(t).map(|ty| Given { ty, constant, content })
    };
    Case {
        name: json["name"].as_str().unwrap().into(),
        op: json["op"].as_str().unwrap().into(),
        opset: json["opset"].as_u64().unwrap() as u32,
        inputs: json["inputs"].as_array().unwrap().iter().enumerate().map(input).collect(),
        attrs: json["attrs"].as_object().unwrap().clone().into_iter().collect(),
        outputs: json["outputs"].as_array().unwrap().iter().map(ty).collect(),
    }
}

fn attr(graph: &Graph, kind: &str, value: &Json) -> Option<Attr> {
    let types = |list: &Json| {
        let ty = |t: &Json| graph.value(parse_type(t.as_str().unwrap(), &|| graph.fresh()), None);
        list.as_array().unwrap().iter().map(ty).collect()
    };
    Some(match kind {
        "INT" => Attr::Int(value.as_i64().unwrap()),
        "FLOAT" => Attr::Float(value.as_f64().unwrap()),
        "STRING" => Attr::Str(value.as_str().unwrap().into()),
        "INTS" => Attr::Ints(ints(value)),
        "FLOATS" => Attr::Floats(value.as_array().unwrap().iter().map(|n| n.as_f64().unwrap()).collect()),
        "STRINGS" => Attr::Strs(value.as_array().unwrap().iter().map(|s| s.as_str().unwrap().into()).collect()),
        "TENSOR" => {
            let sizes = ints(&value["sizes"]);
            Attr::Tensor(graph.value(Type::sized(dtype(value["dtype"].as_str().unwrap()), &sizes), None))
        }
        "GRAPH" => {
            Attr::Graph(Body { inputs: types(&value["inputs"]), nodes: vec![], outputs: types(&value["outputs"]) })
        }
        _ => return None,
    })
}

impl Case {
    fn version(&self) -> &'static Version {
        schema::find(&self.op).unwrap_or_else(|| panic!("{}", self.op)).at(self.opset).unwrap()
    }

    fn infer(&self, graph: &Graph) -> Result<Vec<Type>> {
        let attrs = self.attrs.iter().filter_map(|(name, pair)| {
            let name: &'static str = self.version().attributes.iter().find(|a| a.name == name)?.name;
            Some((name, attr(graph, pair[0].as_str().unwrap(), &pair[1])?))
        });
        let attrs: Vec<_> = attrs.collect();
        let constant = |c: &'_ (Dtype, Vec<i64>, Vec<u8>)| -> (Dtype, Vec<i64>, Vec<u8>) { c.clone() };
        let constants: Vec<_> = self.inputs.iter().map(|i| i.as_ref()?.constant.as_ref().map(constant)).collect();
        let inputs: Vec<_> = self
            .inputs
            .iter()
            .zip(&constants)
            .map(|(input, constant)| {
                let input = input.as_ref()?;
                let constant = constant.as_ref().map(|(dtype, sizes, bytes)| Const { dtype: *dtype, sizes, bytes });
                Some(TypedInput { ty: &input.ty, constant, content: input.content.as_deref() })
            })
            .collect();
        infer(graph, &self.op, self.version(), &inputs, &attrs, self.outputs.len(), self.opset)
    }

    /// Cases that nodes here cannot say, or ONNX says wrongly.
    fn is_skipped(&self) -> bool {
        // The type of an empty optional is an attribute of its own kind.
        let untyped = self.op == "Optional" && self.inputs.is_empty();
        // Its form before opset 9, with a batch dimension of its own.
        let old_scan = self.op == "Scan" && self.opset < 9;
        untyped || old_scan || schema::find(&self.op).is_none()
    }
}

/// Numbers of sizes known exactly, and of all.
#[derive(Debug, Default, Clone, Copy)]
struct Score {
    exact: usize,
    all: usize,
}

/// Checks dtype and rank, and every size with `check`.
fn compare(got: &Type, want: &Type, score: &mut Score, check: &dyn Fn(&SymInt, i64) -> bool) -> Result<(), String> {
    let wrong = || Err(format!("{got}, {want} wanted"));
    match (got, want) {
        (Type::Tensor { dtype: a, shape }, Type::Tensor { dtype: b, shape: want_shape }) => {
            if a != b {
                return wrong();
            }
            let Some(want_shape) = want_shape else { return Ok(()) };
            score.all += want_shape.iter().filter(|d| d.known().is_some()).count();
            let Some(shape) = shape else { return Ok(()) };
            if shape.len() != want_shape.len() {
                return wrong();
            }
            for (a, b) in shape.iter().zip(want_shape) {
                let (Some(b), false) = (b.known(), a.is_anonymous()) else { continue };
                if !check(a, b) {
                    return wrong();
                }
                score.exact += 1;
            }
            Ok(())
        }
        (Type::Sequence(a), Type::Sequence(b)) | (Type::Optional(a), Type::Optional(b)) => compare(a, b, score, check),
        _ => wrong(),
    }
}

/// Infers and compares all outputs.
fn check_case(
    case: &Case,
    graph: &Graph,
    score: &mut Score,
    check: &dyn Fn(&SymInt, i64) -> bool,
) -> Result<(), String> {
    let describe = |e: String| format!("{}: {e}; {} {:?}", case.name, case.op, case.inputs);
    let types = case.infer(graph).map_err(|e| describe(e.to_string()))?;
    assert_eq!(types.len(), case.outputs.len(), "{}", case.name);
    for (got, want) in types.iter().zip(&case.outputs) {
        if let Some(want) = want {
            compare(got, want, score, check).map_err(describe)?;
        }
    }
    Ok(())
}

fn assert_none(failures: &[String]) {
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

/// Operators with sizes that no one can know before the run, and why.
const DATA_DEPENDENT: &[(&str, &str)] = &[
    ("Compress", "counts true conditions"),
    ("ImageDecoder", "reads the sizes from the image"),
    ("Loop", "counts rounds"),
    ("NonMaxSuppression", "counts boxes"),
    ("NonZero", "counts elements"),
    ("Range", "one case is in bfloat16, which Python's files of contents do not have"),
    ("StringNormalizer", "takes out stop words"),
    ("StringSplit", "counts parts"),
    ("Unique", "counts values"),
];

#[test]
fn types_are_those_of_onnx() {
    let mut scores: BTreeMap<String, Score> = BTreeMap::new();
    let mut failures = Vec::new();
    for case in cases().iter().filter(|c| !c.is_skipped()) {
        let score = scores.entry(case.op.clone()).or_default();
        let result = check_case(case, &Graph::default(), score, &|a, b| a.known() == Some(b));
        failures.extend(result.err());
    }
    assert_none(&failures);
    assert!(scores.len() > 190, "{} operators", scores.len());
    for (op, Score { exact, all }) in &scores {
        let excused = DATA_DEPENDENT.iter().any(|(name, _)| name == op);
        assert_eq!(exact < all, excused, "{op}: {exact} of {all} sizes are known");
    }
}

/// Inputs whose contents are sizes, so that symbols may stand there.
const SIZES: &[(&str, usize)] = &[
    ("AffineGrid", 1),
    ("CenterCropPad", 1),
    ("Col2Im", 1),
    ("Col2Im", 2),
    ("ConstantOfShape", 0),
    ("DFT", 1),
    ("Expand", 1),
    ("HannWindow", 0),
    ("MaxUnpool", 2),
    ("MelWeightMatrix", 0),
    ("MelWeightMatrix", 1),
    ("OneHot", 1),
    ("Pad", 1),
    ("Range", 0),
    ("Range", 1),
    ("Reshape", 1),
    ("Resize", 3),
    ("STFT", 1),
    ("STFT", 3),
    ("Slice", 1),
    ("Slice", 2),
    ("Split", 1),
    ("SplitToSequence", 1),
    ("Tile", 1),
    ("TopK", 1),
];

/// How symbols are put in place of numbers.
struct Naming {
    /// The same symbol for equal numbers.
    shared: bool,
    /// Contents become symbolic too.
    contents: bool,
    /// Symbols have the bounds that PyTorch gives most of them.
    ranges: bool,
}

/// The case with symbols, and what they stand for.
fn symbolic(case: &Case, naming: &Naming) -> (Case, Graph, HashMap<String, i64>) {
    let mut case = case.clone();
    let (mut graph, mut values) = (Graph::default(), HashMap::new());
    let mut name = |place: String, n: i64| {
        let symbol = if naming.shared { format!("s{n}") } else { place };
        if naming.ranges {
            graph.ranges.insert(symbol.clone(), (Some(n.min(2)), None));
        }
        values.insert(symbol.clone(), n);
        SymInt::symbol(symbol)
    };
    for (i, input) in case.inputs.iter_mut().enumerate() {
        let Some(input) = input else { continue };
        if let Type::Tensor { shape: Some(dims), .. } = &mut input.ty {
            for (j, dim) in dims.iter_mut().enumerate() {
                // The number of dimensions, where it is a size, cannot be a symbol without the rank being lost.
                let is_length = input.content.is_some() || input.constant.is_some();
                if let (Some(n), false) = (dim.known(), is_length) {
                    *dim = name(format!("d{i}_{j}"), n);
                }
            }
        }
        if naming.contents && SIZES.contains(&(case.op.as_str(), i)) && input.content.is_some() {
            input.constant = None;
            for (j, size) in input.content.iter_mut().flatten().enumerate() {
                if let Some(n) = size.known().filter(|n| *n > 0 && *n < 1 << 30) {
                    *size = name(format!("c{i}_{j}"), n);
                }
            }
        }
    }
    (case, graph, values)
}

#[test]
fn symbolic_sizes_come_true() {
    let cases = cases();
    let mut failures = Vec::new();
    for bits in 0..8 {
        let naming = Naming { shared: bits & 1 > 0, contents: bits & 2 > 0, ranges: bits & 4 > 0 };
        let mut score = Score::default();
        for case in cases.iter().filter(|c| !c.is_skipped()) {
            let (case, graph, values) = symbolic(case, &naming);
            let check = |size: &SymInt, n: i64| dims::has_anonymous(size) || size.eval(&values).is_none_or(|v| v == n);
            failures.extend(check_case(&case, &graph, &mut score, &check).err());
        }
        // Broadcasting and the like need more than symbols; bounds settle nearly all of it.
        let floor = if naming.ranges { 97 } else { 87 };
        assert!(score.exact * 100 > score.all * floor, "{bits}: {} of {}", score.exact, score.all);
    }
    assert_none(&failures);
}

#[test]
fn what_is_not_known_is_left_open() {
    let mut failures = Vec::new();
    for case in cases().iter().filter(|c| !c.is_skipped()) {
        let mut unranked = case.clone();
        let mut anonymous = case.clone();
        let mut blind = case.clone();
        let graph = Graph::default();
        for i in 0..case.inputs.len() {
            if let Some(Given { ty: Type::Tensor { shape, .. }, content, constant }) = &mut unranked.inputs[i] {
                (*shape, *content, *constant) = (None, None, None);
            }
            if let Some(Given { ty: Type::Tensor { shape: Some(dims), .. }, content, constant }) =
                &mut anonymous.inputs[i]
            {
                dims.iter_mut().for_each(|d| *d = graph.fresh());
                (*content, *constant) = (None, None);
            }
            if let Some(Given { content, constant, .. }) = &mut blind.inputs[i] {
                (*content, *constant) = (None, None);
            }
        }
        for case in [unranked, anonymous, blind] {
            let graph = Graph { next: Cell::new(1000), ..Graph::default() };
            let known = |a: &SymInt, b| dims::has_anonymous(a) || a.known() == Some(b);
            failures.extend(check_case(&case, &graph, &mut Score::default(), &known).err());
        }
    }
    assert_none(&failures);
}
