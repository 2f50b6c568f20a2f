//! Small graphs for the tests of passes.

use std::sync::Arc;

use aten2onnx_builder::Builder;
use aten2onnx_builder::passes::Passes;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::sym::SymInt;
use aten2onnx_core::weights::{Storage, Weight, row_major};
use aten2onnx_onnx::graph::{Attr, Constant, Graph, Source, Type, Value};
use aten2onnx_rules::Rules;

/// A graph under construction.
pub struct Net {
    pub builder: Builder,
    count: usize,
}

impl Net {
    pub fn new(opset: u32) -> Net {
        Net { builder: Rules::interpreted().builder(opset), count: 0 }
    }

    fn name(&mut self, prefix: &str) -> String {
        self.count += 1;
        format!("{prefix}{}", self.count)
    }

    pub fn input(&mut self, sizes: &[i64]) -> Value {
        self.typed(Type::sized(Dtype::Float32, sizes))
    }

    /// Sizes of -1 become separate symbols.
    pub fn open_input(&mut self, sizes: &[i64]) -> Value {
        let sizes = sizes.iter().enumerate();
        let sizes = sizes.map(|(i, n)| if *n < 0 { SymInt::symbol(format!("s{i}")) } else { SymInt::from(*n) });
        self.typed(Type::tensor(Dtype::Float32, sizes.collect()))
    }

    pub fn typed(&mut self, ty: Type) -> Value {
        let name = self.name("x");
        self.builder.input(&name, ty)
    }

    /// A weight with elements in steps of 0.25.
    pub fn weight(&mut self, sizes: &[i64]) -> Value {
        let count: i64 = sizes.iter().product();
        let bytes: Vec<u8> = (0..count).flat_map(|i| (1.0 + i as f32 / 4.0).to_le_bytes()).collect();
        let name = self.name("w");
        let (sizes, strides) = (sizes.to_vec(), row_major(sizes));
        let storage = Storage::Owned(bytes.into());
        self.builder.weight(Arc::new(Weight { name, dtype: Dtype::Float32, sizes, strides, offset: 0, storage }))
    }

    /// A weight of one byte for each element: 0, 1, 2, ...
    pub fn bytes(&mut self, dtype: Dtype, sizes: &[i64]) -> Value {
        let count: i64 = sizes.iter().product();
        self.stored(dtype, sizes, (0..count).map(|i| i as u8).collect())
    }

    /// A weight of these bytes.
    pub fn stored(&mut self, dtype: Dtype, sizes: &[i64], bytes: Vec<u8>) -> Value {
        let name = self.name("w");
        let (sizes, strides) = (sizes.to_vec(), row_major(sizes));
        let storage = Storage::Owned(bytes.into());
        self.builder.weight(Arc::new(Weight { name, dtype, sizes, strides, offset: 0, storage }))
    }

    pub fn floats(&mut self, sizes: &[i64], numbers: &[f32]) -> Value {
        let bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
        self.builder.intern(Constant::new(Dtype::Float32, sizes.to_vec(), bytes))
    }

    pub fn ints(&mut self, ints: &[i64]) -> Value {
        self.builder.ints(ints)
    }

    pub fn int(&mut self, int: i64) -> Value {
        self.builder.intern(Constant::new(Dtype::Int64, vec![], int.to_le_bytes().to_vec()))
    }

    pub fn op(&mut self, op: &'static str, inputs: &[Value]) -> Value {
        self.with(op, inputs, vec![])
    }

    pub fn with(&mut self, op: &'static str, inputs: &[Value], attrs: Vec<(&'static str, Attr)>) -> Value {
        let inputs = inputs.iter().map(|value| (*value).into()).collect();
        self.builder.node1(op, inputs, attrs).unwrap()
    }

    pub fn many(
        &mut self,
        op: &'static str,
        inputs: &[Value],
        attrs: Vec<(&'static str, Attr)>,
        outputs: usize,
    ) -> Vec<Value> {
        let inputs = inputs.iter().map(|value| (*value).into()).collect();
        self.builder.node(op, inputs, attrs, outputs).unwrap()
    }

    /// An If with equal branches.
    pub fn choice(&mut self, condition: Value, branch: impl Fn(&mut Builder) -> Value) -> Value {
        let mut body = || self.builder.body(&[], |builder, _| Ok(vec![branch(builder)])).unwrap();
        let attrs = vec![("then_branch", body()), ("else_branch", body())];
        self.with("If", &[condition], attrs)
    }

    pub fn transposed(&mut self, x: Value, perm: &[i64]) -> Value {
        self.with("Transpose", &[x], vec![("perm", Attr::Ints(perm.to_vec()))])
    }

    pub fn cast(&mut self, x: Value, to: Dtype) -> Value {
        self.builder.cast(x, to).unwrap()
    }

    pub fn finished(mut self, passes: Passes, result: Value) -> Graph {
        self.builder.output("y", result);
        self.builder.finish_after(|builder| passes.run(builder)).unwrap()
    }
}

/// The operators that remain after all passes.
pub fn ops(net: Net, result: Value) -> Vec<&'static str> {
    ops_of(&net.finished(Passes::ALL, result))
}

pub fn ops_of(graph: &Graph) -> Vec<&'static str> {
    graph.body.nodes.iter().map(|node| node.op).collect()
}

/// The floats of the initializer at input `i` of the last node.
pub fn floats_of(graph: &Graph, value: Value) -> Vec<f32> {
    let bytes = match &graph.info(value).source {
        Source::Constant(constant) => constant.bytes().to_vec(),
        Source::Weight(weight) => {
            let mut all: Vec<u8> = Vec::new();
            aten2onnx_core::weights::Payload::new(weight).unwrap().write(&mut all).unwrap();
            all
        }
        _ => Vec::new(),
    };
    bytes.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect()
}
