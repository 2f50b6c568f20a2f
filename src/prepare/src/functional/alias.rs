//! Tracks which values share memory and which of them are up to date.
//!
//! A *storage* is memory. A *cell* is a view of it; it knows how it is derived from its parent cell. A *tensor* has
//! names: all names of one tensor (the result of an in-place operator is another name of its argument) refer to one
//! cell and read its newest value. An in-place change of shape moves the tensor to another cell.
//!
//! A write makes all other cells of the storage stale. They are updated only when they are read, from the cell that was
//! written last: the *tip*, which has all changes that its ancestors lack.

use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use aten2onnx_program::Node;

/// A cell of [`Aliases`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Cell(usize);

/// The origin of memory that was not made by a node of the graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Root {
    /// A user input, by name.
    Input(String),
    /// A parameter, buffer or constant, by its name in the state dict.
    Weight(String),
    /// An input of a nested graph, by position.
    Nested(usize),
}

/// The writing node, for messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    /// The node's name.
    pub node: String,
    /// Its operator.
    pub target: String,
    /// The source line of the user.
    pub source_line: Option<String>,
}

impl Write {
    /// A write by this node.
    pub fn of(node: &Node) -> Write {
        Write { node: node.name.clone(), target: node.target.clone(), source_line: node.source_line.clone() }
    }
}

/// A node that returns views, and the cells of its results.
#[derive(Debug)]
pub struct View {
    /// The node before it was made functional.
    pub node: Node,
    /// One cell per result, in order.
    pub cells: Vec<Cell>,
}

/// How a cell is derived from another one.
#[derive(Debug, Clone)]
pub struct Derivation {
    /// The cell that it is a view of.
    pub parent: Cell,
    /// The node that returns the view.
    pub view: Rc<View>,
    /// The index of the node's result.
    pub index: usize,
}

#[derive(Debug)]
struct CellData {
    storage: usize,
    /// The name that it was defined with.
    first: String,
    /// The current value.
    newest: String,
    /// The number of writes to the storage that `newest` includes.
    seen: u32,
    derivation: Option<Derivation>,
    /// Whether two of its elements may share memory.
    overlaps: bool,
}

#[derive(Debug, Default)]
struct Storage {
    root: Option<Root>,
    /// The first cell.
    base: Cell,
    /// Whether a write to the root was reported.
    reported: bool,
    writes: u32,
    last_write: Option<Write>,
    /// The cell with the last write.
    tip: Option<Cell>,
}

/// All values of a graph.
#[derive(Debug, Default)]
pub struct Aliases {
    cells: Vec<CellData>,
    storages: Vec<Storage>,
    /// The cell of each tensor.
    tensors: Vec<Cell>,
    by_name: FxHashMap<String, usize>,
}

impl Aliases {
    /// Defines a tensor from outside of the graph.
    pub fn define(&mut self, name: &str, root: Root) -> Cell {
        self.new_storage(name, Some(root))
    }

    /// Defines a tensor with its own memory.
    pub fn define_fresh(&mut self, name: &str) -> Cell {
        self.new_storage(name, None)
    }

    /// Defines another name of a tensor.
    pub fn define_same(&mut self, name: &str, of: &str) {
        if let Some(tensor) = self.by_name.get(of) {
            self.by_name.insert(name.to_owned(), *tensor);
        }
    }

    /// Defines a tensor with the same memory and as up to date as `of`; how they are related is not known yet.
    pub fn define_view(&mut self, name: &str, of: Cell) -> Cell {
        let Some(CellData { storage, seen, overlaps, .. }) = self.cells.get(of.0) else { return of };
        let (storage, seen, overlaps) = (*storage, *seen, *overlaps);
        let cell = self.new_cell(name, storage, seen, overlaps);
        self.new_tensor(name, cell);
        cell
    }

    /// Records how the cells of a view's results are derived from `parent`.
    pub fn derive(&mut self, parent: Cell, view: View) {
        let view = Rc::new(view);
        for (index, cell) in view.cells.iter().enumerate() {
            if let Some(data) = self.cells.get_mut(cell.0) {
                data.derivation = Some(Derivation { parent, view: Rc::clone(&view), index });
            }
        }
    }

