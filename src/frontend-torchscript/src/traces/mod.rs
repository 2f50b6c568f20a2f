//! Several traces of one function at other sizes, read as one program: a trace has each size as a number, and a number that
//! differs is a size (`unite`, on functions that `flatten` made comparable).
//!
//! The result of each trace is a carrier of all results (`joined_results`). Data that libtorch did not record is found (`lost`).

mod flatten;
mod joined_results;
mod lost;
mod unite;

use std::borrow::Cow;
use std::rc::Rc;

use super::code::{ClassCode, Code, FunctionCode, MAX_CODE};
use super::syntax::Function;
use aten2onnx_archive::zip::Archive;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::weights::Weight;
use aten2onnx_options::Spec;

/// The method that a trace has.
const METHOD: &str = "forward";

/// Sizes of a trace by their names.
pub type Sizes = Vec<(String, i64)>;

/// `batch = 7, length = 11`
pub fn shown(sizes: &Sizes) -> String {
    let sizes: Vec<String> = sizes.iter().map(|(name, size)| format!("{name} = {size}")).collect();
    sizes.join(", ")
}

/// Traces of one function, each a module with one method, `forward`.
#[derive(Debug)]
pub struct Traces {
    /// The archives; more than one if sizes are symbolic.
    pub archives: Vec<Archive>,
    /// The symbolic sizes of each of them.
    pub sizes: Vec<Sizes>,
    /// The first arguments by their names in the program.
    pub inputs: Vec<(String, Spec)>,
    /// The other arguments.
    pub weights: Vec<Weight>,
}

impl Traces {
    /// What the methods of all traces have in common; its result is a tuple.
    pub fn method(&self, class: &ClassCode) -> Result<Rc<FunctionCode>> {
        self.check_constants()?;
        let mut methods = Vec::with_capacity(self.archives.len());
        for archive in &self.archives {
            let class = Code::new(archive).class(&class.name)?;
            methods.push(class.method(METHOD).ok_or_else(|| Error::internal("a trace has no method"))?);
        }
        let first = methods.first().ok_or_else(|| Error::internal("there is no trace"))?;
        let trees: Vec<Function> = methods.iter().map(|method| flatten::flattened(&method.tree)).collect();
        let trees: Vec<&Function> = trees.iter().collect();
        let code = match self.archives.first() {
            Some(archive) => archive.inflated(&first.file, MAX_CODE)?,
            None => Cow::default(),
        };
        let code = String::from_utf8_lossy(&code);
        let mut tree = unite::united(&trees, &code, &self.sizes)?;
        lost::check(&tree.body, &code)?;
        joined_results::remove(&mut tree)?;
        let (owner, file) = (Rc::clone(&first.owner), Rc::clone(&first.file));
        Ok(Rc::new(FunctionCode { owner, file, tree: Rc::new(tree) }))
    }

    /// Constants do not depend on sizes.
    fn check_constants(&self) -> Result<()> {
        let Some((first, others)) = self.archives.split_first() else { return Ok(()) };
        for other in others {
            if constants(other)? != constants(first)? {
                let message = "the model chooses a constant tensor by the size";
                let help = "take a part of one tensor with tensor operators, or export with that size fixed";
                return Err(Error::unsupported(message).help(help));
            }
        }
        Ok(())
    }
}

/// The name of an entry of an archive, and its bytes.
type Entry<'a> = (&'a str, Cow<'a, [u8]>);

/// The entries of an archive that hold constants.
fn constants(archive: &Archive) -> Result<Vec<Entry<'_>>> {
    let names = archive.names().filter(|name| name.starts_with("constants"));
    let mut found = names.map(|name| Ok((name, archive.inflated(name, usize::MAX)?))).collect::<Result<Vec<_>>>()?;
    found.sort_unstable_by_key(|(name, _)| *name);
    Ok(found)
}

/// The line of an offset.
fn line(code: &str, at: usize) -> &str {
    let start = code.get(..at).map_or(0, |before| before.rfind('\n').map_or(0, |at| at + 1));
    code.get(start..).and_then(|rest| rest.lines().next()).unwrap_or_default().trim()
}
