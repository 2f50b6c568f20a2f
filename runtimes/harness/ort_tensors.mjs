// Tensors of ONNX Runtime's JavaScript API, from and to bytes. Used in Node.js and in a page.
const ARRAYS = {
  float32: Float32Array, float64: Float64Array, float16: Uint16Array, int8: Int8Array, int16: Int16Array, int32: Int32Array,
  int64: BigInt64Array, uint8: Uint8Array, uint16: Uint16Array, uint32: Uint32Array, uint64: BigUint64Array, bool: Uint8Array,
};

export function toTensor(ort, { dtype, shape, data }) {
  // Of a dtype that it lacks, the runtime says so.
  const Values = ARRAYS[dtype] ?? Uint8Array;
  const aligned = data.slice();
  const values = new Values(aligned.buffer, 0, aligned.byteLength / Values.BYTES_PER_ELEMENT);
  return new ort.Tensor(dtype, values, shape);
}

export function fromTensor({ type, dims, data }) {
  return { dtype: type, shape: [...dims], data: new Uint8Array(data.buffer, data.byteOffset, data.byteLength) };
}
