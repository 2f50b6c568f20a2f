//! Which values share memory, and which of them are up to date.
//!
//! A *storage* is memory. A *cell* is a way to look at it: all names that mean the same elements of the same storage (a tensor, and
//! the results of in-place operators on it) are names of one cell, whose newest value is what they all read. A view is another cell of the
//! storage. A write through one cell makes the others stale.

use std::collections::HashMap;

use crate::program::Node;

/// A cell of [`Aliases`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

#[derive(Debug)]
struct CellData {
    storage: usize,
    /// The value to read.
    newest: String,
    /// The number of writes to the storage that `newest` has seen.
    seen: u32,
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

    /// A view of the same memory, as up to date as `of`.
    pub fn define_view(&mut self, name: &str, of: Cell) -> Cell {
        let Some(CellData { storage, seen, .. }) = self.cells.get(of.0) else { return of };
        self.new_cell(name, *storage, *seen)
    }

    /// The cell of a value; None if it is no tensor.
    pub fn cell(&self, name: &str) -> Option<Cell> {
        self.by_name.get(name).copied()
    }

    /// Was the memory written to through another cell?
    pub fn is_stale(&self, cell: Cell) -> bool {
        let data = self.cells.get(cell.0);
        data.is_some_and(|data| self.storages.get(data.storage).is_some_and(|storage| storage.writes != data.seen))
    }

    /// The value that the cell has now.
    pub fn newest(&self, cell: Cell) -> &str {
        self.cells.get(cell.0).map(|data| data.newest.as_str()).unwrap_or_default()
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
        if let Some(data) = self.cells.get_mut(cell.0) {
            data.newest = newest;
            data.seen = self.storages.get(data.storage).map_or(0, |storage| storage.writes);
        }
    }

    /// A write that nobody has the result of: all cells of the memory are stale.
    pub fn clobber(&mut self, cell: Cell, write: Write) {
        let storage = self.cells.get(cell.0).and_then(|data| self.storages.get_mut(data.storage));
        if let Some(storage) = storage {
            storage.writes += 1;
            storage.last_write = Some(write);
        }
    }

    /// The cell is now seen in another shape, as `newest`.
    pub fn rename(&mut self, cell: Cell, newest: String) {
        if let Some(data) = self.cells.get_mut(cell.0) {
            data.newest = newest;
        }
    }

    fn storage(&self, cell: Cell) -> Option<&Storage> {
        self.storages.get(self.cells.get(cell.0)?.storage)
    }

    fn new_storage(&mut self, name: &str, root: Option<Root>) -> Cell {
        self.storages.push(Storage { root, ..Storage::default() });
        self.new_cell(name, self.storages.len() - 1, 0)
    }

    fn new_cell(&mut self, name: &str, storage: usize, seen: u32) -> Cell {
        let cell = Cell(self.cells.len());
        self.cells.push(CellData { storage, newest: name.to_owned(), seen });
        self.by_name.insert(name.to_owned(), cell);
        cell
    }
}
