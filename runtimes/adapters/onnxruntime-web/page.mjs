// The page: takes jobs from the server of adapter.mjs, and runs them with ONNX Runtime compiled to WebAssembly.
import * as ort from "./ort.wasm.min.mjs";
import { fromTensor, toTensor } from "./ort_tensors.mjs";

ort.env.wasm.numThreads = 1;
ort.env.wasm.wasmPaths = "/";
ort.env.logLevel = "fatal";

let session;

async function bytesOf(name) {
  return new Uint8Array(await (await fetch(name)).arrayBuffer());
}

async function load() {
  await session?.release();
  session = await ort.InferenceSession.create(await bytesOf("/model"), { executionProviders: ["wasm"], logSeverityLevel: 4 });
  return [];
}

async function run(described) {
  const bytes = await bytesOf("/inputs");
  let offset = 0;
  const feeds = {};
  for (const tensor of described) {
    feeds[tensor.name] = toTensor(ort, { ...tensor, data: bytes.subarray(offset, (offset += tensor.bytes)) });
  }
  const found = await session.run(feeds);
  return session.outputNames.map((name) => fromTensor(found[name]));
}

async function answer(message, chunks = []) {
  await fetch("/answer", { method: "POST", body: new Blob([JSON.stringify(message) + "\n", ...chunks]) });
}

async function serve() {
  for (;;) {
    const job = await (await fetch("/job")).json();
    let outputs;
    try {
      outputs = await (job.what === "load" ? load() : run(job.inputs));
    } catch (error) {
      await answer({ error: String(error?.message ?? error) });
      return location.reload();
    }
    const described = outputs.map(({ dtype, shape, data }) => ({ dtype, shape, bytes: data.byteLength }));
    await answer({ outputs: described }, outputs.map(({ data }) => data));
  }
}

serve();
