//! Nodes of other domains: they have no schema here, so they are emitted as given, with the types that the caller
//! states.

use crate::build::{Builder, Event, In};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::{Attr, Node, Source, Type, Value};

impl Builder {
    /// A node of another domain in a version of that domain; `types` are the dtype and shape of each output.
    ///
    /// # Errors
    /// Two versions of one domain, or a number among the inputs whose dtype is unknown.
    pub fn foreign(
        &mut self,
        op: &'static str,
        version: u32,
        inputs: Vec<In>,
        mut attrs: Vec<(&'static str, Attr)>,
        types: Vec<(Dtype, Vec<SymInt>)>,
    ) -> Result<Vec<Value>> {
        let (domain, _) = op.rsplit_once("::").unwrap_or_default();
        let before = *self.domains.entry(domain).or_insert(version);
        if before != version {
            let message = format!("a model cannot have the versions {before} and {version} of the domain `{domain}`");
            return Err(Error::unsupported(message));
        }
        let inputs = self.foreign_inputs(op, inputs)?;
        attrs.sort_by_key(|(name, _)| *name);
        self.trace().event(Event::Node(op));
        let outputs: Vec<Value> = types
            .into_iter()
            .map(|(dtype, shape)| {
                let value = self.add_value(Type::tensor(dtype, shape), Source::Node, None);
                self.bind_sizes(value, false);
                value
            })
            .collect();
        let origin = self.origins.current;
        let node = Node {
            op,
            name: String::new(),
            inputs,
            outputs: outputs.iter().copied().map(Some).collect(),
            attrs,
            origin,
        };
        self.scope_mut().nodes.push(node);
        Ok(outputs)
    }

    fn foreign_inputs(&mut self, op: &str, inputs: Vec<In>) -> Result<Vec<Option<Value>>> {
        let mut values = Vec::with_capacity(inputs.len());
        for input in inputs {
            match input {
                In::None => values.push(None),
                In::Value(value) => values.push(Some(self.plain(value))),
                In::Values(list) => values.extend(list.into_iter().map(|value| Some(self.plain(value)))),
                In::Ints(sizes) => values.push(Some(self.tensor1(&sizes)?)),
                In::Number(_) | In::Floats(_) => {
                    return Err(self.fault(format!("the dtype of a number among the inputs of `{op}` is unknown")));
                }
            }
        }
        for value in values.iter().flatten() {
            self.check_visible(*value)?;
        }
        while values.last() == Some(&None) {
            values.pop();
        }
        Ok(values)
    }
}
