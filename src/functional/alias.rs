//! Which values share memory, and which of them are up to date.
//!
//! A *storage* is memory. A *cell* is a way to look at it: all names that mean the same elements of the same storage (a tensor, and
//! the results of in-place operators on it) are names of one cell, whose newest value is what they all read. A view is another cell of
//! the storage, which knows how it is derived from its parent. A write through one cell makes the others stale.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use crate::program::Node;

/// A cell of [`Aliases`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Cell(usize);

/// Where memory comes from that was not made by a node of the graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Root {
    /// A user input, by name.
    Input(String),
    /// A parameter, buffer or constant, by its name in the state dict.
    Weight(String),
    /// An input of a nested graph, by position.
    Nested(usize),
}

/// The node that wrote, for messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    /// The node's name.
    pub node: String,
    /// Its operator.
    pub target: String,
    /// Where in the user's source.
    pub source_line: Option<String>,
}

impl Write {
    /// By this node.
    pub fn of(node: &Node) -> Write {
        Write { node: node.name.clone(), target: node.target.clone(), source_line: node.source_line.clone() }
    }
}

/// A node that gives views, and the cells of its results.
#[derive(Debug)]
pub struct View {
    /// The node as it was.
    pub node: Node,
    /// One for each result, in order.
    cells: RefCell<Vec<Cell>>,
}

impl View {
    /// Of a node and the cells of its results.
    pub fn new(node: Node, cells: Vec<Cell>) -> View {
        View { node, cells: RefCell::new(cells) }
    }

    /// The cells of the results.
    pub fn cells(&self) -> Vec<Cell> {
        self.cells.borrow().clone()
    }
}

/// How a cell follows from another one.
#[derive(Debug, Clone)]
pub struct Derivation {
    /// The cell that it is a view of.
    pub parent: Cell,
    /// The node that makes it so.
    pub view: Rc<View>,
    /// Which result of the node.
    pub index: usize,
    /// The shape of the parent that the node knows: see [`Aliases::reshape`].
    shape: u32,
}

/// Views of views of views: longer chains are not followed.
const MAX_DEPTH: u32 = 64;

#[derive(Debug)]
struct CellData {
    storage: usize,
    /// The name that it was defined with.
    first: String,
    /// The value to read.
    newest: String,
    /// The number of writes to the storage that `newest` has seen.
    seen: u32,
    derivation: Option<Derivation>,
    depth: u32,
    /// The number of times that its shape was changed in place; the views that were made before do not fit any more.
    shape: u32,
}

#[derive(Debug, Default)]
struct Storage {
    root: Option<Root>,
    /// A write to the root was reported.
    reported: bool,
    writes: u32,
    last_write: Option<Write>,
}

/// All values of a graph.
#[derive(Debug, Default)]
pub struct Aliases {
    cells: Vec<CellData>,
    storages: Vec<Storage>,
    by_name: HashMap<String, Cell>,
}

impl Aliases {
    /// A tensor that comes from outside.
    pub fn define(&mut self, name: &str, root: Root) -> Cell {
        self.new_storage(name, Some(root))
    }

    /// A tensor with memory of its own.
    pub fn define_fresh(&mut self, name: &str) -> Cell {
        self.new_storage(name, None)
    }

    /// Another name of a cell.
    pub fn define_same(&mut self, name: &str, cell: Cell) {
        self.by_name.insert(name.to_owned(), cell);
    }

    /// A tensor with the same memory, as up to date as `of`, but nothing is known of how they relate.
    pub fn define_view(&mut self, name: &str, of: Cell) -> Cell {
        let Some(CellData { storage, seen, depth, .. }) = self.cells.get(of.0) else { return of };
        let (storage, seen, depth) = (*storage, *seen, *depth);
        self.new_cell(name, storage, seen, depth + 1)
    }

    /// Says how the cells of a view's results follow from `parent`.
    pub fn derive(&mut self, parent: Cell, view: View) {
        let Some(CellData { shape, depth, .. }) = self.cells.get(parent.0) else { return };
        let (shape, depth) = (*shape, *depth);
        if depth >= MAX_DEPTH {
            return;
        }
        let view = Rc::new(view);
        for (index, cell) in view.cells().iter().enumerate() {
            if let Some(data) = self.cells.get_mut(cell.0) {
                data.derivation = Some(Derivation { parent, view: Rc::clone(&view), index, shape });
            }
        }
    }

    /// How a cell follows from its parent, if that is known and the parent still has its shape.
    pub fn derivation(&self, cell: Cell) -> Option<&Derivation> {
        let derivation = self.cells.get(cell.0)?.derivation.as_ref()?;
        let parent = self.cells.get(derivation.parent.0)?;
        (parent.shape == derivation.shape).then_some(derivation)
    }

