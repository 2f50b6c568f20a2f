//! Upgrades calls whose form is older than the target's.
//!
//! Versions that only add to the one before have all its calls; each other change has a `raise`, or the call is refused.

use crate::build::node::lowerings::Lowerings;
use crate::build::node::{Inferred, Step};
use crate::build::{Builder, Event, NodeCall};
use aten2onnx_core::error::{Error, Result};
use aten2onnx_onnx::graph::Value;
use aten2onnx_onnx::schema::plan::Difference;
use aten2onnx_onnx::schema::{Op, Version};

impl Builder {
    /// Emits a call in the form of the target: as it is, or by the first `raise` on the way, whose nodes are upgraded further.
    pub(crate) fn upgraded(
        &mut self,
        schema: &'static Op,
        version: &'static Version,
        call: &NodeCall,
        inferred: &Inferred,
    ) -> Result<Vec<Value>> {
        let mut upgraded = call.clone();
        // A call of a deprecated operator may already have the form of the target.
        let is_left = |v: &Version| v.since > call.form.since || (version.deprecated && v.since == version.since);
        for step in schema.versions.iter().filter(|v| v.since <= version.since && is_left(v)) {
            if let Some(raises) = self.raise_of(call.op, step) {
                return self.raised(&*raises, step.since, &upgraded, inferred);
            }
            if step.deprecated {
                let what = format!("`{}` is deprecated and has no known replacement", call.op);
                return Err(Error::unsupported(what));
            }
            if !step.extends && self.difference(call.op, step) == Difference::Changed {
                return Err(not_upgraded(&upgraded, step.since));
            }
            upgraded.form = step;
        }
        while upgraded.inputs.last() == Some(&None) {
            upgraded.inputs.pop();
        }
        let inferred = self.infer(&upgraded)?;
        if self.avoided_form(schema, version, &upgraded).is_some()
            && let Step::Lower(lower, since) = self.step(schema, &upgraded, &inferred.types)?
        {
            return self.lowered(lower, since, &upgraded, &inferred);
        }
        self.native(schema, version, upgraded, &inferred)
    }

    fn raised(
        &mut self,
        raises: &dyn Lowerings,
        from: u32,
        call: &NodeCall,
        inferred: &Inferred,
    ) -> Result<Vec<Value>> {
        self.trace.event(Event::Raise(call.op, from));
        let rule = format!("raise {} from {from}", call.op);
        let values = self.nested(&rule, call, |cx| raises.raise(from, cx, call))?;
        if values.len() < call.outputs {
            return Err(self.fault(format!("`{rule}` returns {} of {} outputs", values.len(), call.outputs)));
        }
        self.as_inferred(values, &rule, call, inferred)
    }
}

fn not_upgraded(call: &NodeCall, since: u32) -> Error {
    let (op, form) = (call.op, call.form.since);
    Error::unsupported(format!("`{op}` of opset {form} cannot be upgraded to opset {since}: its meaning changed"))
}
