//! Which rules cover an overload, with the schemas of a new release.

use aten2onnx_opmap::Checked;
use aten2onnx_schemas::aten::Schema;
use aten2onnx_schemas::writes::SchemaForm;

/// How an overload is covered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Known {
    /// By the rule at this place.
    Rule(String),
    /// By the rule of another overload: its functional form, or the one for each element of a list.
    Other(String, String),
    /// The rules state why ONNX cannot express it.
    Unsupported(String, String),
    /// A fact about it makes it something else, at this place.
    Fact(String),
    /// It returns no tensor, so that it needs no rule.
    NoTensor,
    /// Nobody has looked.
    Open,
}

/// Rules that were resolved against the schemas of the new release.
#[derive(Debug)]
pub struct Rules {
    checked: Checked,
}

impl Rules {
    /// The rules. Those whose headers no longer match are left out.
    pub fn new(checked: Checked) -> Rules {
        Rules { checked }
    }

    /// How an overload is covered.
    pub fn of(&self, schema: &Schema) -> Known {
        let (program, aten) = (&self.checked.program, &self.checked.schemas.aten);
        if let Some(place) = self.place(&schema.name) {
            return Known::Rule(place);
        }
        if let Some(item) = program.unsupported.iter().find(|item| item.name == schema.name) {
            return Known::Unsupported(item.reason.clone(), self.checked.sources.place(item.span));
        }
        if let Some(fact) = program.facts.iter().find(|fact| fact.op == schema.name) {
            return Known::Fact(self.checked.sources.place(fact.span));
        }
        if !schema.returns.iter().any(|result| result.ty.contains("Tensor")) {
            return Known::NoTensor;
        }
        let writes = aten.writes(schema).filter(|writes| writes.form != SchemaForm::Other);
        let functional = writes.and_then(|writes| writes.functional);
        let each = || aten.for_each_element(schema).map(|each| each.schema);
        let other = functional.or_else(each);
        other.and_then(|other| Some(Known::Other(other.name.clone(), self.place(&other.name)?))).unwrap_or(Known::Open)
    }

    /// The overload of this name.
    pub fn schema(&self, name: &str) -> Option<&Schema> {
        self.checked.schemas.aten.get(name)
    }

    /// Where the rule of an overload is.
    fn place(&self, name: &str) -> Option<String> {
        self.checked.program.map(name).map(|map| self.checked.sources.place(map.function.span))
    }
}