    /// The cell of a value; None if it is no tensor.
    pub fn cell(&self, name: &str) -> Option<Cell> {
        self.by_name.get(name).copied()
    }

    /// Was the memory written to through another cell?
    pub fn is_stale(&self, cell: Cell) -> bool {
        self.lag(cell) != 0
    }

    /// The number of writes to the memory that the cell has not seen.
    pub fn lag(&self, cell: Cell) -> u32 {
        let Some(data) = self.cells.get(cell.0) else { return 0 };
        self.storages.get(data.storage).map_or(0, |storage| storage.writes.wrapping_sub(data.seen))
    }

    /// The value that the cell has now.
    pub fn newest(&self, cell: Cell) -> &str {
        self.cells.get(cell.0).map(|data| data.newest.as_str()).unwrap_or_default()
    }

    /// The name that the cell was defined with.
    pub fn first_name(&self, cell: Cell) -> &str {
        self.cells.get(cell.0).map(|data| data.first.as_str()).unwrap_or_default()
    }

    /// The last write to the cell's memory.
    pub fn last_write(&self, cell: Cell) -> Option<&Write> {
        self.storage(cell)?.last_write.as_ref()
    }

    /// The input of the nested graph that the cell's memory belongs to.
    pub fn nested_input(&self, cell: Cell) -> Option<usize> {
        match self.storage(cell)?.root {
            Some(Root::Nested(index)) => Some(index),
            _ => None,
        }
    }

    /// Where the cell's memory comes from, if from outside, and only the first time that it is asked.
    pub fn root_once(&mut self, cell: Cell) -> Option<Root> {
        let storage = self.cells.get(cell.0)?.storage;
        let storage = self.storages.get_mut(storage)?;
        if std::mem::replace(&mut storage.reported, true) { None } else { storage.root.clone() }
    }

    /// A write through a cell, whose value is now `newest`; all other cells of the memory are stale.
    pub fn write(&mut self, cell: Cell, newest: String, write: Write) {
        self.clobber(cell, write);
        self.update(cell, newest);
    }

    /// A write that nobody has the result of: all cells of the memory are stale.
    pub fn clobber(&mut self, cell: Cell, write: Write) {
        let storage = self.cells.get(cell.0).and_then(|data| self.storages.get_mut(data.storage));
        if let Some(storage) = storage {
            storage.writes += 1;
            storage.last_write = Some(write);
        }
    }

    /// The cell is up to date as `newest`.
    pub fn update(&mut self, cell: Cell, newest: String) {
        if let Some(data) = self.cells.get_mut(cell.0) {
            data.newest = newest;
        }
        self.touch(cell);
    }

    /// The cell is up to date as it is.
    pub fn touch(&mut self, cell: Cell) {
        if let Some(data) = self.cells.get_mut(cell.0) {
            data.seen = self.storages.get(data.storage).map_or(0, |storage| storage.writes);
        }
    }

    /// The cell is now seen in another shape, as the result of `node`. What it was becomes a cell without a name, which it is
    /// a view of. How earlier views of it relate to it is forgotten.
    pub fn reshape(&mut self, cell: Cell, newest: String, node: Node) {
        let before = Cell(self.cells.len());
        let Some(data) = self.cells.get_mut(cell.0) else { return };
        let first = data.first.clone();
        let old = CellData { first, newest: std::mem::replace(&mut data.newest, newest), derivation: None, ..*data };
        let derivation = data.derivation.take();
        if let Some(derivation) = &derivation
            && let Some(result) = derivation.view.cells.borrow_mut().get_mut(derivation.index)
        {
            *result = before;
        }
        data.shape += 1;
        data.depth += 1;
        self.cells.push(CellData { derivation, ..old });
        self.derive(before, View::new(node, vec![cell]));
    }

    fn storage(&self, cell: Cell) -> Option<&Storage> {
        self.storages.get(self.cells.get(cell.0)?.storage)
    }

    fn new_storage(&mut self, name: &str, root: Option<Root>) -> Cell {
        self.storages.push(Storage { root, ..Storage::default() });
        self.new_cell(name, self.storages.len() - 1, 0, 0)
    }

    fn new_cell(&mut self, name: &str, storage: usize, seen: u32, depth: u32) -> Cell {
        let cell = Cell(self.cells.len());
        let (first, newest) = (name.to_owned(), name.to_owned());
        self.cells.push(CellData { storage, first, newest, seen, derivation: None, depth, shape: 0 });
        self.by_name.insert(name.to_owned(), cell);
        cell
    }
}
