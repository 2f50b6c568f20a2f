//! Compares inference with ONNX. The files in tests/data are written by tests/infer/dump_cases.py.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod cases;
mod graphs;
mod symbolic;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};

use serde_json::Value as Json;

use super::*;
use aten2onnx_onnx::graph::Body;
use aten2onnx_onnx::schema;

/// A graph that knows types and contents of values in attributes.
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
        Value::new(types.len() as u32 - 1)
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
        let is_size = symbol.starts_with('?').then_some(0);
        self.ranges.get(symbol).copied().unwrap_or((is_size, None))
    }
}

/// An input with its content, owned.
#[derive(Debug, Clone)]
struct Given {
    ty: Type,
    constant: Option<(Dtype, Vec<i64>, Vec<u8>)>,
    content: Option<Vec<SymInt>>,
}

/// A call with the expected types of its outputs.
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

/// The elements of integers.
fn contents((dtype, sizes, bytes): &(Dtype, Vec<i64>, Vec<u8>)) -> Option<Vec<SymInt>> {
    Some(Const { dtype: *dtype, sizes, bytes }.ints()?.into_iter().map(SymInt::from).collect())
}

fn read(name: &str) -> Vec<Json> {
    let path = format!("{}/../../tests/data/{name}", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn cases() -> Vec<Case> {
    read("infer_cases.json").iter().map(parse_case).collect()
}

fn parse_case(json: &Json) -> Case {
    let graph = Graph::default();
    let ty = |t: &Json| t.as_str().map(|t| parse_type(t, &|| graph.fresh()));
    let input = |(i, t): (usize, &Json)| {
        let constant = json["contents"].get(i.to_string()).map(constant);
        let content = constant.as_ref().and_then(contents);
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
            let ty = Type::sized(dtype(value["dtype"].as_str().unwrap()), &sizes);
            let content = value["data"].as_array().and_then(|_| contents(&constant(value)));
            Attr::Tensor(graph.value(ty, content))
        }
        "GRAPH" => {
            Attr::Graph(Body { inputs: types(&value["inputs"]), nodes: vec![], outputs: types(&value["outputs"]) })
        }
        _ => return None,
    })
}

/// The version in force.
fn version(op: &str, opset: u32) -> &'static Version {
    schema::find(op).and_then(|op| op.at(opset)).unwrap_or_else(|| panic!("{op} at opset {opset}"))
}

/// Attributes in the representation of nodes; unsupported kinds are omitted.
fn attrs(graph: &Graph, version: &'static Version, attrs: &BTreeMap<String, Json>) -> Vec<(&'static str, Attr)> {
    let attrs = attrs.iter().filter_map(|(name, pair)| {
        let name = version.attributes.iter().find(|a| a.name == name)?.name;
        Some((name, attr(graph, pair[0].as_str().unwrap(), &pair[1])?))
    });
    attrs.collect()
}

impl Given {
    fn view(&self) -> TypedInput<'_> {
        let constant = self.constant.as_ref();
        let constant = constant.map(|(dtype, sizes, bytes)| Const { dtype: *dtype, sizes, bytes });
        TypedInput { ty: &self.ty, constant, content: self.content.as_deref() }
    }
}

impl Case {
    fn contents(&self, graph: &Graph) -> Vec<Option<Vec<SymInt>>> {
        let version = version(&self.op, self.opset);
        let attrs = attrs(graph, version, &self.attrs);
        let inputs: Vec<_> = self.inputs.iter().map(|i| i.as_ref().map(Given::view)).collect();
        content(graph, &self.op, version, &inputs, &attrs, self.outputs.len(), self.opset)
    }

    fn infer(&self, graph: &Graph) -> Result<Vec<Type>> {
        let version = version(&self.op, self.opset);
        let attrs = attrs(graph, version, &self.attrs);
        let inputs: Vec<_> = self.inputs.iter().map(|i| i.as_ref().map(Given::view)).collect();
        infer(graph, &self.op, version, &inputs, &attrs, self.outputs.len(), self.opset)
    }

    /// Cases that nodes here cannot represent, or that ONNX infers wrongly.
    fn is_skipped(&self) -> bool {
        // The type of an empty optional is an attribute of an unsupported kind.
        let untyped = self.op == "Optional" && self.inputs.is_empty();
        // Versions older than opset 9 are not supported.
        untyped || schema::find(&self.op).and_then(|op| op.at(self.opset)).is_none()
    }
}

/// The number of exactly known sizes, and of all sizes.
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
