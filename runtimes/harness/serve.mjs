// The process of a runtime in JavaScript: what `serve.py` is for Python. An adapter has the functions `version()`,
// `load(path)` and `run(model, inputs)`, with tensors as {name, dtype, shape, data}, where `data` are bytes.
import fs from "node:fs";
import readline from "node:readline";

const ALIGNMENT = 64;

function say(message) {
  fs.writeSync(1, JSON.stringify(message) + "\n");
}

function read(path, described) {
  const bytes = fs.readFileSync(path);
  return described.map((tensor) => ({ ...tensor, data: new Uint8Array(bytes.subarray(tensor.offset, tensor.offset + tensor.bytes)) }));
}

function write(path, outputs) {
  const chunks = [];
  let offset = 0;
  const described = outputs.map(({ dtype, shape, data }, index) => {
    const padding = (ALIGNMENT - (offset % ALIGNMENT)) % ALIGNMENT;
    chunks.push(new Uint8Array(padding), data);
    const tensor = { name: String(index), dtype, shape, offset: offset + padding, bytes: data.length };
    offset += padding + data.length;
    return tensor;
  });
  fs.writeFileSync(path, Buffer.concat(chunks));
  return described;
}

async function answer(adapter, job) {
  let start = performance.now();
  const model = await adapter.load(job.model);
  say({ loaded: (performance.now() - start) / 1000 });
  const inputs = read(job.tensors, job.inputs);
  const seconds = [];
  let outputs = [];
  for (let time = 0; time < (job.times ?? 1); time++) {
    start = performance.now();
    outputs = await adapter.run(model, inputs);
    seconds.push((performance.now() - start) / 1000);
  }
  say({ outputs: write(job.outputs, outputs), seconds });
}

export async function serve(adapter) {
  say({ ready: adapter.version() });
  for await (const line of readline.createInterface({ input: process.stdin })) {
    try {
      await answer(adapter, JSON.parse(line));
    } catch (error) {
      say({ error: String(error?.message ?? error) });
    }
  }
}