    /// Forgets how a cell is derived from its parent.
    pub fn forget_derivation(&mut self, cell: Cell) {
        if let Some(data) = self.cells.get_mut(cell.0) {
            data.derivation = None;
        }
    }

    /// Moves the tensor `name` to a new cell, as up to date as `parent`, after an in-place change of shape. Returns the
    /// cell.
    pub fn restride(&mut self, name: &str, newest: &str, parent: Cell) -> Option<Cell> {
        let tensor = *self.by_name.get(name)?;
        let CellData { storage, seen, overlaps, .. } = self.cells.get(parent.0)?;
        let cell = self.new_cell(newest, *storage, *seen, *overlaps);
        *self.tensors.get_mut(tensor)? = cell;
        Some(cell)
    }

    /// Gives the tensor `name` its own memory.
    pub fn renew(&mut self, name: &str, newest: &str) {
        self.storages.push(Storage { base: Cell(self.cells.len()), ..Storage::default() });
        let cell = self.new_cell(newest, self.storages.len() - 1, 0, false);
        if let Some(at) = self.by_name.get(name).and_then(|tensor| self.tensors.get_mut(*tensor)) {
            *at = cell;
        }
    }

    /// Adds a name for the value of a cell.
    pub fn name_cell(&mut self, name: &str, cell: Cell) {
        self.new_tensor(name, cell);
    }

    /// The cell that covers all known memory of the storage.
    pub fn base(&self, cell: Cell) -> Option<Cell> {
        Some(self.storage(cell)?.base)
    }

    /// How a cell is derived from its parent, if known.
    pub fn derivation(&self, cell: Cell) -> Option<&Derivation> {
        self.cells.get(cell.0)?.derivation.as_ref()
    }

    /// The last cell when following known parents.
    pub fn oldest(&self, cell: Cell) -> Cell {
        let mut oldest = cell;
        while let Some(derivation) = self.derivation(oldest) {
            oldest = derivation.parent;
        }
        oldest
    }

    /// The nearest common ancestor of two cells, or one of the cells itself.
    pub fn meeting(&self, a: Cell, b: Cell) -> Option<Cell> {
        // Alternates between both, so that the cost depends on the distance, not the depth.
        let mut seen = FxHashSet::default();
        let (mut a, mut b) = (Some(a), Some(b));
        while a.is_some() || b.is_some() {
            for next in [&mut a, &mut b] {
                let Some(cell) = *next else { continue };
                if !seen.insert(cell) {
                    return Some(cell);
                }
                *next = self.derivation(cell).map(|derivation| derivation.parent);
            }
        }
        None
    }

    /// The cell of a value; None if it is not a tensor.
    pub fn cell(&self, name: &str) -> Option<Cell> {
        self.tensors.get(*self.by_name.get(name)?).copied()
    }

    /// Whether the memory was written through another cell.
    pub fn is_stale(&self, cell: Cell) -> bool {
        self.lag(cell) != 0
    }

    /// The number of writes to the memory that the cell does not include.
    pub fn lag(&self, cell: Cell) -> u32 {
        let Some(data) = self.cells.get(cell.0) else { return 0 };
        self.storages.get(data.storage).map_or(0, |storage| storage.writes.wrapping_sub(data.seen))
    }

    /// The current value of the cell.
    pub fn newest(&self, cell: Cell) -> &str {
        self.cells.get(cell.0).map(|data| data.newest.as_str()).unwrap_or_default()
    }

    /// The name that the cell was defined with.
    pub fn first_name(&self, cell: Cell) -> &str {
        self.cells.get(cell.0).map(|data| data.first.as_str()).unwrap_or_default()
    }

    /// Whether two of its elements may share memory.
    pub fn overlaps(&self, cell: Cell) -> bool {
        self.cells.get(cell.0).is_some_and(|data| data.overlaps)
    }

