//! `as_strided` reads the memory, not the elements of its argument: it is applied to a tensor whose elements are in
//! memory order.

use super::alias::Cell;
use super::{Pass, layout, refusal};
use crate::terms::{NewCall, first_tensor_arg};
use aten2onnx_core::error::Result;
use aten2onnx_core::sym::SymInt;
use aten2onnx_program::{Arg, IntArg, Node, TensorMeta};
use aten2onnx_rules::effects::{self, Trait};

/// Whether it is `as_strided` or a related operator.
pub fn is_strided(target: &str) -> bool {
    effects::is(target, Trait::ReadsMemory)
}

impl Pass<'_> {
    /// Applies the node to the whole memory of its argument in memory order, or to the argument if it reads nothing else.
    pub(super) fn read_memory(&mut self, node: &mut Node) -> Result<()> {
        match self.own_order(node) {
            Some(order) => self.read_own(node, &order),
            None => self.read_base(node),
        }
    }

    /// Applies the node to its argument in memory order. Where the argument comes from does not matter.
    fn read_own(&mut self, node: &mut Node, order: &[usize]) -> Result<()> {
        let own = first_tensor_arg(node);
        if let Some((at, (_, Arg::Tensor(name)))) = own.and_then(|at| Some((at, node.args.get(at)?)))
            && order.iter().enumerate().any(|(at, axis)| at != *axis)
            && let (Some(cell), Some(meta)) = (self.aliases.cell(name), self.tensors.get(name).cloned())
        {
            let in_order = self.in_memory_order(cell, &meta, order, node)?;
            if let Some((_, arg)) = node.args.get_mut(at) {
                *arg = Arg::Tensor(in_order);
            }
        }
        node.args.retain(|(name, _)| name != "storage_offset");
        node.args.push(("storage_offset".to_owned(), Arg::Int(0)));
        Ok(())
    }

    /// The axes of the argument in memory order, if its elements have no gaps and the node certainly reads only these.
    fn own_order(&self, node: &Node) -> Option<Vec<usize>> {
        let (_, Arg::Tensor(name)) = node.args.get(first_tensor_arg(node)?)? else { return None };
        let meta = self.tensors.get(name)?;
        let is_given = node.args.iter().any(|(name, arg)| name == "storage_offset" && !matches!(arg, Arg::None));
        if is_given || effects::is(&node.target, Trait::GivesMemory) {
            return None;
        }
        let order = layout::memory_order(meta)?;
        let (sizes, strides) = (self.numbers(node, "size")?, self.numbers(node, "stride")?);
        let one = SymInt::from(1);
        let last =
            sizes.iter().zip(&strides).fold(SymInt::from(0), |sum, (size, stride)| sum + (size - &one).mul(stride));
        let count = meta.sizes.iter().fold(one.clone(), |product, size| product.mul(size));
        let is_inside = (count - last - one).is_nonnegative(&|_| true);
        let is_forward = strides.iter().all(|stride| stride.is_nonnegative(&|_| true));
        (is_inside && is_forward && sizes.len() == strides.len()).then_some(order)
    }

    /// The numbers of an argument, symbolic ones too.
    fn numbers(&self, node: &Node, argument: &str) -> Option<Vec<SymInt>> {
        let (_, Arg::Ints(found)) = node.args.iter().find(|(name, _)| name == argument)? else { return None };
        let number = |number: &IntArg| match number {
            IntArg::Known(known) => Some(SymInt::from(*known)),
            IntArg::Named(name) => self.sym_ints.get(name).cloned(),
        };
        found.iter().map(number).collect()
    }

    /// Applies the node to the whole memory of its argument in memory order.
    fn read_base(&mut self, node: &mut Node) -> Result<()> {
        let refused = || refusal("it reads the memory of a tensor with an unknown layout");
        let own = first_tensor_arg(node).ok_or_else(refused)?;
        let Some((_, Arg::Tensor(name))) = node.args.get(own) else { return Err(refused()) };
        let name = name.clone();
        let cell = self.aliases.cell(&name).ok_or_else(refused)?;
        let base = self.aliases.base(cell).filter(|base| self.aliases.oldest(cell) == *base).ok_or_else(refused)?;
        let meta = |cell: Cell| self.tensors.get(self.aliases.first_name(cell)).cloned();
        let (own_meta, base_meta) = (self.tensors.get(&name).cloned(), meta(base).ok_or_else(refused)?);
        let order = layout::memory_order(&base_meta).ok_or_else(refused)?;
        let offset = node.args.iter().position(|(name, _)| name == "storage_offset");
        let given = match offset.and_then(|at| node.args.get(at)) {
            Some((_, Arg::Int(offset))) => Arg::Int(*offset),
            Some((_, Arg::Sym(name))) => Arg::Sym(name.clone()),
            _ => Arg::Int(own_meta.and_then(|meta| meta.storage_offset.known()).ok_or_else(refused)?),
        };
        let start = base_meta.storage_offset.known().ok_or_else(refused)?;
        let shifted = match given {
            Arg::Int(given) => Arg::Int(given.checked_sub(start).filter(|offset| *offset >= 0).ok_or_else(refused)?),
            symbolic if start == 0 => symbolic,
            _ => return Err(refused()),
        };
        let is_identity = order.iter().enumerate().all(|(at, axis)| at == *axis);
        if effects::is(&node.target, Trait::GivesMemory) && !(base == cell && is_identity) {
            return Err(refused());
        }
        let in_order = self.in_memory_order(base, &base_meta, &order, node)?;
        if let Some((_, arg)) = node.args.get_mut(own) {
            *arg = Arg::Tensor(in_order);
        }
        match offset.and_then(|at| node.args.get_mut(at)) {
            Some((_, arg)) => *arg = shifted,
            None => node.args.push(("storage_offset".to_owned(), shifted)),
        }
        Ok(())
    }

    /// A name of the cell, or of a view of it, whose elements are in memory order.
    fn in_memory_order(&mut self, base: Cell, meta: &TensorMeta, order: &[usize], node: &Node) -> Result<String> {
        let name = self.fresh_name(&node.name, "memory");
        if order.iter().enumerate().all(|(at, axis)| at == *axis) {
            self.aliases.name_cell(&name, base);
            return Ok(name);
        }
        if !self.refresh(base) {
            return Err(self.stale(&name, base));
        }
        let dims = order.iter().map(|axis| IntArg::Known(i64::try_from(*axis).unwrap_or(0))).collect();
        let args = vec![("self", Arg::Tensor(self.aliases.newest(base).to_owned())), ("dims", Arg::Ints(dims))];
        let origin = super::inplace::origin(node);
        self.emit_as(&origin, NewCall::of("aten::permute", args), name.clone());
        if let Some(permuted) = layout::permuted(meta, order) {
            self.tensors.insert(name.clone(), TensorMeta { storage_offset: SymInt::from(0), ..permuted });
        }
        let cell = self.aliases.define_view(&name, base);
        if let Some(permute) = self.done.last().cloned() {
            self.remember(base, &permute, vec![cell]);
        }
        Ok(name)
    }
}
