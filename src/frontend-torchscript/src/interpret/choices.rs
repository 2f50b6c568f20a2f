//! Elements that data chooses: a module, a number or a tensor of a list at an index that is only known at run time becomes a
//! chain of If nodes, one for each element.

use std::rc::Rc;

use super::Interpreter;
use crate::syntax::Name;
use crate::values::{Choice, Item, Value};
use aten2onnx_core::error::{Error, Result};

/// The most elements of such a list.
const MAX_CHOICES: usize = 64;

impl Interpreter<'_, '_> {
    /// What a method of the chosen module, or any other use of the chosen element, gives.
    pub(super) fn chosen(
        &mut self,
        choice: &Rc<Choice>,
        from: usize,
        make: &dyn Fn(&mut Self, &Item) -> Result<Item>,
    ) -> Result<Item> {
        let item = choice.items.get(from).ok_or_else(|| Error::input("an element is chosen from an empty list"))?;
        if from + 1 == choice.items.len() {
            return make(self, item);
        }
        let flag = self.equal(&choice.index, &Value::Int(from as i64))?;
        // No variable of the code has a blank in its name.
        let slot = Name::from(format!("chosen {from}"));
        let first = |this: &mut Self| {
            let item = make(this, item)?;
            this.assign(&slot, item).map(|()| None)
        };
        let others = |this: &mut Self| {
            let item = this.nested(|this| this.chosen(choice, from + 1, make))?;
            this.assign(&slot, item).map(|()| None)
        };
        match flag {
            Value::Bool(true) => first(self)?,
            Value::Bool(false) => others(self)?,
            flag => self.either(&flag, &first, &others)?,
        };
        let found = self.frame_mut()?.locals.remove(&slot);
        let found = found.ok_or_else(|| Error::unsupported("an element that data chooses has no value"))?;
        match found.value {
            Value::Broken(error) => Err((*error).clone()),
            _ => Ok(found),
        }
    }

    /// A choice from these elements; None if the index is known.
    pub(super) fn choice(&mut self, index: &Item, items: Vec<Item>) -> Result<Option<Rc<Choice>>> {
        let index = match &index.value {
            Value::Tensor(tensor) => self.number_of(&tensor.clone())?,
            other => other.clone(),
        };
        if !matches!(index, Value::Sym(_)) {
            return Ok(None);
        }
        if items.len() > MAX_CHOICES {
            return Err(Error::unsupported(format!("data chooses one of more than {MAX_CHOICES} elements")));
        }
        // Python counts negative indices from the end.
        let count = Value::Int(items.len() as i64);
        let index = if items.is_empty() { index } else { self.binary("remainder", &index, &count)? };
        Ok(Some(Rc::new(Choice { index, items })))
    }
}
