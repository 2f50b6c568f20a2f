//! Windows over the spatial dimensions: the size arithmetic of pooling and convolution, and pooling itself.

use aten2onnx_core::error::Result;
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::Type;

use super::ctx::Ctx;

/// How the borders are padded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Border {
    /// `pads`
    Explicit,
    /// The output size is the input size divided by the stride, rounded up.
    Same,
    /// No padding.
    Valid,
}

/// The attributes of a window; each list has one entry per spatial dimension.
pub(super) struct Window {
    kernel: Vec<Option<SymInt>>,
    strides: Vec<i64>,
    dilations: Vec<i64>,
    before: Vec<i64>,
    after: Vec<i64>,
    border: Border,
    rounds_up: bool,
}

impl Window {
    /// The kernel sizes are an attribute, or else the sizes of the weights.
    pub fn read(c: &Ctx, spatial: usize, weights: Option<&[SymInt]>) -> Result<Window> {
        let list = |name: &str, count: usize, default: i64| match c.int_list(name) {
            Some(list) if list.len() == count => Ok(list),
            Some(list) if !list.is_empty() => Err(c.error(format!("{name} has {} entries, not {count}", list.len()))),
            _ => Ok(vec![default; count]),
        };
        let kernel = match (c.int_list("kernel_shape"), weights) {
            (Some(kernel), _) if kernel.len() == spatial => kernel.into_iter().map(|n| Some(n.into())).collect(),
            (Some(kernel), _) if !kernel.is_empty() => {
                return Err(c.error(format!("kernel_shape has {} entries, not {spatial}", kernel.len())));
            }
            (_, Some(weights)) => weights.iter().cloned().map(Some).collect(),
            _ => vec![None; spatial],
        };
        let mut before = list("pads", 2 * spatial, 0)?;
        let after = before.split_off(spatial);
        let strides = list("strides", spatial, 1)?;
        if strides.iter().any(|n| *n < 1) {
            return Err(c.error("a stride is below 1"));
        }
        let border = match c.string("auto_pad").unwrap_or("NOTSET") {
            "SAME_UPPER" | "SAME_LOWER" => Border::Same,
            "VALID" => Border::Valid,
            _ => Border::Explicit,
        };
        let (dilations, rounds_up) = (list("dilations", spatial, 1)?, c.flag("ceil_mode"));
        Ok(Window { kernel, strides, dilations, before, after, border, rounds_up })
    }

    /// The size of the dilated kernel.
    fn extent(&self, i: usize) -> Option<SymInt> {
        let kernel = self.kernel.get(i)?.as_ref()?;
        Some((kernel - 1) * *self.dilations.get(i)? + 1)
    }

    fn at(list: &[i64], i: usize) -> SymInt {
        SymInt::from(list.get(i).copied().unwrap_or(0))
    }

    /// The number of positions in spatial dimension `i` of size `dim`.
    pub fn output(&self, c: &Ctx, i: usize, dim: &SymInt) -> Result<SymInt> {
        let stride = SymInt::from(self.strides.get(i).copied().unwrap_or(1));
        if self.border == Border::Same {
            return Ok(dim.ceil_div(&stride));
        }
        let Some(extent) = self.extent(i) else { return Ok(c.fresh()) };
        let padded_before = if self.border == Border::Valid { dim.clone() } else { dim + &Self::at(&self.before, i) };
        let padded =
            if self.border == Border::Valid { dim.clone() } else { &padded_before + &Self::at(&self.after, i) };
        let room = &padded - &extent;
        let count = if !self.rounds_up {
            room.floor_div(&stride) + 1
        } else {
            // The last window must start inside the data or the leading padding.
            let starts_inside = padded_before.ceil_div(&stride);
            let all = room.ceil_div(&stride) + 1;
            if c.at_least(&(&padded_before - &(&room + &stride)), 0) { all } else { c.min(&all, &starts_inside) }
        };
        match count.known() {
            Some(n) if n < 0 => Err(c.error(format!("a window of {extent} does not fit into {padded}"))),
            _ => Ok(count),
        }
    }

    /// Batch, channels and the number of positions per dimension.
    pub fn shape(&self, c: &Ctx, batch: &SymInt, channels: &SymInt, spatial: &[SymInt]) -> Result<Vec<SymInt>> {
        let mut shape = vec![batch.clone(), channels.clone()];
        for (i, dim) in spatial.iter().enumerate() {
            shape.push(self.output(c, i, dim)?);
        }
        Ok(shape)
    }

    /// The size that a convolution with this window would reduce to `dim`, plus `extra` unused positions.
    pub fn transposed_output(&self, c: &Ctx, i: usize, dim: &SymInt, extra: &SymInt) -> SymInt {
        let stride = SymInt::from(self.strides.get(i).copied().unwrap_or(1));
        if self.border == Border::Same {
            return dim * &stride;
        }
        let Some(extent) = self.extent(i) else { return c.fresh() };
        let pads = match self.border {
            Border::Explicit => Self::at(&self.before, i) + Self::at(&self.after, i),
            _ => SymInt::from(0),
        };
        (dim - 1) * &stride + extent - pads + extra
    }
}

pub(super) fn pool(c: &Ctx) -> Result<Vec<Type>> {
    let outputs = c.version.outputs.len();
    let Some(x) = c.shape(0) else {
        let rank = c.int_list("kernel_shape").map(|kernel| kernel.len() + 2);
        return c.outputs_typed((0..outputs).map(|_| rank.map(|r| c.fresh_shape(r))).collect());
    };
    let [batch, channels, spatial @ ..] = x else { return Err(c.error("the data must have rank 2 or more")) };
    let window = Window::read(c, spatial.len(), None)?;
    c.outputs_typed(vec![Some(window.shape(c, batch, channels, spatial)?); outputs])
}

pub(super) fn global(c: &Ctx) -> Result<Vec<Type>> {
    let Some(x) = c.shape(0) else { return c.one_output(None) };
    let one = SymInt::from(1);
    c.one_output(Some(x.iter().enumerate().map(|(i, d)| if i < 2 { d.clone() } else { one.clone() }).collect()))
}

pub(super) fn unpool(c: &Ctx) -> Result<Vec<Type>> {
    if c.has(2) {
        let rank = c.shape(0).map(<[SymInt]>::len).or_else(|| c.length(2));
        return c.one_output(c.content(2).or_else(|| rank.map(|r| c.fresh_shape(r))));
    }
    let Some(x) = c.shape(0) else { return c.one_output(None) };
    let [batch, channels, spatial @ ..] = x else { return Err(c.error("the data must have rank 2 or more")) };
    let window = Window::read(c, spatial.len(), None)?;
    let mut shape = vec![batch.clone(), channels.clone()];
    shape.extend(spatial.iter().enumerate().map(|(i, d)| window.transposed_output(c, i, d, &SymInt::from(0))));
    c.one_output(Some(shape))
}