    /// Sets whether two of its elements may share memory.
    pub fn set_overlaps(&mut self, cell: Cell, overlaps: bool) {
        if let Some(data) = self.cells.get_mut(cell.0) {
            data.overlaps = overlaps;
        }
    }

    /// The cell itself or its nearest ancestor whose elements do not share memory.
    pub fn plain(&self, cell: Cell) -> Option<Cell> {
        let mut plain = cell;
        while self.overlaps(plain) {
            plain = self.derivation(plain)?.parent;
        }
        Some(plain)
    }

    /// The last write to the cell's memory.
    pub fn last_write(&self, cell: Cell) -> Option<&Write> {
        self.storage(cell)?.last_write.as_ref()
    }

    /// The cell with the last write to this cell's memory.
    pub fn tip(&self, cell: Cell) -> Option<Cell> {
        self.storage(cell)?.tip
    }

    /// The input of the nested graph that owns the cell's memory.
    pub fn nested_input(&self, cell: Cell) -> Option<usize> {
        match self.storage(cell)?.root {
            Some(Root::Nested(index)) => Some(index),
            _ => None,
        }
    }

    /// Whether the cell's memory was written.
    pub fn is_written(&self, cell: Cell) -> bool {
        self.storage(cell).is_some_and(|storage| storage.writes > 0)
    }

    /// The origin of the cell's memory if it is outside of the graph; only returned once.
    pub fn root_once(&mut self, cell: Cell) -> Option<Root> {
        let storage = self.storage_mut(cell)?;
        if std::mem::replace(&mut storage.reported, true) { None } else { storage.root.clone() }
    }

    /// Records a write through a cell, whose value is now `newest`; all other cells become stale.
    pub fn write(&mut self, cell: Cell, newest: String, write: Write) {
        if let Some(storage) = self.storage_mut(cell) {
            storage.writes += 1;
            storage.last_write = Some(write);
        }
        self.update(cell, newest);
        self.set_tip(Some(cell), cell);
    }

    /// Records a write whose result is unknown: all cells of the memory become stale.
    pub fn clobber(&mut self, cell: Cell, write: Write) {
        if let Some(storage) = self.storage_mut(cell) {
            storage.writes += 1;
            storage.last_write = Some(write);
            storage.tip = None;
        }
    }

    /// Sets the cell that includes all writes to the memory.
    pub fn set_tip(&mut self, tip: Option<Cell>, of: Cell) {
        if let Some(storage) = self.storage_mut(of) {
            storage.tip = tip;
        }
    }

    /// Makes the cell up to date with the value `newest`.
    pub fn update(&mut self, cell: Cell, newest: String) {
        if let Some(data) = self.cells.get_mut(cell.0) {
            data.newest = newest;
        }
        self.touch(cell);
    }

    /// Marks the cell as up to date.
    pub fn touch(&mut self, cell: Cell) {
        if let Some(data) = self.cells.get_mut(cell.0) {
            data.seen = self.storages.get(data.storage).map_or(0, |storage| storage.writes);
        }
    }

    fn storage(&self, cell: Cell) -> Option<&Storage> {
        self.storages.get(self.cells.get(cell.0)?.storage)
    }

    fn storage_mut(&mut self, cell: Cell) -> Option<&mut Storage> {
        self.storages.get_mut(self.cells.get(cell.0)?.storage)
    }

    fn new_storage(&mut self, name: &str, root: Option<Root>) -> Cell {
        self.storages.push(Storage { root, base: Cell(self.cells.len()), ..Storage::default() });
        let cell = self.new_cell(name, self.storages.len() - 1, 0, false);
        self.new_tensor(name, cell);
        cell
    }

    fn new_cell(&mut self, name: &str, storage: usize, seen: u32, overlaps: bool) -> Cell {
        let (first, newest) = (name.to_owned(), name.to_owned());
        self.cells.push(CellData { storage, first, newest, seen, derivation: None, overlaps });
        Cell(self.cells.len() - 1)
    }

    fn new_tensor(&mut self, name: &str, cell: Cell) {
        self.tensors.push(cell);
        self.by_name.insert(name.to_owned(), self.tensors.len() - 1);
    }
}
